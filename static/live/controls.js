// What a person turns: transport buttons, speed, and sliders that speak while they are dragged.

import { el, mark, say, short } from "./dom.js";

const RATES = [1, 2, 5, 10, 20, 50, 100, 1000];
const THROTTLE = { socket: 25, poll: 120 }; // ms between messages of a drag; the last value is always sent
const NOTCHES = 1000;

export class Transport {
  constructor(panel) {
    this.panel = panel;
    const button = (name, key, action) =>
      el("button", { type: "button", "data-action": name.toLowerCase(), "aria-keyshortcuts": key, title: `${name} (${key})`, onclick: action }, name);
    this.play = button("Play", "P", () => panel.toggle());
    this.step = button("Step", "N", () => panel.act("step"));
    this.reset = button("Reset", "X", () => panel.act("reset"));
    this.rate = el(
      "select",
      { "aria-label": "Speed, updates a second", title: "Speed ( [ slower, ] faster )", onchange: () => panel.pace(Number(this.rate.value)) },
      ...RATES.map((rate) => el("option", { value: rate }, rate === 1000 ? "as fast as it can" : `${rate} updates/s`)),
    );
    this.table = el("button", { type: "button", "aria-pressed": "false", title: "Everything as tables (T)", "aria-keyshortcuts": "T", onclick: () => panel.toggleTable() }, "Data");
    this.zoom = el("button", { type: "button", hidden: true, title: "Show all steps (Z; drag on a curve to zoom in)", "aria-keyshortcuts": "Z", onclick: () => panel.zoomTo(null) }, "Zoom out");
    this.where = el("span", { class: "lv-where" });
    this.state = el("span", { class: "lv-state" });
    const buttons = panel.options.layout === "home" ? [this.play, this.reset] : [this.play, this.step, this.reset];
    this.root = el("div", { class: "lv-transport", role: "toolbar", "aria-label": "Transport" },
      ...buttons, this.rate, this.where, this.state, el("span", { class: "lv-space" }), this.zoom, this.table);
  }

  draw() {
    const { runs } = this.panel;
    const { store } = runs[0];
    const playing = this.panel.playing;
    say(this.play, playing ? "Pause" : "Play");
    mark(this.play, "title", playing ? "Pause (P)" : "Play (P)");
    if (document.activeElement !== this.rate) this.rate.value = String(nearest(RATES, store.status.rate));
    const speed = playing ? ` · ${short(Math.round(store.speed * 10) / 10)}/s` : "";
    say(this.where, `step ${store.step}${speed}`);
    const state = this.panel.connected ? store.status.state : "reconnecting";
    say(this.state, state);
    mark(this.state, "data-state", state);
    this.zoom.hidden = !this.panel.zoom;
    mark(this.table, "aria-pressed", this.panel.showsTable);
  }

  faster(by) {
    const at = RATES.indexOf(nearest(RATES, this.panel.runs[0].store.status.rate));
    const rate = RATES[Math.min(Math.max(at + by, 0), RATES.length - 1)];
    this.panel.pace(rate);
  }
}

export class Knobs {
  constructor(panel) {
    this.panel = panel;
    this.hot = el("div", { class: "lv-knobs" });
    this.rest = el("div", { class: "lv-knobs" });
    this.more = el("details", { class: "lv-more" }, el("summary", {}, "More that applies now"), this.rest);
    this.root = el("section", { class: "lv-controls", "aria-label": "Settings that apply now" }, this.hot, this.more);
    this.knobs = [];
    this.linked = true;
    this.waiting = {};
  }

  build(hello, settings) {
    this.signature = JSON.stringify(hello.knobs);
    this.knobs = hello.knobs.map((about) => new Slider(about, this));
    const both = ["eps_low", "eps_high"].every((name) => this.find(name));
    this.linked = both && settings.eps_low === settings.eps_high;
    this.link = both
      ? el("label", { class: "lv-link", title: "Move ε_low and ε_high together" },
          el("input", { type: "checkbox", checked: this.linked, onchange: (e) => (this.linked = e.target.checked) }), "one ε for both sides")
      : null;
    this.hot.replaceChildren(...this.knobs.filter((k) => k.about.hot).map((k) => k.root));
    if (this.link) this.find("eps_low").root.append(this.link);
    this.rest.replaceChildren(...this.knobs.filter((k) => !k.about.hot).map((k) => k.root));
    this.more.hidden = !this.rest.children.length;
  }

