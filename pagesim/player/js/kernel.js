// Who reads: beside the pool the programs of a kernel, joined to the pages that they load, and what they hold so far.

import { blocksAt, doing, keyIn, titleOf, weightsAt } from "./programs.js";
import { Layer, Recycler, svg } from "./svg.js";
import { nameText, plural } from "./text.js";

const still = matchMedia("(prefers-reduced-motion: reduce)");
const NEW = "new max: rescale",
  [SHRINKS, SHRUNK, GROWN] = [1.3, 1.6, 2.8]; // when older bars do, and when new ones have: in parts of a load
const brief = (number) => (Math.abs(number) < 100 ? number.toFixed(2) : `${+number.toPrecision(3)}`);

/** The programs in the picture of one step; `play` moves what the step has changed, `light` what a reader points at. */
export class Kernel {
  /** @param {Stage} stage @param {Film} film */
  constructor(stage, film) {
    const group = (name) => stage.node.appendChild(svg("g", { class: name }));
    this.stage = stage;
    this.film = film;
    this.boxes = new Recycler(group("under"), "rect");
    this.bars = new Recycler(group("bars"), "rect");
    this.layer = new Layer(stage.node, "under");
    this.gone = svg("g"); // what a step replaces: in the picture while it moves
    this.past = new Layer(this.gone, "under");
    this.lit = new Layer(stage.node, "trace");
    /** @type {{id: number, at: any, program: Program, y: number, nth: number, points: number[][]}[]} */
    this.ways = [];
    /** @type {Animation[]} */
    this.running = [];
    this.forget();
  }

  /** Of the step that is drawn, what its motion needs. */
  forget() {
    /** What is seen in some parts of the step alone. @type {[SVGElement, number, number][]} */
    this.seen = [];
    /** What grows or shrinks: from which share of its size, and to which one until words are added.
     * @type {[SVGElement, string, number, number][]} */
    this.grown = [];
    this.isNew = false; // whether an m rises
    /** @type {SVGElement[]} */
    this.parts = [];
  }

  /** @param {State} state @param {PageEvent | null} event */
  draw(state, event) {
    const { stage, film, layer } = this,
      { narrow } = stage.layout,
      { x, number, right } = film;
    this.end();
    this.forget();
    const top = film.tables[0].y - 5;
    const head = (at, y, text) => layer.text(at, y, text, "small muted");
    head(film.boxes[0].left, top, "weights, at most 1");
    ["largest score", "sum of weights"].forEach((words, i) => {
      const at = right - (2 - i) * number;
      head(at, top, "m\u2113"[i]);
      if (!narrow) head(at, top - 13, words);
    });
    for (const { name, y } of film.tables) this.table(state, name, y);
    for (const box of film.boxes) this.program(box, event, state);
    const second = `2 ${this.isNew ? NEW : "rescale"}`,
      put = (sheet, name, i, look) =>
        sheet.text(x + [0, 8, 12 + second.length][i] * (narrow ? 7.2 : 6.3), top - 16, name, look);
    this.parts = ["1 load", second, "3 add"].map((name, i) =>
      put(layer, name, i, i === 1 && this.isNew ? "strong" : "muted"),
    );
    if (this.isNew) this.seen.push([put(this.past, "2 rescale", 1, "muted"), 0, 1], [this.parts[1], 1, 3]);
    this.wires(state);
    for (const { id, g } of stage.cells.all) {
      g.classList.toggle("quiet", event !== null && !this.ways.some((way) => way.id === id));
    }
    const near = event?.difference?.toExponential(0),
      more = film.rest && `and ${plural(film.rest, "more program")}, not drawn`;
    if (more) layer.text(x, film.end, more, "muted");
    if (near) layer.text(x, film.end + 17, `acc \u00f7 \u2113 and the output differ by less than ${near}`, "strong");
    for (const drawn of [this.boxes, this.bars, layer, this.past]) drawn.done();
  }

