// The world under the policy of the moment: arms, grid or pole, and the same as a sentence and a table.

import { el, mark, reducedMotion, say, Sheet, short } from "./dom.js";
import { Editor } from "./editor.js";
import { saver } from "./save.js";
import { simplex } from "./simplex.js";
import { distributions, repliesTable } from "./words.js";

// Kinds of worlds that can be looked at in more than one way.
const VIEWS = { grid: [["policy", "Policy"], ["values", "Values"], ["paths", "Paths"]], triangle: [["arms", "Arms"], ["triangle", "Simplex"]] };
const MOVES = [["up", 0, -1, "↑"], ["right", 1, 0, "→"], ["down", 0, 1, "↓"], ["left", -1, 0, "←"]];

export class World {
  constructor(panel, run) {
    this.panel = panel;
    this.run = run;
    this.sheet = new Sheet("", () => panel.soon("scene"));
    this.caption = el("p", { class: "lv-caption" });
    this.title = el("h2", {}, panel.runs.length > 1 ? panel.theme.look(run.recipe).label : "The world");
    this.note = el("span", { class: "lv-values" });
    const alone = panel.runs.length === 1 && panel.options.layout === "lab";
    this.editor = alone ? new Editor(panel, run, this.sheet) : null;
    this.views = el("span", { class: "lv-views", role: "group", "aria-label": "What is drawn" });
    this.view = {};
    this.root = el("section", { class: "lv-card lv-world" }, el("header", {}, this.title, alone ? this.views : null, saver("The world under the policy", () => this.sheet.canvas, () => panel.theme), this.note), this.sheet.root, panel.runs.length > 1 ? null : this.caption, this.editor?.root);
    this.playing = null;
  }

  // Buttons for the ways this kind of world can be drawn, the first one at first.
  choose(kind) {
    if (kind === this.chosen) return;
    this.chosen = kind;
    const views = VIEWS[kind] ?? [];
    this.views.replaceChildren(...views.map(([name, label], i) => el("button", { type: "button", "data-view": name, "aria-pressed": String(name === (this.view[kind] ?? views[0][0])), onclick: () => {
      this.view[kind] = name;
      for (const button of this.views.children) mark(button, "aria-pressed", button.dataset.view === name);
      this.panel.soon("scene");
    } }, label)));
  }

  painter(world) {
    if (!world) return PAINTERS.other;
    const kind = world.best ? "triangle" : world.kind;
    this.choose(kind);
    if (kind === "triangle" && (this.view.triangle ?? "arms") === "triangle") return simplex;
    return PAINTERS[world.kind] ?? PAINTERS.other;
  }

  draw() {
    const world = this.run.store.scene?.world;
    const sheet = this.sheet.size();
    this.editor?.draw();
    const told = this.painter(world).call(this, sheet, world?.kind === "grid" && this.editor ? this.editor.world(world) : world);
    say(this.caption, told.caption);
    mark(this.sheet.root, "aria-label", told.sentence);
    if (this.panel.runs.length > 1) say(this.note, `reward ${short(this.run.store.latest(this.run.store.hello?.reward ?? "reward_mean"))}`);
  }

  dispose() {
    this.sheet.dispose();
  }

  table() {
    const world = this.run.store.scene?.world;
    if (world?.kind === "bandit") return { head: ["arm", "probability", "mean reward"], rows: world.probs.map((p, i) => [i + 1, short(p), short(world.means[i])]) };
    if (world?.kind === "contextual")
      return { head: ["context", ...world.probs[0].map((_, a) => `arm ${a + 1}`)], rows: world.probs.map((row, c) => [c + 1, ...row.map(short)]) };
    if (world?.kind === "grid") {
      const pays = new Map(world.extra);
      const rows = world.probs.map((p, s) => [Math.floor(s / world.width) + 1, (s % world.width) + 1, ...p.map(short), world.visits?.[s] ?? 0, world.values ? short(world.values[s]) : "–", pays.has(s) ? short(pays.get(s)) : "–"]);
      return { head: ["row", "column", ...MOVES.map(([name]) => name), "visits", "value", "extra reward"], rows: rows.filter((_, s) => !world.walls.includes(s)) };
    }
    if (world?.kind === "words") return repliesTable(world);
    if (world?.kind === "cartpole") return { head: ["row", "return"], rows: world.returns.map((r, i) => [i + 1, short(r)]) };
    return { head: [], rows: [] };
  }
}

