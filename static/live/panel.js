// One live panel: its runs, what is drawn of them, and the keys. Everything on screen comes from the runs' frames.

import { CHARTS, Chart, MORE } from "./charts.js";
import { Polled, Socket } from "./connection.js";
import { Transport } from "./controls.js";
import { el, holdWords, mark, readTheme, reducedMotion, releaseWords, say, short } from "./dom.js";
import { Knobs } from "./knobs.js";
import { Scatter } from "./scatter.js";
import { Spread } from "./spread.js";
import { Standing } from "./standing.js";
import { Store } from "./store.js";
import { GoingOn } from "./stories.js";
import { Tables } from "./tables.js";
import { teach } from "./teach.js";
import { Timeline } from "./timeline.js";
import { Replies } from "./words.js";
import { World } from "./world.js";

const TWICE = 400; // ms
const CALM = 1000; // ms between repaints where motion is to be reduced
const counters = (window.__live = window.__live || { draws: 0, drawMs: 0, frames: 0, inputs: 0, latencies: [], panels: {} });

export class Panel {
  constructor(options) {
    this.options = options;
    this.key = options.key;
    this.runs = [];
    this.zoom = null;
    this.cursor = null; // the step looked at; null: the latest
    this.pending = {};
    this.inputs = [];
    this.outbox = [];
    this.ref = Math.floor(performance.timeOrigin);
    this.due = { charts: true, scene: true, rest: true };
    this.root = el("div", { class: "lv", "data-panel": this.key });
    this.onKey = (event) => this.pressed(event);
    document.addEventListener("keydown", this.onKey);
    counters.panels[this.key] = this;
  }

  // Called at every rerun of the page: with other runs the panel is built anew, else only the theme is read again.
  update(options, snapshots) {
    const signature = (o) => JSON.stringify([o.layout, o.socket, o.runs, o.pages, o.taught]);
    const fresh = !this.runs.length || signature(options) !== signature(this.options);
    this.options = options;
    if (fresh) this.build();
    else this.soon("rest");
    snapshots.forEach((snapshot, i) => this.runs[i]?.link.take(snapshot));
    const [count, message] = options.refused ?? [0, ""];
    if (count > (this.refusals ?? count)) this.refused({ message, settings: this.runs[0].store.status.settings });
    this.refusals = count;
    requestAnimationFrame(() => this.themed());
  }

  build() {
    this.clear();
    this.theme = readTheme(this.root.isConnected ? this.root : document.body, this.options.theme);
    this.runs = this.options.runs.map(({ rid, recipe }) => ({ rid, recipe, store: new Store(rid) }));
    for (const run of this.runs) run.link = this.connect(run.store);
    const home = this.options.layout === "home";
    this.transport = new Transport(this);
    this.knobs = home ? null : new Knobs(this);
    for (const run of this.runs) run.world = new World(this, run);
    this.scatter = home ? null : new Scatter(this);
    this.spread = home ? null : new Spread(this);
    this.going = home || this.runs.length > 1 ? null : new GoingOn(this);
    this.charts = (home ? CHARTS.slice(0, 1) : CHARTS).map((spec) => new Chart(spec, this));
    this.replies = home ? null : new Replies(this);
    this.tables = new Tables(this);
    this.timeline = home ? null : new Timeline(this);
    this.standing = new Standing(this);
    this.alert = this.standing.alert;
    const more = home ? null : this.foldedCharts();
    this.root.replaceChildren(
      this.transport.root, this.alert, ...(this.knobs ? [this.knobs.root] : []), this.standing.root,
      el("div", { class: home ? "lv-home" : "lv-lab" },
        el("div", { class: "lv-worlds" }, ...this.runs.map((run) => run.world.root), this.scatter?.root),
        el("div", { class: "lv-charts" }, ...this.charts.map((chart) => chart.root), this.timeline?.root, this.going?.root, ...(this.spread?.roots ?? []), more)),
      ...(home ? [this.runs[0].world.caption] : [this.replies.root]), this.tables.root,
    );
    this.soon("charts", "scene", "rest");
  }

  foldedCharts() {
    const box = el("div", { class: "lv-charts" });
    return el("details", { class: "lv-more lv-wide", ontoggle: (event) => {
      if (!event.target.open || box.children.length) return;
      const extra = MORE.filter((spec) => spec.series.some((s) => this.runs[0].store.has(s.column(this.runs[0].store))));
      const charts = extra.map((spec) => new Chart(spec, this));
      box.append(...charts.map((chart) => chart.root));
      this.charts.push(...charts);
      this.soon("charts");
    } }, el("summary", {}, "More curves"), box);
  }

