"""Names for what was done or said, as text and as LaTeX: an arm, a move, a token, a push."""

from __future__ import annotations

from typing import Any

from rlcore.envs import Gridworld
from rlcore.microscope.scene import Scene
from rlcore.words.env import Words
from rlcore.words.vocabulary import EOS, TOKENS, decode, unpadded

ARROWS = ("↑", "→", "↓", "←")
_LATEX = {"#": r"\#", "{": r"\{", "}": r"\}", " ": r"\text{␣}", "<eos>": r"\text{EOS}"}


def action_name(config: Any, action: Any) -> str:
    """What an action is called on this environment."""
    env = config.env
    if isinstance(env, Words):
        return "EOS" if int(action) == EOS else TOKENS[int(action)].strip() or "␣"
    if isinstance(env, Gridworld):
        return ARROWS[int(action)]
    if getattr(action, "shape", ()):
        return ", ".join(f"{float(x):.3g}" for x in action)
    if env.kind in ("bandit", "contextual_bandit", "contextual"):
        return f"arm {int(action) + 1}"
    if str(getattr(env, "id", "")).startswith("CartPole"):
        return ("←", "→")[int(action)]
    return f"action {int(action)}"


def action_names(config: Any) -> tuple[str, ...]:
    """Every action's name, where actions are finite."""
    count = config.env.shape().actions
    return () if count is None else tuple(action_name(config, a) for a in range(count))


def row_names(scene: Scene, row: int | None = None) -> list[str]:
    """The row's valid actions by name, in order."""
    row = scene.at.row if row is None else row
    taken = scene.of.trace.rollout["action"][row][scene.mask[row]]
    return [action_name(scene.of.config, a) for a in taken]


def token_name(scene: Scene) -> str:
    """What the selected token is called."""
    return action_name(scene.of.config, scene.of.trace.rollout["action"][scene.at.row, scene.at.token])


def prompt_text(scene: Scene, row: int | None = None) -> str:
    """The prompt of a language model's row; empty elsewhere."""
    prompts = scene.of.trace.rollout.get("prompt")
    return "" if prompts is None else decode(unpadded(prompts[scene.at.row if row is None else row].tolist()))


def place_text(scene: Scene) -> str:
    """Where the token was done: the cell, the state, or what had been said."""
    rollout, env, at = scene.of.trace.rollout, scene.of.config.env, scene.at
    if isinstance(env, Words):
        said = "".join(TOKENS[int(a)] for a in rollout["action"][at.row, : at.token] if int(a) != EOS)
        return f"after “{prompt_text(scene)}{said}”"
    seen = rollout["obs"][at.row, at.token]
    if isinstance(env, Gridworld):
        row, column = divmod(int(seen), env.width)
        return f"on cell ({row + 1}, {column + 1})"
    if seen.shape:
        return "seeing [" + ", ".join(f"{float(x):.3f}" for x in seen) + "]"
    return "" if env.kind == "bandit" else f"in state {int(seen)}"


def what(scene: Scene) -> str:
    """A token or a step, in the field's words."""
    return "token" if isinstance(scene.of.config.env, Words) else "step"


def in_math(name: str) -> str:
    """A name inside LaTeX."""
    if name in _LATEX:
        return _LATEX[name]
    return {"↑": r"\uparrow", "→": r"\rightarrow", "↓": r"\downarrow", "←": r"\leftarrow"}.get(
        name, rf"\text{{{name.replace('#', '').replace('{', '(').replace('}', ')')}}}"
    )
