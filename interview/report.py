"""The mock interview's report as Markdown and as one HTML page: strong, missing, red flags, states to revisit.

Everything a person typed is escaped; the page loads nothing from anywhere and runs no script.
"""

from __future__ import annotations

import re
from datetime import datetime

from jinja2 import Environment, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup

from interview.links import ProofLink
from interview.mock import Result

_WORDS = ((0.9, "ready"), (0.7, "nearly ready"), (0.4, "half-way"), (0.0, "not yet"))

_MARKDOWN = """# Mock interview: {{ r.case.title }}

{{ held }} · {{ percent(r.value) }} of the points · {{ verdict }}

{% for part in r.parts -%}
## {{ loop.index }}. {{ part.part.title }} — {{ percent(part.score.value) }}{{ minutes(part) }}

{{ listed("Strong", part.strong) }}
{{- listed("Recovered in a follow-up", part.repaired) }}
{{- listed("Missing", part.missing) }}
{{- listed("Red flags", part.red_flags) }}
{%- if part.note %}Your notes:

{{ fenced(part.note) }}

{% endif %}
{%- endfor %}
{%- if r.revisit %}## States to revisit

{% for link in r.revisit %}- [{{ link.page }}]({{ address(link) }}): {{ link.do }}
{% endfor %}
{%- endif %}"""

_HTML = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Mock interview: {{ r.case.title }}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
pre { white-space: pre-wrap; border-left: 3px solid; padding-left: .8rem; }
h3.red { text-decoration: underline; }
</style></head><body>
<h1>Mock interview: {{ r.case.title }}</h1>
<p>{{ held }} · {{ percent(r.value) }} of the points · <strong>{{ verdict }}</strong></p>
{% for part in r.parts %}
<section><h2>{{ loop.index }}. {{ part.part.title }} — {{ percent(part.score.value) }}{{ minutes(part) }}</h2>
{% for head, lines in (("Strong", part.strong), ("Recovered in a follow-up", part.repaired),
 ("Missing", part.missing), ("Red flags", part.red_flags)) %}{% if lines %}
<h3{% if head == "Red flags" %} class="red"{% endif %}>{{ head }}</h3>
<ul>{% for line in lines %}<li>{{ inline(line) }}</li>{% endfor %}</ul>
{% endif %}{% endfor %}
{% if part.note %}<h3>Your notes</h3><pre>{{ part.note }}</pre>{% endif %}
</section>
{% endfor %}
{% if r.revisit %}<h2>States to revisit</h2>
<ul>{% for link in r.revisit %}<li><a href="{{ address(link) }}">{{ link.page }}</a>: {{ inline(link.do) }}</li>
{% endfor %}</ul>{% endif %}
</body></html>
"""
_inline = MarkdownIt("commonmark", {"html": False}).renderInline


def markdown_report(result: Result, *, held: datetime, app_url: str) -> str:
    """The report as Markdown."""
    return _render(_MARKDOWN, result, held, app_url, autoescape=False).rstrip() + "\n"


def html_report(result: Result, *, held: datetime, app_url: str) -> str:
    """The report as one self-contained HTML page."""
    return _render(_HTML, result, held, app_url, autoescape=True)


def _render(template: str, result: Result, held: datetime, app_url: str, *, autoescape: bool) -> str:
    environment = Environment(autoescape=autoescape, undefined=StrictUndefined, keep_trailing_newline=True)

    def address(link: ProofLink) -> str:
        return f"{app_url.rstrip('/')}/{link.path()}"

    return environment.from_string(template).render(
        r=result,
        held=held.strftime("%Y-%m-%d %H:%M"),
        verdict=next(word for least, word in _WORDS if result.value >= least),
        percent=lambda share: f"{100 * share:.0f} %",
        minutes=lambda part: f" ({part.minutes:.0f} of {part.part.minutes} min)" if part.minutes else "",
        listed=_listed,
        fenced=_fenced,
        inline=lambda text: Markup(_inline(text)),
        address=address,
    )


def _listed(head: str, lines: tuple[str, ...]) -> str:
    return f"**{head}**\n\n" + "".join(f"- {line}\n" for line in lines) + "\n" if lines else ""


def _fenced(text: str) -> str:
    """A code block whose fence is longer than any run of backticks inside, so the text cannot end it."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"
