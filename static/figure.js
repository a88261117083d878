// A figure at rest that may change: Plotly redraws the same chart in place, so zoom and hover stay and nothing flickers.
// A chart lives by its key, not by its DOM node, since Streamlit may move the element between two reruns.

const charts = new Map();
const LINGER = 400; // ms a chart without an element is kept, since a remount follows an unmount at once
const LIBRARY = new URL("vendor/plotly-cartesian-4.1.1.min.js", import.meta.url);

let loading = null;

function library() {
  loading ??= new Promise((done, failed) => {
    const script = Object.assign(document.createElement("script"), { src: LIBRARY, onerror: failed });
    script.onload = () => done(window.Plotly);
    document.head.append(script);
  });
  return loading;
}

export function mount({ data, parentElement }) {
  let chart = charts.get(data.key);
  if (!chart) charts.set(data.key, (chart = new Chart()));
  clearTimeout(chart.leaving);
  if (chart.root.parentElement !== parentElement) parentElement.appendChild(chart.root);
  chart.show(data);
  return () => {
    chart.leaving = setTimeout(() => {
      chart.dispose();
      charts.delete(data.key);
    }, LINGER);
  };
}

class Chart {
  constructor() {
    this.root = document.createElement("div");
    this.root.className = "surrogate-figure";
    this.root.setAttribute("role", "img");
    this.root.style.contain = "layout paint"; // measuring text inside lays out nothing outside
    this.wanted = null; // the newest data not drawn yet
    this.shown = ""; // the spec on the screen
    this.drawing = false;
    this.resized = new ResizeObserver(() => this.shown && window.Plotly.Plots.resize(this.root));
  }

  show(data) {
    this.root.style.height = `${data.height}px`;
    this.root.setAttribute("aria-label", data.alt);
    this.wanted = data;
    if (!this.drawing) this.draw();
  }

  // Draws until nothing newer is wanted; what came and went meanwhile is skipped.
  async draw() {
    this.drawing = true;
    try {
      const plotly = await library();
      while (this.wanted) {
        const { spec, name } = this.wanted;
        this.wanted = null;
        if (spec === this.shown) continue;
        const { data, layout } = JSON.parse(spec);
        await plotly.react(this.root, data, { ...layout, autosize: true }, config(plotly, name));
        if (!this.shown) this.resized.observe(this.root);
        this.shown = spec;
        this.root.dataset.drawn = String(Number(this.root.dataset.drawn ?? 0) + 1);
      }
    } catch {
      this.root.textContent = this.root.getAttribute("aria-label"); // without the library the sentence still says it
    } finally {
      this.drawing = false;
    }
  }

  dispose() {
    this.resized.disconnect();
    if (this.shown) window.Plotly.purge(this.root);
    this.root.remove();
  }
}

function config(plotly, name) {
  const save = (format) => ({
    name: `Save as ${format.toUpperCase()}`,
    icon: plotly.Icons[format === "svg" ? "camera" : "disk"],
    click: (root) => plotly.downloadImage(root, { format, filename: name, scale: format === "png" ? 2 : 1 }),
  });
  return {
    displaylogo: false,
    modeBarButtonsToRemove: ["toImage", "select2d", "lasso2d", "autoScale2d"],
    modeBarButtonsToAdd: [save("svg"), save("png")],
  };
}
