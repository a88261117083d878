"""The engine's promises: a pure step, replays equal to the last bit, fair forks, honest metrics."""

from __future__ import annotations

import math
import random
import time
from itertools import islice

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tests.worlds  # noqa: F401  registers the environments
from rlcore.advantages import Gae
from rlcore.algorithm import Algorithm
from rlcore.algorithms import CATALOG, by_key
from rlcore.config import EpochKlStop, MinibatchKlStop, RunConfig, loads, parse
from rlcore.critic import ValueMse
from rlcore.engine import finished, init, step, step_slices, train
from rlcore.envs import Bandit, Gridworld, GymEnv
from rlcore.kl import AdaptiveBeta, KlInLoss, PenaltyBeta
from rlcore.knobs import SettingError
from rlcore.metrics import OF_AN_UPDATE
from rlcore.presets import preset
from rlcore.records import StepRecord
from rlcore.shaping import DropFlatGroups
from rlcore.state import Diverged, TrainState, beta_in_force, has_critic
from tests.mixes import algorithms
from tests.runs import SMALL, bits, metrics, same_state, trace

KINDS = pytest.mark.parametrize("config", SMALL.values(), ids=SMALL.keys())


def ran(config: RunConfig, steps: int, state: TrainState | None = None) -> tuple[list[TrainState], list[StepRecord]]:
    """`steps` states and records, from the start or from a state."""
    state = init(config) if state is None else state
    pairs = list(islice(train(state, lambda _: config), steps))
    return [s for s, _ in pairs], [r for _, r in pairs]


# ---------------------------------------------------------------- purity and replay


@KINDS
def test_a_replay_is_bit_equal_from_scratch_and_from_every_kept_state(config: RunConfig) -> None:
    states, records = ran(config, 4)
    again, records_again = ran(config, 4)
    assert [metrics(r) for r in records] == [metrics(r) for r in records_again]
    for kept, state in enumerate(states[:-1]):
        rest, records_rest = ran(config, 3 - kept, state)
        assert same_state(rest[-1], states[-1]) and same_state(again[-1], states[-1])
        assert [metrics(r) for r in records_rest] == [metrics(r) for r in records[kept + 1 :]]


@KINDS
def test_global_generators_have_no_say_and_are_left_alone(config: RunConfig) -> None:
    states, records = ran(config, 2)
    for seed in (1, 2):
        random.seed(seed), np.random.seed(seed), torch.manual_seed(seed)
        state = init(config)
        before = random.getstate(), bits(np.random.get_state()), bits(torch.get_rng_state())
        for expected, record in zip(states, records, strict=True):
            torch.rand(3), np.random.rand(5), random.random()
            saved = torch.get_rng_state()
            state, found = step(state, config)
            assert same_state(state, expected) and metrics(found) == metrics(record)
            assert torch.equal(torch.get_rng_state(), saved)
        assert before[0] != random.getstate()


@KINDS
def test_a_step_leaves_its_input_untouched(config: RunConfig) -> None:
    state = ran(config, 1)[0][-1]
    before = bits(state)
    first, record = step(state, config, trace=True)
    assert bits(state) == before
    second, again = step(state, config, trace=True)
    assert same_state(first, second) and trace(record) == trace(again)


@KINDS
def test_tracing_changes_no_number(config: RunConfig) -> None:
    state = ran(config, 1)[0][-1]
    plain, record = step(state, config)
    traced, with_trace = step(state, config, trace=True)
    assert same_state(plain, traced) and metrics(record) == metrics(with_trace)
    assert record.trace is None and with_trace.trace is not None


@pytest.mark.parametrize("after", [0, 1, 3])
def test_abandoning_a_step_midway_changes_nothing(after: int) -> None:
    config = SMALL["CartPole segments"]
    state = ran(config, 1)[0][-1]
    before, expected = bits(state), bits(step(state, config)[0])
    slices = step_slices(state, config)
    for _ in range(after):
        next(slices)
    slices.close()
    assert bits(state) == before
    assert bits(step(state, config)[0]) == expected


