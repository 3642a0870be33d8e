// The controls: moving, searching, following.

import { button, html } from "./html.js";
import { CHANGES, EXAMPLE, TWO_BLOCKS, blocksOf } from "./effects.js";
import { Curve, shares } from "./occupancy.js";
import { Predict } from "./predict.js";
import { movesOf, wayOf } from "./queues.js";
import { isCount } from "./read.js";
import { save } from "./save.js";
import { namesIn, search } from "./search.js";
import { fromAddress, fullScreenButton, listenForSwipes, toAddress, unitsFor, watchWidth } from "./screen.js";
import { dials, markText, shadesOf } from "./marks.js";
import { describeBlock, nameText, plural, requestText, short } from "./text.js";
import { follow, wayOf as wayOfWord, wordAt } from "./trace.js";
import { Stage } from "./view.js";
import { walk } from "./walk.js";

const SPEEDS = [900, 300, 80]; // milliseconds per step
const SPEED_NAMES = ["slow", "normal", "fast"];
const PLAY = "\u25b6 Play", PAUSE = "\u25ae\u25ae Pause";
const JUMP = 50; // steps of PageUp and PageDown

export class Player {
  constructor(root, run, storage, linked) {
    Object.assign(this, { root, run, storage, linked, differ: new Set() });
    Object.assign(this, { step: 0, selected: null, hovered: null, word: null, shade: 0, timer: 0,
      speed: 1, found: null, state: null, slots: false });
    const labels = run.header.tokens;
    const has = (token) => labels && typeof labels === "object" && Object.hasOwn(labels, token);
    this.label = (token) => String(has(token) ? labels[token] : token);
    this.predict = new Predict(this);
    if (linked) root.dataset.linked = "true";
    this.picture = html("div", { class: "ps-picture" });
    this.course = html("div", { class: "ps-course" });
    this.build();
    this.layOut();
    this.listen();
    watchWidth(this);
    root.dataset.steps = run.steps;
    const kept = storage.read(), asked = fromAddress(run);
    this.predict.set(!linked && kept.predict === true);
    const begin = kept.predict === true ? run.asking : run.opening;
    if (asked.follow) this.select(asked.follow);
    this.go(Math.min(asked.step ?? (isCount(kept.step) ? kept.step : begin), run.steps));
    this.untouched = true;
  }

  /** Draw the picture for the available width. */
  layOut() {
    const { run, root } = this, units = unitsFor(root);
    root.dataset.units = units;
    this.stage = new Stage(run, this.label, units, this.linked);
    root.dataset.upright = this.stage.layout.narrow;
    this.curve = new Curve(run, (step) => this.go(step), units);
    this.picture.replaceChildren(this.stage.node);
    this.course.replaceChildren(this.curve.node);
    this.slotsButton.hidden = this.stage.layout.cell.detail !== 3;
    if (this.state) { this.redraw(); this.curve.draw(this.step); }
  }

