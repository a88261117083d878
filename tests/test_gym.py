"""Gymnasium environments: what a segment holds around an episode's end, where bootstrapping looks, what actions become."""

from __future__ import annotations

from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from pydantic import ValidationError

import tests.worlds  # noqa: F401  registers the environments
from rlcore.advantages import Gae
from rlcore.algorithms import by_key
from rlcore.config import Batch, RunConfig
from rlcore.engine import init, step
from rlcore.envs import GymEnv, Plan
from rlcore.envs.protocol import Collected
from rlcore.knobs import SettingError
from rlcore.policies import Mlp, Params, Tabular, flatten
from rlcore.presets import preset, preset_for
from rlcore.rng import generator
from rlcore.rollout import Rollout
from tests.runs import bits


class Known(Mlp):
    """V(obs) = 100 * episode + step, so every bootstrap says which observation it looked at; actions as in Mlp."""

    def value(self, params: Params, obs: torch.Tensor) -> torch.Tensor:
        return 100 * obs[..., 0] + obs[..., 1]


def collected(
    env: GymEnv, *, prompts: int = 2, group_size: int = 1, segment: int | None = None, carry: Any = None, at: int = 0,
    policy: Mlp | Tabular | None = None, params: Params | None = None, seed: int = 3,
) -> Collected:  # fmt: skip
    """One rollout of a fresh policy (or of `params`), as the engine would ask for it."""
    policy = Known() if policy is None else policy
    params = policy.init(env.shape(), generator(seed, 0, "init")) if params is None else params
    return env.collect(
        policy, params, params, Plan(prompts, group_size, segment, critic=isinstance(policy, Known)), carry,
        partial(generator, seed, at),
    )  # fmt: skip


COUNT = GymEnv(id="tests/Count-v0", horizon=100)

# ---------------------------------------------------------------- segments


def test_a_segment_around_the_ends_of_episodes() -> None:
    """Lengths 3 (terminal), 2 (truncated), 4: every array of the segment written out by hand."""
    r = collected(COUNT, prompts=1, segment=10).rollout
    assert r.obs[0].tolist() == [[0, 0], [0, 1], [0, 2], [0, 3], [1, 0], [1, 1], [1, 2], [2, 0], [2, 1], [2, 2]]
    assert r.mask[0].tolist() == [True, True, True, False, True, True, False, True, True, True]
    assert r.reward[0].tolist() == [1, 2, 3, 0, 11, 12, 0, 21, 22, 23]
    assert r.terminal[0].tolist() == [False, False, True] + [False] * 7
    assert r.truncated[0].tolist() == [False] * 5 + [True] + [False] * 4
    assert r.value_old[0].tolist() == [0, 1, 2, 3, 100, 101, 102, 200, 201, 202]
    # after the terminal step nothing; at the truncated one V of the observation it really ended in, [1, 2]
    assert r.value_next[0, [0, 1, 2]].tolist() == [1, 2, 0]
    assert r.value_next[0, [4, 5]].tolist() == [101, 102]
    assert r.value_next[0, 9] == 203


def slow_gae(r: Rollout, *, gamma: float, lam: float) -> np.ndarray:
    """GAE by its definition, the sum over all later steps of the episode, row by row and step by step."""
    rows, steps = r.mask.shape
    out = np.zeros((rows, steps))
    for b in range(rows):
        for t in range(steps):
            if not r.mask[b, t]:
                continue
            factor, k = 1.0, t
            while True:
                next_value = 0.0 if r.terminal[b, k] else float(r.value_next[b, k])
                delta = float(r.reward[b, k]) + gamma * next_value - float(r.value_old[b, k])
                out[b, t] += factor * delta
                if r.terminal[b, k] or r.truncated[b, k] or k == steps - 1:
                    break
                factor *= gamma * lam
                k += 1
    return out


@pytest.mark.parametrize(("gamma", "lam"), [(0.9, 0.8), (1.0, 1.0), (0.99, 0.0), (0.0, 0.5)])
def test_gae_over_ends_truncations_and_resets(gamma: float, lam: float) -> None:
    env = GymEnv(id="tests/Count-v0", options={"lengths": "3,2,4,1,1,5"}, horizon=4)
    r = collected(env, prompts=3, segment=25).rollout
    assert r.terminal.any() and r.truncated.any() and not r.mask.all()
    found = Gae(gamma=gamma, lam=lam)(r, r.reward)
    expected = slow_gae(r, gamma=gamma, lam=lam)
    np.testing.assert_allclose(found.advantages.numpy(), expected, rtol=1e-4, atol=1e-2)
    returns = np.where(r.mask, expected + r.value_old.numpy(), 0)
    np.testing.assert_allclose(found.returns.numpy(), returns, rtol=1e-4, atol=1e-2)


