"""The libraries' losses once more as plain Python loops over floats, at the edges, against the slots.

Values are sums over lists, gradients the stated per-token derivative or central differences.
"""

from __future__ import annotations

import math

import pytest
import torch

from tests.parity.loops import (
    MODES,
    Grid,
    cells,
    clip,
    differences,
    edges,
    recompute,
    same,
    trl_weights,
    verl_weights,
)  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("low", "high", "c"), [(0.2, 0.2, 3.0), (0.1, 0.5, 1.5), (3e-4, 4e-4, 50.0)])
def test_verl_vanilla_loss_and_gradient(mode: str, low: float, high: float, c: float) -> None:
    b = edges(1)
    w, loss, grad = verl_weights(mode, b), 0.0, [[0.0] * b["width"] for _ in range(b["rows"])]
    killed = dual = 0
    for i, t in cells(b):
        A, gap = b["A"][i], b["new"][i][t] - b["old"][i][t]
        r = math.exp(clip(gap, -20, 20))
        plain, held = -A * r, -A * clip(r, 1 - low, 1 + high)
        once = max(plain, held)
        bounded = A < 0 and once > -A * c
        killed, dual = killed + (held > plain), dual + bounded
        loss += w[i][t] * (-A * c if bounded else once)
        alive = held <= plain and not bounded and abs(gap) <= 20
        grad[i][t] = w[i][t] * plain if alive else 0.0
    config = {"loss_agg_mode": mode, "clip_ratio_low": low, "clip_ratio_high": high, "clip_ratio_c": c}
    found = recompute("verl.policy_loss.vanilla", config, {
        "old_log_prob": b["old"], "log_prob": b["new"], "response_mask": b["mask"],
        "advantages": [[a] * b["width"] for a in b["A"]],
    }, {})  # fmt: skip
    same(found["loss"], loss)
    same(found["grad_log_prob"], grad, rel=1e-8)
    tokens = len(cells(b))
    same(found["metrics"]["actor/pg_clipfrac"], killed / tokens, rel=1e-6)
    same(found["metrics"]["actor/pg_clipfrac_lower"], dual / tokens, rel=1e-6)


@pytest.mark.parametrize("kind", ["grpo", "luspo", "dr_grpo", "bnpo", "dapo"])
@pytest.mark.parametrize("delta", [None, 1.1, 4.0])
def test_trl_token_loss_and_gradient(kind: str, delta: float | None) -> None:
    b, low, high = edges(2), 0.2, 0.28
    w, loss, grad = trl_weights(kind, b), 0.0, [[0.0] * b["width"] for _ in range(b["rows"])]
    for i, t in cells(b):
        A, r = b["A"][i], math.exp(b["new"][i][t] - b["old"][i][t])
        capped, held = min(r, delta or math.inf), clip(r, 1 - low, 1 + high)
        loss += w[i][t] * -min(capped * A, held * A)
        through_clip = held * A < capped * A and held == r
        through_cap = capped * A <= held * A and capped == r
        grad[i][t] = -w[i][t] * A * r if through_clip or through_cap else 0.0
    config = {"loss_type": kind, "epsilon_low": low, "epsilon_high": high, "delta": delta}
    found = recompute("trl.grpo_loss", config, {
        "per_token_logps": b["new"], "old_per_token_logps": b["old"],
        "completion_mask": b["mask"], "advantages": b["A"],
    }, {"loss": 0.0})  # fmt: skip
    same(found["loss"], loss)
    same(found["grad_log_probs"], grad)


