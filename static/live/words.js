// A word task's replies: one group read token by token, colored by a quantity of choice, and how all replies of the
// step are distributed. Shows what the record holds; while somebody reads, the page holds still and the run goes on.

import { Chart } from "./charts.js";
import { el, mark, say, short } from "./dom.js";

const CALM = 700; // ms between refreshes of the replies while a run plays: text that flickers cannot be read
const OUTCOMES = [["✓", "right"], ["✗", "wrong"], ["✂", "cut"]];
const FATES = ["learning", "outside the band, still learning", "clipped: its gradient is removed"];
const DEAD = 2;

// name, what it is called, and whether it has a sign
const COLORS = {
  advantage: { label: "advantage", of: (x) => x, signed: true },
  ratio: { label: "ratio in the loss", of: (x) => Math.log(x), signed: true, ends: ["ratio < 1", "ratio > 1"] },
  token_ratio: { label: "ratio of the token alone", of: (x) => Math.log(x), signed: true, ends: ["ratio < 1", "ratio > 1"] },
  kl: { label: "KL to the reference", of: (x) => x, unit: " nats" },
  entropy: { label: "entropy", of: (x) => x, unit: " nats" },
  fate: { label: "clipped or not" },
};

const HELDOUT = {
  id: "heldout", title: "Held-out accuracy", floor: 0, least: 0.02,
  series: [
    { column: () => "heldout_sampled", label: "sampled" },
    { column: () => "heldout_greedy", label: "greedy", dashed: true },
    { column: () => "heldout_pass_at_4", label: "pass@4", dash: [9, 3, 2, 3] },
  ],
};

export class Replies {
  constructor(panel) {
    this.panel = panel;
    this.run = panel.runs[0];
    this.at = { row: 0, token: 0 };
    this.group = 0;
    this.lines = [];
    const pick = (label, onchange) => el("select", { "aria-label": label, onchange });
    this.groups = pick("Prompt", (event) => this.choose(Number(event.target.value)));
    this.color = pick("Tokens colored by", () => this.paint());
    this.link = el("a", { target: "_blank", rel: "noopener" });
    this.legend = el("p", { class: "lv-caption lv-legend-words" });
    this.numbers = el("p", { class: "lv-numbers", "aria-live": "polite" });
    this.note = el("span", { class: "lv-values" });
    this.head = el("tr");
    this.body = el("tbody");
    this.list = el("div", {
      class: "lv-scroll lv-replies", tabindex: "0", role: "application", "aria-roledescription": "reply reader",
      "aria-label": "Replies of the group. Arrow keys go from token to token.",
      onkeydown: (event) => this.pressed(event), onfocus: () => this.hold("focus", true), onblur: () => this.hold("focus", false),
      onpointerenter: () => this.hold("pointer", true), onpointerleave: () => this.hold("pointer", false),
      onpointerover: (event) => this.pointed(event), onpointerdown: (event) => this.pointed(event),
    }, el("table", {}, el("thead", {}, this.head), this.body));
    this.held = new Set();
    this.root = el("section", { class: "lv-card lv-words", hidden: true },
      el("header", {}, el("h2", {}, "Replies of one group"), this.note),
      el("div", { class: "lv-pick" },
        el("button", { type: "button", "aria-label": "Previous group", onclick: () => this.choose(this.group - 1) }, "‹"),
        el("label", {}, "Prompt ", this.groups),
        el("button", { type: "button", "aria-label": "Next group", onclick: () => this.choose(this.group + 1) }, "›"),
        el("label", {}, "Tokens colored by ", this.color), this.link),
      this.legend, this.numbers, this.list);
  }

  // The charts of a word task join the others; called with every new picture.
  draw() {
    const scene = this.run.store.scene;
    const world = scene?.world;
    const words = world?.kind === "words";
    mark(this.root, "data-words", words);
    if (this.root.hidden === words) this.root.hidden = !words;
    if (!words) return;
    this.addChart();
    const playing = this.run.store.status.state === "playing";
    const now = performance.now();
    const early = playing && now - (this.shownAt ?? -CALM) < CALM;
    if (this.scene && scene.epoch === this.scene.epoch && playing && (this.held.size || early)) return this.tellHeld(scene);
    this.shownAt = now;
    this.scene = scene;
    this.fill();
  }

  addChart() {
    if (this.chart || !this.run.store.has("heldout_sampled")) return;
    this.chart = new Chart(HELDOUT, this.panel);
    this.chart.root.classList.add("lv-wide");
    this.chart.root.append(el("p", { class: "lv-caption" },
      "Sampled: as in training. Greedy: the likeliest reply. pass@4: one of four samples is right. Of 64 held-out prompts, every 5 updates."));
    this.panel.charts.push(this.chart);
    this.panel.root.querySelector(".lv-charts").prepend(this.chart.root);
    this.panel.soon("charts");
  }

