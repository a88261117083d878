// Entry of the live panel: mounts a Panel where Streamlit asks for one, and keeps it when Streamlit moves the element.
// A Panel lives by its key, not by its DOM node, so zoom, history and sockets survive reruns and remounts.

import { Panel } from "./live/panel.js";
import { unpack } from "./live/frames.js";

const panels = new Map();
const LINGER = 400; // ms a panel without an element is kept, since a remount follows an unmount at once

export function mount({ data, parentElement, setTriggerValue, setStateValue }) {
  const { options, snapshots } = read(data);
  let panel = panels.get(options.key);
  if (!panel) panels.set(options.key, (panel = new Panel(options)));
  clearTimeout(panel.leaving);
  if (panel.root.parentElement !== parentElement) parentElement.appendChild(panel.root);
  panel.send = { trigger: setTriggerValue, state: setStateValue };
  panel.update(options, snapshots);
  return () => {
    panel.leaving = setTimeout(() => {
      panel.dispose();
      panels.delete(options.key);
    }, LINGER);
  };
}

// With a socket the data are plain options; the polled transport packs options and snapshots into bytes.
function read(data) {
  if (!(data instanceof Uint8Array)) return { options: data, snapshots: [] };
  const outer = unpack(data);
  let at = outer.rest.byteOffset;
  const snapshots = outer.header.sizes.map((size) => {
    const part = unpack(new Uint8Array(outer.rest.buffer, at, size));
    at += size;
    return part;
  });
  return { options: outer.header.options, snapshots };
}
