// Curves on canvas: one uPlot per quantity, over one or several runs. Zoom and cursor are shared by all of a panel and
// survive every update; a change of settings is a dashed line on every curve.

import uPlot from "../vendor/uPlot.esm.js";
import { el, mark, say, short, Sight } from "./dom.js";
import { saver } from "./save.js";

export class Chart {
  // spec: { id, title, unit, series: [{ column(store), label, dashed }], floor }
  constructor(spec, panel) {
    this.spec = spec;
    this.panel = panel;
    this.values = el("span", { class: "lv-values" });
    this.body = el("div", { class: "lv-plot" });
    this.figure = el("div", { role: "img", class: "lv-figure" }, this.body);
    this.root = el(
      "section",
      { class: "lv-card lv-chart", "data-chart": spec.id },
      el("header", {}, el("h2", {}, spec.title), saver(spec.title, () => this.plot?.ctx.canvas, () => this.panel.theme), this.values),
      this.figure,
    );
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(this.body);
    this.sight = new Sight(this.root, () => panel.soon("charts"));
  }

  // The lines of the moment: one a run and series, in the run's own colour; dashes tell series or recipes apart.
  lines() {
    const { theme, runs } = this.panel;
    return runs.flatMap(({ store, recipe }) => {
      const look = theme.look(recipe);
      return this.spec.series.map((series) => ({
        store,
        column: series.column(store),
        label: runs.length > 1 ? look.label : series.label,
        sign: runs.length > 1 ? SIGNS[look.marker] : "",
        color: look.color,
        dash: series.dash ?? (series.dashed ? [3, 4] : look.dash),
      }));
    });
  }

  build() {
    this.plot?.destroy();
    const { theme } = this.panel;
    this.current = this.lines();
    const axis = {
      stroke: theme.muted,
      grid: { stroke: theme.grid, width: 1 },
      ticks: { stroke: theme.grid, width: 1, size: 4 },
      font: `11px ${theme.font}`,
    };
    this.plot = new uPlot(
      {
        width: Math.max(this.body.clientWidth, 60),
        height: Math.max(this.body.clientHeight, 60),
        legend: { show: false },
        cursor: {
          sync: { key: this.panel.key, setSeries: false },
          drag: { x: true, y: false, setScale: false },
          points: { size: 6 },
          bind: { dblclick: () => () => this.panel.zoomTo(null) },
        },
        scales: { x: { time: false, auto: false }, y: { range: (u, low, high) => range(this.spec, ...this.reach(low, high)) } },
        axes: [
          { ...axis, size: 24, gap: 3, space: 60 },
          { ...axis, size: 44, gap: 3, space: 28, values: (u, splits) => splits.map(short) },
        ],
        series: [{}, ...this.current.map((line) => ({
          stroke: line.color, width: line.dash.length ? 1.6 : 2, dash: line.dash, spanGaps: true, points: { show: false },
        }))],
        hooks: {
          drawAxes: [(u) => this.drawUnit(u), (u) => this.drawFaint(u)],
          draw: [(u) => this.drawSigns(u), (u) => this.drawMarks(u), (u) => this.drawCursor(u)],
          setSelect: [(u) => this.select(u)],
          setCursor: [() => this.read()],
        },
      },
      this.data(),
      this.body,
    );
    this.fit();
  }

  data() {
    const stores = [...new Set(this.current.map((line) => line.store))];
    const column = (line) => line.store.column(line.column) ?? new Array(line.store.columns[0].length).fill(null);
    if (stores.length === 1) return [stores[0].columns[0], ...this.current.map(column)];
    return uPlot.join(this.current.map((line) => [line.store.columns[0], column(line)]));
  }

  fit() {
    const x = this.plot.data[0];
    const [low, high] = this.panel.zoom ?? [x[0] ?? 0, Math.max(x[x.length - 1] ?? 1, (x[0] ?? 0) + 10)];
    this.plot.setScale("x", { min: low, max: high });
  }

  draw() {
    const wanted = this.lines().map((line) => line.column + line.color).join();
    if (!this.plot || wanted !== this.wanted) {
      this.wanted = wanted;
      return this.build();
    }
    this.plot.batch(() => {
      this.plot.setData(this.data(), false);
      this.fit();
    });
    this.read();
  }