  build() {
    const { run } = this, n = run.steps;
    this.slider = html("input", { type: "range", class: "ps-slider", min: 0, max: n, step: 1,
      "aria-label": "step", input: () => this.go(+this.slider.value) });
    this.number = html("input", { type: "number", class: "ps-goto", "data-action": "goto", min: 0, max: n, step: 1,
      "aria-label": "go to step", change: () => this.go(+this.number.value) });
    this.playButton = button("play", PLAY, "play (Space)", () => this.play());
    this.speeds = SPEED_NAMES.map((name, i) => button(`speed-${i + 1}`, name, `play ${name}`,
      () => this.setSpeed(i)));
    this.slotsButton = button("slots", "Slots", "show slot numbers instead of words (s)",
      () => this.showSlots(!this.slots));
    this.query = html("input", { type: "search", class: "ps-search", "data-action": "search", "aria-label": "search",
      placeholder: `block 7, a name, ${EXAMPLE} \u2026`, input: () => { this.found = null; },
      keydown: (event) => { if (event.key === "Enter") this.find(event.shiftKey ? -1 : 1); } });
    this.message = html("span", { class: "ps-message", role: "status" });
    this.caption = html("p", { class: "ps-caption", "aria-live": "polite" });
    this.changes = html("p", { class: "ps-changes" });
    this.detail = html("span", { class: "ps-detail" });
    this.jumps = html("span", { class: "ps-jumps", hidden: true },
      button("sel-prev", "\u25c0 its event", "previous event of the selection", () => this.jumpSelected(-1)),
      button("sel-next", "its event \u25b6", "next event of the selection", () => this.jumpSelected(1)),
      button("sel-clear", "\u2715", "clear the selection (Escape)", () => this.select(null)));
    this.share = html("span", {});
    const title = typeof run.header.title === "string" ? run.header.title : "";
    if (title) this.root.append(html("h1", {}, title));
    if (run.problem) {
      this.root.append(html("p", { class: "ps-problem", role: "alert" },
        `The file is damaged: ${run.problem}. ${plural(n, "event")} before it can be played.`));
    }
    this.schedules = run.schedules;
    const group = { class: "ps-group", role: "group", "aria-label": "schedule()" };
    const steps = this.schedules.length ? [html("span", group,
      button("prev-schedule", "\u25c0", "back to the previous schedule() (Shift+\u2190)", () => this.jumpSchedule(-1)),
      html("span", { class: "ps-named" }, "schedule()"),
      button("next-schedule", "\u25b6", "on to the next schedule() (Shift+\u2192)", () => this.jumpSchedule(1)))] : [];
    const keys = steps.length ? "Shift+\u2190 \u2192 one schedule(), " : "";
    const bar = (...nodes) => html("div", { class: "ps-bar" }, ...nodes);
    this.root.append(
      bar(
        button("first", "\u21e4", "first step (Home)", () => this.go(0)),
        button("prev", "\u2190", "one step back (\u2190)", () => this.go(this.step - 1)),
        this.playButton,
        button("next", "\u2192", "one step forward (\u2192)", () => this.next()),
        button("last", "\u21e5", "last step (End)", () => this.go(n)),
        this.slider,
        html("label", {}, "step ", this.number, ` of ${n}`),
        html("span", { class: "ps-group", role: "group", "aria-label": "speed" }, ...this.speeds),
      ),
      bar(
        ...steps, this.predict.button, this.predict.score, this.slotsButton,
        html("span", { class: "ps-space" }),
        html("span", { class: "ps-group" }, this.query,
          button("search-prev", "\u25c0", "previous match", () => this.find(-1)),
          button("search-next", "\u25b6", "next match", () => this.find(1))),
        this.message, fullScreenButton(this.root),
      ),
      html("div", { class: "ps-said" }, this.predict.feedback, this.caption, this.changes,
        this.predict.node),
      this.picture,
      html("p", { class: "ps-about" }, this.detail, this.jumps),
      this.course,
      html("p", { class: "ps-share" }, this.share, html("span", { class: "ps-save" }, "Save this step: ",
        ...["SVG", "PNG"].map((kind) => button(`save-${kind.toLowerCase()}`, kind, `save this step as ${kind}`,
          () => save(kind.toLowerCase(), this.stage.node, this.step))))),
      html("p", { class: "ps-keys" }, `Keys: \u2190 \u2192 one step, ${keys}PageUp PageDown fifty, Home End, `
        + "Space plays, f fills the screen. Tab reaches the blocks, arrow keys move among them, Enter selects one: "
        + "then they move through its words, until Escape."),
    );
    this.setSpeed(this.speed);
  }

  listen() {
    const stage = this.picture;
    const hitOf = (event) => {
      const hit = event.target?.hit ?? null, { layout: { width, cell }, node, cells } = this.stage;
      const box = node.getBoundingClientRect(), x = ((event.clientX - box.left) * width) / (box.width || 1);
      if (hit?.at) {
        const block = hit.at(x);
        return block == null ? null : { block };
      }
      if (!hit || hit.word || !("block" in hit) || cell.detail !== 3 || event.type === "focusin") return hit;
      const word = wordAt(this.state, hit.block, Math.floor((x - cells.at[hit.block].x) / cell.slot));
      return word ? { ...hit, word } : hit;
    };
    stage.addEventListener("mousedown", (event) => {
      event.preventDefault(); // a click must not move the focus, so that the arrow keys still step
      this.root.focus({ preventScroll: true });
    });
    stage.addEventListener("click", (event) => this.choose(hitOf(event)));
    for (const kind of ["pointerover", "pointermove"]) {
      stage.addEventListener(kind, (event) => this.hover(hitOf(event)));
    }
    stage.addEventListener("pointerleave", (event) => {
      if (event.pointerType !== "touch") this.hover(null); // what a finger has tapped stays
    });
    stage.addEventListener("focusin", (event) => {
      const hit = hitOf(event);
      if (!hit) return;
      this.stage.cells.at[this.stage.focused].g.setAttribute("tabindex", -1);
      this.stage.focused = hit.block;
      event.target.setAttribute("tabindex", 0);
      this.word = null;
      this.hover(hit);
      event.target.setAttribute("aria-label", this.detail.textContent);
    });
    listenForSwipes(this, stage);
    if (!this.linked) document.addEventListener("keydown", (event) => this.key(event));
  }

  showSlots(on) {
    this.slots = on;
    this.slotsButton.setAttribute("aria-pressed", on);
    this.redraw();
  }

  // -- moving ------------------------------------------------------------------------------------

