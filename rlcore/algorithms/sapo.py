"""SAPO: Soft Adaptive Policy Optimization.   Gao et al. 2025, arXiv:2511.20347.

Idea. A hard clip is a cliff: full gradient on one side, none on the other. Replace it by a sigmoid gate
that fades a token's gradient smoothly as its ratio leaves 1, faster where the advantage is negative.

         1  G   1  |o_i|     4
    J =  ─  Σ  ───   Σ   A · ─ · σ( τ (ρ − 1) )       τ = τ₊ if A > 0 else τ₋       A_i = (R_i − mean R)/std R
         G  i |o_i|  t       τ
        └─aggregate──┘   └──surrogate──┘└ratio┘                                      └───────advantage───────┘

Differs. From GRPO: no bounds, no min. The gradient of log π is A · ρ · g with a gate g = 4 σ(1 − σ) that is
1 at ρ = 1 and falls off smoothly on both sides, where PPO's gate is 1 inside the band and 0 beyond it. No
KL.

Watch for. Clip fractions do not exist here. At ρ = 1 the value is 2A/τ, not A. With τ₋ > τ₊ negative tokens
fade sooner, which the paper motivates by their effect on all the unsampled tokens.

Numbers. τ₊ 1.0, τ₋ 1.05: the paper's, and the defaults of TRL and verl.
"""

from rlcore.advantages import GroupRelative
from rlcore.aggregation import SequenceMean
from rlcore.algorithm import Algorithm
from rlcore.algorithms.recipe import Recipe, paragraph
from rlcore.ratios import TokenRatio
from rlcore.surrogates import Sapo

SAPO = Recipe(
    key="sapo",
    name="SAPO",
    long_name="Soft Adaptive Policy Optimization",
    paper="arXiv:2511.20347",
    year=2025,
    equation=r"""
J = \underbrace{\tfrac{1}{G}\textstyle\sum_i \tfrac{1}{|o_i|} \sum_t}_{\text{aggregate}}
\underbrace{\tfrac{4}{\tau}\,
\sigma\big(\tau (\overbrace{\rho_{it}}^{\text{ratio}} - 1)\big)\,\hat A_i}_{\text{surrogate}},
\quad \tau = \begin{cases}\tau_+ & \hat A_i > 0\\ \tau_- & \hat A_i \le 0\end{cases},
\qquad \underbrace{\hat A_i = \frac{R_i - \mathrm{mean}(R)}{\mathrm{std}(R)}}_{\text{advantage}}""".strip(),
    story=paragraph(__doc__, "Idea"),
    differs=paragraph(__doc__, "Differs"),
    watch_for=paragraph(__doc__, "Watch for"),
    algorithm=Algorithm(
        advantage=GroupRelative(scale="std"),
        ratio=TokenRatio(),
        surrogate=Sapo(tau_pos=1.0, tau_neg=1.05),
        aggregate=SequenceMean(),
    ),
)
