"""Records: what a training step leaves behind, as frozen numpy. Made once, at the engine's boundary.

Metrics are kept for every step; a trace (the rollout and every update's terms) for the steps somebody looks at, and
can be recomputed bit-equal for any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from rlcore import masked
from rlcore.advantages import Advantages
from rlcore.algorithm import LossTerms, PolicyOutput
from rlcore.rollout import Rollout

if TYPE_CHECKING:
    from rlcore.config import RunConfig

Array = np.ndarray


def freeze(x: Tensor) -> Array:
    """A read-only numpy copy of a tensor."""
    array = x.detach().numpy().copy()
    array.setflags(write=False)
    return array


def arrays(value: Any) -> dict[str, Array]:
    """The tensors of a dataclass by field name, frozen; nested dataclasses give `outer.inner` names."""
    found: dict[str, Array] = {}
    for field in fields(value):
        part = getattr(value, field.name)
        if isinstance(part, Tensor):
            found[field.name] = freeze(part)
        elif is_dataclass(part):
            found |= {f"{field.name}.{name}": array for name, array in arrays(part).items()}
    return found


@dataclass(frozen=True)
class UpdateTrace:
    """One optimiser step, whole. Arrays are of its b rows: [b, T] unless said otherwise.

    epoch, minibatch     which pass and which piece of it, from 0
    rows [b]             which rows (or transitions) of the rollout
    logp_new, entropy, value_new   the policy's view before this optimiser step
    advantages, returns  as used in the loss (whitened where the recipe whitens)
    log_ratio, ratio, token_log_ratio, unclipped, gain, outside, dead_low, dead_high, dead_dual, kl, weight,
    correction, objective, mask     the slots' terms; `gain` is the surrogate's objective, `objective` the bracket
    loss, policy_loss, kl_loss, entropy_bonus, value_loss, grad_norm, update_norm, lr, kl_beta     scalars
    grad_logp [b, T]     d loss / d logp_new: what each token's log-probability is asked to do
    grad_by_part         gradient norm by parameter name, before clipping
    """

    epoch: int
    minibatch: int
    rows: Array
    mask: Array
    logp_new: Array
    logp_old: Array
    entropy: Array
    value_new: Array
    advantages: Array
    returns: Array
    log_ratio: Array
    ratio: Array
    token_log_ratio: Array
    unclipped: Array
    gain: Array
    outside: Array
    dead_low: Array
    dead_high: Array
    dead_dual: Array
    kl: Array
    weight: Array
    correction: Array
    objective: Array
    grad_logp: Array
    loss: float
    policy_loss: float
    kl_loss: float
    entropy_bonus: float
    value_loss: float
    grad_norm: float
    update_norm: float
    lr: float
    kl_beta: float
    grad_by_part: Mapping[str, float]


@dataclass(frozen=True)
class StepTrace:
    """The whole of one step: rollout and raw advantages by field name ([B, T] arrays), then every update in order.

    shaped_reward [B, T] after shaping and a KL in the reward · kept [B] bool, rows that selection let through.
    """

    rollout: Mapping[str, Array]
    shaped_reward: Array
    kept: Array
    advantages: Mapping[str, Array]
    updates: tuple[UpdateTrace, ...]

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        of_updates = (x for update in self.updates for x in vars(update).values() if isinstance(x, Array))
        whole = (*self.rollout.values(), self.shaped_reward, self.kept, *self.advantages.values(), *of_updates)
        return sum(x.nbytes for x in whole)


@dataclass(frozen=True)
class StepRecord:
    """What step `step` left: `metrics` by glossary name (NaN where undefined), seconds of wall time, valid samples.

    visits [S] counts the states seen, where states are finite.
    """

    step: int
    config: RunConfig
    metrics: Mapping[str, float]
    seconds: float
    samples: int
    visits: Array | None = None
    trace: StepTrace | None = None


def update_trace(
    terms: LossTerms, advantages: Advantages, rollout: Rollout, *, now: PolicyOutput, place: tuple[int, int],
    rows: Tensor, grad_logp: Tensor, scalars: Mapping[str, float], grad_by_part: Mapping[str, float],
    entropy_coef: float,
) -> UpdateTrace:  # fmt: skip
    """Freeze one optimiser step's terms."""
    s, r = terms.surrogate, terms.ratio
    correction = torch.ones_like(r.ratio) if terms.correction is None else terms.correction
    kl = torch.zeros_like(r.ratio) if terms.kl is None else terms.kl
    bracket = correction * s.objective - scalars["kl_beta"] * kl + entropy_coef * masked.fill(now.entropy, rollout.mask)
    tensors = {
        "rows": rows, "mask": rollout.mask, "logp_new": now.logp, "logp_old": rollout.logp_old, "entropy": now.entropy,
        "value_new": now.value, "advantages": terms.advantages, "returns": advantages.returns,
        "log_ratio": r.log_ratio, "ratio": r.ratio, "token_log_ratio": r.token_log_ratio, "unclipped": s.unclipped,
        "gain": s.objective, "outside": s.outside, "dead_low": s.dead_low, "dead_high": s.dead_high,
        "dead_dual": s.dead_dual, "kl": kl, "weight": terms.weight, "correction": correction, "objective": bracket,
        "grad_logp": grad_logp,
    }  # fmt: skip
    names = ("loss", "policy_loss", "kl_loss", "entropy_bonus", "value_loss")
    fields: dict[str, Any] = {name: freeze(x) for name, x in tensors.items()} | dict(scalars)
    fields |= {name: float(getattr(terms, name).detach()) for name in names}
    return UpdateTrace(epoch=place[0], minibatch=place[1], grad_by_part=dict(grad_by_part), **fields)
