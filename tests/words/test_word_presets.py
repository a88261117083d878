"""Word tasks have presets like any other world, for every recipe, and learn from their pretrained starts."""

import pytest

from rlcore.algorithms import CATALOG
from rlcore.config import loads
from rlcore.knobs import SettingError
from rlcore.policies.transformer import Transformer
from rlcore.presets import WORDS, environment, preset
from rlcore.rng import generator
from rlcore.timeline import Timeline
from rlcore.words.env import Words
from rlcore.words.measure import accuracy


@pytest.mark.parametrize("recipe", [recipe.key for recipe in CATALOG])
@pytest.mark.parametrize("task", list(WORDS))
def test_every_recipe_has_a_preset_that_survives_json(recipe: str, task: str) -> None:
    config = preset(recipe, task)
    assert isinstance(config.policy, Transformer) and config.policy.start == WORDS[task][1]
    assert loads(config.dumps()) == config


@pytest.mark.parametrize("recipe", ["ppo", "grpo", "gspo"])
def test_forty_updates_sharpen_addition_on_held_out_prompts(recipe: str) -> None:
    run = Timeline(preset(recipe, "addition"))
    assert isinstance(run.config.env, Words) and isinstance(run.config.policy, Transformer)

    def sampled() -> float:
        dice = generator(0, run.head.step, "eval")
        return accuracy(run.config.policy, run.state().params, run.config.env.task, dice=dice).sampled  # type: ignore

    before = sampled()
    for _ in range(40):
        run.advance()
    assert before < 0.6
    assert sampled() > 0.8


def test_a_misspelt_task_is_suggested() -> None:
    with pytest.raises(SettingError, match="addition"):
        environment("adition")
