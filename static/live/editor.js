// Painting a gridworld while it learns, by mouse, finger or keys. Every stroke is a setting like any other: the server
// checks it, it is in force from the next step, marked on the curves, undone with U, and kept in the address.
// This module draws only what it adds to the world: the frame of the cell that keys act on.

import { el, mark, say } from "./dom.js";

const TOOLS = [
  ["W", "#", "Wall"], ["F", ".", "Floor"], ["H", "H", "Hazard"], ["G", "G", "Goal"], ["S", "S", "Start (moves it)"], ["A", "S+", "Add a start"],
  ["↑", "^", "Gust up"], ["→", ">", "Gust right"], ["↓", "v", "Gust down"], ["←", "<", "Gust left"], ["V", "reward", "Reward"],
];
const SAFE = { "#": "W", "^": "U", ">": "R", v: "D", "<": "L" };
const PLAIN = { W: "#", U: "^", R: ">", D: "v", L: "<" };
const MOVES = { ArrowUp: [0, -1, "^"], ArrowRight: [1, 0, ">"], ArrowDown: [0, 1, "v"], ArrowLeft: [-1, 0, "<"] };
const SEND_EVERY = 60; // ms within a stroke
const LIMIT = 20;

export const rowsOf = (text) => text.split("-").map((row) => [...row].map((c) => PLAIN[c] ?? c).join(""));
const textOf = (rows) => rows.map((row) => [...row].map((c) => SAFE[c] ?? c).join("")).join("-");

export function rewardsOf(text) {
  const found = new Map();
  for (const part of (text ?? "").split(/_(?=r)/)) {
    const match = /^r(\d+)c(\d+)_(.+)$/.exec(part);
    if (match) found.set(`${match[1] - 1},${match[2] - 1}`, Number(match[3]));
  }
  return found;
}

const rewardsText = (rewards) => [...rewards].map(([key, value]) => {
  const [row, column] = key.split(",").map(Number);
  return `r${row + 1}c${column + 1}_${Number(value.toFixed(4))}`;
}).join("_");

export class Editor {
  constructor(panel, run, sheet) {
    Object.assign(this, { panel, run, sheet, tool: "#", on: false, cursor: [0, 0] });
    this.toggle = el("button", { type: "button", class: "lv-chip", "data-action": "edit", "aria-expanded": "false", onclick: () => this.open(!this.on) }, "Edit the world");
    this.buttons = TOOLS.map(([key, tool, label]) => el("button", { type: "button", class: "lv-tool", "data-tool": tool, "aria-pressed": "false", title: `${label} (${key})`, onclick: () => this.take(tool) }, el("kbd", {}, key), ` ${label}`));
    this.reward = el("input", { type: "number", class: "lv-number", value: "0.5", step: "0.1", "aria-label": "Reward that is painted on a cell" });
    this.width = el("input", { type: "number", class: "lv-number", min: 1, max: LIMIT, "aria-label": "Columns" });
    this.height = el("input", { type: "number", class: "lv-number", min: 1, max: LIMIT, "aria-label": "Rows" });
    this.wind = el("select", { "aria-label": "Where the wind blows", onchange: () => this.commit({ wind_direction: this.wind.value }) },
      ...["any", "up", "right", "down", "left"].map((way) => el("option", { value: way }, way === "any" ? "any way" : way)));
    const resize = el("button", { type: "button", "data-action": "resize", onclick: () => this.resize() }, "New run of this size");
    const clear = el("button", { type: "button", "data-action": "clear", onclick: () => this.clear() }, "Clear walls and more");
    this.where = el("p", { class: "lv-caption", "aria-live": "polite" });
    this.palette = el("div", { class: "lv-palette", hidden: true },
      el("div", { class: "lv-tools", role: "toolbar", "aria-label": "What is painted" }, ...this.buttons),
      el("div", { class: "lv-pick" }, el("label", {}, "reward ", this.reward), el("label", {}, "wind ", this.wind), clear),
      el("div", { class: "lv-pick" }, el("label", {}, this.height, " rows"), el("label", {}, this.width, " columns"), resize),
      this.where,
      el("p", { class: "lv-why" }, "Click, drag or touch to paint; painting over the same removes it. By keys: focus the map, arrows move, the letters paint, Shift+arrow paints a gust, + and − change a cell's reward, Delete clears it. The wind's strength is p_wind, a gust's p_gust, under World."));
    this.root = el("div", { class: "lv-editor", hidden: true }, this.toggle, this.palette);
    this.listen();
    this.take("#");
  }

  // ---------------------------------------------------------------- what is there

  get rows() {
    return this.draft?.rows ?? rowsOf(this.run.store.status.settings.layout ?? "");
  }

  get rewards() {
    return this.draft?.rewards ?? rewardsOf(this.run.store.status.settings.extra);
  }