@pytest.mark.parametrize("kind", ["grpo", "dapo", "luspo"])
def test_trl_sequence_ratio_with_corrected_kl(kind: str) -> None:
    """GSPO counts an empty row in B and lets each row vote once; KL is k3 times the row's ratio."""
    b, low, high, beta = edges(3), 0.03, 0.04, 0.05
    b["new"][0] = [o + 0.02 for o in b["old"][0]]  # keep differences clear of e^25
    w = trl_weights(kind, b)

    def s(new: Grid, i: int) -> float:
        at = [t for t in range(b["width"]) if b["mask"][i][t]]
        return math.exp(sum(new[i][t] - b["old"][i][t] for t in at) / max(len(at), 1))

    def loss(new: Grid) -> float:
        total = 0.0
        for i, t in cells(b):
            A, ratio, d = b["A"][i], s(new, i), b["ref"][i][t] - new[i][t]
            gain = min(ratio * A, clip(ratio, 1 - low, 1 + high) * A)
            total += w[i][t] * (-gain + beta * ratio * (math.exp(d) - d - 1))
        return total

    config = {"loss_type": kind, "importance_sampling_level": "sequence", "epsilon_low": low, "epsilon_high": high}
    found = recompute("trl.gspo_loss", config | {"beta": beta}, {
        "per_token_logps": b["new"], "old_per_token_logps": b["old"], "ref_per_token_logps": b["ref"],
        "completion_mask": b["mask"], "advantages": b["A"],
    }, {"loss": 0.0})  # fmt: skip
    same(found["loss"], loss(b["new"]))
    same(found["grad_log_probs"], differences(loss, b["new"], cells(b)), rel=1e-5, abs=1e-7)
    ratios = [s(b["new"], i) for i in range(b["rows"])]
    votes = [(r < 1 - low and a < 0) or (r > 1 + high and a > 0) for r, a in zip(ratios, b["A"], strict=True)]
    same(found["metrics"]["clip_ratio/region_mean"], sum(votes) / b["rows"], rel=1e-6)


@pytest.mark.parametrize("advantage", [1.0, -1.0])
def test_verl_sequence_ratio_is_bounded_from_above_only(advantage: float) -> None:
    """Log s is kept at 10 at most, without gradient; a token's gradient is that of sg[s] pi / sg[pi]."""
    means = [12.0, -12.0, 0.1, 3.0]
    mask, old = [[1, 1, 0]] * 4, [[-1.0, -2.0, -3.0]] * 4
    new = [[-1.0 + m - 0.5, -2.0 + m + 0.5, 7.0] for m in means]
    config = {"loss_agg_mode": "token-mean", "clip_ratio_low": 0.2, "clip_ratio_high": 0.2}
    found = recompute("verl.policy_loss.gspo", config, {
        "old_log_prob": old, "log_prob": new, "response_mask": mask, "advantages": [[advantage] * 3] * 4,
    }, {})  # fmt: skip
    s = [math.exp(min(m, 10)) for m in means]
    gains = [min(x * advantage, clip(x, 0.8, 1.2) * advantage) for x in s]
    same(found["loss"], -sum(gains) / 4)
    alive = [m < 10 and (0.8 <= x <= 1.2 or (x > 1.2) == (advantage < 0)) for m, x in zip(means, s, strict=True)]
    same(found["grad_log_prob"], [[-x * advantage * on / 8] * 2 + [0.0] for x, on in zip(s, alive, strict=True)])


def test_soft_gates_by_differences() -> None:
    """SAPO in verl's exact and TRL's float32 temperatures, and VESPO's detached gate on a row's whole weight."""
    b = edges(4)
    b["new"][0] = [o + 0.3 for o in b["old"][0]]
    tau_neg = torch.tensor(1.05, dtype=torch.float32).item()

    def sapo(new: Grid, w: Grid, negative: float) -> float:
        total = 0.0
        for i, t in cells(b):
            A, r = b["A"][i], math.exp(new[i][t] - b["old"][i][t])
            tau = 1.0 if A > 0 else negative
            total -= w[i][t] * A * 4 / tau / (1 + math.exp(-tau * (r - 1)))
        return total

    inputs = {"old_log_prob": b["old"], "log_prob": b["new"], "response_mask": b["mask"]}
    inputs["advantages"] = [[a] * b["width"] for a in b["A"]]
    w = verl_weights("seq-mean-token-mean", b)
    found = recompute("verl.policy_loss.sapo", {"loss_agg_mode": "token-sum"}, inputs, {})
    same(found["loss"], sapo(b["new"], w, 1.05))
    same(found["grad_log_prob"], differences(lambda x: sapo(x, w, 1.05), b["new"], cells(b)), rel=1e-5, abs=1e-8)

    inputs = {"per_token_logps": b["new"], "old_per_token_logps": b["old"], "completion_mask": b["mask"]}
    found = recompute("trl.variant_loss", {"loss_type": "sapo"}, inputs | {"advantages": b["A"]}, {"loss": 0.0})
    same(found["loss"], sapo(b["new"], trl_weights("grpo", b), tau_neg))

    found = recompute("trl.variant_loss", {"loss_type": "vespo"}, inputs | {"advantages": b["A"]}, {"loss": 0.0})
    w, grad = trl_weights("dapo", b), [[0.0] * b["width"] for _ in range(b["rows"])]
    for i, t in cells(b):
        log_w = sum(b["new"][i][u] - b["old"][i][u] for u in range(b["width"]) if b["mask"][i][u])
        k, lam = (2.0, 3.0) if b["A"][i] >= 0 else (3.0, 2.0)
        grad[i][t] = -w[i][t] * b["A"][i] * math.exp(lam + k * log_w - lam * math.exp(log_w))
    same(found["grad_log_probs"], grad)


