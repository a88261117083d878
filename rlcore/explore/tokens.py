"""Token by token: ratios of one response at every level, and what each recipe keeps of it.

Every number comes from the loss itself, on rows written by hand or recorded: the push on a token is the gradient of the
policy loss with respect to that token's log-probability, turned around.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from rlcore.advantages import Advantages
from rlcore.algorithm import Algorithm, PolicyOutput, policy_loss
from rlcore.algorithms import CISPO, GRPO, GSPO, GSPO_TOKEN
from rlcore.config import RunConfig
from rlcore.envs import FiniteEnv, Gridworld
from rlcore.explore.setting import Setting
from rlcore.knobs import knob
from rlcore.ratios import Ratio, SequenceProduct, SequenceRatio, TokenRatio
from rlcore.records import Array, StepRecord, freeze
from rlcore.rollout import Rollout
from rlcore.words.env import Words
from rlcore.words.vocabulary import TOKENS, decode, unpadded


class Nudge(Setting):
    """How far one token's log-ratio is moved by hand."""

    nudge: float = knob(0.0, "Δ log ρ", -10, 10, "added to one token's log-ratio", suggested=(-2, 2))


def nudged(log_ratio: Array, token: int, by: float) -> Array:
    """The same log-ratios [T] with one of them moved."""
    moved = np.array(log_ratio, dtype=np.float64)
    moved[token] += by
    return moved


def as_array(numbers: Sequence[float]) -> Array:
    """Typed numbers as the array every record holds."""
    return np.array(numbers, dtype=np.float64)


# ---------------------------------------------------------------- one loss, taken apart


@dataclass(frozen=True)
class Pushed:
    """What one algorithm does to rows [B, T]: ratio at its own level, bounds, weight, and the push on each token.

    push  -d policy_loss / d log pi, positive: make it likelier
    """

    ratio: Array
    outside: Array
    dead: Array
    weight: Array
    push: Array
    loss: float


def pushed(algorithm: Algorithm, log_ratio: Tensor, mask: Tensor, advantage: Tensor) -> Pushed:
    """Rows with given token log-ratios [B, T] and advantages [B] or [B, T] under an algorithm's policy loss."""
    logp = log_ratio.double().clone().requires_grad_()
    zero = torch.zeros_like(logp)
    along = advantage.double() if advantage.dim() == 2 else advantage.double().unsqueeze(-1).expand(mask.shape)
    adv = Advantages(along, zero.detach(), torch.ones_like(zero), along)
    terms = policy_loss(algorithm, PolicyOutput(logp, zero, zero.detach()), by_hand(mask), adv, 0.0)
    push = -torch.autograd.grad(terms.policy_loss, logp)[0]
    s = terms.surrogate
    ratio, outside, dead, weight, asked = (
        freeze(x) for x in (terms.ratio.ratio, s.outside, s.dead, terms.weight, push)
    )
    return Pushed(ratio, outside, dead, weight, asked, float(terms.policy_loss.detach()))


def by_hand(mask: Tensor) -> Rollout:
    """A rollout of rows with log pi_old = log pi_ref = 0 everywhere: only differences matter to the policy loss."""
    zero, none = torch.zeros(mask.shape, dtype=torch.float64), torch.zeros_like(mask)
    return Rollout(
        obs=zero.long(), action=zero.long(), mask=mask, reward=zero, logp_old=zero, logp_ref=zero, terminal=none,
        truncated=none, value_old=zero, value_next=zero, group=torch.zeros(mask.shape[0], dtype=torch.int64),
    )  # fmt: skip


# ---------------------------------------------------------------- one response


@dataclass(frozen=True)
class Bands:
    """Clip widths: of the token ratio, and of the sequence ratio, which lives on another scale."""

    eps_low: float = 0.2
    eps_high: float = 0.2
    seq_eps_low: float = 3e-4
    seq_eps_high: float = 4e-4

    def of(self, recipe: str) -> tuple[float, float]:
        sequence = recipe in ("gspo", "gspo_token")
        return (self.seq_eps_low, self.seq_eps_high) if sequence else (self.eps_low, self.eps_high)