def test_two_steps_taken_in_turn_do_not_disturb_each_other() -> None:
    configs = [SMALL["CartPole segments"], SMALL["Pendulum"]]
    expected = [metrics(step(init(c), c)[1]) for c in configs]
    slices = [step_slices(init(c), c) for c in configs]
    found: dict[int, StepRecord] = {}
    while len(found) < 2:
        for i, each in enumerate(slices):
            try:
                next(each)
            except StopIteration as end:
                found[i] = end.value[1]
    assert [metrics(found[i]) for i in range(2)] == expected


def test_the_seconds_of_a_step_are_its_own() -> None:
    slices = step_slices(init(SMALL["bandit"]), SMALL["bandit"])
    next(slices)
    time.sleep(0.5)
    _, record = finished(slices)
    assert 0 < record.seconds < 0.5


def test_numbers_do_not_depend_on_the_number_of_threads() -> None:
    config = preset("ppo", "CartPole-v1").with_settings({"prompts": 64, "segment": 64, "minibatches": 2, "epochs": 1})
    one = metrics(step(init(config), config)[1])
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        two = metrics(step(init(config), config)[1])
    finally:
        torch.set_num_threads(threads)
    assert one == two


# ---------------------------------------------------------------- forks and live changes


def test_a_fork_meets_the_same_dice() -> None:
    """Same starts and, under the same policy, the same first rollout, whatever else its config changes."""
    config = SMALL["windy grid"]
    state = ran(config, 2)[0][-1]
    other = config.with_settings({"eps_high": 0.01, "lr": 0.3, "kl_beta": 0.5, "epochs": 1})
    (_, a), (_, b) = (step(state, c, trace=True) for c in (config, other))
    assert a.trace is not None and b.trace is not None
    assert bits(dict(a.trace.rollout)) == bits(dict(b.trace.rollout))
    assert metrics(a) != metrics(b)


def test_a_wider_group_starts_where_the_narrow_one_did() -> None:
    config = SMALL["windy grid"].with_settings({"env.layout": ["S.S", "...", "S.G"]})
    wide = config.with_settings({"group_size": 24})
    (_, a), (_, b) = (step(init(c), c, trace=True) for c in (config, wide))
    assert a.trace is not None and b.trace is not None
    assert a.trace.rollout["obs"][::16, 0].tolist() == b.trace.rollout["obs"][::24, 0].tolist()


def test_the_seed_changes_the_dice() -> None:
    a = SMALL["bandit"]
    assert metrics(step(init(a), a)[1]) != metrics(step(init(b := a.with_settings({"seed": 1})), b)[1])


@pytest.mark.parametrize("changes", [{"lr": 0.3}, {"eps_low": 0.05}, {"group_size": 8}, {"epochs": 2, "kl_beta": 0.3}])
def test_a_live_change_equals_two_stitched_runs(changes: dict[str, float]) -> None:
    config = SMALL["windy grid"]
    changed = config.with_settings(changes)
    live = [s for s, _ in islice(train(init(config), lambda n: changed if n >= 2 else config), 4)]
    first = ran(config, 2)[0][-1]
    assert same_state(live[1], first)
    assert same_state(live[-1], ran(changed, 2, first)[0][-1])


def test_the_number_of_rows_may_change_between_segments() -> None:
    config = SMALL["CartPole segments"]
    state = ran(config, 2)[0][-1]
    for changed in ({"prompts": 2, "minibatches": 2}, {"prompts": 6}, {"segment": 8}, {"segment": None}):
        other = config.with_settings(changed)
        state, record = step(state, other)
        assert math.isfinite(record.metrics["loss"])
        assert record.samples <= other.batch.rows * (other.batch.segment or 500)


@pytest.mark.parametrize("env", ["gridworld", "CartPole-v1"])
def test_a_switch_from_grpo_to_ppo_adds_the_same_critic_whenever_it_happens(env: str) -> None:
    grpo, ppo = (preset(r, env).with_settings({"prompts": 4}) for r in ("grpo", "ppo"))
    fresh = init(ppo)
    state = ran(grpo, 2)[0][-1]
    assert not has_critic(state) and has_critic(fresh)
    a, b = step(state, ppo)[0], step(state, ppo)[0]
    assert same_state(a, b) and has_critic(a)
    still = ppo.with_settings({"lr": 0.0})
    grown = step(state, still)[0]
    for name, part in fresh.params.items():
        if name.startswith("critic."):
            assert torch.equal(grown.params[name], part)
        else:
            assert torch.equal(grown.params[name], state.params[name])
    back, record = step(a, grpo)
    assert has_critic(back) and record.metrics["value_loss"] == 0


