"""Names, differences and cautions: what an algorithm is called, how two differ, what is odd about one."""

from __future__ import annotations

import pytest

from rlcore.advantages import Gae, GroupRelative, LeaveOneOut, Returns, Whiten
from rlcore.aggregation import SequenceSum, TokenMean
from rlcore.algorithm import Algorithm
from rlcore.algorithms import (
    CATALOG,
    CISPO,
    DAPO,
    DR_GRPO,
    GMPO,
    GRPO,
    GSPO,
    PPO,
    PPO_RLHF,
    RLOO,
    SAPO,
    Recipe,
    by_key,
    cautions,
    diff,
    recognise,
)  # fmt: skip
from rlcore.critic import NoCritic, ValueMse
from rlcore.kl import K1, K2, AbsLogRatio, KlInLoss, KlInReward, NoKl, RatioCorrected
from rlcore.knobs import SettingError
from rlcore.ratios import SequenceProduct, SequenceRatio, TokenRatio
from rlcore.shaping import DropFlatGroups
from rlcore.surrogates import Cispo, DualClip, Gmpo, PpoClip, ScoreFunction, Unclipped

by_recipe = pytest.mark.parametrize("recipe", CATALOG, ids=lambda recipe: recipe.key)


def with_(recipe: Recipe, **slots: object) -> Algorithm:
    return recipe.algorithm.model_copy(update=slots)


# ---------------------------------------------------------------- recipes


def test_keys_and_names_are_unique() -> None:
    assert len({recipe.key for recipe in CATALOG}) == len({recipe.name for recipe in CATALOG}) == 12


@by_recipe
def test_a_recipe_tells_its_story_and_survives_json(recipe: Recipe) -> None:
    for words in (recipe.story, recipe.differs, recipe.watch_for):
        assert 80 < len(words) < 600 and words.endswith(".") and "\n" not in words
    assert recipe.paper.startswith("arXiv:") and 2017 <= recipe.year <= 2025
    assert recipe.equation.count(r"\underbrace") >= 2
    assert recipe.equation.count("{") == recipe.equation.count("}")
    assert Algorithm.model_validate_json(recipe.algorithm.model_dump_json()) == recipe.algorithm
    assert hash(recipe.algorithm) == hash(recipe.algorithm.model_copy())


@pytest.mark.parametrize(
    ("spelled", "key"),
    [
        ("grpo", "grpo"), ("GRPO", "grpo"), ("Dr. GRPO", "dr_grpo"), ("dr-grpo", "dr_grpo"),
        ("DrGRPO", "dr_grpo"),
        ("REINFORCE++", "reinforce_pp"), ("reinforce-pp", "reinforce_pp"), ("GSPO token", "gspo_token"),
        ("ppo (rlhf)", "ppo_rlhf"), ("Group Sequence Policy Optimization", "gspo"),
    ],
)  # fmt: skip
def test_a_recipe_is_found_however_it_is_spelled(spelled: str, key: str) -> None:
    assert by_key(spelled).key == key


@pytest.mark.parametrize(
    ("wrong", "nearest"), [("gpo", "grpo"), ("dappo", "dapo"), ("reinforce", "reinforce_pp")]
)
def test_an_unknown_recipe_gets_the_nearest_names(wrong: str, nearest: str) -> None:
    with pytest.raises(SettingError, match=f"got '{wrong}'; nearest: .*{nearest}"):
        by_key(wrong)


def test_a_wholly_unknown_recipe_gets_the_list() -> None:
    with pytest.raises(SettingError, match="all: ppo, ppo_rlhf, grpo"):
        by_key("xyzzy")


# ---------------------------------------------------------------- differences and names


def test_grpo_to_gspo_in_three_lines() -> None:
    assert [str(change) for change in diff(GRPO.algorithm, GSPO.algorithm)] == [
        "ratio: TokenRatio() -> SequenceRatio()",
        "surrogate: PpoClip(eps_low=0.2, eps_high=0.2) -> PpoClip(eps_low=0.0003, eps_high=0.0004)",
        "kl: KlInLoss(kl_beta=0.04, estimator=K3(), gradient=AsWritten(), controller=FixedBeta()) -> NoKl()",
    ]


def test_grpo_to_dr_grpo_drops_both_normalisers_and_the_kl() -> None:
    changes = {c.slot: (c.before, c.after) for c in diff(GRPO.algorithm, DR_GRPO.algorithm)}
    assert set(changes) == {"advantage", "aggregate", "kl"}
    assert "scale='none'" in changes["advantage"][1]
    assert changes["aggregate"] == ("SequenceMean()", "ConstantLength()")