  // The map as a picture wants it: newer than the scene by what was painted since.
  world(world) {
    const { settings } = this.run.store.status;
    if (typeof settings.layout !== "string") return world;
    const text = this.rows.join("");
    if (this.rows.length !== world.height || this.rows[0]?.length !== world.width) return world;
    const cells = (sign) => [...text].flatMap((c, s) => (c === sign ? [s] : []));
    const gusts = ["^", ">", "v", "<"].flatMap((sign, way) => cells(sign).map((s) => [s, way]));
    const extra = [...this.rewards].map(([key, value]) => {
      const [row, column] = key.split(",").map(Number);
      return [row * world.width + column, value];
    });
    return { ...world, walls: cells("#"), hazards: cells("H"), goals: cells("G"), starts: cells("S"), gusts, extra };
  }

  // ---------------------------------------------------------------- the palette

  open(on) {
    this.on = on;
    this.palette.hidden = !on;
    mark(this.toggle, "aria-expanded", on);
    say(this.toggle, on ? "Done editing" : "Edit the world");
    const { root } = this.sheet;
    root.classList.toggle("lv-editing", on);
    if (on) {
      Object.assign(root, { tabIndex: 0 });
      root.setAttribute("role", "application");
      this.height.value = this.rows.length;
      this.width.value = this.rows[0].length;
      root.focus({ preventScroll: true });
      this.tell();
    } else {
      root.removeAttribute("tabindex");
      root.setAttribute("role", "img");
    }
    this.panel.soon("scene");
  }

  take(tool) {
    this.tool = tool;
    for (const button of this.buttons) mark(button, "aria-pressed", button.dataset.tool === tool);
  }

  draw() {
    const { settings } = this.run.store.status;
    this.root.hidden = typeof settings.layout !== "string";
    if (this.root.hidden && this.on) this.open(false);
    if (this.draft && !this.stroke && settings.layout === textOf(this.draft.rows) && (settings.extra ?? "") === rewardsText(this.draft.rewards)) this.draft = null;
    if (document.activeElement !== this.wind) this.wind.value = settings.wind_direction ?? "any";
  }

  // ---------------------------------------------------------------- painting

  listen() {
    const { root } = this.sheet;
    root.addEventListener("pointerdown", (event) => this.on && event.button === 0 && this.begin(event));
    root.addEventListener("pointermove", (event) => this.stroke && this.along(event));
    for (const end of ["pointerup", "pointercancel"]) root.addEventListener(end, () => this.stroke && this.end());
    root.addEventListener("keydown", (event) => this.on && this.pressed(event));
    root.addEventListener("focus", () => this.panel.soon("scene"));
    root.addEventListener("blur", () => this.panel.soon("scene"));
  }

  begin(event) {
    const cell = this.cellAt(event);
    if (!cell) return;
    event.preventDefault();
    this.sheet.root.setPointerCapture(event.pointerId);
    this.sheet.root.focus({ preventScroll: true });
    this.stroke = { tool: this.same(cell, this.tool) ? "." : this.tool, last: null };
    if (this.stroke.tool === "." && this.tool === "reward") this.stroke.tool = "no reward";
    this.along(event);
  }

  along(event) {
    const cell = this.cellAt(event);
    if (!cell || String(cell) === String(this.stroke.last)) return;
    this.stroke.last = this.cursor = cell;
    this.paint(cell, this.stroke.tool);
  }

  end() {
    this.stroke = null;
    this.send();
    this.panel.settled();
  }

  same([row, column], tool) {
    if (tool === "reward") return this.rewards.get(`${row},${column}`) === Number(this.reward.value);
    return this.rows[row][column] === tool[0] && tool !== "." && tool !== "S";
  }

  paint([row, column], tool) {
    const rows = this.rows.map((line) => [...line]);
    const rewards = new Map(this.rewards);
    const key = `${row},${column}`;
    if (tool === "reward" || tool === "no reward") {
      if (tool === "no reward") rewards.delete(key);
      else rewards.set(key, Number(this.reward.value) || 0);
    } else if (tool === "S") this.moveStart(rows, row, column);
    else rows[row][column] = tool[0];
    this.draft = { rows: rows.map((line) => line.join("")), rewards };
    this.tell();
    this.panel.soon("scene");
    const wait = SEND_EVERY - (performance.now() - (this.sentAt ?? -1e9));
    clearTimeout(this.timer);
    if (wait <= 0) this.send();
    else this.timer = setTimeout(() => this.send(), wait);
  }

  moveStart(rows, row, column) {
    const starts = rows.flatMap((line, r) => line.flatMap((c, k) => (c === "S" ? [[r, k]] : [])));
    if (starts.length === 1) rows[starts[0][0]][starts[0][1]] = ".";
    rows[row][column] = "S";
  }

