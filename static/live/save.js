// A canvas as a PNG file: what is on the screen, on the page's own background, with the figure's title above it.

import { el } from "./dom.js";

const HEAD = 26; // CSS pixels above the picture for its title

// A small button; `canvas()` and `theme()` are asked when it is pressed.
export function saver(title, canvas, theme) {
  const label = `Save ${title} as PNG`;
  const onclick = () => save(title, canvas(), theme());
  return el("button", { type: "button", class: "lv-save", title: label, "aria-label": label, onclick }, "PNG");
}

function save(title, source, theme) {
  if (!source || !source.width) return;
  const ratio = window.devicePixelRatio || 1;
  const sheet = el("canvas", { width: source.width, height: source.height + Math.round(HEAD * ratio) });
  const g = sheet.getContext("2d");
  g.fillStyle = theme.background;
  g.fillRect(0, 0, sheet.width, sheet.height);
  g.fillStyle = theme.text;
  g.font = `600 ${14 * ratio}px ${theme.font}`;
  g.textBaseline = "middle";
  g.fillText(title, 8 * ratio, (HEAD / 2) * ratio);
  g.drawImage(source, 0, Math.round(HEAD * ratio));
  sheet.toBlob((blob) => {
    const url = URL.createObjectURL(blob);
    el("a", { href: url, download: `${name(title)}.png` }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  }, "image/png");
}

function name(title) {
  return title.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "") || "figure";
}
