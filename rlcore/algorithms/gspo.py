"""GSPO: Group Sequence Policy Optimization.   Zheng et al. 2025, arXiv:2507.18071.

Idea. The reward is given to the whole answer, so judge and clip the whole answer: one ratio a row, the
geometric mean of its token ratios, and either every token of a row learns or none.

         1  G
    J =  ─  Σ   min( s_i A_i, clip(s_i, 1−ε_low, 1+ε_high) A_i )       s_i = exp( 1/|o_i| Σ_t log ρ_it )
         G  i
        aggregate    └─────────────surrogate───────────────────┘       └─────────────ratio─────────────┘

Differs. From GRPO: the ratio is the sequence's, the band is several hundred times narrower, and there is no
KL. On the first update after sampling all ratios are 1 and the two have the same gradient.

Watch for. ε lives on another scale: 0.2 would never clip. The mean is length-normalised, so s is *not* the
sequence's importance weight. Use a mean over rows: a token mean would weigh each sequence by its length.
One wild token can silence its whole row.

Numbers. ε 3e-4 and 4e-4, sec. 5.1.
"""

from rlcore.advantages import GroupRelative
from rlcore.aggregation import SequenceMean
from rlcore.algorithm import Algorithm
from rlcore.algorithms.recipe import Recipe, paragraph
from rlcore.ratios import SequenceRatio
from rlcore.surrogates import PpoClip

GSPO = Recipe(
    key="gspo",
    name="GSPO",
    long_name="Group Sequence Policy Optimization",
    paper="arXiv:2507.18071",
    year=2025,
    equation=r"""
J = \underbrace{\tfrac{1}{G}\textstyle\sum_i}_{\text{aggregate}}
\underbrace{\min\big(s_i \hat A_i,\;
\mathrm{clip}(s_i, 1-\varepsilon_{\text{low}}, 1+\varepsilon_{\text{high}})\,
\hat A_i\big)}_{\text{surrogate}},
\qquad \underbrace{s_i = \exp\Big(\tfrac{1}{|o_i|}\textstyle\sum_t \log \rho_{it}\Big)}_{\text{ratio}},
\qquad \underbrace{\hat A_i = \frac{R_i - \mathrm{mean}(R)}{\mathrm{std}(R)}}_{\text{advantage}}""".strip(),
    story=paragraph(__doc__, "Idea"),
    differs=paragraph(__doc__, "Differs"),
    watch_for=paragraph(__doc__, "Watch for"),
    algorithm=Algorithm(
        advantage=GroupRelative(scale="std"),
        ratio=SequenceRatio(),
        surrogate=PpoClip(eps_low=3e-4, eps_high=4e-4),
        aggregate=SequenceMean(),
    ),
)
