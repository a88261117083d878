"""Numbers that cards quote, recomputed from the definitions each time the tests run.

A fact maps each quotation, as it stands in a card, to the value it claims. `test_interview_facts` checks the value to
the last digit quoted and that the quotation stands in a card that cites the fact. Plain numpy, nothing of the engine.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import comb, erf, exp, log, sqrt

import numpy as np

Fact = Callable[[], dict[str, float]]
FACTS: dict[str, Fact] = {}


def fact(name: str) -> Callable[[Fact], Fact]:
    def keep(compute: Fact) -> Fact:
        FACTS[name] = compute
        return compute

    return keep


def normal_above(z: float) -> float:
    return 0.5 * (1 - erf(z / sqrt(2)))


def group(rewards: list[float], *, eps: float = 1e-4, ddof: int = 1) -> np.ndarray:
    r = np.array(rewards, dtype=float)
    return (r - r.mean()) / (r.std(ddof=ddof) + eps)


def psi(rho: float, adv: float, eps: float = 0.2) -> float:
    return min(rho * adv, min(max(rho, 1 - eps), 1 + eps) * adv)


def slope(rho: float, adv: float, eps: float = 0.2) -> float:
    return (psi(rho + 1e-6, adv, eps) - psi(rho - 1e-6, adv, eps)) / 2e-6


# ---------------------------------------------------------------- foundations


def gae(rewards: list[float], values: list[float], gamma: float, lam: float) -> list[float]:
    running, out = 0.0, []
    following = [*values[1:], 0.0]
    for r, v, n in reversed(list(zip(rewards, values, following, strict=True))):
        running = r + gamma * n - v + gamma * lam * running
        out.append(running)
    return out[::-1]


@fact("gae-three-steps")
def _gae() -> dict[str, float]:
    low, high = (gae([0, 0, 1], [0.2, 0.5, 0.4], 0.9, lam) for lam in (0, 1))
    return {"0.25": low[0], "−0.14": low[1], "0.60": low[2], "0.61": high[0], "0.40": high[1]}


BANDIT = np.array([0.6, 0.3, 0.1])


def expected_update(size: int, rewards: list[float], advantage: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Expected gradient of a softmax bandit, summed over every possible group."""
    total = np.zeros(len(BANDIT))
    for actions in product(range(len(BANDIT)), repeat=size):
        score = np.eye(len(BANDIT))[list(actions)] - BANDIT
        chance = np.prod(BANDIT[list(actions)])
        total += (advantage(np.array(rewards)[list(actions)])[:, None] * score).mean(0) * chance
    return total


def true_gradient(rewards: list[float]) -> np.ndarray:
    return BANDIT * (np.array(rewards) - BANDIT @ np.array(rewards))


def _scaled(r: np.ndarray) -> np.ndarray:
    return (r - r.mean()) / (r.std(ddof=1) + 1e-4)


@fact("baseline-of-a-group")
def _baseline() -> dict[str, float]:
    rewards, size = [0.0, 1.0, 10.0], 4
    true = true_gradient(rewards)
    mean = expected_update(size, rewards, lambda r: r - r.mean())
    loo = expected_update(size, rewards, lambda r: r - (r.sum() - r) / (size - 1))
    scaled = expected_update(size, rewards, _scaled)
    assert np.allclose(mean / true, 0.75) and np.allclose(loo, true)
    cosine = scaled @ true / np.linalg.norm(scaled) / np.linalg.norm(true)
    return {"0.75": (mean / true)[0], "−1.88": (scaled / true)[1], "0.77": cosine}


# ---------------------------------------------------------------- PPO


FOUR = tuple(product((0.5, 1.5), (1, -1)))


@fact("four-quadrants")
def _quadrants() -> dict[str, float]:
    return {
        "1.0": np.mean([abs(r - 1) > 0.2 for r, _ in FOUR]),
        "0.5": np.mean([slope(r, a) == 0 for r, a in FOUR]),
        "dead (0)": slope(1.5, 1),
        "alive (−1)": slope(1.5, -1),
    }


@fact("negative-advantage-unbounded")
def _unbounded() -> dict[str, float]:
    losses = [-psi(exp(x), -1) for x in (1, 5, 20)]
    return {"2.72": losses[0], "148.4": losses[1], "4.85e8": losses[2], "3 with c = 3": -max(psi(exp(5), -1), -3.0)}