def test_needs_critic_follows_a_changed_copy() -> None:
    algorithm = by_key("grpo").algorithm
    assert not algorithm.needs_critic
    assert algorithm.model_copy(update={"advantage": Gae()}).needs_critic
    assert algorithm.model_copy(update={"critic": ValueMse()}).needs_critic


# ---------------------------------------------------------------- records


@KINDS
def test_records_are_frozen_and_complete(config: RunConfig) -> None:
    _, record = step(init(config), config, trace=True)
    assert record.trace is not None
    arrays = [
        *record.trace.rollout.values(), *record.trace.advantages.values(), record.trace.shaped_reward, record.trace.kept,
        *(x for u in record.trace.updates for x in vars(u).values() if isinstance(x, np.ndarray)),
    ]  # fmt: skip
    arrays += [record.visits] if record.visits is not None else []
    assert arrays and not any(array.flags.writeable for array in arrays)
    assert set(OF_AN_UPDATE) <= set(record.metrics)
    assert len(record.trace.updates) == record.metrics["updates"]
    assert record.trace.nbytes == sum(a.nbytes for a in arrays if a is not record.visits)
    with pytest.raises(AttributeError):
        record.samples = 3  # type: ignore[misc]


@KINDS
def test_metrics_follow_from_the_trace(config: RunConfig) -> None:
    """The record's numbers, recomputed by hand from the arrays of its own trace."""
    _, record = step(ran(config, 1)[0][-1], config, trace=True)
    assert record.trace is not None
    rollout, updates, found = record.trace.rollout, record.trace.updates, record.metrics
    mask = rollout["mask"]
    assert record.samples == mask.sum()
    score = np.where(mask, rollout["reward"], 0).sum(1)
    assert found["reward_mean"] == pytest.approx(score.mean(), rel=1e-5)
    assert found["length_mean"] == pytest.approx(mask.sum(1).mean(), rel=1e-6)
    last = [u for u in updates if u.epoch == updates[-1].epoch]

    def over(which: list, name: str) -> float:
        return float(np.mean([getattr(u, name)[u.mask].mean() for u in which]))

    assert found["entropy"] == pytest.approx(over(last, "entropy"), rel=1e-4)
    assert found["ratio_mean"] == pytest.approx(over(last, "ratio"), rel=1e-5)
    assert found["clip_fraction_outside"] == pytest.approx(over(list(updates), "outside"), abs=1e-6)
    dead = [u.dead_low | u.dead_high | u.dead_dual for u in updates]
    assert found["clip_fraction"] == pytest.approx(np.mean([d[u.mask].mean() for d, u in zip(dead, updates, strict=True)]), abs=1e-6)
    assert found["clip_fraction"] <= found["clip_fraction_outside"] + 1e-6
    drift = [np.expm1(u.token_log_ratio)[u.mask] - u.token_log_ratio[u.mask] for u in last]
    assert found["approx_kl"] == pytest.approx(np.mean([d.mean() for d in drift]), rel=1e-3, abs=1e-7)
    by_row = config.batch.shuffled == "rows"
    reference = rollout["logp_ref"] if by_row else rollout["logp_ref"][mask][:, None]
    away = [(reference[u.rows] - u.logp_new)[u.mask] for u in last]
    assert found["kl_ref"] == pytest.approx(np.mean([(np.exp(a) - 1 - a).mean() for a in away]), rel=1e-3, abs=1e-6)
    assert found["ratio_max"] == max(u.ratio[u.mask].max() for u in updates)
    assert found["ratio_min"] == min(u.ratio[u.mask].min() for u in updates)
    assert found["loss"] == pytest.approx(np.mean([u.loss for u in updates]), rel=1e-5, abs=1e-7)
    assert found["grad_norm"] == pytest.approx(np.mean([u.grad_norm for u in updates]), rel=1e-5)