  /** Show a step without asking a question. */
  go(step) {
    this.stop();
    this.predict.close();
    this.show(Number.isFinite(step) ? Math.min(Math.max(Math.round(step), 0), this.run.steps) : this.step);
    this.predict.open();
  }

  /** One step forward, unless a question about it is open; returns whether the step was made. */
  next() {
    if (this.predict.waits() || this.step >= this.run.steps) return false;
    this.predict.close();
    const before = this.stage.spots.keep(), pace = this.timer ? SPEEDS[this.speed] * 0.8 : undefined;
    this.show(this.step + 1);
    if (!pace || pace > 100) this.stage.motion.play(this.run.events[this.step - 1], before, this.stage.spots, pace);
    this.predict.open();
    return true;
  }

  show(step) {
    const begun = performance.now();
    const { run, root } = this;
    this.untouched = false;
    this.step = step;
    this.message.textContent = "";
    root.dataset.step = step;
    this.slider.value = step;
    this.slider.setAttribute("aria-valuetext", `step ${step} of ${run.steps}`);
    this.number.value = step;
    this.redraw();
    this.curve.draw(step);
    this.share.textContent = `GPU slots at step ${step}: ${shares(run, step)}`;
    this.showEvent(step ? run.events[step - 1] : null);
    this.keep();
    this.drawMs = performance.now() - begun;
  }

  keep() {
    this.storage.write({ step: this.step, predict: this.predict.on });
    if (!this.linked) toAddress(this.step, this.selected);
  }

  redraw() {
    this.state = this.stage.draw(this.step, { selected: this.selected, hideNext: this.predict.on,
      picks: this.predict.picks, slots: this.slots, shade: this.shade, differ: this.differ });
    this.hover(this.hovered);
  }

  showEvent(event) {
    const first = isCount(this.run.header.first) ? this.run.header.first : 0;
    if (!event) {
      const what = first ? `The state before event ${first} of the run.` : "Start of the recording.";
      this.caption.replaceChildren(what);
      this.changes.replaceChildren();
      return;
    }
    const request = movesOf(event)[0]?.[3] ?? event.of;
    const of = event.of === null ? "" : ` \u00b7 ${requestText(request, event.of)}`;
    const group = !isCount(event.step) ? "" : event.event === "schedule" ? ` ${event.step}`
      : ` \u00b7 schedule ${event.step}`;
    this.caption.replaceChildren(html("b", {}, `Step ${this.step}: ${event.event}${of}${group}`), " ", event.caption);
    const byKind = new Map();
    for (const effect of event.effects) {
      let text = TWO_BLOCKS.has(effect[0]) ? `${effect[1]} \u2192 ${effect[2]}` : `${effect[1]}`;
      const gap = this.state.gaps.get(effect[1]);
      if (effect[0] === "hit") text += gap ? ` from place ${gap.rank}` : " in use";
      byKind.set(effect[0], [...(byKind.get(effect[0]) ?? []), text]);
    }
    this.changes.replaceChildren(...[...byKind].map(([kind, all]) => {
      const more = all.length > 12 ? ` and ${all.length - 12} more` : "";
      return html("span", {}, `${CHANGES.get(kind).join(" ")}: ${all.slice(0, 12).join(", ")}${more}`);
    }));
    const shades = shadesOf(event), shown = shades.indexOf(shades[this.shade] ?? shades[0]);
    shades.forEach(({ name, on, numbers }, i) => {
      const text = `${name}: on ${plural(numbers.size, on.slice(0, -1))}`;
      this.changes.append(shades.length < 2 ? html("span", {}, text) : html("button", { "data-action": `shade-${i}`,
        "aria-pressed": `${i === shown}`, click: () => { this.shade = i; this.show(this.step); } }, text));
    });
    for (const { name, number, least, most } of dials(event, this.run.events)) {
      this.changes.append(html("label", { class: "ps-dial" }, `${name} ${number.toPrecision(3)} `,
        html("meter", { min: least, max: Math.max(most, least + 1e-9), value: number })));
    }
    const way = wayOf(event);
    if (way) this.changes.append(html("span", {}, way));
  }

  play() {
    if (this.timer) { this.stop(); return; }
    if (this.step >= this.run.steps) this.go(0);
    this.caption.setAttribute("aria-live", "off");
    this.playButton.textContent = PAUSE;
    this.playButton.setAttribute("aria-pressed", "true");
    this.timer = setInterval(() => { if (!this.next()) this.stop(); }, SPEEDS[this.speed]);
  }

  stop() {
    clearInterval(this.timer);
    this.timer = 0;
    this.caption.setAttribute("aria-live", "polite");
    this.playButton.textContent = PLAY;
    this.playButton.setAttribute("aria-pressed", "false");
  }

