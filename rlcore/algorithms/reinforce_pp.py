"""REINFORCE++: REINFORCE with PPO's stabilisers and the whole batch as baseline.   Hu 2025, arXiv:2501.03262.

Idea. Drop the critic and the group too: a token's return is everything that follows it, and the batch's
mean and standard deviation are baseline and scale for all of them at once.

           1
    J =  ─────  Σ_i Σ_t   min( ρ A, clip(ρ, 1−ε, 1+ε) A )      A_it = (G_it − mean G) / std G over all tokens
         Σ|o_i|                                                G_it = Σ_{k ≥ t} r_ik,   r_it = score − β k1
        └──aggregate───┘  └ratio┘└──────surrogate───────┘      └──advantage, whiten, KL in the reward──┘

Differs. From PPO (RLHF): no critic, λ = 1 without a value. From GRPO: the statistics are the batch's, not
the prompt's, so one answer per prompt is enough and the scale does not depend on how hard a prompt is.

Watch for. With prompts of unequal difficulty the batch mean is a poor baseline: easy prompts look good
whatever was answered. The paper's "baseline" variant subtracts the group's mean first and then whitens.

Numbers. β 0.01 and whitening with the population variance are OpenRLHF's, the authors' own code. The
paper's title and claims changed between its versions.
"""

from rlcore.advantages import Returns, Whiten
from rlcore.aggregation import TokenMean
from rlcore.algorithm import Algorithm
from rlcore.algorithms.recipe import Recipe, paragraph
from rlcore.kl import K1, KlInReward
from rlcore.ratios import TokenRatio
from rlcore.surrogates import PpoClip

REINFORCE_PP = Recipe(
    key="reinforce_pp",
    name="REINFORCE++",
    long_name="REINFORCE with batch whitening and PPO's clip",
    paper="arXiv:2501.03262",
    year=2025,
    equation=r"""
J = \underbrace{\tfrac{1}{\sum_i |o_i|}\textstyle\sum_i \sum_t}_{\text{aggregate}}
\underbrace{\min\big(\overbrace{\rho_{it}}^{\text{ratio}} \hat A_{it},\;
\mathrm{clip}(\rho_{it}, 1-\varepsilon, 1+\varepsilon)\,\hat A_{it}\big)}_{\text{surrogate}},
\qquad
\underbrace{\hat A_{it} = \frac{G_{it} - \mathrm{mean}(G)}{\mathrm{std}(G)}}_{\text{advantage, whiten}},
\qquad G_{it} = \textstyle\sum_{k \ge t} r_{ik}""".strip(),
    story=paragraph(__doc__, "Idea"),
    differs=paragraph(__doc__, "Differs"),
    watch_for=paragraph(__doc__, "Watch for"),
    algorithm=Algorithm(
        advantage=Returns(gamma=1.0),
        whiten=Whiten(scope="batch", form="floor", ddof=0, eps=1e-8),
        ratio=TokenRatio(),
        surrogate=PpoClip(eps_low=0.2, eps_high=0.2),
        aggregate=TokenMean(),
        kl=KlInReward(kl_beta=0.01, estimator=K1()),
    ),
)