const PAINTERS = {
  words: distributions,

  bandit({ g, width, height }, { probs, means }) {
    const { theme } = this.panel;
    const color = theme.look(this.run.recipe).color;
    const frame = { left: 30, right: width - 34, top: 10, bottom: height - 22 };
    const step = (frame.right - frame.left) / probs.length;
    const y = (p) => frame.bottom - p * (frame.bottom - frame.top);
    const [low, high] = [Math.min(0, ...means), Math.max(...means)];
    const ym = (m) => y((m - low) / (high - low || 1));
    g.font = `11px ${theme.font}`;
    g.strokeStyle = theme.grid;
    g.fillStyle = theme.muted;
    g.textAlign = "right";
    for (const p of [0, 0.5, 1]) {
      g.fillRect(frame.left, Math.round(y(p)), frame.right - frame.left, 0.5);
      g.fillText(String(p), frame.left - 5, y(p) + 4);
    }
    g.textAlign = "left";
    for (const m of [low, high]) g.fillText(short(m), frame.right + 5, ym(m) + 4);
    probs.forEach((p, arm) => {
      const x = frame.left + arm * step;
      g.fillStyle = color;
      g.fillRect(x + step * 0.16, y(p), step * 0.68, frame.bottom - y(p));
      g.fillStyle = theme.text;
      diamond(g, x + step / 2, ym(means[arm]), 4.5, theme.background);
      g.textAlign = "center";
      g.fillStyle = theme.muted;
      if (step > 16 || arm % 2 === 0) g.fillText(String(arm + 1), x + step / 2, frame.bottom + 15);
    });
    const best = argmax(probs);
    const favourite = `arm ${best + 1} with probability ${short(probs[best])}`;
    return {
      caption: "Bars: probability of each arm (left axis). ◆ its true mean reward (right axis).",
      sentence: `Bandit with ${probs.length} arms. The policy prefers ${favourite}; the best is arm ${argmax(means) + 1}.`,
    };
  },

  contextual({ g, width, height }, { probs, means }) {
    const { theme } = this.panel;
    const color = theme.look(this.run.recipe).color;
    const [rows, columns] = [probs.length, probs[0].length];
    const size = Math.min((width - 70) / columns, (height - 30) / rows);
    g.font = `11px ${theme.font}`;
    probs.forEach((row, c) => {
      g.fillStyle = theme.muted;
      g.textAlign = "right";
      g.fillText(`context ${c + 1}`, 62, 10 + (c + 0.5) * size + 4);
      row.forEach((p, a) => {
        const [x, y] = [68 + a * size, 10 + c * size];
        g.fillStyle = color;
        g.globalAlpha = 0.08 + 0.92 * p;
        g.fillRect(x + 2, y + 2, size - 4, size - 4);
        g.globalAlpha = 1;
        g.fillStyle = theme.text;
        if (a === argmax(means[c])) diamond(g, x + size / 2, y + size / 2, 5, theme.background);
      });
    });
    const right = probs.filter((row, c) => argmax(row) === argmax(means[c])).length;
    return {
      caption: "Darker: more probable. ◆ the arm that pays best in that context.",
      sentence: `Contextual bandit: the policy prefers the best arm in ${right} of ${rows} contexts.`,
    };
  },

  grid({ g, width, height }, world) {
    const { theme } = this.panel;
    const size = Math.floor(Math.min(width / world.width, height / world.height));
    const place = { size, left: Math.round((width - size * world.width) / 2), top: Math.round((height - size * world.height) / 2) };
    this.editor?.lies(place);
    const view = this.view.grid ?? "policy";
    const values = view === "values" ? world.values : null;
    const low = Math.min(...(values ?? [0])), high = Math.max(...(values ?? [1]));
    const most = Math.max(1, ...(world.visits ?? [0]));
    const is = (list) => new Set(list);
    const [walls, hazards, goals, starts] = [is(world.walls), is(world.hazards), is(world.goals), is(world.starts)];
    const [gusts, pays] = [new Map(world.gusts), new Map(world.extra)];
    const color = theme.look(this.run.recipe).color;
    for (let s = 0; s < world.width * world.height; s++) {
      const [x, y] = [place.left + (s % world.width) * size, place.top + Math.floor(s / world.width) * size];
      g.fillStyle = walls.has(s) ? theme.muted : theme.heat[0];
      g.fillRect(x, y, size, size);
      const share = values ? (values[s] - low) / (high - low || 1) : Math.sqrt((world.visits?.[s] ?? 0) / most);
      if (share > 0 && !walls.has(s)) {
        g.globalAlpha = values ? share : 0.15 + 0.85 * share;
        g.fillStyle = theme.heat[1];
        g.fillRect(x, y, size, size);
        g.globalAlpha = 1;
      }
      g.strokeStyle = theme.border;
      g.strokeRect(x + 0.5, y + 0.5, size, size);
      const sign = goals.has(s) ? ["★", theme.better] : hazards.has(s) ? ["✖", theme.worse] : null;
      if (sign) {
        g.fillStyle = sign[1];
        g.textAlign = "center";
        g.font = `${Math.round(size * 0.55)}px ${theme.font}`;
        g.fillText(sign[0], x + size / 2, y + size * 0.7);
      } else if (!walls.has(s) && view === "policy") arrows(g, x + size / 2, y + size / 2, size, world.probs[s], color);
      else if (!walls.has(s) && values && size >= 22) {
        g.fillStyle = theme.text;
        g.textAlign = "center";
        g.font = `${Math.max(9, Math.round(size * 0.28))}px ${theme.font}`;
        g.fillText(values[s].toFixed(size < 34 ? 1 : 2).replace("-", "−"), x + size / 2, y + size * 0.6);
      }
      if (gusts.has(s)) gust(g, x, y, size, gusts.get(s), theme.mark);
      if (starts.has(s)) corner(g, "S", x + 3, y + Math.max(10, size * 0.24), "left", size, theme);
      if (pays.has(s)) corner(g, `${pays.get(s) > 0 ? "+" : ""}${short(pays.get(s))}`, x + size - 2, y + size - 3, "right", size, theme);
    }
    if (view === "paths") {
      paths(g, place, world, color, theme);
      for (const [cells, sign, tint] of [[goals, "★", theme.better], [hazards, "✖", theme.worse]])
        for (const s of cells) {
          g.fillStyle = tint;
          g.textAlign = "center";
          g.font = `${Math.round(size * 0.55)}px ${theme.font}`;
          g.fillText(sign, place.left + ((s % world.width) + 0.5) * size, place.top + Math.floor(s / world.width) * size + size * 0.7);
        }
    }
    this.editor?.frame(g, theme);
    return gridWords(world, view);
  },

  cartpole(sheet, world) {
    const { theme } = this.panel;
    const color = theme.look(this.run.recipe).color;
    this.film(world);
    const { g, width, height } = sheet;
    const strip = 46;
    const at = this.frameNow();
    const film = this.playing;
    if (film && film.x.length) pole(g, width, height - strip, film.x[at], film.theta[at], theme, color);
    const most = Math.max(1, ...world.returns);
    const step = (width - 40) / Math.max(1, world.returns.length);
    g.fillStyle = theme.muted;
    g.font = `11px ${theme.font}`;
    g.textAlign = "left";
    g.fillText(`rewards by row, highest ${short(most)}`, 20, height - strip + 8);
    g.fillStyle = color;
    world.returns.forEach((r, i) => {
      const h = (r / most) * (strip - 18);
      g.fillRect(20 + i * step + 1, height - h, Math.max(1, step - 2), h);
    });
    const mean = world.returns.reduce((a, b) => a + b, 0) / Math.max(1, world.returns.length);
    return {
      caption: film?.x.length ? `The longest row of step ${film.step}, ${film.x.length} moves, in real time.` : "No episode yet: step or play.",
      sentence: `CartPole: ${world.returns.length} rows with ${short(mean)} rewards on average, ${short(most)} at most.`,
    };
  },

  other({ g, width, height }) {
    const { theme } = this.panel;
    g.fillStyle = theme.muted;
    g.textAlign = "center";
    g.font = `13px ${theme.font}`;
    const text = this.run.store.scene ? "This world has no picture; its curves tell." : "Getting ready …";
    g.fillText(text, width / 2, height / 2);
    return { caption: "", sentence: text };
  },
};

