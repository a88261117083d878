"""The fields of rollouts, advantages, loss terms and records, one entry each."""

from __future__ import annotations

from rlcore.glossary.quantity import Quantity

BT = "[B, T]"


def of_token(
    name: str, symbol: str, unit: str, meaning: str, formula: str = "", source: str = "", *,
    shape: str = BT, **aka: str,
) -> Quantity:  # fmt: skip
    """A field with a number a token, unless `shape` says otherwise."""
    return Quantity(name, symbol, shape, unit, meaning, formula, source, aka, "field")


ROLLOUT = (
    of_token(
        "obs", "s", "", "State or token id the step was taken in, or a vector of numbers [B, T, D].",
    ),
    of_token(
        "action", "a", "", "What was done: an action's number, a token, or a vector [B, T, D].",
        TRL="completion_ids", verl="responses", CleanRL="actions", SB3="actions",
    ),
    of_token(
        "mask", "m", "", "True on real steps, False on padding.", TRL="completion_mask", verl="response_mask",
        OpenRLHF="action_mask",
    ),
    of_token(
        "reward", "r", "reward", "The environment's reward; an outcome reward stands on the row's last step.",
        TRL="rewards", verl="token_level_scores", OpenRLHF="reward", CleanRL="rewards", SB3="rewards",
    ),
    of_token(
        "shaped_reward", "r′", "reward", "Reward after shaping and after a KL placed in the reward.",
        r"r'_t = r_t + \text{shaping}_t - \beta k_t", verl="token_level_rewards", OpenRLHF="reward with KL",
    ),
    of_token(
        "logp_old", "log π_old", "nats",
        "Log-probability of the action under the trainer's policy before the first update of this step.",
        TRL="old_per_token_logps", verl="old_log_probs", OpenRLHF="action_log_probs", CleanRL="logprobs",
        SB3="old_log_prob",
    ),
    of_token(
        "logp_ref", "log π_ref", "nats", "Log-probability of the action under the reference policy.",
        TRL="ref_per_token_logps", verl="ref_log_prob", OpenRLHF="base_action_log_probs",
    ),
    of_token(
        "logp_rollout", "log π_roll", "nats",
        "Log-probability by the engine that sampled, where that is another one than the trainer.",
        TRL="sampling_per_token_logps", verl="rollout_log_probs", OpenRLHF="rollout_log_probs",
    ),
    of_token(
        "terminal", "", "",
        "True where the environment itself ended the episode: nothing follows, V is 0 there.",
        CleanRL="terminations", SB3="dones without TimeLimit.truncated",
    ),
    of_token(
        "truncated", "", "",
        "True where a time limit cut the episode: bootstrap with the value of what followed.",
        CleanRL="truncations (treated as termination)", SB3="TimeLimit.truncated",
    ),
    of_token(
        "value_old", "V_old", "reward", "The critic's prediction before the first update.", verl="values",
        OpenRLHF="values", CleanRL="values", SB3="values",
    ),
    of_token(
        "value_next", "V′", "reward",
        "The critic's value of the observation that followed the step; 0 after a terminal one.",
        CleanRL="nextvalues", SB3="next_values",
    ),
    of_token(
        "group", "g", "", "Which prompt or start a row belongs to.", shape="[B]", verl="uid",
    ),
    of_token(
        "prompt", "q", "", "Prompt tokens of a language model's rows.", shape="[B, P]", TRL="prompt_ids",
        verl="prompts",
    ),
    of_token(
        "dist_old", "log π_old(·)", "nats", "Log-probability of every action under the old policy.",
        shape="[B, T, A]",
    ),
    of_token(
        "dist_ref", "log π_ref(·)", "nats", "Log-probability of every action under the reference policy.",
        shape="[B, T, A]",
    ),
    of_token(
        "score", "R", "reward", "Undiscounted sum of a row's rewards.", r"R_i = \textstyle\sum_t r_{it}",
        shape="[B]", TRL="rewards", verl="token_level_scores.sum(-1)",
    ),
)  # fmt: skip

ADVANTAGES = (
    of_token(
        "advantages", "A", "",
        "How much better than expected a step was, as the loss uses it: constant with respect to the policy.",
        r"\hat A = (R - b) / s", TRL="advantages", verl="advantages", OpenRLHF="advantages",
        CleanRL="advantages", SB3="advantages",
    ),
    of_token(
        "baseline", "b", "reward",
        "What was expected: the group's mean, the others' mean, or the critic's value.",
    ),
    of_token(
        "scale", "s", "reward",
        "What the difference to the baseline is divided by: 1, or a standard deviation.",
    ),
    of_token(
        "returns", "R, G", "reward",
        "What a critic is fitted to: the advantage before whitening plus the value, or the row's score.",
        verl="returns", OpenRLHF="returns", CleanRL="returns", SB3="returns",
    ),
)  # fmt: skip

POLICY = (
    of_token(
        "logp", "log π", "nats", "Log-probability of the action under the policy now, with gradient.",
        TRL="per_token_logps", verl="log_prob", OpenRLHF="action_log_probs", CleanRL="newlogprob",
        SB3="log_prob",
    ),
    of_token(
        "logp_new", "log π", "nats", "The same in a record, before that optimiser step.",
        TRL="per_token_logps", verl="log_prob", CleanRL="newlogprob", SB3="log_prob",
    ),
    of_token(
        "value", "V", "reward", "The critic's prediction now, with gradient.", verl="vpreds",
        CleanRL="newvalue", SB3="values",
    ),
    of_token(
        "value_new", "V", "reward", "The same in a record, before that optimiser step.", verl="vpreds",
        CleanRL="newvalue", SB3="values",
    ),
    of_token(
        "dist", "log π(·)", "nats", "Log-probability of every action under the policy now.",
        shape="[B, T, A]",
    ),
)  # fmt: skip

