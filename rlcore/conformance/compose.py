"""From a library's bare tensors to the house's: rollouts, advantages, one loss, its gradient and its metrics.

Everything a vector compares comes out of the slots; this file only hands tensors to them.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from rlcore import masked
from rlcore.advantages import Advantages, GroupRelative
from rlcore.aggregation import AggregateSlot, TokenMean
from rlcore.algorithm import Algorithm, LossTerms, PolicyOutput, policy_loss
from rlcore.metrics import update_metrics
from rlcore.ratios import RatioSlot, TokenRatio
from rlcore.rollout import Rollout
from rlcore.surrogates import SurrogateSlot, Unclipped

INDICATOR_RTOL = 1e-6  # shares of tokens are float32 means in most libraries


def batch(mask: Tensor, *, logp_old: Tensor | None = None, group: Tensor | None = None, **given: Tensor) -> Rollout:
    """A rollout with this mask [B, T] and these tensors; whatever is not given is 0."""
    like = logp_old if logp_old is not None else next(iter(given.values()))
    zero, never = like.new_zeros(mask.shape), torch.zeros_like(mask)
    rest: dict[str, Tensor] = dict.fromkeys(
        ("obs", "action", "reward", "logp_old", "logp_ref", "value_old", "value_next"), zero
    )
    rest |= {"terminal": never, "truncated": never, "group": torch.arange(len(mask)) if group is None else group}
    rest |= given
    return Rollout(mask=mask, **(rest | ({} if logp_old is None else {"logp_old": logp_old})))


def algorithm(
    *, ratio: RatioSlot | None = None, surrogate: SurrogateSlot | None = None, aggregate: AggregateSlot | None = None,
    **slots: object,
) -> Algorithm:  # fmt: skip
    """An algorithm of which only the loss is used: its advantage slot is a placeholder."""
    chosen = {
        "ratio": ratio or TokenRatio(), "surrogate": surrogate or Unclipped(), "aggregate": aggregate or TokenMean()
    }  # fmt: skip
    return Algorithm(advantage=GroupRelative(), **chosen, **slots)


@dataclass(frozen=True)
class Update:
    """One loss: what went in, its terms, and the house's metrics of it."""

    now: PolicyOutput
    rollout: Rollout
    terms: LossTerms
    metrics: dict[str, Tensor]

    def mean(self, x: Tensor, aggregate: AggregateSlot) -> Tensor:
        """`x` [B, T] under another aggregation than the loss's."""
        mask = self.rollout.mask
        return masked.weighted(masked.fill(x.to(self.now.logp.dtype), mask), aggregate(mask, self.now.logp))

    def kl(self, mask: Tensor) -> Tensor | None:
        """Mean over these tokens of the KL that entered the loss; None where none did."""
        return None if self.terms.kl is None else masked.mean(self.terms.kl.detach(), mask)


def update(
    algorithm: Algorithm,
    rollout: Rollout,
    logp: Tensor,
    advantages: Tensor,
    *,
    entropy: Tensor | None = None,
    value: Tensor | None = None,
    returns: Tensor | None = None,
) -> Update:
    """The loss of these log-probabilities [B, T] with these advantages, [B, T] or one a row [B]."""
    spread = advantages if advantages.dim() > 1 else masked.spread(advantages, rollout.mask)
    zero = torch.zeros_like(logp)
    now = PolicyOutput(logp, zero if entropy is None else entropy, zero if value is None else value)
    given = Advantages(spread, zero, torch.ones_like(zero), zero if returns is None else returns)
    terms = policy_loss(algorithm, now, rollout, given, float(algorithm.kl.kl_beta))
    return Update(now, rollout, terms, update_metrics(terms, now, rollout))


def gradient(loss: Tensor, leaf: Tensor) -> Tensor:
    """d loss / d leaf, 0 where the loss does not read it."""
    found = torch.autograd.grad(loss, leaf, retain_graph=True, allow_unused=True)[0] if loss.requires_grad else None
    return torch.zeros_like(leaf) if found is None else found


def sampler(logp_old: Tensor, weights: Tensor) -> Tensor:
    """The sampler's log-probabilities under which the importance weights exp(old - sampler) are these. [B, T]"""
    return logp_old.detach() - weights.expand_as(logp_old).log()
