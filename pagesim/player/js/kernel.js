// Who reads: beside the pool the programs of a kernel, joined to the pages that they load, and what they hold so far.

import { MARGIN } from "./layout.js";
import { blocksAt, doing, titleOf, weightsAt } from "./programs.js";
import { Layer, Recycler, svg } from "./svg.js";
import { nameText, plural } from "./text.js";

const still = matchMedia("(prefers-reduced-motion: reduce)");
/** What a program does with a load, one part after the other. */
const PARTS = ["1 load", "2 rescale", "3 add"];
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
    this.maxima = new Layer(stage.node, "under");
    this.sums = new Layer(stage.node, "under");
    /** @type {SVGElement[]} */
    this.parts = [];
    this.rescaled = new Layer(svg("g", {}), "under"); // the sums between two parts of a load
    /** @type {{node: any, now: any, from: number, to: number}[]} */
    this.passing = []; // numbers that are shown in some parts of a load alone
    this.lit = new Layer(stage.node, "trace");
    /** @type {Map<string, {node: SVGElement, height: number}>} */
    this.heights = new Map(); // of the bars that are drawn
    this.was = this.heights;
    /** @type {{id: number, at: any, program: Program, y: number, nth: number, points: number[][]}[]} */
    this.ways = [];
    /** @type {Animation[]} */
    this.running = [];
  }

  /** @param {State} state @param {PageEvent | null} event */
  draw(state, event) {
    const { stage, film, layer } = this,
      { narrow, width } = stage.layout,
      { x, number, label } = film,
      right = width - MARGIN,
      isTight = narrow || right - 2 * number - x - label < 180;
    for (const one of this.running) one.cancel();
    this.was = this.heights;
    this.heights = new Map();
    this.running = [];
    for (const { node } of this.passing) node.remove();
    this.passing = [this.maxima, this.sums].flatMap(({ groups }) =>
      groups.map((now) => ({ node: now.cloneNode(true), now, from: 0, to: 1 })),
    );
    const top = film.tables[0].y - 5;
    this.parts = (narrow ? [] : PARTS).map((name, i) =>
      layer.text(x + PARTS.slice(0, i).join("").length * 6 + 12 * i, top, name, "small muted"),
    );
    layer.text(
      narrow ? x : x + label,
      top,
      isTight ? "weights so far" : "weights so far: a full bar is 1",
      "small muted",
    );
    layer.text(right - 2 * number, top, narrow ? "m" : "m: largest", "small muted");
    layer.text(right - number, top, narrow ? "\u2113" : "\u2113: sum", "small muted");
    for (const { name, y } of film.tables) this.table(state, name, y);
    for (const box of film.boxes) this.program(box, event, state);
    this.wires(state);
    const near = event?.difference?.toExponential(0),
      more = film.rest && `and ${plural(film.rest, "more program")}, not drawn`;
    if (more) layer.text(x, film.end, more, "muted");
    if (near) layer.text(x, film.end + 17, `acc \u00f7 \u2113 and the output differ by less than ${near}`, "strong");
    for (const drawn of [this.boxes, this.bars, layer, this.maxima, this.sums, this.rescaled]) drawn.done();
  }

  /** A block table; what its programs load at this step is framed. @param {State} state */
  table(state, name, y) {
    const { stage, film, layer } = this,
      { under, over, run, layout, spots, step } = stage,
      { ids, filled } = state.tables.get(name) ?? { ids: [], filled: 0 },
      wide = layout.narrow ? 30 : 27,
      left = film.x + (layout.narrow ? 134 : 160),
      most = Math.floor((layout.width - MARGIN - left - 30) / wide),
      read = run.programs.filter((one) => one.name === name).flatMap((one) => blocksAt(one, step, state.blockSize)),
      { color, ink } = run.look(name);
    stage.swatch(film.x, y + 4, 11, 12, "swatch", run.look(name), { seq: name });
    layer.text(film.x + 16, y + 14, `${nameText(name)}: ${plural(filled, "token")} in`, "strong name", { seq: name });
    ids.slice(0, most).forEach((id, k) => {
      /** @type {Box} */
      const place = [left + k * wide, y + 2, wide - 2, 16];
      under.rect(...place, "thin", color, { block: id });
      layer.text(place[0] + wide / 2 - 1, y + 14, `${id}`, `mid strong ${ink}`);
      if (read.includes(id)) over.rect(place[0] - 1, y, wide, 20, "frame");
      spots.of.set(`${name} ${k}`, place);
    });
    if (ids.length > most) layer.text(left + most * wide, y + 14, `+${ids.length - most}`, "muted");
  }

  /** @param {ProgramBox} box @param {PageEvent | null} event @param {State} state */
  program({ program, y, h, tall }, event, state) {
    const { stage, film, layer } = this,
      { layout, run, step } = stage,
      { narrow } = layout,
      { rows, name, key } = program,
      { x, width } = film,
      title = titleOf(program),
      status = doing(program, event, step, state.blockSize);
    const box = { x, y, width: width - MARGIN, height: h, rx: 4, class: "program" };
    this.boxes.next(
      { ...box, tabindex: 0, role: "img", "aria-label": `${title}, ${status}` },
      { program: key, seq: name },
    );
    layer.rect(x, y, 5, h, "", run.look(name).color);
    layer.text(x + 11, y + 13, title, "strong");
    if (tall) layer.text(x + 11, y + 28, status, "muted");
    else layer.text(layout.width - MARGIN - 6, y + 13, status, "end muted");
    rows.forEach((row, i) => {
      const top = tall ? y + 2 : y + 17 + i * 20,
        left = x + (narrow && rows.length === 1 ? 11 : film.label),
        queries = new Set(rows.map(({ query }) => query)).size > 1;
      if (rows.length > 1) layer.text(x + 11, top + 13, `${queries ? `token ${row.query}, ` : ""}head ${row.head}`);
      this.row(row, `${key} ${row.of}`, left, top, tall ? h - 6 : 17, run.look(name).color, state.blockSize);
    });
  }

  /** The bars of a row, on one scale: 1 is the largest weight so far; and its two numbers. @param {ProgramRow} row */
  row(row, key, left, top, high, color, size) {
    const { stage, film, layer, maxima, sums, rescaled } = this,
      { layout, step } = stage,
      right = layout.width - MARGIN,
      room = right - 2 * film.number - 10 - left,
      unit = Math.min(room / film.keys, 40),
      base = top + high;
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
        const height = Math.max(weight * (high - 1), 0.6),
          node = this.bars.next({
            ...{ x, y: base - height, width: unit * 0.85, height, fill: color },
            class: fresh ? "bar fresh" : "bar",
          });
        this.heights.set(`${key} ${i}`, { node, height });
      }
      x += unit;
    });
    layer.path(line, "row");
    const now = row.loads.findLast((load) => load.step <= step);
    if (!now) return;
    const before = row.loads[row.loads.indexOf(now) - 1],
      rose = before && now.step === step && now.m > before.m,
      wide = film.number - 12,
      scale = wide / (film.most - film.least),
      zero = right - 2 * film.number - film.least * scale,
      low = high > 20 ? 5 : 0;
    maxima.text(
      right - 2 * film.number,
      top + 10 + low,
      brief(now.m) + (rose ? " \u2191" : ""),
      rose ? "strong rose" : "",
    );
    maxima.rect(Math.min(zero, zero + now.m * scale), base - 4 - low, Math.abs(now.m) * scale, 4, "weight");
    const add = (sheet, sum) => {
      sheet.text(right - film.number, top + 10 + low, brief(sum));
      sheet.rect(right - film.number, base - 4 - low, (sum / film.sum) * wide, 4, "weight");
    };
    add(sums, now.l);
    if (now.step < step) add(rescaled, now.l);
    else if (before) add(rescaled, before.l * Math.exp(before.m - now.m));
  }

  /** Lines from the pages to the programs that load them; those of a table meet in one. @param {State} state */
  wires({ blockSize }) {
    const { stage, film } = this,
      { under, over, run, layout, cells, step } = stage,
      { cell, narrow } = layout,
      trunks = new Map();
    this.ways = [];
    for (const { program, y, h } of film.boxes) {
      for (const id of blocksAt(program, step, blockSize)) {
        const at = cells.at[id],
          trunk = `${id} ${program.name}`;
        if (!at) continue;
        if (!trunks.has(trunk)) trunks.set(trunk, trunks.size);
        this.ways.push({ id, at, program, y: y + h / 2, nth: trunks.get(trunk), points: [] });
      }
    }
    const lane = Math.min((narrow ? 15 : 34) / Math.max(trunks.size, 1), 6);
    for (const way of this.ways) {
      const { at, program, y, nth } = way,
        x = film.x - 8 - nth * lane,
        low = at.y + cell.h + Math.min(cell.gy / 2, 3) + (nth % 2 ? 0.9 : -0.9),
        begin = at.x + (narrow ? 4 : cell.w - 4) + (nth % 2) * 3,
        d = `M${begin} ${at.y + cell.h}V${low}H${x}V${y}H${film.x - 4}`;
      way.points = [[begin, at.y + cell.h / 2], [begin, low], [x, low], [x, y], [film.x - 13, y]]; // prettier-ignore
      under.path(d, "wire-edge slim");
      under.path(d, "wire", run.look(program.name).color);
      under.path(`M${film.x - 5} ${y - 3.5}v7l5 -3.5z`, "plug");
    }
    film.boxes.forEach(({ program, y, h }, i) => {
      if (!program.merges || !program.steps.includes(step)) return;
      const parts = film.boxes.filter((box) => box.program.rows.some((row) => row.merged === program.rows[0].loads[0])),
        x = film.x - 8 - 5 * (i % 5),
        end = y + h / 2;
      for (const part of parts) {
        under.path(`M${film.x} ${part.y + part.h / 2}H${x}V${end}H${film.x - 4}`, "wire", run.look(program.name).color);
      }
      under.path(`M${film.x - 5} ${end - 3.5}v7l5 -3.5z`, "plug");
    });
    for (const { x, y } of new Set(this.ways.map(({ at }) => at))) {
      over.rect(x - 1.5, y - 1.5, cell.w + 3, cell.h + 3, "frame");
    }
  }

  /** The pages are carried to the programs; then m is known, and where it has risen older bars shrink, and their sum;
   * last, new ones rise and are added to it. Returns how long all of it takes. */
  play(pace) {
    if (still.matches || !pace) return 0;
    const { ghosts } = this.stage,
      ms = 1.5 * pace;
    for (const [key, { node, height }] of this.heights) {
      const old = this.was.get(key),
        from = old?.height ?? 0,
        timing = { duration: ms, delay: old ? ms : 2 * ms, fill: /** @type {FillMode} */ ("backwards") };
      if (from === height) continue;
      this.running.push(
        node.animate({ transform: [`scaleY(${from / height})`, "scaleY(1)"] }, { ...timing, easing: "ease-in-out" }),
      );
    }
    this.parts.forEach((node, i) => {
      const now = { fill: "var(--mark)", fontWeight: 700 };
      this.running.push(node.animate([now, now], { delay: i * ms, duration: ms }));
    });
    const { sums, maxima, rescaled } = this,
      show = (node, from, to) =>
        node.animate({ opacity: [0, 0, 1, 1, 0, 0], offset: [0, from, from, to, to, 3].map((k) => k / 3) }, 3 * ms);
    sums.groups.forEach((now, i) =>
      this.passing.push({ node: rescaled.groups[i].cloneNode(true), now, from: 1, to: 2 }),
    );
    for (const { node, now, from, to } of this.passing) {
      now.before(node);
      show(node, from, to).onfinish = () => node.remove();
    }
    for (const node of maxima.groups) this.running.push(show(node, 1, 3));
    for (const node of sums.groups) this.running.push(show(node, 2, 3));
    ghosts.begin(ms);
    for (const { id, points } of this.ways) ghosts.fly(id, points);
    ghosts.end();
    return 3 * ms;
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
    for (const { y, h } of new Set(boxes)) lit.rect(film.x, y, film.width - MARGIN, h, "traced");
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
    const { ids, tokens } = state.table(program.name),
      word = (slot) => label(tokens[ids.indexOf(Math.floor(slot / size)) * size + (slot % size)]);
    const rows = program.rows.map(({ query, head, loads }) => {
      const now = loads.findLast((load) => load.step <= step);
      if (!now) return "";
      const factor = Math.exp((loads[loads.indexOf(now) - 1]?.m ?? now.m) - now.m),
        keys = now.step === step ? now.slots : [],
        read = keys.map((slot, i) => `${slot === null ? "the new token" : word(slot)} ${brief(now.weights[i])}, `),
        less =
          factor < 1 && keys.length ? ` has risen: older weights shrink to ${brief(factor)} of what they were` : "",
        who = program.rows.length > 1 ? `token ${query}, head ${head}: ` : "";
      return ` ${who}${read.join("")}m ${brief(now.m)}${less}, \u2113 ${brief(now.l)}.`;
    });
    const where = `Program (${program.index.join(", ")}), ${titleOf(program)}`;
    return `${where}: ${doing(program, event, step, size)}.${rows.join("")}`;
  }
}
