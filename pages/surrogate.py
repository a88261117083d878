"""The surrogate: objective and slope over the ratio, real tokens on them, KL beside clip. No maths here."""

from ui import page

SETTINGS = (
    "eps_low", "eps_high", "curves", "dual_clip", "advantage", "ratio", "recipe", "env", "step", "update",
    "lr", "epochs", "mechanisms", "kl_beta", "kl_stop", "sign", "distance", "samples",
)  # fmt: skip

words = page.head("surrogate", settings=SETTINGS)
page.engine()
section = page.section(words)

from ui import surrogate  # noqa: E402  (after the words are on the screen: it needs the engine)

surrogate.SECTIONS[section.key]()
page.questions(section, of="surrogate")
