// The transport: play, pause, steps and parts of steps, back, speed, run to an event; and where the run stands.

import { el, mark, say, short } from "./dom.js";
import { Keys } from "./keys.js";

const RATES = [1, 2, 5, 10, 20, 50, 100, 1000];

export class Transport {
  constructor(panel) {
    this.panel = panel;
    const home = panel.options.layout === "home";
    this.play = button("Play", "P", () => panel.toggle(), "Play or pause");
    this.back = button("Back", "B", () => panel.act("back"), "Look at the step before", "back");
    this.step = button("Step", "N", () => panel.act("step"), "One update; or the next step, where you look back", "step");
    this.reset = button("Reset", "X", () => panel.act("reset"), "Start over with the settings as they stand; the run so far stays faint");
    this.rate = el(
      "select",
      { "aria-label": "Speed, updates a second", title: "Speed ( [ slower, ] faster )", onchange: () => panel.pace(Number(this.rate.value)) },
      ...RATES.map((rate) => el("option", { value: rate }, rate === 1000 ? "as fast as it can" : `${rate} updates/s`)),
    );
    this.table = button("Data", "T", () => panel.toggleTable(), "Everything as tables", "data");
    mark(this.table, "aria-pressed", false);
    this.zoom = button("Zoom out", "Z", () => panel.zoomTo(null), "Show all steps (drag on a curve to zoom in)", "zoom");
    this.zoom.hidden = true;
    this.where = el("span", { class: "lv-where" });
    this.state = el("span", { class: "lv-state" });
    this.keys = new Keys(panel);
    const first = home ? [this.play, this.reset, this.rate] : [this.back, this.play, this.step, this.reset];
    const last = home ? [this.zoom, this.table] : [this.zoom, this.more(), this.keys.button];
    this.root = el("div", { class: "lv-bar" },
      el("div", { class: "lv-transport", role: "toolbar", "aria-label": "Transport" },
        ...first, this.where, this.state, el("span", { class: "lv-space" }), ...last),
      home ? null : this.second, home ? null : this.inside(), this.keys.dialog);
  }

  // The second row: what is not needed in the first minute.
  more() {
    const { panel } = this;
    this.minibatch = button("One minibatch", "M", () => panel.act("minibatch"), "One optimizer step of the coming update, and wait there", "minibatch");
    this.pass = button("One pass", "E", () => panel.act("epoch"), "One pass (inner epoch) over the batch, and wait there", "epoch");
    this.event = el("select", { "aria-label": "Run to", onchange: () => this.chosen() });
    this.above = el("input", { type: "text", inputmode: "decimal", class: "lv-number lv-boxed", "aria-label": "threshold", onkeydown: (e) => e.key === "Enter" && this.runTo() });
    this.go = button("Run to it", "G", () => this.runTo(), "Go on, as fast as it can, until that happens", "until");
    this.second = el("div", { class: "lv-transport lv-second", role: "toolbar", "aria-label": "More transport", hidden: true },
      labelled("Speed", this.rate), this.minibatch, this.pass, labelled("Run to", this.event, this.above), this.go, this.table);
    this.toggle = el("button", { type: "button", "data-action": "more", "aria-expanded": "false", title: "Speed, parts of a step, run to an event, data", onclick: () => this.unfold() }, "More");
    return this.toggle;
  }

  unfold() {
    this.second.hidden = !this.second.hidden;
    mark(this.toggle, "aria-expanded", !this.second.hidden);
  }

  // Inside a step that is being made piece by piece: collected, pass 1, 2, ...
  inside() {
    this.pips = el("span", { class: "lv-pips", "aria-hidden": "true" });
    this.pieceWords = el("span", {});
    this.piece = el("p", { class: "lv-inside", "aria-live": "polite", hidden: true }, this.pips, this.pieceWords);
    return this.piece;
  }

  chosen() {
    const event = this.events?.find(({ name }) => name === this.event.value);
    this.above.hidden = event?.value == null;
    if (event?.value != null) this.above.value = String(event.value);
  }

  runTo() {
    const event = this.events?.find(({ name }) => name === this.event.value);
    if (!event) return;
    const value = Number(this.above.value.replace(",", ".").replace("−", "-"));
    if (event.value != null && (this.above.value.trim() === "" || !Number.isFinite(value)))
      return this.panel.announce(`Run to ${event.label}: must be a number, got "${this.above.value}"`);
    this.panel.order({ op: "until", event: event.name, value: event.value == null ? null : value });
  }

  draw() {
    const { runs, playing } = this.panel;
    const { store } = runs[0];
    const { status } = store;
    say(this.play, playing ? "Pause" : "Play");
    if (document.activeElement !== this.rate) this.rate.value = String(nearest(RATES, status.rate));
    const speed = playing ? ` · ${short(Math.round(store.speed * 10) / 10)}/s` : "";
    say(this.where, status.open ? `step ${status.open.step} of ${store.step}` : `step ${store.step}${speed}`);
    const state = this.panel.connected ? (status.awaiting ? `to ${status.awaiting}` : status.state) : "reconnecting";
    say(this.state, state);
    mark(this.state, "data-state", this.panel.connected ? status.state : "reconnecting");
    this.zoom.hidden = !this.panel.zoom;
    mark(this.table, "aria-pressed", Boolean(this.panel.showsTable));
    if (this.second) this.drawSecond(store);
  }

  drawSecond(store) {
    const { hello, status } = store;
    const at = status.open ? status.open.step : store.step;
    if (this.back.disabled !== at < 1) this.back.disabled = at < 1;
    const events = hello?.events ?? [];
    if (JSON.stringify(events) !== this.known) {
      this.known = JSON.stringify(events);
      this.events = events;
      const chosen = this.event.value;
      this.event.replaceChildren(...events.map(({ name, label }) => el("option", { value: name }, label)));
      if (events.some(({ name }) => name === chosen)) this.event.value = chosen;
      this.chosen();
    }
    const piece = status.piece;
    this.piece.hidden = !piece;
    if (!piece) return;
    const where = piece.epoch === 0 ? "the batch is collected, nothing updated yet: every ratio is 1"
      : `pass ${piece.epoch} of ${piece.epochs}, minibatch ${piece.minibatch} of ${piece.minibatches}: ratios ${short(piece.ratio?.[0])} to ${short(piece.ratio?.[1])} before this optimizer step, loss ${short(piece.loss)}, gradient norm ${short(piece.grad_norm)}`;
    say(this.pieceWords, `Inside step ${store.step + 1}, ${where}.`);
    const pips = Array.from({ length: Math.min(piece.epochs, 24) }, (_, i) => (i < piece.epoch - 1 || (i === piece.epoch - 1 && piece.minibatch === piece.minibatches) ? "●" : i === piece.epoch - 1 ? "◐" : "○"));
    say(this.pips, `▣${pips.join("")}`);
  }

  faster(by) {
    const at = RATES.indexOf(nearest(RATES, this.panel.runs[0].store.status.rate));
    const rate = RATES[Math.min(Math.max(at + by, 0), RATES.length - 1)];
    this.panel.pace(rate);
  }
}

export function button(name, key, action, title, id = name.toLowerCase()) {
  return el("button", { type: "button", "data-action": id, "aria-keyshortcuts": key, title: `${title} (${key})`, onclick: action }, name);
}

function labelled(text, ...parts) {
  return el("span", { class: "lv-labelled" }, el("span", { "aria-hidden": "true" }, text), ...parts);
}

function nearest(list, x) {
  return list.reduce((best, y) => (Math.abs(Math.log(y / x)) < Math.abs(Math.log(best / x)) ? y : best));
}