  /** A block table; what its programs load at this step is framed. @param {State} state */
  table(state, name, y) {
    const { stage, film, layer } = this,
      { under, over, run, layout, spots, step } = stage,
      quiet = run.events[step - 1] ? " quiet" : "",
      { ids, filled } = state.tables.get(name) ?? { ids: [], filled: 0 },
      wide = layout.narrow ? 30 : 27,
      left = film.x + (layout.narrow ? 134 : 160),
      most = Math.floor((film.right - left - 30) / wide),
      read = run.programs.filter((one) => one.name === name).flatMap((one) => blocksAt(one, step, state.blockSize)),
      { color, ink } = run.look(name);
    stage.swatch(film.x, y + 4, 11, 12, "swatch", run.look(name), { seq: name });
    layer.text(film.x + 16, y + 14, `${nameText(name)}: ${plural(filled, "token")} in`, "strong name", { seq: name });
    ids.slice(0, most).forEach((id, k) => {
      /** @type {Box} */
      const place = [left + k * wide, y + 2, wide - 2, 16];
      const isRead = read.includes(id);
      under.rect(...place, `thin${isRead ? "" : quiet}`, color, { block: id });
      layer.text(place[0] + wide / 2 - 1, y + 14, `${id}`, `mid strong ${isRead || !quiet ? ink : ""}`);
      if (isRead) over.rect(place[0] - 1, y, wide, 20, "frame");
      spots.of.set(`${name} ${k}`, place);
    });
    if (ids.length > most) layer.text(left + most * wide, y + 14, `+${ids.length - most}`, "muted");
  }

  /** @param {ProgramBox} box @param {PageEvent | null} event @param {State} state */
  program({ program, y, h, tall, left, unit, words, flat }, event, state) {
    const { stage, film, layer, past } = this,
      { run, step } = stage,
      { rows, name, key, steps } = program,
      { x, right } = film,
      title = titleOf(program),
      status = doing(program, event, step, state.blockSize);
    const box = { x, y, width: right - x, height: h, rx: 4, class: "program" };
    this.boxes.next(
      { ...box, tabindex: 0, role: "img", "aria-label": `${title}, ${status}` },
      { program: key, seq: name },
    );
    layer.rect(x, y, 5, h, "", run.look(name).color);
    layer.text(x + 11, y + 13, title, !event?.reads.length || steps.includes(step) ? "strong" : "muted");
    words.forEach(([word, when], i) => {
      const look = when === step ? "strong rose" : when > step ? "muted" : "";
      layer.text(left + (i + (flat ? 0.43 : 0.3)) * unit, y + h + 13, word, `${flat ? "mid" : "slant"} ${look}`);
    });
    const say = (sheet, text, look) =>
      sheet.text(tall ? x + 11 : right - 6, y + (tall ? 28 : 13), text, `${tall ? "" : "end "}${look}`);
    const said = say(layer, status, "muted"),
      several = new Set(rows.map(({ query }) => query)).size > 1;
    const isNew = rows.filter((row, i) => {
      const top = tall ? y + 2 : y + 17 + i * 20;
      if (rows.length > 1) layer.text(x + 11, top + 13, `${several ? `token ${row.query}, ` : ""}head ${row.head}`);
      return this.row(row, left, unit, top, tall ? h - 6 : 17, run.look(name).color, state.blockSize);
    });
    if (!isNew.length) return;
    this.seen.push([say(past, status, "muted"), 0, 1], [say(past, NEW, "strong rose"), 1, 2], [said, 2, 3]);
  }

