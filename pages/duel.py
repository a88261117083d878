"""Duel: one frozen batch through several recipes, what-ifs on it, and the three algorithms compared. No maths here."""

from ui import page

SETTINGS = (
    "story", "recipes", "recipe", "env", "seed", "step", "epochs", "run", "node", "numbers", "change", "eps_low", "eps_high",
    "group_size", "kl_beta", "scale", "aggregate", "quantity", "prompt", "row", "state",
)  # fmt: skip

words = page.head("duel", settings=SETTINGS)
page.engine()
section = page.section(words)

from ui import duel  # noqa: E402  (after the words are on the screen: it needs the engine)

duel.SECTIONS[section.key]()
page.questions(section, of="duel")
