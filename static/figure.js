// A figure at rest that may change: Plotly redraws the same chart in place, so zoom and hover stay and nothing flickers.
// A chart lives by its key, not by its DOM node, since Streamlit may move the element between two reruns.

import { legend } from "./figure/legend.js";

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

// `dark` says which color stands for which on a dark page; Streamlit calls this again when its theme changes.
export function mount({ data, parentElement, setTriggerValue }, dark) {
  let chart = charts.get(data.key);
  if (!chart) charts.set(data.key, (chart = new Chart(dark)));
  clearTimeout(chart.leaving);
  chart.pick = data.pick ? (code) => setTriggerValue("picked", code) : null; // a click on a mark tells its number
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
  constructor(dark) {
    this.dark = dark;
    this.root = document.createElement("div");
    this.plot = document.createElement("div");
    this.keys = document.createElement("div");
    this.words = document.createElement("p");
    this.root.className = "surrogate-figure";
    this.plot.setAttribute("role", "figure"); // not "img": it holds buttons
    this.plot.style.contain = "layout paint"; // measuring text inside lays out nothing outside
    this.words.style.cssText =
      "margin:0.6rem 0 0;font-size:0.875rem;line-height:1.5;color:color-mix(in srgb, currentColor 72%, transparent)";
    this.root.append(this.plot, this.keys, this.words);
    this.hidden = new Set(); // legend groups that were switched off
    this.wanted = null; // the newest data not drawn yet
    this.shown = ""; // the spec on the screen
    this.drawing = false;
    this.resized = new ResizeObserver(() => this.shown && window.Plotly.Plots.resize(this.plot));
  }

  show(data) {
    this.plot.style.height = `${data.height}px`;
    this.plot.setAttribute("aria-label", data.alt);
    this.words.textContent = data.caption ? data.alt : "";
    this.wanted = data;
    if (!this.drawing) this.draw();
  }

  // Draws until nothing newer is wanted; what came and went meanwhile is skipped.
  async draw() {
    this.drawing = true;
    try {
      const plotly = await library();
      while (this.wanted) {
        const { name } = this.wanted;
        const spec = this.inColor(this.wanted.spec);
        this.wanted = null;
        if (spec === this.shown) continue;
        const { data, layout } = JSON.parse(spec);
        for (const trace of data) if (this.hidden.has(trace.legendgroup)) trace.visible = false;
        // Plotly's own legend measures every word at every redraw; ours is plain HTML, and only exports use Plotly's.
        this.config ??= config(plotly, this); // the same object every time: another one would make Plotly start anew
        Object.assign(this, { name, layout });
        await plotly.react(this.plot, data, { ...layout, autosize: true, showlegend: false }, this.config);
        legend(this.keys, layout.showlegend === false ? [] : data, this.hidden, (group) => this.toggle(group));
        if (!this.shown) this.resized.observe(this.plot);
        if (!this.shown) this.plot.on("plotly_click", ({ points }) => Number.isInteger(points[0]?.customdata) && this.pick?.(points[0].customdata));
        this.shown = spec;
        this.root.dataset.drawn = String(Number(this.root.dataset.drawn ?? 0) + 1);
      }
    } catch {
      this.plot.textContent = this.plot.getAttribute("aria-label"); // without the library the sentence still says it
    } finally {
      this.drawing = false;
    }
  }

  inColor(spec) {
    const [r, g, b] = getComputedStyle(this.root).color.match(/[\d.]+/g).map(Number);
    const isDark = r + g + b > 384; // light text
    return isDark ? spec.replace(/#[0-9A-Fa-f]{6}/g, (color) => this.dark[color] ?? color) : spec;
  }

  toggle(group) {
    if (!this.hidden.delete(group)) this.hidden.add(group);
    const of = this.plot.data.flatMap((trace, i) => (trace.legendgroup === group ? [i] : []));
    window.Plotly.restyle(this.plot, { visible: !this.hidden.has(group) }, of);
  }

  dispose() {
    this.resized.disconnect();
    if (this.shown) window.Plotly.purge(this.plot);
    this.root.remove();
  }
}

function config(plotly, chart) {
  const save = (format) => ({
    name: `Save as ${format.toUpperCase()}`,
    icon: plotly.Icons[format === "svg" ? "camera" : "disk"],
    click: (plot) => {
      const { layout, name } = chart;
      const page = getComputedStyle(document.body).backgroundColor;
      const whole = { ...layout, width: plot.clientWidth, height: layout.height + 60, paper_bgcolor: page, plot_bgcolor: page };
      plotly.downloadImage({ data: plot.data, layout: whole }, { format, filename: name, scale: format === "png" ? 2 : 1 });
    },
  });
  return {
    displaylogo: false,
    showSendToCloud: false, // on by default: its button would upload the chart to somebody else's machine
    plotlyServerURL: "",
    modeBarButtonsToRemove: ["toImage", "select2d", "lasso2d", "autoScale2d"],
    modeBarButtonsToAdd: [save("svg"), save("png")],
  };
}
