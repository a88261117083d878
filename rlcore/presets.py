"""Presets: for each recipe and environment, settings that learn; the starting point of every run without a config.

Numbers come from measuring (`benchmarks/`), not from the papers, whose own values stand in the recipes.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, Literal

import gymnasium
from pydantic import ValidationError

from rlcore.advantages import Gae, Returns
from rlcore.algorithm import Algorithm
from rlcore.algorithms import CATALOG, by_key
from rlcore.config import Batch, RunConfig, parse
from rlcore.envs import Bandit, ContextualBandit, FiniteEnv, Gridworld, GymEnv
from rlcore.kl import KlInReward
from rlcore.knobs import SettingError, Value
from rlcore.optim import Adam
from rlcore.policies import Mlp, Tabular
from rlcore.policies.transformer import Transformer
from rlcore.ratios import TokenRatio
from rlcore.words.addition import Addition
from rlcore.words.brackets import Brackets
from rlcore.words.env import Words
from rlcore.words.sentences import Sentences
from rlcore.words.sorting import Sorting

ENVS: Mapping[str, Bandit | ContextualBandit | Gridworld | GymEnv] = {
    "bandit": Bandit(),
    "three-arms": Bandit(means=(0.2, 0.6, 1.0)),
    "contextual": ContextualBandit(),
    "gridworld": Gridworld(),
    "corridor": Gridworld(layout=("S" + "." * 18 + "G",), horizon=80, noise=0.3),
    "CartPole-v1": GymEnv(id="CartPole-v1", horizon=500),
}
"""Environments by short name; any other Gymnasium id is looked up with Gymnasium."""

WORDS: Mapping[str, tuple[Words, str, float]] = {
    "addition": (Words(task=Addition()), "addition-0", 1.5e-4),
    "sorting": (Words(task=Sorting()), "sorting-0", 2e-4),
    "brackets": (Words(task=Brackets()), "brackets-0", 2e-4),
    "sentences": (Words(task=Sentences()), "sentences-0", 1.5e-4),
}
"""Tasks of the tiny language model by short name, each with its pretrained start and a learning rate that it survives."""

TOY_EPS = 0.2
"""On T of a few steps the sequence ratio moves as far as a token's: the papers' 3e-4 would clip almost every row."""

TOY_BETA = 0.01
"""A price per nat inside the reward adds up over steps: at RLHF's 0.05 the walk to a goal worth 1 costs most of it."""


WORD_EPS = (3e-3, 4e-3)
"""The sequence ratio of six-token replies spreads ten times wider than the GSPO paper's; its 3e-4 would clip most rows."""


def environment(name: str) -> Bandit | ContextualBandit | Gridworld | GymEnv | Words:
    """An environment by short name or Gymnasium id. Raises SettingError with the nearest names."""
    if name in ENVS:
        return ENVS[name]
    if name in WORDS:
        return WORDS[name][0]
    if "-v" in name:
        return _gymnasium(name)
    spelled = {known.lower(): known for known in (*ENVS, *WORDS)}
    near = [spelled[each] for each in difflib.get_close_matches(name.lower(), spelled, n=2, cutoff=0.4)]
    hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join((*ENVS, *WORDS))}, or any Gymnasium id"
    raise SettingError(f"env: there is no environment {name!r}; {hint}")


def _gymnasium(name: str) -> GymEnv:
    """The environment with its own time limit, where Gymnasium knows one that is within the knob's range."""
    try:
        env = GymEnv(id=name)
    except ValidationError as error:
        raise SettingError(f"env: {name!r} is no Gymnasium id") from error
    env.shape()
    limit = gymnasium.spec(name).max_episode_steps
    return env if limit is None else env.model_copy(update={"horizon": min(limit, 10_000)})


def preset(recipe: str = "grpo", env: str = "gridworld", seed: int = 0) -> RunConfig:
    """A run that learns: recipe and environment by name. Raises SettingError for what does not exist or does not fit."""
    return preset_for(by_key(recipe).algorithm, environment(env), seed)