def test_gae_on_cartpole_as_the_engine_runs_it() -> None:
    config = preset("ppo", "CartPole-v1").with_settings({"segment": 64, "prompts": 4, "env.horizon": 15, "epochs": 1})
    _, record = step(init(config), config, trace=True)
    assert record.trace is not None
    r = Rollout(**{name: torch.tensor(x) for name, x in record.trace.rollout.items()})
    assert r.terminal.any() and r.truncated.any() and not r.mask.all()
    np.testing.assert_allclose(record.trace.advantages["returns"].shape, (record.samples, 1))
    expected = slow_gae(r, gamma=0.99, lam=0.95)[r.mask.numpy()]
    found = record.trace.advantages["returns"][:, 0] - r.value_old.numpy()[r.mask.numpy()]
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)


def test_value_next_is_the_value_of_the_following_observation() -> None:
    """Where no episode ended, V of step t + 1 is both value_next[t] and value_old[t + 1]."""
    r = collected(GymEnv(id="CartPole-v1", horizon=9), prompts=4, segment=60, policy=Known()).rollout
    goes_on = (r.mask & ~r.terminal & ~r.truncated)[:, :-1]
    assert torch.equal(r.value_next[:, :-1][goes_on], r.value_old[:, 1:][goes_on])
    assert (r.value_next[r.terminal] == 0).all() and (r.value_next[r.truncated] != 0).all()


@pytest.mark.parametrize("id_", ["tests/Count-v0", "CartPole-v1"])
def test_two_segments_are_one_long_one(id_: str) -> None:
    """Cutting changes nothing: a segment of 12 steps ends where a further 12 begin."""
    env = GymEnv(id=id_, horizon=7)
    first = collected(env, segment=12)
    second = collected(env, segment=12, carry=first.carry, at=1)
    again = collected(env, segment=12, carry=first.carry, at=1)
    assert bits(second.rollout) == bits(again.rollout), "the carry is read, never written"
    last, following = first.rollout, second.rollout
    goes_on = last.mask[:, -1] & ~last.terminal[:, -1] & ~last.truncated[:, -1]
    assert torch.equal(last.value_next[goes_on, -1], following.value_old[goes_on, 0])
    ended = last.terminal[:, -1] | last.truncated[:, -1]
    assert torch.equal(following.mask[:, 0], ~ended)
    assert (torch.stack((following.obs[:, 0], following.obs[:, -1])) >= -1000).all()


def test_an_episode_that_ends_with_the_segment_resets_in_the_next() -> None:
    first = collected(COUNT, prompts=1, segment=3)
    second = collected(COUNT, prompts=1, segment=3, carry=first.carry, at=1).rollout
    assert first.rollout.terminal[0].tolist() == [False, False, True]
    assert second.obs[0].tolist() == [[0, 3], [1, 0], [1, 1]] and second.mask[0].tolist() == [False, True, True]


def test_a_segment_of_nothing_but_a_reset_trains_nothing() -> None:
    env = GymEnv(id="tests/Count-v0", options={"lengths": "1"})
    batch = Batch(prompts=1, group_size=1, segment=1, epochs=2)
    config = RunConfig(env=env, policy=Mlp(hidden=(4,)), algorithm=by_key("ppo").algorithm, batch=batch)
    state = init(config)
    for n in range(4):
        state, record = step(state, config)
        assert record.samples == (n + 1) % 2
        assert all(np.isfinite(record.metrics[name]) for name in ("loss", "ratio_min", "ratio_max")) or not record.samples


def test_a_vector_environment_that_resets_at_once_is_not_used_as_such() -> None:
    eager = gymnasium.make_vec("tests/Eager-v0", num_envs=1)
    assert eager.metadata["autoreset_mode"] == gymnasium.vector.AutoresetMode.SAME_STEP
    a = collected(GymEnv(id="tests/Eager-v0", horizon=100), prompts=1, segment=10).rollout
    assert bits(a) == bits(collected(COUNT, prompts=1, segment=10).rollout)


# ---------------------------------------------------------------- whole episodes