  hold(by, on) {
    if (on) this.held.add(by);
    else this.held.delete(by);
    this.panel.soon("scene");
  }

  tellHeld(scene) {
    const behind = this.held.size && scene.step > this.scene.step;
    say(this.note, behind ? `step ${this.scene.step}, held while you read` : `step ${this.scene.step}`);
  }

  choose(group) {
    const count = this.world.groups.length;
    this.chosen = true;
    this.group = (group + count) % Math.max(1, count);
    this.fill();
  }

  get world() {
    return this.scene?.world ?? { groups: [], terms: [], rows: 0 };
  }

  get rows() {
    return this.world.groups[this.group]?.rows ?? [];
  }

  // Words and structure; colors follow.
  fill() {
    const { world } = this;
    const learning = world.groups.findIndex((group) => group.std > 0);
    if (!this.chosen && learning >= 0) this.group = learning; // until somebody chooses: one that teaches something
    this.group = Math.min(this.group, Math.max(0, world.groups.length - 1));
    say(this.note, this.scene.step ? `step ${this.scene.step}` : "");
    options(this.groups, world.groups.map((g, i) => [i, `${g.prompt}   ${g.right} of ${g.size} right${g.std ? "" : ", dead"}`]), this.group);
    const colors = Object.keys(COLORS).filter((name) => name !== "token_ratio" || world.level === "row");
    options(this.color, colors.map((name) => [name, COLORS[name].label]), this.color.value || "advantage");
    const node = this.scene.node ?? this.scene.step;
    mark(this.link, "href", `step?run=${encodeURIComponent(this.run.rid)}&node=${node}`);
    say(this.link, this.scene.step ? `Open step ${this.scene.step} in the step-through ↗` : "");
    const heads = ["", "Reply", ...(world.terms ?? []).map(([name, weight]) => `${name} × ${short(weight)}`), "Reward", "Advantage"];
    cells(this.head, "th", heads.map((text) => ({ text })), world.terms?.length ?? 0);
    const group = world.groups[this.group];
    while (this.lines.length > this.rows.length) this.lines.pop().root.remove();
    this.rows.forEach((row, i) => this.line(i).show(row, world.terms.length));
    mark(this.list, "aria-label", group ? `${group.rows.length} replies to ${group.prompt.trim()}, ${group.right} right, ${group.cut} cut. Arrow keys go from token to token.` : "No replies yet.");
    this.paint();
  }

  line(i) {
    while (this.lines.length <= i) {
      const line = new Line(this.lines.length);
      this.lines.push(line);
      this.body.append(line.root);
    }
    return this.lines[i];
  }

  paint() {
    const { theme } = this.panel;
    const name = this.color.value || "advantage";
    const most = this.strongest(name);
    this.rows.forEach((row, i) => this.lines[i].paint(row, (token) => shade(theme, name, value(row, name, token), value(row, "fate", token), most)));
    say(this.legend, this.rows.length ? this.explain(name, most) : "No replies yet: step or play.");
    this.read();
  }

  strongest(name) {
    if (name === "fate") return 1;
    const { of } = COLORS[name];
    const all = this.rows.flatMap((row) => row.tokens.map((_, t) => value(row, name, t)).filter((x) => x !== null));
    return Math.max(...all.map((x) => Math.abs(of(x))).filter(Number.isFinite), 1e-9);
  }

  explain(name, most) {
    const { world } = this;
    const { label, signed, ends, unit = "" } = COLORS[name];
    const less = world.groups.length < world.of ? ` Shown: the first ${world.groups.length} of ${world.of} groups.` : "";
    const pass = `Ratios and clipping are of pass ${world.epochs} over the batch, before its own update.`;
    if (name === "fate") return `Struck through: clipped, no gradient. Dotted: outside the band and still learning. ${pass}${less}`;
    if (most <= 1e-9) return `Nothing to color: ${label} is the same at every token here.${less}`;
    const scale = ends
      ? `Blue, underlined: ${ends[1]}. Orange, dotted: ${ends[0]}. Full color at ${short(Math.exp(-most))} or ${short(Math.exp(most))}.`
      : signed
        ? `Blue, underlined: ${label} > 0. Orange, dotted: ${label} < 0. Full color at ±${short(most)}.`
        : `Darker: more ${label}. Full color at ${short(most)}${unit}.`;
    return `${scale} ${name.includes("ratio") ? pass : ""}${less}`;
  }

  // ---------------------------------------------------------------- reading one token

  pointed(event) {
    const token = event.target.closest?.("[data-token]");
    if (!token) return;
    this.at = { row: Number(token.dataset.row), token: Number(token.dataset.token) };
    this.read();
  }

