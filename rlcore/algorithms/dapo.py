"""DAPO: Decoupled Clip and Dynamic sAmpling Policy Optimization.   Yu et al. 2025, arXiv:2503.14476.

Idea. Four repairs of GRPO for long answers: let rare tokens rise further than common ones may fall
(clip-higher), spend no update on questions all got right or all got wrong (dynamic sampling), count every
token once (token-level loss), and charge for length near the limit (soft overlong punishment).

           1
    J =  ─────  Σ_i Σ_t   min( ρ A, clip(ρ, 1−ε_low, 1+ε_high) A )       A_i = (R_i − mean R) / std R
         Σ|o_i|
        └──aggregate───┘  └ratio┘└──────────surrogate────────────┘       groups with 0 < #correct < G only

Differs. From GRPO: ε_high 0.28 > ε_low 0.2, token mean instead of a mean of row means, flat groups leave
the batch, the reward is shaped by length, and there is no KL.

Watch for. A token mean makes a long row push as hard as it is long. The paper resamples until the batch is
full; here the batch shrinks instead, so late in training steps rest on few rows.

Numbers. L_max 20480 and L_cache 4096 are the paper's (sec. 4.1): on this lab's short rows the punishment is
idle until they are set to the environment's own scale (a fifth of the limit is the paper's proportion).
"""

from rlcore.advantages import GroupRelative
from rlcore.aggregation import TokenMean
from rlcore.algorithm import Algorithm
from rlcore.algorithms.recipe import Recipe, paragraph
from rlcore.ratios import TokenRatio
from rlcore.shaping import DropFlatGroups, SoftOverlong
from rlcore.surrogates import PpoClip

DAPO = Recipe(
    key="dapo",
    name="DAPO",
    long_name="Decoupled Clip and Dynamic sAmpling Policy Optimization",
    paper="arXiv:2503.14476",
    year=2025,
    equation=r"""
J = \underbrace{\tfrac{1}{\sum_i |o_i|}\textstyle\sum_i \sum_t}_{\text{aggregate}}
\underbrace{\min\big(\overbrace{\rho_{it}}^{\text{ratio}} \hat A_i,\;
\mathrm{clip}(\rho_{it}, 1-\varepsilon_{\text{low}}, 1+\varepsilon_{\text{high}})\,
\hat A_i\big)}_{\text{surrogate}},
\qquad \underbrace{\hat A_i = \frac{R_i - \mathrm{mean}(R)}{\mathrm{std}(R)}}_{\text{advantage}}
\qquad \underbrace{0 < \#\{\text{correct}\} < G}_{\text{select}}""".strip(),
    story=paragraph(__doc__, "Idea"),
    differs=paragraph(__doc__, "Differs"),
    watch_for=paragraph(__doc__, "Watch for"),
    algorithm=Algorithm(
        advantage=GroupRelative(scale="std"),
        ratio=TokenRatio(),
        surrogate=PpoClip(eps_low=0.2, eps_high=0.28),
        aggregate=TokenMean(),
        shaping=SoftOverlong(max_length=20_480, cache=4_096),
        select=DropFlatGroups(),
    ),
)