// The episode being shown plays to its end before the newest one takes over.
World.prototype.film = function (world) {
  if (!this.run.store.scene.step) this.playing = null; // back at the start: there is no episode yet
  const done = !this.playing || !this.playing.x.length || performance.now() - this.playing.since > this.playing.x.length * 20 + 400;
  if (done && world.x.length) this.playing = { ...world, step: this.run.store.scene.step, since: performance.now() };
};

World.prototype.frameNow = function () {
  const film = this.playing;
  if (!film?.x.length) return 0;
  if (reducedMotion.matches) return film.x.length - 1;
  this.animated = true;
  return Math.min(film.x.length - 1, Math.floor((performance.now() - film.since) / 20));
};

function pole(g, width, height, x, theta, theme, color) {
  const ground = height - 18;
  const scale = width / 5.2;
  const cx = width / 2 + x * scale;
  g.strokeStyle = theme.border;
  g.beginPath();
  g.moveTo(8, ground + 0.5);
  g.lineTo(width - 8, ground + 0.5);
  g.stroke();
  g.fillStyle = theme.muted;
  for (const limit of [-2.4, 2.4]) g.fillRect(width / 2 + limit * scale - 1, ground - 6, 2, 12);
  g.fillStyle = theme.text;
  g.fillRect(cx - 22, ground - 20, 44, 16);
  const length = Math.min(height * 0.62, 120);
  g.strokeStyle = color;
  g.lineWidth = 7;
  g.lineCap = "round";
  g.beginPath();
  g.moveTo(cx, ground - 20);
  g.lineTo(cx + Math.sin(theta) * length, ground - 20 - Math.cos(theta) * length);
  g.stroke();
  g.lineWidth = 1;
}

