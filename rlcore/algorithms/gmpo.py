"""GMPO: Geometric-Mean Policy Optimization.   Zhao et al. 2025, arXiv:2507.20673.

Idea. GRPO averages a row's token gains arithmetically, so one huge ratio dominates. Take the geometric mean
of the ratios instead, after clipping each token's log-ratio on the side the advantage pushes to.

         1  G                                                  ⎧ min(log ρ_it,  ε_high)   A_i > 0
    J =  ─  Σ   A_i · exp( 1/|o_i| Σ_t ℓ_it )         ℓ_it  =  ⎨
         G  i                                                  ⎩ max(log ρ_it, −ε_low)    A_i < 0
        aggregate └────────surrogate────────┘         └──────────────ratio, clipped──────────────┘

Differs. From GSPO: the same geometric mean, but tokens are clipped one by one *before* the mean, so a wild
token loses its own gradient and its row keeps the others'. From GRPO: the mean is geometric, and there is
no KL.

Watch for. ε bounds the log-ratio: 0.4 is a band of (e^−0.4, e^0.4) = (0.67, 1.49). The advantage must be
constant along a row. The ratio slot is read only for its token log-ratios.

Numbers. ε 0.4 on both sides, sec. 4.
"""

from rlcore.advantages import GroupRelative
from rlcore.aggregation import SequenceMean
from rlcore.algorithm import Algorithm
from rlcore.algorithms.recipe import Recipe, paragraph
from rlcore.ratios import TokenRatio
from rlcore.surrogates import Gmpo

GMPO = Recipe(
    key="gmpo",
    name="GMPO",
    long_name="Geometric-Mean Policy Optimization",
    paper="arXiv:2507.20673",
    year=2025,
    equation=r"""
J = \underbrace{\tfrac{1}{G}\textstyle\sum_i}_{\text{aggregate}}
\underbrace{\hat A_i \exp\Big(\tfrac{1}{|o_i|}\textstyle\sum_t \ell_{it}\Big)}_{\text{surrogate}},
\qquad \ell_{it} =
\begin{cases}\min(\log \overbrace{\rho_{it}}^{\text{ratio}}, \varepsilon_{\text{high}}) & \hat A_i > 0\\
\max(\log \rho_{it}, -\varepsilon_{\text{low}}) & \hat A_i < 0\end{cases}""".strip(),
    story=paragraph(__doc__, "Idea"),
    differs=paragraph(__doc__, "Differs"),
    watch_for=paragraph(__doc__, "Watch for"),
    algorithm=Algorithm(
        advantage=GroupRelative(scale="std"),
        ratio=TokenRatio(),
        surrogate=Gmpo(eps_low=0.4, eps_high=0.4),
        aggregate=SequenceMean(),
    ),
)
