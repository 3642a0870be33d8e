// Motion: what a step moves is seen on its way. The picture underneath is already finished; ghosts
// move over it, animated by the browser, and disappear as soon as the reader does something else.

import { isPromise } from "./effects.js";
import { svg } from "./svg.js";

export const DURATION = 380; // milliseconds
export const MOST = 24; // ghosts at once
const still = matchMedia("(prefers-reduced-motion: reduce)");

/** Where things are in a picture that has been drawn: [x, y, width, height] each. */
export class Spots {
  constructor() {
    this.clear();
  }

  /** Call this before the picture is drawn again. */
  clear() {
    this.lists = new Map();
    this.entries = new Map();
    this.chips = new Map();
    this.rows = new Map();
    this.of = new Map();
    this.ways = new Map(); // of copies under way, by their targets
    this.lost = null; // what an answer takes from a candidate
    this.was = new Map(); // the blocks of a copy as they were
    /** @type {Node[]} */
    this.left = []; // and all that is drawn below the cells
    return this;
  }

  keep() {
    return Object.assign(new Spots(), this);
  }
}

/** The ghosts of an event's effects, from where things were to where they are now. */
export class Motion {
  /** @param {Stage} stage */
  constructor(stage) {
    this.stage = stage;
    this.node = stage.node.appendChild(svg("g", { class: "ps-ghosts" }));
  }

  stop() {
    this.node.replaceChildren();
  }

  /** Animate an event: `before` and `after` are the spots of the two pictures. @param {PageEvent} event */
  play(event, before, after, most = DURATION) {
    this.stop();
    if (still.matches || !event) return;
    this.left = MOST;
    this.copies = before.was.size > 0; // what is written comes when they have arrived
    this.duration = this.copies ? Math.min(most / 1.6, DURATION) : Math.min(most, DURATION);
    if (this.copies) this.past(before);
    const {
        cells: { at },
      } = this.stage,
      cell = (id) => this.cellSpot(id),
      state = this.stage.run.at(this.stage.step);
    for (const [kind, block, ...rest] of event.effects) {
      if (kind === "begin") for (const [, target] of rest[2]) this.grow(after.ways.get(target));
      if (["begin", "end"].includes(kind) || !at[block] || isPromise(state, [kind, block])) continue;
      if (kind === "take" || kind === "hit") {
        this.carry(this.chip(`${block}`), before.lists.get(block), after.entries.get(block) ?? cell(block));
        if (!before.was.has(block)) this.rise(block);
      } else if (kind === "free") {
        this.carry(this.chip(`${block}`), before.entries.get(block) ?? cell(block), after.lists.get(block));
      } else if (before.was.has(block) && (kind === "copy" || kind === "move")) {
        this.carry(this.bare(before.was.get(block)), cell(block), cell(rest[0]));
      } else if (kind === "write") this.write(block, rest[0], rest[1], rest[2]);
    }
    for (const { pairs } of state.ended) {
      for (const [source, target] of pairs) this.arrive(before.ways.get(target), source, target);
    }
    for (const [what, , , request] of event.queues ?? []) {
      if (what === "enter") this.carry(this.chip(""), before.chips.get(request), after.chips.get(request));
    }
  }

  cellSpot(id) {
    const {
      cells: { at },
      layout: { cell },
    } = this.stage;
    return [at[id].x, at[id].y, cell.w, cell.h];
  }

  chip(text) {
    const g = svg("g", { class: "ghost" });
    g.append(svg("rect", { width: 26, height: 16 }));
    g.appendChild(svg("text", { x: 13, y: 12, class: "mid strong" })).textContent = text;
    return g;
  }

  /** A cell with all that is in it. */
  likeness(id) {
    const inside = this.stage.cells.at[id].g.cloneNode(true),
      g = svg("g", { class: "ghost whole" });
    for (const name of ["transform", "data-block"]) inside.removeAttribute(name);
    for (const name of ["tabindex", "role", "aria-label"]) inside.querySelector(".edge")?.removeAttribute(name);
    g.append(inside);
    return g;
  }

  /** Until a copy has arrived its blocks and the tables look as before. @param {Spots} before */
  past({ was, left }) {
    const ghosts = this.node.appendChild(svg("g", { class: "past" }));
    ghosts.append(...left);
    for (const [id, cell] of was) {
      const [x, y] = this.cellSpot(id);
      cell.setAttribute("transform", `translate(${x} ${y})`);
      ghosts.append(cell);
    }
    const { under, cells } = this.stage;
    for (const node of [...under.groups, ...[...was.keys()].map((id) => cells.at[id].g)]) {
      node.animate({ opacity: [0, 0] }, this.duration);
    }
    ghosts.animate({ opacity: [1, 1] }, this.duration).finished.then(
      () => ghosts.remove(),
      () => {},
    );
  }

