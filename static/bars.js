// Bars that are dragged: numbers side by side, each a slider for the mouse, a finger or the arrow keys.

import { Teller, keeper } from "./teller.js";

const FEW = 20; // bars up to which each shows its number

export const mount = keeper((data) => new Bars(data));

class Bars {
  constructor() {
    this.teller = new Teller();
    this.root = document.createElement("div");
    this.root.className = "surrogate-bars";
    this.root.setAttribute("role", "group");
    this.root.innerHTML = `<div class="sb-label"></div><div class="sb-field"></div>`;
    [this.label, this.field] = this.root.children;
    this.touched = -1e9;
    this.values = [];
  }

  show(data) {
    this.data = data;
    this.label.textContent = data.label;
    this.root.setAttribute("aria-label", data.label);
    const held = this.dragging || performance.now() - this.touched < 700;
    if (!held || this.values.length !== data.values.length) {
      this.values = [...data.values];
      [this.low, this.high] = data.range;
    }
    if (this.field.childElementCount !== data.values.length) this.build();
    this.draw();
  }

  build() {
    this.field.replaceChildren(
      ...this.values.map((_, i) => {
        const bar = document.createElement("div");
        bar.className = "sb-bar";
        bar.tabIndex = 0;
        bar.setAttribute("role", "slider");
        bar.setAttribute("aria-orientation", "vertical");
        bar.innerHTML = `<i></i><b></b><span></span>`;
        bar.onpointerdown = (event) => this.down(event, i, bar);
        bar.onpointermove = (event) => {
          if (this.dragging === bar) this.turn(i, this.at(event, bar));
        };
        bar.onpointerup = bar.onpointercancel = () => (this.dragging = null);
        bar.onkeydown = (event) => this.key(event, i);
        return bar;
      }),
    );
  }

  draw() {
    const few = this.values.length <= FEW;
    const place = (value) => (100 * (Math.min(Math.max(value, this.low), this.high) - this.low)) / (this.high - this.low);
    this.root.classList.toggle("sb-many", !few);
    this.values.forEach((value, i) => {
      const bar = this.field.children[i];
      const [fill, number, name] = bar.children;
      const [a, b] = [place(0), place(value)];
      fill.style.bottom = `${Math.min(a, b)}%`;
      fill.style.height = `max(3px, ${Math.abs(b - a)}%)`;
      fill.className = value < 0 ? "sb-below" : "";
      number.textContent = few ? short(value) : "";
      number.style.bottom = `${Math.min(88, Math.max(a, b))}%`;
      name.textContent = this.data.names[i];
      bar.style.setProperty("--zero", `${a}%`);
      bar.setAttribute("aria-label", `${this.data.each} ${this.data.names[i]}`);
      bar.setAttribute("aria-valuenow", String(value));
      bar.setAttribute("aria-valuemin", String(this.data.limits[0]));
      bar.setAttribute("aria-valuemax", String(this.data.limits[1]));
    });
  }

  down(event, i, bar) {
    bar.setPointerCapture(event.pointerId);
    bar.focus();
    event.preventDefault();
    this.dragging = bar;
    this.turn(i, this.at(event, bar));
  }

  at(event, bar) {
    const box = bar.getBoundingClientRect();
    const share = Math.min(1, Math.max(0, (box.bottom - event.clientY) / box.height));
    return this.low + share * (this.high - this.low);
  }

  key(event, i) {
    const moves = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1, PageUp: 5, PageDown: -5 };
    const { step } = this.data;
    let value = null;
    if (event.key in moves) value = this.values[i] + moves[event.key] * step;
    if (event.key === "Home") value = this.low;
    if (event.key === "End") value = this.high;
    if (value === null) return;
    event.preventDefault();
    this.turn(i, value);
  }

  turn(i, value) {
    const { step, limits } = this.data;
    const near = Math.min(limits[1], Math.max(limits[0], Math.round(value / step) * step));
    const rounded = Number(near.toPrecision(8));
    this.touched = performance.now();
    if (rounded === this.values[i]) return;
    this.values[i] = rounded;
    [this.low, this.high] = [Math.min(this.low, rounded), Math.max(this.high, rounded)];
    this.draw();
    this.teller.tell(this.values.join(", "));
  }
}

const short = (value) => {
  const digits = Math.abs(value) < 1 ? value.toFixed(3) : value.toPrecision(3); // bars are narrow on a phone
  return String(Number(digits) + 0);
};
