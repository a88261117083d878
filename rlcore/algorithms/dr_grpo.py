"""Dr. GRPO: GRPO done right, without its two normalisers.   Liu et al. 2025, arXiv:2503.20783.

Idea. GRPO divides by the answer's length and by the group's standard deviation; neither belongs to the
policy gradient. Drop both: sum over tokens, divide by one constant, and take the plain difference to the
group's mean.

           1
    J =  ────  Σ_i Σ_t   min( ρ A, clip(ρ, 1−ε, 1+ε) A )        A_i = R_i − mean R
         G · L
        └──aggregate──┘  └ratio┘└──────surrogate───────┘        └───advantage────┘

Differs. From GRPO: no 1/|o_i| (length bias), no std (difficulty bias), no KL. Up to the factor (G−1)/G,
which the learning rate absorbs, its advantage is RLOO's.

Watch for. The constant L scales the gradient, so it is a learning rate in disguise: change it and
everything moves. A difference of rewards keeps its units, so rewards ten times larger push ten times
harder.

Numbers. L is one constant in the authors' code, the generation budget; here the padded length of the batch
unless set.
"""

from rlcore.advantages import GroupRelative
from rlcore.aggregation import ConstantLength
from rlcore.algorithm import Algorithm
from rlcore.algorithms.recipe import Recipe, paragraph
from rlcore.ratios import TokenRatio
from rlcore.surrogates import PpoClip

DR_GRPO = Recipe(
    key="dr_grpo",
    name="Dr. GRPO",
    long_name="Group Relative Policy Optimization Done Right",
    paper="arXiv:2503.20783",
    year=2025,
    equation=r"""
J = \underbrace{\tfrac{1}{G L}\textstyle\sum_i \sum_t}_{\text{aggregate}}
\underbrace{\min\big(\overbrace{\rho_{it}}^{\text{ratio}} \hat A_i,\;
\mathrm{clip}(\rho_{it}, 1-\varepsilon, 1+\varepsilon)\,\hat A_i\big)}_{\text{surrogate}},
\qquad \underbrace{\hat A_i = R_i - \mathrm{mean}(R)}_{\text{advantage}}""".strip(),
    story=paragraph(__doc__, "Idea"),
    differs=paragraph(__doc__, "Differs"),
    watch_for=paragraph(__doc__, "Watch for"),
    algorithm=Algorithm(
        advantage=GroupRelative(scale="none"),
        ratio=TokenRatio(),
        surrogate=PpoClip(eps_low=0.2, eps_high=0.2),
        aggregate=ConstantLength(),
    ),
)
