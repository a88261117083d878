"""`python -m interview curves [CARD ...]`: train the runs of the "read these curves" cards and keep their curves."""

from __future__ import annotations

import argparse
import platform
import sys
import time

import numpy
import torch

from interview import curves
from interview.bank import BankError, load_bank
from interview.runs import card_curves
from interview.schema import ReadCurves
from rlcore.knobs import SettingError


def main(arguments: list[str] | None = None) -> int:
    """Exit code 0, or 1 where a card or a setting was refused."""
    parser = argparse.ArgumentParser(prog="python -m interview", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    train = commands.add_parser("curves", help="train the stored runs and write assets/interview/curves")
    train.add_argument("cards", nargs="*", help="ids of cards; all of them where none is named")
    try:
        return _train(parser.parse_args(arguments).cards)
    except (BankError, SettingError, KeyError) as error:
        print(error, file=sys.stderr)
        return 1


def _train(wanted: list[str]) -> int:
    known = {card.id: card for card in load_bank().cards if isinstance(card, ReadCurves)}
    strange = sorted(set(wanted) - set(known))
    if strange:
        print(f"no such card: {', '.join(strange)}; there are {', '.join(known)}", file=sys.stderr)
        return 1
    torch.set_num_threads(1)
    versions = {"python": platform.python_version(), "torch": torch.__version__, "numpy": numpy.__version__}
    for name in wanted or known:
        start = time.perf_counter()
        path = curves.write(known[name], card_curves(known[name]), versions=versions)
        print(f"{path.name}: {time.perf_counter() - start:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
