"""The comparison itself can fail: on a wrong number, a missing one, an unknown op, a file that is no vector."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rlcore.conformance import OPS, UnknownOp, check_file, check_folder

VECTORS = Path(__file__).parent / "vectors"
OF = {
    "verl": "agg_loss advantages gae value_loss kl_penalty entropy kl_in_reward rollout_correction",
    "verl.policy_loss": "vanilla gspo cispo sapo geo_mean",
    "openrlhf": "policy_loss approx_kl value_loss advantages",
    "trl": "grpo_loss gspo_loss variant_loss gmpo_loss grpo_loss_accumulation group_advantages rloo "
    "vllm_importance_sampling logps_entropy",
    "trl_ppo": "step",
    "cleanrl": "gae ppo_loss",
    "sb3": "ppo",
    "kl_controller": "adaptive",
}
ALL_OPS = ["overlong_penalty", "zero_variance_filter", "cross_library"] + [
    f"{library}.{name}" for library, names in OF.items() for name in names.split()
]


def changed(tmp_path: Path, stem: str, **changes: Any) -> Path:
    file = tmp_path / f"{stem}.json"
    file.write_text(json.dumps(json.loads((VECTORS / f"{stem}.json").read_text()) | changes))
    return file


def test_every_op_is_in_the_table() -> None:
    assert sorted(OPS) == sorted(ALL_OPS)


def test_an_unknown_op_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(UnknownOp, match=r"verl\.telepathy.*verl\.gae"):
        check_file(changed(tmp_path, "verl_gae_lm", op="verl.telepathy"))
    with pytest.raises(UnknownOp):
        check_folder(tmp_path)


def test_a_number_that_is_off_by_little_fails(tmp_path: Path) -> None:
    outputs = json.loads((VECTORS / "cleanrl_ppo_loss.json").read_text())["outputs"]
    off = changed(tmp_path, "cleanrl_ppo_loss", outputs=outputs | {"loss": outputs["loss"] * (1 + 1e-8)})
    assert [c.name for c in check_file(off) if not c.ok] == ["cleanrl_ppo_loss/loss"]


def test_one_wrong_element_of_a_gradient_fails(tmp_path: Path) -> None:
    outputs = json.loads((VECTORS / "verl_sapo.json").read_text())["outputs"]
    outputs["grad_log_prob"][1][0] += 1e-6
    assert [c.name for c in check_file(changed(tmp_path, "verl_sapo", outputs=outputs)) if not c.ok] == [
        "verl_sapo/grad_log_prob"
    ]


def test_what_is_expected_but_not_recomputed_fails(tmp_path: Path) -> None:
    outputs = json.loads((VECTORS / "verl_gae_lm.json").read_text())["outputs"]
    extra = changed(tmp_path, "verl_gae_lm", outputs=outputs | {"luck": 7.0})
    assert [c.got for c in check_file(extra) if not c.ok] == ["not recomputed"]


def test_nan_agrees_only_with_nan(tmp_path: Path) -> None:
    outputs = json.loads((VECTORS / "cleanrl_gae.json").read_text())["outputs"]
    nan = changed(tmp_path, "cleanrl_gae", outputs=outputs | {"explained_variance": "NaN"})
    assert [c.name for c in check_file(nan) if not c.ok] == ["cleanrl_gae/explained_variance"]


def test_another_shape_fails(tmp_path: Path) -> None:
    outputs = json.loads((VECTORS / "trl_rloo.json").read_text())["outputs"]
    short = changed(tmp_path, "trl_rloo", outputs=outputs | {"advantages": outputs["advantages"][:1]})
    assert [c.name for c in check_file(short) if not c.ok] == ["trl_rloo/advantages"]


def test_a_file_that_is_no_vector_is_named(tmp_path: Path) -> None:
    (tmp_path / "odd.json").write_text("{}")
    with pytest.raises(ValueError, match=r"odd\.json"):
        check_file(tmp_path / "odd.json")
    with pytest.raises(FileNotFoundError, match="no vector files"):
        check_folder(tmp_path / "nowhere")


def test_the_report_counts_by_op() -> None:
    report = check_folder(VECTORS)
    *by_op, everything = report.rows
    assert everything.files == len(list(VECTORS.glob("*.json"))) == sum(row.files for row in by_op)
    assert everything.comparisons == len(report.comparisons) == sum(row.comparisons for row in by_op)
    assert not report.failed and not report.skipped
    assert 0 < report.worst == max(row.worst for row in by_op) <= 1
    assert str(report).splitlines()[-1] == str(everything)
