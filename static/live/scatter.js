// This step's samples on the ratio-advantage plane: where the band is, who left it, and whose gradient is dead.
// Shape tells the sign of the advantage, a cross tells a dead gradient; colour only repeats it.

import { el, mark, say, Sheet, short } from "./dom.js";
import { saver } from "./save.js";

const FREE = 0;
const OUTSIDE = 1;

export class Scatter {
  constructor(panel) {
    this.panel = panel;
    this.sheet = new Sheet("", () => panel.soon("scene"));
    this.caption = el("p", { class: "lv-caption" });
    this.title = el("h2", {}, "This step's samples");
    this.root = el("section", { class: "lv-card lv-scatter" }, el("header", {}, this.title, saver("This step's samples", () => this.sheet.canvas, () => this.panel.theme)), this.sheet.root, this.caption);
    this.reach = 0.3; // how far the x axis goes from 1; grows at once, shrinks slowly
    this.height = 1;
  }

  dispose() {
    this.sheet.dispose();
  }

  draw(store) {
    const seen = store.scene?.samples;
    const { g, width, height } = this.sheet.size();
    const band = this.band(store) ?? seen?.band;
    const frame = { left: 36, right: width - 10, top: 8, bottom: height - 32 };
    this.rescale(seen, band);
    const x = (ratio) => frame.left + ((ratio - 1) / this.reach / 2 + 0.5) * (frame.right - frame.left);
    const y = (a) => (frame.top + frame.bottom) / 2 - (a / this.height / 2) * (frame.bottom - frame.top);
    this.ground(g, frame, x, y, band);
    if (seen) this.points(g, frame, x, y, seen);
    this.tell(seen, band);
  }

  // Drawn from the sliders, so the band moves with the thumb; the samples follow with the next step.
  band(store) {
    const { eps_low: low, eps_high: high } = { ...store.status.settings, ...this.panel.pending };
    if (low === undefined || !store.hello?.band) return null;
    return store.hello.band === "log" ? [Math.exp(-low), Math.exp(high)] : [1 - low, 1 + high];
  }

  rescale(seen, band) {
    const far = (list, centre) => list.reduce((most, v) => Math.max(most, Math.abs(v - centre)), 0);
    const edges = band ? band.filter((b) => Math.abs(b - 1) < 3) : [];
    const wanted = Math.max(0.002, 1.15 * Math.max(far(seen?.ratio ?? [], 1), 1.3 * far(edges, 1)));
    this.reach = wanted > this.reach ? wanted : Math.max(wanted, this.reach * 0.97);
    const tall = Math.max(0.1, 1.15 * far(seen?.advantage ?? [], 0));
    this.height = tall > this.height ? tall : Math.max(tall, this.height * 0.97);
  }

  ground(g, frame, x, y, band) {
    const { theme } = this.panel;
    const { left, right, top, bottom } = frame;
    g.font = `11px ${theme.font}`;
    if (band) {
      const [low, high] = band.map((b) => Math.min(Math.max(x(b), left), right));
      g.fillStyle = theme.dead + "22";
      g.fillRect(high, top, right - high, y(0) - top); // A > 0 above the band: dead
      g.fillRect(left, y(0), low - left, bottom - y(0)); // A < 0 below it: dead
      g.strokeStyle = theme.dead;
      g.setLineDash([4, 3]);
      for (const edge of [low, high]) line(g, edge, top, edge, bottom);
      g.setLineDash([]);
      g.fillStyle = theme.muted;
      g.textAlign = "right";
      if (right - high > 34) g.fillText("dead", right - 3, top + 11);
      g.textAlign = "left";
      if (low - left > 34) g.fillText("dead", left + 3, bottom - 4);
    }
    g.strokeStyle = theme.grid;
    line(g, left, y(0), right, y(0));
    line(g, x(1), top, x(1), bottom);
    g.strokeStyle = theme.border;
    g.strokeRect(left + 0.5, top + 0.5, right - left, bottom - top);
    g.fillStyle = theme.muted;
    g.textAlign = "center";
    for (const at of [1 - this.reach * 0.8, 1, 1 + this.reach * 0.8].filter((ratio) => ratio > 0)) g.fillText(short(Number(at.toFixed(4))), x(at), bottom + 13);
    g.fillText("ratio", (left + right) / 2, bottom + 27);
    g.save();
    g.translate(11, (top + bottom) / 2);
    g.rotate(-Math.PI / 2);
    g.fillText("advantage", 0, 0);
    g.restore();
    g.textAlign = "right";
    for (const at of [-this.height * 0.8, 0, this.height * 0.8]) g.fillText(short(Number(at.toFixed(2))), left - 5, y(at) + 4);
  }

