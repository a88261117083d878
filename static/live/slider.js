// One number: a slider for the feel and a field for the exact value, with its symbol, meaning and source.

import { el, mark, short } from "./dom.js";

const NOTCHES = 1000;

export class Slider {
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
    const why = meaning(about);
    this.label = el("label", { for: id }, about.symbol);
    this.wrong = el("p", { class: "lv-wrong", role: "alert", hidden: true });
    this.foot = el("div", { class: "lv-foot" }, el("span", { class: "lv-why" }, why));
    this.root = el("div", { class: "lv-knob", title: why },
      el("div", { class: "lv-row" }, this.label, this.number), this.range, this.wrong, this.foot);
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

  // What was wrong with the value, beside the field; gone with the next one.
  complain(text) {
    this.wrong.hidden = false;
    this.wrong.textContent = text.trim();
    this.number.value = plain(this.painted); // as it stands; the message quotes what was typed
    mark(this.number, "aria-invalid", true);
  }

  hold(value) {
    this.wrong.hidden = true;
    mark(this.number, "aria-invalid", false);
    this.held = value;
    this.heldAt = performance.now();
    this.paint(value);
  }

  paint(value) {
    if (value === this.painted) return;
    this.painted = value;
    this.range.value = this.place(value);
    this.range.style.setProperty("--lv-fill", `${(100 * this.range.value) / (this.range.max || 1)}%`);
    mark(this.range, "aria-valuetext", `${this.label.textContent} ${short(value)}`);
    if (document.activeElement !== this.number) this.number.value = plain(value);
  }

  fit(value) {
    const [low, high] = this.about.legal;
    return Math.min(Math.max(value, low), high);
  }

  typed() {
    const value = Number(this.number.value.replace(",", ".").replace("−", "-"));
    if (this.number.value.trim() === "" || !Number.isFinite(value)) {
      this.knobs.typedWrong(this.about, this.number.value);
      this.number.value = plain(this.painted);
      return;
    }
    this.knobs.turned(this.about.name, value, true);
  }
}

// A number that a run keeps for life: only a field, read when the new run starts.
export function fixed(about, key) {
  const id = `lv-${key}-fresh-${about.name}`;
  const input = el("input", { id, type: "text", inputmode: "decimal", class: "lv-number lv-boxed", "data-fresh": about.name, value: plain(about.value) });
  input.value = plain(about.value);
  return { about, input, root: el("div", { class: "lv-knob" }, el("div", { class: "lv-row" }, el("label", { for: id }, about.symbol), input), el("p", { class: "lv-why" }, meaning(about))) };
}

function meaning(about) {
  const unit = about.unit ? ` (${about.unit})` : "";
  return [`${about.help}${unit}`, about.source].filter(Boolean).join(" · ");
}

function tidy(x) {
  return Number(x.toPrecision(3));
}

export function plain(x) {
  return x !== 0 && Math.abs(x) < 1e-3 ? x.toExponential() : String(Number(x.toPrecision(6)));
}
