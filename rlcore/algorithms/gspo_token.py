"""GSPO-token: GSPO with room for an advantage per token.   Zheng et al. 2025, arXiv:2507.18071, sec. 4.3.

Idea. Keep the sequence's ratio as a *value* in every token, but let the gradient run through the token's
own probability: then each token may carry its own advantage and the clip still judges the whole row.

         1  G   1  |o_i|
    J =  ─  Σ  ───   Σ   min( s_it A_it, clip(s_it, 1−ε_low, 1+ε_high) A_it )      s_it = sg[s_i] · π / sg[π]
         G  i |o_i|  t
        └─aggregate──┘   └──────────────────surrogate──────────────────────┘      └─────────ratio──────────┘

Differs. From GSPO: only where the stop-gradient stands. While the advantage is constant along a row, value
and gradient are the same; with advantages per token (multi-turn, process rewards) only this one is defined.

Watch for. It looks like a per-token method in code but clips whole rows. verl's `gspo` is always this form.

Numbers. GSPO's.
"""

from rlcore.advantages import GroupRelative
from rlcore.aggregation import SequenceMean
from rlcore.algorithm import Algorithm
from rlcore.algorithms.recipe import Recipe, paragraph
from rlcore.ratios import SequenceTokenRatio
from rlcore.surrogates import PpoClip

GSPO_TOKEN = Recipe(
    key="gspo_token",
    name="GSPO-token",
    long_name="Group Sequence Policy Optimization, token form",
    paper="arXiv:2507.18071",
    year=2025,
    equation=r"""
J = \underbrace{\tfrac{1}{G}\textstyle\sum_i \tfrac{1}{|o_i|} \sum_t}_{\text{aggregate}}
\underbrace{\min\big(s_{it} \hat A_{it},\;
\mathrm{clip}(s_{it}, 1-\varepsilon_{\text{low}}, 1+\varepsilon_{\text{high}})\,
\hat A_{it}\big)}_{\text{surrogate}},
\qquad \underbrace{s_{it} = \mathrm{sg}[s_i]\,
\frac{\pi(o_{it})}{\mathrm{sg}[\pi(o_{it})]}}_{\text{ratio}}""".strip(),
    story=paragraph(__doc__, "Idea"),
    differs=paragraph(__doc__, "Differs"),
    watch_for=paragraph(__doc__, "Watch for"),
    algorithm=Algorithm(
        advantage=GroupRelative(scale="std"),
        ratio=SequenceTokenRatio(),
        surrogate=PpoClip(eps_low=3e-4, eps_high=4e-4),
        aggregate=SequenceMean(),
    ),
)
