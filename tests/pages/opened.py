"""Open a page of the app in a test, as a link with settings would."""

import json
from pathlib import Path

from streamlit.testing.v1 import AppTest

APP = Path(__file__).resolve().parents[2] / "app.py"


def opened(page: str, **settings: object) -> AppTest:
    """The page `pages/NAME.py` with query parameters, run once; fails on an exception."""
    app = AppTest.from_file(str(APP), default_timeout=120)
    for name, value in settings.items():
        app.query_params[name] = str(value)
    app.switch_page(f"pages/{page}.py").run()
    assert not app.exception, app.exception[0].message
    return app


def words(app: AppTest) -> str:
    """Everything the page says in Markdown, captions, metrics, formulas, and the sentences of its figures."""
    said = [*app.markdown, *app.caption, *app.latex, *app.error]
    figures = [json.loads(each.proto.json or "{}") for each in app.get("bidi_component")]
    told = [each["alt"] for each in figures if isinstance(each, dict) and each.get("caption")]
    return "\n".join([*(each.value for each in said), *told, *(f"{m.label}: {m.value}" for m in app.metric)])