@KINDS
def test_the_first_update_of_a_step_sees_the_policy_that_sampled(config: RunConfig) -> None:
    _, record = step(ran(config, 1)[0][-1], config, trace=True)
    assert record.trace is not None
    first = record.trace.updates[0]
    np.testing.assert_allclose(first.ratio[first.mask], 1, atol=2e-5)


def test_minibatches_of_an_epoch_are_a_partition_of_the_rows() -> None:
    config = SMALL["CartPole segments"].with_settings({"epochs": 3, "minibatches": 5})
    _, record = step(init(config), config, trace=True)
    assert record.trace is not None
    orders = []
    for epoch in range(3):
        rows = [u.rows for u in record.trace.updates if u.epoch == epoch]
        orders.append(np.concatenate(rows).tolist())
        assert max(map(len, rows)) - min(map(len, rows)) <= 1
        assert sorted(orders[-1]) == list(range(record.samples))
    assert orders[0] != orders[1] != orders[2]


def test_gradients_in_the_trace_are_the_loss_slope() -> None:
    """d loss / d logp of PPO's clip, by hand: -w A ρ where the clip let it through, else 0."""
    config = preset("grpo", "bandit").with_settings({"epochs": 6, "lr": 0.5, "kl_beta": 0.0})
    _, record = step(init(config), config, trace=True)
    assert record.trace is not None
    assert any(u.dead_high.any() or u.dead_low.any() for u in record.trace.updates)
    for u in record.trace.updates:
        by_hand = -u.weight * u.advantages * u.ratio * ~(u.dead_low | u.dead_high)
        np.testing.assert_allclose(u.grad_logp, by_hand, atol=1e-6)
        assert u.update_norm > 0 and sum(x**2 for x in u.grad_by_part.values()) == pytest.approx(u.grad_norm**2, rel=1e-4)


@pytest.mark.parametrize("env", ["bandit", "gridworld", "CartPole-v1"])
@pytest.mark.parametrize("recipe", [r.key for r in CATALOG])
def test_every_recipe_runs_on_every_kind_of_environment(recipe: str, env: str) -> None:
    config = preset(recipe, env)
    config = config if env != "CartPole-v1" else config.with_settings({"env.horizon": 30})
    states, records = ran(config, 2)
    for record in records:
        assert math.isfinite(record.metrics["loss"]) and record.metrics["updates"] > 0
    assert not torch.equal(states[-1].theta, init(config).theta)


TINY = {
    "bandit": Bandit(means=(0.0, 1.0)), "grid": Gridworld(layout=("S.", "HG"), horizon=3),
    "gym": GymEnv(id="tests/Count-v0", horizon=3),
}  # fmt: skip


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(algorithms(), st.sampled_from(sorted(TINY)), st.sampled_from(["rows", "transitions"]), st.sampled_from([None, 2]), st.integers(1, 3))
def test_any_mix_runs_replays_and_traces_alike(
    algorithm: Algorithm, env: str, shuffled: str, segment: int | None, minibatches: int
) -> None:
    """Any value in any slot: either a refusal, a clean divergence, or two steps that replay and trace to the bit."""
    tree = {
        "env": TINY[env], "algorithm": algorithm, "policy": {"kind": "mlp", "hidden": (4,)},
        "batch": {"prompts": 2, "group_size": 1 if segment else 3, "segment": segment, "epochs": 2, "shuffled": shuffled,
                  "minibatches": minibatches},
    }  # fmt: skip
    try:
        config = parse(tree)
    except SettingError:
        return
    assert loads(config.dumps()) == config
    state = init(config)
    try:
        for _ in range(2):
            before = bits(state)
            after, record = step(state, config)
            traced, with_trace = step(state, config, trace=True)
            assert bits(state) == before and same_state(after, traced) and metrics(record) == metrics(with_trace)
            assert torch.isfinite(after.theta).all()
            state = after
    except Diverged as error:
        assert error.term