  find(name) {
    return this.knobs.find((knob) => knob.about.name === name);
  }

  draw(store) {
    if (!store.hello?.knobs) return;
    if (JSON.stringify(store.hello.knobs) !== this.signature) this.build(store.hello, store.status.settings);
    for (const knob of this.knobs) knob.show(store.status.settings[knob.about.name]);
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
}

class Slider {
  constructor(about, knobs) {
    this.about = about;
    this.knobs = knobs;
    const id = `lv-${knobs.panel.key}-${about.name}`;
    this.range = el("input", {
      type: "range", id, min: 0, max: about.integer ? about.high - about.low : NOTCHES, step: 1, "data-knob": about.name,
      oninput: () => knobs.turned(about.name, this.value(), false),
      onchange: () => knobs.turned(about.name, this.value(), true),
    });
    this.number = el("input", {
      type: "text", inputmode: "decimal", class: "lv-number", "aria-label": `${about.symbol}, exact value`, "data-number": about.name,
      onchange: () => this.typed(),
    });
    const why = [about.help, about.unit, about.source].filter(Boolean).join(" · ");
    this.root = el("div", { class: "lv-knob", title: why },
      el("div", { class: "lv-row" }, el("label", { for: id }, about.symbol), this.number), this.range);
    mark(this.range, "aria-description", why);
  }

  value() {
    const { low, high, scale, integer } = this.about;
    const x = Number(this.range.value);
    if (integer) return low + x;
    if (scale === "log") return tidy(low * (high / low) ** (x / NOTCHES));
    return tidy(low + ((high - low) * x) / NOTCHES);
  }

  place(value) {
    const { low, high, scale, integer } = this.about;
    if (integer) return value - low;
    const share = scale === "log" ? Math.log(Math.max(value, low) / low) / Math.log(high / low) : (value - low) / (high - low);
    return Math.round(Math.min(Math.max(share, 0), 1) * NOTCHES);
  }

  // What the server says, unless a thumb is on it and the server hasn't caught up.
  show(value) {
    if (value === undefined) return;
    if (this.held !== undefined) {
      if (performance.now() - this.heldAt < 700 && value !== this.held) return;
      this.held = undefined;
    }
    this.paint(value);
  }

  hold(value) {
    this.held = value;
    this.heldAt = performance.now();
    this.paint(value);
  }

  paint(value) {
    if (value === this.painted) return;
    this.painted = value;
    this.range.value = this.place(value);
    this.range.style.setProperty("--lv-fill", `${(100 * this.range.value) / (this.range.max || 1)}%`);
    mark(this.range, "aria-valuetext", `${this.about.symbol} ${short(value)}`);
    if (document.activeElement !== this.number) this.number.value = plain(value);
  }

  fit(value) {
    const [low, high] = this.about.legal;
    return Math.min(Math.max(value, low), high);
  }

  typed() {
    const value = Number(this.number.value.replace(",", ".").replace("−", "-"));
    if (this.number.value.trim() === "" || !Number.isFinite(value)) {
      this.knobs.panel.announce(`${this.about.symbol}: must be a number, got "${this.number.value}"`);
      this.number.value = plain(this.painted);
      return;
    }
    this.knobs.turned(this.about.name, value, true);
  }
}

function tidy(x) {
  return Number(x.toPrecision(3));
}

function plain(x) {
  return x !== 0 && Math.abs(x) < 1e-3 ? x.toExponential() : String(Number(x.toPrecision(6)));
}

function nearest(list, x) {
  return list.reduce((best, y) => (Math.abs(Math.log(y / x)) < Math.abs(Math.log(best / x)) ? y : best));
}
