"""Supervised pretraining of the starts in assets/models: imitate a teacher. Never part of a run.

    python -m rlcore.words.pretrain addition --seed 0       writes assets/models/addition-0.safetensors

Deterministic: on one machine the same command writes the same bytes. RECIPES lists what there is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import torch
import typer

from rlcore import masked
from rlcore.optim import Adam, clip_by_global_norm, no_moments
from rlcore.policies.moe import MixtureOfExperts
from rlcore.policies.parameters import Params, flatten
from rlcore.policies.transformer import Transformer
from rlcore.policies.weights import FOLDER, read_weights, save_start
from rlcore.rng import generator
from rlcore.rollout import Rollout
from rlcore.words.addition import Addition
from rlcore.words.brackets import Brackets
from rlcore.words.collect import unscored
from rlcore.words.demonstrations import (
    AdditionTeacher,
    BracketsTeacher,
    SentencesTeacher,
    SortingTeacher,
    Teacher,
)
from rlcore.words.measure import accuracy
from rlcore.words.sentences import Sentences
from rlcore.words.sorting import Sorting
from rlcore.words.task import Task
from rlcore.words.vocabulary import EOS, encode

DENSE = Transformer()


@dataclass(frozen=True)
class Recipe:
    """What a start is made of: a task's prompts, a teacher, an architecture, and how long it is trained."""

    task: Task
    teacher: Teacher
    policy: Transformer = DENSE
    steps: int = 1000
    rows: int = 128
    lr: float = 3e-3


RECIPES: Mapping[str, Recipe] = {
    "addition": Recipe(Addition(), AdditionTeacher()),
    "addition-hurried": Recipe(Addition(), AdditionTeacher(direct=0.8, direct_slips=0.8, work_slips=0.05)),
    "addition-fluent": Recipe(Addition(), AdditionTeacher(direct=0.0, work_slips=0.0)),
    "addition-moe": Recipe(Addition(), AdditionTeacher(), Transformer(feed_forward=MixtureOfExperts())),
    "sorting": Recipe(Sorting(), SortingTeacher(), steps=250),
    "brackets": Recipe(Brackets(), BracketsTeacher(), steps=700),
    "sentences": Recipe(Sentences(), SentencesTeacher(), steps=200),
}


def imitated(recipe: Recipe, seed: int, step: int) -> Rollout:
    """The teacher's replies to random training prompts, in a rollout's shape; every row is its own group."""
    dice, known = generator(seed, step, "starts"), recipe.task.prompts("train")
    which = dice.integers(len(known.texts), size=recipe.rows)
    said = [[*encode(recipe.teacher(known.texts[i], dice)), EOS] for i in which]
    longest = max(map(len, said))
    action = torch.tensor([row + [EOS] * (longest - len(row)) for row in said])
    mask = torch.arange(longest) < torch.tensor([len(row) for row in said]).unsqueeze(1)
    asked = known.ids.index_select(0, torch.from_numpy(which))
    return unscored(asked, torch.arange(recipe.rows), action, mask, torch.zeros(recipe.rows))


def pretrained(recipe: Recipe, seed: int) -> Iterator[tuple[float, Params]]:
    """After each step: mean negative log-likelihood of the reply tokens, and the parameters. Adam, rate falling to 0."""
    theta, layout = flatten(recipe.policy.init(recipe.task.shape(), generator(seed, 0, "init")))
    adam, moments = Adam(eps=1e-8), no_moments(theta)
    for step in range(recipe.steps):
        batch = imitated(recipe, seed, step)
        leaf = theta.detach().requires_grad_()
        loss = -masked.mean(recipe.policy.evaluate(layout.parts(leaf), batch, critic=False).logp, batch.mask)
        (grad,) = torch.autograd.grad(loss, leaf)
        with torch.no_grad():
            clipped, _ = clip_by_global_norm(grad, 1.0)
            theta, moments = adam(theta, clipped, moments, lr=recipe.lr * (1 - step / recipe.steps))
        yield loss.item(), layout.parts(theta)


def main(
    name: Annotated[str, typer.Argument(help=f"One of {', '.join(RECIPES)}.")],
    seed: Annotated[int, typer.Option(min=0, help="Another seed: other first weights and other demonstrations.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Where to write; default assets/models/NAME-SEED.safetensors.")] = None,
) -> None:
    """Pretrain one start and write its weights."""
    if name not in RECIPES:
        raise typer.BadParameter(f"there is no recipe {name!r}; there are {', '.join(RECIPES)}")
    torch.set_num_threads(1)
    recipe, path = RECIPES[name], out or FOLDER / f"{name}-{seed}.safetensors"
    params: Params = {}
    for step, (loss, params) in enumerate(pretrained(recipe, seed)):
        if (step + 1) % 100 == 0:
            typer.echo(f"step {step + 1} of {recipe.steps}: loss {loss:.3f}")
    about = {"command": f"python -m rlcore.words.pretrain {name} --seed {seed}", "task": recipe.task.model_dump_json()}
    save_start(path, params, about | {"policy": recipe.policy.model_dump_json()})
    kept = read_weights(path, like=params)
    found = accuracy(recipe.policy, kept, recipe.task, dice=generator(seed, recipe.steps, "eval"), prompts=512)
    typer.echo(f"{path}: held out, sampled {found.sampled:.3f}, greedy {found.greedy:.3f}, pass@4 {found.pass_at[4]:.3f}")


if __name__ == "__main__":
    typer.run(main)
