"""The shell: train, list and compare recipes, check the reference vectors. Thin: every number comes from the engine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from rlcore.algorithms import CATALOG, by_key, cautions, diff
from rlcore.config import RunConfig, loads
from rlcore.conformance import check_folder
from rlcore.exports import from_folder, pack, replayed, unpack_file
from rlcore.exports.recorded import compared
from rlcore.knobs import SettingError
from rlcore.presets import preset
from rlcore.records import StepRecord
from rlcore.state import Diverged
from rlcore.store import RunFolder
from rlcore.timeline import Timeline
from rlcore.unfold import unfold

app = typer.Typer(
    add_completion=False, no_args_is_help=True, help="Policy optimisation from the shell.", pretty_exceptions_enable=False
)
out = Console()
err = Console(stderr=True)


@app.command()
def train(
    recipe: Annotated[str | None, typer.Option(help="which recipe; see `recipes`  [default: grpo]")] = None,
    env: Annotated[
        str | None, typer.Option(help="bandit, contextual, gridworld, corridor, or a Gymnasium id  [default: gridworld]")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="all randomness is addressed from it  [default: 0]")] = None,
    steps: Annotated[int, typer.Option(min=1, max=10_000_000, help="training steps")] = 200,
    set_: Annotated[list[str] | None, typer.Option("--set", help="NAME=VALUE, e.g. eps_high=4e-4; repeatable")] = None,
    config: Annotated[Path | None, typer.Option(help="start from this config.json instead of a recipe and env")] = None,
    to: Annotated[Path | None, typer.Option("--out", help="folder for config, metrics, versions and state")] = None,
) -> None:
    """Train one run and say how it went."""
    start = preset(recipe or "grpo", env or "gridworld") if config is None else _from_file(config, recipe, env)
    settings = dict(_setting(text) for text in set_ or ())
    run = Timeline(start.with_settings(settings if seed is None else settings | {"seed": seed}))
    _warn(run.config)
    with _folder(to, run) as folder, _bar() as bar:
        task = bar.add_task("training", total=steps, reward="", kl="")
        for _ in range(steps):
            record = run.advance()
            if folder is not None:
                folder.add(record)
            reward, kl = (_short(record, name) for name in ("reward_mean", "kl_ref"))
            bar.update(task, advance=1, reward=reward, kl=kl)
    out.print(_summary(record))


@app.command()
def recipes() -> None:
    """List the recipes."""
    table = Table("key", "name", "paper", "year")
    for recipe in CATALOG:
        table.add_row(recipe.key, recipe.name, recipe.paper, str(recipe.year))
    out.print(table)


@app.command()
def show(recipe: str) -> None:
    """Show a recipe: its slots, what is off-paper about them, and the whole computation as one page of source."""
    found = by_key(recipe)
    out.print(f"{found.name}   {found.paper}")
    for slot in type(found.algorithm).model_fields:
        out.print(f"  {slot:<13} {getattr(found.algorithm, slot)}", highlight=False, markup=False, soft_wrap=True)
    for caution in cautions(found.algorithm):
        out.print(f"  caution: {caution}", highlight=False, markup=False, soft_wrap=True)
    out.print()
    out.print(unfold(found.algorithm), highlight=False, markup=False, soft_wrap=True)


@app.command(name="diff")
def diff_(first: str, second: str) -> None:
    """Print what changes from one recipe to another, slot by slot."""
    for change in diff(by_key(first).algorithm, by_key(second).algorithm):
        out.print(str(change), highlight=False, markup=False, soft_wrap=True)


@app.command()
def vectors(folder: Path) -> None:
    """Check every reference vector in a folder, values and gradients, at each file's own tolerance."""
    try:
        report = check_folder(folder)
    except (OSError, ValueError) as error:
        raise SettingError(f"vectors: {error}") from error
    out.print(str(report), highlight=False, markup=False, soft_wrap=True)
    if report.failed:
        raise typer.Exit(1)


