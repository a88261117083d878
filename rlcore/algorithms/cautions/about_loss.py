"""Cautions about the loss: ratio, band, surrogate, aggregation, and reuse of one batch."""

from __future__ import annotations

from collections.abc import Iterator

from rlcore.advantages import Gae, Returns
from rlcore.aggregation import ConstantLength, SequenceSum, TokenMean
from rlcore.algorithm import Algorithm
from rlcore.algorithms.cautions.caution import Caution, Run
from rlcore.ratios import SequenceProduct, SequenceRatio, SequenceTokenRatio, TokenRatio
from rlcore.surrogates import Cispo, DualClip, Gmpo, PpoClip, Sapo, ScoreFunction, TwoSidedClip, Unclipped

CLIPS = (PpoClip, DualClip, TwoSidedClip)
GEOMETRIC = (SequenceRatio, SequenceTokenRatio)


def of_ratio(alg: Algorithm, run: Run) -> Iterator[Caution]:
    if isinstance(alg.surrogate, ScoreFunction | Gmpo) and not isinstance(alg.ratio, TokenRatio):
        yield Caution(
            "ratio_ignored", "ratio", "warning",
            f"{type(alg.surrogate).__name__} reads no ratio above the token's, so {type(alg.ratio).__name__} "
            "changes nothing.",
            "arXiv:2507.20673 (GMPO); Williams 1992 (score function)",
        )  # fmt: skip
    if isinstance(alg.surrogate, Cispo | Sapo) and not isinstance(alg.ratio, TokenRatio):
        yield Caution(
            "sequence_weight", "ratio", "note",
            f"{type(alg.surrogate).__name__} was proposed for token ratios; with a sequence's ratio one "
            "weight serves a whole row.",
            "arXiv:2506.13585; arXiv:2511.20347",
        )  # fmt: skip
    if isinstance(alg.ratio, SequenceProduct):
        yield Caution(
            "product_spreads", "ratio", "note",
            "A product of token ratios spreads exponentially with length: 1000 tokens at a log-ratio of "
            "0.01 multiply to 22026, where their geometric mean is 1.01.",
            "arXiv:2507.18071, sec. 3; TRL RLOOTrainer uses it with ε 0.2",
        )  # fmt: skip


def of_band(alg: Algorithm, run: Run) -> Iterator[Caution]:
    if not isinstance(alg.surrogate, CLIPS):
        return
    low, high = alg.surrogate.eps_low, alg.surrogate.eps_high
    if isinstance(alg.ratio, GEOMETRIC) and max(low, high) > 0.01:
        yield Caution(
            "wide_sequence_band", "surrogate", "warning",
            f"A mean of log-ratios hardly leaves 1, so ε {max(low, high):g} almost never clips; GSPO uses "
            "3e-4 and 4e-4.",
            "arXiv:2507.18071, sec. 5.1",
        )  # fmt: skip
    if isinstance(alg.ratio, TokenRatio) and max(low, high) < 0.01:
        yield Caution(
            "narrow_token_band", "surrogate", "warning",
            f"Token ratios leave a band of {max(low, high):g} with the first update: at 3e-4 about half of "
            "all tokens are clipped. Such ε belong to the sequence ratio.",
            "arXiv:2507.18071, sec. 5.1 uses 0.2 and 0.27 for GRPO",
        )  # fmt: skip
    if low > high:
        yield Caution(
            "clip_lower", "surrogate", "note",
            f"ε_low {low:g} > ε_high {high:g} lets probabilities fall further than rise; the papers "
            "with two bounds have it the other way round.",
            "arXiv:2503.14476, sec. 3.1; arXiv:2507.18071, sec. 5.1",
        )  # fmt: skip
    second = _second_bound(alg.surrogate)
    if second is not None and getattr(alg.surrogate, second) <= 1 + high:
        yield Caution(
            "second_bound_inside", "surrogate", "note",
            f"{second} {getattr(alg.surrogate, second):g} lies inside the band [.., {1 + high:g}]: negative "
            "tokens lose their gradient before positive ones do.",
            "arXiv:1912.09729; arXiv:2505.07291, sec. 4.1 (δ > 1 + ε)",
        )  # fmt: skip


def of_surrogate(alg: Algorithm, run: Run) -> Iterator[Caution]:
    if isinstance(alg.surrogate, Cispo):
        yield Caution(
            "nothing_dies", "surrogate", "note",
            "CISPO never silences a token: clip_fraction stays 0 and the loss value means nothing. Read "
            "clip_fraction_outside.",
            "arXiv:2506.13585",
        )  # fmt: skip
    if isinstance(alg.surrogate, Sapo):
        yield Caution(
            "no_bounds", "surrogate", "note",
            "SAPO fades gradients and has no bounds, so every clip fraction stays 0.",
            "arXiv:2511.20347",
        )  # fmt: skip
    if isinstance(alg.surrogate, Gmpo) and isinstance(alg.advantage, Gae | Returns):
        yield Caution(
            "gmpo_needs_rows", "surrogate", "warning",
            "GMPO multiplies a row's geometric mean by one advantage; this one changes from token to token.",
            "arXiv:2507.20673",
        )  # fmt: skip


def of_aggregate(alg: Algorithm, run: Run) -> Iterator[Caution]:
    by_row = isinstance(alg.ratio, GEOMETRIC) or isinstance(alg.surrogate, Gmpo)
    if by_row and isinstance(alg.aggregate, TokenMean | SequenceSum | ConstantLength):
        yield Caution(
            "length_weighted_rows", "aggregate", "warning",
            f"The gain is one number a row; {type(alg.aggregate).__name__} counts it once per token, so long "
            "rows weigh more. GSPO and GMPO take the mean over rows.",
            "arXiv:2507.18071, eq. 5; huggingface/trl#3823",
        )  # fmt: skip
    if isinstance(alg.ratio, SequenceProduct) and isinstance(alg.aggregate, TokenMean | SequenceSum):
        yield Caution(
            "length_weighted_product", "aggregate", "note",
            "The whole row's ratio stands in every token: summing tokens counts it once per token.",
            "TRL RLOOTrainer takes the mean over rows",
        )  # fmt: skip


def of_reuse(alg: Algorithm, run: Run) -> Iterator[Caution]:
    if run.updates is None:
        return
    if run.updates == 1 and not isinstance(alg.surrogate, ScoreFunction | Unclipped):
        yield Caution(
            "clip_idle", "surrogate", "note",
            "One update per batch: every ratio is exactly 1, nothing is clipped, and token and sequence "
            "ratios give the same gradient.",
            "arXiv:1707.06347, sec. 3; TRL 1.16 does not even compute old log-probabilities then",
        )  # fmt: skip
    if run.updates > 1 and isinstance(alg.surrogate, ScoreFunction):
        yield Caution(
            "score_function_reuse", "surrogate", "warning",
            f"{run.updates} updates per batch, but A·log π does not correct for the policy having moved "
            "after the first.",
            "arXiv:1707.06347, sec. 2.1",
        )  # fmt: skip
    if run.updates > 1 and isinstance(alg.surrogate, Unclipped):
        yield Caution(
            "unclipped_reuse", "surrogate", "warning",
            f"{run.updates} updates per batch with nothing to stop the ratio: the PPO paper's worst setting "
            "(Table 1, −0.39).",
            "arXiv:1707.06347, sec. 6.1",
        )  # fmt: skip


def _second_bound(surrogate: object) -> str | None:
    """The name of a surrogate's second bound on the ratio, where it has one."""
    if isinstance(surrogate, DualClip):
        return "c"
    return "delta" if isinstance(surrogate, TwoSidedClip) else None
