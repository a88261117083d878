"""Advantages: groups, conventions, dead groups, difficulty, exact gradients, credit by step. No maths here."""

from ui import page

SETTINGS = (
    "rewards", "rewards_b", "scale", "shift", "factor", "p", "group_size", "arms", "policy", "baseline", "lam", "gamma",
    "step", "row", "estimators", "hand_rewards", "hand_values",
)  # fmt: skip

words = page.head("advantages", settings=SETTINGS)
page.engine()
section = page.section(words)

from ui import advantages  # noqa: E402  (after the words are on the screen: it needs the engine)

advantages.SECTIONS[section.key]()
page.questions(section, of="advantages")