  points(g, frame, x, y, seen) {
    const { theme } = this.panel;
    g.save();
    g.beginPath();
    g.rect(frame.left, frame.top, frame.right - frame.left, frame.bottom - frame.top);
    g.clip();
    g.lineWidth = 1.5;
    for (let i = 0; i < seen.ratio.length; i++) {
      if (seen.ratio[i] === null) continue;
      const [px, py, up, fate] = [x(seen.ratio[i]), y(seen.advantage[i]), seen.advantage[i] >= 0, seen.fate[i]];
      g.globalAlpha = fate === FREE ? 0.45 : 0.9;
      g.fillStyle = g.strokeStyle = fate > OUTSIDE ? theme.dead : up ? theme.better : theme.worse;
      if (fate > OUTSIDE) cross(g, px, py, 3.2);
      else triangle(g, px, py, 3.6, up, fate === OUTSIDE);
    }
    g.restore();
  }

  tell(seen, band) {
    if (!seen) {
      say(this.caption, "No samples yet: step or play.");
      return mark(this.sheet.root, "aria-label", "Ratio and advantage of this step's samples: none yet.");
    }
    const [free, outside, low, high, dual] = seen.counts;
    const dead = low + high + dual;
    const unit = counted(this.panel.runs[0].store, seen);
    say(
      this.caption,
      `${seen.total} ${unit}, pass ${seen.epoch}: ▲▼ ${free + outside} learning (A > 0, A < 0), ` +
        `${outside} of them outside the band, × ${dead} with a dead gradient.`,
    );
    const where = band ? ` The band reaches from ${short(band[0])} to ${short(band[1])}.` : "";
    mark(this.sheet.root, "aria-label", `Ratio against advantage of ${seen.total} ${unit} in step ${this.step}.` +
      `${where} ${free} inside, ${outside} outside and learning, ${dead} with no gradient.`);
  }

  get step() {
    return this.panel.runs[0].store.scene?.step ?? 0;
  }
}

function line(g, x0, y0, x1, y1) {
  g.beginPath();
  g.moveTo(Math.round(x0) + 0.5, Math.round(y0) + 0.5);
  g.lineTo(Math.round(x1) + 0.5, Math.round(y1) + 0.5);
  g.stroke();
}

// What a sample is called in this world: only words are made of tokens.
export function counted(store, seen) {
  if (seen.level === "row") return "rows";
  return store.scene?.world?.kind === "words" ? "tokens" : "actions";
}

function cross(g, x, y, r) {
  g.beginPath();
  g.moveTo(x - r, y - r);
  g.lineTo(x + r, y + r);
  g.moveTo(x - r, y + r);
  g.lineTo(x + r, y - r);
  g.stroke();
}

function triangle(g, x, y, r, up, hollow) {
  const s = up ? 1 : -1;
  g.beginPath();
  g.moveTo(x, y - s * r);
  g.lineTo(x + r, y + s * r * 0.8);
  g.lineTo(x - r, y + s * r * 0.8);
  g.closePath();
  if (hollow) g.stroke();
  else g.fill();
}