@pytest.mark.parametrize(("minibatches", "shuffled"), [(1, "rows"), (4, "transitions"), (5, "transitions"), (3, "rows")])
def test_whitening_by_minibatch(minibatches: int, shuffled: str) -> None:
    """Mean 0 and standard deviation 1 (ddof 1) within every minibatch, also where the rows do not divide evenly."""
    config = SMALL["CartPole segments"].with_settings({"minibatches": minibatches, "shuffled": shuffled, "epochs": 2})
    _, record = step(init(config), config, trace=True)
    assert record.trace is not None and len(record.trace.updates) == 2 * minibatches
    for update in record.trace.updates:
        used = update.advantages[update.mask].astype(np.float64)
        assert used.mean() == pytest.approx(0, abs=1e-5) and used.std(ddof=1) == pytest.approx(1, rel=1e-4)


def test_whitening_by_batch() -> None:
    config = preset("reinforce_pp", "gridworld").with_settings({"minibatches": 4})
    _, record = step(init(config), config, trace=True)
    assert record.trace is not None
    used = record.trace.advantages["advantages"][record.trace.rollout["mask"]].astype(np.float64)
    assert used.mean() == pytest.approx(0, abs=1e-5) and used.std() == pytest.approx(1, rel=1e-4)
    assert abs(record.trace.updates[0].advantages[record.trace.updates[0].mask].mean()) > 1e-4
    assert record.metrics["advantage_std"] == pytest.approx(1, rel=1e-4)


def test_explained_variance_by_hand() -> None:
    config = SMALL["grid segments"].with_settings({"shuffled": "rows", "minibatches": 1})
    _, record = step(ran(config, 3)[0][-1], config, trace=True)
    assert record.trace is not None
    mask = record.trace.rollout["mask"]
    value, returns = record.trace.rollout["value_old"][mask], record.trace.advantages["returns"][mask]
    assert record.metrics["explained_variance"] == pytest.approx(1 - (returns - value).var() / returns.var(), rel=1e-3)


# ---------------------------------------------------------------- episodes


@pytest.mark.parametrize("name", ["grid segments", "CartPole segments", "Pendulum", "FrozenLake"])
def test_episode_returns_are_summed_across_segments(name: str) -> None:
    """Against a plain loop over every step of every row."""
    config = SMALL[name]
    state, open_returns = init(config), np.zeros(config.batch.rows)
    seen = 0
    for _ in range(6):
        state, record = step(state, config, trace=True)
        assert record.trace is not None
        r, ended = record.trace.rollout, []
        for row in range(config.batch.rows):
            for t in range(r["mask"].shape[1]):
                if not r["mask"][row, t]:
                    continue
                open_returns[row] += r["reward"][row, t]
                if r["terminal"][row, t] or r["truncated"][row, t]:
                    ended.append(open_returns[row])
                    open_returns[row] = 0
        seen += len(ended)
        if ended:
            assert record.metrics["episode_return"] == pytest.approx(np.mean(ended), rel=1e-4, abs=1e-4)
        else:
            assert math.isnan(record.metrics["episode_return"])
        assert state.running is not None
        np.testing.assert_allclose(state.running.numpy(), open_returns, rtol=1e-4, atol=1e-4)
    assert seen > 0


def test_whole_episodes_report_their_mean_return() -> None:
    _, record = step(init(SMALL["windy grid"]), SMALL["windy grid"])
    assert record.metrics["episode_return"] == pytest.approx(record.metrics["reward_mean"], rel=1e-5)


# ---------------------------------------------------------------- selection, stops, controllers, reference


def test_a_step_whose_groups_are_all_dropped_trains_nothing_and_says_so() -> None:
    algorithm = by_key("dapo").algorithm.model_copy(update={"select": DropFlatGroups()})
    config = RunConfig(env=Bandit(means=(1.0, 1.0), noise=0.0), algorithm=algorithm)
    before = init(config)
    after, record = step(before, config, trace=True)
    assert torch.equal(after.theta, before.theta) and after.step == 1
    assert record.metrics["updates"] == 0 and record.metrics["dead_group_fraction"] == 1
    assert all(math.isnan(record.metrics[name]) for name in OF_AN_UPDATE)
    assert record.trace is not None and not record.trace.kept.any() and record.trace.updates == ()


