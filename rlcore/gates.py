"""Gates: which tokens may push at all, 1 or 0 a token, decided from the policy of this moment.

A gate multiplies the surrogate only: the KL term, the entropy bonus and the token counts stay as they are. A gate
carries no gradient. What leaves the batch altogether is selection (`shaping`).
"""

from __future__ import annotations

from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor

from rlcore import masked
from rlcore.knobs import Value, knob


class AllTokens(Value):
    """Every valid token pushes."""

    kind: Literal["all_tokens"] = "all_tokens"

    def __call__(
        self, logp_new: Tensor, logp_sampler: Tensor, entropy: Tensor, advantages: Tensor, mask: Tensor
    ) -> Tensor:
        return torch.ones_like(logp_new)


class TopEntropy(Value):
    """Only the most uncertain tokens push: those with entropy >= the (1 - share) quantile over the batch's tokens.

    The quantile is taken in float32. entropy, mask: [..., B, T]; result likewise.
    Source: Wang et al. 2025, arXiv:2506.01939 (share 0.2); TRL 1.16 `top_entropy_quantile`.
    """

    kind: Literal["top_entropy"] = "top_entropy"
    share: float = knob(0.2, "ρ_H", 0, 1, "share of tokens that push", source="arXiv:2506.01939")

    def __call__(
        self, logp_new: Tensor, logp_sampler: Tensor, entropy: Tensor, advantages: Tensor, mask: Tensor
    ) -> Tensor:
        seen = masked.fill(entropy.detach(), mask, torch.nan).float().flatten(-2)
        threshold = seen.nanquantile(1 - self.share, dim=-1)[..., None, None]
        return (mask & (entropy.detach() >= threshold)).to(logp_new.dtype)


class OffPolicyRows(Value):
    """Rows with A < 0 that the policy has moved away from are dropped: mean_t(log pi_sampler - log pi) > threshold.

    A token the sampler could not score (NaN) is no evidence. All tensors [..., B, T].
    Source: DeepSeek-V3.2, arXiv:2512.02556, eq. 9; TRL 1.16 `off_policy_mask_threshold`.
    """

    kind: Literal["off_policy_rows"] = "off_policy_rows"
    threshold: float = knob(0.5, "δ_off", 0, 1e3, "largest mean log-ratio a row with A < 0 may have", unit="nats")

    def __call__(
        self, logp_new: Tensor, logp_sampler: Tensor, entropy: Tensor, advantages: Tensor, mask: Tensor
    ) -> Tensor:
        drift = (logp_sampler - logp_new.detach()).nan_to_num(nan=0.0)
        near = masked.row_mean(drift, mask).unsqueeze(-1) <= self.threshold
        return ((advantages >= 0) | near).to(logp_new.dtype)


GateSlot = Annotated[AllTokens | TopEntropy | OffPolicyRows, Field(discriminator="kind")]
