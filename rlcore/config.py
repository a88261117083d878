"""RunConfig: everything that determines a run, as one frozen value with a JSON round trip.

Settings can be changed by name (`eps_high`, `lr`, `batch.group_size`, `algorithm.kl.kl_beta`); a wrong name, range or
combination gets an error that names the field, the rule and the value. This module runs nothing.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, ValidationError, model_validator

from rlcore.advantages import Gae
from rlcore.aggregation import TokenMean
from rlcore.algorithm import Algorithm
from rlcore.envs import Bandit, ContextualBandit, FiniteEnv, Gridworld, GymEnv, tables
from rlcore.kl import ExactKl, KlInLoss, NoKl
from rlcore.knobs import Knob, SettingError, Value, explain, knob, knobs_of
from rlcore.optim import Adam, OptimSlot
from rlcore.policies import Mlp, Shape, Tabular
from rlcore.policies.transformer import Transformer
from rlcore.ratios import TokenRatio
from rlcore.surrogates import Gmpo, Vespo
from rlcore.words.env import Words

EnvSlot = Annotated[Bandit | ContextualBandit | Gridworld | GymEnv | Words, Field(discriminator="kind")]
PolicySlot = Annotated[Tabular | Mlp | Transformer, Field(discriminator="kind")]


class NoStop(Value):
    """All epochs are run."""

    kind: Literal["no_stop"] = "no_stop"


class EpochKlStop(Value):
    """Stop after an epoch whose last minibatch had approx_kl > target. Source: CleanRL `ppo.py` target_kl."""

    kind: Literal["epoch_kl_stop"] = "epoch_kl_stop"
    target: float = knob(0.015, "KL_stop", 1e-6, 1e3, "approx_kl at which the epochs end", scale="log", unit="nats")


class MinibatchKlStop(Value):
    """Stop before the step of a minibatch with approx_kl > 1.5 * target. Source: SB3 2.9.2 `ppo.py` target_kl."""

    kind: Literal["minibatch_kl_stop"] = "minibatch_kl_stop"
    target: float = knob(0.015, "KL_stop", 1e-6, 1e3, "1.5 times this ends the updates", scale="log", unit="nats")


StopSlot = Annotated[NoStop | EpochKlStop | MinibatchKlStop, Field(discriminator="kind")]


class Batch(Value):
    """How much is collected a step, and how often and in what pieces it is used.

    rows B = prompts * group_size. `shuffled` says what a minibatch is a random part of: whole rows, or single
    transitions (CleanRL, SB3), for which every valid step becomes a row of its own once advantages are known.
    """

    kind: Literal["batch"] = "batch"
    prompts: int = knob(4, "P", 1, 4096, "different starts (prompts) a step", suggested=(1, 64))
    group_size: int = knob(16, "G", 1, 1024, "rows that share a start", suggested=(2, 64), source="arXiv:2402.03300")
    epochs: int = knob(4, "μ", 1, 1000, "passes over one rollout", suggested=(1, 50), source="arXiv:1707.06347")
    minibatches: int = knob(1, "M", 1, 4096, "optimiser steps a pass", suggested=(1, 16))
    shuffled: Literal["rows", "transitions"] = "rows"
    segment: int | None = Field(None, ge=1, le=100_000, description="steps of a continuing row; none: whole episodes")
    early_stop: StopSlot = NoStop()

    @property
    def rows(self) -> int:
        return self.prompts * self.group_size


class RunConfig(Value):
    """seed, env, policy, algorithm, batch, optim: the same values give the same numbers everywhere.

    ref_sync: every so many steps the reference policy becomes the current one; none: it stays the initial policy.
    """

    kind: Literal["run"] = "run"
    seed: int = Field(0, ge=0, lt=2**32, description="all randomness is addressed from it")
    env: EnvSlot
    policy: PolicySlot = Tabular()
    algorithm: Algorithm
    batch: Batch = Batch()
    optim: OptimSlot = Adam()
    ref_sync: int | None = Field(None, ge=1, description="steps between renewals of the reference policy")

    @model_validator(mode="after")
    def _fits_together(self) -> RunConfig:
        for problem in _contradictions(self):
            raise ValueError(problem)
        return self

    def with_settings(self, settings: Mapping[str, Any]) -> RunConfig:
        """The same run with some settings changed, by full dotted name or by a short name that is unique.

        Raises SettingError naming the field, the rule and the value; unknown names get the nearest ones suggested.
        """
        tree = self.model_dump()
        for name, value in settings.items():
            path = find_setting(self, name)
            if path == ("algorithm", "kl", "kl_beta") and isinstance(self.algorithm.kl, NoKl):
                if value not in (0, "0"):
                    tree["algorithm"]["kl"] = KlInLoss().model_dump() | {"kl_beta": value}
                continue
            _put(tree, path, value)
        return parse(tree)

    def dumps(self) -> str:
        """JSON, one setting a line."""
        return self.model_dump_json(indent=2)


def parse(tree: Any) -> RunConfig:
    """A config from a JSON-like tree. Raises SettingError with one line a finding."""
    try:
        return RunConfig.model_validate(tree)
    except ValidationError as error:
        raise explain(error, tree) from error


def loads(text: str) -> RunConfig:
    """A config from JSON text. Raises SettingError for text that is no JSON, and for what `parse` refuses."""
    try:
        tree = json.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError also for integers of thousands of digits
        raise SettingError(f"config: this is not JSON ({error})") from error
    return parse(tree)


# ---------------------------------------------------------------- settings by name

Path = tuple[str, ...]


def settings_of(model: BaseModel, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every leaf setting of a config with its value, depth first, by dotted path."""
    for name in type(model).model_fields:
        if name == "kind":
            continue
        value = getattr(model, name)
        if isinstance(value, BaseModel):
            yield (*path, name), value
            yield from settings_of(value, (*path, name))
        else:
            yield (*path, name), value


