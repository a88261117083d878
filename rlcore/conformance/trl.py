"""TRL 1.16.0 out of the house's slots: the GRPO trainer's losses.

TRL keeps rows without tokens in its means over rows, clamps no log-ratio, multiplies k3 by the ratio by default, and
passes SAPO's and VESPO's numbers through float32. GSPO-token is the class of 1.12 and 1.13.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from rlcore import masked
from rlcore.aggregation import AggregateSlot, ConstantLength, SequenceMean, SequenceSum, TokenMean
from rlcore.conformance.compose import INDICATOR_RTOL, Update, algorithm, batch, gradient, sampler, update
from rlcore.conformance.report import Got
from rlcore.conformance.vector import Vector
from rlcore.correction import PlainIs
from rlcore.gates import GateSlot, OffPolicyRows, TopEntropy
from rlcore.kl import K3, AsWritten, KlInLoss, KlSlot, NoKl, RatioCorrected
from rlcore.ratios import RatioSlot, SequenceRatio, SequenceTokenRatio, TokenRatio
from rlcore.rollout import Rollout
from rlcore.surrogates import Cispo, Gmpo, PpoClip, Sapo, ScoreFunction, SurrogateSlot, TwoSidedClip, Vespo

RATIOS: dict[str, RatioSlot] = {
    "token": TokenRatio(), "sequence": SequenceRatio(), "sequence_token": SequenceTokenRatio()
}  # fmt: skip


def _single(x: float) -> float:
    """What is left of a Python number that passed through float32."""
    return float(torch.tensor(x, dtype=torch.float32))


def _eps(config: dict[str, Any]) -> tuple[float, float]:
    low = config.get("epsilon_low", config.get("epsilon", 0.2))
    high = config.get("epsilon_high")
    return low, low if high is None else high


def _surrogate(config: dict[str, Any]) -> SurrogateSlot:
    kind, (low, high) = config.get("loss_type", "dapo"), _eps(config)
    if kind == "cispo":
        return Cispo(eps_low=1.0, eps_high=high - 1)  # TRL's epsilon_high is the cap itself
    if kind == "sapo":
        plus, minus = config.get("sapo_temperature_pos", 1.0), config.get("sapo_temperature_neg", 1.05)
        return Sapo(tau_pos=_single(plus), tau_neg=_single(minus))
    if kind == "vespo":
        defaults = {"k_pos": 2.0, "lambda_pos": 3.0, "k_neg": 3.0, "lambda_neg": 2.0}
        k_pos, lam_pos, k_neg, lam_neg = (_single(config.get(f"vespo_{n}", x)) for n, x in defaults.items())
        return Vespo(k_pos=k_pos, lam_pos=lam_pos, k_neg=k_neg, lam_neg=lam_neg)
    low = min(low, 1.0)  # a lower bound below 0 is no bound: ratios are positive
    if config.get("delta") is None:
        return PpoClip(eps_low=low, eps_high=high)
    return TwoSidedClip(eps_low=low, eps_high=high, delta=config["delta"])


def _aggregate(config: dict[str, Any], mask: Tensor, generated: float) -> AggregateSlot:
    """`loss_type` as weights of one micro-batch; `generated` is the token count of the whole generation batch."""
    kind = config.get("loss_type", "dapo")
    parts = config.get("gradient_accumulation_steps", config.get("current_gradient_accumulation_steps", 1))
    rows = float(len(mask) * parts)
    if kind in ("grpo", "sapo"):
        return SequenceMean(rows=rows)
    if kind == "luspo":
        return SequenceSum(rows=rows)
    if kind == "dr_grpo":
        return ConstantLength(length=config.get("max_completion_length", 16), rows=rows)
    if kind == "bnpo":
        return TokenMean(tokens=max(int(mask.sum()), 1) * parts)
    return TokenMean(tokens=max(generated, 1.0) * parts / config.get("steps_per_generation", parts))


def _kl(config: dict[str, Any]) -> KlSlot:
    if config.get("beta", 0.0) == 0:
        return NoKl()
    older = config.get("importance_sampling_level") == "sequence_token"  # the class of 1.12 corrects nothing
    corrected = config.get("use_bias_correction_kl", True) and not older
    return KlInLoss(kl_beta=config["beta"], estimator=K3(), gradient=RatioCorrected() if corrected else AsWritten())


# ---------------------------------------------------------------- the GRPO trainer's loss


def grpo_loss(vector: Vector) -> dict[str, Any]:
    return vector.each_case(_loss_case)


def loss_mask(vector: Vector) -> Tensor:
    mask = vector.mask("completion_mask")
    return mask & vector.mask("tool_mask") if vector.has("tool_mask") else mask


def _loss_case(vector: Vector, config: dict[str, Any]) -> dict[str, Any]:
    mask, logp = loss_mask(vector), vector.leaf("per_token_logps")
    entropy = vector.leaf("entropies") if vector.has("entropies") else torch.zeros_like(logp, requires_grad=True)
    generated = float(vector.inputs.get("num_items_in_batch") or mask.sum())
    bonus = config.get("entropy_coef") or 0.0
    top = TopEntropy(share=share) if (share := config.get("top_entropy_quantile", 1.0)) < 1 else None
    rollout, slots = _pushing(vector, config, mask, logp.detach(), entropy, top)
    surrogate = slots.pop("surrogate", None) or _surrogate(config)
    done = update(
        algorithm(
            ratio=RATIOS[config.get("importance_sampling_level", "token")], surrogate=surrogate,
            aggregate=_aggregate(config, mask, generated), kl=_kl(config), **slots,
            entropy_coef=0.0 if top else bonus, entropy_aggregate=TokenMean(),
        ),
        rollout, logp, vector.tensor("advantages"), entropy=entropy,
    )  # fmt: skip
    loss = done.terms.loss
    if top and bonus:  # TRL then rewards the entropy of the tokens that may push
        pushing = top(logp, logp, entropy, done.terms.advantages, mask) > 0
        loss = loss - bonus * masked.mean(entropy, pushing)
    return {
        "loss": loss,
        "grad_log_probs": gradient(loss, logp),
        "grad_entropies": gradient(loss, entropy) if bonus else None,
        "metrics": _metrics(vector, config, done) | {"entropy_coef": bonus},
    }


def _pushing(
    vector: Vector, config: dict[str, Any], mask: Tensor, logp: Tensor, entropy: Tensor, top: TopEntropy | None
) -> tuple[Rollout, dict[str, Any]]:
    """The rollout, and the slots that say which tokens push and how much: gates and the sampler's weights."""
    old = vector.tensor("old_per_token_logps") if vector.has("old_per_token_logps") else logp
    ref = vector.tensor("ref_per_token_logps") if vector.has("ref_per_token_logps") else old
    threshold = config.get("off_policy_mask_threshold")
    gates: list[GateSlot] = [g for g in (top, None if threshold is None else OffPolicyRows(threshold=threshold)) if g]
    inference = vector.tensor("sampling_per_token_logps") if vector.has("sampling_per_token_logps") else old
    weights = vector.tensor("importance_sampling_ratio") if vector.has("importance_sampling_ratio") else None
    if weights is None and len(gates) <= 1:
        slots = {"gate": gates[0]} if gates else {}
        return batch(mask, logp_old=old, logp_ref=ref, logp_rollout=inference), slots
    given = vector.tensor("advantages")
    advantages = given if given.dim() > 1 else masked.spread(given, mask)
    product = torch.ones_like(old) if weights is None else weights.expand_as(old)
    chosen: dict[str, Any] = {"correction": PlainIs()}
    if isinstance(vespo := _surrogate(config), Vespo):  # the sampler's weights enter W; phi(W) is then a given weight
        product, chosen["surrogate"] = vespo.phi(_log_weight(vector, logp, old, mask), advantages), ScoreFunction()
    for gate in gates:
        product = product * gate(logp, inference, entropy, advantages, mask)
    return batch(mask, logp_old=old, logp_ref=ref, logp_rollout=sampler(old, product)), chosen


