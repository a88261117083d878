"""The sections of the Duel page: controls in, records from `rlcore.explore.duel`, figures out."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import streamlit as st

from figures import duel as figures
from figures.theme import Look, look
from rlcore.algorithms import brief, cautions, diff
from rlcore.envs import FiniteEnv, tables
from rlcore.explore.duel import probabilities, silenced
from rlcore.explore.tokens import token_names
from ui import comparison, controls, figure
from ui.duel_batch import Fought, fight

MOST_ROWS = 16


def _on_a_duel(section: Callable[[Fought], None]) -> Callable[[], None]:
    """A section about one duel; its controls and figures are one fragment, so that nothing else is run again."""

    @st.fragment
    def whole() -> None:
        fought = fight()
        if fought is not None:
            section(fought)

    return whole


def _looks(fought: Fought) -> list[Look]:
    return [look(key) for key in fought.keys]


@_on_a_duel
def tokens(fought: Fought) -> None:
    """Numbers of every contender, and one quantity of theirs token by token."""
    _summary(fought)
    quantity = controls.choice(
        "quantity", "Token by token", tuple(figures.QUANTITIES), shown=lambda key: figures.QUANTITIES[key].label
    )
    rows, words = _rows(fought)
    figure.show(figures.tokens(fought.found, _looks(fought), words, quantity=quantity, rows=rows), key="duel_tokens")
    shown = st.expander("One row, all numbers", icon=":material/table_rows:", on_change="rerun", key="duel_row")
    if shown.open:
        with shown:
            _one_row(fought, rows, words)


def _rows(fought: Fought) -> tuple[np.ndarray, list[tuple[str, ...]]]:
    """The rows of one prompt, best score first, and their tokens' names."""
    rollout = fought.found.rollout
    group, mask = rollout["group"], rollout["mask"]
    prompts = np.unique(group)
    alone = len(prompts) == len(group)  # one row a prompt: rows are shown together
    which = 0
    if not alone and len(prompts) > 1:
        about = controls.counted(1, len(prompts), "whose rows are shown; a group is what its rewards are compared in")
        which = controls.whole("prompt", about, 1, name="prompt") - 1
    rows = np.arange(len(group)) if alone else np.flatnonzero(group == prompts[min(which, len(prompts) - 1)])
    score = np.where(mask, rollout["reward"], 0.0).sum(1)
    rows = rows[np.argsort(-score[rows], kind="stable")]
    if len(rows) > MOST_ROWS:
        st.caption(f"{MOST_ROWS} of {len(rows)} rows are shown, from the best to the worst.")
        rows = rows[np.linspace(0, len(rows) - 1, MOST_ROWS).round().astype(int)]
    names = [token_names(fought.frozen.config, rollout["action"][row][mask[row]]) for row in rows]
    return rows, names


def _summary(fought: Fought) -> None:
    found = fought.found
    lines: dict[str, list[str]] = {}
    valid = [int(s.mask.sum()) for s in found.stances]
    lines["silent tokens"] = [f"{silenced(s)} of {n}" for s, n in zip(found.stances, valid, strict=True)]
    lines["gradient removed by a bound"] = [f"{s.clip_fraction:.1%}" for s in found.stances]
    lines["outside the band"] = [f"{s.outside.sum() / max(n, 1):.1%}" for s, n in zip(found.stances, valid, strict=True)]
    lines["loss"] = [f"{round(s.loss, 6) + 0.0:+.6f}" for s in found.stances]  # never "-0"
    lines["size of the gradient"] = [f"{s.grad_norm:.4g}" for s in found.stances]
    if found.truth is not None:
        lines["cosine with the exact gradient"] = [f"{x:.3f}" if np.isfinite(x) else "–" for x in found.truth]
    of_each = zip((each.label for each in _looks(fought)), zip(*lines.values(), strict=True), strict=True)
    st.table({"": list(lines)} | {label: list(column) for label, column in of_each}, hide_index=True)
    dropped = [
        f"{drawn.label} dropped {len(found.rollout['mask']) - len(s.rows)} rows"
        for drawn, s in zip(_looks(fought), found.stances, strict=True)
        if len(s.rows) < len(found.rollout["mask"])
    ]
    st.caption(f"{fought.where}. " + (f"{'; '.join(dropped)}." if dropped else ""))


