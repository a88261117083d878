"""The source beside the formula: what ran, from `unfold`, and the paper's plain loop, with this phase's lines marked.

Where a phase runs outside the loss (drawing, differentiating, stepping), the source is that of the functions that did it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache

from rlcore import slopes
from rlcore.algorithm import Algorithm
from rlcore.algorithms import recognise
from rlcore.config import RunConfig
from rlcore.envs import FiniteEnv, finite, gym
from rlcore.optim import clip_by_global_norm
from rlcore.oracles import ORACLES, group, in_time
from rlcore.policies.heads import Categorical, inverse_cdf
from rlcore.unfold import page_of
from rlcore.updates import Updates
from rlcore.words import sample
from rlcore.words.env import Words


@dataclass(frozen=True)
class Listing:
    """Source text; `marked` are the numbers of this phase's lines, from 1; `first` is the number of its first line."""

    title: str
    text: str
    marked: frozenset[int]
    first: int = 1


SLOTS = {
    "score": "reward", "advantage": "advantage", "whiten": "whiten", "ratio": "ratio", "clip": "surrogate",
    "correct": "correction", "kl": "kl", "weight": "aggregate", "value": "critic", "loss": "loss",
}  # fmt: skip
"""Which section of the unfolded page holds a phase."""

_CALLS = {
    "ratio": r"    ratio = ", "clip": r"    surrogate = ", "weight": r"    (token_)?weight = ", "kl": r"    (pair|kl|kl_loss) = ",
    "correct": r"    (correction|pushed) = ", "value": r"    (value_new, value_old|returns|value_loss) = ",
    "loss": r"    (loss|kl_loss|entropy_bonus|return LossTerms)\b.*",
}  # fmt: skip
"""Where the loss function calls each phase."""


def source_of(config: RunConfig, key: str) -> Listing:
    """The source that ran in a phase."""
    if key == "sample":
        return _functions("How it was drawn", *_drawing(config))
    if key == "gradient":
        return _marked(_functions("How it was differentiated", *_differentiating(config.algorithm)), r"slope|toward|logp|gain|back\(|grad")
    if key == "apply":
        optim = type(config.optim).__call__
        return _marked(_functions("How it was applied", clip_by_global_norm, optim), r"return|scale|m =|v =|updates =|norm =")
    return _unfolded(config.algorithm, key)


def _unfolded(algorithm: Algorithm, key: str) -> Listing:
    page = page_of(algorithm)
    lines = page.text.split("\n")
    spans = {section.slot: section.lines for section in page.sections}
    marked: set[int] = set()
    if SLOTS[key] in spans and key != "loss":
        first, last = spans[SLOTS[key]]
        marked |= {n for n in range(first, last + 1) if lines[n - 1].strip()} - _declared(lines, first, last)
    start, stop = spans["loss"]
    marked |= {n for n in range(start, stop + 1) if key in _CALLS and re.match(_CALLS[key], lines[n - 1])}
    return Listing("The source that ran, unfolded", page.text, frozenset(marked))


def _differentiating(algorithm: Algorithm) -> tuple[Callable[..., object], ...]:
    """From the loss to each log-probability, and from there into the parameters."""
    chosen = slopes.judge(algorithm)
    parts = (slopes._in_log_ratio, slopes._to_tokens) if chosen is slopes.in_closed_form else ()
    return (chosen, *parts, Updates._differentiate)


def _declared(lines: list[str], first: int, last: int) -> set[int]:
    """Lines of headings and of dataclasses: what there is, not what is done."""
    found, inside = set(), False
    for n in range(first, last + 1):
        text = lines[n - 1]
        inside = text.startswith(("@dataclass", "class ", "# --")) or (inside and (not text or text.startswith(" ")))
        if inside:
            found.add(n)
    return found


def _drawing(config: RunConfig) -> tuple[Callable[..., object], ...]:
    if isinstance(config.env, Words):
        return (Categorical.sample, sample.reply_slices)
    if isinstance(config.env, FiniteEnv):
        return (finite._play,)
    return (gym._actor, inverse_cdf if config.env.shape().actions else Categorical.sample)


def _functions(title: str, *functions: Callable[..., object]) -> Listing:
    text = "\n\n".join(inspect.cleandoc("\n" + inspect.getsource(f)) for f in functions)
    return Listing(title, text, frozenset())


def _marked(listing: Listing, pattern: str) -> Listing:
    found = {n for n, text in enumerate(listing.text.split("\n"), 1) if re.search(pattern, text) and '"""' not in text}
    return Listing(listing.title, listing.text, frozenset(found))


# ---------------------------------------------------------------- the paper's loop


_LOOP = {
    "score": r"reward|\.score|punished|paid|over =",
    "advantage": r"advantage\b.*=|scores =|raw\b|gae\(|others =|group_advantage|td_error|following|return \(row\.score|row\.score -|\(gamma \* lam\)|gamma \*\*",
    "whiten": r"every|whiten_eps",
    "ratio": r"ratio = |ratios? = |log_ratios|\bs = |s_token = |row\.new\[t\]\.detach\(\) - row\.old",
    "clip": r"gain = |clip\(|min_of_two|tau = |loss = loss - (weight|advantage) \* ",
    "kl": r"k3|beta",
    "weight": r"/ row\.length|/ len\(|/ tokens|/ length|tokens = ",
    "value": r"target = |error|near = |plain, banded|value_coef",
    "loss": r"loss = loss|^    return loss|loss = torch",
    "correct": r"$^",
}  # fmt: skip


@cache
def _text_of(recipe: str) -> str:
    """The recipe's loop, below the functions of its own that it calls."""
    loop = ORACLES[recipe]
    text = inspect.getsource(loop)
    parts: list[Callable[..., object]] = [group.group_advantage] if "group_advantage(" in text else []
    parts += [f for f in (in_time.td_error, in_time.gae) if "gae(" in text]
    return "\n\n".join([*(inspect.getsource(f).rstrip() for f in parts), text.rstrip()])


@lru_cache(maxsize=256)
def loop_of(algorithm: Algorithm, key: str) -> Listing:
    """The plain loop of the recipe this algorithm is, or is nearest to, with the phase's lines marked."""
    found = recognise(algorithm)
    text = _text_of(found.recipe.key)
    title = f"The paper's loop: {found.recipe.name}" + ("" if found.named else " (the nearest recipe; this mix differs)")
    if key not in _LOOP:
        return Listing(title, text, frozenset())
    body = [n for n, _ in enumerate(text.split("\n"), 1)]
    lines, inside, marked = text.split("\n"), False, set()
    for n in body:
        words = lines[n - 1]
        if words.lstrip().startswith(("def ", '"""', ") ->")) or not words.strip():
            inside = words.lstrip().startswith("def ") and not words.rstrip().endswith(":")
            continue
        if not inside and re.search(_LOOP[key], words):
            marked.add(n)
        inside = inside and not words.rstrip().endswith(":  # fmt: skip")
    return Listing(title, text, frozenset(marked))
