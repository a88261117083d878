"""Random algorithms: any value in any slot, at any setting, for what must hold in every mix."""

from __future__ import annotations

import types
import typing
from typing import Any, Literal, get_args, get_origin

from hypothesis import assume
from hypothesis import strategies as st
from pydantic import ValidationError

from rlcore.algorithm import Algorithm
from rlcore.knobs import Value, knobs_of


@st.composite
def algorithms(draw: st.DrawFn) -> Algorithm:
    """An algorithm with every slot drawn."""
    value = draw(values(Algorithm))
    assert isinstance(value, Algorithm)
    return value


@st.composite
def values(draw: st.DrawFn, model: type[Value]) -> Value:
    """A value of `model` with every setting drawn; combinations that it refuses are drawn again."""
    knobs = knobs_of(model)
    drawn: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        if name in knobs:
            low, high = knobs[name].suggested
            whole = field.annotation is int
            pick = st.sampled_from([field.default, low, high, (low + high) / 2])
            drawn[name] = int(draw(pick)) if whole else draw(pick)
        elif name not in ("kind", "place"):
            drawn[name] = draw(annotated(field.annotation))
    try:
        return model(**drawn)
    except ValidationError:
        assume(False)
        raise


def annotated(annotation: Any) -> st.SearchStrategy[Any]:
    """A strategy for a field's annotation: words, a flag, a number, none, a value, or a union of these."""
    origin = get_origin(annotation)
    if origin is typing.Annotated:
        return annotated(get_args(annotation)[0])
    if origin is Literal:
        return st.sampled_from(get_args(annotation))
    if origin in (typing.Union, types.UnionType):
        return st.one_of([annotated(part) for part in get_args(annotation)])
    if annotation is bool:
        return st.booleans()
    if annotation is type(None):
        return st.none()
    if annotation in (float, int):
        return st.sampled_from([annotation(1), annotation(3)])
    return values(annotation)