def test_dropped_rows_reach_no_update() -> None:
    config = preset("dapo", "contextual").with_settings({"prompts": 16, "group_size": 2, "env.noise": 0.0})
    _, record = step(init(config), config, trace=True)
    assert record.trace is not None
    kept = record.trace.kept
    assert 0 < kept.sum() < len(kept)
    for update in record.trace.updates:
        assert len(update.rows) == kept.sum() and (update.advantages != 0).all()


@pytest.mark.parametrize(("stop", "expected"), [(EpochKlStop(target=1e-5), 8), (MinibatchKlStop(target=1e-5), 1)])
def test_early_stops_stop(stop: object, expected: int) -> None:
    """CleanRL looks after an epoch; SB3 before each optimiser step, so only the first one passes."""
    config = SMALL["CartPole segments"].with_settings({"minibatches": 8, "epochs": 4, "lr": 0.05, "early_stop": stop})
    assert step(init(config), config)[1].metrics["updates"] == expected
    never = config.with_settings({"early_stop": {"kind": "no_stop"}})
    assert step(init(never), never)[1].metrics["updates"] == 32


def test_sb3s_stop_allows_half_as_much_again() -> None:
    """approx_kl of the second minibatch just below and just above 1.5 times the target."""
    config = SMALL["CartPole segments"].with_settings({"minibatches": 2, "epochs": 1, "lr": 0.05})
    _, record = step(init(config), config, trace=True)
    assert record.trace is not None
    second = record.trace.updates[1]
    kl = float((second.ratio - 1 - second.log_ratio)[second.mask].mean())
    for factor, updates in ((1.4, 2), (1.6, 1)):
        stopping = config.with_settings({"early_stop": MinibatchKlStop(target=kl / factor)})
        assert step(init(config), stopping)[1].metrics["updates"] == updates


@pytest.mark.parametrize("controller", [AdaptiveBeta(target=1e-3, horizon=100), PenaltyBeta(target=1e-3)])
def test_a_controller_moves_beta_and_restarts_when_beta_is_set_anew(controller: AdaptiveBeta | PenaltyBeta) -> None:
    base = preset("grpo", "bandit")
    config = base.with_settings({"algorithm.kl": KlInLoss(kl_beta=0.1, controller=controller).model_dump()})
    states, records = ran(config, 5)
    betas = [r.metrics["kl_beta"] for r in records]
    assert betas[0] == 0.1 and len(set(betas)) == 5
    for state, record in zip(states, records[1:], strict=False):
        assert record.metrics["kl_beta"] == state.kl_beta
    for record, following in zip(records, betas[1:], strict=False):
        assert following == controller(record.metrics["kl_beta"], record.metrics["kl_ref"], 64)
    anew = config.with_settings({"kl_beta": 0.7})
    assert step(states[-1], anew)[1].metrics["kl_beta"] == 0.7
    without = ran(base.with_settings({"algorithm.kl": {"kind": "no_kl"}}), 2)[0][-1]
    assert beta_in_force(without, config) == 0.1


def test_a_controller_rests_while_nothing_is_measured() -> None:
    algorithm = by_key("dapo").algorithm.model_copy(
        update={"kl": KlInLoss(kl_beta=0.1, controller=PenaltyBeta()), "select": DropFlatGroups()}
    )
    config = RunConfig(env=Bandit(means=(1.0, 1.0), noise=0.0), algorithm=algorithm)
    assert [r.metrics["kl_beta"] for r in ran(config, 3)[1]] == [0.1, 0.1, 0.1]


def test_the_reference_is_renewed_when_asked() -> None:
    config = preset("grpo", "bandit").with_settings({"ref_sync": 2})
    states, _ = ran(config, 4)
    start = init(config)
    assert torch.equal(states[0].theta_ref, start.theta)
    assert torch.equal(states[1].theta_ref, states[1].theta)
    assert torch.equal(states[2].theta_ref, states[1].theta)
    assert torch.equal(states[3].theta_ref, states[3].theta)
