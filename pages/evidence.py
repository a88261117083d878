"""Evidence: what was claimed, what was measured on this engine, and what follows by rule. No maths here."""

from ui import page

words = page.head("evidence")
page.engine()
section = page.section(words)

from ui import evidence  # noqa: E402  (after the words are on the screen: it needs the engine)

evidence.section(section.key)
page.questions(section, of="evidence")