  pressed(event) {
    const move = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0], Home: [0, -99], End: [0, 99] }[event.key];
    if (!move || !this.rows.length) return;
    const clamp = (x, most) => Math.max(0, Math.min(most, x));
    const row = clamp(this.at.row + move[0], this.rows.length - 1);
    this.at = { row, token: clamp(this.at.token + move[1], this.rows[row].tokens.length - 1) };
    this.read();
    this.lines[row].tokens[this.at.token].scrollIntoView({ block: "nearest", inline: "nearest" });
    event.preventDefault();
    event.stopPropagation();
  }

  read() {
    const row = this.rows[this.at.row];
    this.active?.classList.remove("lv-active");
    if (!row) return say(this.numbers, "Point at a token, or reach it with the arrow keys, for its numbers.");
    const t = Math.min(this.at.token, row.tokens.length - 1);
    this.active = this.lines[this.at.row].tokens[t];
    this.active.classList.add("lv-active");
    const get = (name) => value(row, name, t);
    const alone = row.token_ratio === undefined ? "" : ` (of the token alone ${short(get("token_ratio"))})`;
    const fate = get("fate") === null ? "in no update" : FATES[get("fate")];
    const of = this.world.terms.map(([name, weight], i) => `${short(weight)} × ${name} ${short(row.terms[i])}`).join(" + ");
    const end = OUTCOMES[row.outcome][1] === "cut" ? `cut after ${row.tokens.length} tokens` : `finished after ${row.tokens.length} tokens, ${OUTCOMES[row.outcome][1]}`;
    say(
      this.numbers,
      `Reply ${this.at.row + 1}, token ${t + 1} of ${row.tokens.length}, “${row.tokens[t] || "end"}”: probability ${short(get("p"))}, ` +
        `advantage ${short(get("advantage"))}, ratio ${near(get("ratio"))}${alone}, KL ${short(get("kl"))} nats, ` +
        `entropy ${short(get("entropy"))} nats, ${fate}. Reply ${end}; reward ${short(row.reward)} = ${of}.`,
    );
  }
}

// One reply: a table row whose cells are kept and rewritten.
class Line {
  constructor(index) {
    this.index = index;
    this.tokens = [];
    this.reply = el("span", { class: "lv-reply" });
    this.root = el("tr");
  }

  show(row, terms) {
    const [sign, word] = OUTCOMES[row.outcome];
    const advantage = Array.isArray(row.advantage) ? row.advantage[0] : row.advantage;
    const several = Array.isArray(row.advantage) ? "…" : "";
    const parts = [{ text: sign, title: word }, { node: this.reply }, ...row.terms.map((x) => ({ text: short(x) })), { text: short(row.reward) }, { text: short(advantage) + several }];
    cells(this.root, "td", parts, terms);
    while (this.tokens.length > row.tokens.length) this.tokens.pop().remove();
    row.tokens.forEach((text, t) => {
      const token = this.tokens[t] ?? this.add(t);
      say(token, text === "" ? "⏎" : text);
    });
    mark(this.reply, "data-cut", OUTCOMES[row.outcome][1] === "cut");
  }

  add(t) {
    const token = el("span", { class: "lv-token", "data-row": this.index, "data-token": t });
    this.tokens.push(token);
    this.reply.append(token);
    return token;
  }

  paint(row, style) {
    row.tokens.forEach((_, t) => mark(this.tokens[t], "style", style(t)));
  }
}

function value(row, name, token) {
  const found = row[name];
  return Array.isArray(found) ? found[token] : (found ?? null);
}

// Ratios near 1 differ in their last digits.
function near(x) {
  return x !== null && Math.abs(x - 1) < 0.1 ? String(Number(x.toFixed(5))) : short(x);
}

// Background by value; a sign, or being clipped, is told by the line as well.
function shade(theme, name, x, fate, most) {
  if (x === null) return "opacity:.55";
  const tint = (color, share) => `background:color-mix(in srgb, ${color} ${Math.round(6 + 44 * Math.min(1, share))}%, transparent);`;
  if (name === "fate") {
    if (fate === DEAD) return `${tint(theme.dead, 1)}text-decoration:line-through`;
    return fate ? `${tint(theme.dead, 0.3)}text-decoration:underline dotted` : "";
  }
  const amount = COLORS[name].of(x);
  if (!COLORS[name].signed) return tint(theme.dead, amount / most);
  if (Math.abs(amount) < most * 1e-3 || Math.abs(amount) < 1e-7) return "";
  return amount > 0 ? `${tint(theme.better, amount / most)}text-decoration:underline` : `${tint(theme.worse, -amount / most)}text-decoration:underline dotted`;
}

function options(select, wanted, chosen) {
  if (document.activeElement === select && select.options.length === wanted.length) return; // not under an open list
  while (select.options.length > wanted.length) select.lastChild.remove();
  wanted.forEach(([id, text], i) => {
    const option = select.options[i] ?? select.appendChild(el("option"));
    if (option.value !== String(id)) option.value = id;
    say(option, text);
  });
  if (select.value !== String(chosen)) select.value = chosen;
}

