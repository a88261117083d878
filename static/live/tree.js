// The tree of forks as a drawing: a line a branch, time to the right. Each branch is a button; the same is told in words.

import { el, mark, say } from "./dom.js";

const LANE = 20;
const NS = "http://www.w3.org/2000/svg";

export class Tree {
  constructor(panel) {
    this.panel = panel;
    this.svg = svg("svg", { class: "lv-tree", role: "group", "aria-label": "Branches" });
    this.words = el("p", { class: "lv-why" });
    this.root = el("div", { hidden: true }, this.svg, this.words);
    this.observer = new ResizeObserver(([entry]) => {
      this.width = entry.contentRect.width;
      this.drawn = "";
      panel.soon("rest");
    });
    this.observer.observe(this.root);
  }

  dispose() {
    this.observer.disconnect();
  }

  draw(store) {
    const branches = store.status.tree ?? [];
    this.root.hidden = branches.length < 2;
    if (this.root.hidden || !this.width) return;
    const longest = Math.max(1, store.step, ...branches.map((b) => b.tip));
    const grows = branches.map((b) => (b.current ? { ...b, tip: Math.max(b.tip, store.step) } : b));
    const state = JSON.stringify([grows.map(({ id, tip, until }) => [id, Math.round((this.width * tip) / longest), until]), this.panel.cursor, this.panel.theme.mode, this.width]);
    if (state === this.drawn) return;
    this.drawn = state;
    this.paint(grows, longest);
  }

  paint(branches, longest) {
    const focused = this.svg.contains(document.activeElement) ? document.activeElement.dataset.branch : null;
    const lane = new Map(branches.map((b, i) => [b.id, i]));
    const [left, right] = [8, this.width - 150];
    const x = (step) => left + ((right - left) * step) / longest;
    const y = (b) => LANE * (lane.get(b.id) + 0.5) + 2;
    const height = LANE * branches.length + 4;
    mark(this.svg, "viewBox", `0 0 ${this.width} ${height}`);
    mark(this.svg, "height", height);
    this.svg.replaceChildren(...branches.map((b) => this.branch(b, branches.find((p) => p.id === b.parent), x, y)));
    if (this.panel.cursor !== null) this.svg.append(svg("line", { class: "lv-cursor", x1: x(this.panel.cursor), x2: x(this.panel.cursor), y1: 0, y2: height }));
    this.svg.querySelector(`[data-branch="${focused}"]`)?.focus();
    say(this.words, `${branches.length} branches. ${branches.map((b) => this.sentence(b)).join(" ")}`);
  }

  branch(b, parent, x, y) {
    const start = parent ? `M ${x(b.start)} ${y(parent)} L ${x(b.start)} ${y(b)} ` : `M ${x(0)} ${y(b)} `;
    const group = svg("g", { class: "lv-branch", tabindex: 0, role: "button", "data-branch": b.id, "aria-pressed": b.current, "aria-label": this.sentence(b) });
    group.addEventListener("click", () => this.chosen(b));
    group.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      event.stopPropagation();
      this.chosen(b);
    });
    const to = b.until ?? b.start;
    group.append(
      svg("rect", { class: "lv-hit", x: x(b.start) - 6, y: y(b) - LANE / 2, width: Math.max(24, x(b.tip) - x(b.start)) + 150, height: LANE }),
      svg("path", { class: "lv-twig", d: `${start}L ${x(b.tip)} ${y(b)}` }),
      b.until === null ? "" : svg("path", { class: "lv-bough", d: `${start}L ${x(to)} ${y(b)}` }),
      svg("circle", { class: b.current ? "lv-tip lv-here" : "lv-tip", cx: x(b.tip), cy: y(b), r: b.current ? 5 : 3.5 }),
      Object.assign(svg("text", { x: x(b.tip) + 9, y: y(b) + 4 }), { textContent: this.label(b) }));
    return group;
  }

  label(b) {
    const words = this.panel.inWords(b.differs);
    const text = words || (b.parent === null ? "the first" : "same settings");
    return text.length > 22 ? `${text.slice(0, 21)}…` : text;
  }

  sentence(b) {
    const from = b.parent === null ? "The first run" : `Branch ${b.id}, from step ${b.start} of branch ${b.parent}`;
    const what = b.parent === null ? "" : `, ${this.panel.inWords(b.differs) || "same settings"}`;
    return `${from}${what}, up to step ${b.tip}${b.current ? " (shown)" : ""}.`;
  }

  chosen(b) {
    this.panel.order({ op: "switch", branch: b.id });
    this.panel.settled();
  }
}

function svg(tag, attributes) {
  const node = document.createElementNS(NS, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}