def find_setting(config: RunConfig, name: str) -> Path:
    """The path of a setting by its dotted or short name. Raises SettingError: unknown (with the nearest) or ambiguous."""
    paths = [path for path, _ in settings_of(config)]
    wanted = tuple(name.split("."))
    hits = [path for path in paths if path[-len(wanted) :] == wanted]
    exact = [path for path in hits if path == wanted]
    if exact or len(hits) == 1:
        return (exact or hits)[0]
    if hits:
        raise SettingError(f"{name}: could be {' or '.join('.'.join(p) for p in hits)}; write the longer name")
    known = {".".join(p): None for p in paths} | {p[-1]: None for p in paths}
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    raise SettingError(f"{name}: there is no such setting" + (f"; did you mean {', '.join(near)}?" if near else ""))


def knobs(config: RunConfig) -> dict[Path, tuple[Knob, Any]]:
    """Every knob of this config by path, with its present value; what sliders and the glossary are made from."""
    found: dict[Path, tuple[Knob, Any]] = {}

    def visit(model: BaseModel, path: Path) -> None:
        for name, about in knobs_of(type(model)).items():
            found[(*path, name)] = (about, getattr(model, name))
        for name in type(model).model_fields:
            value = getattr(model, name)
            if isinstance(value, BaseModel):
                visit(value, (*path, name))

    visit(config, ())
    return found


def needs_new_run(old: RunConfig, new: RunConfig) -> tuple[str, ...]:
    """Names of the parts that differ and cannot change while a run goes on: seed, policy, env.

    A finite environment may change as long as its states and actions stay what they are: a wall painted, an arm's pay.
    """
    differ = [part for part in ("seed", "env", "policy") if getattr(old, part) != getattr(new, part)]
    return tuple(part for part in differ if part != "env" or not _same_places(old.env, new.env))


def _same_places(old: Any, new: Any) -> bool:
    return isinstance(old, FiniteEnv) and isinstance(new, FiniteEnv) and old.keeps_going_as(new)


def _put(tree: dict[str, Any], path: Path, value: Any) -> None:
    for part in path[:-1]:
        tree = tree[part]
    tree[path[-1]] = value


# ---------------------------------------------------------------- what cannot be combined


MOST_SAMPLES = 4_000_000
"""Steps of one rollout; what a laptop's memory holds together with their log-probabilities."""
MOST_NUMBERS = 200_000_000
"""Floats of a rollout's observations, distributions and activations; a few copies of them are alive at once."""
MOST_PASSES = 20_000_000
"""Samples times epochs: what the trace of one step has to hold."""
MOST_UPDATES = 100_000
MOST_GYM_ROWS = 1024


