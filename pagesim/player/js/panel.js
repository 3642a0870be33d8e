// What stands around the picture: the buttons, the inputs, and the texts about a step.

import { CHANGES, EXAMPLE, TWO_BLOCKS, isLookup, isPromise, wordOf } from "./effects.js";
import { forRouters } from "./heard.js";
import { button, html } from "./html.js";
import { begins, jobText } from "./jobs.js";
import { roundInWords } from "./rounds.js";
import { marksOf } from "./marks.js";
import { movesOf, wayOf } from "./queues.js";
import { isCount } from "./read.js";
import { save } from "./save.js";
import { fullScreenButton } from "./screen.js";
import { stepper } from "./stepper.js";
import { plural, requestText, tableText } from "./text.js";

const SPEED_NAMES = ["slow", "normal", "fast"];
const SHARES = ["token", "internal", "reserved", "free"];

/** The entries that have no block from now on, table by table: "entries 6–10 of r13 (window 4)".
 * @param {State} state @param {PageEvent} event */
function emptied(state, event) {
  const found = new Map();
  for (const [kind, , name, k] of event.effects) {
    if (kind === "null" && isCount(k)) found.set(name, [...(found.get(name) ?? []), k]);
  }
  return [...found].map(([name, all]) => {
    const inRow = all.length > 1 && all.every((k, i) => k === all[0] + i),
      which = inRow ? `${all[0]}\u2013${all.at(-1)}` : all.join(", ");
    return `${all.length > 1 ? "entries" : "entry"} ${which} of ${tableText(state, name)}`;
  });
}

/** The nodes of a player, in its root; what is done with them is told to the player. */
export class Panel {
  /** @param {Player} player */
  constructor(player) {
    const { run, root } = player,
      n = run.steps;
    this.player = player;
    this.steps = stepper("", {
      at: () => player.step,
      go: (step) => player.go(step),
      back: () => player.back(),
      next: () => {
        player.stop();
        player.next();
      },
      play: () => player.play(),
    });
    this.slider = this.steps.slider;
    this.slider.max = n;
    this.slider.setAttribute("aria-label", "step");
    this.number = html("input", {
      type: "number",
      class: "ps-goto",
      "data-action": "goto",
      min: 0,
      max: n,
      step: 1,
      "aria-label": "go to step",
      change: () => player.go(+this.number.value),
    });
    this.speeds = SPEED_NAMES.map((name, i) =>
      button(`speed-${i + 1}`, name, `play ${name}`, () => player.setSpeed(i)),
    );
    this.slotsButton = button("slots", "Slots", "show slot numbers instead of words (s)", () =>
      player.showSlots(!player.slots),
    );
    this.query = html("input", {
      type: "search",
      class: "ps-search",
      "data-action": "search",
      "aria-label": "search",
      placeholder: `block 7, a name, ${EXAMPLE} \u2026`,
      input: () => {
        player.found = null;
      },
      keydown: (event) => {
        if (event.key === "Enter") player.find(event.shiftKey ? -1 : 1);
      },
    });
    this.message = html("span", { class: "ps-message", role: "status" });
    this.caption = html("p", { class: "ps-caption" });
    this.changes = html("p", { class: "ps-changes" });
    this.detail = html("span", { class: "ps-detail" });
    this.note = html("div", { class: "ps-note", hidden: true, "aria-hidden": true });
    this.jumps = html(
      "span",
      { class: "ps-jumps", hidden: true },
      button("sel-prev", "\u25c0 its event", "previous event of the selection", () => player.jumpSelected(-1)),
      button("sel-next", "its event \u25b6", "next event of the selection", () => player.jumpSelected(1)),
      button("sel-clear", "\u2715", "clear the selection (Escape)", () => player.select(null)),
    );
    this.share = html("span", {});
    this.told = html("p", { class: "ps-told" }); // how the run stands, before what happens in it
    this.picture = html("div", { class: "ps-picture" });
    this.course = html("div", { class: "ps-course" });
    const skip = button("picture", "To the picture", "past the controls", () => player.finger.node.focus());
    root.append(skip, ...this.title(), this.told, ...this.bars(), ...this.below());
  }

  title() {
    const { run } = this.player,
      title = typeof run.header.title === "string" ? run.header.title : "";
    return [
      title && html("h1", {}, title),
      run.problem
        && html(
          "p",
          { class: "ps-problem", role: "alert" },
          `The file is damaged: ${run.problem}. ${plural(run.steps, "event")} before it can be played.`,
        ),
    ].filter(Boolean);
  }