  connect(store) {
    const onChange = (what) => this.changed(store, what);
    if (!this.options.socket) return new Polled(store, { onChange, post: (message) => this.post(message) });
    return new Socket(store, {
      onChange,
      onRefused: (message) => this.refused(message),
      onGone: () => this.send.trigger("gone", store.rid),
      onBlocked: () => this.send.state("transport", "poll"),
    });
  }

  // Without sockets, what was asked in one go travels as one list, in order.
  post(message) {
    this.outbox.push(message);
    this.posting ??= setTimeout(() => {
      this.posting = null;
      this.send.trigger("command", JSON.stringify(this.outbox.splice(0)));
    });
  }

  // ---------------------------------------------------------------- asked by people

  act(action) {
    if (action === "fork") {
      if (performance.now() - (this.forkedAt ?? -TWICE) < TWICE) return; // a double click is one fork
      this.forkedAt = performance.now();
    }
    if (action === "fork" || action === "undo") this.turned({});
    this.order({ op: "act", action, ...(action === "fork" || action === "undo" ? { ref: this.nextRef() } : {}) });
    if (action !== "step") this.settled();
  }

  order(message) {
    for (const { link } of this.runs) link.command(message);
  }

  // The charts' cursor stands at a step; null: at the latest.
  look(step) {
    this.cursor = step;
    this.soon("charts", "scene", "rest");
  }

  toggle() {
    this.act(this.playing ? "pause" : "play");
  }

  pace(rate) {
    this.order({ op: "pace", rate });
  }

  turned(values) {
    Object.assign(this.pending, values);
    this.pendingAt = performance.now();
    this.inputs.push({ at: performance.now(), ref: null });
    counters.inputs++;
    this.soon("scene");
  }

  set(values) {
    this.order({ op: "set", values, ref: this.nextRef() });
  }

  nextRef() {
    this.ref++;
    for (const input of this.inputs) input.ref ??= this.ref;
    return this.ref;
  }

  // After a release the page writes the settings into its URL.
  settled() {
    clearTimeout(this.settling);
    this.settling = setTimeout(() => this.send.trigger("settled", String(this.ref)), 250);
  }

  zoomTo(range) {
    this.zoom = range;
    this.soon("charts", "rest");
  }

  toggleTable() {
    this.showsTable = !this.showsTable;
    this.tables.root.hidden = !this.showsTable;
    this.soon("rest");
  }

  pressed(event) {
    const typing = event.target.closest?.("input:not([type=range]), textarea, select, [contenteditable=true]");
    if (typing || event.ctrlKey || event.metaKey || event.altKey || !this.root.isConnected) return;
    if (this.transport.keys.dialog.open && event.key !== "?") return;
    const action = this.transport.keys.action(event.key.toLowerCase());
    if (!action) return;
    action();
    event.preventDefault();
  }

  // ---------------------------------------------------------------- told by runs

  changed(store, what) {
    if (what === "frame") {
      counters.frames++;
      this.soon("charts");
    } else if (what === "scene") this.soon("scene", "rest");
    else if (what === "branch") this.soon("charts");
    else this.soon("rest", ...(what === "status" || what === "hello" ? ["scene"] : []));
    if (what === "status" && store.status.state !== store.seenState) {
      if (store.seenState === "playing" && store === this.runs[0]?.store) this.settled(); // the address names the step
      store.seenState = store.status.state;
    }
    if (what === "status" && store.status.epoch !== store.seenEpoch) {
      if (store.seenEpoch !== undefined) this.settled(); // another path: the address is its
      store.seenEpoch = store.status.epoch;
      this.zoom = null;
    }
  }

  refused({ message, settings }) {
    this.pending = {};
    this.runs[0].world.editor?.refused();
    for (const knob of this.knobs?.knobs ?? []) {
      knob.held = undefined;
      knob.show(settings[knob.about.name]);
    }
    this.soon("rest");
    const knob = this.knobs?.named(message);
    if (knob) knob.complain(message.slice(message.indexOf(":") + 1));
    else this.announce(message);
  }

  announce(text) {
    this.standing.announce(text);
  }

  get playing() {
    return this.runs.some(({ store }) => store.status.state === "playing" || store.status.state === "starting");
  }

  get connected() {
    return this.runs.every(({ link }) => link.live);
  }

  get failure() {
    return this.runs.map(({ store }) => store.status.error).find(Boolean);
  }

  // ---------------------------------------------------------------- drawing

  soon(...parts) {
    for (const part of parts) this.due[part] = true;
    if (this.asked) return;
    this.asked = true;
    const wait = reducedMotion.matches ? CALM - (performance.now() - (this.drawnAt ?? -CALM)) : 0;
    if (wait > 0) setTimeout(() => requestAnimationFrame(() => this.draw()), wait);
    else requestAnimationFrame(() => this.draw());
  }

