"""Held-out accuracy of a live run of a word task, measured now and then, in slices: the worker is never held up.

Sampled, greedy and pass@k are told apart; training dice are never touched, and every measurement throws the same dice,
so the curve moves where the policy does.
"""

from __future__ import annotations

from collections.abc import Generator

from rlcore.config import RunConfig
from rlcore.policies.transformer import Transformer
from rlcore.rng import generator
from rlcore.state import TrainState
from rlcore.words.env import Words
from rlcore.words.measure import accuracy_slices

EVERY = 5  # updates between measurements; the first is after the first update
PROMPTS, SAMPLES = 64, 4


def heldout(config: RunConfig, state: TrainState) -> Generator[None, None, dict[str, float]]:
    """heldout_sampled, heldout_greedy, heldout_pass_at_4, heldout_truncated, of the first held-out prompts.

    Empty where the run is no word task, or this is not one of the steps that are measured.
    """
    env, policy = config.env, config.policy
    if not isinstance(env, Words) or not isinstance(policy, Transformer) or (state.step - 1) % EVERY:
        return {}
    found = yield from accuracy_slices(
        policy, state.params, env.task, dice=generator(config.seed, 0, "eval"), prompts=PROMPTS, samples=SAMPLES
    )
    return {
        "heldout_sampled": found.sampled, "heldout_greedy": found.greedy, f"heldout_pass_at_{SAMPLES}": found.pass_at[SAMPLES],
        "heldout_truncated": found.truncated,
    }  # fmt: skip