def test_on_policy_the_gradient_is_minus_the_weighted_advantage() -> None:
    b = edges(5)
    for kind in ("grpo", "dapo"):
        w = trl_weights(kind, b)
        found = recompute("trl.grpo_loss", {"loss_type": kind}, {
            "per_token_logps": b["new"], "old_per_token_logps": None,
            "completion_mask": b["mask"], "advantages": b["A"],
        }, {"loss": 0.0})  # fmt: skip
        same(found["grad_log_probs"], [[-x * a for x in row] for row, a in zip(w, b["A"], strict=True)])


# ---------------------------------------------------------------- critic and KL


@pytest.mark.parametrize("mode", MODES)
def test_value_loss_gradient_dies_only_outside_the_band(mode: str) -> None:
    b, eps = edges(8), 0.5
    old, value, returns = b["old"], b["new"], b["ref"]
    w, loss, grad, stopped = verl_weights(mode, b), 0.0, [[0.0] * b["width"] for _ in range(b["rows"])], 0
    for i, t in cells(b):
        v, target = value[i][t], returns[i][t]
        held = clip(v, old[i][t] - eps, old[i][t] + eps)
        loss += 0.5 * w[i][t] * max((v - target) ** 2, (held - target) ** 2)
        dead = (held - target) ** 2 > (v - target) ** 2
        stopped += dead
        grad[i][t] = 0.0 if dead else w[i][t] * (v - target)
    found = recompute("verl.value_loss", {"cliprange_value": eps}, {
        "vpreds": value, "values_old": old, "returns": returns, "response_mask": b["mask"],
    }, {mode: {}})[mode]  # fmt: skip
    same(found["vf_loss"], loss)
    same(found["grad_vpreds"], grad)
    same(found["vf_clipfrac"], stopped / len(cells(b)), rel=1e-6)


def test_kl_guards_stop_value_and_gradient() -> None:
    """verl bounds k3 at 10 and its log-ratio at 20; OpenRLHF bounds every estimator at 10."""
    gaps = [0.0, 0.3, -0.3, 2.0, -2.0, 9.0, -12.0, 25.0, -25.0, 800.0]  # log ref - log pi; e^800 is no float
    inputs = {"logprob": [[0.0] * len(gaps)], "ref_logprob": [gaps], "response_mask": [[1] * len(gaps)]}
    found = recompute("verl.kl_penalty", {}, inputs, {"k3": {}, "k3+": {}})
    exact = [math.exp(min(d, 20)) - min(d, 20) - 1 for d in gaps]
    same(found["k3"]["per_token"], [[min(x, 10.0) for x in exact]])
    slope = [(1 - math.exp(d)) / len(gaps) if x < 10 else 0.0 for d, x in zip(gaps, exact, strict=True)]
    same(found["k3"]["grad"], [slope])
    same(found["k3+"]["per_token"], [[min(x, 10.0) for x in exact]])
    same(found["k3+"]["grad"], [[-d / len(gaps) for d in gaps]])

    inputs = {"log_probs": [[0.0] * len(gaps)], "log_probs_base": [gaps], "log_probs_old": [[-0.5] * 5 + [-3.0] * 5]}
    plain, unbiased = "k1|unbiased_gradient=False", "k2|unbiased_gradient=True"
    found = recompute("openrlhf.approx_kl", {}, inputs, {plain: {}, unbiased: {}})
    same(found[plain]["per_token"], [[clip(-d, -10, 10) for d in gaps]], rel=1e-6)
    same(found[plain]["grad_of_sum"], [[float(abs(d) <= 10) for d in gaps]])
    weight = [math.exp(0.5)] * 5 + [10.0] * 5  # e^3 is capped
    slope = [-w * d for w, d in zip(weight, gaps, strict=True)]
    same(found[unbiased]["grad_of_sum"], [slope], rel=1e-6, abs=1e-6)
