"""The knobs as quantities: made from their one declaration, with each library's name for them added.

A knob that no library has keeps an empty `aka`. Nothing is declared here a second time. OpenRLHF's names are
its command line's before 0.11 grouped them under dots.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic import BaseModel

from rlcore.glossary.quantity import Quantity
from rlcore.knobs import Knob, Value, knobs_of

_CLIP = {"CleanRL": "clip_coef", "SB3": "clip_range"}
_VALUE_BAND = {"verl": "cliprange_value", "OpenRLHF": "value_clip", "CleanRL": "clip_coef (the policy's)",
               "SB3": "clip_range_vf"}  # fmt: skip
_STOP = {"CleanRL": "target_kl", "SB3": "target_kl"}

# By "Owner.knob" first, then by "knob".
NAMES: Mapping[str, Mapping[str, str]] = {
    "eps_low": {"TRL": "epsilon", "verl": "clip_ratio_low", "OpenRLHF": "eps_clip_low_high"} | _CLIP,
    "eps_high": {"TRL": "epsilon_high", "verl": "clip_ratio_high", "OpenRLHF": "eps_clip_low_high"} | _CLIP,
    "Cispo.eps_low": {"verl": "clip_ratio_low"},
    "Cispo.eps_high": {"TRL": "epsilon_high − 1 (an absolute cap there)", "verl": "clip_ratio_high"},
    "c": {"verl": "clip_ratio_c", "OpenRLHF": "dual_clip"},
    "delta": {"TRL": "delta"},
    "tau_pos": {"TRL": "sapo_temperature_pos", "verl": "tau_pos"},
    "tau_neg": {"TRL": "sapo_temperature_neg", "verl": "tau_neg"},
    "k_pos": {"TRL": "vespo_k_pos"},
    "lam_pos": {"TRL": "vespo_lambda_pos"},
    "k_neg": {"TRL": "vespo_k_neg"},
    "lam_neg": {"TRL": "vespo_lambda_neg"},
    "KlInLoss.kl_beta": {"TRL": "beta", "verl": "kl_loss_coef", "OpenRLHF": "init_kl_coef, use_kl_loss"},
    "KlInReward.kl_beta": {"TRL": "beta (RLOO)", "verl": "kl_ctrl.kl_coef", "OpenRLHF": "init_kl_coef"},
    "AdaptiveBeta.target": {"verl": "kl_ctrl.target_kl", "OpenRLHF": "kl_target"},
    "AdaptiveBeta.horizon": {"verl": "kl_ctrl.horizon", "OpenRLHF": "kl_horizon"},
    "gamma": {"verl": "algorithm.gamma", "OpenRLHF": "gamma", "CleanRL": "gamma", "SB3": "gamma"},
    "lam": {"verl": "algorithm.lam", "OpenRLHF": "lambd", "CleanRL": "gae_lambda", "SB3": "gae_lambda"},
    "GroupRelative.eps": {"TRL": "1e-4, fixed", "verl": "1e-6, fixed", "OpenRLHF": "1e-9, fixed"},
    "Whiten.eps": dict.fromkeys(("verl", "OpenRLHF", "CleanRL", "SB3"), "1e-8, fixed"),
    "entropy_coef": {"TRL": "entropy_coef", "verl": "entropy_coeff", "OpenRLHF": "entropy_loss_coef",
                     "CleanRL": "ent_coef", "SB3": "ent_coef"},
    "coef": {"CleanRL": "vf_coef", "SB3": "vf_coef"},
    "eps_value": _VALUE_BAND,
    "TruncatedIs.cap": {"TRL": "vllm_importance_sampling_clip_max", "verl": "rollout_is_threshold",
                        "OpenRLHF": "vllm_is_truncated_threshold"},
    "MaskedIs.high": {"TRL": "vllm_importance_sampling_clip_max", "verl": "rollout_is_threshold (lo_hi)"},
    "TopEntropy.share": {"TRL": "top_entropy_quantile"},
    "OffPolicyRows.threshold": {"TRL": "off_policy_mask_threshold"},
    "SoftOverlong.max_length": {"TRL": "max_completion_len", "verl": "max_response_length"},
    "SoftOverlong.cache": {"TRL": "soft_punish_cache", "verl": "overlong_buffer.len",
                           "OpenRLHF": "overlong_buffer_len"},
    "SoftOverlong.factor": {"verl": "overlong_buffer.penalty_factor", "OpenRLHF": "overlong_penalty_factor"},
    "EpochKlStop.target": {"CleanRL": "target_kl"},
    "MinibatchKlStop.target": {"SB3": "target_kl"},
    "prompts": {"verl": "data.train_batch_size", "OpenRLHF": "rollout_batch_size", "CleanRL": "num_envs",
                "SB3": "n_envs"},
    "group_size": {"TRL": "num_generations", "verl": "rollout.n", "OpenRLHF": "n_samples_per_prompt"},
    "epochs": {"TRL": "num_iterations", "verl": "ppo_epochs", "OpenRLHF": "max_epochs",
               "CleanRL": "update_epochs", "SB3": "n_epochs"},
    "minibatches": {"TRL": "steps_per_generation", "verl": "ppo_mini_batch_size (rows each)",
                    "CleanRL": "num_minibatches", "SB3": "batch_size (steps each)"},
    "lr": {"TRL": "learning_rate", "verl": "actor.optim.lr", "OpenRLHF": "actor_learning_rate",
           "CleanRL": "learning_rate", "SB3": "learning_rate"},
    "max_grad_norm": {"TRL": "max_grad_norm", "verl": "grad_clip", "OpenRLHF": "max_norm",
                      "CleanRL": "max_grad_norm", "SB3": "max_grad_norm"},
}  # fmt: skip


def of_knobs(model: type[BaseModel]) -> tuple[Quantity, ...]:
    """The knobs a model declares itself, as glossary entries named "Owner.knob"."""
    return tuple(_of_knob(model.__name__, name, knob) for name, knob in knobs_of(model).items())


def _of_knob(owner: str, name: str, knob: Knob) -> Quantity:
    key = f"{owner}.{name}"
    change = "may change while a run is running" if knob.live else "needs a new run"
    meaning = f"{knob.help[:1].upper()}{knob.help[1:]}. Legal from {knob.low:g} to {knob.high:g}; {change}."
    aka = NAMES.get(key, NAMES.get(name, {}))
    return Quantity(key, knob.symbol, "scalar", knob.unit, meaning, "", knob.source, aka, "knob")


def every_value() -> Iterator[type[Value]]:
    """Every value class loaded so far that declares a knob of its own."""
    open_ = [Value]
    while open_:
        for cls in open_.pop(0).__subclasses__():
            open_.append(cls)
            if knobs_of(cls):
                yield cls
