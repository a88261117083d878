"""No page has a serious or critical accessibility finding, in light or in dark, by axe-core's rules."""

import pytest
from axe_playwright_python.sync_playwright import Axe

from ui.pages import existing

SECTIONS = ("advantages?show=gae", "ratios?show=weights", "duel?show=table", "duel?show=recipes", "misconceptions?card=7")
PATHS = (*(entry.url for entry in existing()), *SECTIONS)
SETTLED = """() => document.querySelector('[data-testid=stMain] h1, [data-testid=stMain] h2')
  && !document.querySelector('[data-testid=stSpinner]')
  && [...document.querySelectorAll('.surrogate-figure')].every((f) => f.dataset.drawn)
  && document.querySelector('[data-testid=stApp]').getAttribute('data-test-script-state') !== 'running'"""


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path or "home")
def test_axe_finds_nothing_serious(page, app_url, path):
    page.goto(f"{app_url}/{path}")
    found = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        dark = scheme == "dark"
        page.wait_for_function(
            f"() => (getComputedStyle(document.querySelector('.stApp')).colorScheme === 'dark') === {str(dark).lower()}"
        )
        page.wait_for_function(SETTLED)
        for each in Axe().run(page).response["violations"]:
            if each["impact"] in ("serious", "critical"):
                found += [f"{scheme} {each['id']}: {node['target']} {node['html'][:200]}" for node in each["nodes"]]
    assert not found, "\n".join(found)