  bars() {
    const { player } = this,
      { run, predict } = player,
      jump = (way) => () => player.jumpSchedule(way);
    const steps = run.schedules.length
      ? [
          html(
            "span",
            { class: "ps-group", role: "group", "aria-label": "schedule()" },
            button("prev-schedule", "\u25c0", "back to the previous schedule() (Shift+\u2190)", jump(-1)),
            html("span", { class: "ps-named" }, "schedule()"),
            button("next-schedule", "\u25b6", "on to the next schedule() (Shift+\u2192)", jump(1)),
          ),
        ]
      : [];
    return [
      html(
        "div",
        { class: "ps-bar" },
        ...this.steps.nodes,
        html("label", {}, "step ", this.number, ` of ${run.steps}`),
        html("span", { class: "ps-group ps-speed", role: "group", "aria-label": "speed" }, ...this.speeds),
        ...steps,
        predict.button,
        predict.score,
        this.slotsButton,
        html(
          "span",
          { class: "ps-group" },
          this.query,
          button("search-prev", "\u25c0", "previous match", () => player.find(-1)),
          button("search-next", "\u25b6", "next match", () => player.find(1)),
        ),
        fullScreenButton(player.root),
      ),
    ];
  }

  below() {
    const { player } = this,
      { predict } = player;
    this.words = html("div", { class: "ps-words" }, this.caption, this.changes);
    this.said = html("div", { class: "ps-said" }, predict.feedback, this.words, this.message, predict.node);
    const keys = player.run.schedules.length ? "Shift+\u2190 \u2192 one schedule(), " : "";
    return [
      this.said,
      this.picture,
      html("p", { class: "ps-about" }, this.detail, this.jumps),
      this.course,
      html(
        "p",
        { class: "ps-share" },
        this.share,
        html(
          "span",
          { class: "ps-save" },
          "Save this step: ",
          ...["SVG", "PNG"].map((kind) =>
            button(`save-${kind.toLowerCase()}`, kind, `save this step as ${kind}`, () => {
              player.motion.finish();
              save(kind.toLowerCase(), player.stage.node, player.step);
            }),
          ),
        ),
      ),
      html(
        "details",
        { class: "ps-keys" },
        html("summary", {}, "Keys"),
        ` \u2190 \u2192 one step, ${keys}PageUp PageDown fifty, Home End, `
          + "Space plays, f fills the screen. Tab reaches the blocks, arrow keys move among them, Enter selects one: "
          + "then they move through its words, and Enter shows the bytes, until Escape.",
      ),
    ];
  }

  /** Room for the longest words of the run, so that the picture stays where it is from step to step; the longest of
   * all are scrolled. */
  reserve() {
    const { player } = this,
      { run, step, state, round } = player,
      longest = (length) => [...run.events.keys()].sort((a, b) => length(b) - length(a)).slice(0, 5);
    const cap = player.stage.layout.narrow && !player.linked ? 150 : 104;
    let most = 0;
    this.said.style.setProperty("--room", "0px");
    const words = ({ caption, event }) => caption.length + event.length, // the call stands behind the sentence
      wanted = [longest((k) => words(run.events[k])), longest((k) => run.events[k].effects.length)];
    for (const i of wanted.flat()) {
      [player.step, player.state] = [i + 1, run.at(i + 1)];
      player.round = player.rounds;
      this.showEvent(run.events[i]);
      most = Math.max(most, this.caption.offsetHeight + this.changes.offsetHeight + 8);
    }
    this.words.tabIndex = most > cap ? 0 : -1;
    this.said.style.setProperty("--cap", `${cap}px`);
    this.said.style.setProperty("--room", `${Math.min(most, cap) + 16}px`);
    [player.step, player.state, player.round] = [step, state, round];
  }

  /** Show the number of a step, and how full the cache is at it. */
  show(step) {
    const { run } = this.player;
    this.message.textContent = "";
    this.slider.value = this.number.value = step;
    this.slider.setAttribute("aria-valuetext", `step ${step} of ${run.steps}`);
    const shares = run.percent(step).map((part, i) => `${SHARES[i]} ${part.toFixed(1)} %`);
    this.share.textContent = `GPU slots at step ${step}: ${shares.join(", ")}; usage by blocks ${run.at(step).usage}`;
    this.showEvent(this.player.event);
  }

