// A slider and a field for one number, in plain HTML: unlike Streamlit's own slider it speaks while it is dragged.
// What is typed goes to the server as it stands, which accepts or refuses it; this file knows no range but the ticks.

import { Teller, keeper } from "./teller.js";

export const mount = keeper((data) => new Knob(data));

class Knob {
  constructor({ key }) {
    this.root = document.createElement("div");
    this.root.className = "surrogate-knob";
    this.root.innerHTML = `
      <div class="sk-head"><label for="sk-${key}"></label><output for="sk-${key}"></output>
        <button type="button" class="sk-help" aria-expanded="false" aria-controls="sk-${key}-help">?</button></div>
      <div class="sk-body"><input type="range" min="0" step="1" id="sk-${key}"><input type="text" inputmode="decimal"></div>
      <p class="sk-about" id="sk-${key}-help" hidden></p>`;
    [this.label, this.output, this.help] = this.root.querySelector(".sk-head").children;
    [this.range, this.field] = this.root.querySelectorAll("input");
    this.about = this.root.querySelector(".sk-about");
    this.range.oninput = () => this.turned();
    this.field.onchange = () => this.teller.tell(this.field.value.trim());
    this.field.onkeydown = (event) => {
      if (event.key !== "Enter") return; // and return nothing: false would swallow every other key, Tab too
      this.field.blur();
      this.field.focus();
    };
    this.help.onclick = () => {
      this.about.hidden = !this.about.hidden;
      this.help.setAttribute("aria-expanded", String(!this.about.hidden));
    };
    this.touched = -1e9;
    this.teller = new Teller();
  }

  // `text` is the value in force. While a hand is on the slider, answers to older values do not move it.
  show(data) {
    this.ticks = data.ticks;
    this.label.textContent = data.label;
    this.range.max = data.ticks.length - 1;
    this.field.setAttribute("aria-label", `${data.label}, exact`);
    this.help.setAttribute("aria-label", `About ${data.label}`);
    this.about.textContent = data.help;
    const held = performance.now() - this.touched < 700 && data.text !== this.shown();
    if (!held) this.place(data.text);
  }

  place(text) {
    this.range.value = nearest(this.ticks, Number(text));
    this.spell(text);
    if (document.activeElement !== this.field) this.field.value = text;
  }

  spell(text) {
    this.output.textContent = text;
    this.range.setAttribute("aria-valuetext", text);
    this.range.style.setProperty("--filled", `${(100 * this.range.value) / Math.max(1, this.range.max)}%`);
  }

  shown() {
    return this.output.textContent;
  }

  turned() {
    this.touched = performance.now();
    const text = this.ticks[this.range.value];
    this.spell(text);
    this.field.value = text;
    this.teller.tell(text);
  }
}

// The tick closest to a value, on the scale of the ticks themselves.
function nearest(ticks, value) {
  const numbers = ticks.map(Number);
  const above = numbers.findIndex((tick) => tick >= value);
  if (above < 0) return numbers.length - 1;
  return above > 0 && value - numbers[above - 1] < numbers[above] - value ? above - 1 : above;
}
