"""What whiteboard answers are compared with: the engine's own functions, on the same float64 batch.

No formula is written here a second time; each entry only carries arrays to `rlcore` and back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import torch
from torch import Tensor

from interview.batches import Batch
from interview.expression import Array
from rlcore import kl, masked
from rlcore.advantages import GroupRelative, LeaveOneOut, gae
from rlcore.ratios import Ratio, SequenceRatio, TokenRatio
from rlcore.shaping import soft_overlong
from rlcore.surrogates import DualClip, PpoClip, Surrogate, clipped_objective

Reference = Callable[[Batch], Array]


def _tensor(batch: Batch, name: str) -> Tensor:
    return torch.tensor(np.asarray(batch[name]), dtype=torch.float64)


def _number(batch: Batch, name: str) -> float:
    return float(batch[name])


def _scores(batch: Batch) -> tuple[Tensor, Tensor]:
    rewards = _tensor(batch, "R")
    group = torch.arange(rewards.shape[0]).repeat_interleave(rewards.shape[1])
    return rewards.reshape(-1), group


def _group_relative(scale: str) -> Reference:
    def reference(batch: Batch) -> Array:
        score, group = _scores(batch)
        value = GroupRelative.model_validate({"scale": scale, "eps": _number(batch, "tiny")})
        return value.of_scores(score, group)[2].reshape(batch["R"].shape).numpy()

    return reference


def _leave_one_out(batch: Batch) -> Array:
    score, group = _scores(batch)
    return LeaveOneOut().of_scores(score, group)[1].reshape(batch["R"].shape).numpy()


def _clipped_loss(batch: Batch) -> Array:
    band = {"eps_low": _number(batch, "eps_low"), "eps_high": _number(batch, "eps_high")}
    return -clipped_objective(_tensor(batch, "ratio"), _tensor(batch, "A"), **band).numpy()


def _surrogate(batch: Batch, value: PpoClip | DualClip) -> Surrogate:
    ratio, advantages = _tensor(batch, "ratio"), _tensor(batch, "A")
    mask = torch.ones_like(ratio, dtype=torch.bool)
    return value(Ratio(ratio.log(), ratio, ratio.log(), "token"), advantages, ratio.log(), mask)


def _dual_clip_loss(batch: Batch) -> Array:
    value = DualClip(eps_low=_number(batch, "eps_low"), eps_high=_number(batch, "eps_high"), c=_number(batch, "c"))
    return -_surrogate(batch, value).objective.numpy()


def _dead(batch: Batch) -> Array:
    value = PpoClip(eps_low=_number(batch, "eps_low"), eps_high=_number(batch, "eps_high"))
    return _surrogate(batch, value).dead.double().numpy()


def _ratio_of(value: TokenRatio | SequenceRatio) -> Callable[[Batch], Tensor]:
    def reference(batch: Batch) -> Tensor:
        new, old = _tensor(batch, "logp_new"), _tensor(batch, "logp_old")
        return value(new, old, torch.ones_like(new, dtype=torch.bool)).ratio

    return reference


def _token_ratio(batch: Batch) -> Array:
    return _ratio_of(TokenRatio())(batch).numpy()


def _sequence_ratio(batch: Batch) -> Array:
    return _ratio_of(SequenceRatio())(batch)[:, :1].numpy()


def _gspo_loss(batch: Batch) -> Array:
    band = {"eps_low": _number(batch, "eps_low"), "eps_high": _number(batch, "eps_high")}
    ratio = _ratio_of(SequenceRatio())(batch)[:, :1]
    return -clipped_objective(ratio, _tensor(batch, "A"), **band).numpy()


def _estimator(estimate: Callable[[Tensor, Tensor], Tensor]) -> Reference:
    return lambda batch: estimate(_tensor(batch, "logp"), _tensor(batch, "logp_ref")).numpy()


def _row_mean(batch: Batch) -> Array:
    return masked.row_mean(_tensor(batch, "loss"), _tensor(batch, "mask") > 0)[:, None].numpy()


def _soft_overlong(batch: Batch) -> Array:
    cap, cache = _number(batch, "L_max"), _number(batch, "L_cache")
    return soft_overlong(_tensor(batch, "L"), max_length=cap, cache=cache, factor=1.0).numpy()


def _gae_first_step(batch: Batch) -> Array:
    gamma, lam = _number(batch, "gamma"), _number(batch, "lam")
    first = _tensor(batch, "r_0") + gamma * _tensor(batch, "V_1") - _tensor(batch, "V_0")
    last = _tensor(batch, "r_1") - _tensor(batch, "V_1")
    delta = torch.cat([first, last], dim=-1)
    return gae(delta, torch.full_like(delta, gamma * lam))[:, :1].numpy()


REFERENCES: Mapping[str, Reference] = {
    "group_advantages": _group_relative("std"),
    "centered_advantages": _group_relative("none"),
    "leave_one_out": _leave_one_out,
    "clipped_loss": _clipped_loss,
    "dual_clip_loss": _dual_clip_loss,
    "dead": _dead,
    "token_ratio": _token_ratio,
    "sequence_ratio": _sequence_ratio,
    "gspo_loss": _gspo_loss,
    "k1": _estimator(kl.k1),
    "k2": _estimator(kl.k2),
    "k3": _estimator(kl.k3),
    "row_mean": _row_mean,
    "soft_overlong": _soft_overlong,
    "gae_first_step": _gae_first_step,
}
"""Name in a task -> the engine's function of a batch."""
