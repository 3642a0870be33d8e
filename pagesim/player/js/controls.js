// The player of one run: the step that is shown, what is selected, and how one moves.

import { Stage } from "./view.js";
import { batchOf } from "./batch.js";
import { jobText, waitsFor } from "./jobs.js";
import { Lens } from "./lens.js";
import { follow, noteOf, placeNote, sameWord } from "./trace.js";
import { Predict } from "./predict.js";
import { Panel } from "./panel.js";
import { fromAddress, toAddress, unitsFor, watchWidth } from "./screen.js";
import { isCount } from "./read.js";
import { describeBlock, groupText, nameText, plural, ranges, short } from "./text.js";
import { CLICK, Motion, PACES } from "./motion.js";
import { roundsOf } from "./rounds.js";
import { listen } from "./input.js";
import { Finger } from "./walk.js";
import { When } from "./when.js";
import { blockNamed, namesIn, search } from "./search.js";
import { blocksOf } from "./effects.js";
import { markText } from "./marks.js";

const SPEEDS = [900, 300, 80], // milliseconds per step, and after its beats
  REST = 60;

export class Player {
  /** @param {Run} run */
  constructor(root, run, storage, linked) {
    this.root = root;
    this.run = run;
    this.storage = storage;
    this.linked = linked;
    this.beside = run; // the other run of a pair, if both are drawn to one scale
    this.step = this.from = this.timer = this.shade = 0;
    this.motion = new Motion(this);
    /** @type {PageEvent | null} */
    this.batch = null; // a whole call of schedule() that is shown as one step
    this.round = 0; // how many answers of a lookup are shown
    this.speed = 1;
    this.slots = false;
    this.differ = new Set(); // the names that differ in the run beside this one
    this.selected = this.hovered = this.word = this.found = null;
    this.state = run.at(0);
    this.shown = false; // nothing has been drawn yet
    this.label = run.label;
    this.predict = new Predict(this);
    if (linked) root.dataset.linked = "true";
    this.finger = new Finger(this);
    this.panel = new Panel(this);
    this.lens = new Lens(this);
    this.pointer = { x: 0, y: 0 };
    this.setSpeed(this.speed);
    this.layOut();
    listen(this);
    watchWidth(this);
    root.dataset.steps = run.steps;
    const kept = storage.read(),
      asked = fromAddress(run);
    this.predict.set(!linked && kept.predict === true);
    const begin = kept.predict === true ? run.asking : run.opening;
    if (asked.follow) this.select(asked.follow);
    this.go(Math.min(asked.step ?? (isCount(kept.step) ? kept.step : begin), run.steps));
    this.untouched = true;
    if (asked.follow?.kind === "seq" && asked.word !== null)
      this.lens.open({ name: asked.follow.value, position: asked.word });
  }

  /** Draw the picture for the available width. */
  layOut() {
    const { run, root, panel } = this,
      units = unitsFor(root);
    root.dataset.units = units;
    this.stage = new Stage(run, this.label, units, this.linked, this.beside);
    if (run.groups.several) root.dataset.groups = run.groups.list.length;
    if (run.perChunk) root.dataset.tier = run.perChunk;
    root.dataset.upright = this.stage.layout.narrow;
    this.when = new When(this, units);
    this.stage.cells.node.before(this.finger.node);
    panel.picture.replaceChildren(this.stage.node, this.lens.node, panel.note);
    panel.course.replaceChildren(...(run.programs.length ? [] : [this.when.node])); // a kernel writes nothing
    panel.slotsButton.hidden = this.stage.layout.cell.detail !== 3;
    panel.reserve();
    if (this.shown) {
      this.redraw();
      panel.show(this.step);
      this.when.draw(this.step, this.selected);
    }
    this.lens.draw();
    if (this.lens.word) this.lens.place();
  }

  showSlots(on) {
    this.slots = on;
    this.panel.slotsButton.setAttribute("aria-pressed", on);
    this.redraw();
  }

  // -- moving ------------------------------------------------------------------------------------

  /** Show a step without asking a question: of a lookup the question alone, or all that was said to it. */
  go(step, whole = this.linked) {
    this.stop();
    this.predict.close();
    this.show(Number.isNaN(+step) ? this.step : Math.min(Math.max(Math.round(step), 0), this.run.steps), whole);
    this.predict.open();
  }

  /** The answers of the lookup that is shown: none of any other event. */
  get rounds() {
    return roundsOf(this.run.events[this.step - 1] ?? null).length;
  }

  /** One step back, or one answer of a lookup. */
  back() {
    if (this.round && !this.linked) this.turn(this.round - 1);
    else {
      const { event, step, stage } = this,
        beats = this.batch ? [] : this.motion.of();
      this.go(step - 1, true);
      this.motion.play(beats, undefined, true);
      if (FILM && stage.kernel && event) {
        stage.draw(step, this.view(event));
        stage.kernel.play(PACES[CLICK][0], () => this.redraw());
      }
    }
  }