TERMS = (
    of_token(
        "token_log_ratio", "log ρ", "nats", "Log-ratio of each token, whatever the ratio slot.",
        r"\log\pi(a_{it}) - \log\pi_{\text{old}}(a_{it})", TRL="log_ratio", verl="negative_approx_kl",
        CleanRL="logratio", SB3="log_ratio",
    ),
    of_token(
        "log_ratio", "log ρ", "nats",
        "Log-ratio at the ratio slot's level, spread over the row for sequences.",
        TRL="log_importance_weights", verl="negative_approx_kl", CleanRL="logratio", SB3="log_ratio",
    ),
    of_token(
        "ratio", "ρ, s", "",
        "How much likelier the new policy makes what was sampled, per token or per sequence.",
        r"\rho_{it} = \pi/\pi_{\text{old}}, \quad s_i = \exp\tfrac1{L_i}\textstyle\sum_t\log\rho_{it}",
        "arXiv:1707.06347, sec. 3; arXiv:2507.18071, eq. 7", TRL="coef_1", verl="ratio", OpenRLHF="ratio",
        CleanRL="ratio", SB3="ratio",
    ),
    of_token(
        "level", "", "", "What one clip decision covers: \"token\" or \"sequence\".", shape="word",
        TRL="importance_sampling_level",
    ),
    of_token(
        "surrogate", "ψ", "", "The gain of each token and what the bounds did to it.", shape="of [B, T]",
    ),
    of_token(
        "gain", "ψ", "", "The surrogate's value: what an update raises, before weight and correction.",
        r"\psi(\rho, \hat A, \log\pi)", TRL="−per_token_loss", verl="−pg_losses",
    ),
    of_token(
        "objective", "ψ − βk + ηH", "",
        "The bracket of the equation, to be maximised; of a surrogate alone: ψ.",
    ),
    of_token(
        "unclipped", "ρA", "", "What the gain would be without any bound.", r"\rho \hat A",
        "arXiv:1707.06347, eq. 6", OpenRLHF="surr1", SB3="policy_loss_1", CleanRL="−pg_loss1",
    ),
    of_token(
        "outside", "", "", "True where the ratio is outside its band, whatever the sign of A.",
    ),
    of_token(
        "dead_low", "", "",
        "True where the lower bound removed the gradient: the ratio has fallen and A < 0.",
        TRL="is_low_clipped",
    ),
    of_token(
        "dead_high", "", "",
        "True where the upper bound removed the gradient: the ratio has risen and A > 0.",
        TRL="is_high_clipped",
    ),
    of_token(
        "dead_dual", "", "", "True where a second bound for A < 0 removed the gradient.",
        source="arXiv:1912.09729",
    ),
    of_token(
        "kl", "k", "nats",
        "The KL estimate of each token that goes into the loss, without β; none where no KL is in the loss.",
        source="arXiv:2402.03300, eq. 4", TRL="per_token_kl", verl="kld", OpenRLHF="kl",
    ),
    of_token(
        "weight", "w", "", "How much each token counts in the loss; sums to 1 for means.",
        r"\text{e.g. } w_{it} = \tfrac1{B L_i} \text{ or } \tfrac1N", "arXiv:2503.20783 on its bias",
        TRL="loss_type", verl="loss_agg_mode",
    ),
    of_token(
        "token_weight", "1/N", "",
        "The weight of a plain token mean: the critic's loss and the metrics use it.",
    ),
    of_token(
        "correction", "g·c", "",
        "Who may push (0 or 1) times the weight for a sampler that is not the trainer.",
        TRL="importance_sampling_ratio", verl="rollout_is_weights",
    ),
    of_token(
        "grad_logp", "∂L/∂log π", "",
        "What the loss asks of each token's log-probability; negative: raise it.",
    ),
)  # fmt: skip

RECORD = (
    of_token(
        "step", "n", "", "Training step: one rollout and its updates.", shape="scalar", TRL="step",
        verl="training/global_step", OpenRLHF="global_step", SB3="time/iterations",
    ),
    of_token(
        "samples", "N", "", "Valid environment steps or tokens collected in the step.", shape="scalar",
        TRL="num_tokens (cumulative)", SB3="time/total_timesteps (cumulative)",
    ),
    of_token(
        "seconds", "", "s", "Wall time of the step.", shape="scalar", TRL="step_time", verl="timing_s/step",
    ),
    of_token(
        "visits", "n(s)", "", "How often each state was seen, where states can be counted.", shape="[S]",
    ),
    of_token(
        "kept", "", "", "True on rows that selection let through.", shape="[B]",
    ),
    of_token(
        "epoch", "", "", "Which pass over the rollout, from 0.", shape="scalar",
    ),
    of_token(
        "minibatch", "", "", "Which piece of the pass, from 0.", shape="scalar",
    ),
    of_token(
        "rows", "", "", "Which of the rollout's rows (or single steps) this piece holds.", shape="[b]",
    ),
    of_token(
        "grad_by_part", "‖g_part‖", "", "Gradient norm by parameter name, before scaling down.",
        shape="by name",
    ),
)  # fmt: skip

FIELDS = (*ROLLOUT, *ADVANTAGES, *POLICY, *TERMS, *RECORD)