@by_recipe
def test_nothing_differs_from_itself_and_every_pair_differs(recipe: Recipe) -> None:
    assert diff(recipe.algorithm, recipe.algorithm) == ()
    for other in CATALOG:
        if other is not recipe:
            assert any(c.structural for c in diff(recipe.algorithm, other.algorithm)), (
                "two recipes, one structure"
            )


@by_recipe
def test_a_recipe_is_recognised(recipe: Recipe) -> None:
    found = recognise(Algorithm.model_validate_json(recipe.algorithm.model_dump_json()))
    assert (found.recipe.key, found.exact, found.named, str(found)) == (recipe.key, True, True, recipe.name)


def test_other_numbers_are_settings_of_the_same_recipe() -> None:
    found = recognise(with_(GRPO, surrogate=PpoClip(eps_low=0.2, eps_high=0.28)))
    assert found.named and not found.exact
    assert str(found) == "GRPO with eps_high 0.28"
    assert str(recognise(with_(GSPO, entropy_coef=0.01))) == "GSPO with entropy_coef 0.01"


def test_a_setting_that_two_slots_share_is_named_with_its_slot() -> None:
    found = recognise(with_(GRPO, advantage=GroupRelative(eps=1e-6, flat="as_written", singleton="keep")))
    assert str(found) == "GRPO with advantage.eps 1e-06, flat as_written, singleton keep"


def test_switching_std_and_length_off_builds_dr_grpo() -> None:
    built = with_(
        GRPO, advantage=GroupRelative(scale="none"), aggregate=DR_GRPO.algorithm.aggregate, kl=NoKl()
    )
    assert str(recognise(built)) == "Dr. GRPO"


def test_a_mix_of_its_own_gets_the_nearest_recipe_and_the_slots_that_differ() -> None:
    found = recognise(with_(DAPO, ratio=SequenceRatio()))
    assert not found.named
    assert str(found) == "unnamed; nearest is DAPO, which differs in ratio"
    assert [c.slot for c in found.changes] == ["ratio"]


# ---------------------------------------------------------------- cautions


def keys(algorithm: Algorithm, **run: object) -> set[str]:
    return {caution.key for caution in cautions(algorithm, **run)}  # type: ignore[arg-type]


@by_recipe
def test_a_recipe_used_as_its_paper_does_draws_no_warning(recipe: Recipe) -> None:
    updates = 1 if recipe is RLOO else 4
    said = cautions(
        recipe.algorithm, epochs=1, minibatches=updates, group_size=8, outcome_only=recipe is not PPO
    )
    assert [c for c in said if c.level == "warning"] == []


LONE = {"group_size": 1}
ONCE = {"epochs": 1, "minibatches": 1}
OFTEN = {"epochs": 4, "minibatches": 2}
ODD = [
    ("wide_sequence_band", with_(GSPO, surrogate=PpoClip()), {}, GSPO, {}),
    ("narrow_token_band", with_(GRPO, surrogate=PpoClip(eps_low=3e-4, eps_high=4e-4)), {}, GSPO, {}),
    ("length_weighted_rows", with_(GSPO, aggregate=TokenMean()), {}, GSPO, {}),
    ("length_weighted_rows", with_(GMPO, aggregate=SequenceSum()), {}, GMPO, {}),
    ("length_weighted_product", with_(DAPO, ratio=SequenceProduct()), {}, DAPO, {}),
    ("product_spreads", with_(GRPO, ratio=SequenceProduct()), {}, GSPO, {}),
    ("ratio_ignored", with_(GMPO, ratio=SequenceRatio()), {}, GMPO, {}),
    ("sequence_weight", with_(CISPO, ratio=SequenceRatio()), {}, CISPO, {}),
    ("clip_lower", with_(DAPO, surrogate=PpoClip(eps_low=0.28, eps_high=0.2)), {}, DAPO, {}),
    ("second_bound_inside", with_(GRPO, surrogate=DualClip(c=1.1)), {},
     with_(GRPO, surrogate=DualClip()), {}),
    ("nothing_dies", CISPO, {}, GRPO, {}),
    ("no_bounds", SAPO, {}, GRPO, {}),
    ("gmpo_needs_rows", with_(GMPO, advantage=Returns()), {}, GMPO, {}),
    ("gae_outcome_only", PPO_RLHF, {"outcome_only": True}, PPO_RLHF, {"outcome_only": False}),
    ("scaled_twice", with_(GRPO, whiten=Whiten(scope="batch")), {}, PPO, {}),
    ("whiten_splits_groups", with_(RLOO, whiten=Whiten(scope="minibatch")), {}, PPO, {}),
    ("no_baseline", with_(GRPO, advantage=Returns()), {}, by_key("reinforce++"), {}),
    ("group_of_one", GRPO, LONE, GRPO, {"group_size": 2}),
    ("drops_everything", DAPO, LONE, GRPO, LONE),
    ("std_of_two", GRPO, {"group_size": 2}, GRPO, {"group_size": 3}),
    ("unfitted_value", with_(PPO, critic=NoCritic()), {}, PPO, {}),
    ("unread_value", with_(GRPO, critic=ValueMse()), {}, GRPO, {}),
    ("kl_without_price", with_(GRPO, kl=KlInLoss(kl_beta=0)), {}, with_(GRPO, kl=NoKl()), {}),
    ("k1_in_loss", with_(GRPO, kl=KlInLoss(estimator=K1())), {},
     with_(GRPO, kl=KlInLoss(estimator=K2())), {}),
    ("k1_in_loss", with_(GRPO, kl=KlInLoss(estimator=K1())), {},
     with_(GRPO, kl=KlInLoss(estimator=K1(), gradient=RatioCorrected())), {}),
    ("abs_is_no_kl", with_(GRPO, kl=KlInLoss(estimator=AbsLogRatio())), {}, GRPO, {}),
    ("kl_is_rescaled", with_(GRPO, kl=KlInReward()), {}, RLOO, {}),
    ("clip_idle", GRPO, ONCE, GRPO, OFTEN),
    ("score_function_reuse", RLOO, OFTEN, RLOO, ONCE),
    ("unclipped_reuse", with_(GRPO, surrogate=Unclipped()), OFTEN, with_(GRPO, surrogate=Unclipped()), ONCE),
]  # fmt: skip