function arrows(g, cx, cy, size, probs, color) {
  g.strokeStyle = g.fillStyle = color;
  probs.forEach((p, a) => {
    if (p < 0.03) return;
    const [, dx, dy] = MOVES[a];
    const reach = size * (0.1 + 0.22 * p);
    g.globalAlpha = 0.25 + 0.75 * p;
    g.lineWidth = 1 + 2 * p;
    const tail = reach * Math.max(0, 2 * p - 1); // a sure arrow stands in the middle of its cell
    g.beginPath();
    g.moveTo(cx - dx * tail, cy - dy * tail);
    g.lineTo(cx + dx * reach, cy + dy * reach);
    g.stroke();
    const h = size * 0.035 + size * 0.05 * p;
    g.beginPath();
    g.moveTo(cx + dx * (reach + h * 1.4), cy + dy * (reach + h * 1.4));
    g.lineTo(cx + dx * reach + dy * h, cy + dy * reach + dx * h);
    g.lineTo(cx + dx * reach - dy * h, cy + dy * reach - dx * h);
    g.fill();
  });
  g.globalAlpha = 1;
  g.lineWidth = 1;
}

function gridWords(world, view) {
  const shown = {
    policy: "Arrows: probability of each move. Shade: visits this step.",
    values: world.values ? "Numbers and shade: the critic's value of each cell." : "This algorithm has no critic, so there are no values; the shade is visits.",
    paths: `Lines: ${world.paths?.length ?? 0} of this step's walks, ● where they end.`,
  }[view];
  const more = [world.gusts?.length ? "≫ gust" : "", world.extra?.length ? "number in a corner: reward" : ""].filter(Boolean).join(", ");
  const best = world.values ? ` Values from ${short(Math.min(...world.values))} to ${short(Math.max(...world.values))}.` : "";
  const ends = (world.paths ?? []).filter((path) => world.goals.includes(path[path.length - 1])).length;
  const walked = world.paths ? ` ${ends} of ${world.paths.length} walks drawn end at a goal.` : "";
  return {
    caption: `${shown} S start, ★ goal, ✖ hazard${more ? `, ${more}` : ""}.`,
    sentence: `Gridworld, ${world.height} by ${world.width}. Following the likeliest moves from the start: ${route(world)}.${view === "values" ? best : ""}${view === "paths" ? walked : ""}`,
  };
}

