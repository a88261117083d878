"""CISPO: Clipped Importance-Sampling weight Policy Optimization.   MiniMax-M1 2025, arXiv:2506.13585.

Idea. PPO's clip throws a token's gradient away once its ratio is too large, and rare pivotal tokens are the
first to go. Clip the importance *weight* instead, stop its gradient, and let every token keep its own
log-probability's.

           1
    J =  ─────  Σ_i Σ_t   sg[ clip(ρ, 1−ε_low, 1+ε_high) ] · A · log π(o_it)      A_i = (R_i − mean R) / std R
         Σ|o_i|
        └──aggregate───┘  └────ratio────surrogate──────────────────────────┘      └────────advantage────────┘

Differs. From GRPO and DAPO: nothing is ever silenced. From REINFORCE: the weight corrects for the policy
having moved, at most by a factor 1 + ε_high.

Watch for. The value of the objective means nothing (it contains log π), only its gradient does. The
gradient-killing clip fraction is always 0; look at the share of ratios outside the band instead. Nothing
stops a token from running on.

Numbers. ε_low 1: no lower bound, as in the paper, which does not state its tuned ε_high. 4 (a cap of 5) is
the choice of ScaleRL (arXiv:2510.13786) that TRL's documentation recommends. The paper also takes over
DAPO's dynamic sampling and length penalty; those slots are left plain here, so that the clip stands alone.
"""

from rlcore.advantages import GroupRelative
from rlcore.aggregation import TokenMean
from rlcore.algorithm import Algorithm
from rlcore.algorithms.recipe import Recipe, paragraph
from rlcore.ratios import TokenRatio
from rlcore.surrogates import Cispo

CISPO = Recipe(
    key="cispo",
    name="CISPO",
    long_name="Clipped Importance-Sampling weight Policy Optimization",
    paper="arXiv:2506.13585",
    year=2025,
    equation=r"""
J = \underbrace{\tfrac{1}{\sum_i |o_i|}\textstyle\sum_i \sum_t}_{\text{aggregate}}
\underbrace{\mathrm{sg}\big[\mathrm{clip}(\overbrace{\rho_{it}}^{\text{ratio}},
1-\varepsilon_{\text{low}}, 1+\varepsilon_{\text{high}})\big]\,\hat A_i \log \pi(o_{it})}_{\text{surrogate}},
\qquad \underbrace{\hat A_i = \frac{R_i - \mathrm{mean}(R)}{\mathrm{std}(R)}}_{\text{advantage}}""".strip(),
    story=paragraph(__doc__, "Idea"),
    differs=paragraph(__doc__, "Differs"),
    watch_for=paragraph(__doc__, "Watch for"),
    algorithm=Algorithm(
        advantage=GroupRelative(scale="std"),
        ratio=TokenRatio(),
        surrogate=Cispo(eps_low=1.0, eps_high=4.0),
        aggregate=TokenMean(),
    ),
)
