"""The metrics, one entry each: what a step measures, and under which name each library logs it.

Names of other libraries: TRL 1.16, verl 0.9.1, OpenRLHF 0.11.2, CleanRL fe8d8a0, SB3 2.9.2.
"""

from __future__ import annotations

from rlcore.glossary.quantity import Quantity


def metric(
    name: str, symbol: str, unit: str, meaning: str, formula: str = "", source: str = "", **aka: str
) -> Quantity:
    """A scalar of one step."""
    return Quantity(name, symbol, "scalar", unit, meaning, formula, source, aka, "metric")


METRICS = (
    # ------------------------------------------------------------ what was collected
    metric(
        "reward_mean", "R̄", "reward",
        "Mean undiscounted return of the rows collected, before shaping and KL.",
        r"\tfrac1B\textstyle\sum_i R_i", TRL="reward", verl="critic/score/mean", OpenRLHF="reward",
        CleanRL="charts/episodic_return", SB3="rollout/ep_rew_mean (last 100 episodes)",
    ),
    metric(
        "reward_std", "σ_R", "reward",
        "Standard deviation of the rows' returns over the whole batch, divisor B − 1.",
        r"\sqrt{\tfrac1{B-1}\textstyle\sum_i (R_i - \bar R)^2}", TRL="reward_std",
        OpenRLHF="group_reward_std (within groups)",
    ),
    metric(
        "length_mean", "L̄", "steps", "Mean number of valid steps a row.", r"\tfrac1B\textstyle\sum_i L_i",
        TRL="completions/mean_length", verl="response_length/mean", OpenRLHF="response_length",
        CleanRL="charts/episodic_length", SB3="rollout/ep_len_mean",
    ),
    metric(
        "dead_group_fraction", "f_dead", "",
        "Share of groups whose rows all got the same score: their advantages are 0 and they teach nothing.",
        source="arXiv:2503.14476, sec. 3.2", TRL="frac_reward_zero_std",
        verl="training/filter_groups/evicted_samples (a count)",
        OpenRLHF="1 − dynamic_filtering_pass_rate (by the group's mean)",
    ),
    metric(
        "episode_return", "G", "reward",
        "Mean undiscounted return of the episodes that ended in this step; NaN if none did.",
        CleanRL="charts/episodic_return", SB3="rollout/ep_rew_mean",
    ),
    # ------------------------------------------------------------ ratio and clip
    metric(
        "clip_fraction", "f_clip", "", "Share of tokens whose gradient a bound removed.",
        r"\tfrac1N\textstyle\sum_{it} [\text{a bound took the gradient}]",
        "TRL, verl and OpenRLHF count this set; CleanRL and SB3 another, see clip_fraction_outside",
        TRL="clip_ratio/region_mean", verl="actor/pg_clipfrac", OpenRLHF="ppo_clip_ratio",
    ),
    metric(
        "clip_fraction_low", "f_low", "",
        "Share of tokens silenced by the lower bound: the ratio has fallen and A < 0.",
        r"\tfrac1N\textstyle\sum_{it} [\rho_{it} < 1-\varepsilon_{\text{low}},\ \hat A_{it} < 0]",
        TRL="clip_ratio/low_mean",
    ),
    metric(
        "clip_fraction_high", "f_high", "",
        "Share of tokens silenced by the upper bound: the ratio has risen and A > 0.",
        r"\tfrac1N\textstyle\sum_{it} [\rho_{it} > 1+\varepsilon_{\text{high}},\ \hat A_{it} > 0]",
        TRL="clip_ratio/high_mean",
    ),
    metric(
        "clip_fraction_dual", "f_dual", "",
        "Share of tokens silenced by a second bound for A < 0 (dual clip, δ).", source="arXiv:1912.09729",
        verl="actor/pg_clipfrac_lower",
    ),
    metric(
        "clip_fraction_outside", "f_out", "",
        "Share of tokens with a ratio outside the band, whatever the sign of A; half of them may be alive.",
        r"\tfrac1N \sum_{it} [\rho \notin (1-\varepsilon_{\text{low}}, 1+\varepsilon_{\text{high}})]",
        CleanRL="losses/clipfrac", SB3="train/clip_fraction",
    ),
    metric(
        "ratio_mean", "ρ̄", "",
        "Mean ratio, at the ratio slot's level: token or sequence. About 1 while data are fresh.",
        TRL="val/ratio (1.12 PPO only)",
    ),
    metric(
        "ratio_min", "ρ_min", "", "Smallest ratio of the step's updates, at the ratio slot's level.",
    ),
    metric(
        "ratio_max", "ρ_max", "", "Largest ratio of the step's updates, at the ratio slot's level.",
    ),
    # ------------------------------------------------------------ distances and entropy
    metric(
        "approx_kl", "KL_old", "nats",
        "How far this batch's updates have moved the policy from the one that sampled: k3 of KL(old‖new), "
        "token mean. Exactly 0 before the first update; not the distance to the reference.",
        r"\tfrac1N\textstyle\sum_{it} (\rho_{it} - 1 - \log\rho_{it})",
        "Schulman 2020, Approximating KL divergence", CleanRL="losses/approx_kl (last minibatch)",
        SB3="train/approx_kl (last epoch)",
    ),
    metric(
        "approx_kl_k1", "KL_old", "nats",
        "The same by k1, the mean of log π_old − log π: noisy, and may be negative.",
        r"\tfrac1N\textstyle\sum_{it} -\log\rho_{it}", verl="actor/ppo_kl", OpenRLHF="ppo_kl",
        CleanRL="losses/old_approx_kl",
    ),
    metric(
        "kl_ref", "KL_ref", "nats",
        "Distance to the reference policy: k3 of KL(π‖ref) on the rollout's tokens, token mean.",
        r"\tfrac1N\textstyle\sum_{it} (q_{it} - 1 - \log q_{it}),\quad q = \pi_{\text{ref}}/\pi",
        "arXiv:2402.03300, eq. 4", TRL="kl (with β > 0 only; times the ratio by default)",
        verl="actor/kl_loss or actor/reward_kl_penalty", OpenRLHF="kl, logprobs_diff",
    ),
    metric(
        "kl_ref_exact", "KL_ref", "nats",
        "The same from whole action distributions at the visited states: no estimator, no noise of actions.",
        r"\tfrac1N\textstyle\sum_{it}\sum_a \pi(a)\log\tfrac{\pi(a)}{\pi_{\text{ref}}(a)}",
    ),
    metric(
        "entropy", "H", "nats", "Mean entropy of the action distribution at the visited states.",
        r"-\tfrac1N\textstyle\sum_{it}\sum_a \pi(a)\log\pi(a)", TRL="entropy", verl="actor/entropy",
        OpenRLHF="entropy_loss", CleanRL="losses/entropy", SB3="−train/entropy_loss",
    ),
    # ------------------------------------------------------------ advantages and critic
    metric(
        "advantage_std", "σ_A", "",
        "Standard deviation of the advantages that go into the loss, over valid tokens.",
        verl="critic/advantages/mean|max|min (no std)",
    ),
    metric(
        "explained_variance", "EV", "",
        "Share of the returns' variance that the critic predicted before the update: 1 perfect, 0 no better "
        "than a constant, below 0 worse. NaN where returns do not vary.",
        r"1 - \frac{\mathrm{Var}(R - V)}{\mathrm{Var}(R)}", "CleanRL, SB3", verl="critic/vf_explained_var",
        CleanRL="losses/explained_variance", SB3="train/explained_variance",
    ),
    # ------------------------------------------------------------ the loss and its terms
    metric(
        "loss", "L", "", "What the optimiser lowers: policy_loss + kl_loss − entropy_bonus + value_loss.",
        r"L_\pi + \beta\,\mathrm{KL} - \eta H + L_V", TRL="loss", SB3="train/loss (last minibatch)",
    ),
    metric(
        "policy_loss", "L_π", "",
        "Minus the weighted gains. On policy its value is minus the mean advantage, so it says nothing of "
        "progress.",
        r"-\textstyle\sum_{it} w_{it} c_{it} \psi_{it}", TRL="policy_loss (with an entropy bonus only)",
        verl="actor/pg_loss", OpenRLHF="policy_loss", CleanRL="losses/policy_loss (last minibatch)",
        SB3="train/policy_gradient_loss",
    ),
    metric(
        "kl_loss", "β·KL", "", "The KL term of the loss, coefficient included; 0 where the KL is elsewhere.",
        r"\beta\textstyle\sum_{it} w_{it} k_{it}", "arXiv:2402.03300, eq. 3",
        verl="actor/kl_loss (without β)",
    ),
    metric(
        "entropy_bonus", "η·H", "", "What the entropy bonus takes off the loss, coefficient included.",
        r"\eta\textstyle\sum_{it} w_{it} H_{it}", "arXiv:1707.06347, eq. 9",
    ),
    metric(
        "value_loss", "L_V", "reward²", "The critic's loss, coefficient included.",
        r"c_v \cdot \overline{(V - R)^2}", "arXiv:1707.06347, eq. 9", verl="critic/vf_loss",
        OpenRLHF="critic_loss", CleanRL="losses/value_loss (without c_v)",
        SB3="train/value_loss (without c_v)",
    ),
    # ------------------------------------------------------------ the optimiser
    metric(
        "grad_norm", "‖g‖", "", "Norm of the whole gradient before it is scaled down.",
        r"\lVert \nabla_\theta L \rVert", TRL="grad_norm", verl="actor/grad_norm", OpenRLHF="actor_grad_norm",
    ),
    metric(
        "update_norm", "‖Δθ‖", "", "How far one optimiser step moved the parameters.",
        r"\lVert \theta_{k+1} - \theta_k \rVert",
    ),
    metric(
        "lr", "lr", "", "The learning rate in force, schedule included.", TRL="learning_rate",
        verl="actor/lr", OpenRLHF="actor_lr", CleanRL="charts/learning_rate", SB3="train/learning_rate",
    ),
    metric(
        "kl_beta", "β", "reward/nat", "The KL coefficient in force, where a controller may have moved it.",
        verl="actor/kl_coef or actor/reward_kl_penalty_coeff",
    ),
    metric(
        "updates", "K", "",
        "Optimiser steps taken in this step; fewer than epochs × minibatches after an early stop.",
    ),
)  # fmt: skip
