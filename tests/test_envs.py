"""Bandits and gridworlds: the tables mean what the map says, and play follows the tables."""

from __future__ import annotations

import json
from functools import partial

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

import rlcore.envs.registered  # noqa: F401  registers our worlds
from rlcore.envs import (
    Bandit,
    CellReward,
    ContextualBandit,
    FiniteEnv,
    Gridworld,
    GymEnv,
    Plan,
    picture,
    tables,
)
from rlcore.envs.protocol import Collected
from rlcore.envs.truth import expected_return, occupancy
from rlcore.policies import Params, Tabular
from rlcore.rng import generator
from tests.runs import bits

UP, RIGHT, DOWN, LEFT = range(4)


def collected(
    env: FiniteEnv, *, logits: torch.Tensor | None = None, prompts: int = 1, group_size: int = 1, segment: int | None = None,
    carry: object = None, critic: bool = False, seed: int = 0, at: int = 0,
) -> Collected:  # fmt: skip
    """One rollout of a tabular policy, uniform unless said otherwise; V(s) = s, so bootstraps can be read off."""
    shape = env.shape()
    assert shape.states is not None and shape.actions is not None
    params: Params = {"actor.logits": torch.zeros(shape.states, shape.actions) if logits is None else logits}
    params["critic.value"] = torch.arange(shape.states).float()
    plan = Plan(prompts, group_size, segment, critic)
    return env.collect(Tabular(), params, params, plan, carry, partial(generator, seed, at))


def always(env: FiniteEnv, action: int) -> torch.Tensor:
    """Logits of the policy that takes one action everywhere."""
    mdp = tables(env)
    logits = torch.full((mdp.states, mdp.actions), -60.0)
    logits[:, action] = 60.0
    return logits


def where(env: Gridworld, state: int, action: int) -> int:
    """The next cell without wind."""
    mdp = tables(env)
    assert mdp.outcomes == 1
    return int(mdp.following[state, action, 0])


# ---------------------------------------------------------------- the map's meaning

CROSS = Gridworld(layout=("S.#", "#.G", "H.S"), step_cost=0.25, goal=2.0, hazard=-3.0, horizon=9)


@pytest.mark.parametrize(
    ("state", "action", "lands", "reward", "ends"),
    [
        (0, RIGHT, 1, -0.25, False), (0, UP, 0, -0.25, False), (0, LEFT, 0, -0.25, False),  # floor; edges
        (0, DOWN, 0, -0.25, False), (1, RIGHT, 1, -0.25, False),  # walls
        (4, RIGHT, 5, 1.75, True), (7, LEFT, 6, -3.25, True), (8, UP, 5, 1.75, True),  # goal, hazard
        (1, DOWN, 4, -0.25, False), (4, UP, 1, -0.25, False), (8, DOWN, 8, -0.25, False), (8, RIGHT, 8, -0.25, False),
    ],
)  # fmt: skip
def test_moves_walls_edges_goals_and_hazards(state: int, action: int, lands: int, reward: float, ends: bool) -> None:
    mdp = tables(CROSS)
    assert mdp.following[state, action, 0] == lands
    assert mdp.reward[state, action, 0] == reward
    assert mdp.terminal[state, action, 0] == ends


def test_several_starts_are_equally_likely() -> None:
    assert tables(CROSS).start.tolist() == [0.5, 0, 0, 0, 0, 0, 0, 0, 0.5]
    starts = collected(CROSS, prompts=2000).rollout.obs[:, 0]
    assert set(starts.tolist()) == {0, 8} and (starts == 0).float().mean() == pytest.approx(0.5, abs=0.05)


def test_extra_rewards_are_paid_on_entering_and_not_for_staying() -> None:
    extra = (CellReward(row=0, column=0, reward=5.0), CellReward(row=0, column=1, reward=-1.0))
    env = Gridworld(layout=("..S",), step_cost=0.0, extra=extra)
    mdp = tables(env)
    assert mdp.reward[1, LEFT, 0] == 5 and mdp.reward[2, LEFT, 0] == -1 and mdp.reward[0, RIGHT, 0] == -1
    assert mdp.reward[0, LEFT, 0] == 0 and mdp.reward[0, UP, 0] == 0, "bumping into the wall beside it earns nothing"
    assert not mdp.terminal.any()


def test_an_extra_reward_on_a_goal_adds_to_it() -> None:
    env = Gridworld(layout=("SG",), step_cost=0.0, extra=(CellReward(row=0, column=1, reward=0.5),))
    assert tables(env).reward[0, RIGHT, 0] == 1.5 and tables(env).terminal[0, RIGHT, 0]


