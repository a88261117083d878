"""Small components of our own: browser files under `static/` mounted as Streamlit components.

A file exports `mount({ data, parentElement, setStateValue }, extra)` and returns what undoes it. Nothing is built.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import streamlit as st

STATIC = Path(__file__).resolve().parent.parent / "static"

_LOADER = """
const EXTRA = __EXTRA__;
function styled() {
  for (const name of __STYLES__) {
    const href = new URL("app/static/" + name + "?v=__VERSION__", document.baseURI).href;
    if (![...document.styleSheets].some((sheet) => sheet.href === href))
      document.head.append(Object.assign(document.createElement("link"), { rel: "stylesheet", href }));
  }
}
export default (component) => {
  let leave = null, left = false;
  const loaded = (window.__surrogate ??= {});
  if (!loaded["__NAME__"]) {
    styled();
    loaded["__NAME__"] = import(new URL("app/static/__MODULE__?v=__VERSION__", document.baseURI)).then((m) => (loaded["__NAME__ now"] = m));
  }
  const now = loaded["__NAME__ now"];
  if (now) leave = now.mount(component, EXTRA);
  else loaded["__NAME__"].then((module) => { if (!left) leave = module.mount(component, EXTRA); });
  return () => { left = true; leave?.(); };
};
"""


def component(name: str, module: str, *, beside: tuple[str, ...] = (), styles: tuple[str, ...] = (), extra: Any = None) -> Any:
    """Register `static/MODULE` as a component.

    beside  files that the module imports · styles  style sheets it needs · extra  plain values that never change
    A change of any of these files changes their address, so that a cached older one is never used.
    """
    files = (module, *beside, *styles)
    version = hashlib.sha256(b"".join((STATIC / file).read_bytes() for file in files)).hexdigest()[:12]
    filled = {"EXTRA": json.dumps(extra), "STYLES": json.dumps(styles), "VERSION": version, "NAME": name, "MODULE": module}
    script = _LOADER
    for key, value in filled.items():
        script = script.replace(f"__{key}__", value)
    return st.components.v2.component(name, js=script, isolate_styles=False)
