"""What goes wrong in a run: NaN and infinity stop it at the step, name the term and its usual cause, and cost nothing."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import pytest
import torch

import tests.worlds  # noqa: F401  registers the environments
from rlcore.algorithms import by_key
from rlcore.cli import main
from rlcore.config import Batch, RunConfig
from rlcore.engine import init, step
from rlcore.envs import GymEnv
from rlcore.policies import Mlp
from rlcore.presets import preset
from rlcore.state import CAUSES, Diverged, TrainState, diverged
from rlcore.store import read_metrics, read_state
from rlcore.surrogates import ScoreFunction
from rlcore.timeline import Timeline
from rlcore.updates import BLAME, SCALARS, refuse_non_finite
from tests.runs import SMALL, bits, metrics, same_state


def paying(reward: str, recipe: str = "grpo") -> RunConfig:
    """A run in which every step pays `reward`."""
    env = GymEnv(id="tests/Push-v0", options={"paid": reward}, horizon=4)
    return RunConfig(env=env, policy=Mlp(hidden=(4,)), algorithm=by_key(recipe).algorithm, batch=Batch(prompts=1, group_size=4))


def leaping(recipe: str, steps_apart: float = 100.0) -> RunConfig:
    """A run whose first optimiser step already throws the policy's spread out of float32."""
    return paying("action", recipe).with_settings(
        {"lr": steps_apart, "optim.max_grad_norm": 1e9, "group_size": 8, "epochs": 8}
    )


def stopped(state: TrainState, config: RunConfig) -> Diverged:
    """The error of the coming step; checks that the state before it was left alone and that the words are whole."""
    before = bits(state)
    with pytest.raises(Diverged) as found:
        step(state, config)
    error = found.value
    assert bits(state) == before
    assert str(error) == f"step {state.step}: {error.term} is not finite. Usual cause: {CAUSES[error.term]}."
    assert error.step == state.step and error.cause == CAUSES[error.term]
    return error


def poisoned(state: TrainState, value: float, part: str) -> TrainState:
    """The state with one number of a parameter replaced."""
    theta = state.theta.clone()
    state.layout.parts(theta)[part].view(-1)[0] = value
    return dataclasses.replace(state, theta=theta)


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
@pytest.mark.parametrize("reward", ["nan", "inf", "-inf", "1e39"])
@pytest.mark.parametrize("recipe", ["grpo", "ppo", "rloo", "dapo"])
def test_a_reward_that_is_no_number(reward: str, recipe: str) -> None:
    config = paying(reward, recipe)
    assert stopped(init(config), config).term == "reward"


@pytest.mark.filterwarnings("ignore:.*WARN:")
@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.parametrize(("name", "part"), [("windy grid", "actor.logits"), ("CartPole groups", "actor.1.weight"), ("Pendulum", "actor.log_std")])
def test_logits_that_are_no_numbers(name: str, part: str, value: float) -> None:
    config = SMALL[name]
    assert stopped(poisoned(init(config), value, part), config).term in {"logp_old", "reward", "gradient"}


@pytest.mark.parametrize("value", [math.nan, math.inf, 3e38])
def test_a_critic_that_is_no_number(value: float) -> None:
    config = SMALL["CartPole segments"]
    assert stopped(poisoned(init(config), value, "critic.2.bias"), config).term in {"value", "advantages"}


@pytest.mark.parametrize(("recipe", "at", "term"), [("grpo", 0, "kl"), ("ppo", 0, "gradient"), ("dr_grpo", 1, "logp_old")])
def test_a_learning_rate_beyond_reason_stops_the_run(recipe: str, at: int, term: str) -> None:
    config = leaping(recipe)
    state = init(config)
    for _ in range(at):
        state, _ = step(state, config)
    assert stopped(state, config).term == term


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(("name", "term"), BLAME.items())
def test_the_first_bad_term_of_the_first_bad_update_is_named(name: str, term: str, value: float) -> None:
    table = torch.zeros(4, len(SCALARS))
    table[3] = value
    table[2, SCALARS.index(name)] = value
    with pytest.raises(Diverged) as error:
        refuse_non_finite(5, table, torch.zeros(3))
    assert error.value.term == term and error.value.step == 5
    with pytest.raises(Diverged, match="parameters"):
        refuse_non_finite(5, torch.zeros(4, len(SCALARS)), torch.tensor([0.0, value]))
    refuse_non_finite(5, torch.zeros(4, len(SCALARS)), torch.zeros(3))


