"""RLOO: REINFORCE Leave-One-Out.   Ahmadian et al. 2024, arXiv:2402.14740.

Idea. A whole answer is one action. Score it against the mean of the *other* answers to the same question,
and push its log-probability by that much: plain REINFORCE with an unbiased baseline, no ratio, no clip, no
critic.

         1  G                                             1
    J =  ─  Σ   A_i  Σ_t log π(o_it)          A_i = R_i − ───  Σ  R_j
         G  i                                             G−1 j≠i
       aggregate  └────surrogate───┘          └──────advantage──────┘

    R_i = score_i − β Σ_t (log π_old − log π_ref)
                    └──────KL in the reward─────┘

Differs. From GRPO: the row's own reward is not part of its baseline, no division by std, token sums instead
of means, and the KL is in the reward. Kool et al. 2019 had the estimator; the paper showed PPO's machinery
is not needed for RLHF.

Watch for. Right only on policy: with several updates per batch nothing corrects for the policy having moved
(TRL's RLOOTrainer uses a clipped ratio of the whole sequence instead, `SequenceProduct` with `PpoClip`).
Sums make long rows push harder.

Numbers. β 0.05 is TRL's default.
"""

from rlcore.advantages import LeaveOneOut
from rlcore.aggregation import SequenceSum
from rlcore.algorithm import Algorithm
from rlcore.algorithms.recipe import Recipe, paragraph
from rlcore.kl import K1, KlInReward
from rlcore.ratios import TokenRatio
from rlcore.surrogates import ScoreFunction

RLOO = Recipe(
    key="rloo",
    name="RLOO",
    long_name="REINFORCE Leave-One-Out",
    paper="arXiv:2402.14740",
    year=2024,
    equation=r"""
J = \underbrace{\tfrac{1}{G}\textstyle\sum_i \sum_t}_{\text{aggregate}}
\underbrace{\hat A_i \log \pi(o_{it})}_{\text{surrogate}},
\qquad \underbrace{\hat A_i = R_i - \tfrac{1}{G-1}\textstyle\sum_{j \neq i} R_j}_{\text{advantage}},
\qquad
R_i = \text{score}_i -
\underbrace{\beta \textstyle\sum_t
(\log \pi_{\text{old}} - \log \pi_{\text{ref}})}_{\text{KL in the reward}}""".strip(),
    story=paragraph(__doc__, "Idea"),
    differs=paragraph(__doc__, "Differs"),
    watch_for=paragraph(__doc__, "Watch for"),
    algorithm=Algorithm(
        advantage=LeaveOneOut(),
        ratio=TokenRatio(),
        surrogate=ScoreFunction(),
        aggregate=SequenceSum(),
        kl=KlInReward(kl_beta=0.05, estimator=K1()),
    ),
)
