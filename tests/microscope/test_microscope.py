"""The microscope shows the engine's numbers: its record is the engine's, and what a formula gives is what the trace holds."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest
import torch

from rlcore.aggregation import ConstantLength, SequenceSum, TokenMean
from rlcore.algorithm import Algorithm
from rlcore.algorithms import CATALOG, GRPO, GSPO, PPO
from rlcore.config import RunConfig
from rlcore.correction import MaskedIs, TruncatedIs
from rlcore.critic import ValueClipMax, ValueClipOnly
from rlcore.engine import init, step
from rlcore.gates import TopEntropy
from rlcore.kl import K1, K2, K3, AbsLogRatio, ExactKl, GradientOfK2, KlInLoss, RatioCorrected, RatioWeightedK2
from rlcore.knobs import SettingError
from rlcore.microscope import (
    Phase,
    Scene,
    Selection,
    Station,
    Witnessed,
    batch_map,
    lively,
    loop_of,
    next_teaching,
    open_step,
    path_of,
    phase_of,
    phases,
    picture,
    row_table,
    scene_of,
    source_of,
    state_before,
    stations,
    teaches,
    token_table,
    witness,
)
from rlcore.microscope.applying import spot
from rlcore.microscope.opening import MOST_STEPS
from rlcore.microscope.sloping import gain_slope, kl_slope
from rlcore.microscope.weighing import contributions
from rlcore.presets import preset
from rlcore.ratios import SequenceProduct, SequenceTokenRatio, TokenRatio
from rlcore.surrogates import DualClip, TwoSidedClip, Unclipped, Vespo

WORLDS = ("bandit", "gridworld", "CartPole-v1", "addition")
RECIPES = tuple(recipe.key for recipe in CATALOG)
CELLS = [(recipe, env) for env in WORLDS for recipe in RECIPES]


@lru_cache(maxsize=64)
def seen(recipe: str, env: str) -> Witnessed:
    """The third step of a small run of the preset."""
    config = preset(recipe, env)
    batch = config.batch
    small = {"batch.prompts": 2 if batch.group_size > 1 else 8, "batch.group_size": min(batch.group_size, 6)}
    if batch.segment is not None:
        small = {"batch.segment": 32}
    elif env == "CartPole-v1":
        small |= {"env.horizon": 24}
    return open_step(config.with_settings(small), 3)


def places(of: Witnessed, update: int, most: int = 6) -> list[Scene]:
    """Some tokens that take part in an update."""
    spots = np.argwhere(of.trace.rollout["mask"])
    chosen = spots[np.linspace(0, len(spots) - 1, min(len(spots), most)).astype(int)]
    scenes = [scene_of(of, Selection(int(i), int(t), update)) for i, t in chosen]
    return [scene for scene in scenes if scene.here is not None]


def ends(of: Witnessed) -> list[int]:
    """The first and the last update."""
    return sorted({0, len(of.trace.updates) - 1}) if of.trace.updates else []


def value(phase: Phase, name: str) -> float:
    return next(float(each.values[name]) for each in phase.lines if name in each.values)


def close(a: float, b: float, *, tiny: float = 1e-7, part: float = 2e-5) -> bool:
    return abs(a - b) <= tiny + part * abs(b)


# ---------------------------------------------------------------- the record


@pytest.mark.parametrize(("recipe", "env"), CELLS)
def test_the_record_is_the_engines_own(recipe: str, env: str) -> None:
    of = seen(recipe, env)
    after, record = step(of.state, of.config, trace=True)
    assert record.config == of.record.config and after.step == of.after.step
    assert torch.equal(after.theta, of.after.theta) and torch.equal(after.moments.v, of.after.moments.v)
    assert record.trace is not None and len(record.trace.updates) == len(of.applied)
    for mine, theirs in zip(of.trace.updates, record.trace.updates, strict=True):
        for name, array in vars(theirs).items():
            same = np.array_equal(getattr(mine, name), array, equal_nan=True) if isinstance(array, np.ndarray) else getattr(mine, name) == array
            assert same, name


def test_a_state_before_a_step_is_the_runs_own_however_it_is_reached() -> None:
    config = preset("ppo", "bandit")
    far = state_before(config, 24)
    near = state_before(config, 13)
    state = init(config)
    for n in range(23):
        assert n != 12 or torch.equal(near.theta, state.theta)
        state, _ = step(state, config)
    assert torch.equal(far.theta, state.theta) and far.step == 23


@pytest.mark.parametrize("number", [0, -1, MOST_STEPS + 1])
def test_a_step_beyond_the_bounds_is_refused(number: int) -> None:
    with pytest.raises(SettingError, match=rf"step: must be between 1 and {MOST_STEPS}, got {number}"):
        state_before(preset("grpo", "bandit"), number)


# ---------------------------------------------------------------- every phase against the trace

RESULT = {"ratio": "ratio", "clip": "gain", "weight": "weight", "gradient": "grad_logp", "kl": "kl", "whiten": "advantages"}
"""Phase -> the field of the trace that its first blank asks for."""


@pytest.mark.parametrize(("recipe", "env"), CELLS)
def test_each_phase_ends_in_the_number_of_the_trace(recipe: str, env: str) -> None:
    of = seen(recipe, env)
    for k in ends(of):
        for scene in places(of, k):
            for key in phases(scene):
                phase = phase_of(scene, key)
                if key in RESULT and phase.present:
                    assert phase.blanks[0].answer == scene.now(RESULT[key]), key
                for each in phase.lines:
                    assert set(each.names()) <= set(each.values), each.template
                    assert "@" not in each.latex({})
                for blank in phase.blanks:
                    assert any(blank.name in each.names() for each in phase.lines), f"{key}: {blank.name} stands in no line"


@pytest.mark.parametrize(("recipe", "env"), CELLS)
def test_numbers_of_a_formula_give_its_result(recipe: str, env: str) -> None:
    of = seen(recipe, env)
    for k in ends(of):
        for scene in places(of, k):
            ratio, loss, apply = (phase_of(scene, key) for key in ("ratio", "loss", "apply"))
            assert close(value(ratio, "new") - value(ratio, "old"), value(ratio, "diff"))
            mean = value(ratio, "mean") if any("mean" in each.values for each in ratio.lines) else value(ratio, "diff")
            assert close(math.exp(mean), scene.now("ratio"))
            clip = phase_of(scene, "clip")
            if any("bound" in each.values for each in clip.lines):
                assert close(min(value(clip, "plain"), value(clip, "bound")), scene.now("gain"))
            penalty = scene.update.kl_beta * scene.now("kl")
            bonus = of.config.algorithm.entropy_coef * scene.now("entropy")
            assert close(-scene.now("weight") * (scene.now("gain") - penalty + bonus), value(loss, "mine"))
            at, did = spot(scene).index, scene.applied
            assert value(apply, "before") == did.before[at] and value(apply, "after") == did.after[at]
            stepped = did.lr * value(apply, "mhat") / (math.sqrt(value(apply, "vhat")) + value(apply, "eps"))
            assert close(value(apply, "before") - stepped, value(apply, "after"), tiny=1e-6)
            assert close(value(apply, "g") * min(1, value(apply, "bound") / (value(apply, "norm") + 1e-6)), value(apply, "scaled"))


@pytest.mark.parametrize(("recipe", "env"), CELLS)
def test_shares_add_up_to_the_loss_and_slopes_are_the_gradient(recipe: str, env: str) -> None:
    of = seen(recipe, env)
    for k in ends(of):
        u = of.trace.updates[k]
        whole = contributions(scene_of(of, Selection(0, 0, k)), u).astype(np.float64).sum() + u.value_loss
        assert close(float(whole), u.loss, tiny=2e-6)
        for scene in places(of, k):
            slope = -scene.now("weight") * (gain_slope(scene) - u.kl_beta * kl_slope(scene))
            assert close(slope, scene.now("grad_logp"), tiny=1e-8)


@pytest.mark.parametrize(("recipe", "env"), CELLS)
def test_advantages_follow_from_their_own_numbers(recipe: str, env: str) -> None:
    of = seen(recipe, env)
    prepared = scene_of(of, Selection()).prepared("advantages")
    for scene in places(of, 0) if of.trace.updates else []:
        phase, raw = phase_of(scene, "advantage"), scene.raw.advantages[scene.at.row, scene.at.token]
        assert phase.blanks[0].answer == raw
        if any("delta" in each.values for each in phase.lines):
            ahead = value(phase, "gamma") * value(phase, "lam") * value(phase, "later")
            assert close(value(phase, "delta") + ahead, float(raw), tiny=2e-6)
        elif any("std" in each.values for each in phase.lines):
            assert close((value(phase, "R") - value(phase, "mean")) / (value(phase, "std") + value(phase, "eps")), float(raw), part=1e-4)
        elif any("G" in each.values for each in phase.lines):
            assert close(value(phase, "r") + value(phase, "gamma") * value(phase, "next"), float(raw), tiny=2e-6)
        if of.config.algorithm.whiten.scope == "never":
            assert float(raw) == prepared[scene.at.row, scene.at.token] == scene.now("advantages")
        elif of.config.algorithm.whiten.scope == "batch":
            assert prepared[scene.at.row, scene.at.token] == scene.now("advantages")
        if of.config.algorithm.whiten.scope != "never":
            white = phase_of(scene, "whiten")
            gap = value(white, "A") - value(white, "mean")
            assert close(gap / math.sqrt(value(white, "var")), scene.now("advantages"), tiny=1e-5, part=1e-4)


# ---------------------------------------------------------------- other values in the slots


def on(env: str, algorithm: Algorithm, **settings: object) -> RunConfig:
    """A run of this algorithm whose updates leave ratio 1 behind."""
    config = preset(algorithm_key(algorithm), env)
    extra = {"batch.epochs": 3, "batch.minibatches": 1, "optim.lr": 0.3 if env == "gridworld" else 2e-3, **settings}
    return config.model_copy(update={"algorithm": algorithm}).with_settings(extra)


def algorithm_key(algorithm: Algorithm) -> str:
    return "ppo" if algorithm.needs_critic else "grpo"


def with_slots(base: Algorithm, **slots: object) -> Algorithm:
    return base.model_copy(update=slots)


G, P, S = GRPO.algorithm, PPO.algorithm, GSPO.algorithm
LOSS_KLS = [KlInLoss(kl_beta=0.3, estimator=e) for e in (K1(), K2(), AbsLogRatio(), ExactKl(), K3(log_clamp=0.1, value_clamp=0.05))]
LOSS_KLS += [KlInLoss(kl_beta=0.3, gradient=g) for g in (RatioCorrected(), GradientOfK2(), RatioWeightedK2(cap=1.05))]
MIXES = [
    with_slots(G, surrogate=DualClip(c=1.05)), with_slots(G, surrogate=TwoSidedClip(delta=1.25)), with_slots(G, surrogate=Unclipped()),
    with_slots(G, surrogate=Vespo()), with_slots(G, ratio=SequenceProduct()), with_slots(G, ratio=TokenRatio(clamp=0.01)),
    with_slots(G, ratio=SequenceTokenRatio(clamp=0.001)), with_slots(G, entropy_coef=0.05),
    with_slots(G, entropy_coef=0.05, entropy_aggregate=TokenMean()), with_slots(G, gate=TopEntropy(share=0.5)),
    with_slots(G, aggregate=SequenceSum()), with_slots(G, aggregate=ConstantLength(length=40)), with_slots(P, critic=ValueClipMax()),
    with_slots(P, critic=ValueClipOnly(eps_value=0.01)), with_slots(P, ratio=S.ratio),
    with_slots(G, advantage=G.advantage.model_copy(update={"scale": "batch", "ddof": 0})),
    *(with_slots(G, kl=kl) for kl in LOSS_KLS), with_slots(S, kl=LOSS_KLS[-3]),
]  # fmt: skip


@pytest.mark.parametrize("algorithm", MIXES, ids=lambda a: f"{a.surrogate.kind}-{a.ratio.kind}-{a.kl.kind}-{a.aggregate.kind}")
def test_any_mix_has_its_gradient_and_its_loss(algorithm: Algorithm) -> None:
    config = on("gridworld", algorithm)
    of = witness(state_before(config, 2), config)
    u = of.trace.updates[-1]
    scenes = places(of, len(of.trace.updates) - 1, most=40)
    whole = contributions(scenes[0], u).astype(np.float64).sum() + u.value_loss
    assert close(float(whole), u.loss, tiny=2e-6)
    for scene in scenes:
        slope = -scene.now("weight") * (gain_slope(scene) - u.kl_beta * kl_slope(scene))
        assert close(slope, scene.now("grad_logp"), tiny=1e-8, part=1e-4)
        for key in phases(scene):
            phase = phase_of(scene, key)
            assert key not in RESULT or not phase.present or phase.blanks[0].answer == scene.now(RESULT[key])


@pytest.mark.parametrize("rule", [TruncatedIs(cap=1.1), MaskedIs(low=0.9, high=1.2), TruncatedIs(level="sequence", cap=1.3)])
def test_a_correction_has_a_phase_where_another_sampler_drew(rule: object) -> None:
    config = preset("grpo", "addition").with_settings({"env.temperature": 1.2})
    config = config.model_copy(update={"algorithm": with_slots(G, correction=rule)})
    of = witness(init(config), config)
    scene = places(of, 1, most=30)[3]
    assert "correct" in phases(scene) and phase_of(scene, "correct").blanks[0].answer == scene.now("correction")
    assert "correct" not in phases(scene_of(seen("grpo", "addition"), Selection()))
    slope = -scene.now("weight") * (gain_slope(scene) - scene.update.kl_beta * kl_slope(scene))
    assert close(slope, scene.now("grad_logp"), tiny=1e-8)


# ---------------------------------------------------------------- rows and tokens mean the same everywhere


def test_single_transitions_find_back_to_their_rows() -> None:
    of = seen("ppo", "CartPole-v1")
    assert of.config.batch.shuffled == "transitions"
    per_epoch = of.config.batch.minibatches
    scene = scene_of(of, Selection(3, 17, 0))
    assert len({k // per_epoch for k in scene.meets}) == len(scene.meets) == of.config.batch.epochs
    for k in scene.meets:
        there = replace(scene, at=Selection(3, 17, k))
        assert there.now("logp_old") == of.trace.rollout["logp_old"][3, 17]
        assert there.table("logp_old")[3, 17] == of.trace.rollout["logp_old"][3, 17]


def test_selection_of_groups_shifts_no_rows() -> None:
    config = preset("dapo", "addition", 1)
    of = witness(state_before(config, 3), config)
    kept = of.trace.kept
    assert 0 < kept.sum() < len(kept), "this step must drop some groups and keep some"
    for row in (int(np.flatnonzero(kept)[0]), int(np.flatnonzero(kept)[-1])):
        scenes = [scene_of(of, Selection(row, 0, k)) for k in range(len(of.trace.updates))]
        there = next(scene for scene in scenes if scene.here is not None)
        assert there.now("logp_old") == of.trace.rollout["logp_old"][row, 0]
        assert there.now("advantages") == pytest.approx(float(there.raw.advantages[row, 0]), rel=1e-6)
    dropped = scene_of(of, Selection(int(np.flatnonzero(~kept)[0]), 0, 0))
    assert dropped.meets == () and not phase_of(dropped, "ratio").present
    assert "left out by the recipe's selection" in phase_of(dropped, "ratio").sentence
    assert stations(dropped)[-1].key == "advantage"


def test_a_step_without_updates_says_so() -> None:
    config = preset("dapo", "gridworld").with_settings({"env.goal": 0, "env.hazard": 0, "env.step_cost": 0})
    of = witness(init(config), config)
    scene = scene_of(of, lively(of))
    assert phases(scene) == ("sample", "score", "advantage") and not of.trace.updates
    assert "no update at all" in phase_of(scene, "ratio").sentence


def test_a_selection_beyond_the_batch_lands_inside() -> None:
    of = seen("grpo", "addition")
    scene = scene_of(of, Selection(999, 999, 999))
    assert scene.at.row == len(scene.mask) - 1 and scene.mask[scene.at.row, scene.at.token]
    assert scene.at.update == len(of.trace.updates) - 1


def test_the_walk_goes_on_and_comes_back() -> None:
    scene = scene_of(seen("grpo", "gridworld"), Selection(1, 0, 0))
    walk = stations(scene)
    assert walk[0] == Station("sample", 0) and walk[-1] == Station("apply", len(scene.updates) - 1)
    at, steps = walk[0], [walk[0]]
    while True:
        _, at_next = path_of(scene_of(scene.of, Selection(1, 0, at.update)), at.key)
        if at_next is None:
            break
        back, _ = path_of(scene_of(scene.of, Selection(1, 0, at_next.update)), at_next.key)
        assert back == at
        at = at_next
        steps.append(at)
    assert tuple(steps) == walk


def test_from_an_update_it_is_not_in_the_walk_goes_to_one_that_it_is_in() -> None:
    of = seen("grpo", "addition")
    row = 0
    mine = scene_of(of, Selection(row, 0, 0)).meets
    other = next(k for k in range(len(of.trace.updates)) if k not in mine)
    back, ahead = path_of(scene_of(of, Selection(row, 0, other)), "clip")
    assert {s.update for s in (back, ahead) if s is not None and s.key not in ("sample", "score", "advantage")} <= set(mine)
    assert not phase_of(scene_of(of, Selection(row, 0, other)), "clip").present


# ---------------------------------------------------------------- pictures, tables, sources


@pytest.mark.parametrize(("recipe", "env"), CELLS)
def test_every_phase_has_its_picture_table_and_marked_source(recipe: str, env: str) -> None:
    of = seen(recipe, env)
    scene = scene_of(of, lively(of))
    keys = phases(scene)
    for key in keys:
        phase = phase_of(scene, key)
        assert picture(scene, key) is not None or not phase.present
        if phase.present:
            found = batch_map(scene, key, phase.shows)
            row, column = found.chosen
            assert divmod(int(found.codes[row, column]), scene.mask.shape[1]) == (scene.at.row, scene.at.token)
        source = source_of(of.config, key)
        lines = source.text.split("\n")
        assert source.marked <= set(range(1, len(lines) + 1)) and (source.marked or key == "sample")
        loop = loop_of(of.config.algorithm, key)
        assert loop.marked <= set(range(1, len(loop.text.split("\n")) + 1))
        if key in ("advantage", "clip", "loss") or (key in ("kl", "value", "whiten") and phase.present):
            assert loop.marked, key
    table = token_table(scene, keys)
    assert len({len(column) for column in table.values()}) == 1 and len(table["#"]) == scene.length
    assert len(row_table(scene, judged=True)["row"]) == len(scene.mask)


def test_marked_lines_are_about_the_phase() -> None:
    config = preset("grpo", "gridworld")
    lines = {key: [source_of(config, key).text.split("\n")[n - 1] for n in sorted(source_of(config, key).marked)] for key in ("ratio", "kl")}
    assert any("def token_ratio" in line for line in lines["ratio"]) and any("ratio = token_ratio(" in line for line in lines["ratio"])
    assert any("def k3" in line or ".exp() - " in line for line in lines["kl"]) and not any("ppo_clip" in line for line in lines["kl"])
    loop = loop_of(config.algorithm, "clip")
    assert [loop.text.split("\n")[n - 1].strip() for n in loop.marked] == [
        "gain = min_of_two(ratio * advantage, clip(ratio, 1 - eps_low, 1 + eps_high) * advantage)"
    ]


# ---------------------------------------------------------------- what is written is what is meant


def written(key: str, of: Witnessed, at: Selection | None = None) -> Phase:
    return phase_of(scene_of(of, at or lively(of)), key)


def texts(phase: Phase) -> list[str]:
    return [phase.formula, *(each.latex({}) for each in phase.lines)]


def test_a_ratio_is_written_with_the_recipes_own_sign() -> None:
    for recipe, sign in (("gspo", "s_i"), ("gspo_token", "s_{it}"), ("grpo", r"\rho")):
        said = "".join(texts(written("clip", seen(recipe, "addition"))))
        assert sign in said and (recipe == "grpo" or r"\rho" not in said)


def test_the_summands_of_a_rows_log_ratio_give_the_sum_that_is_shown() -> None:
    of = seen("gspo", "addition")
    u = of.trace.updates[-1]
    row = next(n for n in range(len(u.mask)) if 2 <= u.mask[n].sum() <= 4)
    shown = written("ratio", of, Selection(int(u.rows[row]), 0, len(of.trace.updates) - 1)).lines[1]
    parts = [value for name, value in shown.values.items() if name != "sum"]
    assert len(parts) == u.mask[row].sum() and sum(parts) == pytest.approx(shown.values["sum"], rel=1e-6)
    assert "e-0" not in shown.latex({}), "a small number is written as a power of ten"


@pytest.mark.parametrize("recipe", ["grpo", "gspo"])
def test_a_batch_of_dead_groups_claims_no_gain_and_divides_by_nothing(recipe: str) -> None:
    of = open_step(preset(recipe, "gridworld"), 3)
    assert not teaches(of) and teaches(seen("ppo", "gridworld"))
    assert "A = 0" in written("clip", of).note and "whole" not in written("clip", of).note
    assert "slopes* do not" not in written("loss", of).note and "No row" in written("loss", of).note
    assert r"{0}\Big)" not in "".join(texts(written("apply", of)))
    later = next_teaching(of.config, 3)
    assert later is not None and later > 3 and teaches(open_step(of.config, later))
    assert not any(teaches(open_step(of.config, n)) for n in range(4, later))


def test_a_score_is_written_once() -> None:
    for env in ("bandit", "gridworld", "addition"):
        last = next(each for each in reversed(written("score", seen("grpo", env)).lines) if "R" in each.values)
        left, *right = last.latex({}).split(r"\quad")[0].split("=")
        assert left.startswith("R_{") and len(set(right)) == len(right)


def test_how_many_scores_there_are_is_set_as_words() -> None:
    said = "".join(texts(written("advantage", open_step(preset("grpo", "addition"), 3))))
    assert r"\text{(" in said and " in all" in said and ", … (" not in said and r"\allowbreak" in said
