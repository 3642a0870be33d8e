// Who reads: beside the pool the programs of a kernel, joined to the pages that they load, and what they hold so far.

import { ADDS, CAME, END, GROWN, KNOWN, LATE, SHRINKS, SHRUNK, drawParts } from "./moments.js";
import { blocksAt, doing, keyIn, titleOf, weightsAt } from "./programs.js";
import { Layer, Recycler, svg } from "./svg.js";
import { nameText, plural } from "./text.js";

const still = matchMedia("(prefers-reduced-motion: reduce)");
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
    this.late = 0; // how much later than the first the sequence that is drawn begins
    this.lateOf = (name) => name && 0;
    this.forget();
  }

  /** Of the step that is drawn, what its motion needs. */
  forget() {
    /** What is seen at some moments of the step alone: from when, until when, and how late.
     * @type {[SVGElement, number, number, number, number][]} */
    this.seen = [];
    /** What grows or shrinks: from which share of its size, and to which one until words are added.
     * @type {[SVGElement, string, number, number, number][]} */
    this.grown = [];
    this.old = ""; // how high bars were that have shrunk
  }

  /** @param {SVGElement} node */
  see(node, from, to, until = this.late) {
    this.seen.push([node, from, to, this.late, until]);
  }

  /** Whether bars of earlier loads shrink. */
  get rises() {
    return this.grown.some(([, , from, to]) => to === 1 && from !== 1);
  }

  /** @param {State} state @param {PageEvent | null} event */
  draw(state, event) {
    const { stage, film, layer } = this,
      { x, number, right, em, isRoomy } = film;
    this.end();
    this.forget();
    const readers = film.tables.map(({ name }) => name).filter((name) => event?.reads.some((one) => one[1] === name));
    this.lateOf = (name) => (LATE * Math.max(readers.indexOf(name), 0)) / Math.max(readers.length - 1, 1);
    const [begin] = film.tables.map(({ name, y }) => this.table(state, name, y)); // where the first table ends
    for (const box of film.boxes) {
      this.late = this.lateOf(box.program.name);
      this.program(box, event, state);
    }
    this.late = 0;
    const top = film.tables[0].y + (isRoomy ? 14 : -5),
      head = (at, words, look = "") => layer.text(at, top, words, `muted ${look}`),
      end = right - 2 * number - 14;
    if (!isRoomy) head(film.boxes[0].left, "weights, at most 1");
    else if (begin < end - 16 * em) head(end, "weights, at most 1", "end");
    ["largest score ", "sum of weights "].forEach((words, i) => {
      head(right - (2 - i) * number, (isRoomy ? words : "") + "m\u2113"[i]);
    });
    drawParts(this, event, readers.length > 1 ? LATE : 0);
    this.wires(state);
    for (const { id, g } of stage.cells.all) {
      g.classList.toggle("quiet", event !== null && !this.ways.some((way) => way.id === id));
    }
    const more = film.rest && `and ${plural(film.rest, "more program")}, not drawn`;
    if (more) layer.text(x, film.end, more, "muted");
    for (const drawn of [this.boxes, this.bars, layer, this.past]) drawn.done();
  }

  /** A block table; what its programs load at this step is framed. @param {State} state */
  table(state, name, y) {
    const { stage, film, layer } = this,
      { under, over, run, layout, spots, step } = stage,
      quiet = run.events[step - 1] ? " quiet" : "",
      { ids, filled } = state.tables.get(name) ?? { ids: [], filled: 0 },
      wide = layout.narrow ? 30 : 27,
      left = film.x + (layout.narrow ? 134 : 146),
      room = film.right - left - (film.isRoomy && y === film.tables[0].y ? 2 * film.number + 4 : 0),
      most = ids.length * wide > room ? Math.floor((room - 30) / wide) : ids.length,
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
    return left + ids.length * wide;
  }

  /** @param {ProgramBox} box @param {PageEvent | null} event @param {State} state */
  program({ program, y, h, tall, once, left, unit, words, lines }, event, state) {
    const { stage, film, layer } = this,
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
    const isOne = tall && once; // line
    layer.text(
      x + 11,
      y + (isOne ? 17.5 : 13),
      title,
      !event?.reads.length || steps.includes(step) ? "strong" : "muted",
    );
    words.forEach(([word, when], i) => {
      const look = !event ? "" : when === step ? "strong" : "muted";
      layer.text(left + (i + 0.43) * unit, y + h + 12 + 12 * lines[i], word, `mid ${look}`);
    });
    const several = new Set(rows.map(({ query }) => query)).size > 1;
    if (!once) layer.text(tall ? x + 11 : right - 6, y + (tall ? 28 : 13), status, tall ? "muted" : "end muted");
    rows.forEach((row, i) => {
      const top = tall ? y + 2 : y + 17 + i * 20;
      if (rows.length > 1) layer.text(x + 11, top + 13, `${several ? `token ${row.query}, ` : ""}head ${row.head}`);
      this.row(row, left, unit, top, tall ? h - 4 : 17, run.look(name).color, state.blockSize);
    });
  }

  /** The bars of a row, on one scale: 1 is the largest weight so far; and its two numbers. Where older bars have shrunk
   * an outline shows how high they were. @param {ProgramRow} row */
  row(row, left, unit, top, high, color, size) {
    const { film, layer, past, grown } = this,
      { step } = this.stage,
      { number, right } = film,
      base = top + high,
      was = weightsAt(row, step - 1),
      heightOf = (part) => Math.max(part * (high - 1), 0.6);
    const now = row.loads.findLast((load) => load.step <= step),
      /** @type {[number, number][]} */
      scores = [];
    let x = left + row.first * unit,
      line = "",
      old = "",
      /** @type {number | null} */
      block = null;
    weightsAt(row, step).forEach(({ slot, weight, fresh }, i) => {
      const here = slot == null ? null : Math.floor(slot / size);
      if (i && here !== block) line += `M${x - unit * 0.08} ${base + 1}v-5`; // here a page ends
      block = here;
      line += `M${x} ${base + 0.5}h${unit * 0.85}`;
      if (weight !== null) {
        const height = heightOf(weight),
          before = was[i].weight === null ? 0 : heightOf(was[i].weight),
          node = this.bars.next({
            ...{ x, y: base - height, width: unit * 0.85, height, fill: color },
            class: fresh ? "bar fresh" : "bar",
          });
        grown.push([node, "Y", before / height, +!fresh, this.late]);
        if (now && fresh && weight) scores.push([x, now.m + Math.log(weight)]);
        if (before > height + 1) old += `M${x} ${base - height}V${base - before}h${unit * 0.85}V${base - height}`;
      }
      x += unit;
    });
    layer.path(line, "row");
    if (old) this.see(layer.path((this.old = old), "absent"), SHRINKS, END);
    if (!now) return;
    const isNow = now.step === step,
      before = row.loads[row.loads.indexOf(now) - 1],
      isNew = isNow && before && now.m > before.m,
      wide = Math.min(number - 12, 70),
      scale = wide / (film.most - film.least),
      zero = right - 2 * number - film.least * scale,
      low = high > 20 ? 2 + (high - 22) / 2 : 0,
      put = (sheet, at, text, look = "") => sheet.text(right - at * number, top + 10 + low, text, look),
      bar = (sheet, from, length) => sheet.rect(from, base - 4 - low, length, 4, "weight"),
      largest = (sheet, m) => bar(sheet, Math.min(zero, zero + m * scale), Math.abs(m) * scale),
      m = [put(layer, 2, brief(now.m) + (isNew ? " \u2191" : ""), isNew ? "strong rose" : ""), largest(layer, now.m)],
      l = put(layer, 1, brief(now.l)),
      sum = bar(layer, right - number, (now.l / film.sum) * wide);
    if (!isNow) return;
    this.scores(scores, unit, base, isNew);
    if (!before || isNew) for (const node of m) this.see(node, KNOWN, END);
    this.see(l, GROWN, END);
    const less = before ? before.l * Math.exp(before.m - now.m) : 0;
    grown.push([sum, "X", (before?.l ?? 0) / now.l, less / now.l, this.late]);
    if (!before) return;
    this.see(put(past, 1, brief(before.l)), 0, isNew ? SHRINKS : ADDS);
    this.see(put(past, 1, brief(isNew ? less : before.l), "muted"), ADDS, GROWN); // until it is right again
    if (!isNew) return;
    this.see(put(past, 1, brief(before.l), "muted"), SHRINKS, SHRUNK);
    this.see(put(past, 1, brief(less)), SHRUNK, ADDS);
    this.see(put(past, 2, brief(before.m)), 0, KNOWN);
    this.see(largest(past, before.m), 0, KNOWN);
  }

  /** What a load brings, until it becomes bars: scores, as many as there is room for; a new largest one is marked.
   * @param {[number, number][]} scores where their bars begin, and they */
  scores(scores, unit, base, isNew) {
    const { past, film } = this,
      most = Math.max(...scores.map(([, score]) => score)),
      fits = (digits) => scores.every(([, score]) => score.toFixed(digits).length * 0.8 * film.em <= unit),
      digits = [2, 1].find(fits);
    for (const [x, score] of scores) {
      const isMost = score === most,
        put = (look) => past.text(x + 0.43 * unit, base - 4, score.toFixed(digits ?? 2), `mid ${look}`);
      if (!digits && !isMost) continue;
      this.see(put(""), CAME, isNew && isMost ? KNOWN : ADDS);
      if (isNew && isMost) this.see(put("strong rose"), KNOWN, ADDS);
    }
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

  /** The pages are carried to the programs, and the scores are seen; then m is known, and where it has risen older bars
   * shrink, and their sum; last, new ones rise and are added to it. One sequence is a little ahead of another. With
   * `back` all of it runs in reverse, and then that is called. Returns how long it takes.
   * @param {(() => void) | null} back */
  play(pace, back = null) {
    const { gone, stage, ways, grown, rises } = this,
      skips = rises ? 0 : ADDS - KNOWN, // nothing is rescaled
      parts = END - skips + LATE,
      duration = 1.5 * pace * parts,
      at = (time, late) => {
        if (!time || time === END) return time && 1;
        return (time > KNOWN ? Math.max(time - skips, KNOWN) + late : time + late) / parts;
      },
      run = (node, frames, offset) =>
        this.running.push(
          node.animate(
            { easing: "ease-in-out", ...frames, offset },
            { duration, fill: "both", direction: back ? "reverse" : "normal" },
          ),
        );
    if (still.matches || !duration || !this.seen.length) {
      back?.();
      return 0;
    }
    stage.node.append(gone);
    for (const [node, from, to, late, until] of this.seen) {
      const [begin, end] = [at(from, late), at(to, until)];
      run(node, { opacity: [0, 0, 1, 1, 0, 0] }, [0, begin, begin, end, end, 1]);
    }
    for (const [node, axis, from, to, late] of grown) {
      const transform = [from, from, to, to, 1, 1].map((size) => `scale${axis}(${size})`);
      run(node, { transform }, [0, ...[SHRINKS, SHRUNK, ADDS, GROWN].map((time) => at(time, late)), 1]);
    }
    for (const { id, points, program } of ways) {
      const way = points.map(([left, top]) => `translate(${left}px, ${top}px)`),
        frames = {
          transform: [way[0], ...way, ...way.slice(-1), ...way.slice(-1)],
          opacity: [1, ...way.map(() => 1), 0, 0],
        };
      const late = this.lateOf(program.name),
        times = way.map((_, i) => at((CAME * i) / (way.length - 1) + 1e-6, late));
      run(stage.ghosts.chip(id), frames, [0, ...times, at(CAME + 0.1, late), 1]);
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
