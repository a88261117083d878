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

// Writes only what changed: the page is repainted twenty times a second.
export function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

export function mark(node, name, value) {
  if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
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

// A canvas that is sharp on every screen; `size()` gives CSS pixels and readies the context.
export class Sheet {
  constructor(label) {
    this.canvas = el("canvas", { "aria-hidden": "true" });
    this.root = el("div", { role: "img", "aria-label": label, class: "lv-sheet" }, this.canvas);
    this.context = this.canvas.getContext("2d");
  }

  size() {
    const width = this.root.clientWidth;
    const height = this.root.clientHeight;
    const ratio = window.devicePixelRatio || 1;
    if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
    }
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.context.clearRect(0, 0, width, height);
    return { g: this.context, width, height };
  }
}

export const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");