  /** The bars of a row, on one scale: 1 is the largest weight so far; and its two numbers; whether m rises.
   * @param {ProgramRow} row */
  row(row, left, unit, top, high, color, size) {
    const { film, layer, past, seen, grown } = this,
      { step } = this.stage,
      { number, right } = film,
      base = top + high,
      was = weightsAt(row, step - 1);
    let x = left + row.first * unit,
      line = "",
      /** @type {number | null} */
      block = null;
    weightsAt(row, step).forEach(({ slot, weight, fresh }, i) => {
      const here = slot == null ? null : Math.floor(slot / size);
      if (i && here !== block) line += `M${x - unit * 0.08} ${base + 1}v-5`; // here a page ends
      block = here;
      line += `M${x} ${base + 0.5}h${unit * 0.85}`;
      if (weight !== null) {
        const heightOf = (part) => Math.max(part * (high - 1), 0.6),
          height = heightOf(weight),
          node = this.bars.next({
            ...{ x, y: base - height, width: unit * 0.85, height, fill: color },
            class: fresh ? "bar fresh" : "bar",
          });
        grown.push([node, "Y", was[i].weight === null ? 0 : heightOf(was[i].weight) / height, +!fresh]);
      }
      x += unit;
    });
    layer.path(line, "row");
    const now = row.loads.findLast((load) => load.step <= step);
    if (!now) return false;
    const isNow = now.step === step,
      before = row.loads[row.loads.indexOf(now) - 1],
      isNew = isNow && before && now.m > before.m,
      wide = film.number - 12,
      scale = wide / (film.most - film.least),
      zero = right - 2 * number - film.least * scale,
      low = high > 20 ? 5 : 0,
      put = (sheet, at, text, look = "") => sheet.text(right - at * number, top + 10 + low, text, look),
      bar = (sheet, from, length) => sheet.rect(from, base - 4 - low, length, 4, "weight"),
      largest = (sheet, m) => bar(sheet, Math.min(zero, zero + m * scale), Math.abs(m) * scale),
      m = [put(layer, 2, brief(now.m) + (isNew ? " \u2191" : ""), isNew ? "strong rose" : ""), largest(layer, now.m)],
      l = put(layer, 1, brief(now.l)),
      sum = bar(layer, right - number, (now.l / film.sum) * wide);
    if (!isNow) return false;
    if (!before || isNew) for (const node of m) seen.push([node, 1, 3]);
    seen.push([l, GROWN, 3]);
    const less = before ? before.l * Math.exp(before.m - now.m) : 0;
    grown.push([sum, "X", (before?.l ?? 0) / now.l, less / now.l]);
    if (!before) return false;
    seen.push([put(past, 1, brief(before.l)), 0, isNew ? SHRINKS : 2]);
    seen.push([put(past, 1, brief(isNew ? less : before.l), "muted"), 2, GROWN]); // until it is right again
    if (!isNew) return false;
    this.isNew = true;
    seen.push(
      [put(past, 1, brief(before.l), "muted"), SHRINKS, SHRUNK],
      [put(past, 1, brief(less)), SHRUNK, 2],
      [put(past, 2, brief(before.m)), 0, 1],
      [largest(past, before.m), 0, 1],
    );
    return true;
  }

  /** Lines from the pages to the programs that load them; those of a table meet in one. @param {State} state */
  wires({ blockSize }) {
    const { stage, film } = this,
      { under, over, run, layout, cells, step } = stage,
      { cell, narrow } = layout,
      /** @type {string[]} */
      trunks = [], // blocks, and whose programs load them
      plug = (y) => under.path(`M${film.x - 5} ${y - 3.5}v7l5 -3.5z`, "plug");
    this.ways = film.boxes.flatMap(({ program, y, h }) =>
      blocksAt(program, step, blockSize).flatMap((id) => {
        const at = cells.at[id],
          trunk = `${id} ${program.name}`;
        if (at && !trunks.includes(trunk)) trunks.push(trunk);
        return at ? { id, at, program, y: y + h / 2, nth: trunks.indexOf(trunk), points: [] } : [];
      }),
    );
    const lane = Math.min((narrow ? 15 : 34) / Math.max(trunks.length, 1), 6);
    for (const way of this.ways) {
      const { at, program, y, nth } = way,
        x = film.x - 8 - nth * lane,
        low = at.y + cell.h + Math.min(cell.gy / 2, 3) + (nth % 2 ? 0.9 : -0.9),
        begin = at.x + (narrow ? 4 : cell.w - 4) + (nth % 2) * 3,
        d = `M${begin} ${at.y + cell.h}V${low}H${x}V${y}H${film.x - 4}`;
      way.points = [[begin, at.y + cell.h / 2], [begin, low], [x, low], [x, y], [film.x - 13, y]]; // prettier-ignore
      under.path(d, "wire-edge slim");
      under.path(d, "wire", run.look(program.name).color);
      plug(y);
    }
    film.boxes.forEach(({ program, y, h }, i) => {
      if (!program.merges || !program.steps.includes(step)) return;
      const parts = film.boxes.filter((box) => box.program.rows.some((row) => row.merged === program.rows[0].loads[0])),
        x = film.x - 8 - 5 * (i % 5),
        end = y + h / 2;
      for (const part of parts) {
        under.path(`M${film.x} ${part.y + part.h / 2}H${x}V${end}H${film.x - 4}`, "wire", run.look(program.name).color);
      }
      plug(end);
    });
    for (const { x, y } of new Set(this.ways.map(({ at }) => at))) {
      over.rect(x - 1.5, y - 1.5, cell.w + 3, cell.h + 3, "frame");
    }
  }

