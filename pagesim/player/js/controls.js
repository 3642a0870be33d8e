// The player of one run: the step that is shown, what is selected, and how one moves.

import { Stage } from "./view.js";
import { batchOf, writesFirst } from "./batch.js";
import { jobText, waitsFor } from "./jobs.js";
import { follow, wayOf } from "./trace.js";
import { Predict } from "./predict.js";
import { Panel } from "./panel.js";
import { fromAddress, toAddress, unitsFor, watchWidth } from "./screen.js";
import { isCount } from "./read.js";
import { describeBlock, groupText, nameText, plural, short } from "./text.js";
import { roundsOf } from "./rounds.js";
import { listen } from "./input.js";
import { Finger } from "./walk.js";
import { When } from "./when.js";
import { namesIn, search } from "./search.js";
import { blocksOf } from "./effects.js";
import { markText } from "./marks.js";

const SPEEDS = [900, 300, 80]; // milliseconds per step

export class Player {
  /** @param {Run} run */
  constructor(root, run, storage, linked) {
    this.root = root;
    this.run = run;
    this.storage = storage;
    this.linked = linked;
    this.beside = run; // the other run of a pair, if both are drawn to one scale
    this.step = this.timer = this.shade = 0;
    /** @type {PageEvent | null} */
    this.batch = null; // a whole call of schedule() that is shown as one step
    this.round = 0; // how many answers of a lookup are shown
    this.speed = 1;
    this.slots = false;
    this.differ = new Set(); // the names that differ in the run beside this one
    this.selected = this.hovered = this.word = this.found = null;
    this.state = run.at(0);
    this.shown = false; // nothing has been drawn yet
    const labels = run.header.tokens;
    const has = (token) => labels && typeof labels === "object" && Object.hasOwn(labels, token);
    this.label = (token) => String(has(token) ? labels[token] : token);
    this.predict = new Predict(this);
    if (linked) root.dataset.linked = "true";
    this.finger = new Finger(this);
    this.panel = new Panel(this);
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
    this.stage.cells.at[0].g.parentNode.before(this.finger.node);
    panel.picture.replaceChildren(this.stage.node);
    panel.course.replaceChildren(this.when.node);
    panel.slotsButton.hidden = this.stage.layout.cell.detail !== 3;
    panel.reserve();
    if (this.shown) {
      this.redraw();
      panel.show(this.step);
      this.when.draw(this.step, this.selected);
    }
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
    if (!this.round || this.linked) this.go(this.step - 1, true);
    else this.turn(this.round - 1);
  }

  /** Show so many answers of a lookup. */
  turn(round) {
    this.stage.motion.stop();
    this.round = round;
    this.redraw();
    this.panel.show(this.step);
    this.root.dataset.round = `${round}`;
  }

  /** One step forward, unless a question about it is open; returns whether the step was made. */
  next() {
    if (this.round < this.rounds) {
      this.turn(this.round + 1);
      this.stage.motion.shorten(this.stage.spots.lost);
      return true;
    }
    if (this.predict.waits() || this.step >= this.run.steps) return false;
    this.predict.close();
    const before = this.stage.keep(this.run.events[this.step]),
      pace = this.timer ? SPEEDS[this.speed] * 0.8 : undefined;
    this.show(this.step + 1);
    if (!pace || pace > 100) this.stage.motion.play(this.run.events[this.step - 1], before, this.stage.spots, pace);
    this.predict.open();
    return true;
  }

  /** What led to the step that is shown. */
  get event() {
    return this.batch ?? this.run.events[this.step - 1] ?? null;
  }

  /** In play: to the end of the next call of schedule(), with its whole batch at once, or one step. */
  nextCall() {
    const { run, step, stage } = this,
      call = run.schedules.find((event) => event >= step),
      to = call === undefined ? run.steps : call + 1;
    if (!run.schedules.length || this.predict.on || this.round < this.rounds || step >= run.steps) return this.next();
    const batch = batchOf(run.events.slice(step, to));
    if (!batch) return false;
    const before = stage.keep(batch),
      pace = SPEEDS[this.speed] * 0.8;
    this.show(to, true, batch);
    if (pace > 100) stage.motion.play(writesFirst(batch), before, stage.spots, pace);
    return true;
  }

  /** @param {PageEvent | null} batch */
  show(step, whole = false, batch = null) {
    this.batch = batch;
    const begun = performance.now();
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
    this.drawMs = performance.now() - begun;
  }

  keep() {
    this.storage.write({ step: this.step, predict: this.predict.on });
    if (!this.linked) toAddress(this.step, this.selected);
  }

  redraw() {
    this.state = this.stage.draw(this.step, {
      selected: this.selected,
      hideNext: this.predict.on,
      picks: this.predict.picks,
      slots: this.slots,
      shade: this.shade,
      differ: this.differ,
      round: this.round,
      event: this.event,
    });
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
    this.timer = setInterval(() => {
      if (!this.nextCall()) this.stop();
    }, SPEEDS[this.speed]);
  }

  stop() {
    clearInterval(this.timer);
    this.timer = 0;
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

  /** @param {Hit | null} hit */
  hover(hit) {
    this.hovered = hit;
    const what = hit ?? (this.selected && { [this.selected.kind]: this.selected.value });
    let text = "Point at a word to see where its bytes are; click a block or a sequence to follow it.";
    if (what && "block" in what) {
      text =
        describeBlock(this.run, this.state, what.block, this.label)
        + markText(this.run.events[this.step - 1], what.block, this.state.blockSize);
    }
    if (what && !("block" in what)) text = this.describeTable(what.seq);
    const found = hit?.word ? follow(this.state, hit.word) : null;
    if (found) text = `${wayOf(this.state, this.run.events[this.step - 1], found, this.label)} ${text}`;
    this.stage.trace(found);
    const { detail } = this.panel;
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
    const again = this.selected?.kind === kind && this.selected.value === value;
    this.select(again ? null : { kind, value });
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
