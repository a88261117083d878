// Everything on the canvases once more as tables, for screen readers and for people who want the numbers.

import { el, short } from "./dom.js";

const ROWS = 12;

export class Tables {
  constructor(panel) {
    this.panel = panel;
    this.root = el("section", { class: "lv-card lv-tables", "aria-label": "Data", hidden: true });
  }

  draw() {
    const { runs, theme } = this.panel;
    this.root.replaceChildren(
      ...runs.flatMap((run) => {
        const name = runs.length > 1 ? `${theme.look(run.recipe).label}: ` : "";
        return [this.metrics(run, name), this.world(run, name)];
      }),
    );
  }

  metrics({ store }, name) {
    const shown = [store.hello?.reward ?? "reward_mean", "kl_ref", "approx_kl", "entropy", "clip_fraction", "clip_fraction_outside", "dead_group_fraction", "grad_norm"];
    const columns = ["step", ...shown.filter((each) => store.column(each))];
    const last = store.columns[0].length;
    const rows = [];
    for (let i = last - 1; i >= Math.max(0, last - ROWS); i--) rows.push(columns.map((each) => (each === "step" ? store.column(each)[i] : short(store.column(each)[i]))));
    return table(`${name}the last ${rows.length} updates, newest first`, columns, rows);
  }

  world(run, name) {
    const { head, rows } = run.world.table();
    return table(`${name}the world at step ${run.store.scene?.step ?? 0}`, head, rows.slice(0, 400));
  }
}

function table(caption, head, rows) {
  return el("div", { class: "lv-scroll", tabindex: "0", role: "region", "aria-label": caption },
    el("table", {}, el("caption", {}, caption),
      el("thead", {}, el("tr", {}, ...head.map((name) => el("th", { scope: "col" }, String(name))))),
      el("tbody", {}, ...rows.map((row) => el("tr", {}, ...row.map((cell) => el("td", {}, String(cell))))))));
}
