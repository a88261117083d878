"""Honest pre-ticks for a typed answer: which rubric points do its words suggest?

Terms are looked up as words; nothing here understands a sentence. A suggestion says what it found and what it missed,
and a point whose words stand behind a negation is not ticked but handed to the person, and so is one of which only words of
the question were found: repeating the question is no answer. Red flags are never ticked by
this module. It is no judge: the person corrects every suggestion.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from interview.schema import Point, Rubric

LONGEST_ANSWER = 20_000
NEGATIONS = frozenset({"not", "no", "never", "without", "cannot", "neither", "nor", "hardly"})
REACH = 3
"""How many words before a match are searched for a negation."""
GREEK = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "eps", "ϵ": "eps", "θ": "theta", "λ": "lambda",
    "μ": "mu", "π": "pi", "ρ": "rho", "σ": "sigma", "τ": "tau", "∞": "infinity", "√": "sqrt",
}  # fmt: skip
SAME = {"epsilon": "eps", "advs": "advantage", "adv": "advantage", "logp": "logprob", "grad": "gradient", "kls": "kl"}


@dataclass(frozen=True)
class Suggestion:
    """What the words suggest about one point: `found` and `missing` list its terms.

    `negated` and `echoed` (nothing but words of the question) withhold the tick.
    """

    point_id: str
    ticked: bool
    found: tuple[str, ...]
    missing: tuple[str, ...]
    negated: bool
    echoed: bool = False

    def because(self) -> str:
        """The suggestion's reason in one sentence."""
        if self.negated:
            return f"The words are there ({', '.join(self.found)}), but behind a negation: decide yourself."
        if self.echoed:
            return f"Only words of the question were found ({', '.join(self.found)}): decide yourself."
        if self.ticked:
            return f"Found: {', '.join(self.found)}."
        return f"Not found: {', '.join(self.missing)}."


def words(text: str) -> tuple[str, ...]:
    """Lower-case words with Greek letters named, contractions opened, and plural and -ise/-ize spellings united."""
    if len(text) > LONGEST_ANSWER:
        raise ValueError(f"answer: must have at most {LONGEST_ANSWER} characters, got {len(text)}")
    plain = unicodedata.normalize("NFKC", text).casefold().replace("’", "'").replace("n't", " not")
    for letter, name in GREEK.items():
        plain = plain.replace(letter, f" {name} ")
    return tuple(_root(word) for word in re.findall(r"[a-z0-9]+\*?", plain))


def _root(word: str) -> str:
    word = SAME.get(word, word)
    word = re.sub(r"is(e|es|ed|ing|ation|er)$", r"iz\1", word) if len(word) > 7 else word
    return word[:-1] if len(word) > 3 and re.search(r"[^suia]s$|[aeiou]es$", word) else word


def suggest(rubric: Rubric, answer: str, *, asked: str = "") -> tuple[Suggestion, ...]:
    """One suggestion a must-have point, in the rubric's order. `asked` is the question, whose words prove nothing."""
    spoken, question = words(answer), words(asked[:LONGEST_ANSWER])
    return tuple(_suggest_one(point, spoken, question) for point in rubric.must)


def _suggest_one(point: Point, spoken: tuple[str, ...], question: tuple[str, ...]) -> Suggestion:
    found: list[str] = []
    missing: list[str] = []
    negated, echoed = False, True
    for term in point.terms:
        hits = {name: _look_up(name, spoken) for name in term.split("|")}
        clean = [name for name, hit in hits.items() if hit == "clean"]
        behind = [name for name, hit in hits.items() if hit == "negated"]
        own = [name for name in clean if not _look_up(name, question)]
        if clean or behind:
            found.append((own or clean or behind)[0].rstrip("*"))
            negated = negated or not clean
            echoed = echoed and not own
        else:
            missing.append(term.replace("|", " or ").replace("*", ""))
    whole = not missing
    ticked = whole and not negated and not echoed
    return Suggestion(
        point.id, ticked, tuple(found), tuple(missing), negated and whole, echoed and whole and not negated
    )


def _look_up(alternative: str, spoken: tuple[str, ...]) -> str:
    """ "clean", "negated" or "" for one alternative: consecutive words, `*` ending a word matches its beginnings."""
    wanted = words(alternative)
    own_negation = bool(NEGATIONS & set(wanted))
    seen = ""
    for start in range(len(spoken) - len(wanted) + 1):
        if all(_same(w, s) for w, s in zip(wanted, spoken[start : start + len(wanted)], strict=True)):
            if own_negation or not NEGATIONS & set(spoken[max(0, start - REACH) : start]):
                return "clean"
            seen = "negated"
    return seen


def _same(wanted: str, spoken: str) -> bool:
    return spoken.startswith(wanted[:-1]) if wanted.endswith("*") else wanted == spoken
