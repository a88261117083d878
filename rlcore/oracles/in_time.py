"""Oracles of the methods that look along time or over the whole batch: PPO, RLOO and REINFORCE++.

One double loop each, to be read beside the paper's sum; a loss is minimised, so each subtracts gains.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from rlcore.oracles.rows import Row, clip, mean, min_of_two, rest, siblings, std


def td_error(row: Row, t: int, reward: float, *, gamma: float) -> float:
    """r_t + gamma * V_{t+1} - V_t, with nothing to expect after the environment's own end."""
    following = 0.0 if row.terminal[t] else row.value_next[t]
    return reward + gamma * following - row.value_old[t]


def gae(row: Row, rewards: list[float], *, gamma: float, lam: float) -> list[float]:
    """arXiv:1506.02438, eq. 16, written out: A_t = sum_k (gamma * lam)^k delta_{t+k} to the episode's end."""
    return [
        sum((gamma * lam) ** (k - t) * td_error(row, k, rewards[k], gamma=gamma) for k in rest(row, t))
        for t in range(row.length)
    ]


def ppo(
    rows: list[Row], *, eps_low: float = 0.2, eps_high: float = 0.2, gamma: float = 0.99, lam: float = 0.95,
    whiten_eps: float = 1e-8, value_coef: float = 0.5, entropy_coef: float = 0.0,
) -> Tensor:  # fmt: skip
    """arXiv:1707.06347, eq. 7 and 9: mean over all steps of clipped gain, entropy and squared value error."""
    raw = [gae(row, row.reward, gamma=gamma, lam=lam) for row in rows]
    every = [a for of_row in raw for a in of_row]
    loss = torch.zeros((), dtype=torch.float64)
    for row, of_row in zip(rows, raw, strict=True):
        for t in range(row.length):
            advantage = of_row[t]
            if len(every) > 1:
                advantage = (of_row[t] - mean(every)) / (std(every) + whiten_eps)
            ratio = torch.exp(row.new[t] - row.old[t])
            gain = min_of_two(ratio * advantage, clip(ratio, 1 - eps_low, 1 + eps_high) * advantage)
            target = of_row[t] + row.value_old[t]
            error = (row.value[t] - target) ** 2
            loss = loss - (gain + entropy_coef * row.entropy[t] - value_coef * error) / len(every)
    return loss


def ppo_rlhf(
    rows: list[Row], *, eps_low: float = 0.2, eps_high: float = 0.2, gamma: float = 1.0, lam: float = 0.95,
    beta: float = 0.05, whiten_eps: float = 1e-8, value_coef: float = 0.1, value_band: float = 0.2,
) -> Tensor:  # fmt: skip
    """arXiv:1909.08593: a token pays beta * (log pi_old - log pi_ref); then PPO with a clipped value loss."""
    raw = []
    for row in rows:
        rewards = [row.reward[t] - beta * (row.old[t] - row.ref[t]) for t in range(row.length)]
        raw.append(gae(row, rewards, gamma=gamma, lam=lam))
    every = [a for of_row in raw for a in of_row]
    loss = torch.zeros((), dtype=torch.float64)
    for row, of_row in zip(rows, raw, strict=True):
        for t in range(row.length):
            advantage = of_row[t]
            if len(every) > 1:
                advantage = (of_row[t] - mean(every)) / math.sqrt(std(every) ** 2 + whiten_eps)
            ratio = torch.exp(row.new[t] - row.old[t])
            gain = min_of_two(ratio * advantage, clip(ratio, 1 - eps_low, 1 + eps_high) * advantage)
            target = of_row[t] + row.value_old[t]
            near = row.value_old[t] + clip(row.value[t] - row.value_old[t], -value_band, value_band)
            plain, banded = (row.value[t] - target) ** 2, (near - target) ** 2
            error = plain if plain >= banded else banded
            loss = loss - (gain - value_coef * 0.5 * error) / len(every)
    return loss


def rloo(rows: list[Row], *, beta: float = 0.05) -> Tensor:
    """arXiv:2402.14740, sec. 3: REINFORCE on whole answers, each against the mean of the others."""

    def paid(row: Row) -> float:
        return row.score - beta * sum(row.old[t] - row.ref[t] for t in range(row.length))

    loss = torch.zeros((), dtype=torch.float64)
    for row in rows:
        others = [paid(each) for each in siblings(rows, row) if each is not row]
        advantage = paid(row) - mean(others) if others else 0.0
        for t in range(row.length):
            loss = loss - advantage * row.new[t] / len(rows)
    return loss


def reinforce_pp(
    rows: list[Row], *, eps_low: float = 0.2, eps_high: float = 0.2, gamma: float = 1.0, beta: float = 0.01,
    whiten_eps: float = 1e-8,
) -> Tensor:  # fmt: skip
    """arXiv:2501.03262: a token's return after KL, whitened over all tokens of the batch, in PPO's clip."""
    raw = []
    for row in rows:
        rewards = [row.reward[t] - beta * (row.old[t] - row.ref[t]) for t in range(row.length)]
        raw.append([sum(gamma ** (k - t) * rewards[k] for k in rest(row, t)) for t in range(row.length)])
    every = [a for of_row in raw for a in of_row]
    loss = torch.zeros((), dtype=torch.float64)
    for row, of_row in zip(rows, raw, strict=True):
        for t in range(row.length):
            advantage = (of_row[t] - mean(every)) / math.sqrt(max(std(every, ddof=0) ** 2, whiten_eps))
            ratio = torch.exp(row.new[t] - row.old[t])
            gain = min_of_two(ratio * advantage, clip(ratio, 1 - eps_low, 1 + eps_high) * advantage)
            loss = loss - gain / len(every)
    return loss
