"""Ratios: one response token by token, length, bands, weights. No maths here."""

from ui import page

SETTINGS = (
    "log_ratios", "source", "recipe", "step", "update", "row", "token", "nudge", "sign", "length", "short", "each", "sd",
    "constant", "eps_low", "eps_high", "seq_eps_low", "seq_eps_high",
)  # fmt: skip

words = page.head("ratios", settings=SETTINGS)
page.engine()
section = page.section(words)

from ui import ratios  # noqa: E402  (after the words are on the screen: it needs the engine)

ratios.SECTIONS[section.key]()
page.questions(section, of="ratios")
