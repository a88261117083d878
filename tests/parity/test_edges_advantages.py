"""The libraries' advantages once more as plain Python loops over floats, at the edges, against the slots."""

from __future__ import annotations

import math
import random

import pytest

from tests.parity.loops import Grid, cells, clip, differences, edges, numbers, recompute, same

NAN = math.nan


# ---------------------------------------------------------------- advantages


def trl_group(scores: list[float], size: int, *, batch: bool = False) -> list[float]:
    def statistics(group: list[float]) -> tuple[float, float]:
        known = [x for x in group if not math.isnan(x)]
        if not known:
            return math.nan, math.nan
        mean = sum(known) / len(known)
        spread = sum((x - mean) ** 2 for x in known)
        return mean, math.sqrt(spread / (len(known) - 1)) if len(known) > 1 else math.nan

    found = []
    for i, x in enumerate(scores):
        mean, std = statistics(scores[i // size * size : (i // size + 1) * size])
        std = statistics(scores)[1] if batch else std
        a = (x - mean) / (std + 1e-4)
        found.append(0.0 if math.isnan(a) else a)
    return found


@pytest.mark.parametrize("scores", [
    [1.0, 0.0, 0.5, 0.5, 1.0, 1.0, 1.0, 1.0],
    [1.0, NAN, 0.0, 0.25, NAN, NAN, NAN, NAN],
    [NAN, 2.0, NAN, NAN, 0.1, 0.7, NAN, 0.7],
])  # fmt: skip
@pytest.mark.parametrize("size", [2, 4])
def test_trl_group_advantages(scores: list[float], size: int) -> None:
    inputs = {"rewards": [["NaN" if math.isnan(x) else x] for x in scores], "reward_weights": None}
    found = recompute("trl.group_advantages", {"num_generations": size}, inputs, {
        "group": {"config": {"scale_rewards": "group"}}, "batch": {"config": {"scale_rewards": "batch"}},
    })  # fmt: skip
    same(found["group"]["advantages"], trl_group(scores, size))
    same(found["batch"]["advantages"], trl_group(scores, size, batch=True))


def test_verl_outcome_advantages_of_ragged_groups() -> None:
    """Interleaved groups of three, two and one; a group of one keeps its reward, or gets 0 in the vectorised form."""
    index, scores = ["p", "q", "p", "r", "q", "p"], [1.0, 0.4, 0.0, 0.8, -0.6, 0.25]
    mask = [[1, 0, 1], [1, 1, 0], [1, 1, 1], [0, 1, 0], [1, 0, 0], [1, 1, 1]]
    rewards = [[0.0] * 3 for _ in scores]
    for i, row in enumerate(mask):
        rewards[i][max(t for t in range(3) if row[t])] = scores[i]
    found = recompute("verl.advantages", {"gamma": 1.0}, {
        "token_level_rewards": rewards, "response_mask": mask, "index": index,
    }, {})  # fmt: skip
    for i, label in enumerate(index):
        group = [s for s, other in zip(scores, index, strict=True) if other == label]
        n, mean = len(group), sum(group) / len(group)
        std = math.sqrt(sum((x - mean) ** 2 for x in group) / (n - 1)) if n > 1 else 1.0
        mean, one = (mean, n / (n - 1)) if n > 1 else (0.0, 1.0)
        expected = {
            "grpo_std": (scores[i] - mean) / (std + 1e-6), "grpo_nostd": scores[i] - mean,
            "rloo": (scores[i] - mean) * one, "rloo_vectorized": (scores[i] - mean) * one if n > 1 else 0.0,
        }  # fmt: skip
        for name, value in expected.items():
            same(numbers(found[name])[i], [value * m for m in mask[i]])


def test_rloo_takes_the_answer_as_one_action() -> None:
    """G = 2 with an unscorable row, clipped rewards, KL in the reward, and a row without tokens that still counts."""
    b = edges(6)
    b["new"][0] = [o + 0.01 for o in b["old"][0]]
    b["new"][3] = [o - 0.02 for o in b["old"][3]]
    raw, beta, band = [3.0, 0.2, NAN, 0.4, 0.9, -2.0], 0.05, [-1.0, 1.0]

    def total(x: Grid, i: int) -> float:
        return sum(v for v, m in zip(x[i], b["mask"][i], strict=True) if m)

    distance = [total(b["old"], i) - total(b["ref"], i) for i in range(6)]
    scores = [NAN if math.isnan(r) else clip(r, *band) - beta * d for r, d in zip(raw, distance, strict=True)]
    advantages = [scores[i] - scores[i ^ 1] for i in range(6)]
    advantages = [0.0 if math.isnan(a) else a for a in advantages]

    def loss(new: Grid) -> float:
        ratios = [math.exp(total(new, i) - total(b["old"], i)) for i in range(6)]
        return -sum(min(r * a, clip(r, 0.8, 1.2) * a) for r, a in zip(ratios, advantages, strict=True)) / 6

    config = {"num_generations": 2, "beta": beta, "reward_clip_range": band, "epsilon_low": 0.2, "epsilon_high": None}
    found = recompute("trl.rloo", config, {
        "per_token_logps": b["new"], "old_per_token_logps": b["old"], "ref_per_token_logps": b["ref"],
        "completion_mask": b["mask"], "rewards": ["NaN" if math.isnan(r) else r for r in raw],
    }, {})  # fmt: skip
    same(found["advantages"], advantages)
    same(found["loss"], loss(b["new"]))
    same(found["grad_log_probs"], differences(loss, b["new"], cells(b)), rel=1e-5, abs=1e-8)


def test_openrlhf_whitening_has_a_floor_under_the_variance() -> None:
    """max(var, 1e-8), not var + 1e-8: rewards a ten-thousandth apart are divided by the floor's root."""
    rewards = [2e-5, -2e-5, 1e-5, -1e-5]
    found = recompute("openrlhf.advantages", {"estimator": "reinforce", "n_samples_per_prompt": 1}, {
        "rewards": rewards, "kl": [[0.0]] * 4, "action_mask": [[1]] * 4, "values": None,
    }, {})  # fmt: skip
    same(found["advantages"], [[r / 1e-4] for r in rewards], rel=1e-5)


# ---------------------------------------------------------------- time


@pytest.mark.parametrize(("gamma", "lam"), [(1.0, 0.95), (0.9, 0.5), (0.99, 0.0), (1.0, 1.0)])
def test_gae_over_gaps(gamma: float, lam: float) -> None:
    """verl carries V and A through a gap unchanged; OpenRLHF walks through it as steps with V = 0 and reward 0."""
    dice = random.Random(7)
    mask = [[1, 0, 1, 1, 0], [0, 0, 1, 0, 1], [1, 1, 1, 1, 1], [0, 1, 0, 0, 0]]
    values, rewards = ([[dice.gauss(0, 1) for _ in range(5)] for _ in mask] for _ in range(2))
    skipping, walking = [[0.0] * 5 for _ in mask], [[0.0] * 5 for _ in mask]
    for i, row in enumerate(mask):
        follow = running = step = after = 0.0
        for t in reversed(range(5)):
            if row[t]:
                running = rewards[i][t] + gamma * follow - values[i][t] + gamma * lam * running
                follow = values[i][t]
            skipping[i][t] = running
            value = values[i][t] * row[t]
            step = rewards[i][t] * row[t] + gamma * after - value + gamma * lam * step
            after, walking[i][t] = value, step
    found = recompute("verl.gae", {"gamma": gamma, "lam": lam}, {
        "token_level_rewards": rewards, "values": values, "response_mask": mask,
    }, {})  # fmt: skip
    valid = [(i, t) for i in range(4) for t in range(5) if mask[i][t]]
    returns = numbers(found["returns"])
    same([returns[i][t] for i, t in valid], [skipping[i][t] + values[i][t] for i, t in valid])
    seen, n = [skipping[i][t] for i, t in valid], len(valid)
    mean = sum(seen) / (n + 1e-8)
    variance = sum((x - mean) ** 2 for x in seen) / (n + 1e-8) * n / (n - 1)
    white = numbers(found["advantages_whitened"])
    same([white[i][t] for i, t in valid], [(x - mean) / math.sqrt(variance + 1e-8) for x in seen])

    # OpenRLHF builds its token rewards from a KL per token and a score: minus the reward as the KL, coefficient 1
    found = recompute("openrlhf.advantages", {
        "estimator": "gae", "kl_coef": 1.0, "gamma": gamma, "lambd": lam, "n_samples_per_prompt": 1,
    }, {
        "rewards": [0.0] * 4, "kl": [[-r for r in row] for row in rewards], "action_mask": mask, "values": values,
    }, {})  # fmt: skip
    togo = [[walking[i][t] + values[i][t] * mask[i][t] for t in range(5)] for i in range(4)]
    same(found["returns"], togo)


def test_cleanrl_done_flags_belong_to_the_next_step() -> None:
    rewards, values = [[1.0], [2.0], [3.0]], [[0.5], [0.4], [0.3]]
    found = recompute("cleanrl.gae", {"gamma": 0.9, "gae_lambda": 0.8}, {
        "rewards": rewards, "values": values, "dones": [[1.0], [0.0], [1.0]], "next_done": [0.0], "next_value": [0.7],
    }, {})  # fmt: skip
    third = 3.0 + 0.9 * 0.7 - 0.3
    second = 2.0 - 0.4  # dones[2] ends step 1
    first = 1.0 + 0.9 * 0.4 - 0.5 + 0.9 * 0.8 * second
    same(found["advantages"], [[first], [second], [third]])