def test_episode_rows_stop_at_their_end() -> None:
    r = collected(GymEnv(id="tests/Count-v0", options={"lengths": "3"}, horizon=100), prompts=2).rollout
    assert r.mask.shape == (2, 3) and r.mask.all() and r.terminal[:, -1].all() and not r.truncated.any()
    r = collected(GymEnv(id="tests/Count-v0", options={"lengths": "50"}, horizon=4), prompts=2).rollout
    assert r.mask.shape == (2, 4) and r.truncated[:, -1].all() and not r.terminal.any()
    assert r.value_next[:, -1].tolist() == [4, 4], "bootstraps with V of the observation the time limit cut at"
    r = collected(GymEnv(id="tests/Count-v0", options={"lengths": "4"}, horizon=4), prompts=2).rollout
    assert r.terminal[:, -1].all() and not r.truncated.any(), "an end at the time limit is an end"


def test_rows_of_unequal_length_are_padded() -> None:
    r = collected(GymEnv(id="CartPole-v1", horizon=60), prompts=8).rollout
    lengths = r.mask.sum(1)
    assert len(set(lengths.tolist())) > 2 and r.mask.shape[1] == lengths.max()
    for row, length in enumerate(lengths):
        assert r.mask[row, :length].all() and not r.mask[row, length:].any()
        assert (r.terminal | r.truncated)[row].nonzero().flatten().tolist() == [int(length) - 1]
        assert (r.reward[row, length:] == 0).all() and r.reward[row].sum() == length


@pytest.mark.parametrize("id_", ["CartPole-v1", "FrozenLake-v1", "Pendulum-v1", "Taxi-v4", "tests/Shifted-v0"])
def test_rows_of_a_group_share_their_start_and_groups_do_not(id_: str) -> None:
    env = GymEnv(id=id_, horizon=12)
    policy = Tabular() if env.shape().states is not None else Mlp()
    r = collected(env, prompts=6, group_size=4, policy=policy).rollout
    starts = r.obs[:, 0].reshape(6, 4, -1)
    assert (starts == starts[:, :1]).all()
    assert r.group.tolist() == [g for g in range(6) for _ in range(4)]
    if id_ != "FrozenLake-v1":
        assert len({tuple(s) for s in starts[:, 0].tolist()}) > 1


def test_rows_of_a_group_meet_different_chance() -> None:
    """FrozenLake is slippery: rows that start alike and act alike still part ways."""
    env = GymEnv(id="FrozenLake-v1", horizon=40)
    always_right = {"actor.logits": torch.tensor([[-50.0, -50.0, 50.0, -50.0]]).repeat(16, 1)}
    r = collected(env, prompts=1, group_size=12, policy=Tabular(), params=always_right).rollout
    assert (r.action[r.mask] == 2).all() and len({tuple(row) for row in r.obs.tolist()}) > 3


def test_frozen_lake_slips_as_its_documentation_says() -> None:
    """From the start, "down" leads down, left (stays) and right with one third each."""
    always_down = {"actor.logits": torch.tensor([[-50.0, 50.0, -50.0, -50.0]]).repeat(16, 1)}
    env = GymEnv(id="FrozenLake-v1", horizon=2)
    r = collected(env, prompts=1, group_size=900, policy=Tabular(), params=always_down).rollout
    second = r.obs[r.mask[:, 1], 1]
    assert len(second) == 900
    for state in (0, 1, 4):
        assert (second == state).float().mean() == pytest.approx(1 / 3, abs=0.06)


# ---------------------------------------------------------------- spaces


def test_spaces_that_do_not_start_at_zero() -> None:
    env = GymEnv(id="tests/Shifted-v0", horizon=30)
    assert env.shape().states == 3 and env.shape().actions == 3
    r = collected(env, prompts=4, policy=Tabular()).rollout
    assert set(r.obs.unique().tolist()) <= {0, 1, 2} and set(r.action.unique().tolist()) <= {0, 1, 2}
    assert torch.equal(r.reward, (r.obs == r.action).float())
    config = preset_for(by_key("grpo").algorithm, env).with_settings({"lr": 0.2})
    state = init(config)
    for _ in range(40):
        state, record = step(state, config)
    assert record.metrics["reward_mean"] > 25