@pytest.mark.parametrize(("direction", "gusts"), [("any", 4), ("up", 1), ("left", 1)])
def test_wind_takes_the_moves_place(direction: str, gusts: int) -> None:
    env = Gridworld(layout=("...", ".S.", "..G"), wind=0.4, wind_direction=direction)  # type: ignore[arg-type]
    mdp = tables(env)
    calm = tables(Gridworld(layout=env.layout))
    landed = np.zeros(9)
    np.add.at(landed, mdp.following[4, RIGHT], mdp.probability[4, RIGHT])
    expected = np.zeros(9)
    expected[calm.following[4, RIGHT, 0]] += 0.6
    for gust in range(4) if direction == "any" else [{"up": UP, "left": LEFT}[direction]]:
        expected[calm.following[4, gust, 0]] += 0.4 / gusts
    np.testing.assert_allclose(landed, expected)


def test_full_wind_is_legal() -> None:
    env = Gridworld(layout=("S..G",), wind=1.0, wind_direction="right", horizon=10)
    r = collected(env, logits=always(env, LEFT), prompts=20).rollout
    assert r.mask.sum(1).tolist() == [3] * 20 and r.terminal[:, 2].all()


CELLS = st.sampled_from("..#SGH")


@st.composite
def gridworlds(draw: st.DrawFn) -> Gridworld:
    height, width = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    rows = [[draw(CELLS) for _ in range(width)] for _ in range(height)]
    rows[draw(st.integers(0, height - 1))][draw(st.integers(0, width - 1))] = "S"
    wind, horizon = draw(st.sampled_from([0.0, 0.3, 1.0])), draw(st.integers(1, 12))
    direction = draw(st.sampled_from(["any", "up", "right", "down", "left"]))
    return Gridworld(layout=["".join(r) for r in rows], wind=wind, wind_direction=direction, horizon=horizon, noise=0.1)


@settings(max_examples=60, deadline=None)
@given(gridworlds())
def test_any_map_is_a_proper_process(env: Gridworld) -> None:
    mdp = tables(env)
    np.testing.assert_allclose(mdp.probability.sum(-1), 1, atol=1e-12)
    assert mdp.start.sum() == pytest.approx(1) and (mdp.probability >= 0).all()
    assert mdp.following.min() >= 0 and mdp.following.max() < mdp.states == env.height * env.width
    text = "".join(env.layout)
    walls = {i for i, cell in enumerate(text) if cell == "#"}
    entered = mdp.following != np.arange(mdp.states)[:, None, None]
    assert not walls & set(mdp.following[entered].tolist()), "nothing ever enters a wall"
    ends = np.isin(np.array(list(text)), ["G", "H"])
    np.testing.assert_array_equal(mdp.terminal, ends[mdp.following])
    there, here = (np.array(np.divmod(x, env.width)) for x in (mdp.following, np.arange(mdp.states)))
    steps = np.abs(there - here[:, :, None, None])
    assert (steps.sum(0) <= 1).all(), "at most one cell at a time"
    assert not mdp.following.flags.writeable and Gridworld.model_validate_json(env.model_dump_json()) == env


@settings(max_examples=40, deadline=None)
@given(gridworlds(), st.integers(0, 99), st.sampled_from([None, 7]))
def test_play_follows_the_tables(env: Gridworld, seed: int, segment: int | None) -> None:
    """Every recorded step is one the tables allow, and ends, masks and bootstraps follow from them."""
    mdp = tables(env)
    r = collected(env, prompts=3, group_size=1, segment=segment, critic=True, seed=seed).rollout
    for b in range(3):
        age, over = 0, False
        for t in range(r.mask.shape[1]):
            if over and segment is None:
                assert not r.mask[b, t] and r.reward[b, t] == 0 and not r.terminal[b, t] and not r.truncated[b, t]
                continue
            assert r.mask[b, t]
            here, action = int(r.obs[b, t]), int(r.action[b, t])
            assert age > 0 or mdp.start[here] > 0
            possible = mdp.probability[here, action] > 0
            ends = mdp.terminal[here, action][possible]
            assert bool(r.terminal[b, t]) in ends
            age += 1
            assert bool(r.truncated[b, t]) == (age == env.horizon and not r.terminal[b, t])
            mean = mdp.reward[here, action][possible]
            assert np.abs(mean - float(r.reward[b, t])).min() < 0.1 * 6
            goes_on = not (r.terminal[b, t] or r.truncated[b, t])
            if r.terminal[b, t]:
                assert r.value_next[b, t] == 0
            else:
                assert int(r.value_next[b, t]) in mdp.following[here, action][possible]
            if goes_on and t + 1 < r.mask.shape[1]:
                assert r.value_next[b, t] == r.value_old[b, t + 1] == r.obs[b, t + 1]
            over, age = not goes_on, age if goes_on else 0
    assert r.group.tolist() == [0, 1, 2]


# ---------------------------------------------------------------- statistics


