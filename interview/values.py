"""The ground of the interview room: frozen models, identifiers and where a claim comes from.

A source is a claim's passport. This module refuses a source that cannot be looked up: no bare "common knowledge",
no link without a place in it.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Slug = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=60)]
Text = Annotated[str, StringConstraints(min_length=3, max_length=1600, strip_whitespace=True)]
Scalar = bool | int | float | str


class Frozen(BaseModel):
    """A frozen value that refuses unknown fields, infinities and NaN."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, str_strip_whitespace=True)


class Paper(Frozen):
    """A paper: an arXiv number or another printed reference, and where in it, as far as that was read."""

    kind: Literal["paper"]
    ref: Annotated[str, StringConstraints(pattern=r"^(arXiv:\d{4}\.\d{4,5}|doi:\S+)$")]
    where: str = ""

    def cite(self) -> str:
        return f"{self.ref} {self.where}".strip()

    def url(self) -> str | None:
        scheme, _, number = self.ref.partition(":")
        return f"https://arxiv.org/abs/{number}" if scheme == "arXiv" else f"https://doi.org/{number}"


class Library(Frozen):
    """A library at a version, and the file in it that does what the card says."""

    kind: Literal["library"]
    name: Literal["TRL", "verl", "OpenRLHF", "CleanRL", "SB3", "RLlib"]
    version: Annotated[str, StringConstraints(min_length=1)]
    file: Annotated[str, StringConstraints(min_length=3)]

    def cite(self) -> str:
        return f"{self.name} {self.version}, {self.file}"

    def url(self) -> str | None:
        return None


class Thread(Frozen):
    """An issue or pull request where the question was asked or settled: owner/name#number."""

    kind: Literal["thread"]
    ref: Annotated[str, StringConstraints(pattern=r"^[\w.-]+/[\w.-]+#\d+$")]

    def cite(self) -> str:
        return self.ref

    def url(self) -> str | None:
        repository, _, number = self.ref.partition("#")
        return f"https://github.com/{repository}/issues/{number}"


class Page(Frozen):
    """A documentation page or post that can be opened, or a file of a public repository."""

    kind: Literal["page"]
    title: Annotated[str, StringConstraints(min_length=3)]
    address: Annotated[str, StringConstraints(pattern=r"^https://\S+$")]

    def cite(self) -> str:
        return self.title

    def url(self) -> str | None:
        return self.address


class Vector(Frozen):
    """A reference vector under tests/parity/vectors: numbers made by running the named library."""

    kind: Literal["vector"]
    name: Annotated[str, StringConstraints(pattern=r"^[a-z0-9_]+$")]

    def cite(self) -> str:
        return f"reference vector {self.name}"

    def url(self) -> str | None:
        return None


class Computed(Frozen):
    """A number recomputed from the definition by the test suite each time it runs (tests/interview/facts.py)."""

    kind: Literal["computed"]
    fact: Slug

    def cite(self) -> str:
        return f"recomputed by the tests: {self.fact}"

    def url(self) -> str | None:
        return None


class Measured(Frozen):
    """A measurement with its set-up, printed where it was reported."""

    kind: Literal["measured"]
    what: Text

    def cite(self) -> str:
        return f"measured: {self.what}"

    def url(self) -> str | None:
        return None


class Derivation(Frozen):
    """A result that follows in a few lines from stated definitions; `how` names the steps."""

    kind: Literal["derivation"]
    how: Text

    def cite(self) -> str:
        return f"derivation: {self.how}"

    def url(self) -> str | None:
        return None


Source = Annotated[
    Paper | Library | Thread | Page | Vector | Computed | Measured | Derivation, Field(discriminator="kind")
]