  draw() {
    this.asked = false;
    if (!this.root.isConnected || !this.runs.length) return;
    const begun = performance.now();
    holdWords();
    const due = this.due;
    this.due = {};
    if (this.pendingAt && begun - this.pendingAt > 700) this.pending = {};
    if (due.charts) for (const chart of this.charts) if (chart.sight.seen) chart.draw();
    if (due.scene) this.drawScene();
    this.transport.draw();
    if (due.rest) this.drawRest();
    this.measure();
    this.describe();
    queueMicrotask(() => this.drawn(begun)); // uPlot draws in a microtask of its own, which was queued before
  }

  drawn(begun) {
    releaseWords();
    this.drawnAt = performance.now();
    counters.draws++;
    counters.drawMs += this.drawnAt - begun;
  }

  drawScene() {
    for (const run of this.runs) {
      run.world.animated = false;
      if (run.world.sheet.sight.seen) run.world.draw();
      if (run.world.animated) setTimeout(() => this.soon("scene"), 20);
    }
    if (this.scatter?.sheet.sight.seen) this.scatter.draw(this.runs[0].store);
    this.spread?.draw(this.runs[0].store);
    this.replies?.draw();
  }

  drawRest() {
    const { store } = this.runs[0];
    for (const run of this.runs) this.recolor(run);
    this.knobs?.draw(store);
    this.standing.draw(store);
    this.timeline?.draw();
    this.going?.draw(store);
    this.runs[0].world.editor?.draw();
    teach(this);
  }

  // A mix is drawn in the color of the algorithm it has become.
  recolor(run) {
    const look = run.store.status.look ?? run.recipe;
    if (look === run.recipe) return;
    run.recipe = look;
    this.soon("charts", "scene");
  }

  // Changes in words, by symbol; one ε where both sides moved alike.
  inWords(all) {
    const symbol = (name) => this.runs[0].store.hello?.knobs?.find((knob) => knob.name === name)?.symbol ?? name;
    const word = (value) => (typeof value === "string" ? value.replaceAll("_", " ") : short(value));
    const { eps_low: low, eps_high: high } = all;
    const alike = low && high && low[0] === high[0] && low[1] === high[1];
    const pairs = Object.entries(all).filter(([name]) => !alike || name !== "eps_low");
    const cells = (old, now) => [...now].filter((c, i) => c !== old[i]).length;
    return pairs.map(([name, [old, now]]) => name === "layout" ? `map: ${cells(old, now)} cells painted` : name === "extra" ? "rewards of cells painted" : `${alike && name === "eps_high" ? "ε" : symbol(name)} ${word(old)} → ${word(now)}`).join(", ");
  }

  // Sentences and tables follow once a second: nobody reads twenty a second, and screen readers would stammer.
  describe() {
    if (performance.now() - (this.describedAt ?? -1e9) < 1000) {
      clearTimeout(this.describing);
      this.describing = setTimeout(() => this.describe(), 1000);
      return;
    }
    this.describedAt = performance.now();
    for (const chart of this.charts) mark(chart.figure, "aria-label", chart.sentence());
    if (this.showsTable) this.tables.draw();
  }

  // From turning a knob to the first drawn row that was made with that value, or a later one.
  measure() {
    const { status, step } = this.runs[0].store;
    const [ref, at] = status.applied;
    const seen = (input) => input.ref !== null && input.ref <= ref && step >= at;
    const now = performance.now();
    counters.latencies.push(...this.inputs.filter(seen).map((input) => now - input.at));
    if (counters.latencies.length > 5000) counters.latencies.splice(0, 2500);
    this.inputs = this.inputs.filter((input) => !seen(input) && now - input.at < 10_000);
  }

  themed() {
    if (!this.root.isConnected) return;
    const theme = readTheme(this.root, this.options.theme);
    const changed = JSON.stringify(theme) !== JSON.stringify(this.theme);
    this.theme = theme;
    this.root.style.colorScheme = theme.mode;
    this.root.style.setProperty("--lv-on-primary", theme.onPrimary);
    if (!changed) return;
    for (const chart of this.charts) chart.plot && chart.build();
    this.soon("charts", "scene", "rest");
  }

  clear() {
    for (const { link } of this.runs) link.dispose();
    for (const part of [...(this.charts ?? []), ...this.runs.map((run) => run.world), this.scatter, this.spread, this.timeline?.tree]) part?.dispose();
    this.runs = [];
    this.zoom = this.cursor = null;
  }

  dispose() {
    this.clear();
    document.removeEventListener("keydown", this.onKey);
    this.root.remove();
    delete counters.panels[this.key];
  }
}
