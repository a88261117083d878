// The line under the curves that says what is going on, and one experiment to click; and where a story stands: the
// prediction made, the step at which it is checked, and what the run's own numbers said then.

import { el, mark, say } from "./dom.js";

const SIGNS = { act: "⚠", look: "◔", note: "ⓘ" };
const WORDS = { act: "Act", look: "Look", note: "Note" };

export class GoingOn {
  constructor(panel) {
    this.panel = panel;
    this.sign = el("b", { class: "lv-sign" });
    this.says = el("span", {});
    this.evidence = el("span", { class: "lv-evidence" });
    this.line = el("p", { "aria-live": "polite" }, this.sign, " ", this.says, " ", this.evidence);
    const button = (id, action) => el("button", { type: "button", "data-action": id, onclick: action });
    this.now = button("try-now", () => this.tryNow());
    this.fork = button("try-fork", () => this.tryFork());
    this.ways = el("div", { class: "lv-transport lv-try" }, this.now, this.fork);
    this.others = el("ul", {});
    this.more = el("details", { class: "lv-more" }, el("summary", {}, ""), this.others);
    this.ending = el("p", { class: "lv-ending", role: "status", hidden: true });
    this.root = el("section", { class: "lv-card lv-going lv-wide", "aria-label": "What is going on" },
      el("header", {}, el("h2", {}, "What is going on")), this.line, this.ways, this.more, this.ending);
  }

  draw(store) {
    const { insight } = store.status;
    const told = JSON.stringify([insight, this.panel.options.story]);
    if (told === this.told) return;
    this.told = told;
    const [first, ...rest] = insight?.findings ?? [];
    this.first = first;
    mark(this.root, "data-finding", first?.name ?? "");
    say(this.sign, first ? `${SIGNS[first.severity]} ${WORDS[first.severity]}.` : "");
    say(this.says, first ? first.says : "Nothing stands out: no rule has anything to say about these curves.");
    say(this.evidence, first ? `Seen: ${first.evidence}.` : "");
    mark(this.line, "title", first ? `Source: ${first.source}` : "Entropy collapse, KL blow-up, dead groups, idle clip, saturation, divergence, … are looked for once a second.");
    this.offer(first?.experiment);
    this.more.hidden = !rest.length;
    say(this.more.firstChild, `${rest.length} more`);
    this.others.replaceChildren(...rest.map((each) => el("li", {}, `${SIGNS[each.severity]} ${each.says} `, el("span", { class: "lv-evidence" }, `Seen: ${each.evidence}. Try: ${each.experiment?.says ?? "–"}.`))));
    this.end(insight?.story);
  }

  offer(experiment) {
    this.ways.hidden = !experiment;
    if (!experiment) return;
    say(this.now, experiment.fresh ? `Start a new run: ${experiment.says}` : `Try now: ${experiment.says}`);
    this.fork.hidden = experiment.fresh || experiment.at === null;
    say(this.fork, `… in a fork from step ${experiment.at}`);
  }

  tryNow() {
    const { fresh, values } = this.first.experiment;
    if (fresh) return this.panel.send.trigger("fresh", JSON.stringify(values));
    this.panel.turned({});
    this.panel.set(values);
    this.panel.settled();
    if (!this.panel.playing) this.panel.act("play");
  }

  // Back to the step, with other settings, and on from there: three orders, obeyed in this order.
  tryFork() {
    const { at, values } = this.first.experiment;
    this.panel.order({ op: "open", step: Math.round(at) });
    this.panel.turned({});
    this.panel.set(values);
    this.panel.act("fork");
  }

  end(story) {
    const told = this.panel.options.story;
    this.ending.hidden = !story || !told;
    if (this.ending.hidden) return;
    const changed = story.turned.length ? ` You changed ${story.turned.join(", ").replaceAll("_", " ")}: this is no longer the story's run.` : "";
    if (!story.outcome) return say(this.ending, `The story is checked at step ${story.at}.${changed}`);
    const { outcomes, predicted, because } = told;
    mark(this.ending, "data-outcome", predicted ? story.outcome : "");
    if (!predicted) return say(this.ending, `Step ${story.at} is made. Choose your prediction in the story's card above to see what the run came to.${changed}`);
    const guess = predicted === story.outcome ? "As you predicted. " : `You predicted: ${outcomes[predicted]}. `;
    say(this.ending, `Checked at step ${story.at}: ${outcomes[story.outcome]}. ${guess}Measured: ${story.evidence}. ${because}${changed}`);
  }
}