def test_box_actions_are_clipped_for_the_environment_only() -> None:
    env = GymEnv(id="tests/Push-v0", horizon=50)
    policy = Mlp(log_std=1.0)
    params = policy.init(env.shape(), generator(0, 0, "init"))
    r = collected(env, prompts=64, policy=policy, params=params).rollout
    assert r.action.shape == (64, 4, 2) and r.action.abs().max() > 0.5, "the rollout keeps what the policy meant"
    np.testing.assert_allclose(r.reward, r.action.clamp(-0.5, 0.5).sum(-1), atol=1e-6)
    head = policy.act(params, r.obs)
    normal = torch.distributions.Normal(head.mean, head.log_std.exp())
    torch.testing.assert_close(r.logp_old, normal.log_prob(r.action).sum(-1), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(head.entropy(), normal.entropy().sum(-1))
    assert r.dist_old is None


def test_an_exact_kl_over_box_actions_is_refused() -> None:
    config = preset("ppo", "Pendulum-v1")
    with pytest.raises(SettingError, match=r"algorithm\.kl\.estimator: must be k1, k2 or k3"):
        config.with_settings({"algorithm.kl": {"kind": "kl_in_loss", "estimator": {"kind": "exact"}}})


@pytest.mark.parametrize(
    ("id_", "states", "features", "actions", "action_dim"),
    [("CartPole-v1", None, 4, 2, None), ("Pendulum-v1", None, 3, None, 1), ("FrozenLake-v1", 16, None, 4, None),
     ("CliffWalking-v1", 48, None, 4, None), ("Acrobot-v1", None, 6, 3, None), ("tests/Push-v0", None, 1, None, 2)],
)  # fmt: skip
def test_shapes(id_: str, states: int, features: int, actions: int, action_dim: int) -> None:
    shape = GymEnv(id=id_).shape()
    assert (shape.states, shape.features, shape.actions, shape.action_dim) == (states, features, actions, action_dim)


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("env", "said"),
    [({"id": "CartPol-v1"}, "CartPole"), ({"id": "CartPole-v9"}, "CartPole"), ({"id": "Blackjack-v1"}, "Tuple"),
     ({"id": "FrozenLake-v1", "options": {"map_name": "9x9"}}, "9x9"),
     ({"id": "CartPole-v1", "options": {"gravity": 3}}, "gravity"),
     ({"id": "NoSuch/Thing-v0"}, "NoSuch")],
)  # fmt: skip
def test_what_gymnasium_cannot_make_is_refused_in_its_own_words(env: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingError, match=rf"env\.id: .*{said}"):
        GymEnv(**env).shape()


@pytest.mark.parametrize("id_", ["os:system", "tests.worlds:Count", "a b-v0", "", "x" * 300, "../../etc-v0\n"])
def test_ids_that_could_import_code_are_no_ids(id_: str) -> None:
    with pytest.raises(ValidationError):
        GymEnv(id=id_)
    with pytest.raises(SettingError):
        preset("grpo", id_)


@pytest.mark.parametrize("name", ["render_mode", "num_envs", "vectorization_mode", "max_episode_steps", "wrappers"])
def test_options_that_belong_to_the_engine_are_refused(name: str) -> None:
    with pytest.raises(ValidationError, match=f"{name} is set by the engine"):
        GymEnv(id="CartPole-v1", options={name: 1})


def test_options_reach_the_environment_and_survive_json() -> None:
    env = GymEnv(id="FrozenLake-v1", options={"map_name": "8x8", "is_slippery": False})
    assert env.shape().states == 64 and GymEnv.model_validate_json(env.model_dump_json()) == env
    assert hash(env) != hash(GymEnv(id="FrozenLake-v1")) and hash(env) == hash(GymEnv(**env.model_dump()))


def test_an_environment_that_cannot_be_copied_says_so() -> None:
    env = GymEnv(id="tests/Uncopyable-v0", horizon=20)
    first = collected(env, segment=4)
    with pytest.raises(SettingError, match=r"cannot be copied.*batch\.segment"):
        collected(env, segment=4, carry=first.carry, at=1)
    assert collected(env).rollout.mask.any(), "whole episodes still work"


def test_a_vector_environment_is_stepped_only_as_a_copy() -> None:
    first = collected(GymEnv(id="CartPole-v1", horizon=50), segment=8)
    before = bits(first.carry)
    collected(GymEnv(id="CartPole-v1", horizon=50), segment=8, carry=first.carry, at=1)
    assert bits(first.carry) == before


def test_parameters_flatten_and_come_back() -> None:
    params = Mlp().init(GymEnv(id="Pendulum-v1").shape(), generator(0, 0, "init"))
    theta, layout = flatten(params)
    assert {n: bits(p) for n, p in layout.parts(theta).items()} == {n: bits(p) for n, p in params.items()}


def test_the_time_limit_of_a_preset_is_the_environments_own() -> None:
    for id_ in ("Pendulum-v1", "FrozenLake-v1", "CartPole-v1"):
        assert preset("ppo", id_).env.horizon == gymnasium.spec(id_).max_episode_steps  # type: ignore[union-attr]
