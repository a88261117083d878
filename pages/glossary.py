"""The glossary: every quantity with symbol, shape, meaning, formula and the libraries' names. No words of its own."""

from ui import page

words = page.head("glossary", settings=("term", "q", "kind"))
page.engine()

from ui import glossary  # noqa: E402  (after the words are on the screen: it needs the engine)

glossary.entry()
glossary.search()
page.questions(words.section("names"))