def test_wind_and_noise_have_their_statistics() -> None:
    env = Gridworld(layout=("...", ".S.", "..."), wind=0.4, step_cost=0.0, noise=0.5, horizon=2)
    r = collected(env, logits=always(env, RIGHT), prompts=1, group_size=20_000).rollout
    landed = torch.bincount(r.obs[:, 1], minlength=9) / 20_000
    for state, share in ((5, 0.7), (1, 0.1), (3, 0.1), (7, 0.1)):
        assert float(landed[state]) == pytest.approx(share, abs=4 * (share * (1 - share) / 20_000) ** 0.5)
    assert float(r.reward.mean()) == pytest.approx(0, abs=4 * 0.5 / 40_000**0.5)
    assert float(r.reward.std()) == pytest.approx(0.5, rel=0.02)
    assert abs(float((r.reward[:, 0] * r.reward[:, 1]).mean())) < 4 * 0.25 / 20_000**0.5, "steps are independent"


def test_actions_follow_the_policy() -> None:
    env = Bandit(means=(0.0, 1.0, 2.0, 3.0), noise=0.0)
    logits = torch.tensor([[0.1, 0.2, 0.3, 0.4]]).log()
    r = collected(env, logits=logits, prompts=1, group_size=40_000).rollout
    shares = torch.bincount(r.action[:, 0], minlength=4) / 40_000
    torch.testing.assert_close(shares, torch.tensor([0.1, 0.2, 0.3, 0.4]), atol=0.01, rtol=0)
    assert torch.equal(r.reward[:, 0], r.action[:, 0].float())
    torch.testing.assert_close(r.logp_old[:, 0].exp(), (r.action[:, 0] + 1) / 10)


class HighDie:
    """Draws the largest number below 1."""

    def random(self, size: tuple[int, ...]) -> np.ndarray:
        return np.full(size, np.nextafter(1.0, 0.0))


def test_an_action_of_probability_zero_is_never_drawn() -> None:
    """Float32 probabilities need not sum to 1; what is missing must not fall to the last action."""
    logits = torch.tensor(np.random.default_rng(0).normal(0, 3, (64, 64)), dtype=torch.float32)
    logits[:, -1] = -300.0
    env = ContextualBandit(means=np.zeros((64, 64)).tolist())
    params, plan = {"actor.logits": logits}, Plan(64, 1, None, critic=False)
    assert (torch.softmax(logits, -1).sum(-1) < 1).any()

    def dice(stream: str, index: int = 0) -> object:
        return HighDie() if stream == "actions" else generator(0, 0, stream, index)  # type: ignore[arg-type]

    r = env.collect(Tabular(), params, params, plan, None, dice).rollout  # type: ignore[arg-type]
    assert r.logp_old.min() > -100


@pytest.mark.parametrize("env", [Bandit(noise=0.3), ContextualBandit(noise=0.0), CROSS, Gridworld(wind=0.2, noise=0.1)])
def test_mean_return_and_visits_agree_with_enumeration(env: FiniteEnv) -> None:
    mdp = tables(env)
    logits = torch.tensor(np.random.default_rng(1).normal(0, 1, (mdp.states, mdp.actions)), dtype=torch.float32)
    logp = torch.log_softmax(logits.double(), -1)
    rows = 4000
    played = collected(env, logits=logits, prompts=rows)
    score = played.rollout.score.double()
    assert float(score.mean()) == pytest.approx(float(expected_return(mdp, logp)), abs=4 * float(score.std()) / rows**0.5)
    expected = occupancy(mdp, logp).numpy()
    assert played.visits is not None
    np.testing.assert_allclose(played.visits / rows, expected, atol=5 * (expected.max() * mdp.horizon / rows) ** 0.5)
    assert played.visits.sum() == played.rollout.mask.sum()


# ---------------------------------------------------------------- groups and segments


def test_rows_of_a_group_share_their_start() -> None:
    env = Gridworld(layout=("SSSS", "SSSG"), horizon=5)
    r = collected(env, prompts=30, group_size=4).rollout
    starts = r.obs[:, 0].view(30, 4)
    assert (starts == starts[:, :1]).all() and len(set(starts[:, 0].tolist())) > 4
    contexts = collected(ContextualBandit(), prompts=50, group_size=3).rollout.obs[:, 0].view(50, 3)
    assert (contexts == contexts[:, :1]).all() and set(contexts[:, 0].tolist()) == {0, 1, 2, 3}


