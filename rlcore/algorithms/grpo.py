"""GRPO: Group Relative Policy Optimization.   Shao et al. 2024 (DeepSeekMath), arXiv:2402.03300.

Idea. Ask one question G times; an answer is good if it beats its siblings. The group's mean is the
baseline, so no critic has to be trained.

         1  G   1  |o_i|
    J =  ─  Σ  ───   Σ   [ min( ρ A, clip(ρ, 1−ε, 1+ε) A )  −  β k3 ]        A_i = (R_i − mean R) / std R
         G  i |o_i|  t
        └─aggregate──┘     └ratio┘└──────surrogate───────┘    └─KL─┘         └────────advantage────────┘

Differs. From PPO: the critic and GAE are gone, every token of an answer shares one advantage, and the KL
moves from the reward into the loss (estimator k3).

Watch for. 1/|o_i| punishes long wrong answers gently. Dividing by std weighs very easy and very hard
questions up. A group whose answers all score the same teaches nothing. k3's gradient, as a loss, is that of
KL(ref‖π), the other direction.

Numbers. β 0.04 as in the paper (sec. 4.2; DeepSeek-R1: 0.001; TRL: 0). The paper names neither ε nor the
std's divisor: ε 0.2 is PPO's, divisor G − 1 and ε_std 1e-4 are TRL's.
"""

from rlcore.advantages import GroupRelative
from rlcore.aggregation import SequenceMean
from rlcore.algorithm import Algorithm
from rlcore.algorithms.recipe import Recipe, paragraph
from rlcore.kl import K3, KlInLoss
from rlcore.ratios import TokenRatio
from rlcore.surrogates import PpoClip

GRPO = Recipe(
    key="grpo",
    name="GRPO",
    long_name="Group Relative Policy Optimization",
    paper="arXiv:2402.03300",
    year=2024,
    equation=r"""
J = \underbrace{\tfrac{1}{G}\textstyle\sum_i \tfrac{1}{|o_i|} \sum_t}_{\text{aggregate}} \Big[
\underbrace{\min\big(\overbrace{\rho_{it}}^{\text{ratio}} \hat A_i,\;
\mathrm{clip}(\rho_{it}, 1-\varepsilon, 1+\varepsilon)\,\hat A_i\big)}_{\text{surrogate}}
- \underbrace{\beta\, k_3(\pi, \pi_{\text{ref}})}_{\text{KL in the loss}} \Big],
\qquad \underbrace{\hat A_i = \frac{R_i - \mathrm{mean}(R)}{\mathrm{std}(R)}}_{\text{advantage}}""".strip(),
    story=paragraph(__doc__, "Idea"),
    differs=paragraph(__doc__, "Differs"),
    watch_for=paragraph(__doc__, "Watch for"),
    algorithm=Algorithm(
        advantage=GroupRelative(scale="std"),
        ratio=TokenRatio(),
        surrogate=PpoClip(eps_low=0.2, eps_high=0.2),
        aggregate=SequenceMean(),
        kl=KlInLoss(kl_beta=0.04, estimator=K3()),
    ),
)
