// The course of a run: memory by owner and a life line per request, over one axis of time. It is drawn
// once; a step only moves the line that says where we are.

import { EVENTS, SECONDS, inWords, ticks } from "./axis.js";
import { ALL, COMMON } from "./crowd.js";
import { svg } from "./svg.js";
import { nameText, plural, short } from "./text.js";

const TOP = 18, // the words above the memory
  MEMORY = 66,
  LINES = 30, // from the memory to the first life line
  ROOM = 230, // of all life lines, if they are many
  MOST = 150, // rows of life lines
  APART = 12, // their names
  FOOT = 20;

/** Rows for life lines: of many requests, one may follow on another in a row.
 * @param {Line[]} lines @param {number} steps */
export function rowsOf(lines, steps, most = MOST) {
  if (lines.length <= 40) return lines.map((line) => [line]);
  const rows = [];
  for (const line of lines) {
    const row = rows.find((one) => (one.at(-1).ended ?? steps) < line.spans[0][0]);
    if (row) row.push(line);
    else if (rows.length < most) rows.push([line]);
  }
  return rows;
}

/** @param {number} x */
const round = (x) => Math.round(x * 2) / 2;

export class Course {
  /** @param {Run} run */
  constructor(run, width, { go, choose, point = (name) => this.only(name), label = "time" }) {
    this.run = run;
    this.go = go;
    this.choose = choose;
    this.point = point;
    this.lines = [...run.lives.lines.values()];
    this.rows = rowsOf(this.lines, run.steps);
    this.pitch = this.rows.length <= 14 ? 14 : Math.max(Math.min(ROOM / this.rows.length, 14), 3);
    this.more = "";
    /** @type {Set<Name>} */
    this.near = new Set();
    /** @type {number[]} */
    this.columns = [];
    const longest = Math.max(...this.lines.map(({ name }) => short(nameText(name), 9).length), 3);
    this.left = Math.max(8 * longest + 12, 40);
    this.right = 12;
    this.width = width;
    this.below = TOP + MEMORY + LINES; // where the life lines begin
    this.foot = this.rows.length ? this.below + this.rows.length * this.pitch + 4 : TOP + MEMORY + 4;
    this.height = this.foot + FOOT;
    const { height } = this;
    this.node = svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "ps-curve", role: "slider", tabindex: 0 });
    this.node.setAttribute("aria-label", label);
    this.into = this.sheet = this.node.appendChild(svg("g"));
    this.lit = this.node.appendChild(svg("g"));
    this.cursor = this.node.appendChild(svg("path", { class: "cursor" }));
    this.knob = this.node.appendChild(svg("circle", { class: "knob", r: 5, cy: this.foot }));
    this.picked = this.node.appendChild(svg("path", { class: "picked-row" }));
    this.listen();
  }

  /** Draw everything along an axis; `max` is its end, which two runs may share. @param {Axis} axis */
  measure(axis, max = axis.max) {
    this.axis = axis;
    this.max = max || 1;
    this.node.setAttribute("aria-valuemin", "0");
    this.node.setAttribute("aria-valuemax", `${+this.max.toFixed(3)}`);
    this.sheet.replaceChildren();
    this.columns = this.sample();
    this.drawMemory();
    this.drawLines();
    this.drawScale();
    this.light();
  }

  /** Where a step stands, or for null the end of the run, in units of the picture. @param {number | null} step */
  x(step) {
    const { places, max } = this.axis,
      place = step === null ? max : places[step];
    return this.left + (place / this.max) * (this.width - this.left - this.right);
  }

  put(x, y, className, words) {
    this.into.appendChild(svg("text", { x, y, class: className })).textContent = words;
  }

  /** A shape, and over it the pattern of its sequence. */
  shape(d, className, { color, pattern }) {
    if (!d) return;
    this.into.append(svg("path", { d, class: className, fill: color }));
    if (pattern) this.into.append(svg("path", { d, class: className, fill: pattern }));
  }

  /** The steps that are drawn: at most one for each pixel, the last one that falls on it. */
  sample() {
    const steps = [0];
    let at = round(this.x(0));
    for (let step = 1; step <= this.run.steps; step++) {
      const x = round(this.x(step));
      if (x > at) steps.push(step);
      else steps[steps.length - 1] = step;
      at = x;
    }
    return steps;
  }

  /** What is held, one band above the other: how each is painted, and its rows of [from which step, held, written].
   * @param {any[][]} bands */
  stack(bands) {
    const { run, columns: steps } = this,
      room = run.keyframes[0].usable || 1,
      base = new Float64Array(steps.length),
      y = (blocks) => (TOP + MEMORY * (1 - Math.min(blocks / room, 1))).toFixed(1),
      ends = steps.map((_, i) => this.x(steps[i + 1] ?? null).toFixed(1));
    for (const [{ color, pattern }, rows] of bands) {
      /** @type {[number, number, number, number][][]} */
      const pieces = [];
      let k = 0,
        open = false;
      steps.forEach((step, i) => {
        while (k + 1 < rows.length && rows[k + 1][0] <= step) k += 1;
        const [from, held, written] = rows[k];
        if (from > step || held <= 0) {
          open = false;
          return;
        }
        if (!open) pieces.push([]);
        open = true;
        pieces.at(-1)?.push([i, base[i], base[i] + written, base[i] + held]);
        base[i] += held;
      });
      for (const [low, high, className] of [
        [1, 2, "written"],
        [2, 3, "kept"],
      ]) {
        const d = pieces.map((piece) => {
          const over = piece.map((one) => `V${y(one[high])}H${ends[one[0]]}`),
            under = piece.map((one) => `H${ends[one[0]]}V${y(one[low])}`).reverse(),
            first = this.x(steps[piece[0][0]]).toFixed(1);
          return `M${first} ${y(piece[0][low])}${over.join("")}${under.join("")}H${first}z`;
        });
        this.shape(d.join(""), `share-${className}`, { color, pattern: low === 1 ? pattern : null });
      }
    }
  }

  /** The bands of what sequences hold alone. @param {Name[]} names */
  own(names) {
    const { run } = this;
    return names.map((name) => [run.look(name), run.lives.shares.get(name) ?? []]);
  }

  drawMemory() {
    const { run, sheet, left, width, right } = this,
      { shares, common } = run.lives,
      size = run.header.block_size,
      names = [...shares.keys()].sort((a, b) => run.look(a).place - run.look(b).place),
      frame = (name) =>
        sheet.append(svg("rect", { x: left, y: TOP, width: width - left - right, height: MEMORY, class: name }));
    frame("room");
    this.stack(
      run.isCrowd
        ? [[ALL, run.share.map(([token, ...more], step) => [step, (token + more[0] + more[1]) / size, token / size])]]
        : [[COMMON, common], ...this.own(names)],
    );
    frame("edge");
    this.put(
      left,
      TOP - 6,
      "muted halo",
      `memory${run.isCrowd ? "" : ", by request"}${this.more && `: full${this.more}`}`,
    );
    this.put(left - 5, TOP + 10, "end muted", "full");
    this.put(left - 5, TOP + MEMORY, "end muted", "0");
  }

  /** Of many sequences only these have their colours, and their names for certain. @param {Set<Name>} near */
  light(near = this.near) {
    const { run, rows, pitch, lit } = this,
      middle = (i) => this.below + (i + 0.5) * pitch,
      isNear = (row) => row.some(({ name }) => near.has(name)),
      all = [...rows.keys()],
      named = [];
    this.near = near;
    this.into = lit;
    lit.replaceChildren();
    if (run.isCrowd) this.stack(this.own([...near].filter((name) => run.lives.shares.has(name))));
    for (const i of [...all.filter((at) => isNear(rows[at])), ...all.filter((at) => rows[at].length < 2)]) {
      const line = rows[i].find(({ name }) => near.has(name)) ?? rows[i][0];
      if (run.isCrowd && near.has(line.name)) this.drawLine(line, middle(i), run.look(line.name));
      if (named.some((other) => Math.abs(other - i) * pitch < APART)) continue;
      this.put(
        this.left - 6,
        middle(i) + 4,
        run.isCrowd && near.has(line.name) ? "end strong" : "end",
        short(nameText(line.name), 9),
      );
      named.push(i);
    }
    this.into = this.sheet;
  }

  /** @param {Name} [name] */
  only(name) {
    if (this.run.isCrowd) this.light(new Set(name === undefined ? [] : [name]));
  }

  drawLines() {
    const { rows, pitch, left, run } = this;
    if (!rows.length) return;
    this.put(left, this.below - 6, "muted halo", this.title());
    rows.forEach((row, i) => {
      for (const line of row)
        this.drawLine(line, this.below + (i + 0.5) * pitch, run.isCrowd ? ALL : run.look(line.name));
    });
  }

  title() {
    const { rows, lines } = this,
      shown = rows.flat().length,
      what = this.run.header.queues.length ? "request" : "sequence";
    return shown < lines.length ? `the first ${shown} of ${plural(lines.length, what)}` : plural(shown, what);
  }

  /** @param {Line} line */
  drawLine(line, middle, look) {
    const { pitch } = this,
      thick = Math.min(pitch - 2, 9) > 2 ? Math.min(pitch - 2, 9) : Math.max(pitch - 1, 1.5),
      tall = thick >= 6;
    let runs = "",
      waits = "",
      again = "", // it waits because it was preempted
      away = "";
    for (const [from, to, queue] of line.spans) {
      const x = this.x(from),
        end = Math.max(this.x(to), x + 1);
      const box = (height) =>
        `M${x.toFixed(1)} ${(middle - height / 2).toFixed(1)}H${end.toFixed(1)}v${height.toFixed(1)}H${x.toFixed(1)}z`;
      if (queue === "running") runs += box(thick);
      else if (queue === "swapped") away += box(thick / 2);
      else if (from >= line.preempted[0]) again += box(2);
      else waits += box(Math.min(thick / 2, 1.6));
    }
    this.shape(waits, "waits", { color: "currentColor", pattern: null });
    this.shape(again, "waits again", { color: "currentColor", pattern: null });
    this.shape(away, "away", { color: "url(#ps-hatch)", pattern: null });
    this.shape(runs, `runs${tall ? "" : " slim"}`, look);
    for (const step of line.preempted) {
      if (tall) this.put(this.x(step), middle + 4.5, "mid back", "\u21ba");
      else
        this.into.append(svg("rect", { x: this.x(step) - 1.5, y: middle - 3.5, width: 3, height: 7, class: "back" }));
    }
    if (line.ended === null || line.spans.length === 0) return;
    if (line.lost) this.put(this.x(line.ended), middle + 4, "mid back", "\u2715");
    else this.into.append(svg("circle", { cx: this.x(line.ended), cy: middle, r: tall ? 3.6 : 1.6, class: "done" }));
  }

  drawScale() {
    const { left, width, right, foot, max, axis } = this,
      room = width - left - right;
    for (const place of ticks(max, room / 90)) {
      const x = left + (place / max) * room;
      this.sheet.prepend(svg("path", { d: `M${x.toFixed(1)} ${TOP}V${foot}`, class: "grid" }));
      const last = x > width - 18;
      this.put(
        last ? width - 4 : x,
        foot + 14,
        last ? "end muted" : "mid muted",
        axis.unit === SECONDS ? `${place} s` : `${place}`,
      );
    }
  }

  /** Move the line to a step; `place` says where, if the run itself is over. */
  draw(step, place = this.axis.places[step]) {
    const { left, width, right, max, axis } = this,
      x = (left + (Math.min(place, max) / max) * (width - left - right)).toFixed(1);
    this.step = step;
    this.cursor.setAttribute("d", `M${x} ${TOP - 3}V${this.foot}`);
    this.knob.setAttribute("cx", x);
    this.node.setAttribute("aria-valuenow", `${+place.toFixed(3)}`);
    const words = inWords(axis.unit, place);
    this.node.setAttribute("aria-valuetext", axis.unit === EVENTS ? words : `${words}, event ${step}`);
  }

  /** Frame the life line of a sequence; null frames none. */
  follow(name) {
    const at = this.rows.findIndex((row) => row.some((line) => line.name === name)),
      y = this.below + at * this.pitch;
    this.picked.setAttribute(
      "d",
      at < 0 ? "" : `M${this.left - 2} ${y}H${this.width - this.right + 4}v${this.pitch}H${this.left - 2}z`,
    );
  }

  // -- what a reader does with it ----------------------------------------------------------------

  /** Where an event of the pointer is, in units of the picture. */
  at(event) {
    const box = this.node.getBoundingClientRect(),
      scale = this.width / (box.width || 1);
    return { x: (event.clientX - box.left) * scale, y: (event.clientY - box.top) * scale };
  }

  /** The place on the axis; near a sign of a life line, the place of that sign. */
  placeAt({ x, y }) {
    const { left, width, right, max, axis } = this,
      row = this.rows[Math.floor((y - this.below) / this.pitch)] ?? [];
    for (const line of row) {
      for (const step of [...line.preempted, line.ended]) {
        if (step !== null && Math.abs(this.x(step) - x) < 5) return { place: axis.places[step], step };
      }
    }
    const place = Math.min(Math.max((x - left) / (width - left - right), 0), 1) * max;
    return { place, step: axis.near(place) };
  }

  listen() {
    const { node } = this;
    let drags = false,
      from = { clientX: 0, clientY: 0 };
    node.addEventListener("pointerdown", (event) => {
      const { x, y } = this.at(event),
        row = this.rows[Math.floor((y - this.below) / this.pitch)];
      if (x < this.left && row) {
        this.choose(row[0].name);
        return;
      }
      drags = true;
      from = event;
      node.setPointerCapture(event.pointerId);
      if (event.pointerType !== "touch") this.go(this.placeAt({ x, y }));
    });
    node.addEventListener("click", (event) => {
      if (event.pointerType === "touch") this.go(this.placeAt(this.at(event))); // one that scrolls changes nothing
    });
    node.addEventListener("pointermove", (event) => {
      const along = Math.abs(event.clientX - from.clientX) > Math.abs(event.clientY - from.clientY);
      const { x, y } = this.at(event),
        row = this.rows[Math.floor((y - this.below) / this.pitch)] ?? [],
        name = (row.find(({ ended }) => x <= this.x(ended ?? this.run.steps)) ?? row.at(-1))?.name;
      if (!drags && name !== this.pointed) this.point((this.pointed = name));
      if (drags && (along || event.pointerType !== "touch")) this.go(this.placeAt({ x, y: 0 }));
    });
    node.addEventListener("pointerleave", () => this.point((this.pointed = undefined)));
    for (const kind of ["pointerup", "pointercancel"]) node.addEventListener(kind, () => (drags = false));
    node.addEventListener("keydown", (event) => {
      const far = Math.max(Math.round(this.axis.stops.length / 10), 1);
      const ways = {
        ArrowRight: 1,
        ArrowUp: 1,
        ArrowLeft: -1,
        ArrowDown: -1,
        PageDown: far,
        PageUp: -far,
        Home: -Infinity,
        End: Infinity,
      };
      if (event.shiftKey || event.ctrlKey || event.altKey || event.metaKey || !Object.hasOwn(ways, event.key)) return;
      event.preventDefault();
      event.stopPropagation();
      const step = this.axis.beside(this.step, ways[event.key]);
      this.go({ place: this.axis.places[step], step });
    });
  }
}
