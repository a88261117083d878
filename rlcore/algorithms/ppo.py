"""PPO for control: Proximal Policy Optimization.   Schulman et al. 2017, arXiv:1707.06347.

Idea. Reuse one batch for several gradient steps, but stop paying for a change once the new policy has moved
far enough from the one that sampled: clip the ratio, take the worse of the two.

    J =  1/N Σ_it [ min( ρ A, clip(ρ, 1−ε, 1+ε) A )  +  η H ]   −   c_v (V − R)²
        aggregate    └ratio┘└───────surrogate──────┘   entropy      └──critic──┘       A: GAE(γ, λ), whitened

Differs. The ancestor of the family, and the only one here that learns a value function: the advantage is a
mixture of TD errors in time, not a comparison with siblings, so it can say which step of an episode was
good.

Watch for. The clip bounds the objective, not the ratio. Two of the four out-of-range quadrants keep their
gradient. A critic that lags behind the policy (explained variance near 0) makes the advantages noise.

Numbers. As in Stable-Baselines3: γ 0.99, λ 0.95, ε 0.2, c_v 0.5 with a plain squared error, advantages
whitened per minibatch. No value clipping (not in the paper, and CleanRL's own benchmark saw no benefit from
it) and no entropy bonus (the paper uses 0.01 for Atari and none for continuous control; SB3's default is 0,
CleanRL's 0.01).
"""

from rlcore.advantages import Gae, Whiten
from rlcore.aggregation import TokenMean
from rlcore.algorithm import Algorithm
from rlcore.algorithms.recipe import Recipe, paragraph
from rlcore.critic import ValueMse
from rlcore.ratios import TokenRatio
from rlcore.surrogates import PpoClip

PPO = Recipe(
    key="ppo",
    name="PPO",
    long_name="Proximal Policy Optimization, for control",
    paper="arXiv:1707.06347",
    year=2017,
    equation=r"""
J = \underbrace{\tfrac{1}{N}\textstyle\sum_{i,t}}_{\text{aggregate}}
\underbrace{\min\big(\overbrace{\rho_{it}}^{\text{ratio}} \overbrace{\hat A_{it}}^{\text{GAE}},\;
\mathrm{clip}(\rho_{it}, 1-\varepsilon, 1+\varepsilon)\,\hat A_{it}\big)}_{\text{surrogate}}
+ \underbrace{\eta H_{it}}_{\text{entropy}}
- \underbrace{c_v (V_{it} - R_{it})^2}_{\text{critic}}""".strip(),
    story=paragraph(__doc__, "Idea"),
    differs=paragraph(__doc__, "Differs"),
    watch_for=paragraph(__doc__, "Watch for"),
    algorithm=Algorithm(
        advantage=Gae(gamma=0.99, lam=0.95),
        whiten=Whiten(scope="minibatch", form="outside", ddof=1, eps=1e-8),
        ratio=TokenRatio(),
        surrogate=PpoClip(eps_low=0.2, eps_high=0.2),
        aggregate=TokenMean(),
        entropy_coef=0.0,
        critic=ValueMse(coef=0.5, half=1.0),
    ),
)
