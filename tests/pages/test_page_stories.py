"""Stories in the lab: opened by address, chosen from the gallery, left again; Home names ones that exist."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from rlcore.stories import STORIES, story
from tests.pages.opened import opened, words

HOME = Path(__file__).resolve().parents[2] / "pages" / "home.py"


def request(app):
    return app.session_state["lab_request"]


@pytest.mark.parametrize("name", ["idle-clip", "dead-groups", "lr-cliff"])
def test_an_address_opens_a_story_and_says_what_it_stands_for(name: str) -> None:
    told = story(name)
    app = opened("lab", story=name)
    assert (request(app).story, request(app).env, request(app).recipe) == (name, told.env, told.recipe)
    said = words(app)
    assert told.title in said and told.question in said
    assert f"{told.steps} updates" in said and "seed 0" in said
    (radio,) = app.radio
    assert radio.value is None and list(radio.options) == [outcome.says for outcome in told.outcomes]
    assert app.query_params["story"] in (name, [name])


def test_the_other_side_and_leaving() -> None:
    app = opened("lab", story="idle-clip")
    next(b for b in app.button if b.label.startswith("The other side")).click().run()
    assert request(app).arm == "four passes" and "four passes" in words(app)
    next(b for b in app.button if b.label == "Leave the story").click().run()
    assert request(app).story == "" and not app.radio and "story" not in app.query_params


def test_a_story_that_does_not_exist_is_refused() -> None:
    app = opened("lab", story="nope")
    assert "story: must be one of" in "\n".join(each.value for each in app.warning)
    assert request(app).story == ""


def test_the_claim_tells_what_it_was_measured_on() -> None:
    app = opened("lab", story="idle-clip")
    said = words(app)
    assert "8 of 8 seeds" in said and "python -m benchmarks.stories idle-clip" in said


def test_home_links_to_stories_that_exist_by_their_titles() -> None:
    tree = ast.parse(HOME.read_text(encoding="utf-8"))
    (named,) = [ast.literal_eval(n.value) for n in tree.body if isinstance(n, ast.Assign) and n.targets[0].id == "STORIES"]
    assert named.items() <= {each.name: each.title for each in STORIES}.items()
