"""The ground everything stands on: pins, Streamlit's settings, theme colors, the browser, and what the README says."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from playwright.sync_api import Browser
from streamlit import config as streamlit_config

from tests import conftest

ROOT = Path(__file__).resolve().parents[1]
SETTINGS = tomllib.loads((ROOT / ".streamlit/config.toml").read_text(encoding="utf-8"))
THEMES = ["light", "dark"]

# Machado, Oliveira and Fernandes 2009, table 1 at severity 1.0, on linear RGB.
VISION = {
    "full": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
# Ottosson 2020, OKLab: a perceptual space in which distance is difference seen.
TO_CONES = np.array(
    [[0.41222147, 0.53633254, 0.05144599], [0.21190350, 0.68069955, 0.10739696], [0.08830246, 0.28171884, 0.62997870]]
)
TO_LAB = np.array(
    [
        [0.21045426, 0.79361779, -0.00407205],
        [1.97799850, -2.42859221, 0.45059371],
        [0.02590404, 0.78277177, -0.80867577],
    ]
)


def linear(color: str) -> np.ndarray:
    """`#RRGGBB` as linear RGB in [0, 1]."""
    channel = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(channel <= 0.04045, channel / 12.92, ((channel + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    """WCAG 2 contrast ratio, 1 to 21."""
    dark, light = sorted(float(linear(color) @ [0.2126, 0.7152, 0.0722]) for color in (one, other))
    return (light + 0.05) / (dark + 0.05)


def mixed(top: str, below: str, *, opacity: float) -> str:
    """The color that `top` at this opacity over `below` ends up as."""
    pairs = [(int(top[i : i + 2], 16), int(below[i : i + 2], 16)) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(opacity * a + (1 - opacity) * b):02X}" for a, b in pairs)


def difference(one: str, other: str, vision: str) -> float:
    """How far apart two colors are seen, in hundredths of OKLab; about 2 is just noticeable."""
    seen = [np.clip(VISION[vision] @ linear(color), 0, 1) for color in (one, other)]
    first, second = (TO_LAB @ np.cbrt(TO_CONES @ rgb) for rgb in seen)
    return 100 * float(np.linalg.norm(first - second))


def pins(file: str) -> dict[str, str]:
    """Package name to pinned version; fails on a line that pins nothing."""
    text = (ROOT / file).read_text(encoding="utf-8")
    lines = [line.split("#")[0].strip() for line in text.splitlines()]
    pairs = [re.fullmatch(r"([\w.-]+)==([\w.]+)", line) for line in lines if line and not line.startswith("-r ")]
    assert all(pairs), f"{file} has a line that is not NAME==VERSION"
    return {pair[1]: pair[2] for pair in pairs if pair}


@pytest.mark.parametrize("file", ["requirements.txt", "requirements-dev.txt"])
def test_what_is_installed_is_what_is_pinned(file: str) -> None:
    installed = {name: version(name).split("+")[0] for name in pins(file)}
    assert installed == pins(file)


def options(table: dict[str, Any], path: str = "") -> list[str]:
    """Dotted names of all settings in a nested table."""
    found = [
        options(value, f"{path}{name}.") if isinstance(value, dict) else [path + name] for name, value in table.items()
    ]
    return list(itertools.chain(*found))


def test_streamlit_knows_every_setting() -> None:
    """One of them, runner.postScriptGC, is undocumented and might be gone after an upgrade."""
    unknown = set(options(SETTINGS)) - set(streamlit_config._config_options_template)
    assert not unknown


def test_only_this_machine_can_connect_and_nothing_is_reported() -> None:
    assert SETTINGS["server"]["address"] == "localhost"
    assert set(SETTINGS["server"]["allowedHosts"]) <= {"localhost", "127.0.0.1", "::1"}
    assert SETTINGS["server"]["maxUploadSize"] <= 10
    assert SETTINGS["browser"]["gatherUsageStats"] is False


@pytest.mark.parametrize("name", THEMES)
def test_text_is_legible(name: str) -> None:
    theme = SETTINGS["theme"][name]
    backgrounds = [theme["backgroundColor"], theme["secondaryBackgroundColor"], *theme["sidebar"].values()]
    for background in backgrounds:
        assert contrast(theme["textColor"], background) >= 7
        assert contrast(theme["linkColor"], background) >= 4.5
    page = theme["backgroundColor"]
    assert contrast(mixed(theme["textColor"], page, opacity=0.6), page) >= 4.5  # captions
    assert contrast("#FFFFFF", theme["primaryColor"]) >= 4.5  # primary buttons
    assert contrast(theme["primaryColor"], page) >= 3  # sliders, switches


@pytest.mark.parametrize("name", THEMES)
def test_chart_colors_stand_out_and_apart_for_every_color_vision(name: str) -> None:
    theme = SETTINGS["theme"][name]
    colors = theme["chartCategoricalColors"]
    assert all(contrast(color, theme["backgroundColor"]) >= 3 for color in colors)
    near = {
        (vision, *pair): difference(*pair, vision)
        for vision in VISION
        for pair in itertools.combinations(colors, 2)
        if difference(*pair, vision) < 6
    }
    assert not near


def test_torch_runs_on_one_thread_here_and_in_what_tests_start() -> None:
    assert torch.get_num_threads() == 1
    command = [sys.executable, "-c", "import torch; print(torch.get_num_threads())"]
    assert subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.strip() == "1"


def test_gymnasium_worlds_are_played_without_pygame() -> None:
    program = (
        "import sys; sys.modules['pygame'] = None\n"
        "import gymnasium\n"
        "for name in ('CartPole-v1', 'Acrobot-v1', 'MountainCar-v0', 'Pendulum-v1', 'FrozenLake-v1', 'CliffWalking-v1'):\n"
        "    worlds = gymnasium.make_vec(name, num_envs=2, vectorization_mode='sync')\n"
        "    worlds.reset(seed=0); worlds.step(worlds.action_space.sample()); worlds.close()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_a_missing_browser_skips_for_a_person_and_fails_on_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SURROGATE_CHROMIUM", str(ROOT / "no-such-browser"))
    with pytest.raises(pytest.skip.Exception, match="apt-get install chromium"):
        conftest.chromium_or_outcome(on_ci=False)
    with pytest.raises(pytest.fail.Exception, match="SURROGATE_CHROMIUM"):
        conftest.chromium_or_outcome(on_ci=True)
    monkeypatch.setenv("SURROGATE_CHROMIUM", sys.executable)
    assert conftest.chromium_or_outcome(on_ci=True) == sys.executable


@pytest.mark.e2e
def test_the_browser_starts_and_shows_a_page(browser: Browser) -> None:
    page = browser.new_page()
    page.goto("data:text/html,<h1>here</h1>")
    assert page.get_by_role("heading").inner_text() == "here"
    page.close()


def test_the_readme_speaks_of_what_there_is() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^(\w+):", makefile, flags=re.MULTILINE))
    assert set(re.findall(r"`?make (\w+)`?", readme)) <= targets
    links = re.findall(r"\]\((?!https?://|#)([^)#]+)", readme)
    assert links and not [link for link in links if not (ROOT / link).exists()]
    shell = re.findall(r"^python -m rlcore (\w+)", readme, flags=re.MULTILINE)
    told = subprocess.run(
        [sys.executable, "-m", "rlcore", "--help"], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert shell and not [command for command in shell if command not in told.stdout]


@pytest.mark.skipif(os.name != "posix", reason="make and bash belong to POSIX systems")
def test_scripts_parse_and_make_knows_its_targets() -> None:
    subprocess.run(["bash", "-n", ".ci/run"], cwd=ROOT, check=True, timeout=30)
    for target in ("app", "test", "lint", "format", "bench", "clean"):
        subprocess.run(["make", "--dry-run", target], cwd=ROOT, check=True, capture_output=True, timeout=30)