def reuse_one_batch() -> list[float]:
    """Largest ratio at the start of each of ten epochs: four arms once each, Adam, lr 0.1, eps 0.2."""
    adv = group([1, 0, 0, 1])
    logits, m, v, seen = np.zeros(4), np.zeros(4), np.zeros(4), []
    for epoch in range(1, 12):
        p = np.exp(logits - np.log(np.exp(logits).sum()))
        ratio = p / 0.25
        seen.append(ratio.max())
        alive = ~(((adv > 0) & (ratio > 1.2)) | ((adv < 0) & (ratio < 0.8)))
        token = adv * ratio * alive / 4
        grad = -(token - p * token.sum())
        m, v = 0.9 * m + 0.1 * grad, 0.999 * v + 0.001 * grad**2
        logits = logits - 0.1 * (m / (1 - 0.9**epoch)) / (np.sqrt(v / (1 - 0.999**epoch)) + 1e-8)
    return seen


@fact("ratio-leaves-the-band")
def _leaves() -> dict[str, float]:
    seen = reuse_one_batch()
    return {"1.00": seen[0], "1.10": seen[1], "1.29": seen[3], "1.57": seen[9]}


@fact("value-clip-gradient")
def _value_clip() -> dict[str, float]:
    def clipped(v: float) -> float:
        near = min(max(v, -0.2), 0.2)
        return 0.5 * max((v - 1.5) ** 2, (near - 1.5) ** 2)

    return {
        "0.5 with": 0.5 * ((2.001 - 1.5) ** 2 - (1.999 - 1.5) ** 2) / 0.002,
        "0 with": (clipped(2.001) - clipped(1.999)) / 0.002,
    }


# ---------------------------------------------------------------- GRPO


@fact("group-of-four")
def _group() -> dict[str, float]:
    shifted = group([101, 100, 100, 101])
    assert np.allclose(shifted, group([1, 0, 0, 1]))
    return {"0.866": group([1, 0, 0, 1])[0], "−0.866": group([1, 0, 0, 1])[1]}


@fact("ddof-and-eps")
def _ddof() -> dict[str, float]:
    return {"1.50": group([1, 0, 0, 0])[0], "1.73": group([1, 0, 0, 0], ddof=0)[0]}


@fact("one-right-in-eight")
def _one_in_eight() -> dict[str, float]:
    one = group([1] + [0] * 7)
    raw_one, raw_half = np.array([7 / 8] + [-1 / 8] * 7), np.array([0.5] * 4 + [-0.5] * 4)
    return {
        "2.47": one[0], "0.35": -one[1], "0.875": (raw_one**2).sum(), "2.0": (raw_half**2).sum(),
        "7.0": (one**2).sum(),
    }  # fmt: skip


def prompt_weight(p: float, size: int) -> float:
    """E[A_i (r_i - p)] / (p (1 - p)): a prompt's expected gradient over its true one, binary rewards."""
    total = 0.0
    for k in range(size + 1):
        chance = comb(size, k) * p**k * (1 - p) ** (size - k)
        adv = group([1] * k + [0] * (size - k))
        if 0 < k < size:
            total += chance * (k * adv[0] * (1 - p) + (size - k) * adv[-1] * (-p)) / size
    return total / (p * (1 - p))


@fact("difficulty-weights")
def _difficulty() -> dict[str, float]:
    return {
        "2.31": prompt_weight(0.05, 8), "1.97": prompt_weight(0.2, 8), "1.74": prompt_weight(0.5, 8),
        "4.6": 1 / sqrt(0.05 * 0.95), "2.0 at": 1 / sqrt(0.25),
    }  # fmt: skip


@fact("dead-groups")
def _dead() -> dict[str, float]:
    dead = {(p, g): 100 * (p**g + (1 - p) ** g) for p in (0.05, 0.1, 0.2) for g in (2, 8, 16)}
    return {
        "66 %": dead[0.05, 8], "44 %": dead[0.05, 16], "17 %": dead[0.2, 8], "2.8 %": dead[0.2, 16],
        "82 %": dead[0.1, 2], "19 %": dead[0.1, 16], "68 %": dead[0.2, 2],
    }  # fmt: skip


@fact("zero-loss-gradient")
def _zero_loss() -> dict[str, float]:
    adv = group([1, 0, 0, 1])
    lengths = np.array([2, 6, 4, 1])
    return {"0.216": adv[0] / 4, "0.47": -(lengths * adv).sum() / lengths.sum()}


@fact("leave-one-out-factor")
def _loo() -> dict[str, float]:
    r = np.array([1.0, 0, 2, 5, 3, 4])
    loo = r - (r.sum() - r) / 5
    return {"1.2": (loo / (r - r.mean()))[0]}


@fact("clip-higher-room")
def _room() -> dict[str, float]:
    return {"0.012": 0.01 * 1.2, "0.0128": 0.01 * 1.28, "0.9": 0.9}


@fact("token-weights")
def _weights() -> dict[str, float]:
    return {"0.05": 1 / (2 * 10), "0.005": 1 / (2 * 100), "0.0091": 1 / 110}