function cells(row, tag, parts, terms) {
  while (row.children.length > parts.length) row.lastChild.remove();
  parts.forEach(({ text, node, title }, i) => {
    const cell = row.children[i] ?? row.appendChild(el(tag, tag === "th" ? { scope: "col" } : {}));
    mark(cell, "class", i >= 2 && i < 2 + terms ? "lv-term" : i === 1 ? "lv-said-here" : "");
    if (title) {
      mark(cell, "title", title);
      mark(cell, "aria-label", title);
    }
    if (node) {
      if (cell.firstChild !== node) cell.replaceChildren(node);
    } else say(cell, text);
  });
}

// ---------------------------------------------------------------- all replies of the step

// Lengths and rewards of all replies, as two histograms. A painter of world.js: `this` is a World.
export function distributions({ g, width, height }, world) {
  const { theme } = this.panel;
  if (!world.rows) return { caption: "No replies yet: step or play.", sentence: "Replies: none yet." };
  const half = Math.floor(height / 2);
  const kinds = [
    { name: "right", color: theme.better, alpha: 0.9 }, { name: "wrong", color: theme.worse, alpha: 0.4 },
    { name: "cut", color: theme.dead, alpha: 0 },
  ];
  const total = world.lengths[0].map((_, i) => world.lengths.reduce((sum, one) => sum + one[i], 0));
  bars(g, theme, { left: 34, right: width - 8, top: 16, bottom: half - 18 }, `replies by length, tokens (limit ${world.limit})`,
    total.map((_, i) => ({ label: i + 1, parts: kinds.map((kind, k) => ({ ...kind, count: world.lengths[k][i] })) })));
  const { at, counts } = world.rewards;
  bars(g, theme, { left: 34, right: width - 8, top: half + 16, bottom: height - 18 }, "replies by reward",
    at.map((x, i) => ({ label: short(x), parts: [{ color: theme.look(this.run.recipe).color, alpha: 0.8, count: counts[i] }] })));
  const sum = (list) => list.reduce((a, b) => a + b, 0);
  const [right, wrong, cut] = world.lengths.map(sum);
  const mean = (k) => (world.mean_lengths[k] === null ? "" : `, ${short(world.mean_lengths[k])} tokens on average`);
  const counted = `${right} right${mean(0)}; ${wrong} wrong${mean(1)}; ${cut} cut at the limit${mean(2)}`;
  return { caption: `Filled: right. Pale: finished and wrong. Hollow: cut. Now ${counted}.`, sentence: `${world.rows} replies in this step: ${counted}.` };
}

function bars(g, theme, frame, title, columns) {
  const { left, right, top, bottom } = frame;
  const most = Math.max(1, ...columns.map(({ parts }) => parts.reduce((sum, part) => sum + part.count, 0)));
  const step = (right - left) / columns.length;
  const wide = Math.min(34, Math.max(2, step * 0.76));
  g.font = `11px ${theme.font}`;
  g.fillStyle = theme.muted;
  g.textAlign = "left";
  g.fillText(title, left, top - 5);
  g.textAlign = "right";
  g.fillText(String(most), left - 5, top + 8);
  g.fillText("0", left - 5, bottom);
  g.fillRect(left, Math.round(bottom), right - left, 0.5);
  const every = Math.ceil(columns.length / Math.max(1, Math.floor((right - left) / 26)));
  columns.forEach(({ label, parts }, i) => {
    const x = left + (i + 0.5) * step;
    let y = bottom;
    for (const { count, color, alpha } of parts) {
      const h = (count / most) * (bottom - top);
      if (!h) continue;
      y -= h;
      g.fillStyle = g.strokeStyle = color;
      g.globalAlpha = alpha;
      g.fillRect(x - wide / 2, y, wide, h);
      g.globalAlpha = 1;
      g.strokeRect(Math.round(x - wide / 2) + 0.5, Math.round(y) + 0.5, Math.max(1, wide - 1), Math.max(0, h - 1));
    }
    g.fillStyle = theme.muted;
    g.textAlign = "center";
    if (i % every === 0) g.fillText(String(label), x, bottom + 13);
  });
}

// The replies as a table of numbers, for Tables.
export function repliesTable(world) {
  const head = ["prompt", "reply", "end", "tokens", ...(world.terms ?? []).map(([name]) => name), "reward"];
  const rows = world.groups.flatMap((group) =>
    group.rows.map((row) => [group.prompt.trim(), row.tokens.join(""), OUTCOMES[row.outcome][1], row.tokens.length, ...row.terms.map(short), short(row.reward)]));
  return { head, rows };
}
