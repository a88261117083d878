"""Advantages: how much better than expected each step was. One slot, several estimators; whitening is its own slot.

Every estimator maps `(rollout, reward)` to `Advantages`; `reward` is the rollout's after shaping and after a KL placed in
the reward. Nothing here is differentiable with respect to the policy. Definitions agree with TRL 1.16, verl 0.9.1,
OpenRLHF 0.11.2, CleanRL and SB3 2.9.2, whose conventions are named presets.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor

from rlcore import masked
from rlcore.groups import exact_mean_std, group_is_flat, group_sum, matrix_mean_std, written_mean_std
from rlcore.knobs import Value, knob
from rlcore.rollout import Rollout


@dataclass(frozen=True)
class Advantages:
    """advantages, baseline, scale, returns: each [..., B, T], zero under the mask.

    For outcome estimators `advantages = (score - baseline) / scale`. `returns` is what a critic is fitted to.
    """

    advantages: Tensor
    baseline: Tensor
    scale: Tensor
    returns: Tensor

    def each(self, part: Callable[[Tensor], Tensor]) -> Advantages:
        """The same, with `part` applied to all four, e.g. to take some rows."""
        return Advantages(part(self.advantages), part(self.baseline), part(self.scale), part(self.returns))


# ---------------------------------------------------------------- traces over time


def gae(delta: Tensor, decay: Tensor) -> Tensor:
    """A_t = delta_t + decay_t * A_{t+1}, from the row's end backwards: [..., B, T], [..., B, T] -> [..., B, T].

    A position with delta 0 and decay 1 hands the running sum through unchanged (padding, masked tokens).
    Source: Schulman et al. 2015, arXiv:1506.02438, eq. 16 in recursive form.
    """
    running = torch.zeros_like(delta[..., 0])
    out = []
    for delta_t, decay_t in zip(reversed(delta.unbind(-1)), reversed(decay.unbind(-1)), strict=True):
        running = torch.addcmul(delta_t, decay_t, running)
        out.append(running)
    return torch.stack(out[::-1], dim=-1)


def td_errors(rollout: Rollout, reward: Tensor, *, gamma: float) -> Tensor:
    """delta_t = r_t + gamma * V_{t+1} - V_t; after a terminal step V_{t+1} is 0, after a truncated one it is kept."""
    following = masked.fill(rollout.value_next, ~rollout.terminal)
    return masked.fill(reward + gamma * following - rollout.value_old, rollout.mask)


def discounted_returns(rollout: Rollout, reward: Tensor, *, gamma: float) -> Tensor:
    """G_t = r_t + gamma * G_{t+1} within the row, stopping at inner episode ends; no bootstrap. [..., B, T]"""
    decay = _decay(rollout, gamma)
    return masked.fill(gae(masked.fill(reward, rollout.mask), decay), rollout.mask)


def value_of_next(value: Tensor, mask: Tensor) -> Tensor:
    """V of the next valid step of the row, skipping gaps in the mask; 0 after the last one: [..., B, T].

    What a language model's rows hold as `value_next` (verl): tokens of a tool or of the user are stepped over.
    """
    here_or_later = gae(masked.fill(value, mask), (~mask).to(value.dtype))
    return torch.cat([here_or_later[..., 1:], torch.zeros_like(value[..., :1])], dim=-1)


def _decay(rollout: Rollout, factor: float) -> Tensor:
    ends = rollout.terminal | rollout.truncated
    decay = (~ends).to(rollout.value_old.dtype) * factor
    return masked.fill(decay, rollout.mask, 1.0)


def _outcome(rollout: Rollout, score: Tensor, baseline: Tensor, scale: Tensor, row: Tensor) -> Advantages:
    """An outcome estimator's row numbers, spread over the row's tokens."""
    mask, dtype = rollout.mask, rollout.reward.dtype
    spread = [masked.spread(x.to(dtype), mask) for x in (row, baseline, scale, score)]
    return Advantages(*spread)


# ---------------------------------------------------------------- the slot's values


class Gae(Value):
    """Generalised advantage estimation: an exponentially weighted sum of TD errors.

        A_t = sum_k (gamma * lam)^k delta_{t+k},     returns_t = A_t + V_t

    Source: Schulman et al. 2015, arXiv:1506.02438, eq. 16.
    Trap: lam = 1 is Monte Carlo minus V (high variance), lam = 0 the one-step TD error (leans on V).
    """

    kind: Literal["gae"] = "gae"
    gamma: float = knob(0.99, "γ", 0, 1, "discount per step", suggested=(0.9, 1.0), source="arXiv:1506.02438")
    lam: float = knob(0.95, "λ", 0, 1, "0 trusts the critic, 1 trusts the sampled return", source="arXiv:1506.02438")

    def __call__(self, rollout: Rollout, reward: Tensor) -> Advantages:
        delta = td_errors(rollout, reward, gamma=self.gamma)
        raw = masked.fill(gae(delta, _decay(rollout, self.gamma * self.lam)), rollout.mask)
        value = masked.fill(rollout.value_old, rollout.mask)
        return Advantages(raw, value, torch.ones_like(raw), raw + value)


class Returns(Value):
    """Discounted reward-to-go with no baseline (REINFORCE; with batch whitening: REINFORCE++).

    Source: Williams 1992; Hu 2025, arXiv:2501.03262.
    """

    kind: Literal["returns"] = "returns"
    gamma: float = knob(1.0, "γ", 0, 1, "discount per step", suggested=(0.9, 1.0), source="arXiv:2501.03262")

    def __call__(self, rollout: Rollout, reward: Tensor) -> Advantages:
        togo = discounted_returns(rollout, reward, gamma=self.gamma)
        return Advantages(togo, torch.zeros_like(togo), torch.ones_like(togo), togo)


class GroupRelative(Value):
    """GRPO: a row is good if it beats its siblings; one number for the whole row.

        A_i = (R_i - mean(R_group)) / (std(R_group) + eps)        scale "std"
        A_i =  R_i - mean(R_group)                                scale "none"  (Dr. GRPO)
        A_i = (R_i - mean(R_group)) / (std(R_all rows) + eps)     scale "batch"

    A NaN score is unscorable: the row counts nowhere and gets 0.
    flat "exact": statistics in float64, a group of identical scores gets exactly 0. "as_written": plain arithmetic in
    the scores' own precision, rounding noise included (TRL, verl): eight float32 rewards of 0.9 give -0.0006 each with
    TRL's eps, -0.056 with verl's, -0.92 with OpenRLHF's. "as_matrix": the same over a [groups, G] matrix, as OpenRLHF
    computes it: beside another group torch's std takes a path that gives 0 there, and the noise becomes -60.
    singleton "zero" or "keep" (verl: mean 0, std 1) is what a group of one gets.

    Source: Shao et al. 2024, arXiv:2402.03300, sec. 4.1.2 (states no ddof and no eps); "none": Liu et al. 2025,
    arXiv:2503.20783; eps and ddof as in TRL 1.16 (1e-4), verl 0.9.1 (1e-6), OpenRLHF 0.11.2 (1e-9), all ddof 1.
    """

    kind: Literal["group_relative"] = "group_relative"
    scale: Literal["std", "none", "batch"] = "std"
    ddof: int = knob(1, "ddof", 0, 1, "divisor G - ddof of the variance", source="TRL, verl, OpenRLHF: 1")
    eps: float = knob(1e-4, "ε_std", 0, 1, "added to the standard deviation", scale="log", suggested=(1e-9, 1e-2))
    flat: Literal["exact", "as_written", "as_matrix"] = "exact"
    singleton: Literal["zero", "keep"] = "zero"

    def __call__(self, rollout: Rollout, reward: Tensor) -> Advantages:
        score = masked.row_sum(reward, rollout.mask)
        baseline, scale, row = self.of_scores(score, rollout.group)
        return _outcome(rollout, score, baseline, scale, row)

    def of_scores(self, score: Tensor, group: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """(baseline, scale, advantages), each [..., B], of row scores [..., B] and group ids [B]."""
        score = score.double() if self.flat == "exact" else score
        baseline, std = self._of_groups(score, group)
        if self.singleton == "keep":
            alone = group_sum(torch.ones_like(score), group) == 1
            baseline, std = torch.where(alone, 0.0, baseline), torch.where(alone, 1.0, std)
        if self.scale == "batch":
            _, std = self._of_groups(score, torch.zeros_like(group))
        scale = torch.ones_like(std) if self.scale == "none" else std + self.eps
        return baseline, scale, masked.fill(masked.quotient(score - baseline, scale), ~score.isnan())

    def _of_groups(self, score: Tensor, group: Tensor) -> tuple[Tensor, Tensor]:
        statistics = {"exact": exact_mean_std, "as_written": written_mean_std, "as_matrix": matrix_mean_std}
        return statistics[self.flat](score, group, ddof=self.ddof)


class LeaveOneOut(Value):
    """RLOO: the baseline is the mean of the *other* rows of the group, so it is exactly unbiased.

        A_i = R_i - mean_{j != i} R_j = G / (G - 1) * (R_i - mean R)

    A NaN score is unscorable: the row counts nowhere and gets 0.
    Source: Ahmadian et al. 2024, arXiv:2402.14740.
    Trap: a group of one has no others; it gets 0 here ("zero") or keeps its reward ("keep", verl's rloo).
    """

    kind: Literal["leave_one_out"] = "leave_one_out"
    singleton: Literal["zero", "keep"] = "zero"

    def __call__(self, rollout: Rollout, reward: Tensor) -> Advantages:
        score = masked.row_sum(reward, rollout.mask)
        baseline, row = self.of_scores(score, rollout.group)
        return _outcome(rollout, score, baseline, torch.ones_like(score), row)

    def of_scores(self, score: Tensor, group: Tensor) -> tuple[Tensor, Tensor]:
        """(baseline, advantages), each [..., B], of row scores [..., B] and group ids [B]."""
        valid = ~score.isnan()
        score = score.double()
        known = masked.fill(score, valid)
        size = group_sum(valid.to(score.dtype), group)
        baseline = (group_sum(known, group) - known) / (size - 1).clamp(min=1)
        baseline = torch.where(group_is_flat(score, group), known, baseline)
        if self.singleton == "keep":
            baseline = torch.where(size == 1, 0.0, baseline)
        return baseline, masked.fill(score - baseline, valid)


class OptimalBaseline(Value):
    """OPO: the group baseline weighted by response length, the variance-optimal one under equal token scores.

        A_i = R_i - sum_j L_j R_j / sum_j L_j

    Source: Hao et al. 2025, arXiv:2505.23585; verl 0.9.1 `compute_opo_outcome_advantage`. A group of one keeps R.
    """

    kind: Literal["optimal_baseline"] = "optimal_baseline"

    def __call__(self, rollout: Rollout, reward: Tensor) -> Advantages:
        score = masked.row_sum(reward, rollout.mask)
        baseline, row = self.of_scores(score, masked.lengths(rollout.mask), rollout.group)
        return _outcome(rollout, score, baseline, torch.ones_like(score), row)

    def of_scores(self, score: Tensor, length: Tensor, group: Tensor) -> tuple[Tensor, Tensor]:
        """(baseline, advantages), each [..., B], of row scores and lengths [..., B] and group ids [B]."""
        score, length = score.double(), length.double()
        baseline = group_sum(length * score, group) / group_sum(length, group).clamp(min=1)
        baseline = torch.where(group_sum(torch.ones_like(score), group) == 1, 0.0, baseline)
        return baseline, score - baseline


AdvantageSlot = Annotated[
    Gae | GroupRelative | LeaveOneOut | Returns | OptimalBaseline, Field(discriminator="kind")
]


# ---------------------------------------------------------------- whitening


class NoWhitening(Value):
    """Advantages go into the loss as they are."""

    kind: Literal["no_whitening"] = "no_whitening"
    scope: Literal["never"] = "never"

    def __call__(self, advantages: Tensor, mask: Tensor) -> Tensor:
        return advantages


class Whiten(Value):
    """Subtract the mean and divide by the standard deviation over all valid tokens of the batch or the minibatch.

        form "outside"  (A - mean) / (std + eps)          CleanRL, SB3: per minibatch, ddof 1, eps 1e-8
        form "inside"   (A - mean) / sqrt(var + eps)      verl, TRL 1.12 PPO: whole batch, ddof 1, eps 1e-8
        form "floor"    (A - mean) / sqrt(max(var, eps))  OpenRLHF: whole batch, ddof 0, eps 1e-8
        form "centre"    A - mean                         OpenRLHF `no_std_norm`

    With no more than ddof valid tokens they are left as they are (as SB3 does; verl raises). `count_eps` is added to
    the token count of mean and variance (verl: 1e-8); statistics "float32" are taken in that precision (OpenRLHF).
    Advantages [..., B, T], mask likewise.
    Source: not in the PPO paper; CleanRL `ppo.py`, SB3 2.9.2 `ppo.py`, verl 0.9.1 `masked_whiten`.
    """

    kind: Literal["whiten"] = "whiten"
    scope: Literal["batch", "minibatch"] = "minibatch"
    form: Literal["outside", "inside", "floor", "centre"] = "outside"
    ddof: int = knob(1, "ddof", 0, 1, "divisor n - ddof of the variance")
    eps: float = knob(1e-8, "ε_w", 0, 1, "keeps the division finite", scale="log", suggested=(1e-10, 1e-2))
    count_eps: float = knob(0.0, "ε_N", 0, 1, "added to the token count of mean and variance")
    statistics: Literal["own", "float32"] = "own"

    def __call__(self, advantages: Tensor, mask: Tensor) -> Tensor:
        seen = advantages.float() if self.statistics == "float32" else advantages
        count = masked.count(mask)[..., None, None].to(seen.dtype)
        mean = masked.total(seen, mask)[..., None, None] / (count + self.count_eps)
        spread = masked.total((seen - mean).square(), mask)[..., None, None] / (count + self.count_eps)
        variance = spread * (count / (count - self.ddof).clamp(min=1))
        enough = mask.sum(dim=(-2, -1), keepdim=True) > self.ddof
        whitened = masked.quotient(advantages - mean, self._divisor(variance))
        return masked.fill(torch.where(enough, whitened, advantages), mask)

    def _divisor(self, variance: Tensor) -> Tensor:
        if self.form == "outside":
            return variance.sqrt() + self.eps
        if self.form == "inside":
            return (variance + self.eps).sqrt()
        return variance.clamp(min=self.eps).sqrt() if self.form == "floor" else torch.ones_like(variance)


WhitenSlot = Annotated[NoWhitening | Whiten, Field(discriminator="kind")]


def whitened(advantages: Advantages, whiten: NoWhitening | Whiten, mask: Tensor) -> Advantages:
    """The same advantages after whitening; baseline, scale and the critic's returns stay un-whitened."""
    return replace(advantages, advantages=whiten(advantages.advantages, mask))


def explained_variance(value: Tensor, returns: Tensor, mask: Tensor) -> Tensor:
    """1 - Var(returns - value) / Var(returns), population variances; NaN where the returns do not vary: [...].

    Source: CleanRL `ppo.py` and SB3 2.9.2 `common/utils.py` (verl: ddof 1 and + 1e-5).
    """
    of_returns = masked.variance(returns, mask, ddof=0)
    unexplained = masked.variance(returns - value, mask, ddof=0)
    return torch.where(of_returns > 0, 1 - unexplained / of_returns, torch.nan)
