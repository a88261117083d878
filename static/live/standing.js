// What the settings add up to, in a quiet line: the algorithm's name, what is off-paper and who says so, what the last
// change did, and how to take it back. Trouble is told in the alert above, with a way out.

import { el, mark, say } from "./dom.js";

export class Standing {
  constructor(panel) {
    this.panel = panel;
    const act = (label, key, action, id) => el("button", { type: "button", "data-action": id, "aria-keyshortcuts": key, title: `${label}${key ? ` (${key})` : ""}`, onclick: action }, label);
    this.trouble = el("p", {});
    this.back = act("Open the last good step", "", () => panel.order({ op: "open", step: panel.runs[0].store.step }), "recover");
    this.reset = act("Start over", "X", () => panel.act("reset"), "restart");
    this.ways = el("div", { class: "lv-transport", hidden: true }, this.back, this.reset);
    this.alert = el("div", { class: "lv-alert", role: "alert", hidden: true }, this.trouble, this.ways);
    this.name = el("b", {});
    this.said = el("span", { class: "lv-said", "aria-live": "polite" });
    this.undo = act("Undo", "U", () => panel.act("undo"), "undo");
    this.cautions = el("ul", {});
    this.odd = el("summary", {});
    this.more = el("details", { class: "lv-more lv-cautions", hidden: true }, this.odd, this.cautions);
    this.root = el("div", { class: "lv-standing" }, el("p", {}, this.name, this.said), this.undo, this.more);
  }

  announce(text) {
    this.alert.hidden = !text;
    say(this.trouble, text);
    clearTimeout(this.hush);
    this.hush = setTimeout(() => (this.alert.hidden = !this.panel.failure), 8000);
  }

  draw(store) {
    const { status } = store;
    const { failure, options } = this.panel;
    if (failure && failure !== this.lastFailure) this.announce(failure);
    if (!failure && this.lastFailure) this.alert.hidden = true;
    this.lastFailure = failure;
    const lost = Boolean(status.error) && options.layout !== "home" && Boolean(store.hello?.knobs);
    this.ways.hidden = !lost || Boolean(status.open);
    say(this.back, `Open the last good step (${store.step})`);
    const alone = this.panel.runs.length === 1;
    say(this.name, alone ? this.bySymbol(status.name ?? "", store.hello?.knobs ?? []) : "");
    say(this.said, [status.note, alone ? status.effect : ""].filter(Boolean).join(" "));
    this.undo.hidden = !status.undo || !alone;
    this.drawCautions(alone ? status.cautions ?? [] : []);
  }

  // "GRPO with eps_low 0.1, eps_high 0.1" as it is written elsewhere on the page: GRPO with ε 0.1.
  bySymbol(name, knobs) {
    const text = name.replace(/\beps_low (\S+), eps_high \1(?=,|$)/, "ε $1");
    return knobs.reduce((words, knob) => words.replace(new RegExp(`\\b${knob.name}(?= )`), knob.symbol), text);
  }

  drawCautions(all) {
    const told = JSON.stringify(all);
    if (told === this.told) return;
    this.told = told;
    this.more.hidden = !all.length;
    if (!all.length) return;
    say(this.odd, all.length === 1 ? "One thing to know about this mix" : `${all.length} things to know about this mix`);
    mark(this.odd, "title", all[0].text);
    this.cautions.replaceChildren(...all.map(({ slot, text, source }) => el("li", {}, el("b", {}, `${slot}: `), text, el("span", { class: "lv-source" }, ` ${source}`))));
  }
}
