"""Pretrained weights: small safetensors files in assets/models, half precision on disk, float32 in memory.

Loading either gives exactly the parameters asked for or says what is wrong with the file; it never fills gaps.
"""

from __future__ import annotations

import difflib
import json
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from rlcore.knobs import SettingError
from rlcore.policies.parameters import Params

FOLDER = Path(__file__).resolve().parents[2] / "assets" / "models"


def starts() -> tuple[str, ...]:
    """Names of the pretrained starts there are, sorted."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.safetensors")))


def save_start(path: Path, params: Params, made_by: dict[str, str]) -> None:
    """Write parameters in half precision, with what made them in the header. The same input gives the same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    halves = {name: p.detach().half().contiguous() for name, p in params.items()}
    header = {"about": json.dumps(made_by, sort_keys=True)}  # one key: the format writes several in any order
    path.write_bytes(save(halves, header))


def about(path: Path) -> dict[str, str]:
    """What made a weights file, from its header."""
    with safe_open(path, framework="pt") as file:
        return dict(json.loads(file.metadata()["about"]))


def load_start(name: str, *, like: Params) -> Params:
    """The weights called `name`, with exactly the names and shapes of `like`, in float32.

    Raises SettingError: no such file, unreadable, other names or shapes, or numbers that are not finite.
    """
    if name not in starts():
        near = difflib.get_close_matches(name, starts(), n=3, cutoff=0)
        raise SettingError(f"policy.start: there are no weights {name!r}; nearest: {', '.join(near) or 'none'}")
    return read_weights(FOLDER / f"{name}.safetensors", like=like)


def read_weights(path: Path, *, like: Params) -> Params:
    """The tensors of a safetensors file, checked against `like`. Raises SettingError as `load_start`."""
    try:
        with safe_open(path, framework="pt") as file:
            found = {name: file.get_tensor(name).float() for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise SettingError(f"policy.start: {path.name} is not a readable safetensors file ({error})") from error
    _same_names(path.name, found, like)
    for name, tensor in ((name, found[name]) for name in like):
        if tensor.shape != like[name].shape:
            raise SettingError(
                f"policy.start: {path.name} holds {name} as {tuple(tensor.shape)}, "
                f"this policy needs {tuple(like[name].shape)}; layers, width, context or experts differ"
            )
        if not torch.isfinite(tensor).all():
            raise SettingError(f"policy.start: {path.name} holds numbers that are not finite in {name}")
    return {name: found[name] for name in like}


def _same_names(file: str, found: Params, like: Params) -> None:
    missing, extra = sorted(set(like) - set(found)), sorted(set(found) - set(like))
    if missing or extra:
        said = [f"{what} {', '.join(names[:3])}" for what, names in (("lacks", missing), ("has in excess", extra)) if names]
        raise SettingError(f"policy.start: {file} was made for another architecture: it {' and '.join(said)}")
