// Predict: a question before each step about which there is something to ask.

import { button, html } from "./html.js";
import { isRight, questionFor, solution, wantsMany, whereIs } from "./questions.js";
import { isCount } from "./read.js";

export class Predict {
  constructor(player) {
    const kept = player.storage.score.read(), told = isCount(kept.asked) && isCount(kept.right);
    Object.assign(this, { player, on: false, question: null, picks: [],
      asked: told ? kept.asked : 0, right: told ? kept.right : 0 });
    this.button = button("predict", "Predict", "ask before each step which block it is about",
      () => this.set(!this.on));
    this.score = html("span", { class: "ps-score", "aria-live": "polite" });
    this.feedback = html("p", { class: "ps-feedback", "aria-live": "polite", hidden: true });
    this.ask = html("span", { class: "ps-ask" });
    this.hint = html("span", { class: "ps-hint" });
    this.input = html("input", { type: "text", inputmode: "numeric", class: "ps-answer", "aria-label": "block",
      input: () => this.pick((this.input.value.match(/\d+/g) ?? []).map(Number)),
      keydown: (event) => { if (event.key === "Enter" && this.picks.length) this.reply(this.picks); } });
    this.done = button("done", "Done", "these are all of them", () => this.reply(this.picks));
    this.none = button("none", "None", "no block at all", () => this.reply([]));
    this.node = html("p", { class: "ps-question", role: "status", hidden: true }, this.ask, " ", this.hint, " ",
      this.input, this.done, this.none, button("skip", "Skip", "see it without answering", () => this.skip()));
  }

  set(on) {
    const { player } = this;
    this.on = on;
    player.root.dataset.predict = on ? "on" : "off";
    this.button.setAttribute("aria-pressed", on);
    this.close();
    this.tellScore();
    if (!player.state) return;
    if (on && player.untouched) { player.go(0); return; } // nothing has been seen yet: ask from the start
    player.redraw();
    this.open();
    player.keep();
  }

  /** Ask about the next step, if there is something to ask. */
  open() {
    const { player } = this, { run, state, step } = player;
    const question = this.on ? questionFor(run, state, step) : null;
    if (!question) return;
    player.stop();
    this.question = question;
    player.root.dataset.asking = step;
    const many = wantsMany(question);
    this.ask.textContent = `Before step ${step + 1}: ${question.ask}`;
    this.hint.textContent = many ? "Click all of them, or type their numbers:" : "Click it, or type its number:";
    this.input.value = "";
    this.done.hidden = !many;
    this.none.hidden = !question.none;
    this.node.hidden = false;
  }

  close() {
    this.question = null;
    this.picks = [];
    delete this.player.root.dataset.asking;
    this.node.hidden = this.feedback.hidden = true;
  }

  /** Whether a step must wait for an answer. */
  waits() {
    if (this.question) this.hint.textContent = "Choose a block first, or skip:";
    return this.question !== null;
  }

  /** Frame the blocks chosen so far. */
  pick(ids) {
    this.picks = [...new Set(ids)];
    this.player.redraw();
  }

  choose(id) {
    if (!wantsMany(this.question)) { this.reply([id]); return; }
    this.pick(this.picks.includes(id) ? this.picks.filter((other) => other !== id) : [...this.picks, id]);
    this.input.value = this.picks.join(", ");
  }

  reply(ids) {
    const { question, player: { state } } = this;
    if (ids.some((id) => id >= state.total)) {
      this.hint.textContent = `The blocks are 0 to ${state.total - 1}:`;
      return;
    }
    const right = isRight(question, ids), what = solution(question);
    const astray = ids.find((id) => !question.answers.includes(id));
    const where = astray === undefined ? `it is ${what}` : `${whereIs(state, astray)}; it is ${what}`;
    this.asked += 1;
    this.right += right;
    this.player.storage.score.write({ asked: this.asked, right: this.right });
    this.tellScore();
    this.leave(right ? "right" : "wrong", right ? `\u2713 Right: ${what}.` : `\u2717 Wrong: ${where}.`);
  }

  skip() { this.leave("", `It is ${solution(this.question)}.`); }

  /** Make the step, say whether the answer was right, and ask about the next one. */
  leave(result, said) {
    const { player, question: { why } } = this;
    player.go(player.step + 1);
    this.feedback.dataset.result = result;
    this.feedback.textContent = `${said} ${why}`;
    this.feedback.hidden = false;
    player.root.focus({ preventScroll: true });
  }

  tellScore() {
    this.score.textContent = this.on || this.asked ? `${this.right} of ${this.asked} right` : "";
  }
}