@pytest.mark.parametrize(("key", "odd", "run", "fine", "fine_run"), ODD, ids=[row[0] for row in ODD])
def test_each_caution_speaks_where_it_should_and_is_silent_elsewhere(key, odd, run, fine, fine_run) -> None:  # type: ignore[no-untyped-def]
    odd, fine = (x.algorithm if isinstance(x, Recipe) else x for x in (odd, fine))
    assert key in keys(odd, **run)
    assert key not in keys(fine, **fine_run)


def test_every_caution_is_tested_and_has_a_source_and_a_slot() -> None:
    import inspect
    import re

    from rlcore.algorithms.cautions import about_data, about_loss

    written = set()
    for module in (about_data, about_loss):
        written |= set(re.findall(r'Caution\(\s*"(\w+)"', inspect.getsource(module)))
    assert written == {row[0] for row in ODD}
    for _, odd, run, _, _ in ODD:
        for caution in cautions(odd.algorithm if isinstance(odd, Recipe) else odd, **run):
            assert caution.slot in Algorithm.model_fields
            assert len(caution.source) > 8 and caution.text.endswith(".")
            assert str(caution) == f"{caution.slot}: {caution.text} [{caution.source}]"


def test_what_is_not_known_of_the_run_is_not_spoken_about() -> None:
    assert keys(GRPO.algorithm) == set()
    assert "clip_idle" not in keys(GRPO.algorithm, epochs=1), "minibatches are unknown"


def test_std_of_two_is_true() -> None:
    """(R - mean) / std is 1/sqrt(2) with two rows, whatever the gap."""
    import torch

    for gap in (1e-1, 1.0, 100.0):
        score = torch.tensor([0.0, gap], dtype=torch.float64)
        found = GroupRelative(eps=0.0).of_scores(score, torch.zeros(2, dtype=torch.int64))[-1]
        assert found.tolist() == pytest.approx([-(0.5**0.5), 0.5**0.5])


def test_the_clip_idle_caution_is_true() -> None:
    """On the first update PPO's clip, GSPO's and no clip at all have one gradient: see test_identities."""
    first = keys(with_(GRPO, ratio=TokenRatio()), **ONCE)
    assert {"clip_idle"} <= first and "clip_idle" not in keys(with_(GRPO, surrogate=ScoreFunction()), **ONCE)
    assert "clip_idle" in keys(with_(GRPO, surrogate=Cispo()), **ONCE)
    assert "clip_idle" in keys(with_(GRPO, surrogate=Gmpo()), **ONCE)


def test_recognition_prefers_fewer_structural_differences() -> None:
    """A critic-free PPO is nearer to PPO (control) than to anything with groups."""
    assert recognise(with_(PPO, critic=NoCritic())).recipe is PPO
    assert recognise(with_(RLOO, kl=NoKl())).recipe is RLOO
    assert recognise(with_(PPO_RLHF, advantage=Gae(gamma=1, lam=1))).recipe is PPO_RLHF
    assert recognise(with_(GRPO, advantage=LeaveOneOut())).recipe is GRPO
    assert recognise(with_(GRPO, select=DropFlatGroups())).recipe is GRPO