  /** Show so many answers of a lookup. */
  turn(round) {
    this.round = round;
    this.redraw();
    this.panel.show(this.step);
    this.root.dataset.round = `${round}`;
  }

  /** One step forward, unless a question about it is open; returns whether the step was made. */
  next() {
    if (this.round < this.rounds) {
      this.turn(this.round + 1);
      this.motion.shorten(this.stage.spots.lost);
      return true;
    }
    if (this.predict.waits() || this.step >= this.run.steps) return false;
    this.predict.close();
    this.show(this.step + 1);
    this.predict.open();
    this.move();
    return true;
  }

  /** Play the beats of the step that was made. */
  move() {
    const pace = this.timer ? this.speed : CLICK;
    this.lasts =
      this.motion.play(this.motion.of(PACES[pace][1]), pace) || (FILM && this.stage.kernel?.play(PACES[pace][0])) || 0;
  }

  /** What led to the step that is shown. */
  get event() {
    return this.batch ?? this.run.events[this.step - 1] ?? null;
  }

  /** In play: to the end of the next call of schedule(), with its whole batch at once, or one step. */
  nextCall() {
    const { run, step } = this,
      call = run.schedules.find((event) => event >= step),
      to = call === undefined ? run.steps : call + 1;
    if (!run.schedules.length || this.predict.on || this.round < this.rounds || step >= run.steps) return this.next();
    const batch = batchOf(run.events.slice(step, to));
    if (!batch) return false;
    this.show(to, true, batch);
    this.move();
    return true;
  }

  /** @param {PageEvent | null} batch */
  show(step, whole = false, batch = null) {
    this.from = batch ? this.step : step - 1;
    this.batch = batch;
    this.untouched = false;
    this.step = this.root.dataset.step = step;
    this.round = whole ? this.rounds : 0;
    if (this.rounds) this.root.dataset.round = `${this.round}`;
    else delete this.root.dataset.round;
    this.shown = true;
    this.redraw();
    this.when.draw(step, this.selected);
    this.panel.show(step);
    this.keep();
  }

  keep() {
    this.storage.write({ step: this.step, predict: this.predict.on });
    if (!this.linked) toAddress(this.step, this.selected);
  }

  /** What the reader has chosen to see of an event. @param {PageEvent | null} event @returns {View} */
  view(event) {
    const { selected, slots, shade, differ, round, predict } = this;
    return { selected, hideNext: predict.on, picks: predict.picks, slots, shade, differ, round, event };
  }

  redraw() {
    this.motion.stop();
    this.state = this.stage.draw(this.step, this.view(this.event));
    this.lens.draw();
    if (this.isPointing) this.finger.settle();
    else this.hover(this.hovered);
  }

  /** Whether the keyboard is at something beside the pools. */
  get isPointing() {
    return document.activeElement === this.finger.node;
  }

  play() {
    if (this.timer) {
      this.stop();
      return;
    }
    if (this.step >= this.run.steps) this.go(0);
    this.panel.playing(true);
    this.later(SPEEDS[this.speed]);
  }

  /** Go on playing, in so many milliseconds: a step rests when its beats are over. */
  later(wait) {
    this.timer = setTimeout(() => {
      if (!this.nextCall()) this.stop();
      else if (this.timer) this.later(Math.max(SPEEDS[this.speed], this.lasts + REST));
    }, wait);
  }

  stop() {
    clearTimeout(this.timer);
    this.timer = 0;
    this.motion.finish();
    this.panel.playing(false);
  }

  setSpeed(speed) {
    this.speed = speed;
    this.panel.speeds.forEach((node, i) => node.setAttribute("aria-pressed", i === speed));
    if (this.timer) {
      this.stop();
      this.play();
    }
  }

  // -- looking closer ----------------------------------------------------------------------------