  // Numbers beside the title: under the cursor where there is one, else the latest.
  read() {
    if (!this.plot) return;
    const at = this.plot.cursor.idx ?? this.lookedAt();
    const parts = this.current.map((line, i) => {
      const value = at == null ? line.store.latest(line.column) : this.plot.data[i + 1][at];
      return { ...line, text: [line.sign, line.label, short(value)].filter(Boolean).join(" ") };
    });
    while (this.values.children.length > parts.length) this.values.lastChild.remove();
    parts.forEach((part, i) => {
      const item = this.values.children[i] ?? this.values.appendChild(el("span", {}, el("i", {}), el("b", {})));
      const style = !part.dash.length ? "solid" : part.dash[0] > 3 ? "dashed" : "dotted"; // as it is drawn
      mark(item.firstChild, "style", `border-top:2px ${style} ${part.color}`);
      say(item.lastChild, part.text);
    });
  }

  // The row under the timeline's cursor, where all runs share their steps; null for the latest.
  lookedAt() {
    const { cursor, runs } = this.panel;
    return cursor === null || runs.length > 1 ? null : runs[0].store.indexOf(cursor);
  }

  sentence() {
    const parts = this.current?.map((line) => `${line.label || this.spec.title}: ${short(line.store.latest(line.column))}`);
    const steps = Math.max(0, ...this.panel.runs.map(({ store }) => store.step));
    return `${this.spec.title} over ${steps} updates. Now ${parts?.join("; ") ?? "nothing yet"}.`;
  }

