// A teacher's link: controls named in it are hidden, or shown disabled with a note. The server refuses them as well; this
// only spares people from turning what will not turn.

import { el } from "./dom.js";

const NAMED = "[data-knob], [data-choice], [data-fresh]";
const NOTE = "locked by the link that opened this page";

export function teach(panel) {
  const { hide = [], lock = [] } = panel.options.taught ?? {};
  if (!hide.length && !lock.length) return;
  const shut = (name) => lock.includes(name) || lock.includes("*");
  for (const control of panel.root.querySelectorAll(NAMED)) {
    const name = control.dataset.knob ?? control.dataset.choice ?? control.dataset.fresh;
    const holder = control.closest(".lv-knob") ?? control.parentElement;
    if (hide.includes(name)) holder.hidden = true;
    if (shut(name)) close(holder);
  }
  for (const mark of panel.root.querySelectorAll(".lv-link input")) if (shut("eps_low") || shut("eps_high")) mark.disabled = true;
  for (const go of panel.root.querySelectorAll(".lv-go")) if (shut("seed")) go.disabled = true;
}

function close(holder) {
  if (holder.dataset.taught) return;
  holder.dataset.taught = "locked";
  for (const part of holder.querySelectorAll("input, select, button")) part.disabled = true;
  holder.append(el("p", { class: "lv-why lv-locked" }, `🔒 ${NOTE}`));
}