@app.command()
def capsule(run: Annotated[Path, typer.Argument(help="folder that `train --out` wrote")], to: Path) -> None:
    """Pack a run's folder into a capsule: one zip with its numbers and the programs that make them again."""
    if to.exists():
        raise SettingError(f"to: {to} is there already; choose another name")
    content = pack(from_folder(run))
    try:
        to.write_bytes(content)
    except OSError as error:
        raise SettingError(f"to: cannot write {to} ({error})") from error
    out.print(f"{to}: {len(content) >> 10} KB; `python {to}` runs it", highlight=False, markup=False, soft_wrap=True)


@app.command()
def replay(
    capsule: Annotated[Path, typer.Argument(help="a run that the app or `capsule` exported")],
    to: Annotated[Path | None, typer.Option("--out", help="folder for config, metrics and versions")] = None,
) -> None:
    """Run a capsule again, with every change of settings at its step, and compare all numbers bit by bit."""
    opened = unpack_file(capsule)
    for note in opened.notes:
        err.print(f"[yellow]note[/yellow] {escape(note)}", soft_wrap=True)
    run = opened.run
    out.print(run.title, highlight=False, markup=False, soft_wrap=True)
    with RunFolder(to, run.config) if to is not None else nullcontext() as folder, _bar() as bar:
        task = bar.add_task("replaying", total=run.steps, reward="", kl="")

        def watch(record: StepRecord) -> None:
            if folder is not None:
                folder.add(record)
            bar.update(task, advance=1, reward=_short(record, "reward_mean"), kl=_short(record, "kl_ref"))

        again = replayed(run.path, run.steps, watch=watch)
    differences = compared(run.columns, again.columns)
    for each in differences:
        out.print(f"{each.column}: {each.steps} of {run.steps} steps differ, from step {each.first} on, by at most {each.largest:.3g}")
    if differences:
        raise typer.Exit(1)
    out.print(f"All {len(run.columns) - 1} columns of {run.steps} steps are the same, bit for bit.", highlight=False)


# ---------------------------------------------------------------- words


def _from_file(config: Path, recipe: str | None, env: str | None) -> RunConfig:
    for option, value in (("--recipe", recipe), ("--env", env)):
        if value is not None:
            raise SettingError(f"{option}: must be left out with --config, which says it already, got {value!r}")
    return loads(_read(config))


@contextmanager
def _folder(path: Path | None, run: Timeline) -> Iterator[RunFolder | None]:
    """The run's folder, if one is wanted; the last good state is saved however the run ends."""
    if path is None:
        yield None
        return
    with RunFolder(path, run.config) as folder:
        try:
            yield folder
        finally:
            folder.save_state(run.state())


def _setting(text: str) -> tuple[str, Any]:
    """NAME=VALUE, the value read as JSON where it is JSON, else as a word."""
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise SettingError(f"--set: must be NAME=VALUE, got {text!r}")
    try:
        return name, json.loads(value)
    except (ValueError, RecursionError):
        return name, value


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingError(f"--config: cannot read {path} ({error})") from error


def _warn(config: RunConfig) -> None:
    found = cautions(
        config.algorithm, epochs=config.batch.epochs, minibatches=config.batch.minibatches,
        group_size=config.batch.group_size,
    )  # fmt: skip
    for caution in found:
        err.print(f"[yellow]caution[/yellow] {escape(str(caution))}", soft_wrap=True)


def _bar() -> Progress:
    return Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("reward {task.fields[reward]}"),
        TextColumn("KL {task.fields[kl]}"), TimeRemainingColumn(), console=err,
    )  # fmt: skip


def _short(record: StepRecord, metric: str) -> str:
    return f"{record.metrics[metric]:.4f}"


def _summary(record: StepRecord) -> Table:
    table = Table("after step", str(record.step + 1))
    for name, value in record.metrics.items():
        table.add_row(name, f"{value:.6g}")
    return table


def main() -> None:
    """Run the shell; settings that are refused and divergence end with one clear line and status 2."""
    try:
        app(standalone_mode=True)
    except (SettingError, Diverged) as error:
        err.print(f"[red]error[/red] {escape(str(error))}", soft_wrap=True, highlight=False)
        raise SystemExit(2) from error
