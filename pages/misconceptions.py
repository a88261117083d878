"""Fifteen misconceptions: a claim, a guess, and the calculation that refutes it, done now. No words of its own."""

from ui import page

words = page.head("misconceptions", settings=("card",))
page.engine()

from ui import misconceptions  # noqa: E402  (after the words are on the screen: it needs the engine)

misconceptions.cards(words)
