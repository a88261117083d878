// Time travel: a slider over every step of the path, the tree of forks, and what can be done with the step looked at.
// Scrubbing is answered from what the page holds; the step itself (world, samples, settings) is asked for at rest.

import { button } from "./controls.js";
import { el, mark, say } from "./dom.js";
import { Tree } from "./tree.js";

const REST = 160; // ms a thumb stands still until the step under it is fetched

export class Timeline {
  constructor(panel) {
    this.panel = panel;
    this.range = el("input", {
      type: "range", min: 0, max: 1, step: 1, class: "lv-scrub", "aria-label": "Step looked at", "data-scrub": "",
      oninput: () => this.scrub(Number(this.range.value), false), onchange: () => this.scrub(Number(this.range.value), true),
    });
    this.where = el("span", { class: "lv-values" });
    this.now = button("Back to the latest", "L", () => this.latest(), "Look at the newest step again", "latest");
    this.fork = button("Fork from here", "F", () => panel.act("fork"), "Go on from this step with the settings shown, on a branch of its own; both meet the same dice", "fork");
    this.links = Object.entries(LINKS).filter(([page]) => panel.options.pages?.[page]).map(([page, text]) => {
      const link = el("a", { "data-page": page, onclick: (event) => this.clicked(event, page) }, text);
      return Object.assign(link, { page });
    });
    this.plan = el("p", { class: "lv-why", "aria-live": "polite" });
    this.tree = new Tree(panel);
    this.root = el("section", { class: "lv-card lv-timeline lv-wide", "aria-label": "Timeline" },
      el("header", {}, el("h2", {}, "Timeline"), this.where),
      this.range, el("div", { class: "lv-transport" }, this.fork, this.now, ...this.links), this.plan, this.tree.root);
  }

  get store() {
    return this.panel.runs[0].store;
  }

  scrub(step, released) {
    const { store } = this;
    this.touchedAt = performance.now();
    store.peek(step);
    this.panel.look(step);
    clearTimeout(this.timer);
    const ask = () => this.panel.order({ op: "open", step });
    if (released) {
      ask();
      this.panel.settled();
    } else this.timer = setTimeout(ask, REST);
  }

  latest() {
    clearTimeout(this.timer);
    this.touchedAt = 0;
    this.panel.order({ op: "open", step: this.store.step });
    this.panel.settled();
  }

  // The node of the step shown, once the server has said which one it is.
  get node() {
    const { status, scene, step } = this.store;
    if (status.open) return status.open.step > 0 ? status.open.node : null;
    const near = scene?.step === step || status.state === "playing"; // while it plays: the step of the picture
    return near && scene?.step > 0 && !scene.piece ? scene.node : null;
  }

  clicked(event, page) {
    if (event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    this.follow(page);
  }

  follow(page) {
    if (this.node == null || !this.panel.options.pages?.[page]) return;
    this.panel.send.trigger("visit", JSON.stringify({ page, rid: this.store.rid, node: this.node }));
  }

  draw() {
    const { store, panel } = this;
    const { open } = store.status;
    const scrubbing = this.touchedAt && performance.now() - this.touchedAt < 1500;
    if (!scrubbing) {
      if (panel.cursor !== (open?.step ?? null)) panel.look(open?.step ?? null);
      if (!open) store.peek(null);
    }
    const at = panel.cursor ?? store.step;
    if (this.range.max !== String(Math.max(1, store.step))) this.range.max = String(Math.max(1, store.step));
    if (Number(this.range.value) !== at) this.range.value = String(at);
    this.range.style.setProperty("--lv-fill", `${(100 * at) / Math.max(1, store.step)}%`);
    const fetching = panel.cursor !== null && !(open?.step === panel.cursor && open.ready);
    const words = panel.cursor === null ? `step ${store.step}, the latest` : `step ${at} of ${store.step}${fetching ? ", recomputing it …" : ""}`;
    say(this.where, words);
    mark(this.range, "aria-valuetext", words);
    this.now.disabled = panel.cursor === null;
    const differs = open && Object.keys(open.differs).length ? panel.inWords(open.differs) : "";
    say(this.plan, open
      ? differs ? `A fork goes on from step ${open.step} with ${differs}.` : `You look at step ${open.step}; the run waits. Turn a setting, then fork: the parent stays, faint.`
      : "");
    for (const link of this.links) {
      const node = this.node;
      if (node === null) link.removeAttribute("href");
      else mark(link, "href", new URL(`${link.page}?run=${encodeURIComponent(store.rid)}&node=${node}`, document.baseURI));
      mark(link, "aria-disabled", node === null);
    }
    this.tree.draw(store);
  }
}

const LINKS = { step: "open this step under the microscope", duel: "duel on this batch" };
