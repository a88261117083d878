// What a person turns: a few sliders in reach of the thumb, and everything else folded by slot of the equation. Numbers
// and slots come from the engine's own declarations; what applies now and what needs a new run stand apart.

import { el, mark, say, short } from "./dom.js";
import { fixed, Slider } from "./slider.js";

const THROTTLE = { socket: 25, poll: 120 }; // ms between messages of a drag; the last value is always sent
const TITLES = {
  advantage: "Advantage", ratio: "Ratio", surrogate: "Surrogate", kl: "KL", aggregate: "Aggregation", critic: "Critic",
  whiten: "Whitening", shaping: "Reward shaping", select: "Selection", correction: "Correction", gate: "Gate",
  algorithm: "Entropy", batch: "Batch", optim: "Optimizer", env: "World", policy: "Policy",
};
const EQUATION = ["advantage", "ratio", "surrogate", "kl", "aggregate"];
const words = (kind) => String(kind).replaceAll("_", " ");

export class Knobs {
  constructor(panel) {
    this.panel = panel;
    this.hot = el("div", { class: "lv-knobs" });
    this.chips = el("div", { class: "lv-chips" });
    this.body = el("div", { class: "lv-slot", hidden: true });
    this.root = el("section", { class: "lv-controls", "aria-label": "Settings" }, this.hot, this.chips, this.body);
    this.knobs = [];
    this.linked = true;
    this.waiting = {};
    this.open = null;
  }

  build(hello, settings) {
    this.signature = signature(hello);
    this.hello = hello;
    this.knobs = hello.knobs.map((about) => new Slider(about, this));
    const both = ["eps_low", "eps_high"].every((name) => this.find(name));
    this.linked = both && settings.eps_low === settings.eps_high;
    this.link = both
      ? el("label", { class: "lv-link", title: "Move ε_low and ε_high together" },
          el("input", { type: "checkbox", checked: this.linked, onchange: (e) => this.linkUp(e.target.checked) }), "same on both sides")
      : null;
    this.hot.replaceChildren(...this.knobs.filter((k) => k.about.hot).map((k) => k.root));
    if (this.link) this.find("eps_high").foot.append(this.link);
    this.linkUp(this.linked);
    this.buildChips(hello);
  }

  // One chip a slot of the equation, then what is around it; a chip unfolds its slot's controls.
  buildChips(hello) {
    const rest = [...new Set([...hello.slots.map((s) => s.slot), ...this.knobs.filter((k) => !k.about.hot).map((k) => k.about.slot)])];
    const homes = [...EQUATION, ...rest.filter((home) => !EQUATION.includes(home))];
    this.marks = homes.map((home) => this.chip(home, TITLES[home] ?? home));
    const fresh = this.chip("fresh", "Seed");
    this.chips.replaceChildren(
      el("span", { class: "lv-group" }, "Applies now"), ...this.marks.slice(0, EQUATION.length), this.moreChips(this.marks.slice(EQUATION.length)),
      el("span", { class: "lv-group" }, "Needs a new run"), fresh);
    this.marks.push(fresh);
    this.unfold(homes.includes(this.open) || this.open === "fresh" ? this.open : null);
  }

  moreChips(marks) {
    const box = el("span", { class: "lv-chipbox", hidden: !marks.some((m) => m.dataset.slot === this.open) }, ...marks);
    const more = el("button", { type: "button", class: "lv-chip lv-chip-more", "aria-expanded": String(!box.hidden), onclick: () => {
      box.hidden = !box.hidden;
      mark(more, "aria-expanded", !box.hidden);
      say(more, box.hidden ? "more …" : "less");
    } }, box.hidden ? "more …" : "less");
    return el("span", { class: "lv-chipbox" }, box, more);
  }

  chip(home, title) {
    const kind = el("b");
    return Object.assign(
      el("button", { type: "button", class: "lv-chip", "data-slot": home, "aria-expanded": "false", onclick: () => this.unfold(this.open === home ? null : home) },
        el("span", {}, title), kind),
      { kind });
  }

  unfold(home) {
    this.open = home;
    for (const chip of this.marks) mark(chip, "aria-expanded", chip.dataset.slot === home);
    this.body.hidden = !home;
    this.selects = [];
    if (!home) return this.body.replaceChildren();
    this.body.replaceChildren(...(home === "fresh" ? this.freshBody() : this.slotBody(home)));
    mark(this.body, "data-slot", home);
    this.panel.soon("rest");
  }

  slotBody(home) {
    const hot = this.knobs.filter((k) => k.about.slot === home && k.about.hot).map((k) => k.about.symbol);
    const choices = this.hello.slots.filter((slot) => slot.slot === home).map((slot) => this.choice(slot));
    const knobs = this.knobs.filter((k) => k.about.slot === home && !k.about.hot).map((k) => k.root);
    const above = hot.length ? [el("p", { class: "lv-why" }, `${hot.join(" and ")}: above, in reach of the thumb.`)] : [];
    return [...choices, ...knobs, ...above];
  }

