"""Predict first, and fill in: what is asked before a phase's numbers are shown, how it is checked, and the score kept.

The score is this session's; a phase that has been answered, or shown on demand, stays open.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from interview.expression import ExpressionError, evaluate, parse
from rlcore.microscope import Blank, Phase, Question, Verdict, judge, judge_prediction

MODES = {
    "watch": "Watch", "predict": "Predict first", "fill": "Fill in results", "fill_more": "Fill in more", "memory": "From memory",
}  # fmt: skip
LETTERS = "abcdefgh"
LEVEL = {"fill": 1, "fill_more": 2, "memory": 2}
HARDER = {"watch": "predict", "predict": "fill", "fill": "fill_more", "fill_more": "memory", "memory": "memory"}


@dataclass(frozen=True)
class Tried:
    """One prediction or typed number: where, what was said, what was true; `first` try or a later one."""

    place: str
    said: str
    true: str
    right: bool
    kind: str
    first: bool


def tries() -> list[Tried]:
    """Everything tried in this session, in order."""
    found: list[Tried] = st.session_state.setdefault("step_tries", [])
    return found


def _open() -> set[str]:
    found: set[str] = st.session_state.setdefault("step_open", set())
    return found


def blanks_of(phase: Phase, mode: str) -> tuple[Blank, ...]:
    """The numbers this mode leaves blank, in the order in which they are worked out."""
    wanted = [b for b in phase.blanks if b.level <= LEVEL.get(mode, 0)]
    shown = {name: n for n, name in enumerate(name for each in phase.lines for name in each.names())}
    return tuple(sorted(wanted, key=lambda b: shown.get(b.name, 99)))


def asks(phase: Phase, mode: str) -> bool:
    """True where this mode has something to ask in this phase."""
    return phase.present and bool(phase.question if mode == "predict" else blanks_of(phase, mode))


def closed(place: str, phase: Phase, mode: str) -> bool:
    """True while a phase's numbers must not be shown yet."""
    return asks(phase, mode) and f"{place}/{mode}" not in _open()


def letters(blanks: Sequence[Blank]) -> Mapping[str, str]:
    """Blank name -> the letter of its box."""
    return {b.name: LETTERS[n] for n, b in enumerate(blanks)}


def _reveal(place: str, mode: str) -> None:
    _open().add(f"{place}/{mode}")


# ---------------------------------------------------------------- predict first


def ask(place: str, phase: Phase, names: Sequence[str]) -> None:
    """The question of a closed phase."""
    question = phase.question
    assert question is not None
    with st.form(f"predict_{place}", border=True):
        st.markdown(f"**Predict first.** {question.text}")
        guess = _field(question, place, names)
        with st.container(horizontal=True):
            sent = st.form_submit_button("Check", type="primary")
            skipped = st.form_submit_button("Show me")
    if skipped:
        _reveal(place, "predict")
        st.rerun()
    if sent:
        said = _guess(question, guess)
        if isinstance(said, ExpressionError):
            st.error(str(said), icon=":material/error:")
        elif said is None:
            st.error("Choose an answer first, or have it shown.", icon=":material/error:")
        else:
            _predicted(place, phase, question, said, names)
            st.rerun()


def _field(question: Question, place: str, names: Sequence[str]) -> object:
    key = f"guess_{place}"
    if question.kind == "choice":
        return st.radio("Your prediction", question.options, index=None, horizontal=True, key=key)
    if question.kind == "number":
        return st.text_input("Your prediction", key=key, placeholder="a number, or 1/8")
    shown = {n: f"{int(n) + 1}: {names[int(n)]}" for n in question.options}
    return st.pills("Those that die", question.options, selection_mode="multi", format_func=shown.__getitem__, key=key)


def _guess(question: Question, guess: object) -> str | float | frozenset[int] | ExpressionError | None:
    if question.kind == "tokens":
        return frozenset(int(n) for n in guess) if isinstance(guess, list) else frozenset()
    if question.kind == "choice":
        return None if guess is None else str(guess)
    return typed(str(guess or ""))


def _predicted(place: str, phase: Phase, question: Question, said: str | float | frozenset[int], names: Sequence[str]) -> None:
    verdict = judge_prediction(question, said)
    _reveal(place, "predict")
    st.session_state[f"told_{place}"] = verdict
    tries().append(Tried(phase.title, _words(said, names), _words(question.answer, names), verdict.right, "prediction", True))