def _log_weight(vector: Vector, logp: Tensor, old: Tensor, mask: Tensor) -> Tensor:
    """log W of a row [B, 1]: every token's log-ratio, and that of the sampler where one is given."""
    of_row = masked.row_sum((logp - old).clamp(-20, 20), mask).unsqueeze(-1)
    if not vector.has("importance_sampling_ratio"):
        return of_row
    return of_row + vector.tensor("importance_sampling_ratio").log().clamp(math.log(1e-8), 20).sum(-1, keepdim=True)


def _metrics(vector: Vector, config: dict[str, Any], done: Update) -> dict[str, Any]:
    surrogate, mask, kind = done.terms.surrogate, done.rollout.mask, config.get("loss_type", "dapo")
    by_row = config.get("importance_sampling_level") == "sequence" and vector.tensor("advantages").dim() == 1
    found = {
        "policy_loss": done.terms.policy_loss + done.terms.kl_loss,
        "kl": done.kl(mask),
        "entropy": done.metrics["entropy"],
    }
    if kind == "cispo":
        capped = surrogate.outside & (done.terms.advantages > 0)
        return found | {"cispo_clip_ratio": Got(_votes(capped, mask, by_row)[0], rtol=INDICATOR_RTOL)}
    if isinstance(vespo := _surrogate(config), Vespo):
        return found | {"vespo/phi_seq_mean": _phi(vespo, vector, done)}
    return found | _clip_ratios(surrogate.dead_low, surrogate.dead_high, mask, by_row)


def _phi(vespo: Vespo, vector: Vector, done: Update) -> Tensor:
    """Mean gate: over rows, those without tokens included, or over tokens where advantages differ along a row."""
    advantages = vector.tensor("advantages")
    log_weight = _log_weight(vector, done.now.logp.detach(), done.rollout.logp_old, done.rollout.mask)
    if advantages.dim() == 1:
        return vespo.phi(log_weight, advantages.unsqueeze(-1)).mean()
    return done.mean(vespo.phi(log_weight, advantages), TokenMean())