  /** The pages are carried to the programs; then m is known, and where it has risen older bars shrink, and their sum;
   * last, new ones rise and are added to it. With `back` all of it runs in reverse, and then that is called.
   * Returns how long it takes. @param {(() => void) | null} back */
  play(pace, back = null) {
    const { gone, stage, ways, grown } = this,
      rises = +grown.some(([, , from, to]) => to === 1 && from !== 1),
      parts = 2 + rises,
      duration = 1.5 * pace * parts,
      // A moment of three parts; the second one takes no time where nothing is rescaled.
      at = (time) => (time > 1 && !rises ? Math.max(time - 1, 1) : time) / parts,
      run = (node, frames, times) =>
        this.running.push(
          node.animate(
            { easing: "ease-in-out", ...frames, offset: times.map(at) },
            { duration, fill: "both", direction: back ? "reverse" : "normal" },
          ),
        );
    if (still.matches || !duration || !this.seen.length) {
      back?.();
      return 0;
    }
    stage.node.append(gone);
    for (const [node, from, to] of this.seen) run(node, { opacity: [0, 0, 1, 1, 0, 0] }, [0, from, from, to, to, 3]);
    for (const [node, axis, from, to] of grown) {
      const sizes = [from, from, to, to, 1, 1];
      run(node, { transform: sizes.map((size) => `scale${axis}(${size})`) }, [0, SHRINKS, SHRUNK, 2, GROWN, 3]);
    }
    this.parts.forEach((node, i) => {
      const frames = { fill: ["var(--muted)", "var(--mark)", "var(--muted)"].flatMap((one) => [one, one]) };
      run(node, frames, [0, i, i, i + 1, i + 1, 3]);
    });
    for (const { id, points } of ways) {
      const way = points.map(([left, top]) => `translate(${left}px, ${top}px)`),
        frames = { transform: [...way, ...way.slice(-1), ...way.slice(-1)], opacity: [...way.map(() => 1), 0, 0] };
      run(stage.ghosts.chip(id), frames, [...way.map((_, i) => (0.9 * i) / (way.length - 1)), 1, 3]);
    }
    this.running[0].onfinish = () => {
      this.end();
      stage.ghosts.clear();
      back?.();
    };
    return duration;
  }

  /** Nothing moves any longer. */
  end() {
    for (const one of this.running) one.cancel();
    this.running = [];
    this.gone.remove();
  }

  /** Outline a program with its pages and table entries, or the programs that load a page. @param {Hit | null} hit */
  light(hit) {
    const { lit, film, stage } = this,
      { cell } = stage.layout,
      state = stage.run.at(stage.step),
      reads = ({ id, program }) => program.key === hit?.program || (hit && id === hit.block);
    const boxes = film.boxes.filter(({ program }) => program.key === hit?.program);
    for (const { program } of this.ways.filter(reads))
      boxes.push(...film.boxes.filter((box) => box.program === program));
    for (const { y, h } of new Set(boxes)) lit.rect(film.x, y, film.right - film.x, h, "traced");
    for (const { id, at, program } of hit?.program ? this.ways.filter(reads) : []) {
      lit.rect(at.x, at.y, cell.w, cell.h, "traced");
      const entry = stage.spots.of.get(`${program.name} ${state.table(program.name).ids.indexOf(id)}`);
      if (entry) lit.rect(...entry, "traced");
    }
    lit.done();
  }

  /** What a program has loaded at this step and holds, or who loads a block now, in words.
   * @param {Hit} hit @param {PageEvent | null} event */
  words(hit, event, label) {
    const { run, step } = this.stage,
      state = run.at(step),
      size = state.blockSize,
      program = run.programs.find(({ key }) => key === hit.program);
    if (!program) {
      const readers = run.programs.filter((one) => blocksAt(one, step, size).includes(hit.block ?? -1)).map(titleOf);
      return readers.length ? ` ${plural(readers.length, "program")} read it now: ${readers.join("; ")}.` : "";
    }
    const rows = program.rows.map(({ query, head, loads }) => {
      const now = loads.findLast((load) => load.step <= step);
      if (!now) return "";
      const factor = Math.exp((loads[loads.indexOf(now) - 1]?.m ?? now.m) - now.m),
        keys = now.step === step ? now.slots : [],
        read = keys.map(
          (slot, i) => `${keyIn(state, program.name, slot, label) ?? "the new token"} ${brief(now.weights[i])}, `,
        ),
        less =
          factor < 1 && keys.length ? ` has risen: older weights shrink to ${brief(factor)} of what they were` : "",
        who = program.rows.length > 1 ? `token ${query}, head ${head}: ` : "";
      return ` ${who}${read.join("")}m ${brief(now.m)}${less}, \u2113 ${brief(now.l)}.`;
    });
    const where = `Program (${program.index.join(", ")}), ${titleOf(program)}`;
    return `${where}: ${doing(program, event, step, size)}.${rows.join("")}`;
  }
}
