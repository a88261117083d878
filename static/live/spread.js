// How ratios and advantages of this step's samples are spread: histograms over all of them, with what a bound silenced
// hatched on top. Counts come from the server; nothing is binned here.

import { el, mark, say, Sheet, short } from "./dom.js";
import { saver } from "./save.js";
import { counted } from "./scatter.js";

const KINDS = [["ratio", "Ratio", "1 is the policy that sampled"], ["advantage", "Advantage", "as used in the loss"]];

export class Spread {
  constructor(panel) {
    this.panel = panel;
    this.parts = KINDS.map(([kind, title, axis]) => {
      const sheet = new Sheet("", () => panel.soon("scene"));
      sheet.root.classList.add("lv-low");
      const caption = el("p", { class: "lv-caption" });
      const root = el("section", { class: "lv-card lv-spread", "data-spread": kind }, el("header", {}, el("h2", {}, `${title}, this step`), saver(`${title}, this step`, () => sheet.canvas, () => panel.theme)), sheet.root, caption);
      return { kind, title, axis, sheet, caption, root };
    });
    this.roots = this.parts.map(({ root }) => root);
  }

  dispose() {
    for (const { sheet } of this.parts) sheet.dispose();
  }

  draw(store) {
    const seen = store.scene?.samples;
    for (const part of this.parts) if (part.sheet.sight.seen) this.paint(part, seen?.spread?.[part.kind], seen, store.scene?.step ?? 0);
  }

  paint({ kind, title, axis, sheet, caption }, spread, seen, step) {
    const { theme } = this.panel;
    const { g, width, height } = sheet.size();
    const told = (text, sentence) => (say(caption, text), mark(sheet.root, "aria-label", sentence));
    if (!spread) return told("No histogram of this step.", `${title}: no samples yet.`);
    const frame = { left: 40, right: width - 10, top: 8, bottom: height - 30 };
    const total = spread.free.map((n, i) => n + spread.dead[i]);
    const most = Math.max(1, ...total);
    const step_ = (frame.right - frame.left) / total.length;
    const tall = (n) => (n / most) * (frame.bottom - frame.top);
    const x = (value) => frame.left + ((value - spread.low) / (spread.high - spread.low || 1)) * (frame.right - frame.left);
    if (kind === "ratio" && seen.band) this.band(g, frame, seen.band.map(x));
    total.forEach((n, i) => {
      const left = frame.left + i * step_ + 0.5;
      const middle = spread.low + ((i + 0.5) / total.length) * (spread.high - spread.low);
      g.fillStyle = kind === "advantage" && middle < 0 ? theme.worse : theme.better;
      g.fillRect(left, frame.bottom - tall(spread.free[i]), Math.max(1, step_ - 1), tall(spread.free[i]));
      hatch(g, left, frame.bottom - tall(n), Math.max(1, step_ - 1), tall(spread.dead[i]), theme.dead);
    });
    this.axes(g, frame, spread, most, axis);
    const dead = spread.dead.reduce((a, b) => a + b, 0);
    const all = dead + spread.free.reduce((a, b) => a + b, 0);
    const unit = counted(this.panel.runs[0].store, seen);
    told(
      `${all} ${unit} from ${short(spread.low)} to ${short(spread.high)}${dead ? `; hatched: ${dead} silenced by a bound` : "; none silenced"}.`,
      `${title} of ${all} ${unit} in step ${step}: from ${short(spread.low)} to ${short(spread.high)}, most of them near ${short(spread.low + ((total.indexOf(most) + 0.5) / total.length) * (spread.high - spread.low))}; ${dead} silenced by a bound.`,
    );
  }

  band(g, { left, right, top, bottom }, edges) {
    g.strokeStyle = this.panel.theme.dead;
    g.setLineDash([4, 3]);
    for (const at of edges) {
      if (at < left || at > right) continue;
      g.beginPath();
      g.moveTo(Math.round(at) + 0.5, top);
      g.lineTo(Math.round(at) + 0.5, bottom);
      g.stroke();
    }
    g.setLineDash([]);
  }

  axes(g, { left, right, top, bottom }, spread, most, axis) {
    const { theme } = this.panel;
    g.strokeStyle = theme.border;
    g.strokeRect(left + 0.5, top + 0.5, right - left, bottom - top);
    g.fillStyle = theme.muted;
    g.font = `11px ${theme.font}`;
    g.textAlign = "center";
    const middle = (spread.low + spread.high) / 2;
    for (const value of [spread.low + 0.1 * (spread.high - spread.low), middle, spread.high - 0.1 * (spread.high - spread.low)])
      g.fillText(tick(value, spread.high - spread.low), left + ((value - spread.low) / (spread.high - spread.low || 1)) * (right - left), bottom + 12);
    g.fillText(axis, (left + right) / 2, bottom + 25);
    g.textAlign = "right";
    g.fillText(String(most), left - 5, top + 8);
    g.fillText("0", left - 5, bottom);
  }
}

// As many digits as tell neighboring ticks apart: ratios live close to 1.
function tick(value, span) {
  const digits = Math.min(6, Math.max(0, 2 - Math.floor(Math.log10(span || 1))));
  return Math.abs(value) < 1000 ? String(Number(value.toFixed(digits))).replace("-", "−") : short(value);
}

function hatch(g, x, y, width, height, color) {
  if (height < 0.5) return;
  g.save();
  g.beginPath();
  g.rect(x, y, width, height);
  g.clip();
  g.strokeStyle = color;
  g.lineWidth = 1.5;
  for (let offset = -height; offset < width + height; offset += 4) {
    g.beginPath();
    g.moveTo(x + offset, y + height);
    g.lineTo(x + offset + height, y);
    g.stroke();
  }
  g.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1);
  g.restore();
}