  setSpeed(speed) {
    this.speed = speed;
    this.speeds.forEach((node, i) => node.setAttribute("aria-pressed", i === speed));
    if (this.timer) { this.stop(); this.play(); }
  }

  key(event) {
    const { target } = event;
    if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented) return;
    if (event.key === "Escape") {
      this.hover(this.word = null);
      this.select(null);
      this.root.focus();
      return;
    }
    if (target.tagName === "INPUT" && target !== this.slider) return;
    const way = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (event.shiftKey && way && this.schedules.length) {
      event.preventDefault();
      event.stopPropagation();
      this.jumpSchedule(way);
      return;
    }
    if (target.closest?.(".ps-cell") && walk(this, event.key, target.hit.block)) {
      event.preventDefault();
      return;
    }
    if (event.key === " " && target.tagName === "BUTTON") return;
    if (this.predict.question && /^[0-9]$/.test(event.key)) this.predict.input.focus(); // the digit goes there
    const moves = {
      ArrowRight: () => this.next(), ArrowLeft: () => this.go(this.step - 1),
      PageDown: () => this.go(this.step + JUMP), PageUp: () => this.go(this.step - JUMP),
      Home: () => this.go(0), End: () => this.go(this.run.steps), " ": () => this.play(),
      s: () => { if (!this.slotsButton.hidden) this.showSlots(!this.slots); },
      f: () => this.root.querySelector('[data-action="fullscreen"]').click(),
    };
    if (!Object.hasOwn(moves, event.key)) return;
    event.preventDefault();
    event.stopPropagation();
    if (event.key === "ArrowRight") this.stop();
    moves[event.key]();
  }

  // -- looking closer ----------------------------------------------------------------------------

  hover(hit) {
    this.hovered = hit;
    const what = hit ?? (this.selected && { [this.selected.kind]: this.selected.value });
    let text = "Point at a word to see where its bytes are; click a block or a sequence to follow it.";
    if (what && "block" in what) {
      text = describeBlock(this.run, this.state, what.block, this.label)
        + markText(this.run.events[this.step - 1], what.block, this.state.blockSize);
    }
    if (what && !("block" in what)) text = this.describeTable(what.seq);
    const found = hit?.word ? follow(this.state, hit.word) : null;
    if (found) text = `${wayOfWord(this.state, this.run.events[this.step - 1], found, this.label)} ${text}`;
    this.stage.trace(found);
    this.detail.setAttribute("aria-live", this.word ? "polite" : "off");
    if (this.detail.textContent !== text) this.detail.textContent = text;
  }

  describeTable(name) {
    const table = this.state.tables.get(name);
    let stands = "";
    for (const [key, names] of this.state.queues) {
      const request = names.find((one) => this.state.first(one) === name);
      if (request !== undefined) stands = ` Its request ${request} is ${key}.`;
    }
    if (!table) return `${nameText(name)} holds no blocks at this step.${stands}`;
    const tokens = table.tokens.slice(Math.max(table.known - 12, 0), table.known).map(this.label);
    const ids = table.ids.length ? short(table.ids.join(", "), 90) : "none";
    return `${nameText(name)}: ${plural(table.filled, "token")} in ${plural(table.ids.length, "block")} (${ids}); `
      + `the last tokens: ${tokens.join(" ")}${stands && "."}${stands}`;
  }

  choose(hit) {
    if (!hit) { this.select(null); return; }
    if (this.predict.question && "block" in hit) { this.predict.choose(hit.block); return; }
    const kind = "block" in hit ? "block" : "seq", value = hit[kind];
    const again = this.selected?.kind === kind && this.selected.value === value;
    this.select(again ? null : { kind, value });
  }

  select(selected) {
    this.selected = selected;
    this.jumps.hidden = selected === null;
    if (!this.state) return;
    this.redraw();
    this.keep();
  }

  jumpSelected(direction) {
    const { kind, value } = this.selected ?? {};
    const matches = [...this.run.events.keys()].filter((i) => {
      const event = this.run.events[i];
      return kind === "block" ? event.effects.some((e) => blocksOf(e).includes(value))
        : namesIn(event).includes(value);
    });
    this.jump(matches, direction);
  }

  find(direction) {
    this.found ??= search(this.run, this.query.value);
    this.jump(this.found, direction);
  }

  jumpSchedule(direction) { this.jump(this.schedules, direction, "schedule "); }

  jump(matches, direction, what = "") {
    const here = this.step - 1;
    const k = direction > 0 ? matches.findIndex((i) => i > here) : matches.findLastIndex((i) => i < here);
    if (!matches.length) this.message.textContent = "nothing found";
    else if (k < 0) this.message.textContent = direction > 0 ? "no later match" : "no earlier match";
    else {
      this.go(matches[k] + 1);
      this.message.textContent = `${what}${k + 1} of ${matches.length}`;
    }
  }
}
