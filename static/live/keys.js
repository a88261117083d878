// The keys of the panel: what each does, and the overlay that lists them. Space, R and C are left to the page.

import { el } from "./dom.js";

const LIST = [
  ["P", "play or pause"], ["N", "next: one update, or the next step where you look back"], ["B", "back: look at the step before"],
  ["M", "one minibatch of the coming update"], ["E", "one pass (inner epoch) over the batch"], ["X", "reset: start over, the run so far stays faint"],
  ["G", "run to the chosen event"], ["[  ]", "slower, faster"], ["L", "back to the latest step"], ["F", "fork from the step shown, with the settings shown"],
  ["U", "undo the last change of settings"], ["O", "open this step under the microscope"], ["D", "duel on this step's batch"],
  ["Z", "zoom out"], ["T", "everything as tables"], ["?", "this list"],
];
const HOME = ["P", "X", "[  ]", "Z", "T", "?"];

export class Keys {
  constructor(panel) {
    this.panel = panel;
    const home = panel.options.layout === "home";
    this.button = el("button", { type: "button", "data-action": "keys", "aria-keyshortcuts": "?", title: "Keyboard shortcuts (?)", "aria-label": "Keyboard shortcuts", onclick: () => this.toggle() }, "?");
    const close = el("button", { type: "button", onclick: () => this.dialog.close() }, "Close");
    const rows = LIST.filter(([key]) => !home || HOME.includes(key)).map(([key, what]) => el("div", {}, el("dt", {}, el("kbd", {}, key)), el("dd", {}, what)));
    this.dialog = el("dialog", { class: "lv-keys", "aria-label": "Keyboard shortcuts" },
      el("h2", {}, "Keys"), el("dl", {}, ...rows),
      el("p", { class: "lv-why" }, "Tab reaches every control; arrow keys move a slider, PageUp and PageDown by more. Drag on a curve to zoom."), close);
  }

  toggle() {
    if (this.dialog.open) this.dialog.close();
    else this.dialog.showModal();
  }

  // What a key does; undefined where it does nothing here.
  action(key) {
    const { panel } = this;
    const both = {
      p: () => panel.toggle(), x: () => panel.act("reset"), t: () => panel.toggleTable(), z: () => panel.zoomTo(null),
      "[": () => panel.transport.faster(-1), "]": () => panel.transport.faster(1), "?": () => this.toggle(),
    };
    if (panel.options.layout === "home") return both[key];
    const lab = {
      n: () => panel.act("step"), b: () => panel.act("back"), m: () => panel.act("minibatch"), e: () => panel.act("epoch"),
      g: () => panel.transport.runTo(), l: () => panel.timeline.latest(), f: () => panel.act("fork"), u: () => panel.act("undo"),
      o: () => panel.timeline.follow("step"), d: () => panel.timeline.follow("duel"),
    };
    return both[key] ?? lab[key];
  }
}