# ---------------------------------------------------------------- GSPO


@fact("product-spreads")
def _spreads() -> dict[str, float]:
    return {"0.107": 0.8**10, "6.19": 1.2**10}


@fact("product-or-mean")
def _product() -> dict[str, float]:
    old, new = (0.5, 0.5), (0.8, 0.2)
    product_weighted = sequence_weighted = 0.0
    for tokens in product((0, 1), repeat=3):
        chance = np.prod([old[t] for t in tokens])
        weight = np.prod([new[t] / old[t] for t in tokens])
        hit = tokens == (0, 0, 0)
        product_weighted += chance * weight * hit
        sequence_weighted += chance * weight ** (1 / 3) * hit
    return {
        "22026": exp(1000 * 0.01), "1.0101": exp(0.01), "0.512": product_weighted, "0.200": sequence_weighted,
        
    }  # fmt: skip


@fact("sequence-clip-share")
def _clip_share() -> dict[str, float]:
    spread = 0.05 / sqrt(200)

    def dead(sd: float, low: float, high: float) -> float:
        """Half the samples have A > 0 and die above, half A < 0 and die below."""
        return 50 * (normal_above(log(1 + high) / sd) + normal_above(-log(1 - low) / sd))

    return {
        "0.0035": spread,
        "0.007 %": dead(0.05, 0.2, 0.2),
        "0 %": dead(spread, 0.2, 0.2),
        "46 %": dead(spread, 3e-4, 4e-4),
    }


@fact("one-loud-token")
def _loud() -> dict[str, float]:
    return {"1.35": exp(1.2 / 4), "3 of 4": 3.0}


@fact("outlier-among-ten")
def _outlier() -> dict[str, float]:
    return {"1.05": 1.65 ** (1 / 10), "1.65": 1.65}


# ---------------------------------------------------------------- KL

PI = np.array([0.4, 0.3, 0.2, 0.1])
REF = np.full(4, 0.25)


@fact("kl-estimators")
def _estimators() -> dict[str, float]:
    k1 = np.log(PI / REF)
    k3 = REF / PI - 1 - np.log(REF / PI)
    true = PI @ k1
    return {
        "0.106": true,
        "0.096": PI @ (k1**2 / 2),
        "0.43": sqrt(PI @ k1**2 - true**2),
        "0.16": sqrt(PI @ k3**2 - (PI @ k3) ** 2),
        "30 %": 100 * PI[k1 < 0].sum(),
    }


def grad_softmax(f: Callable[[np.ndarray], float]) -> np.ndarray:
    logits, step = np.log(PI), 1e-5
    out = np.zeros(4)
    for i in range(4):
        values = []
        for sign in (1, -1):
            z = logits.copy()
            z[i] += sign * step
            values.append(f(np.exp(z) / np.exp(z).sum()))
        out[i] = (values[0] - values[1]) / (2 * step)
    return out


@fact("kl-gradients")
def _kl_gradients() -> dict[str, float]:
    """As a loss, the sampling weights stay at pi: only the estimator is differentiated."""
    reverse = grad_softmax(lambda p: float(p @ np.log(p / REF)))
    forward = grad_softmax(lambda p: float(REF @ np.log(REF / p)))
    k1 = grad_softmax(lambda p: float(PI @ np.log(p / REF)))
    k2 = grad_softmax(lambda p: float(PI @ (np.log(p / REF) ** 2 / 2)))
    k3 = grad_softmax(lambda p: float(PI @ (REF / p - 1 - np.log(REF / p))))
    assert np.allclose(k1, 0, atol=1e-8) and np.allclose(k2, reverse, atol=1e-8) and np.allclose(k3, forward, atol=1e-8)
    corrected = grad_softmax(lambda p: float(PI @ (p / PI * (REF / p - 1 - np.log(REF / p)))))
    assert np.allclose(corrected, reverse, atol=1e-8)
    return {"−0.102": reverse[3], "−0.150": forward[3]}


@fact("two-kls")
def _two() -> dict[str, float]:
    new, ref = np.array([-0.5, -1, -2]), np.array([-0.9, -0.7, -2.5])
    return {"0.200": (new - ref).mean(), "0.076": (np.exp(ref - new) - 1 - (ref - new)).mean()}


@fact("tilted-policy")
def _tilted() -> dict[str, float]:
    def share(beta: float) -> float:
        weights = np.exp(np.array([0, 0, 1]) / beta)
        return float(weights[2] / weights.sum())

    two = exp(0.1) / (exp(0.1) + 1)
    return {"0.79": share(0.5), "0.58": share(1), "0.36": share(10), "0.52": two}


@fact("adaptive-step")
def _adaptive() -> dict[str, float]:
    return {"1.00512": 1 + 0.2 * 256 / 10_000}