def test_segments_continue_and_leave_their_carry_alone() -> None:
    env = Gridworld(layout=("S....",), horizon=6)
    first = collected(env, prompts=4, segment=5, critic=True)
    before = bits(first.carry)
    second = collected(env, prompts=4, segment=5, critic=True, carry=first.carry, at=1)
    assert bits(first.carry) == before
    a, b = first.rollout, second.rollout
    assert torch.equal(a.value_next[:, -1], b.obs[:, 0].float()), "the row goes on where it stood"
    assert b.truncated[:, 0].all() and (b.obs[:, 1] == 0).all(), "the sixth step of the episode hits its limit"
    assert a.mask.all() and b.mask.all()


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("fields", "said"),
    [({"layout": ("S.", "...")}, "same width"), ({"layout": ("..",)}, "start cell"), ({"layout": ("S?",)}, "pattern"),
     ({"layout": ()}, "at least 1"), ({"layout": ("S" * 21,)}, "at most 20"), ({"layout": ("S",) * 21}, "at most 20"),
     ({"layout": ("S.",), "extra": ({"row": 1, "column": 0, "reward": 1},)}, "outside the 1 x 2 map"),
     ({"wind": 1.1}, "less than or equal to 1"), ({"horizon": 0}, "greater than or equal to 1"), ({"horizon": 2001}, "2000"),
     ({"goal": float("nan")}, "finite"), ({"wind_direction": "north"}, "'up'"),
     ({"extra": ({"row": 0, "column": 0, "reward": 1e9},)}, "1000000")],
)  # fmt: skip
def test_maps_that_make_no_sense(fields: dict[str, object], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        Gridworld(**fields)


@pytest.mark.parametrize(
    "fields", [{"means": (1.0,)}, {"means": (float("inf"), 1.0)}, {"means": (1e7, 0.0)}, {"noise": -1}, {"means": [0.0] * 65}]
)
def test_bandits_that_make_no_sense(fields: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Bandit(**fields)


@pytest.mark.parametrize("means", [[[1.0, 2.0], [1.0]], [[1.0]], [[0.0] * 65], []])
def test_contexts_need_the_same_arms(means: list[list[float]]) -> None:
    with pytest.raises(ValidationError, match="means|at least 1"):
        ContextualBandit(means=means)


# ---------------------------------------------------------------- with Gymnasium, and as a picture


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("name", "options"),
    [("Bandit", {}), ("ContextualBandit", {"noise": 0.0}), ("Gridworld", {}), ("Gridworld", {"wind": 0.3, "horizon": 4})],
)
def test_our_worlds_pass_gymnasiums_check(name: str, options: dict[str, float]) -> None:
    check_env(gymnasium.make(f"surrogate/{name}-v0", **options).unwrapped, skip_render_check=True)


def test_gymnasium_plays_the_same_process() -> None:
    """Mean return, length and visits of a uniform policy through Gymnasium's API against enumeration."""
    config = Gridworld(layout=("S.H", "..G"), wind=0.3, noise=0.2, horizon=7)
    env = gymnasium.make("surrogate/Gridworld-v0", **json.loads(config.model_dump_json(exclude={"kind"})))
    rng, episodes, visits, scores = np.random.default_rng(0), 1500, np.zeros(6), []
    for n in range(episodes):
        obs, _ = env.reset(seed=n)
        total, over = 0.0, False
        while not over:
            visits[obs] += 1
            obs, reward, terminal, truncated, _ = env.step(rng.integers(4))
            total, over = total + float(reward), terminal or truncated
            assert not (terminal and truncated)
        scores.append(total)
    mdp, uniform = tables(config), torch.full((6, 4), 0.25, dtype=torch.float64).log()
    assert np.mean(scores) == pytest.approx(float(expected_return(mdp, uniform)), abs=4 * np.std(scores) / episodes**0.5)
    np.testing.assert_allclose(visits / episodes, occupancy(mdp, uniform), atol=0.2)


def test_our_worlds_can_be_played_through_gymnasium_by_the_engine_too() -> None:
    env = GymEnv(id="surrogate/Gridworld-v0", options={"wind": 0.1}, horizon=32)
    assert env.shape() == Gridworld().shape()


def test_a_picture_is_plain_lists_of_what_is_there() -> None:
    shape = CROSS.shape()
    params = Tabular().init(shape, generator(0, 0, "init")) | {"critic.value": torch.arange(9).float()}
    shown = picture(CROSS, Tabular(), params, np.arange(9), critic=True)
    assert json.loads(json.dumps(shown)) == shown
    assert shown["walls"] == [2, 3] and shown["goals"] == [5] and shown["hazards"] == [6] and shown["starts"] == [0, 8]
    assert shown["values"] == list(range(9)) and shown["visits"] == list(range(9))
    assert np.array(shown["probs"]).shape == (9, 4) and np.allclose(shown["probs"], 0.25)
    assert picture(GymEnv(id="CartPole-v1"), Tabular(), params)["kind"] == "other"


def test_tables_are_built_once_and_shared() -> None:
    assert tables(Gridworld(wind=0.25)) is tables(Gridworld(wind=0.25))
    assert tables(Gridworld(wind=0.25)) is not tables(Gridworld(wind=0.26))