  choice(slot) {
    const id = `lv-${this.panel.key}-slot-${slot.name.replaceAll(".", "-")}`;
    const select = el("select", { id, "data-choice": slot.name, onchange: () => this.choose(slot.name, select.value) },
      ...slot.options.map(({ kind, refused }) => el("option", { value: kind, disabled: !!refused, title: refused }, words(kind) + (refused ? " (does not fit this run)" : ""))));
    const why = el("p", { class: "lv-why" });
    this.selects.push({ slot, select, why });
    return el("div", { class: "lv-knob" }, el("div", { class: "lv-row" }, el("label", { for: id }, slot.label), select), why);
  }

  choose(name, kind) {
    this.panel.turned({});
    this.panel.set({ [name]: kind });
    this.panel.settled();
  }

  // What a run keeps for life; all of it in one go, so that no slip throws a run away.
  freshBody() {
    const fields = [
      { name: "seed", symbol: "seed", help: "all randomness is addressed from it: the same seed gives the same numbers here, in a notebook and in the shell", value: this.hello.seed, legal: [0, 2 ** 32 - 1], integer: true },
      ...this.hello.fresh,
    ].map((about) => fixed(about, this.panel.key));
    const start = el("button", { type: "button", class: "lv-go", onclick: () => this.startFresh(fields) }, "Start a new run with these");
    return [...fields.map(({ root }) => root), start];
  }

  startFresh(fields) {
    const values = {};
    for (const { about, input } of fields) {
      const value = Number(input.value.replace(",", "."));
      const [low, high] = about.legal;
      if (input.value.trim() === "" || !Number.isFinite(value) || value < low || value > high || (about.integer && !Number.isInteger(value))) {
        this.panel.announce(`${about.symbol}: must be a ${about.integer ? "whole " : ""}number from ${short(low)} to ${short(high)}, got "${input.value}"`);
        return input.focus();
      }
      if (value !== about.value) values[about.name] = value;
    }
    this.panel.send.trigger("fresh", JSON.stringify(values));
  }

  linkUp(linked) {
    this.linked = linked;
    const low = this.find("eps_low");
    if (!low || !this.find("eps_high")) return;
    low.root.hidden = linked;
    say(this.find("eps_high").label, linked ? "ε" : this.find("eps_high").about.symbol);
    if (linked && low.painted !== undefined && low.painted !== this.find("eps_high").painted) this.turned("eps_high", this.find("eps_high").painted, true);
  }

  find(name) {
    return this.knobs.find((knob) => knob.about.name === name);
  }

  // The number in sight that a refusal is about: "optim.lr: must be ...".
  named(message) {
    const name = message.split(":").findLast((part) => this.find(part.trim().split(".").pop()) && !part.trim().includes(" "))?.trim().split(".").pop();
    const knob = name && this.find(name);
    const shown = knob?.root.hidden ? this.find("eps_high") : knob; // both sides as one
    return shown?.root.offsetParent ? shown : undefined;
  }

  draw(store) {
    if (!store.hello?.knobs) return;
    const { settings } = store.status;
    if (signature(store.hello) !== this.signature) this.build(store.hello, settings);
    for (const knob of this.knobs) knob.show(settings[knob.about.name]);
    if (this.linked && settings.eps_low !== settings.eps_high && this.find("eps_low")?.held === undefined && this.find("eps_high")?.held === undefined) this.relink();
    for (const chip of this.marks) say(chip.kind, chip.dataset.slot === "fresh" ? `${store.hello.seed}${store.hello.fresh.length ? ", …" : ""}` : words(settings[chip.dataset.slot] ?? ""));
    for (const { slot, select, why } of this.selects ?? []) {
      const kind = settings[slot.name];
      if (select.value !== kind && document.activeElement !== select) select.value = kind;
      say(why, slot.options.find((option) => option.kind === kind)?.help ?? "");
    }
  }

  // The two sides differ (by an undo, or an opened step), so they are shown apart.
  relink() {
    this.link.firstChild.checked = false;
    this.linkUp(false);
  }

  // A value was turned: remember it, tell its twin, and send no more often than THROTTLE allows.
  turned(name, value, committed) {
    const twin = { eps_low: "eps_high", eps_high: "eps_low" }[name];
    const values = { [name]: value };
    if (this.linked && twin && this.find(twin)) values[twin] = this.find(twin).fit(value);
    for (const [each, x] of Object.entries(values)) this.find(each).hold(x);
    Object.assign(this.waiting, values);
    this.panel.turned(values);
    const wait = THROTTLE[this.panel.options.socket ? "socket" : "poll"] - (performance.now() - (this.sentAt ?? -1e9));
    clearTimeout(this.timer);
    if (wait <= 0 || committed) this.flush();
    else this.timer = setTimeout(() => this.flush(), wait);
    if (committed) this.panel.settled();
  }

  flush() {
    clearTimeout(this.timer);
    if (!Object.keys(this.waiting).length) return;
    this.sentAt = performance.now();
    this.panel.set(this.waiting);
    this.waiting = {};
  }

  typedWrong(about, text) {
    this.find(about.name).complain(`must be a number, got "${text}"`);
  }
}

function signature(hello) {
  return JSON.stringify([hello.knobs, hello.slots, hello.fresh, hello.seed]);
}

