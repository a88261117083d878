"""What a card is: a prompt, a rubric a person ticks, follow-ups for what was missed, and the state that proves it.

Four kinds: a question, a flawed answer to find the error in, curves to read, and a case in several parts.
All are frozen pydantic models. This module reads no file (see `bank`) and grades nothing (see `scoring`).
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import Annotated, Literal, get_args

from pydantic import Field, StringConstraints, model_validator

from interview.links import Name, ProofLink, RunSpec
from interview.values import Frozen, Slug, Source, Text

Group = Literal["foundations", "ppo", "grpo", "gspo", "kl", "reward_hacking", "distributed", "judgement"]
GROUPS: tuple[str, ...] = get_args(Group)
Level = Literal["warm-up", "core", "expert"]
Kind = Literal["question", "find_the_error", "read_curves", "case"]
KINDS: tuple[str, ...] = get_args(Kind)
Term = Annotated[str, StringConstraints(pattern=r"^[^|]+(\|[^|]+)*$", max_length=160)]
Title = Annotated[str, StringConstraints(min_length=3, max_length=90)]


class Point(Frozen):
    """One line of a rubric. Every entry of `terms` must be met for a suggestion; `|` separates alternatives."""

    id: Slug
    text: Text
    terms: tuple[Term, ...] = Field(min_length=1)


class Bonus(Frozen):
    """Something that a strong answer adds."""

    id: Slug
    text: Text


class RedFlag(Frozen):
    """Something that costs, and why it is wrong."""

    id: Slug
    text: Text
    because: Text


class FollowUp(Frozen):
    """What an interviewer asks when a point was missed, and what the answer should contain."""

    ask: Text
    expect: Text


class Rubric(Frozen):
    """What an answer is ticked against. Follow-ups are keyed by the must-have point they repair."""

    must: tuple[Point, ...] = Field(min_length=2, max_length=7)
    nice: tuple[Bonus, ...] = ()
    red_flags: tuple[RedFlag, ...] = Field(min_length=1)
    follow_ups: dict[Slug, FollowUp] = Field(min_length=1)

    @model_validator(mode="after")
    def _consistent(self) -> Rubric:
        ids = [p.id for p in self.must] + [p.id for p in self.nice] + [p.id for p in self.red_flags]
        _refuse_duplicates("a rubric's point ids", ids)
        stray = sorted(set(self.follow_ups) - {point.id for point in self.must})
        if stray:
            known = [point.id for point in self.must]
            raise ValueError(f"follow_ups are keyed by must-have ids; {stray} are not among {known}")
        return self


class Provable(Frozen):
    """Either a link to the state that proves it, or the reason why no state of this app can."""

    proof: ProofLink | None = None
    no_proof: Text | None = None

    @model_validator(mode="after")
    def _one_or_the_other(self) -> Provable:
        if (self.proof is None) == (self.no_proof is None):
            raise ValueError("give exactly one of proof (a link) and no_proof (the reason why the app cannot show it)")
        return self


class Head(Frozen):
    """What every card has. `group` and `revised` come from the file unless the card says otherwise."""

    id: Slug
    group: Group
    level: Level
    title: Title
    revised: date
    prompt: Text
    sources: tuple[Source, ...] = Field(min_length=1)


class Question(Head, Rubric, Provable):
    """A question as an interviewer would put it."""

    kind: Literal["question"]


class FindTheError(Head, Rubric, Provable):
    """An answer that sounds right. The must-have points say what is wrong in it and what is true instead."""

    kind: Literal["find_the_error"]
    answer: Text


class ReadCurves(Head, Rubric, Provable):
    """Curves of stored runs, drawn by the engine from their specifications; the reader explains them.

    `verified` turns true only when somebody has run the specifications and seen what the must-have points say.
    """

    kind: Literal["read_curves"]
    runs: tuple[RunSpec, ...] = Field(min_length=1, max_length=4)
    metrics: tuple[Name, ...] = Field(min_length=1, max_length=6)
    verified: bool = False

    @model_validator(mode="after")
    def _labels_differ(self) -> ReadCurves:
        _refuse_duplicates("the labels of a card's runs", [run.label for run in self.runs])
        return self


class Part(Rubric, Provable):
    """One part of a case, with its share of the clock."""

    id: Slug
    title: Title
    minutes: int = Field(ge=2, le=12)
    prompt: Text


class Case(Head):
    """A question that takes half an hour: several parts, each with its own rubric."""

    kind: Literal["case"]
    parts: tuple[Part, ...] = Field(min_length=3, max_length=6)

    @model_validator(mode="after")
    def _fits_half_an_hour(self) -> Case:
        _refuse_duplicates("a case's part ids", [part.id for part in self.parts])
        total = sum(part.minutes for part in self.parts)
        if not 18 <= total <= 27:
            raise ValueError(f"parts must take 18 to 27 of the 30 minutes, so that follow-ups fit; they take {total}")
        return self


Card = Annotated[Question | FindTheError | ReadCurves | Case, Field(discriminator="kind")]
Drillable = Question | FindTheError | ReadCurves


class BankFile(Frozen):
    """One file of the bank: a group, its title, when it was last revised, and its cards."""

    group: Group
    title: Title
    revised: date
    cards: tuple[Card, ...] = Field(min_length=1)


def rubrics(card: Question | FindTheError | ReadCurves | Case) -> tuple[Rubric, ...]:
    """The rubrics of a card: one, or one a part."""
    return card.parts if isinstance(card, Case) else (card,)


def links(card: Question | FindTheError | ReadCurves | Case) -> tuple[ProofLink, ...]:
    """Every proof link that a card holds."""
    holders: Iterable[Provable] = card.parts if isinstance(card, Case) else (card,)
    return tuple(holder.proof for holder in holders if holder.proof is not None)


def _refuse_duplicates(what: str, ids: list[str]) -> None:
    twice = sorted({one for one in ids if ids.count(one) > 1})
    if twice:
        raise ValueError(f"{what} must differ; used twice: {twice}")