  /** What is in a cell, without its number and its owners. @param {SVGElement} cell */
  bare(cell) {
    const found = /** @type {SVGElement} */ (cell.cloneNode(true));
    for (const text of found.querySelectorAll("text:not(.word)")) text.remove();
    found.removeAttribute("transform");
    return found;
  }

  /** From spot to spot; nothing if either is outside the picture. */
  carry(ghost, from, to) {
    if (!from || !to || this.left-- <= 0) return;
    this.node.append(ghost);
    const at = ([x, y]) => `translate(${x}px, ${y}px)`;
    const half = `translate(${(from[0] + to[0]) / 2}px, ${Math.min(from[1], to[1]) - 14}px)`;
    const way = ghost.classList.contains("whole") ? [at(from), at(to)] : [at(from), half, at(to)];
    ghost
      .animate(
        { transform: way, opacity: way.map((_, i) => (i + 1 < way.length ? 1 : 0.85)) },
        { duration: this.duration, easing: "ease-in-out" },
      )
      .finished.then(
        () => ghost.remove(),
        () => {},
      );
  }

  /** The line of a copy grows towards its target, where nothing arrives yet. @param {Way | undefined} way */
  grow(way) {
    if (!way || this.left-- <= 0) return;
    const line = this.node.appendChild(svg("path", { d: `M${way.points.join("L")}`, class: "growing", pathLength: 1 }));
    way.node.animate({ opacity: [0, 0] }, this.duration);
    line.animate({ strokeDashoffset: [1, 0] }, { duration: this.duration, easing: "ease-in-out" }).finished.then(
      () => line.remove(),
      () => {},
    );
  }

  /** What was copied comes to the end of its way: until then its target looks as before.
   * @param {Way | undefined} way */
  arrive(way, source, target) {
    if (!way || this.left-- <= 0) return;
    const { points, was } = way,
      line = svg("path", { d: `M${points.join("L")}`, class: "copy" }),
      chip = this.chip(`${source}`),
      [x, y] = this.cellSpot(target),
      frames = points.map(([px, py]) => ({ transform: `translate(${px - 13}px, ${py - 8}px)` }));
    was?.setAttribute("transform", `translate(${x} ${y})`);
    const ghosts = [was, line, chip].filter(Boolean);
    this.node.append(...ghosts);
    if (was) this.stage.cells.at[target].g.animate({ opacity: [0, 0] }, this.duration);
    chip.animate(frames, { duration: this.duration, easing: "ease-in-out" }).finished.then(
      () => ghosts.forEach((ghost) => ghost.remove()),
      () => {},
    );
  }

  /** A cell appears when its content arrives. */
  rise(id) {
    this.stage.cells.at[id].g.animate({ opacity: [0.1, 0.25, 1] }, { duration: this.duration, easing: "ease-in" });
  }

  /** What a candidate loses is drawn back to the left. @param {Box | null} spot */
  shorten(spot) {
    if (still.matches || !spot) return;
    const [x, y, width, height] = spot,
      lost = this.node.appendChild(svg("rect", { x, y, width, height, class: "lost" }));
    lost.animate({ transform: ["scaleX(1)", "scaleX(0)"] }, { duration: DURATION, easing: "ease-in" }).finished.then(
      () => lost.remove(),
      () => {},
    );
  }

  /** Tokens appear in their slots one after another. */
  write(block, name, first, count) {
    const {
      layout: { cell },
      run: { groups },
    } = this.stage;
    if (groups.isState(name)) {
      this.rise(block);
      return;
    }
    const [x, y, w, h] = this.cellSpot(block),
      across = cell.detail === 3,
      size = groups.sizeOf(name),
      wide = this.stage.slotWidth(size);
    for (let i = 0; i < count && this.left-- > 0; i++) {
      const slot = (first + i) % size;
      const spot = across
        ? { x: x + slot * wide, y, width: wide, height: h }
        : { x, y: y + h - ((slot + 1) * h) / size, width: w, height: h / size };
      const flash = this.node.appendChild(svg("rect", { ...spot, class: "flash" }));
      const delay = (this.duration * 0.4 * i) / count + (this.copies ? this.duration : 0);
      flash.animate({ opacity: [0, 0.75, 0] }, { duration: this.duration * 0.6, delay, fill: "both" }).finished.then(
        () => flash.remove(),
        () => {},
      );
    }
  }
}
