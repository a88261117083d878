"""The one vocabulary of all word tasks: 48 tokens, so that any model can be put before any task.

Decoding is a plain join; a word's token carries its leading space. 48 is a multiple of 16: softmax over a ragged last
axis is several times slower on vector units. This module refuses text it has no tokens for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import dropwhile

from rlcore.knobs import SettingError

EOS = 0
"""Ends a reply. It is also what stands after a reply's end, where the mask is False."""

TOKENS: tuple[str, ...] = (
    "<eos>", " ", *"0123456789", *"+=#>", *"()[]{}",
    " the", " this", " movie", " film", " food", " book", " show", " plot", " was", " is", " seemed",
    " really", " very", " quite", " not", " great", " good", " fun", " lovely", " bad", " dull", " awful", " slow",
    " and", " but", ".",
)  # fmt: skip

_ID = {token: i for i, token in enumerate(TOKENS)}
_PIECE = re.compile("|".join(re.escape(token) for token in sorted(TOKENS, key=len, reverse=True)))


def encode(text: str) -> list[int]:
    """Token ids of a text, longest match first. Raises SettingError naming the first piece that is not a token."""
    ids, at = [], 0
    while at < len(text):
        match = _PIECE.match(text, at)
        if match is None:
            raise SettingError(f"text: {text[at : at + 8]!r} (character {at} of {text!r}) is in no token of the vocabulary")
        ids.append(_ID[match.group()])
        at = match.end()
    return ids


def decode(ids: Iterable[int]) -> str:
    """The text of token ids: a plain join."""
    return "".join(TOKENS[i] for i in ids)


def padded(texts: Iterable[str], width: int) -> list[list[int]]:
    """Token ids of prompts, filled up on the left with spaces to `width`; the model reads the spaces like any token."""
    rows = [encode(text) for text in texts]
    return [[_ID[" "]] * (width - len(row)) + row for row in rows]


def unpadded(ids: Iterable[int]) -> list[int]:
    """A prompt's own tokens, without the spaces it was filled up with."""
    return list(dropwhile(lambda i: i == _ID[" "], ids))
