// The policy simplex of three arms: every policy is a point of the triangle, a corner is certainty. Drawn are the path
// taken from the run's own columns, the reference, and the optimum π* ∝ π_ref exp(r/β) at the β in force.

import { short } from "./dom.js";

const HIGH = Math.sqrt(3) / 2;
const SHAPES = ["●", "■", "▲", "◆"]; // a context a shape

export function simplex({ g, width, height }, world) {
  const { theme } = this.panel;
  const { store, recipe } = this.run;
  const color = theme.look(recipe).color;
  const side = Math.min(width - 60, (height - 44) / HIGH);
  const frame = { left: (width - side) / 2, bottom: height - 22, side };
  const at = (p) => [frame.left + side * (p[1] + p[2] / 2), frame.bottom - side * HIGH * p[2]];
  const contexts = Array.isArray(world.probs[0]) ? world.probs : [world.probs];
  const means = Array.isArray(world.means[0]) ? null : world.means;
  ground(g, theme, at, frame, means);
  contexts.slice(0, SHAPES.length).forEach((probs, c) => {
    const names = [1, 2, 3].map((a) => (contexts.length > 1 ? `arm_${c + 1}_${a}` : `arm_${a}`));
    const columns = names.map((name) => store.column(name));
    path(g, at, columns, store.columns[0], this.panel.cursor, color);
    g.fillStyle = theme.text;
    ring(g, ...at(world.ref[c]), theme.text);
    star(g, ...at(world.best[c]), 8, theme.better, theme.background);
    const [x, y] = at(probs);
    g.fillStyle = color;
    g.font = `bold 15px ${theme.font}`;
    g.textAlign = "center";
    if (contexts.length > 1) g.fillText(SHAPES[c], x, y + 5);
    else disc(g, x, y, 6, color, theme.background);
  });
  const far = (p, q) => Math.abs(p[0] - q[0]) / 2 + Math.abs(p[1] - q[1]) / 2 + Math.abs(p[2] - q[2]) / 2;
  const beta = world.beta ? `π* ∝ π_ref·exp(r/β) at β = ${short(world.beta)}` : "the best arm (β = 0)";
  const distances = contexts.map((probs, c) => far(probs, world.best[c]));
  const list = (p) => p.map(short).join(", ");
  return {
    caption: `${contexts.length > 1 ? "● ■ ▲ ◆ policy by context" : "● policy now"}, line: its path, ○ reference, ★ optimum for the plain reward: ${beta}. A corner is certainty.`,
    sentence: contexts.length > 1
      ? `Policy simplex of ${contexts.length} contexts with three arms; total variation to the optimum: ${list(distances)}.`
      : `Policy simplex: probabilities ${list(world.probs)}; the reference ${list(world.ref[0])}; the optimum ${list(world.best[0])}, ${short(distances[0])} away in total variation.`,
  };
}

function ground(g, theme, at, { side }, means) {
  const corners = [[1, 0, 0], [0, 1, 0], [0, 0, 1]].map(at);
  g.strokeStyle = theme.grid;
  g.lineWidth = 1;
  for (const q of [0.25, 0.5, 0.75])
    for (const [a, b] of [[[q, 1 - q, 0], [q, 0, 1 - q]], [[1 - q, q, 0], [0, q, 1 - q]], [[1 - q, 0, q], [0, 1 - q, q]]]) segment(g, at(a), at(b));
  g.strokeStyle = theme.muted;
  g.beginPath();
  corners.forEach(([x, y], i) => (i ? g.lineTo(x, y) : g.moveTo(x, y)));
  g.closePath();
  g.stroke();
  g.fillStyle = theme.muted;
  g.font = `11px ${theme.font}`;
  const words = (a) => (means ? `arm ${a}, r = ${short(means[a - 1])}` : `arm ${a}`);
  g.textAlign = side < 190 ? "center" : "left";
  g.fillText(words(1), corners[0][0] - (side < 190 ? 0 : 26), corners[0][1] + 15);
  g.textAlign = side < 190 ? "center" : "right";
  g.fillText(words(2), corners[1][0] + (side < 190 ? 0 : 26), corners[1][1] + 15);
  g.textAlign = "center";
  g.fillText(words(3), corners[2][0], corners[2][1] - 8);
}

// Older steps fainter; drawn in a few pieces, since a stroke has one alpha.
function path(g, at, columns, steps, cursor, color) {
  if (columns.some((column) => !column)) return;
  const points = [];
  for (let i = 0; i < steps.length; i++) {
    if (cursor !== null && steps[i] > cursor) break;
    const p = columns.map((column) => column[i]);
    if (p.every(Number.isFinite)) points.push(at(p));
  }
  g.strokeStyle = color;
  g.lineWidth = 2;
  const pieces = 12;
  for (let k = 0; k < pieces; k++) {
    const [from, to] = [Math.floor((k * (points.length - 1)) / pieces), Math.floor(((k + 1) * (points.length - 1)) / pieces)];
    if (to <= from) continue;
    g.globalAlpha = 0.25 + (0.7 * (k + 1)) / pieces;
    g.beginPath();
    points.slice(from, to + 1).forEach(([x, y], i) => (i ? g.lineTo(x, y) : g.moveTo(x, y)));
    g.stroke();
  }
  g.globalAlpha = 1;
  g.lineWidth = 1;
}

function segment(g, [x0, y0], [x1, y1]) {
  g.beginPath();
  g.moveTo(x0, y0);
  g.lineTo(x1, y1);
  g.stroke();
}

function ring(g, x, y, color) {
  g.strokeStyle = color;
  g.lineWidth = 2;
  g.beginPath();
  g.arc(x, y, 6, 0, 2 * Math.PI);
  g.stroke();
  g.lineWidth = 1;
}

function disc(g, x, y, r, color, edge) {
  g.fillStyle = color;
  g.strokeStyle = edge;
  g.beginPath();
  g.arc(x, y, r, 0, 2 * Math.PI);
  g.fill();
  g.stroke();
}

function star(g, x, y, r, color, edge) {
  g.fillStyle = color;
  g.strokeStyle = edge;
  g.beginPath();
  for (let i = 0; i < 10; i++) {
    const [angle, reach] = [(i * Math.PI) / 5 - Math.PI / 2, i % 2 ? r * 0.45 : r];
    g.lineTo(x + reach * Math.cos(angle), y + reach * Math.sin(angle));
  }
  g.closePath();
  g.fill();
  g.stroke();
}
