"""What the cards say is seen in the lab, where it is a number: the engine trains the linked run and is asked."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from interview.bank import Bank
from interview.schema import Provable, links
from rlcore.engine import init, step
from rlcore.presets import preset


def last_of(params: Mapping[str, object], steps: int) -> dict[str, float]:
    """The metrics of the last step of a linked run."""
    settings = {name: value for name, value in params.items() if name not in ("recipe", "env", "seed")}
    config = preset(str(params["recipe"]), str(params["env"]), int(str(params["seed"]))).with_settings(settings)
    state = init(config)
    for _ in range(steps):
        state, record = step(state, config)
    return dict(record.metrics)


def proof(bank: Bank, card_id: str) -> Mapping[str, object]:
    card = bank.by_id[card_id]
    assert isinstance(card, Provable) and card.proof is not None and card.proof.page == "lab"
    return card.proof.params


@pytest.mark.parametrize("card_id", ["rh-process-reward", "rh-where"])
def test_a_cell_that_pays_at_every_entry_is_walked_in_and_out_of_to_the_cap(bank: Bank, card_id: str) -> None:
    seen = last_of(proof(bank, card_id), 80)
    assert seen["reward_mean"] > 4 and seen["length_mean"] == 32
    honest = last_of({"recipe": "ppo", "env": "gridworld", "seed": 0}, 80)
    assert 0.8 < honest["reward_mean"] < 0.95 and honest["length_mean"] < 16


def test_a_little_kl_does_not_keep_the_policy_from_the_loop_and_much_costs_return(bank: Bank) -> None:
    little = proof(bank, "rh-error-kl")
    held = last_of(little, 80)
    assert held["reward_mean"] > 3 and held["length_mean"] == 32 and held["kl_ref_exact"] < 1
    assert last_of({**little, "kl_beta": 1.0}, 80)["reward_mean"] < 0.4 * held["reward_mean"]


def test_rewards_that_are_nearly_noise_make_the_policy_certain_all_the_same(bank: Bank) -> None:
    assert last_of(proof(bank, "rh-controls"), 150)["entropy"] < 1 < 2 < last_of(proof(bank, "rh-controls"), 1)["entropy"]


def test_every_card_has_a_proof_or_a_reason_and_most_have_a_proof(bank: Bank) -> None:
    proved = [card.id for card in bank.cards if links(card)]
    assert len(proved) >= 90
    texts = [part.no_proof for card in bank.cards for part in getattr(card, "parts", (card,)) if part.no_proof]
    assert not [text for text in texts if "yet" in text], "a reason, not a promise"