def test_every_term_has_a_cause() -> None:
    for term, cause in CAUSES.items():
        error = diverged(7, term)
        assert (error.step, error.term, error.cause) == (7, term, cause) and cause in str(error)


def test_every_blamed_term_is_one_with_a_cause() -> None:
    assert set(BLAME.values()) <= set(CAUSES) and set(BLAME) <= set(SCALARS)


# ---------------------------------------------------------------- what is kept


@pytest.mark.parametrize("recipe", ["grpo", "ppo", "dr_grpo"])
def test_the_timeline_stays_at_the_last_good_state(recipe: str) -> None:
    sane = leaping(recipe, 0.01)
    run = Timeline(sane)
    for _ in range(3):
        run.advance()
    with pytest.raises(Diverged) as error:
        for _ in range(3):
            before = run.head, run.config, bits(run.state()), run.nodes
            run.advance(leaping(recipe))
    assert (run.head, run.config, bits(run.state()), run.nodes) == before
    assert error.value.step == run.head.step and torch.isfinite(run.state().theta).all()
    run.fork(3, sane)
    expected = Timeline(sane)
    for _ in range(4):
        expected.advance()
    run.advance()
    assert same_state(run.state(), expected.state()), "and it goes on from the last good state as if nothing had been"


def test_the_head_is_unmoved_by_an_error_in_its_first_step() -> None:
    run = Timeline(paying("nan"))
    for _ in range(2):
        with pytest.raises(Diverged):
            run.advance(run.config.with_settings({"lr": 0.7}))
        assert run.head.id == 0 and run.config == paying("nan") and len(run.nodes) == 1


def test_the_shell_says_it_in_one_line_and_keeps_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = leaping("dr_grpo")
    (tmp_path / "config.json").write_text(config.dumps())
    words = ["rlcore", "train", "--config", str(tmp_path / "config.json"), "--steps", "100", "--out", str(tmp_path / "run")]
    monkeypatch.setattr("sys.argv", words)
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error ")]
    assert len(said) == 1 and "is not finite. Usual cause:" in said[0]
    table, state = read_metrics(tmp_path / "run"), read_state(tmp_path / "run")
    step_of_error = int(said[0].removeprefix("error step ").split(":")[0])
    assert len(table["loss"]) == state.step == step_of_error == 1
    assert torch.isfinite(state.theta).all()


# ---------------------------------------------------------------- what is no error


def test_dull_rewards_are_no_error() -> None:
    """Equal rewards everywhere: advantages are 0 whatever ε is, also without one."""
    config = paying("1.0")
    for eps in (1e-4, 0.0):
        changed = config.with_settings({"algorithm.advantage.eps": eps})
        state, record = step(init(changed), changed)
        assert record.metrics["dead_group_fraction"] == 1 and record.metrics["policy_loss"] == 0
        assert torch.isfinite(state.theta).all()


def test_a_certain_policy_is_no_error() -> None:
    """Probabilities of exactly 0 and 1 in float32: entropy 0, KL finite, the run goes on."""
    config = preset("grpo", "bandit")
    start = init(config)
    theta = torch.zeros_like(start.theta)
    theta[3] = 300.0
    state, record = step(dataclasses.replace(start, theta=theta), config)
    assert record.metrics["entropy"] == 0 and math.isfinite(record.metrics["kl_ref"])
    assert metrics(step(state, config)[1])


def test_a_policy_gradient_of_nothing_is_no_error() -> None:
    config = paying("0.0").model_copy(
        update={"algorithm": by_key("rloo").algorithm.model_copy(update={"surrogate": ScoreFunction()})}
    )
    _, record = step(init(config), config)
    assert record.metrics["grad_norm"] == 0