def _votes(hit: Tensor, mask: Tensor, by_row: bool) -> tuple[Tensor, Tensor]:
    """(share of hits, share of each row that has a say): one vote a row, or one a token."""
    if by_row:
        vote = (hit & mask).any(-1).double()
        return vote.mean(), vote
    hits = hit.double()
    return masked.mean(hits, mask), masked.row_mean(hits, mask)[mask.any(-1)]


def _clip_ratios(low: Tensor, high: Tensor, mask: Tensor, by_row: bool) -> dict[str, Got]:
    (low_mean, low_rows), (high_mean, high_rows) = _votes(low, mask, by_row), _votes(high, mask, by_row)
    nothing = torch.tensor(torch.nan)
    found = {
        "low_mean": low_mean, "high_mean": high_mean, "region_mean": _votes(low | high, mask, by_row)[0],
        "low_min": low_rows.min() if len(low_rows) else nothing,
        "high_max": high_rows.max() if len(high_rows) else nothing,
    }  # fmt: skip
    return {f"clip_ratio/{name}": Got(x, rtol=INDICATOR_RTOL) for name, x in found.items()}


# ---------------------------------------------------------------- GMPO


def gmpo_loss(vector: Vector) -> dict[str, Any]:
    return vector.each_case(_gmpo_case)


def _gmpo_case(vector: Vector, config: dict[str, Any]) -> dict[str, Any]:
    """A row without tokens still counts, as ratio 1: it is given one token on which nothing depends."""
    seen, logp = loss_mask(vector), vector.leaf("per_token_logps")
    mask = torch.cat([seen, ~seen.any(-1, keepdim=True)], dim=-1)
    old = vector.tensor("old_per_token_logps") if vector.has("old_per_token_logps") else logp.detach()
    ref = vector.tensor("ref_per_token_logps") if vector.has("ref_per_token_logps") else old
    low, high = _eps(config)
    done = update(
        algorithm(
            surrogate=Gmpo(eps_low=low, eps_high=high), aggregate=SequenceMean(),
            kl=_kl(config | {"use_bias_correction_kl": False}),
        ),
        batch(mask, logp_old=_and_nothing(old), logp_ref=_and_nothing(ref)),
        _and_nothing(logp), vector.tensor("advantages"),
    )  # fmt: skip
    surrogate, position = done.terms.surrogate, torch.arange(mask.shape[-1])
    clipped = _clip_ratios(surrogate.dead_low[:, :-1], surrogate.dead_high[:, :-1], seen, by_row=False)
    entropy = vector.tensor("entropies") if vector.has("entropies") else torch.zeros_like(old)
    return {
        "loss": done.terms.loss,
        "grad_log_probs": gradient(done.terms.loss, logp),
        "grad_entropies": None,
        "metrics": clipped | {
            "kl": done.kl(mask & (position < seen.shape[-1])), "entropy": masked.mean(entropy, seen)
        },
    }  # fmt: skip


def _and_nothing(x: Tensor) -> Tensor:
    return torch.cat([x, torch.zeros_like(x[:, :1])], dim=-1)


# ---------------------------------------------------------------- gradient accumulation


def grpo_loss_accumulation(vector: Vector) -> dict[str, Any]:
    mask = loss_mask(vector)
    generated = float(vector.inputs.get("num_items_in_batch") or mask.sum())
    found = {}
    for label, case in vector.outputs.items():
        config = {"loss_type": label} | vector.config | (case.get("config") or {})
        logp = vector.leaf("per_token_logps")
        losses = [_micro(vector, config, logp, slice(*part), generated) for part in vector.inputs["micro_batches"]]
        total = torch.stack(losses).sum()
        found[label] = {
            "micro_losses": torch.stack(losses), "sum_of_micro_losses": total, "grad_log_probs": gradient(total, logp)
        }  # fmt: skip
    return found


def _micro(vector: Vector, config: dict[str, Any], logp: Tensor, part: slice, generated: float) -> Tensor:
    mask, old = loss_mask(vector)[part], vector.tensor("old_per_token_logps")[part]
    ref = vector.tensor("ref_per_token_logps")[part] if vector.has("ref_per_token_logps") else old
    slots = algorithm(
        ratio=RATIOS[config.get("importance_sampling_level", "token")], surrogate=_surrogate(config),
        aggregate=_aggregate(config, mask, generated), kl=_kl(config),
    )  # fmt: skip
    rollout, advantages = batch(mask, logp_old=old, logp_ref=ref), vector.tensor("advantages")[part]
    return update(slots, rollout, logp[part], advantages).terms.loss


OPS: dict[str, Callable[[Vector], dict[str, Any]]] = {
    "trl.grpo_loss": grpo_loss,
    "trl.gspo_loss": grpo_loss,
    "trl.variant_loss": grpo_loss,
    "trl.gmpo_loss": gmpo_loss,
    "trl.grpo_loss_accumulation": grpo_loss_accumulation,
}
