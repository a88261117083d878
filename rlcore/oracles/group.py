"""Oracles of the methods that compare siblings: one double loop each, to be read beside the paper's sum.

A loss is minimised, so each function subtracts gains. Numbers default to the recipe's. Nothing is shared
with the tensor code but the data.
"""

from __future__ import annotations

import torch
from torch import Tensor

from rlcore.oracles.rows import Row, clip, mean, min_of_two, siblings, std


def group_advantage(rows: list[Row], row: Row, *, std_eps: float) -> float:
    """(R_i - mean R) / (std R + eps) over the answers to the same question."""
    scores = [each.score for each in siblings(rows, row)]
    return (row.score - mean(scores)) / (std(scores) + std_eps)


def grpo(
    rows: list[Row], *, eps_low: float = 0.2, eps_high: float = 0.2, beta: float = 0.04, std_eps: float = 1e-4
) -> Tensor:
    """arXiv:2402.03300, eq. 3: mean over answers of the mean over tokens of min(..) - beta * k3."""
    loss = torch.zeros((), dtype=torch.float64)
    for row in rows:
        advantage = group_advantage(rows, row, std_eps=std_eps)
        for t in range(row.length):
            ratio = torch.exp(row.new[t] - row.old[t])
            gain = min_of_two(ratio * advantage, clip(ratio, 1 - eps_low, 1 + eps_high) * advantage)
            k3 = torch.exp(row.ref[t] - row.new[t]) - (row.ref[t] - row.new[t]) - 1
            loss = loss - (gain - beta * k3) / row.length / len(rows)
    return loss


def dr_grpo(rows: list[Row], *, eps_low: float = 0.2, eps_high: float = 0.2, length: float) -> Tensor:
    """arXiv:2503.20783, sec. 3: token sums over one constant, plain differences to the group's mean."""
    loss = torch.zeros((), dtype=torch.float64)
    for row in rows:
        advantage = row.score - mean([each.score for each in siblings(rows, row)])
        for t in range(row.length):
            ratio = torch.exp(row.new[t] - row.old[t])
            gain = min_of_two(ratio * advantage, clip(ratio, 1 - eps_low, 1 + eps_high) * advantage)
            loss = loss - gain / length / len(rows)
    return loss


def dapo(
    rows: list[Row], *, eps_low: float = 0.2, eps_high: float = 0.28, std_eps: float = 1e-4,
    max_length: float = 20480, cache: float = 4096, factor: float = 1.0,
) -> Tensor:  # fmt: skip
    """arXiv:2503.14476, eq. 8, 11 and 13: one mean over all tokens of the groups that are not flat."""

    def punished(row: Row) -> float:
        over = row.length - (max_length - cache)
        return row.score - factor * min(max(over / cache, 0.0), 1.0)

    kept = [row for row in rows if len({each.score for each in siblings(rows, row)}) > 1]
    tokens = sum(row.length for row in kept)
    loss = torch.zeros((), dtype=torch.float64)
    for row in kept:
        scores = [punished(each) for each in siblings(kept, row)]
        advantage = (punished(row) - mean(scores)) / (std(scores) + std_eps)
        for t in range(row.length):
            ratio = torch.exp(row.new[t] - row.old[t])
            gain = min_of_two(ratio * advantage, clip(ratio, 1 - eps_low, 1 + eps_high) * advantage)
            loss = loss - gain / tokens
    return loss


def gspo(rows: list[Row], *, eps_low: float = 3e-4, eps_high: float = 4e-4, std_eps: float = 1e-4) -> Tensor:
    """arXiv:2507.18071, eq. 5 to 7: one ratio, one clip, one vote per answer."""
    loss = torch.zeros((), dtype=torch.float64)
    for row in rows:
        if row.length == 0:
            continue
        advantage = group_advantage(rows, row, std_eps=std_eps)
        log_ratios = torch.zeros((), dtype=torch.float64)
        for t in range(row.length):
            log_ratios = log_ratios + row.new[t] - row.old[t]
        s = torch.exp(log_ratios / row.length)
        loss = loss - min_of_two(s * advantage, clip(s, 1 - eps_low, 1 + eps_high) * advantage) / len(rows)
    return loss


def gspo_token(
    rows: list[Row], *, eps_low: float = 3e-4, eps_high: float = 4e-4, std_eps: float = 1e-4
) -> Tensor:
    """arXiv:2507.18071, eq. 13 and 14: the answer's ratio as a number in each token, its own gradient."""
    loss = torch.zeros((), dtype=torch.float64)
    for row in rows:
        if row.length == 0:
            continue
        advantage = group_advantage(rows, row, std_eps=std_eps)
        s = torch.exp(sum((row.new[t] - row.old[t] for t in range(row.length)), torch.zeros(())) / row.length)
        for t in range(row.length):
            s_token = s.detach() * torch.exp(row.new[t] - row.new[t].detach())
            gain = min_of_two(s_token * advantage, clip(s_token, 1 - eps_low, 1 + eps_high) * advantage)
            loss = loss - gain / row.length / len(rows)
    return loss


def cispo(rows: list[Row], *, eps_low: float = 1.0, eps_high: float = 4.0, std_eps: float = 1e-4) -> Tensor:
    """arXiv:2506.13585, sec. 3.1: a clipped weight without gradient, times A log pi; mean over all tokens."""
    tokens = sum(row.length for row in rows)
    loss = torch.zeros((), dtype=torch.float64)
    for row in rows:
        advantage = group_advantage(rows, row, std_eps=std_eps)
        for t in range(row.length):
            weight = clip(torch.exp(row.new[t].detach() - row.old[t]), 1 - eps_low, 1 + eps_high)
            loss = loss - weight * advantage * row.new[t] / tokens
    return loss


def sapo(rows: list[Row], *, tau_pos: float = 1.0, tau_neg: float = 1.05, std_eps: float = 1e-4) -> Tensor:
    """arXiv:2511.20347: a sigmoid gate in place of the clip, steeper for A <= 0; mean of token means."""
    loss = torch.zeros((), dtype=torch.float64)
    for row in rows:
        advantage = group_advantage(rows, row, std_eps=std_eps)
        tau = tau_pos if advantage > 0 else tau_neg
        for t in range(row.length):
            ratio = torch.exp(row.new[t] - row.old[t])
            gain = advantage * (4 / tau) / (1 + torch.exp(-tau * (ratio - 1)))
            loss = loss - gain / row.length / len(rows)
    return loss


def gmpo(rows: list[Row], *, eps_low: float = 0.4, eps_high: float = 0.4, std_eps: float = 1e-4) -> Tensor:
    """arXiv:2507.20673, sec. 3: clip token log-ratios on the side A pushes to, then the geometric mean."""
    loss = torch.zeros((), dtype=torch.float64)
    for row in rows:
        if row.length == 0:
            continue
        advantage = group_advantage(rows, row, std_eps=std_eps)
        log_ratios = torch.zeros((), dtype=torch.float64)
        for t in range(row.length):
            log_ratio = row.new[t] - row.old[t]
            if advantage > 0:
                log_ratios = log_ratios + clip(log_ratio, -float("inf"), eps_high)
            else:
                log_ratios = log_ratios + clip(log_ratio, -eps_low, float("inf"))
        loss = loss - advantage * torch.exp(log_ratios / row.length) / len(rows)
    return loss