  /** Say what is under the pointer, and where its bytes are. @param {Hit | null} hit @param {PointerEvent} [event] */
  hover(hit, event) {
    this.hovered = hit;
    if (event) this.pointer = { x: event.clientX, y: event.clientY };
    const what = hit ?? (this.selected && { [this.selected.kind]: this.selected.value });
    let text =
      "Point at a word to see where it is, and click it to see its bytes; click a block or a sequence to follow it.";
    if (what && "block" in what) {
      text =
        describeBlock(this.run, this.state, what.block, this.label)
        + markText(this.run.events[this.step - 1], what.block, this.state.blockSize);
    }
    if (what && !("block" in what)) text = this.describeTable(what.seq);
    const { kernel } = this.stage;
    if (FILM && kernel) {
      const told = what && (what.program || "block" in what) ? kernel.words(what, this.event, this.label) : "";
      text = what?.program ? told : text + told;
      kernel.light(hit);
    }
    const { detail, note } = this.panel,
      open = this.lens.word,
      word = hit?.word ?? open,
      found = word && follow(this.state, word),
      lines = found && hit?.word ? noteOf(this.state, this.run.events[this.step - 1], found, this.label) : [];
    this.stage.trace(found);
    const at = found && lines.length && this.word && this.stage.cells.at[found.block];
    if (at) {
      const { left, bottom } = at.g.getBoundingClientRect();
      this.pointer = { x: left, y: bottom - 12 };
      text = `${lines.join("; ")}. ${text}`;
    }
    placeNote(note, open && sameWord(word, open) ? [] : lines, this.pointer);
    const near = this.stage.lift(hit);
    if (near) this.when.course.light(near);
    detail.setAttribute("aria-live", this.word || this.isPointing ? "polite" : "off");
    if (detail.textContent !== text) detail.textContent = text;
  }

  describeTable(name) {
    const { state } = this,
      tables = state.tablesOf(name),
      [table] = tables;
    let stands = "";
    for (const [key, names] of state.queues) {
      const request = names.find((one) => state.first(one) === name);
      if (request === undefined) continue;
      const jobs = [...state.jobs.values()].filter((job) => job.request === request).map((job) => jobText(state, job)),
        why = jobs.length ? "" : waitsFor(state, request);
      stands = ` Its request ${request} is ${key}${why && `: ${why}`}.${jobs.map((text) => ` ${text}.`).join("")}`;
    }
    if (!table) return `${nameText(name)} holds no blocks at this step.${stands}`;
    const tokens = table.tokens.slice(Math.max(table.known - 12, 0), table.known).map(this.label);
    const has = ({ ids }) => `${plural(ids.length, "block")} (${ids.length ? short(ids.join(", "), 90) : "none"})`;
    const where = state.groups.several
      ? tables.map((one) => `; ${groupText(state, one)}`).join("")
      : state.sorted[0] && table.ids.length
        ? ` in slots ${ranges(table.ids, state.blockSize)[0].text}`
        : ` in ${has(table)}`;
    return (
      `${nameText(name)}: ${plural(table.filled, "token")}${where}; `
      + `the last tokens: ${tokens.join(" ")}${stands && "."}${stands}`
    );
  }

  /** @param {Hit | null} hit */
  choose(hit) {
    if (!hit) {
      this.select(null);
      return;
    }
    if (this.predict.question && "block" in hit) {
      this.predict.choose(hit.block);
      return;
    }
    const kind = "block" in hit ? "block" : "seq",
      value = hit[kind];
    const same = this.selected?.kind === kind && this.selected.value === value,
      again = same && (!hit.word || sameWord(hit.word, this.lens.word));
    this.select(again ? null : { kind, value });
    if (hit.word && !again) this.lens.open(hit.word);
  }

  /** Follow nothing, and read no word. */
  leave() {
    this.hover((this.word = null));
    this.select(null);
  }

  /** @param {Selected | null} selected */
  select(selected) {
    this.selected = selected;
    this.panel.jumps.hidden = selected === null;
    if (!selected) this.lens.close();
    if (!this.shown) return;
    this.redraw();
    this.when.draw(this.step, selected);
    this.keep();
  }

  jumpSelected(direction) {
    const { kind, value } = this.selected ?? {};
    const matches = [...this.run.events.keys()].filter((i) => {
      const event = this.run.events[i];
      return kind === "block"
        ? event.effects.some((e) => blocksOf(e).includes(value))
        : namesIn(event, this.run.groups).includes(value);
    });
    this.jump(matches, direction);
  }

  find(direction) {
    this.found ??= search(this.run, this.panel.query.value);
    const block = this.stage.layout.texture ? blockNamed(this.panel.query.value) : -1;
    if (block >= 0 && block < this.state.total) this.select({ kind: "block", value: block }); // it is enlarged
    this.jump(this.found, direction);
  }

  jumpSchedule(direction) {
    this.jump(this.run.schedules, direction, "schedule ");
  }

  jump(matches, direction, what = "") {
    const here = this.step - 1;
    const k = direction > 0 ? matches.findIndex((i) => i > here) : matches.findLastIndex((i) => i < here);
    if (!matches.length) this.panel.message.textContent = "nothing found";
    else if (k < 0) this.panel.message.textContent = direction > 0 ? "no later match" : "no earlier match";
    else {
      this.go(matches[k] + 1);
      this.panel.message.textContent = `${what}${k + 1} of ${matches.length}`;
    }
  }
}
