"""What a step of a word task looks like: the replies of each group token by token, and how all of them are distributed.

Everything is read from the record's trace (graded again, which is exact) and only rounded here, never made up.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from rlcore.config import RunConfig
from rlcore.ratios import TokenRatio
from rlcore.records import StepRecord, StepTrace
from rlcore.words.env import Words
from rlcore.words.task import Task, terms
from rlcore.words.vocabulary import EOS, TOKENS, decode, unpadded

MAX_GROUPS, MAX_REPLIES = 8, 16  # shown token by token; counts and distributions are of all
FREE, OUTSIDE, DEAD = range(3)
RIGHT, WRONG, CUT = range(3)  # finished and exact; finished and not; cut at the limit
BARS = 12


def words(config: RunConfig, record: StepRecord | None) -> dict[str, Any]:
    """Groups of replies with their numbers, and distributions of length and reward; empty before the first step.

    groups   at most MAX_GROUPS, each {prompt, size, mean, std, right, cut, rows}; a row: see `_row`
    terms    [name, weight] of the reward, in the order of a row's `terms`
    lengths  [right, wrong, cut] counts by reply length from 1;  rewards: see `_histogram`
    """
    env = config.env
    assert isinstance(env, Words)
    empty: dict[str, Any] = {"kind": "words", "task": env.task.kind, "limit": env.task.max_length, "groups": [], "rows": 0}
    if record is None or record.trace is None:
        return empty
    trace = record.trace
    graded = _graded(env.task, trace)
    rollout, reward = trace.rollout, (trace.rollout["reward"] * trace.rollout["mask"]).sum(1)
    length = rollout["mask"].sum(1)
    cut = rollout["truncated"].any(1)
    outcome = np.where(cut, CUT, np.where(graded["exact"] > 0, RIGHT, WRONG))
    weights = [[name, getattr(env.task, name)] for name in graded]
    sequence = not isinstance(config.algorithm.ratio, TokenRatio)
    return empty | {
        "rows": len(reward), "of": int(rollout["group"].max()) + 1, "terms": weights, "level": "row" if sequence else "token",
        "groups": _groups(trace, graded, reward, outcome, sequence), "epochs": _passes(trace),
        "lengths": [np.bincount(length[outcome == o], minlength=env.task.max_length + 1)[1:].tolist() for o in range(3)],
        "mean_lengths": [_mean(length[outcome == o]) for o in range(3)], "rewards": _histogram(reward),
    }  # fmt: skip


def _graded(task: Task, trace: StepTrace) -> dict[str, np.ndarray]:
    """The verifier's terms of every row, by name [B]."""
    prompt, action, mask = (torch.tensor(trace.rollout[name]) for name in ("prompt", "action", "mask"))
    return {name: term.numpy() for name, term in terms(task, prompt, action, mask).items()}


def _groups(
    trace: StepTrace, graded: dict[str, np.ndarray], reward: np.ndarray, outcome: np.ndarray, sequence: bool
) -> list[dict[str, Any]]:
    group = trace.rollout["group"]
    numbers = _numbers(trace, sequence)
    found = []
    for g in np.unique(group)[:MAX_GROUPS]:
        rows = np.flatnonzero(group == g)
        prompt = decode(unpadded(trace.rollout["prompt"][rows[0]].tolist()))
        shown = [_row(trace, graded, numbers, int(i), float(reward[i]), int(outcome[i])) for i in rows[:MAX_REPLIES]]
        found.append({
            "prompt": prompt, "size": len(rows), "mean": _number(reward[rows].mean()), "std": _number(reward[rows].std()),
            "right": int((outcome[rows] == RIGHT).sum()), "cut": int((outcome[rows] == CUT).sum()), "rows": shown,
        })  # fmt: skip
    return found


def _row(
    trace: StepTrace, graded: dict[str, np.ndarray], numbers: dict[str, np.ndarray], row: int, reward: float, outcome: int
) -> dict[str, Any]:
    """One reply: token texts ("" is the end), reward, terms, outcome, and per token the numbers of `_numbers`.

    A number that is the same at every token is sent once. null: the row took part in no update.
    """
    valid = trace.rollout["mask"][row]
    texts = ["" if i == EOS else TOKENS[i] for i in trace.rollout["action"][row][valid].tolist()]
    of_tokens = {name: _thin(numbers[name][row][valid]) for name in numbers}
    return {
        "tokens": texts, "reward": _number(reward), "terms": [_number(term[row]) for term in graded.values()],
        "outcome": outcome, **of_tokens,
    }  # fmt: skip


def _numbers(trace: StepTrace, sequence: bool) -> dict[str, np.ndarray]:
    """Arrays [B, T] by name: of the policy that was sampled from, and of the last pass over the batch; NaN: no update.

    kl is the exact KL(policy || reference) of the next token, entropy its entropy, both in nats. `fate`: 0 learning,
    1 outside the band and learning, 2 gradient removed by a bound. token_ratio only where the loss uses a row's ratio.
    """
    r = trace.rollout
    logp, ref = r["dist_old"], r["dist_ref"]
    p = np.exp(logp)
    found = {
        "p": np.exp(r["logp_old"]), "kl": (p * (logp - ref)).sum(-1), "entropy": -(p * logp).sum(-1),
        **{name: np.full(r["mask"].shape, np.nan) for name in ("advantage", "ratio", "fate")},
    }  # fmt: skip
    if sequence:
        found["token_ratio"] = found["ratio"].copy()
    kept = np.flatnonzero(trace.kept)
    found["advantage"][kept] = trace.advantages["advantages"]
    for update in trace.updates:  # in order, so that what stays is of the last pass
        rows = kept[update.rows]
        found["advantage"][rows], found["ratio"][rows] = update.advantages, update.ratio
        dead = update.dead_low | update.dead_high | update.dead_dual
        found["fate"][rows] = np.where(dead, DEAD, np.where(update.outside, OUTSIDE, FREE))
        if sequence:
            found["token_ratio"][rows] = np.exp(update.token_log_ratio)
    return found


def _passes(trace: StepTrace) -> int:
    return trace.updates[-1].epoch + 1 if trace.updates else 0


def _histogram(reward: np.ndarray) -> dict[str, list[float]]:
    """Counts by value where there are few values, else of BARS equal bins: {"at": centers, "counts", "wide": [width]}."""
    values, counts = np.unique(np.round(reward, 6), return_counts=True)
    if len(values) <= BARS:
        return {"at": [_number(v) or 0.0 for v in values], "counts": counts.tolist(), "wide": [0.0]}
    counts, edges = np.histogram(reward, BARS)
    return {
        "at": np.round((edges[1:] + edges[:-1]) / 2, 4).tolist(), "counts": counts.tolist(),
        "wide": [float(edges[1] - edges[0])],
    }  # fmt: skip


def _thin(values: np.ndarray) -> Any:
    rounded = [_number(x) for x in values]
    return rounded[0] if len(set(rounded)) == 1 else rounded


def _number(x: Any) -> float | None:
    """Four significant digits (a ratio near 1: six); null where JSON has no word for it."""
    value = float(x)
    return float(f"{value:.6g}" if 0.9 < value < 1.1 else f"{value:.4g}") if np.isfinite(value) else None


def _mean(values: np.ndarray) -> float | None:
    return _number(values.mean()) if len(values) else None
