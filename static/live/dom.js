// Small things everybody here needs: making elements, writing numbers, reading the theme.

export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child != null));
  return node;
}

// Writes only what changed: the page is repainted twenty times a second. While a repaint goes on, words wait until the
// canvases are done, since text drawn on a canvas after a change in the page makes the browser lay it all out first.
export function say(node, text) {
  write(() => node.textContent !== text && (node.textContent = text));
}

export function mark(node, name, value) {
  write(() => node.getAttribute(name) !== String(value) && node.setAttribute(name, value));
}

let waiting = null;

function write(change) {
  if (waiting) waiting.push(change);
  else change();
}

export function holdWords() {
  waiting ??= [];
}

export function releaseWords() {
  const changes = waiting ?? [];
  waiting = null;
  changes.forEach((change) => change());
}

// Three significant digits, never more than people can read: 0.0003, 0.214, 12.3, 1840.
export function short(x) {
  if (x === null || x === undefined || !Number.isFinite(x)) return "–";
  const size = Math.abs(x);
  if (size === 0) return "0";
  if (size < 0.001 || size >= 1e6) return x.toExponential(1).replace("e-", "e−");
  return String(Number(x.toPrecision(3))).replace("-", "−");
}

export function readTheme(element, table) {
  const style = getComputedStyle(element);
  const get = (name, otherwise) => style.getPropertyValue(name).trim() || otherwise;
  const background = get("--st-background-color", "#ffffff");
  const mode = luminance(background) < 0.4 ? "dark" : "light";
  return {
    mode,
    background,
    text: get("--st-text-color", "#222222"),
    muted: mode === "dark" ? "#A4ACB6" : "#5C636B",
    border: get("--st-border-color", "#cccccc"),
    font: get("--st-font", "sans-serif"),
    onPrimary: luminance(get("--st-primary-color", "#0b5cad")) < 0.45 ? "#ffffff" : "#111111",
    ...table.meaning[mode],
    look: (recipe) => {
      const look = table.looks[recipe] || table.looks.custom;
      return { ...look, color: look[mode], dash: look.dash_pixels };
    },
  };
}

function luminance(color) {
  const probe = el("canvas", { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });
  probe.fillStyle = color;
  probe.fillRect(0, 0, 1, 1);
  const [r, g, b] = probe.getImageData(0, 0, 1, 1).data;
  return (0.2126 * r + 0.7152 * g + 0.0722 * b) / 255; // near enough to tell dark from light
}

// A canvas that is sharp on every screen; `size()` gives CSS pixels and readies the context. The size is told by an
// observer, since asking for it twenty times a second would make the browser lay the page out each time.
export class Sheet {
  constructor(label, onSight) {
    this.canvas = el("canvas", { "aria-hidden": "true" });
    this.root = el("div", { role: "img", "aria-label": label || "not drawn yet", class: "lv-sheet" }, this.canvas);
    this.context = this.canvas.getContext("2d");
    this.width = this.height = 0;
    this.sight = new Sight(this.root, onSight);
    this.observer = new ResizeObserver(([entry]) => {
      this.width = entry.contentRect.width;
      this.height = entry.contentRect.height;
      onSight();
    });
    this.observer.observe(this.root);
  }

  size() {
    const { width, height, canvas, context } = this;
    const ratio = window.devicePixelRatio || 1;
    const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (canvas.width !== w || canvas.height !== h) Object.assign(canvas, { width: w, height: h });
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    return { g: context, width, height };
  }

  dispose() {
    this.observer.disconnect();
    this.sight.dispose();
  }
}

// Whether an element is on the screen; what nobody sees is not painted.
export class Sight {
  constructor(element, onSight) {
    this.seen = false;
    this.observer = new IntersectionObserver((entries) => {
      const before = this.seen;
      this.seen = entries[entries.length - 1].isIntersecting;
      if (this.seen && !before) onSight();
    }, { rootMargin: "100px" });
    this.observer.observe(element);
  }

  dispose() {
    this.observer.disconnect();
  }
}

export const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");
