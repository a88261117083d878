// What the page knows of one run: metric columns, settings, marks, the last picture. Holds data, draws nothing.

import { decode } from "./frames.js";

const LIMIT = 6000; // rows kept in the page; older ones are thinned, real rows only
const SCENES = 240; // pictures kept for scrubbing

export class Store {
  constructor(rid) {
    this.rid = rid;
    this.names = ["step"];
    this.columns = [[]];
    this.cursor = 0;
    this.epoch = 0;
    this.hello = null;
    this.status = { state: "starting", settings: {}, marks: [], applied: [0, 0], error: "", note: "", rate: 20, tree: [], open: null };
    this.newest = this.peeked = null;
    this.scenes = new Map();
    this.branches = new Map();
    this.frames = this.full = 0;
    this.pace = [];
  }

  takeHello(hello) {
    this.hello = hello;
    if (hello.columns.join() !== this.names.join()) {
      this.names = hello.columns;
      const rows = this.columns[0].length;
      while (this.columns.length < this.names.length) this.columns.push(new Array(rows).fill(null));
    }
  }

  takeStatus(status) {
    this.status = status;
  }

  takeScene(scene) {
    if (!scene || scene.epoch < this.epoch) return;
    this.newest = scene;
    if (scene.opened) this.peeked = null;
    if (scene.piece) return;
    this.scenes.set(scene.step, scene);
    if (this.scenes.size > SCENES) this.scenes = new Map([...this.scenes].filter((_, i) => i % 2));
  }

  // The picture shown: the newest, or the nearest one held while a thumb scrubs past it.
  get scene() {
    return this.peeked ?? this.newest;
  }

  peek(step) {
    this.peeked = null;
    if (step === null) return;
    let best = -1;
    for (const at of this.scenes.keys()) if (at <= step && at > best) best = at;
    if (best >= 0) this.peeked = this.scenes.get(best);
  }

  // Another path is shown: pictures of steps that are not on it are of no use.
  leave(start) {
    this.peeked = null;
    this.scenes = new Map([...this.scenes].filter(([step]) => step <= start));
  }

  takeBranch({ id, tip, columns, rows }) {
    const bytes = Uint8Array.from(atob(rows), (c) => c.charCodeAt(0));
    const numbers = new Float32Array(bytes.buffer);
    const width = columns.length;
    const column = (at) => Float32Array.from({ length: numbers.length / width }, (_, i) => numbers[i * width + at]);
    this.branches.set(id, { id, tip, columns: new Map(columns.map((name, at) => [name, column(at)])) });
  }

  // Curves drawn faint: branches with steps that are not on the path shown.
  get faint() {
    return this.status.tree.filter((b) => !b.current && (b.until ?? b.start) < b.tip && this.branches.has(b.id))
      .map((b) => ({ ...this.branches.get(b.id), after: b.until ?? b.start }));
  }

  // The row of a step, or of the nearest one before it that is held.
  indexOf(step) {
    const steps = this.columns[0];
    let [low, high] = [0, steps.length - 1];
    while (low < high) {
      const mid = (low + high + 1) >> 1;
      if (steps[mid] <= step) low = mid;
      else high = mid - 1;
    }
    return low;
  }

  // True where rows were added. A delta that doesn't follow what is here is left out: the server is asked again.
  takeFrame(buffer) {
    const { epoch, full, total, width, rows } = decode(buffer);
    const count = rows.length / width;
    if (!full && (epoch !== this.epoch || total - count !== this.cursor)) return false;
    if (full) this.columns = Array.from({ length: width }, () => []);
    while (this.columns.length < width) this.columns.push(new Array(this.columns[0].length).fill(null));
    for (let r = 0; r < count; r++)
      for (let c = 0; c < width; c++) {
        const x = rows[r * width + c];
        this.columns[c].push(Number.isFinite(x) ? x : null);
      }
    if (epoch !== this.epoch) this.leave(this.status.tree.find((b) => b.current)?.start ?? 0);
    this.epoch = epoch;
    this.cursor = total;
    this.frames++;
    this.full += full;
    if (!full) this.notePace(count);
    if (this.columns[0].length > LIMIT) this.thin();
    return true;
  }

  column(name) {
    const at = this.names.indexOf(name);
    return at < 0 || at >= this.columns.length ? null : this.columns[at];
  }

  has(name) {
    const values = this.column(name);
    return !!values && values.some((x) => x !== null);
  }

  latest(name) {
    const values = this.column(name);
    for (let i = values ? values.length - 1 : -1; i >= 0; i--) if (values[i] !== null) return values[i];
    return null;
  }

  get step() {
    const steps = this.columns[0];
    return steps.length ? steps[steps.length - 1] : 0;
  }

  // Updates a second over the last two seconds, as they arrived.
  get speed() {
    const now = performance.now();
    this.pace = this.pace.filter(([at]) => now - at < 2000);
    if (this.pace.length < 2) return 0;
    const rows = this.pace.slice(1).reduce((sum, [, count]) => sum + count, 0);
    return (1000 * rows) / (this.pace[this.pace.length - 1][0] - this.pace[0][0]);
  }

  notePace(count) {
    this.pace.push([performance.now(), count]);
    if (this.pace.length > 200) this.pace.splice(0, 100);
  }

  thin() {
    const half = this.columns[0].length >> 1;
    this.columns = this.columns.map((c) => c.filter((_, i) => i >= half || i % 2 === 0));
  }
}