def _contradictions(config: RunConfig) -> Iterator[str]:
    yield from _too_large(config)
    algorithm, batch, policy, shape = config.algorithm, config.batch, config.policy, config.env.shape()
    if batch.segment is not None and not isinstance(algorithm.advantage, Gae):
        yield (
            f"batch.segment: must be none with {algorithm.advantage.kind}, which needs whole episodes (only gae has a "
            f"critic to look past a segment's end), got {batch.segment}"
        )
    if batch.segment is not None and batch.group_size != 1:
        yield f"batch.group_size: must be 1 with segments (rows share no start), got {batch.group_size}"
    if batch.minibatches > batch.rows and batch.shuffled == "rows":
        yield f"batch.minibatches: must be at most the number of rows ({batch.rows}), got {batch.minibatches}"
    if batch.shuffled == "transitions" and not _per_transition(algorithm):
        yield (
            "batch.shuffled: must be rows unless ratio and surrogate are a token's and the aggregate is the token mean, "
            "got transitions"
        )
    if isinstance(config.env, Words) != isinstance(policy, Transformer):
        needed = "transformer" if isinstance(config.env, Words) else "tabular or mlp"
        yield f"policy: must be {needed} for this environment, got {policy.kind}"
    if isinstance(config.env, Words) and batch.segment is not None:
        yield f"batch.segment: must be none for words (a reply is a whole episode), got {batch.segment}"
    if isinstance(config.env, Words) and batch.shuffled == "transitions":
        yield "batch.shuffled: must be rows for words (a token is scored after all before it), got transitions"
    if isinstance(policy, Tabular) and (shape.states is None or shape.actions is None):
        yield "policy: must be mlp for this environment (tabular needs finitely many states and actions), got tabular"
    if isinstance(getattr(algorithm.kl, "estimator", None), ExactKl) and shape.actions is None:
        yield "algorithm.kl.estimator: must be k1, k2 or k3 for this environment (its actions are not finite), got exact"


def _too_large(config: RunConfig) -> Iterator[str]:
    """What would exhaust the machine instead of training."""
    batch, env, policy = config.batch, config.env, config.policy
    if isinstance(env, GymEnv) and batch.rows > MOST_GYM_ROWS:
        yield f"batch: prompts * group_size must be at most {MOST_GYM_ROWS} Gymnasium environments, got {batch.rows}"
    steps = batch.segment or (tables(env).horizon if isinstance(env, FiniteEnv) else env.horizon)
    samples = batch.rows * steps
    product = f"{batch.prompts} prompts * {batch.group_size} rows * {steps} steps"
    if samples > MOST_SAMPLES:
        yield f"batch: must be at most {MOST_SAMPLES} samples a step, got {product} = {samples}"
    width = _width(policy, config.env.shape())
    if samples * width > MOST_NUMBERS:
        yield f"batch: must be at most {MOST_NUMBERS} activations, got {product} * {width} wide = {samples * width}"
    if samples * batch.epochs > MOST_PASSES:
        yield (
            f"batch.epochs: must be at most {MOST_PASSES // samples} with {samples} samples a step, got {batch.epochs}"
        )
    if batch.epochs * batch.minibatches > MOST_UPDATES:
        yield f"batch: epochs * minibatches must be at most {MOST_UPDATES}, got {batch.epochs * batch.minibatches}"


def _width(policy: Tabular | Mlp | Transformer, shape: Shape) -> int:
    """About how many floats one sample takes: its observation or distribution, and what its layers keep for backward."""
    if isinstance(policy, Transformer):
        return shape.widest + 16 * policy.layers * policy.width
    hidden = policy.hidden if isinstance(policy, Mlp) and shape.features is not None else ()
    return shape.widest + sum(hidden)


def _per_transition(algorithm: Algorithm) -> bool:
    token_level = isinstance(algorithm.ratio, TokenRatio) and not isinstance(algorithm.surrogate, Gmpo | Vespo)
    return token_level and isinstance(algorithm.aggregate, TokenMean)


__all__ = [
    "Batch", "Mlp", "RunConfig", "find_setting", "knobs", "loads", "needs_new_run", "parse", "settings_of",
]  # fmt: skip