  select(u) {
    if (u.select.width > 4) {
      const [low, high] = [u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x")];
      this.panel.zoomTo([low, high]);
    }
    if (u.select.width) u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  }

  // With several runs each line also bears its recipe's sign, so that colour is never alone.
  drawSigns(u) {
    if (this.panel.runs.length < 2) return;
    const g = u.ctx;
    const gap = 90 * uPlot.pxRatio;
    g.save();
    g.font = `${12 * uPlot.pxRatio}px sans-serif`;
    g.textAlign = "center";
    g.textBaseline = "middle";
    this.current.forEach((line, i) => {
      g.fillStyle = line.color;
      let next = u.bbox.left + (i / this.current.length) * gap;
      const [x, y] = [u.data[0], u.data[i + 1]];
      for (let k = 0; k < x.length; k++) {
        const at = u.valToPos(x[k], "x", true);
        if (y[k] === null || at < next || at > u.bbox.left + u.bbox.width) continue;
        g.fillText(line.sign, at, u.valToPos(y[k], "y", true));
        next = at + gap;
      }
    });
    g.restore();
  }

  // Lowest and highest value in sight, faint branches included.
  reach(low, high) {
    const { min, max } = this.plot?.scales.x ?? {};
    for (const [x, y] of this.faint())
      for (let i = 0; i < y.length; i++) {
        if (!Number.isFinite(y[i]) || x[i] < min || x[i] > max) continue;
        [low, high] = [low == null ? y[i] : Math.min(low, y[i]), high == null ? y[i] : Math.max(high, y[i])];
      }
    return [low, high];
  }

  // [steps, values, line] of every faint branch and line, from the step where it leaves the path.
  faint() {
    return (this.current ?? []).flatMap((line) => line.store.faint.flatMap(({ columns, after }) => {
      const [x, y] = [columns.get("step"), columns.get(line.column)];
      if (!y) return [];
      const from = x.findIndex((step) => step > after);
      return from < 0 ? [] : [[x.subarray(from), y.subarray(from), line]];
    }));
  }

  drawFaint(u) {
    const all = this.faint();
    if (!all.length) return;
    const g = u.ctx;
    const { left, top, width, height } = u.bbox;
    g.save();
    g.beginPath();
    g.rect(left, top, width, height);
    g.clip();
    g.globalAlpha = 0.38;
    g.lineWidth = 1.4 * uPlot.pxRatio;
    for (const [x, y, line] of all) {
      g.strokeStyle = line.color;
      g.setLineDash(line.dash.map((d) => d * uPlot.pxRatio));
      g.beginPath();
      let pen = false;
      for (let i = 0; i < x.length; i++) {
        if (!Number.isFinite(y[i])) continue;
        const [px, py] = [u.valToPos(x[i], "x", true), u.valToPos(y[i], "y", true)];
        if (pen) g.lineTo(px, py);
        else g.moveTo(px, py);
        pen = true;
      }
      g.stroke();
    }
    g.restore();
  }

  // What is counted along x, once, in the corner that no tick uses.
  drawUnit(u) {
    const g = u.ctx;
    const { left, top, width, height } = u.bbox;
    const pixel = uPlot.pxRatio;
    g.save();
    g.fillStyle = this.panel.theme.muted;
    g.font = `${11 * pixel}px ${this.panel.theme.font}`;
    g.textAlign = "right";
    g.textBaseline = "top";
    g.fillText("updates", left - 6 * pixel, top + height + 7 * pixel);
    g.restore();
  }

  // Where the timeline stands, when it looks back.
  drawCursor(u) {
    const { cursor, theme } = this.panel;
    if (cursor === null) return;
    const x = Math.round(u.valToPos(cursor, "x", true)) + 0.5;
    const { left, top, width, height } = u.bbox;
    if (x < left || x > left + width) return;
    const g = u.ctx;
    g.save();
    g.strokeStyle = theme.text;
    g.lineWidth = 1.5 * uPlot.pxRatio;
    g.setLineDash([]);
    g.beginPath();
    g.moveTo(x, top);
    g.lineTo(x, top + height);
    g.stroke();
    g.restore();
  }

  drawMarks(u) {
    const { theme, runs } = this.panel;
    const g = u.ctx;
    g.save();
    g.strokeStyle = g.fillStyle = theme.mark;
    const pixel = uPlot.pxRatio;
    g.lineWidth = pixel;
    g.setLineDash([3 * pixel, 3 * pixel]);
    const { left, top, width, height } = u.bbox;
    for (const { store } of runs)
      for (const { step } of store.status.marks) {
        const x = Math.round(u.valToPos(step, "x", true)) + 0.5;
        if (x < left || x > left + width) continue;
        g.beginPath();
        g.moveTo(x, top);
        g.lineTo(x, top + height);
        g.stroke();
        g.beginPath();
        g.moveTo(x - 4 * pixel, top);
        g.lineTo(x + 4 * pixel, top);
        g.lineTo(x, top + 6 * pixel);
        g.fill();
      }
    g.restore();
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.body;
    if (this.plot && width > 0 && height > 0) this.plot.setSize({ width, height });
  }

  dispose() {
    this.observer.disconnect();
    this.sight.dispose();
    this.plot?.destroy();
  }
}

// Never a flat line glued to the frame: some air, zero included where the quantity cannot be negative.
function range(spec, low, high) {
  if (low == null || high == null) return [0, 1];
  const bottom = spec.floor === undefined ? low : Math.min(spec.floor, low);
  const air = Math.max((high - bottom) * 0.08, Math.abs(high) * 1e-3, spec.least ?? 1e-6);
  return [spec.floor !== undefined && bottom >= spec.floor ? bottom : bottom - air, high + air];
}

const SIGNS = { circle: "●", square: "■", diamond: "◆", "triangle-up": "▲", "triangle-down": "▼", cross: "✚", x: "✖", star: "★" };

const column = (name) => () => name;

export const CHARTS = [
  { id: "reward", title: "Reward", least: 0.02, series: [{ column: (store) => store.hello?.reward ?? "reward_mean" }] },
  {
    id: "kl", title: "KL, nats", floor: 0, least: 1e-3,
    series: [
      { column: column("kl_ref"), label: "to reference" },
      { column: column("approx_kl"), label: "to old policy", dashed: true },
    ],
  },
  { id: "entropy", title: "Entropy, nats", floor: 0, least: 0.02, series: [{ column: column("entropy") }] },
  {
    id: "clip", title: "Clip fraction", floor: 0, least: 0.005,
    series: [
      { column: column("clip_fraction"), label: "gradient dead" },
      { column: column("clip_fraction_outside"), label: "outside the band", dashed: true },
    ],
  },
];

export const MORE = [
  {
    id: "kl-exact", title: "KL to reference, nats", floor: 0, least: 1e-3,
    series: [{ column: column("kl_ref_exact"), label: "exact" }, { column: column("kl_ref"), label: "estimated (k3)", dashed: true }],
  },
  {
    id: "clip-sides", title: "Gradient dead, by side", floor: 0, least: 0.005,
    series: [{ column: column("clip_fraction_low"), label: "low (A < 0)" }, { column: column("clip_fraction_high"), label: "high (A > 0)", dashed: true }],
  },
  { id: "dead", title: "Dead groups", floor: 0, least: 0.02, series: [{ column: column("dead_group_fraction") }] },
  { id: "grad", title: "Gradient norm", floor: 0, least: 1e-3, series: [{ column: column("grad_norm") }] },
  {
    id: "ratio", title: "Ratio, lowest and highest", least: 0.01,
    series: [{ column: column("ratio_min"), label: "lowest" }, { column: column("ratio_max"), label: "highest", dashed: true }],
  },
  { id: "value", title: "Explained variance", least: 0.02, series: [{ column: column("explained_variance") }] },
  { id: "value-loss", title: "Value loss", floor: 0, least: 1e-4, series: [{ column: column("value_loss") }] },
  { id: "spread", title: "Advantage, standard deviation", floor: 0, least: 0.02, series: [{ column: column("advantage_std") }] },
];
