"""Compare: several recipes, values of one setting, or exported runs, on the same seeds, with intervals. No maths here."""

from ui import page

SETTINGS = (
    "arms", "env", "seeds", "seed", "steps", "recipe", "knob", "values", "also", "metric", "x", "smooth", "single",
)  # fmt: skip

words = page.head("compare", settings=SETTINGS)
page.engine()
section = page.section(words)

from ui import compare  # noqa: E402  (after the words are on the screen: it needs the engine)

compare.show(section.key)
page.questions(section, of="compare")
