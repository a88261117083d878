// How a run reaches the page: a WebSocket that reconnects with its cursor, or snapshots handed in by a polled fragment.
// Both feed the same Store; neither knows what is drawn.

const GONE = 4404;
const GIVE_UP = 2; // failures in a row, never having been open, until polling is asked for

export class Socket {
  constructor(store, { onChange, onRefused, onGone, onBlocked }) {
    Object.assign(this, { store, onChange, onRefused, onGone, onBlocked });
    this.failures = 0;
    this.opened = false;
    this.waiting = [];
    this.onVisibility = () => this.look();
    document.addEventListener("visibilitychange", this.onVisibility);
    this.open();
  }

  open() {
    const url = new URL(`api/live/${this.store.rid}`, document.baseURI);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    url.search = url.hash = "";
    const socket = (this.socket = new WebSocket(url));
    socket.binaryType = "arraybuffer";
    socket.onopen = () => {
      this.opened = true;
      this.failures = 0;
      this.look();
      this.waiting.splice(0).forEach((text) => socket.send(text));
      this.onChange("socket");
    };
    socket.onmessage = ({ data }) => this.take(data);
    socket.onclose = ({ code }) => this.closed(code);
  }

  closed(code) {
    if (this.disposed) return;
    this.onChange("socket");
    if (code === GONE) return this.onGone();
    this.failures++;
    if (!this.opened && this.failures >= GIVE_UP) return this.onBlocked();
    this.retry = setTimeout(() => this.open(), Math.min(200 * 2 ** this.failures, 3000));
  }

  take(data) {
    const { store } = this;
    if (data instanceof ArrayBuffer) {
      if (store.takeFrame(data)) this.onChange("frame");
      else this.look();
      return;
    }
    const message = JSON.parse(data);
    if (message.t === "hello") store.takeHello(message);
    else if (message.t === "status") store.takeStatus(message);
    else if (message.t === "scene") store.takeScene(message);
    else if (message.t === "branch") store.takeBranch(message);
    else if (message.t === "refused") return this.onRefused(message);
    this.onChange(message.t);
  }

  look() {
    const { cursor, epoch } = this.store;
    this.command({ op: "look", cursor, epoch, visible: !document.hidden }, false);
  }

  command(message, keep = true) {
    const text = JSON.stringify(message);
    if (this.live) this.socket.send(text);
    else if (keep && this.waiting.length < 20) this.waiting.push(text);
  }

  get live() {
    return this.socket.readyState === WebSocket.OPEN;
  }

  dispose() {
    this.disposed = true;
    clearTimeout(this.retry);
    document.removeEventListener("visibilitychange", this.onVisibility);
    this.socket.close(1000);
  }
}

export class Polled {
  constructor(store, { onChange, post }) {
    Object.assign(this, { store, onChange, post });
    this.live = true;
  }

  take({ header, rest }) {
    const { store } = this;
    store.takeHello(header.hello);
    store.takeStatus(header.status);
    if (header.scene) store.takeScene(header.scene);
    for (const branch of header.branches ?? []) if (store.branches.get(branch.id)?.tip !== branch.tip) store.takeBranch(branch);
    const before = store.cursor;
    const frame = rest.slice().buffer;
    if (store.takeFrame(frame) && store.cursor > before && before > 0) store.notePace(store.cursor - before);
    for (const what of ["hello", "status", "frame", "scene"]) this.onChange(what);
  }

  command(message) {
    this.post({ rid: this.store.rid, message });
  }

  dispose() {}
}