  /** While it plays, captions are not read aloud; of two players the pair speaks. */
  playing(on) {
    this.caption.setAttribute("aria-live", on || this.player.linked ? "off" : "polite");
    this.steps.playing(on);
  }

  /** The caption of an event, and what it changed. @param {PageEvent | null} event */
  showEvent(event) {
    const { run, step, state } = this.player,
      from = isCount(run.header.first) ? run.header.first : 0;
    if (!event) {
      const what = from ? `The state before event ${from} of the run.` : "Start of the recording.";
      this.caption.replaceChildren(what);
      this.changes.replaceChildren();
      return;
    }
    const { round, rounds } = this.player,
      owner = run.groups.owner(event.of),
      request = movesOf(event)[0]?.[3] ?? owner;
    const of = event.of === null ? "" : ` \u00b7 ${requestText(request, owner)}`;
    const group = !isCount(event.step)
      ? ""
      : event.event === "schedule"
        ? ` ${event.step}`
        : ` \u00b7 schedule ${event.step}`;
    const told = rounds ? `, ${round} of ${plural(rounds, "answer")}` : "";
    const said = [...(rounds ? [roundInWords(run, event, round)] : []), ...(round < rounds ? [] : [event.caption])];
    const [first, ...then] = said.join(" ").split(/(?=; )/);
    this.caption.replaceChildren(
      html("b", {}, `Step ${step}${told}:`),
      ` ${first}`,
      html("small", {}, `${then.join("")} `),
      html("span", { class: "ps-call" }, `${event.event}${of}${group}`),
    );
    const byKind = new Map(),
      isRow = state.sorted[0]; // contiguous memory has no blocks: its slots are counted
    for (const effect of event.effects) {
      if (isLookup(effect) || isPromise(state, effect) || ["begin", "end"].includes(effect[0])) continue;
      if (effect[0] === "null" && run.groups.several) continue;
      let text = TWO_BLOCKS.has(effect[0]) ? `${effect[1]} \u2192 ${effect[2]}` : `${effect[1]}`;
      const gap = state.gaps.get(effect[1]);
      if (effect[0] === "hit") text += gap ? ` from place ${gap.rank}` : " in use";
      if (isRow) text = effect[0] === "write" ? effect[4] : state.blockSize;
      byKind.set(effect[0], [...(byKind.get(effect[0]) ?? []), text]);
    }
    const begun = [...state.jobs.values()].filter(({ id }) => begins(event, id)),
      inWords = (jobs) => jobs.map((job) => jobText(state, job));
    if (begun.length) byKind.set("begin", inWords(begun));
    if (state.ended.length) byKind.set("end", inWords(state.ended));
    const empty = run.groups.several ? emptied(state, event) : [];
    if (empty.length) byKind.set("null", empty);
    this.changes.replaceChildren(
      ...[...byKind].map(([kind, all]) => {
        const more = all.length > 12 ? ` and ${all.length - 12} more` : "",
          slots = all.reduce((one, other) => one + other),
          which = isRow ? plural(slots, "slot") : all.slice(0, 12).join(", ") + more,
          what = html("b", {}, CHANGES.get(kind)[0]);
        return html("span", { "data-kind": kind }, what, ` ${wordOf(kind, run.groups.several)}: ${which} `);
      }),
      ...this.shades(event),
    );
    for (const words of [wayOf(event), forRouters(run, event, state)]) {
      if (words) this.changes.append(html("span", {}, words));
    }
  }

  /** Of what an event changes, what some of it has done by now; null: all of it. @param {PageEvent | null} done */
  reach(done) {
    for (const node of this.changes.children) {
      const kind = node.getAttribute("data-kind");
      node.classList.toggle("ahead", !!kind && !!done?.effects.every((effect) => effect[0] !== kind));
    }
  }

  /** The marks that shade the picture, one at a time: a button for each where there are several.
   * @param {PageEvent | null} event */
  shades(event) {
    const { player } = this,
      shades = marksOf(event),
      shown = shades.indexOf(shades[player.shade] ?? shades[0]);
    return shades.map(({ name, on, numbers }, i) => {
      const text = `${name}: on ${plural(numbers.size, on.slice(0, -1))}`;
      return shades.length < 2
        ? html("span", {}, text)
        : html(
            "button",
            {
              "data-action": `shade-${i}`,
              "aria-pressed": `${i === shown}`,
              click: () => {
                player.shade = i;
                player.show(player.step);
              },
            },
            text,
          );
    });
  }
}
