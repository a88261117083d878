"""`python -m benchmarks.evidence NAME... | all | list`: run experiments, write `assets/evidence/`, print what they say."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import torch

from rlcore.evidence import Evidence, Interval, judge, load, names, save

HERE = Path(__file__).parent


def main() -> None:
    """Run what is asked for; `list` prints what is stored, without running anything."""
    torch.set_num_threads(1)
    asked = sys.argv[1:] or ["list"]
    if asked == ["list"]:
        for name in known():
            print(told(load(name)) if name in names() else f"{name}: not measured yet")
        return
    unknown = sorted(set(asked) - set(known()) - {"all"})
    if unknown:
        raise SystemExit(f"there is no experiment {unknown[0]!r}; there is {', '.join(known())}")
    for name in known() if "all" in asked else asked:
        print(name, flush=True)
        found: Evidence = importlib.import_module(f"benchmarks.evidence.{name}").evidence()
        if found.name != name:
            raise SystemExit(f"{name}: its evidence is named {found.name}")
        save(found)
        print(told(found), flush=True)


def known() -> tuple[str, ...]:
    """Every experiment: the modules beside this one."""
    return tuple(sorted(path.stem for path in HERE.glob("*.py") if not path.stem.startswith("_")))


def told(evidence: Evidence) -> str:
    """Claim, verdict, means and paired differences, as lines."""
    lines = [f"{evidence.name}: {evidence.claim} [{evidence.verdict or 'described'}]"]
    for arm in evidence.arms:
        lines.append(f"    {arm:<32} {_spelled(evidence.mean(arm))} {evidence.unit}")
    for each in evidence.comparisons:
        found = evidence.difference(each)
        lines.append(f"    {each.arm} - {each.minus}: {_spelled(found)} [{judge(each, found)}] {each.says}")
    return "\n".join(lines)


def _spelled(found: Interval) -> str:
    return f"{found.mean:.4g} [{found.low:.4g}, {found.high:.4g}] n={found.n}"


if __name__ == "__main__":
    main()