# ---------------------------------------------------------------- reward hacking


@fact("rare-exploit")
def _rare() -> dict[str, float]:
    return {"4.4": sqrt(0.95 / 0.05), "0.95": 1 - 0.05}


@fact("over-optimisation-peak")
def _peak() -> dict[str, float]:
    a, b = 2.0, 0.5
    d = np.linspace(1e-3, 60, 600_000)
    bon, rl = d * (a - b * d), d * (a - b * np.log(d))
    assert abs(d[bon.argmax()] - a / (2 * b)) < 1e-3 and abs(bon.max() - a**2 / (4 * b)) < 1e-3
    assert abs(d[rl.argmax()] - exp(a / b - 1)) < 1e-3 and abs(rl.max() - b * exp(a / b - 1)) < 1e-3
    return {"20.1": d[rl.argmax()], "2 for best-of-n": d[bon.argmax()]}


@fact("deterrence")
def _deterrence() -> dict[str, float]:
    return {"0.75": 1 - 0.25, "7.5": (1 - 0.25) / 0.1}


# ---------------------------------------------------------------- distributed


@fact("state-of-seven-billion")
def _state() -> dict[str, float]:
    return {"112 GB": 16 * 7.0, "14 GB": 2 * 7.0, "252 GB": 2 * 112 + 2 * 14.0, "126 GB for": 112 + 14.0, "224 GB": 2 * 112.0}


@fact("critical-batch")
def _critical() -> dict[str, float]:
    def batch(flops: float, bandwidth: float) -> float:
        return flops * 2 / (2 * bandwidth)

    return {"295": batch(989e12, 3.35e12), "153": batch(312e12, 2.039e12)}


@fact("experts-touched")
def _experts() -> dict[str, float]:
    return {"98 %": 100 * (1 - (1 - 8 / 128) ** 64)}


def young(delta: float, mtbi: float) -> float:
    return sqrt(2 * delta * mtbi)


def daly(delta: float, mtbi: float) -> float:
    x = delta / (2 * mtbi)
    return young(delta, mtbi) * (1 + sqrt(x) / 3 + x / 9) - delta


def overhead(mtbi: float, delta: float, restart: float, tau: float) -> float:
    """Per cent of extra wall time under exponential failures: writing, lost work and restarts."""
    return 100 * (mtbi * exp(restart / mtbi) * (exp((tau + delta) / mtbi) - 1) / tau - 1)


@fact("daly")
def _daly() -> dict[str, float]:
    mtbi = 24 / 16 * 60
    return {
        "120 minutes": young(5, 24 * 60),
        "117 minutes": daly(5, 24 * 60),
        "1.5 h": 24 / 16,
        "13 minutes": daly(1, mtbi),
        "30 %": overhead(mtbi, 1, 10, daly(1, mtbi)),
        "0.375 h": 24 / 64,
        "22.5 minutes": 24 * 60 / 64,
        "0.8 %": 100 * 12 / (24 * 60),
    }


@fact("hourly-checkpoints-on-64")
def _hourly() -> dict[str, float]:
    mtbi = 24 * 60 / 64
    wall = overhead(mtbi, 1, 10, daly(1, mtbi))
    return {"7 %": 100 * exp(-60 / mtbi), "53 %": 100 * wall / (100 + wall)}


@fact("tail-floor")
def _tail() -> dict[str, float]:
    return {"164 s": 16_384 * 0.010}


@fact("sync-bytes")
def _sync() -> dict[str, float]:
    return {"144 GB": 2 * 72.0, "14 GB": 2 * 7.0, "72 s": 144 / 2, "2.4 s": 144 / 60}


@fact("flops-a-token")
def _flops() -> dict[str, float]:
    grpo = 2 + 2 + 6
    return {"10P": grpo, "20P": grpo + (2 + 6) + 2, "8P": 2 + 6, "2P for": 2.0, "12P": grpo + 2}


@fact("tensor-parallel-over-the-network")
def _tp() -> dict[str, float]:
    return {"19 ms": 2 * 80 * 0.120, "1.9 ms": 2 * 80 * 0.012}


@fact("kv-cache")
def _kv() -> dict[str, float]:
    return {"56 KiB": 2 * 28 * 4 * 128 * 2 / 1024, "1.75 GiB": 2 * 28 * 4 * 128 * 2 * 32_768 / 2**30}


@fact("efa-per-accelerator")
def _efa() -> dict[str, float]:
    return {"50 GB/s": 3200 / 8 / 8, "400 Gb/s": 3200 / 8}


@fact("effective-sample-size")
def _ess() -> dict[str, float]:
    w = np.array([1.0] * 9 + [21.0])
    return {"0.20": w.sum() ** 2 / (10 * (w**2).sum())}
