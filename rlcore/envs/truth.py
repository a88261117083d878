"""Exact truth on finite problems, by enumeration over states and time: what every estimator is an estimate of.

Everything is a function of the policy's log-probabilities `logp` [S, A] and differentiable in them, float64 advised.
Actions are chosen by the same policy at every time step; returns are sums of gamma^t r_t over at most `horizon` steps.
"""

from __future__ import annotations

import torch
from torch import Tensor

from rlcore.envs.finite import Mdp


def _mean_reward(mdp: Mdp) -> Tensor:
    return torch.from_numpy((mdp.probability * mdp.reward).sum(-1))


def _next_value(mdp: Mdp, value: Tensor) -> Tensor:
    """E[V(s')] per state and action, a terminal outcome being worth 0: [S] -> [S, A]."""
    live = torch.from_numpy(mdp.probability * ~mdp.terminal)
    return (live * value[torch.from_numpy(mdp.following.copy())]).sum(-1)


def expected_return(mdp: Mdp, logp: Tensor, *, gamma: float = 1.0) -> Tensor:
    """J(pi), exact: backward induction over the horizon from the start distribution. Scalar, differentiable."""
    pi, reward = logp.exp(), _mean_reward(mdp).to(logp.dtype)
    value = torch.zeros(mdp.states, dtype=logp.dtype)
    for _ in range(mdp.horizon):
        value = (pi * (reward + gamma * _next_value(mdp, value).to(logp.dtype))).sum(-1)
    return (torch.from_numpy(mdp.start.copy()).to(logp.dtype) * value).sum()


def policy_gradient(mdp: Mdp, logits: Tensor, *, gamma: float = 1.0) -> Tensor:
    """dJ/dlogits of the softmax policy, exact: [S, A] -> [S, A]."""
    leaf = logits.detach().requires_grad_()
    return torch.autograd.grad(expected_return(mdp, torch.log_softmax(leaf, -1), gamma=gamma), leaf)[0]


def occupancy(mdp: Mdp, logp: Tensor) -> Tensor:
    """Expected number of visits to each state in one episode, [S]; sums to the expected length."""
    flow = _flow(mdp, logp)
    here = torch.from_numpy(mdp.start.copy()).to(logp.dtype)
    visits = torch.zeros_like(here)
    for _ in range(mdp.horizon):
        visits = visits + here
        here = here @ flow
    return visits


def _flow(mdp: Mdp, logp: Tensor) -> Tensor:
    """P(next state, still running | state) under the policy: [S, S]."""
    live = torch.from_numpy(mdp.probability * ~mdp.terminal).to(logp.dtype)
    weight = (logp.exp().unsqueeze(-1) * live).reshape(mdp.states, -1)
    index = torch.from_numpy(mdp.following.reshape(mdp.states, -1).copy())
    return torch.zeros(mdp.states, mdp.states, dtype=logp.dtype).scatter_add(1, index, weight)


def kl_per_episode(mdp: Mdp, logp: Tensor, logp_ref: Tensor) -> Tensor:
    """KL between the two policies' episode distributions: sum_s visits(s) KL(pi(.|s) || ref(.|s)), nats."""
    per_state = (logp.exp() * (logp - logp_ref)).sum(-1)
    return (occupancy(mdp, logp) * per_state).sum()


def kl_optimum(reward: Tensor, logp_ref: Tensor, *, kl_beta: float) -> Tensor:
    """The optimum of E[r] - beta KL(pi || ref) for one-step problems, as log-probabilities [S, A].

        pi* = ref exp(r / beta) / Z

    reward, logp_ref [S, A]. beta = 0 puts all mass on the best arms (shared equally between ties of the reference's
    support). Source: e.g. Korbak et al. 2022, arXiv:2205.11275; the closed form behind DPO, arXiv:2305.18290, eq. 4.
    """
    if kl_beta == 0:
        best = reward == reward.amax(-1, keepdim=True)
        return torch.log_softmax(torch.where(best, logp_ref, -torch.inf), -1)
    return torch.log_softmax(logp_ref + reward / kl_beta, -1)


def soft_optimum(mdp: Mdp, logp_ref: Tensor, *, kl_beta: float, gamma: float = 1.0) -> Tensor:
    """pi*_t for KL-regularised return over the whole horizon, by soft backward induction: [T, S, A] log-probs.

    Time matters at a finite horizon, so there is one policy per step. beta > 0.
    """
    reward = _mean_reward(mdp).to(logp_ref.dtype)
    value = torch.zeros(mdp.states, dtype=logp_ref.dtype)
    policies = []
    for _ in range(mdp.horizon):
        q = reward + gamma * _next_value(mdp, value).to(logp_ref.dtype)
        policies.append(torch.log_softmax(logp_ref + q / kl_beta, -1))
        value = kl_beta * torch.logsumexp(logp_ref + q / kl_beta, -1)
    return torch.stack(policies[::-1])


def best_return(mdp: Mdp, *, gamma: float = 1.0) -> float:
    """The largest expected return any (time-dependent) policy can reach."""
    reward = _mean_reward(mdp)
    value = torch.zeros(mdp.states, dtype=torch.float64)
    for _ in range(mdp.horizon):
        value = (reward + gamma * _next_value(mdp, value)).amax(-1)
    return float((torch.from_numpy(mdp.start.copy()) * value).sum())
