"""Answers of many lengths: how ratios grow, what each clip silences, and how much one token weighs under each rule.

Ratios, clips and weights are the slots' own, on rows made for the purpose.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from rlcore.aggregation import AggregateSlot, ConstantLength, SequenceMean, SequenceSum, TokenMean
from rlcore.algorithms import GRPO
from rlcore.explore.setting import Setting
from rlcore.explore.tokens import Bands, first_ratio, pushed
from rlcore.knobs import knob
from rlcore.ratios import Ratio, SequenceProduct, SequenceRatio, TokenRatio
from rlcore.records import Array, freeze
from rlcore.rng import generator
from rlcore.surrogates import PpoClip

DRAWN_TOKENS = 200_000


class Length(Setting):
    """The settings of the Ratios page's thought experiments: lengths of answers and how far each token has moved."""

    length: int = knob(200, "L", 1, 4000, "tokens of an answer", suggested=(2, 2000), scale="log")
    short: int = knob(10, "L₁", 1, 4000, "tokens of the other answer", suggested=(2, 200), scale="log")
    each: float = knob(0.01, "log ρ", -5, 5, "log-ratio of every token", suggested=(-0.2, 0.2))
    sd: float = knob(0.05, "σ", 0, 5, "standard deviation of a token's log-ratio", suggested=(0, 0.5))
    constant: int = knob(
        1000, "L_max", 1, 100_000, "the constant divisor of Dr. GRPO", suggested=(10, 4000), scale="log"
    )


# ---------------------------------------------------------------- growing length


@dataclass(frozen=True)
class Growth:
    """Ratios of an answer whose tokens all have moved by the same log-ratio, by its length [N]."""

    length: Array
    token: Array
    geometric: Array
    product: Array


def growth(setting: Length, points: int = 60) -> Growth:
    """Token ratio, sequence ratio and product for lengths up to `setting.length`."""
    lengths = np.unique(np.geomspace(1, setting.length, points).round().astype(int))
    columns = []
    for slot in (TokenRatio(), SequenceRatio(), SequenceProduct()):
        columns.append(
            [float(first_ratio(slot, torch.full((1, n), setting.each, dtype=torch.float64))) for n in lengths]
        )
    return Growth(lengths, *(np.array(column) for column in columns))


@dataclass(frozen=True)
class Weighing:
    """E[f] under a new policy from samples of an old one, by enumeration: truth, with products, with sequence ratios."""

    truth: float
    product: float
    sequence: float


def weighing(old: tuple[float, ...], new: tuple[float, ...], *, length: int) -> Weighing:
    """P(every token is the first one) of `new`, from every sequence of `length` tokens that `old` can produce."""
    sequences = torch.tensor(list(itertools.product(range(len(old)), repeat=length)))
    log_old, log_new = (torch.tensor(p, dtype=torch.float64).log()[sequences] for p in (old, new))
    mask = torch.ones_like(log_old, dtype=torch.bool)
    event = (sequences == 0).all(-1).double()
    chance = log_old.sum(-1).exp()
    weights = [slot(log_new, log_old, mask).ratio[:, 0] for slot in (SequenceProduct(), SequenceRatio())]
    product, sequence = (float((chance * w * event).sum()) for w in weights)
    return Weighing(float((log_new.sum(-1).exp() * event).sum()), product, sequence)


# ---------------------------------------------------------------- bands on one axis


@dataclass(frozen=True)
class Spread:
    """Sampled rows: |ratio - 1| of tokens and of sequences, and the share each clip silences.

    clipped  by label: share of tokens (or of rows, for a sequence ratio) whose gradient the bound removes
    """

    token: Array
    sequence: Array
    sequence_sd: float
    clipped: Mapping[str, float]


@lru_cache(maxsize=16)
def spread(setting: Length, bands: Bands, *, seed: int = 0) -> Spread:
    """Rows of `length` tokens whose log-ratios are normal around 0; half of the rows have A > 0, half A < 0."""
    rows = max(64, min(4000, DRAWN_TOKENS // setting.length))
    dice = generator(seed, 0, "oracle")
    log_ratio = torch.from_numpy(setting.sd * dice.standard_normal((rows, setting.length)))
    advantage = torch.where(torch.arange(rows) % 2 == 0, 1.0, -1.0).double().unsqueeze(-1).expand_as(log_ratio)
    mask = torch.ones_like(log_ratio, dtype=torch.bool)
    token, whole = (slot(log_ratio, torch.zeros_like(log_ratio), mask) for slot in (TokenRatio(), SequenceRatio()))
    token_band, seq_band = bands.of("grpo"), bands.of("gspo")
    cases = {
        "token ratio, token ε": (token, token_band), "sequence ratio, token ε": (whole, token_band),
        "sequence ratio, sequence ε": (whole, seq_band), "token ratio, sequence ε": (token, seq_band),
    }  # fmt: skip
    clipped = {name: _silenced(ratio, advantage, mask, band) for name, (ratio, band) in cases.items()}
    s = whole.ratio[:, 0]
    return Spread(freeze((token.ratio.flatten() - 1).abs()), freeze((s - 1).abs()), float(s.std()), clipped)


def _silenced(ratio: Ratio, advantage: Tensor, mask: Tensor, band: tuple[float, float]) -> float:
    clip = PpoClip(eps_low=band[0], eps_high=band[1])
    return float(clip.clipping(ratio, advantage, mask).dead.double().mean())


# ---------------------------------------------------------------- weights


@dataclass(frozen=True)
class Weighed:
    """Two answers under one aggregation rule: weights [2, T], pushes [2, T] on policy, and each answer's total weight."""

    name: str
    weight: Array
    push: Array
    of_row: Array


def rules(constant: int) -> dict[str, AggregateSlot]:
    """The aggregation rules that are compared."""
    return {
        "sequence mean": SequenceMean(),
        "token mean": TokenMean(),
        "constant length": ConstantLength(length=constant),
        "sequence sum": SequenceSum(),
    }


def weighed(setting: Length, *, advantages: tuple[float, float]) -> dict[str, Weighed]:
    """A short and a long answer side by side, on policy, under every rule; `advantages` are theirs, in that order."""
    lengths = torch.tensor([setting.short, setting.length])
    mask = torch.arange(int(lengths.max())) < lengths.unsqueeze(-1)
    still = torch.zeros(mask.shape, dtype=torch.float64)
    found = {}
    for name, rule in rules(setting.constant).items():
        algorithm = GRPO.algorithm.model_copy(update={"aggregate": rule})
        p = pushed(algorithm, still, mask, torch.tensor(advantages))
        found[name] = Weighed(name, p.weight, p.push, np.asarray(p.weight.sum(1)))
    return found
