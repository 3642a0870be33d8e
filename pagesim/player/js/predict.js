// Predict: a question before each step about which there is something to ask.

import { button, html } from "./html.js";
import { blocksIn, howTo, isRight, miscounted, questionFor, solution, wantsMany } from "./questions.js";
import { isCount } from "./read.js";
import { whyNot } from "./reasons.js";
import { plural } from "./text.js";

export class Predict {
  /** @param {Player} player */
  constructor(player) {
    const kept = player.storage.score.read(),
      isKept = isCount(kept.asked) && isCount(kept.right);
    this.player = player;
    this.on = false;
    this.question = null;
    this.picks = [];
    this.asked = isKept ? kept.asked : 0;
    this.right = isKept ? kept.right : 0;
    this.skipped = isKept && isCount(kept.skipped) ? kept.skipped : 0;
    this.button = button("predict", "Predict", "ask before each step which block it is about", () =>
      this.set(!this.on),
    );
    this.score = html("span", { class: "ps-score", "aria-live": "polite" });
    this.feedback = html("p", { class: "ps-feedback", "aria-live": "polite", hidden: true });
    this.ask = html("span", { class: "ps-ask" });
    this.hint = html("span", { class: "ps-hint" });
    this.input = html("input", {
      type: "text",
      inputmode: "numeric",
      class: "ps-answer",
      "aria-label": "block",
      input: () => this.pick(blocksIn(this.player.state, this.input.value)),
      keydown: (event) => {
        if (event.key === "Enter") this.typed();
      },
    });
    this.done = button("done", "Done", "these are all of them", () => this.typed());
    this.none = button("none", "None", "no block at all", () => this.reply([]));
    this.node = html(
      "p",
      { class: "ps-question", role: "status", hidden: true },
      this.ask,
      " ",
      this.hint,
      " ",
      this.input,
      this.done,
      this.none,
      button("skip", "Skip", "see it without answering", () => this.skip()),
    );
  }

  set(on) {
    const { player } = this;
    this.on = on;
    player.root.dataset.predict = on ? "on" : "off";
    this.button.setAttribute("aria-pressed", on);
    this.close();
    this.tellScore();
    if (!player.shown) return;
    if (on && player.untouched) {
      player.go(player.run.asking);
      return;
    } // nothing has been seen yet
    player.redraw();
    this.open();
    player.keep();
  }

  /** Ask about the next step, if there is something to ask. */
  open() {
    const { player } = this,
      { run, state, step } = player;
    const question = this.on ? questionFor(run, state, step) : null;
    if (!question) return;
    player.stop();
    this.question = question;
    player.root.dataset.asking = step;
    const many = wantsMany(question);
    this.ask.textContent = `Before step ${step + 1}: ${question.ask}`;
    this.hint.textContent = howTo(question);
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
    if (!wantsMany(this.question)) {
      this.reply([id]);
      return;
    }
    this.pick(this.picks.includes(id) ? this.picks.filter((other) => other !== id) : [...this.picks, id]);
    this.input.value = this.picks.join(", ");
  }

  /** Enter, or Done: only numbers of blocks and names of sequences count as an answer. */
  typed() {
    if (this.picks.length || (!this.input.value.trim() && this.question.none)) this.reply(this.picks);
    else this.hint.textContent = "Name blocks by their numbers:";
  }

  reply(ids) {
    const {
        question,
        player: { state, run, step },
      } = this,
      { answers, inWhy, word } = question;
    const outside = ids.some((id) => id >= state.total);
    const problem = outside ? `The blocks are 0 to ${state.total - 1}:` : miscounted(question, ids);
    if (problem) {
      this.hint.textContent = problem;
      return;
    }
    const right = isRight(question, ids),
      it = inWhy ? [] : [solution(question)];
    const astray = ids.find((id) => !answers.includes(id));
    const reason =
      astray !== undefined && answers.length
        ? whyNot(state, run.events[step], question, astray)
        : ids.length && ids.length < answers.length
          ? "there are more"
          : ids.length > 1
            ? "their order is another"
            : "";
    const is = answers.length ? it.map((text) => `it is ${text}`) : [`no block is ${word}`];
    this.count(right ? "right" : "asked");
    if (right) this.leave("right", ["\u2713 Right", ...it].join(": "));
    else this.leave("wrong", ["\u2717 Wrong", [reason, ...is].filter(Boolean).join("; ")].filter(Boolean).join(": "));
  }

  skip() {
    this.count("skipped");
    this.leave("", this.question.inWhy ? "Skipped" : `It is ${solution(this.question)}`);
  }

  count(how) {
    this.asked += how !== "skipped";
    this.right += how === "right";
    this.skipped += how === "skipped";
    this.player.storage.score.write({ asked: this.asked, right: this.right, skipped: this.skipped });
    this.tellScore();
  }

  /** Make the step, say whether the answer was right, and ask about the next one. */
  leave(result, text) {
    const {
      player,
      question: { why },
    } = this;
    player.go(player.step + 1);
    this.feedback.dataset.result = result;
    this.feedback.textContent = `${text}. ${why}`;
    this.feedback.hidden = false;
    player.root.focus({ preventScroll: true });
  }

  tellScore() {
    const {
        asked,
        right,
        skipped,
        player: { run },
      } = this,
      waiting = run.questions.length;
    const passed = skipped ? `, ${skipped} skipped` : "";
    this.score.textContent =
      this.on || asked || skipped ? `${right} of ${asked} right${passed}` : waiting ? plural(waiting, "question") : "";
  }
}