def _words(value: str | float | frozenset[int], names: Sequence[str]) -> str:
    if isinstance(value, frozenset):
        return ", ".join(f"{n + 1} ({names[n]})" for n in sorted(value)) or "none"
    return f"{value:.6g}" if isinstance(value, float) else value


def tell(place: str, phase: Phase) -> None:
    """What came of the prediction, above the phase it was about."""
    verdict: Verdict | None = st.session_state.get(f"told_{place}")
    if verdict is not None:
        (st.success if verdict.right else st.warning)(verdict.said, icon=":material/check:" if verdict.right else ":material/close:")


# ---------------------------------------------------------------- fill in


def typed(text: str) -> float | ExpressionError | None:
    """A typed number or a calculation such as (1-0.4)/0.52; None for nothing."""
    if not text.strip():
        return None
    try:
        value = float(evaluate(parse(text, names=()), {}))
    except ExpressionError as error:
        return error
    except (TypeError, ValueError):
        return ExpressionError("this is not one number")
    return value if abs(value) < float("inf") else ExpressionError(f"this is not a finite number: {value:g}")


def fill(place: str, phase: Phase, mode: str) -> None:
    """A field for every blank of a closed phase; all right opens it."""
    blanks = blanks_of(phase, mode)
    verdicts: dict[str, str | Verdict] = st.session_state.get(f"judged_{place}/{mode}", {})
    with st.form(f"fill_{place}_{mode}", border=True):
        st.markdown("**Fill in.** Numbers, or a calculation such as `(1-0.4)/0.52` or `exp(0.1)`.")
        for letter, blank in zip(LETTERS, blanks, strict=False):
            st.text_input(rf"**{letter}** · ${blank.symbol}$, {blank.words}", key=f"blank_{place}_{mode}_{blank.name}")
            _beside(verdicts.get(blank.name))
        with st.container(horizontal=True):
            sent = st.form_submit_button("Check", type="primary")
            shown = st.form_submit_button("Show the numbers")
    if shown:
        _reveal(place, mode)
        st.rerun()
    if sent:
        _check(place, phase, mode, blanks, verdicts)
        st.rerun()


def _beside(verdict: str | Verdict | None) -> None:
    """What is said of a field, right under it."""
    if isinstance(verdict, str):
        st.error(verdict, icon=":material/error:")
    elif verdict is not None:
        (st.success if verdict.right else st.warning)(verdict.said)


def _check(place: str, phase: Phase, mode: str, blanks: Sequence[Blank], before: Mapping[str, str | Verdict]) -> None:
    found: dict[str, str | Verdict] = {}
    for blank in blanks:
        value = typed(st.session_state.get(f"blank_{place}_{mode}_{blank.name}") or "")
        if isinstance(value, ExpressionError):
            found[blank.name] = f"{blank.words}: {value}"
        elif value is not None:
            found[blank.name] = verdict = judge(blank, value)
            earlier = before.get(blank.name)
            if not (isinstance(earlier, Verdict) and earlier.right):
                tries().append(
                    Tried(phase.title, f"{value:.6g}", f"{blank.answer:.6g}", verdict.right, "number", not isinstance(earlier, Verdict))
                )
    st.session_state[f"judged_{place}/{mode}"] = found
    if all(isinstance(found.get(b.name), Verdict) and found[b.name].right for b in blanks):  # type: ignore[union-attr]
        _reveal(place, mode)


# ---------------------------------------------------------------- score


def score() -> None:
    """How many were right, and every single one, kept while the session lasts."""
    done = tries()
    if not done:
        return
    parts = []
    for kind, words in (("prediction", "Predictions"), ("number", "Numbers, first try")):
        of_kind = [t for t in done if t.kind == kind and t.first]
        if of_kind:
            parts.append(f"{words}: **{sum(t.right for t in of_kind)} of {len(of_kind)}** right")
    with st.expander(" · ".join(parts), icon=":material/scoreboard:"):
        st.dataframe(
            {"phase": [t.place for t in done], "you said": [t.said for t in done], "it is": [t.true for t in done],
             "right": [t.right for t in done]}, hide_index=True,
        )  # fmt: skip
        if st.button("Forget these"):
            for name in [n for n in st.session_state if str(n).startswith(("step_tries", "step_open", "told_", "judged_", "blank_"))]:
                del st.session_state[name]
            st.rerun()
