"""PPO for RLHF: a score at the end, KL paid on the way.   Ziegler et al. 2019, arXiv:1909.08593.

Idea. Treat every token as an action of an episode that ends with one score, and charge each token for its
distance from the reference model inside the reward. The critic then learns to predict score minus future
charges.

    r_t = score·[t is last] − β (log π_old − log π_ref)
    J   =  1/N Σ_it  min( ρ A, clip(ρ, 1−ε, 1+ε) A )   −   c_v/2 max( (V − R)², (V_clip − R)² )
          aggregate  └ratio┘└───────surrogate──────┘       └─────────────critic──────────────┘
          A: GAE(1, λ) of r, whitened

Differs. From PPO for control: γ = 1, a KL in the reward, whitening over the whole batch, and a value loss
that is clipped around the old prediction. From GRPO: it has a critic, and its advantage may differ from
token to token.

Watch for. The KL is computed once, from the sampling policy, and has no gradient of its own: it acts only
through the advantage. β changes what the critic must predict. With λ < 1 a late score reaches early tokens
only through V.

Numbers. β 0.05, γ 1, λ 0.95, ε 0.2, ε_v 0.2, c_v 0.1: TRL 1.12's PPOTrainer, which follows the paper's own
code. The paper moves β with a controller (`AdaptiveBeta`); InstructGPT (arXiv:2203.02155) kept it fixed, as
here.
"""

from rlcore.advantages import Gae, Whiten
from rlcore.aggregation import TokenMean
from rlcore.algorithm import Algorithm
from rlcore.algorithms.recipe import Recipe, paragraph
from rlcore.critic import ValueClipMax
from rlcore.kl import K1, KlInReward
from rlcore.ratios import TokenRatio
from rlcore.surrogates import PpoClip

PPO_RLHF = Recipe(
    key="ppo_rlhf",
    name="PPO (RLHF)",
    long_name="Proximal Policy Optimization, from human feedback",
    paper="arXiv:1909.08593",
    year=2019,
    equation=r"""
\underbrace{r_{it} = \text{score}_i\,[t = T_i] - 
\beta\,(\log \pi_{\text{old}} - \log \pi_{\text{ref}})}_{\text{KL in the reward}}
\qquad
J = \underbrace{\tfrac{1}{N}\textstyle\sum_{i,t}}_{\text{aggregate}}
\underbrace{\min\big(\overbrace{\rho_{it}}^{\text{ratio}} \overbrace{\hat A_{it}}^{\text{GAE}},\;
\mathrm{clip}(\rho_{it}, 1-\varepsilon, 1+\varepsilon)\,\hat A_{it}\big)}_{\text{surrogate}}
- \underbrace{\tfrac{c_v}{2} \max\big((V_{it} - R_{it})^2,
(V^{\text{clip}}_{it} - R_{it})^2\big)}_{\text{critic}}""".strip(),
    story=paragraph(__doc__, "Idea"),
    differs=paragraph(__doc__, "Differs"),
    watch_for=paragraph(__doc__, "Watch for"),
    algorithm=Algorithm(
        advantage=Gae(gamma=1.0, lam=0.95),
        whiten=Whiten(scope="batch", form="inside", ddof=1, eps=1e-8),
        ratio=TokenRatio(),
        surrogate=PpoClip(eps_low=0.2, eps_high=0.2),
        aggregate=TokenMean(),
        kl=KlInReward(kl_beta=0.05, estimator=K1()),
        critic=ValueClipMax(coef=0.1, eps_value=0.2),
    ),
)