KEPT = {"grpo": GRPO, "cispo": CISPO, "gspo": GSPO, "gspo_token": GSPO_TOKEN}
"""Recipes whose verdict on a response is shown, each with its own ratio and surrogate, without KL."""


@dataclass(frozen=True)
class Response:
    """One response of T tokens: log_ratio and ratio [T], running product [T], and the two ratios of the whole.

    geometric  exp(mean log-ratio), GSPO's s · product  the true importance weight · by_recipe: what each recipe does
    """

    log_ratio: Array
    ratio: Array
    running: Array
    geometric: float
    product: float
    advantage: float
    by_recipe: Mapping[str, Pushed]


def response(log_ratio: Sequence[float] | Array, *, advantage: float, bands: Bands) -> Response:
    """Take a response apart; alone in its batch, so its weights are those of a batch of one row."""
    row = torch.tensor([list(log_ratio)], dtype=torch.float64)
    mask = torch.ones_like(row, dtype=torch.bool)
    token, whole, product = (
        slot(row, torch.zeros_like(row), mask) for slot in (TokenRatio(), SequenceRatio(), SequenceProduct())
    )
    running = [float(first_ratio(SequenceProduct(), row[:, : n + 1])) for n in range(row.shape[1])]
    found = {
        key: pushed(_with_band(recipe.algorithm, *bands.of(key)), row, mask, torch.tensor([advantage]))
        for key, recipe in KEPT.items()
    }
    return Response(
        freeze(row[0]), freeze(token.ratio[0]), np.array(running), float(whole.ratio[0, 0]), float(product.ratio[0, 0]),
        advantage, found,
    )  # fmt: skip


@dataclass(frozen=True)
class Row:
    """A recorded row: its tokens' log-ratios [T] before one update, a name for each token, its advantage; and what was
    asked, where a language model answers."""

    log_ratio: Array
    names: tuple[str, ...]
    advantage: float
    prompt: str = ""


def row_of(record: StepRecord, update: int, row: int) -> Row:
    """Row `row` of a recorded step before its update `update` (from 0). Tokens are named by what was done or said."""
    assert record.trace is not None
    u = record.trace.updates[update]
    valid = u.mask[row]
    sampled = np.flatnonzero(record.trace.kept)[u.rows[row]]  # updates count only the rows that selection let through
    taken = record.trace.rollout["action"][sampled][valid]
    return Row(
        u.token_log_ratio[row][valid], token_names(record.config, taken), float(u.advantages[row][valid][0]),
        _asked(record.trace.rollout, sampled),
    )  # fmt: skip


def _asked(rollout: Mapping[str, Array], row: int) -> str:
    return decode(unpadded(rollout["prompt"][row].tolist())) if "prompt" in rollout else ""


def token_names(config: RunConfig, taken: Array) -> tuple[str, ...]:
    """What was done or said, a word for each of the actions [T] (or [T, D])."""
    env = config.env
    if isinstance(env, Words):
        return tuple(TOKENS[i].strip() or "␣" for i in taken)
    if isinstance(env, Gridworld):
        return tuple("↑→↓←"[i] for i in taken)
    if isinstance(env, FiniteEnv):
        return tuple(f"arm {i + 1}" for i in taken)
    if taken.ndim > 1:
        return tuple(", ".join(f"{x:+.2f}" for x in action) for action in taken)
    return tuple(f"action {i}" for i in taken)


def _with_band(algorithm: Algorithm, eps_low: float, eps_high: float) -> Algorithm:
    surrogate = algorithm.surrogate.model_copy(update={"eps_low": eps_low, "eps_high": eps_high})
    return algorithm.model_copy(update={"surrogate": surrogate})


def first_ratio(slot: SequenceProduct | SequenceRatio | TokenRatio, row: Tensor) -> Tensor:
    """The slot's ratio of a row [1, T], at its first token."""
    found: Ratio = slot(row, torch.zeros_like(row), torch.ones_like(row, dtype=torch.bool))
    return found.ratio[0, 0]