function corner(g, text, x, y, align, size, theme) {
  g.fillStyle = theme.text;
  g.textAlign = align;
  g.font = `bold ${Math.max(9, Math.round(size * 0.22))}px ${theme.font}`;
  g.fillText(text, x, y);
}

// Two chevrons the way the gust blows, in the cell's upper right.
function gust(g, x, y, size, way, color) {
  const [, dx, dy] = MOVES[way];
  const [cx, cy, r] = [x + size * 0.78, y + size * 0.2, size * 0.11];
  g.strokeStyle = color;
  g.lineWidth = Math.max(1.2, size * 0.035);
  for (const shift of [-0.6, 0.6]) {
    const [px, py] = [cx + dx * r * shift, cy + dy * r * shift];
    g.beginPath();
    g.moveTo(px - dx * r * 0.7 + dy * r, py - dy * r * 0.7 + dx * r);
    g.lineTo(px + dx * r * 0.7, py + dy * r * 0.7);
    g.lineTo(px - dx * r * 0.7 - dy * r, py - dy * r * 0.7 - dx * r);
    g.stroke();
  }
  g.lineWidth = 1;
}

// Walks side by side within the cells they share; a dash and a shift each.
function paths(g, { left, top, size }, world, color, theme) {
  const list = world.paths ?? [];
  list.forEach((cells, k) => {
    const shift = size * 0.09 * (k - (list.length - 1) / 2);
    const at = (s) => [left + ((s % world.width) + 0.5) * size + shift, top + (Math.floor(s / world.width) + 0.5) * size + shift];
    g.strokeStyle = g.fillStyle = color;
    g.globalAlpha = 0.85;
    g.lineWidth = 1.8;
    g.setLineDash(DASHES[k % DASHES.length]);
    g.beginPath();
    cells.forEach((s, i) => (i ? g.lineTo(...at(s)) : g.moveTo(...at(s))));
    g.stroke();
    g.setLineDash([]);
    g.beginPath();
    g.arc(...at(cells[cells.length - 1]), Math.max(2.5, size * 0.08), 0, 2 * Math.PI);
    g.fill();
    g.strokeStyle = theme.background;
    g.stroke();
  });
  g.globalAlpha = 1;
  g.lineWidth = 1;
}

const DASHES = [[], [6, 3], [2, 3], [9, 3, 2, 3], [4, 2], [1, 2]];

function diamond(g, x, y, r, edge) {
  g.beginPath();
  g.moveTo(x, y - r);
  g.lineTo(x + r, y);
  g.lineTo(x, y + r);
  g.lineTo(x - r, y);
  g.closePath();
  g.fill();
  g.strokeStyle = edge;
  g.stroke();
}

function argmax(values) {
  return values.indexOf(Math.max(...values));
}

// The greedy path in words: where the policy would most likely walk, until it ends, repeats itself or gets long.
function route(world) {
  let s = world.starts[0];
  const seen = new Set();
  const signs = [];
  while (!seen.has(s) && signs.length < 40) {
    if (world.goals.includes(s)) return `${signs.join(" ")} and the goal is reached`;
    if (world.hazards.includes(s)) return `${signs.join(" ")} into a hazard`;
    seen.add(s);
    const [, dx, dy, sign] = MOVES[argmax(world.probs[s])];
    signs.push(sign);
    const [x, y] = [(s % world.width) + dx, Math.floor(s / world.width) + dy];
    const next = y * world.width + x;
    const blocked = x < 0 || y < 0 || x >= world.width || y >= world.height || world.walls.includes(next);
    s = blocked ? s : next;
  }
  return `${signs.slice(0, 12).join(" ")} and it does not arrive`;
}
