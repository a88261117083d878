"""Aggregation as weights: how much each token counts, `w(mask) [..., B, T]`, so that the loss is a plain weighted sum.

Writing the rule as weights and not as a reduction keeps the family in one equation and makes length bias a picture.
A batch that is only a part of a larger one (a micro-batch, one of several workers) is told the size of its share of
the whole in `tokens` or `rows`, so that the parts' losses add up.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from torch import Tensor

from rlcore import masked
from rlcore.knobs import Value, knob


def _rows(mask: Tensor, like: Tensor, *, count_empty: bool, rows: float | None) -> Tensor:
    """Rows that share the mean, [..., 1, 1]: as told, or all of them, or those that have a token (at least 1)."""
    counted = (mask.any(-1) | count_empty).sum(-1).clamp(min=1)[..., None, None].to(like.dtype)
    return counted if rows is None else counted.new_tensor(rows)


class SequenceMean(Value):
    """w_it = 1 / (B * L_i): the mean over rows of each row's token mean.

    count_empty: a row without tokens counts in B (TRL) or not (verl, OpenRLHF). `eps` is added to L_i (verl, OpenRLHF:
    1e-8; TRL, the paper: 0). `rows` replaces B by the rows of the whole batch (verl `global_batch_size`).
    Source: GRPO, arXiv:2402.03300, eq. 3; GSPO, arXiv:2507.18071, eq. 5.
    Trap: a token of a long row weighs less, so long wrong answers are punished gently (arXiv:2503.20783).
    """

    kind: Literal["sequence_mean"] = "sequence_mean"
    count_empty: bool = True
    eps: float = knob(0.0, "ε_L", 0, 1, "added to a row's token count")
    rows: float | None = Field(default=None, gt=0)

    def __call__(self, mask: Tensor, like: Tensor) -> Tensor:
        m = mask.to(like.dtype)
        length = masked.lengths(mask).clamp(min=1).to(like.dtype)[..., None] + self.eps
        return m / (_rows(mask, like, count_empty=self.count_empty, rows=self.rows) * length)


class TokenMean(Value):
    """w_it = 1 / N with N the batch's token count: every token weighs the same, a long row counts more.

    `tokens` replaces N by the tokens of the whole batch (verl `batch_num_tokens`, TRL "dapo", whose micro-losses then
    add up to the mean over the generation batch); tokens=1 is the plain sum (verl `token-sum`). `eps` is added to N
    (verl's metrics and statistics: 1e-8).
    Source: DAPO, arXiv:2503.14476, eq. 8; TRL `loss_type="dapo"` / "bnpo"; verl and OpenRLHF's default.
    """

    kind: Literal["token_mean"] = "token_mean"
    tokens: float | None = Field(default=None, gt=0)
    eps: float = knob(0.0, "ε_N", 0, 1, "added to the token count")

    def __call__(self, mask: Tensor, like: Tensor) -> Tensor:
        m = mask.to(like.dtype)
        if self.tokens is not None:
            return m / self.tokens
        count = m.sum(dim=(-2, -1), keepdim=True).clamp(min=1)
        return m / (count + self.eps if self.eps else count)


class SequenceSum(Value):
    """w_it = 1 / B: the mean over rows of token *sums*; a row's push grows with its length (RLOO, REINFORCE).

    With a sequence ratio it is LUSPO (arXiv:2602.05261): GSPO times the row's length.
    Source: Ahmadian et al. 2024, arXiv:2402.14740; verl `seq-mean-token-sum` (counts no empty rows).
    """

    kind: Literal["sequence_sum"] = "sequence_sum"
    count_empty: bool = True
    rows: float | None = Field(default=None, gt=0)

    def __call__(self, mask: Tensor, like: Tensor) -> Tensor:
        return mask.to(like.dtype) / _rows(mask, like, count_empty=self.count_empty, rows=self.rows)


class ConstantLength(Value):
    """w_it = 1 / (B * length) with a constant length: token sums over one fixed divisor, so length buys nothing.

    Source: Dr. GRPO, arXiv:2503.20783; TRL `dr_grpo` (max_completion_length, counts empty rows); verl
    `seq-mean-token-sum-norm` (padded length by default, counts no empty rows). None: the padded length T.
    """

    kind: Literal["constant_length"] = "constant_length"
    length: float | None = Field(default=None, gt=0)
    count_empty: bool = True
    rows: float | None = Field(default=None, gt=0)

    def __call__(self, mask: Tensor, like: Tensor) -> Tensor:
        length = float(mask.shape[-1]) if self.length is None else self.length
        return mask.to(like.dtype) / (_rows(mask, like, count_empty=self.count_empty, rows=self.rows) * length)


AggregateSlot = Annotated[
    SequenceMean | TokenMean | SequenceSum | ConstantLength, Field(discriminator="kind")
]
