"""Opinions in a small grammar, rewarded for sentiment: the task where a proxy and the truth part ways."""

from __future__ import annotations

import re
from typing import Literal

from rlcore.knobs import knob
from rlcore.words.task import Task, split_prompts

GOOD, BAD = ("great", "good", "fun", "lovely"), ("bad", "dull", "awful", "slow")
ADVERBS = ("really", "very", "quite", "not")
_PHRASE = rf"(?: (?:{'|'.join(ADVERBS)}))?(?: (?:{'|'.join(GOOD + BAD)}))"
_SENTENCE = re.compile(rf"{_PHRASE}(?: (?:and|but){_PHRASE})*\.")
_OPINION = re.compile(rf"( not)? ({'|'.join(GOOD + BAD)})\b")


def sentiment(reply: str) -> float:
    """What the words mean: mean of +1 (good) and -1 (bad) over the adjectives, `not` turning its own round; 0 for none."""
    said = [(1 if word in GOOD else -1) * (-1 if negation else 1) for negation, word in _OPINION.findall(reply)]
    return sum(said) / len(said) if said else 0.0


def word_count(reply: str) -> float:
    """The proxy: good words minus bad words, in units of 4, within [-1, 1]. It reads neither `not` nor the grammar."""
    words = re.findall(r"[a-z]+", reply)
    return max(-1.0, min(1.0, sum((w in GOOD) - (w in BAD) for w in words) / 4))


class Sentences(Task):
    """` the film was` wants an opinion: [adverb] adjective { (and | but) [adverb] adjective } and a full stop.

    exact    finished, grammatical, and positive by what the words mean (the gold)
    partial  the proxy in [-1, 1]: good words minus bad words, which ` good good good good` satisfies as well
    format   finished and grammatical
    meaning  sentiment in [-1, 1] by what the words mean, grammatical or not

    A reward on `partial` alone is an invitation to stack good words; `exact` says what that costs.
    """

    kind: Literal["sentences"] = "sentences"
    meaning: float = knob(0.0, "w_meaning", -10, 10, "weight of sentiment by meaning", suggested=(0, 2))
    max_length: int = knob(
        14, "T_max", 1, 64, "reply tokens, the end included, after which a reply is cut", suggested=(2, 24), live=False
    )

    def texts(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """All 36 openings, 12 of them held out."""
        nouns, verbs = ("movie", "film", "food", "book", "show", "plot"), ("was", "is", "seemed")
        return split_prompts([f" {t} {n} {v}" for t in ("the", "this") for n in nouns for v in verbs], heldout=12, seed=4)

    def grade(self, prompt: str, reply: str, finished: bool) -> dict[str, float]:
        grammatical = finished and _SENTENCE.fullmatch(reply) is not None
        meant = sentiment(reply)
        return {
            "exact": float(grammatical and meant > 0),
            "partial": word_count(reply),
            "format": float(grammatical),
            "meaning": meant,
        }