def _one_row(fought: Fought, rows: np.ndarray, words: list[tuple[str, ...]]) -> None:
    about = controls.counted(1, len(rows), "counted from the top of the picture")
    at = controls.whole("row", about, 1, name="row") - 1
    at, every = min(at, len(rows) - 1), len(fought.found.rollout["mask"])
    size, table = len(words[at]), {"token": list(words[at])}
    for stance, drawn in zip(fought.found.stances, _looks(fought), strict=True):
        for quantity in ("ratio", "advantage", "weight", "gradient", "change"):
            column = figures.values(stance, quantity, every)[rows[at]][:size]
            table[f"{drawn.label}: {figures.QUANTITIES[quantity].label.lower()}"] = [f"{x:.4g}" for x in column]
    st.dataframe(table, hide_index=True)


@_on_a_duel
def gradients(fought: Fought) -> None:
    """Cosines between the gradients."""
    figure.show(figures.cosines(fought.found, _looks(fought)), key="duel_cosines")
    _summary(fought)


@_on_a_duel
def update(fought: Fought) -> None:
    """What one step of the run's optimiser would do to the policy."""
    found = fought.found
    columns: dict[str, list[str]] = {"after one update": [each.label for each in _looks(fought)]}
    columns["KL(after ‖ before), nats a token"] = [f"{s.kl_moved:.3g}" for s in found.stances]
    if found.gained is not None and found.before is not None:
        columns["exact expected return"] = [f"{found.before + gain:.5f}" for gain in found.gained]
        columns["gained"] = [f"{gain:+.5f}" for gain in found.gained]
    st.table(columns, hide_index=True)
    before = "" if found.before is None else f" Before it the exact expected return is {found.before:.5f}."
    st.caption(f"{fought.where}. One step of the run's optimizer, from fresh moments.{before}")
    if isinstance(fought.frozen.config.env, FiniteEnv):
        _in_a_state(fought)
    figure.show(figures.replies(found, _looks(fought)), key="duel_replies")


def _in_a_state(fought: Fought) -> None:
    """Probabilities in one of the states that the batch has visited."""
    rollout = fought.found.rollout
    mdp = tables(fought.frozen.config.env)  # type: ignore[arg-type]
    seen, count = np.unique(rollout["obs"][rollout["mask"]], return_counts=True)
    seen = seen[np.argsort(-count, kind="stable")]
    which = 0
    if len(seen) > 1:
        about = controls.counted(1, len(seen), "states of this batch, the most visited first")
        which = controls.whole("state", about, 1, name="state, by visits") - 1
    state = int(seen[min(which, len(seen) - 1)])
    actions = token_names(fought.frozen.config, np.arange(mdp.actions))
    place = f"state {state}" if len(seen) > 1 else "its only state"
    policies = probabilities(fought.frozen, fought.found, state)
    looks = {key: look(key) for key in fought.keys}
    figure.show(figures.moved(policies, actions, looks, place=place), key="duel_policy")


@_on_a_duel
def recipes(fought: Fought) -> None:
    """What the contenders are made of, against the first of them."""
    first, *rest = fought.keys
    for key in rest:
        changes = diff(fought.algorithms[first], fought.algorithms[key])
        st.markdown(f"**{look(first).label} → {look(key).label}**" + ("" if changes else ": equal in every slot"))
        if changes:
            st.table(
                {
                    "slot": [f"**{c.slot}**" if c.structural else c.slot for c in changes],
                    look(first).label: [f"`{c.before}`" for c in changes],
                    look(key).label: [f"`{c.after}`" for c in changes],
                },
                hide_index=True,
            )
    st.caption("Slots in bold differ in kind, the others only in a number.")
    same = [slot for slot in type(fought.algorithms[first]).model_fields if len({brief(getattr(a, slot)) for a in fought.algorithms.values()}) == 1]
    st.caption(f"The same in all of them: {', '.join(same)}.")
    for key, algorithm in fought.algorithms.items():
        for caution in cautions(algorithm):
            st.warning(f"{look(key).label}: {caution}", icon=":material/warning:")


SECTIONS: Mapping[str, Callable[[], None]] = {
    "tokens": tokens, "gradients": gradients, "update": update, "recipes": recipes, "table": comparison.table,
}  # fmt: skip