def preset_for(algorithm: Algorithm, env: Any, seed: int = 0) -> RunConfig:
    """The same for an algorithm and an environment given as values."""
    if isinstance(env, Words):
        return _on_words(algorithm, env, seed)
    algorithm = _on_a_toy(algorithm)
    env = _short_enough(algorithm, env)
    finite = isinstance(env, FiniteEnv)
    tabular = finite or env.shape().states is not None
    batch = _cartpole_batch(algorithm) if not finite else _finite_batch(algorithm)
    parts = {
        "seed": seed, "env": env, "policy": Tabular() if tabular else Mlp(), "algorithm": algorithm, "batch": batch,
        "optim": Adam(lr=_rate(algorithm, env, tabular)),
    }  # fmt: skip
    return parse(parts)


def _on_a_toy(algorithm: Algorithm) -> Algorithm:
    """The paper's algorithm with a clip width that suits rows of a few steps, where its ratio is per sequence, and a KL
    price in the reward that suits rewards around 1."""
    changes: dict[str, Value] = {}
    if not isinstance(algorithm.ratio, TokenRatio):
        changes["surrogate"] = algorithm.surrogate.model_copy(update={"eps_low": TOY_EPS, "eps_high": TOY_EPS})
    if isinstance(algorithm.kl, KlInReward):
        changes["kl"] = algorithm.kl.model_copy(update={"kl_beta": min(algorithm.kl.kl_beta, TOY_BETA)})
    return algorithm.model_copy(update=changes)


GROUP_HORIZON = 100
"""Rows of a group are whole episodes, and an update has to answer a hand on a slider: at 200 steps of CartPole it took
twice as long and GRPO needed ten updates to balance instead of seven; at CartPole's own 500 a slider feels dead."""


def _short_enough(algorithm: Algorithm, env: Any) -> Any:
    if isinstance(env, GymEnv) and _grouped(algorithm) and env.horizon > GROUP_HORIZON:
        return env.model_copy(update={"horizon": GROUP_HORIZON})
    return env


def _on_words(algorithm: Algorithm, env: Words, seed: int) -> RunConfig:
    """The task's pretrained start, 8 prompts of 16 replies, two minibatches of one pass: half of all steps on policy."""
    _, start, rate = next(known for known in WORDS.values() if known[0].task.kind == env.task.kind)
    if not isinstance(algorithm.ratio, TokenRatio):
        low, high = WORD_EPS
        clip = algorithm.surrogate.model_copy(update={"eps_low": low, "eps_high": high})
        algorithm = algorithm.model_copy(update={"surrogate": clip})
    parts = {
        "seed": seed, "env": env, "policy": Transformer(start=start), "algorithm": algorithm,
        "batch": Batch(prompts=8, group_size=16, epochs=1, minibatches=2),
        "optim": Adam(lr=rate, eps=1e-8, max_grad_norm=1.0),
    }  # fmt: skip
    return parse(parts)


def _rate(algorithm: Algorithm, env: Any, tabular: bool) -> float:
    if isinstance(env, Bandit | ContextualBandit):
        return 0.1
    if tabular:
        return 0.05
    return 5e-3 if _grouped(algorithm) else 3e-3  # groups go over their batch half as often


def _grouped(algorithm: Algorithm) -> bool:
    return not isinstance(algorithm.advantage, Gae | Returns)


def _finite_batch(algorithm: Algorithm) -> Batch:
    return Batch(prompts=4, group_size=16) if _grouped(algorithm) else Batch(prompts=64, group_size=1)


def _cartpole_batch(algorithm: Algorithm) -> Batch:
    """PPO plays on through segments, as CleanRL and SB3 do; without a critic it takes whole episodes."""
    if _grouped(algorithm):
        return Batch(prompts=2, group_size=8, epochs=2)
    if not isinstance(algorithm.advantage, Gae):
        return Batch(prompts=16, group_size=1, epochs=4)
    shuffled: Literal["rows", "transitions"] = "transitions" if isinstance(algorithm.ratio, TokenRatio) else "rows"
    return Batch(prompts=8, group_size=1, epochs=4, minibatches=4, segment=128, shuffled=shuffled)


__all__ = ["CATALOG", "ENVS", "WORDS", "environment", "preset", "preset_for"]
