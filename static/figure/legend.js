// The legend of a figure as plain HTML: a button for each group of traces, which switches the group off and on.

const DASHES = { solid: "", dash: "6 3", dot: "2 2.5", dashdot: "6 2.5 2 2.5", longdash: "10 3" };
const SHAPES = {
  circle: "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0",
  square: "M-3.6,-3.6h7.2v7.2h-7.2z",
  diamond: "M0,-5L5,0L0,5L-5,0z",
  "triangle-up": "M0,-4.6L4.4,3.4H-4.4z",
  "triangle-down": "M0,4.6L4.4,-3.4H-4.4z",
  cross: "M-1.6,-4.4h3.2v2.8h2.8v3.2h-2.8v2.8h-3.2v-2.8h-2.8v-3.2h2.8z",
  x: "M-4.2,-2.4L-2.4,-4.2L0,-1.8L2.4,-4.2L4.2,-2.4L1.8,0L4.2,2.4L2.4,4.2L0,1.8L-2.4,4.2L-4.2,2.4L-1.8,0z",
  star: "M0,-5L1.5,-1.6L5,-1.6L2.2,0.8L3.2,4.6L0,2.4L-3.2,4.6L-2.2,0.8L-5,-1.6L-1.5,-1.6z",
  "line-ew": "M-7,0H7",
};

export function legend(root, traces, hidden, toggle) {
  const groups = new Map();
  for (const trace of traces) {
    if (trace.type !== "heatmap" && trace.showlegend !== false && trace.name && !groups.has(trace.legendgroup)) groups.set(trace.legendgroup, trace);
  }
  const wanted = JSON.stringify([...groups.values()].map((t) => [t.name, t.line, t.marker?.symbol, color(t), [...hidden]]));
  if (root.dataset.shows === wanted) return;
  root.dataset.shows = wanted;
  root.style.cssText = "display:flex;flex-wrap:wrap;gap:0 14px;padding:2px 0 0 56px;font-size:0.8rem";
  root.replaceChildren(...[...groups].map(([group, trace]) => button(group, trace, hidden, toggle)));
}

function button(group, trace, hidden, toggle) {
  const item = document.createElement("button");
  item.type = "button";
  item.innerHTML = swatch(trace);
  item.append(trace.name);
  item.title = "show or hide";
  item.style.cssText =
    "display:inline-flex;align-items:center;gap:6px;background:none;border:0;padding:3px 2px;color:inherit;font:inherit;cursor:pointer";
  const look = () => {
    item.setAttribute("aria-pressed", String(!hidden.has(group)));
    item.style.opacity = hidden.has(group) ? "0.45" : "1";
    item.style.textDecoration = hidden.has(group) ? "line-through" : "none";
  };
  item.onclick = () => {
    toggle(group);
    look();
  };
  look();
  return item;
}

const color = (trace) => {
  const found = trace.type === "bar" ? trace.marker?.color : trace.line?.color ?? trace.marker?.color;
  return typeof found === "string" && CSS.supports("color", found) ? found : "currentColor";
};

function swatch(trace) {
  const paint = color(trace);
  const svg = (inside) => `<svg width="24" height="12" viewBox="-12 -6 24 12" aria-hidden="true">${inside}</svg>`;
  if (trace.type === "bar") {
    const hatch = trace.marker?.pattern?.shape;
    const strokes = { ".": "M-5,-1h.1M0,-1h.1M5,-1h.1M-3,3h.1M3,3h.1", x: "M-8,4L0,-4M0,4L8,-4M-8,-4L0,4M0,-4L8,4", "\\": "M-9,-5L-3,5M-3,-5L3,5M3,-5L9,5", "-": "M-9,-2.5H9M-9,2.5H9" };
    const path = strokes[hatch] ?? "M-9,5L-3,-5M-3,5L3,-5M3,5L9,-5";
    const lines = hatch ? `<path d="${path}" fill="none" stroke="${paint}" stroke-width="1.8" stroke-linecap="round"/>` : "";
    return svg(`<rect x="-9" y="-5" width="18" height="10" fill="${hatch ? "none" : paint}" stroke="${paint}"/>${lines}`);
  }
  const mode = trace.mode ?? "lines";
  const line = mode.includes("lines")
    ? `<path d="M-12,0H12" stroke="${paint}" stroke-width="2.2" stroke-dasharray="${DASHES[trace.line?.dash ?? "solid"] ?? ""}"/>`
    : "";
  if (!mode.includes("markers")) return svg(line);
  const symbol = String(trace.marker?.symbol ?? "circle");
  const open = symbol.endsWith("-open");
  const shape = SHAPES[symbol.replace("-open", "")] ?? SHAPES.circle;
  const edge = open ? ` stroke="${paint}" stroke-width="1.5"` : "";
  return svg(`${line}<path d="${shape}" fill="${open ? "none" : paint}"${edge}/>`);
}