  send() {
    clearTimeout(this.timer);
    if (!this.draft) return;
    this.sentAt = performance.now();
    const { settings } = this.run.store.status;
    const values = {};
    const [layout, extra] = [textOf(this.draft.rows), rewardsText(this.draft.rewards)];
    if (layout !== settings.layout) values.layout = layout;
    if (extra !== (settings.extra ?? "")) values.extra = extra;
    if (Object.keys(values).length) this.commit(values, false);
  }

  commit(values, settle = true) {
    this.panel.turned({});
    this.panel.set(values);
    if (settle) this.panel.settled();
  }

  // What was painted last was refused: the map is again what the run has.
  refused() {
    this.draft = null;
  }

  clear() {
    this.draft = { rows: this.rows.map((line) => line.replace(/[^SG]/g, ".")), rewards: new Map() };
    this.send();
    this.panel.settled();
    this.panel.soon("scene");
  }

  resize() {
    const [height, width] = [Number(this.height.value), Number(this.width.value)];
    if (![height, width].every((n) => Number.isInteger(n) && n >= 1 && n <= LIMIT)) return this.panel.announce(`size: rows and columns must be whole numbers from 1 to ${LIMIT}, got ${this.height.value} and ${this.width.value}`);
    const rows = Array.from({ length: height }, (_, r) => Array.from({ length: width }, (_, c) => this.rows[r]?.[c] ?? "."));
    if (!rows.flat().includes("S")) rows[0][0] = "S";
    if (!rows.flat().includes("G")) rows[height - 1][width - 1] = "G";
    const kept = new Map([...this.rewards].filter(([key]) => key.split(",").every((at, i) => Number(at) < [height, width][i])));
    const horizon = Math.max(32, 2 * (height + width));
    this.panel.send.trigger("fresh", JSON.stringify({ layout: textOf(rows.map((line) => line.join(""))), extra: rewardsText(kept), horizon }));
  }

  // ---------------------------------------------------------------- keys

  pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const move = MOVES[event.key];
    const letter = TOOLS.find(([key]) => key === event.key.toUpperCase());
    if (move && event.shiftKey) this.key(this.same(this.cursor, move[2]) ? "." : move[2]);
    else if (move) this.go(move);
    else if (letter) this.key(this.same(this.cursor, letter[1]) ? (letter[1] === "reward" ? "no reward" : ".") : letter[1]);
    else if (event.key === "Enter") this.key(this.tool);
    else if (event.key === "Delete" || event.key === "Backspace") this.key(".");
    else if (event.key === "+" || event.key === "-" || event.key === "−") this.raise(event.key === "+" ? 0.1 : -0.1);
    else if (event.key === "Escape") this.open(false), this.toggle.focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  key(tool) {
    this.paint(this.cursor, tool);
    this.panel.settled();
  }

  go([dx, dy]) {
    const [row, column] = this.cursor;
    this.cursor = [Math.min(this.rows.length - 1, Math.max(0, row + dy)), Math.min(this.rows[0].length - 1, Math.max(0, column + dx))];
    this.tell();
    this.panel.soon("scene");
  }

  raise(by) {
    const before = this.rewards.get(this.cursor.join()) ?? 0;
    const after = Number((before + by).toFixed(4));
    const held = this.reward.value;
    this.reward.value = String(after);
    this.key(after === 0 ? "no reward" : "reward");
    this.reward.value = held;
  }

  tell() {
    const [row, column] = this.cursor;
    const sign = this.rows[row]?.[column];
    const name = { "#": "wall", ".": "floor", H: "hazard", G: "goal", S: "start", "^": "gust up", ">": "gust right", v: "gust down", "<": "gust left" }[sign];
    const pays = this.rewards.get(`${row},${column}`);
    say(this.where, `Row ${row + 1}, column ${column + 1}: ${name}${pays === undefined ? "" : `, reward ${pays}`}`);
  }

  // ---------------------------------------------------------------- where things are

  // The painter tells how the map lies on the canvas: left, top, size of a cell.
  lies(place) {
    this.place = place;
  }

  cellAt(event) {
    const { left, top, size } = this.place ?? {};
    if (!size) return null;
    const box = this.sheet.root.getBoundingClientRect();
    const [column, row] = [Math.floor((event.clientX - box.left - left) / size), Math.floor((event.clientY - box.top - top) / size)];
    return row >= 0 && row < this.rows.length && column >= 0 && column < this.rows[0].length ? [row, column] : null;
  }

  frame(g, theme) {
    if (!this.on || !this.place || document.activeElement !== this.sheet.root) return;
    const { left, top, size } = this.place;
    g.strokeStyle = theme.text;
    g.lineWidth = 3;
    g.strokeRect(left + this.cursor[1] * size + 1.5, top + this.cursor[0] * size + 1.5, size - 3, size - 3);
    g.lineWidth = 1;
  }
}
