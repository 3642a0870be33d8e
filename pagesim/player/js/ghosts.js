// Ghosts: what a beat moves is seen on its way, over the true picture of the moment before it. What has left its
// place is covered there until the beat is over.

import { isPromise } from "./effects.js";
import { QUEUE } from "./layout.js";
import { slotsOf } from "./overlay.js";
import { svg } from "./svg.js";
import { nameText, short } from "./text.js";

const MOST = 24; // at once

/** @param {Box} box */
const middle = ([x, y, w, h]) => [x + w / 2, y + h / 2];
/** The corners of a wire. @param {string} d */
const pointsOf = (d) => {
  const points = [[0, 0]];
  for (const [, kind, a, b] of d.matchAll(/([MHV])([\d.-]+) ?([\d.-]*)/g)) {
    const [x, y] = points[points.length - 1];
    points.push(kind === "M" ? [+a, +b] : kind === "H" ? [+a, y] : [x, +a]);
  }
  return points.slice(1);
};
/** Whether an effect moves a block out of a list, or into one. @param {Effect} effect */
export const isListed = ([kind]) => ["take", "hit", "free"].includes(kind);

export class Ghosts {
  /** @param {Stage} stage */
  constructor(stage) {
    this.stage = stage;
    this.node = stage.node.appendChild(svg("g", { class: "ps-ghosts" }));
    /** @type {Animation[]} */
    this.running = [];
    this.likes = new Map(); // blocks as they look at the other end of the beat
  }

  clear() {
    for (const one of this.running) one.cancel();
    this.running = [];
    this.node.replaceChildren();
  }

  /** Keep how the blocks of a beat look now. @param {PageEvent} part */
  keep({ effects }) {
    this.likes.clear();
    for (const [kind, block] of effects.slice(0, 2 * MOST)) {
      if (["evict", "write"].includes(kind)) this.likes.set(block, this.likeness(block));
    }
  }

  /** Show a beat, backwards if told so: from the moment `a` to `b`, in whose pictures things are where `before` and
   * `after` say. Returns what ends with the beat.
   * @param {Beat} a @param {Beat} b @param {Spots} before @param {Spots} after */
  play(a, b, before, after, duration, back) {
    this.begin(duration, back);
    Object.assign(this, { before, after, live: back ? after : before });
    const { effects, tables, queues } = a.part,
      lists = effects.filter(isListed),
      written = effects.filter((effect) => effect[0] === "write" && !isPromise(a.state, effect));
    lists.forEach(([kind, block], i) => this.carry(kind === "free", block, i / lists.length));
    for (const [kind, block, to, , pairs] of effects) {
      if (kind === "copy" || kind === "move") this.copy(block, to);
      if (kind === "evict") this.fade(block);
      if (kind === "begin") for (const [, target] of pairs) this.grow(after.ways.get(target));
      for (const job of kind === "end" ? b.state.ended.filter(({ id }) => id === block) : []) {
        for (const [source, target] of job.pairs) this.fly(source, before.ways.get(target)?.points);
      }
    }
    const fresh = [...after.wires].filter(([key]) => !before.wires.has(key));
    fresh.forEach(([, wire], i) => this.wire(wire, i / fresh.length));
    for (const [name] of tables) this.turn(name, a.state, b.state);
    for (const effect of written.sort((one, other) => one[4] - other[4])) this.write(b.state, effect);
    for (const [what, , , request] of queues) if (what === "enter") this.step(request, b.state);
    return this.run(this.node, { opacity: [1, 1] });
  }

  begin(duration, back = false) {
    Object.assign(this, { duration, back, left: MOST });
  }

  /** @param {Keyframe[] | PropertyIndexedKeyframes} frames @param {KeyframeAnimationOptions} more */
  run(node, frames, more = {}) {
    const direction = this.back ? "reverse" : "normal",
      one = node.animate(frames, { duration: this.duration, easing: "ease-in-out", fill: "both", direction, ...more });
    this.running.push(one);
    return one;
  }

  /** A part of the beat, from 0 to 1; played backwards it is mirrored. @param {number} from @param {number} to */
  span = (from, to) => ({ delay: this.duration * (this.back ? 1 - to : from), duration: this.duration * (to - from) });

  /** One of many: it begins a little later. */
  late = (part) => this.span(0.35 * part, 0.35 * part + 0.5);

  add(tag, attributes) {
    return this.node.appendChild(svg(tag, attributes));
  }

  /** The place of what is on its way, until the beat is over. @param {Box} box */
  hole([x, y, w, h]) {
    this.node.prepend(svg("rect", { x: x - 1.5, y: y - 1.5, width: w + 3, height: h + 3, class: "hole" }));
  }

  /** A piece that can be moved. @param {Box} box */
  card([x, y, width, height], text, className = "mid sign", fill = "var(--mark)") {
    const g = this.add("g", { class: "ghost" });
    g.append(svg("rect", { x, y, width, height, fill }));
    g.appendChild(svg("text", { x: x + width / 2, y: y + height / 2 + 4, class: className })).textContent = text;
    return g;
  }

  /** A number or a name, around a point. @param {number[]} point */
  chip(text, point = [0, 0]) {
    const [x, y] = point,
      half = 3.5 * `${text}`.length + 4;
    return this.card([x - half, y - 6.5, 2 * half, 13], text);
  }

  /** Carry a number or a name along a way, or past words unseen. @param {number[][]} [points] */
  fly(text, points, isClear = true, part = 0) {
    if (!points || this.left-- <= 0) return;
    const [begin, end] = [points[0], points[points.length - 1]],
      way = isClear ? points : [begin, begin, end, end],
      frames = way.map(([x, y], i) => ({
        transform: `translate(${x}px, ${y}px)`,
        opacity: +(isClear || i % 3 === 0),
        offset: isClear ? undefined : [0, 0.5, 0.5, 1][i],
      }));
    this.run(this.chip(text), frames, this.late(part));
  }

  /** A block leaves its list, or comes back: above the chips and between tables and pools, where no words are. */
  carry(isFree, block, part) {
    const { layout, cells } = this.stage,
      { before, after } = this,
      list = (isFree ? after : before).lists.get(block),
      entry = (isFree ? before : after).entries.get(block),
      { before: room, detail, w, h } = layout.cell,
      { x, y } = cells.at[block] ?? {};
    if (!list || x === undefined) return;
    const isStrip = detail === 3,
      end = entry ? middle(entry) : [isStrip ? x - 14 : x + w / 2, y + h / 2],
      gutter = entry ? layout.left + 14 : x - room - 14,
      [from, top] = middle(list),
      lane = top - 16.5,
      way = [[from, top], [from, lane], [gutter, lane], [gutter, end[1]], end], // prettier-ignore
      isClear = (entry ? detail > 0 : isStrip && x === layout.pools[0].x) && !layout.narrow && !layout.several;
    // Who comes back to the list stays above it, until there is room.
    if (isFree === this.back) this.hole(list);
    else way.shift();
    if (entry && isFree !== this.back)
      this.hole([entry[0], entry[1], entry[2] + (layout.full ? layout.entry[1] : 0), entry[3]]);
    const isFirst = layout.isOpen && list[1] === layout.listsY; // below the tables, without words between
    this.fly(block, isFree ? way.reverse() : way, isClear && isFirst, part);
  }

  /** A request goes to another queue, between the rows. @param {State} state */
  step(request, state) {
    const [from, to] = [this.before, this.after].map(({ chips }) => chips.get(request));
    if (!from || !to) return;
    const text = short(nameText(state.first(request)), 12),
      [[x, y], [toX, toY]] = [from, to].map((box) => [box[0] + 3.5 * text.length + 4, box[1] + 8]),
      lane = y + (Math.sign(toY - y) * QUEUE) / 2,
      way = [[x, y], [x, lane], [toX, lane], [toX, toY]]; // prettier-ignore
    this.hole(this.back ? to : from);
    this.fly(text, this.back ? way.slice(1) : way.slice(0, 3), Math.abs(toY - y) < 1.5 * QUEUE);
  }

  /** A block as it looks now. */
  likeness(id) {
    const { g, x, y } = this.stage.cells.at[id] ?? {},
      like = svg("g", { transform: `translate(${x} ${y})` });
    if (g) like.append(...[...g.childNodes].map((node) => node.cloneNode(true)));
    return like;
  }

  /** A block turns to what it is at the other end of the beat. */
  fade(block) {
    const like = this.likes.get(block),
      { w: width, h: height } = this.stage.layout.cell;
    like?.prepend(svg("rect", { width, height, fill: "var(--paper)" }));
    if (like) this.run(this.node.appendChild(like), { opacity: [0, 1] }, { direction: "normal" });
  }

  /** What was in a block is copied: an outline goes to the other one, and is filled there. */
  copy(from, to) {
    const { cells, layout } = this.stage,
      { w: width, h: height } = layout.cell,
      [begin, end] = [from, to].map((id) => cells.at[id]);
    if (!begin || !end || this.left-- <= 0) return;
    if (this.back) this.hole([end.x, end.y, width, height]);
    const g = this.add("g", {}),
      inside = g.appendChild(this.likeness(from)),
      offset = 0.6;
    for (const node of inside.querySelectorAll("text:not(.word)")) node.remove();
    g.append(svg("rect", { x: begin.x, y: begin.y, width, height, class: "outline" }));
    const there = { transform: `translate(${end.x - begin.x}px, ${end.y - begin.y}px)` };
    this.run(g, [{ transform: "none" }, { ...there, offset }, there]);
    this.run(inside, [{ opacity: 0 }, { opacity: 0, offset }, { opacity: 1 }]);
  }

  /** When a block has arrived in a table, a line goes from there to where it lies. @param {any[]} wire */
  wire([, [node, d]], part) {
    const arrives = 0.35 * part + 0.5;
    if (this.back) this.run(node, { opacity: [0, 1] }, this.span(arrives, 1));
    else this.line(d, arrives, 1);
  }

  /** Entries of a table turn to other blocks, and their wires swing. @param {State} a @param {State} b */
  turn(name, a, b) {
    const { before, after, live, back } = this,
      [had = [], has = []] = [a, b].map((state) => state.tables.get(name)?.ids);
    had.forEach((id, k) => {
      const key = `${name} ${k}`,
        spot = live.of.get(key),
        [old, wire] = [before, after].map(({ wires }) => wires.get(key));
      if (has[k] === id || !(k in has) || !spot || has[k] === b.nullBlock) return;
      const chip = this.chip(back ? id : has[k], middle(spot));
      this.run(chip, { opacity: [0, 1] }, { direction: "normal", easing: "steps(2, jump-none)" });
      if (!old || !wire) return;
      live.wires.get(key)?.forEach(([node], i) => {
        this.run(node, { d: [old, wire].map((paths) => `path("${paths[i][1]}")`) });
      });
    });
  }

  /** Words come to a sequence, its table says where they belong, and they drop into the slots of that block.
   * @param {State} state @param {any[]} effect */
  write(state, [kind, block, name, first, count]) {
    const { layout, run, label } = this.stage,
      table = state.tables.get(name);
    if (layout.cell.detail < 3 || !table || run.groups.isState(name)) this.fade(block);
    this.lead(name, first, count);
    for (let i = 0; table && i < count && this.left-- > 0; i++) {
      const word = first + i < table.known ? label(table.tokens[first + i]) : "?",
        [pool, row] = slotsOf(this.stage, this.live.rows, [kind, block, name, first + i, 1]),
        begin = (0.2 * i) / count;
      if (row) this.drop(row, word, name, begin, begin + 0.2);
      if (pool) this.drop(pool, word, name, begin + 0.65, begin + 0.8);
    }
  }

  /** The table leads to the block, in which so many more slots are filled then. */
  lead(name, first, count) {
    const { back, live, stage } = this,
      size = stage.run.groups.sizeOf(name),
      key = `${name} ${Math.floor(first / size)}`,
      [[, way] = []] = live.wires.get(key) ?? [],
      entry = live.of.get(key);
    if (!way || !entry) return;
    this.line(way, 0.25, 0.65);
    const pulse = this.chip(""),
      times = this.span(0.25, 0.65);
    this.run(
      pulse,
      pointsOf(way).map(([x, y]) => ({ transform: `translate(${x}px, ${y}px)` })),
      times,
    );
    this.run(pulse, { opacity: [0, 1, 1, 0], offset: [0, 0.01, 0.99, 1] }, times); // seen on its way alone
    const [, wide] = stage.layout.entry,
      filled = this.chip((first % size) + (back ? 0 : count), middle([entry[0] + entry[2], entry[1], wide, entry[3]]));
    this.run(filled, { opacity: [0, 1] }, { ...this.span(0.8, 0.82), direction: "normal" });
  }

  /** @param {Box} box */
  drop(box, word, name, begin, end) {
    const { color, ink } = this.stage.run.look(name),
      [text, size] = this.stage.layout.cut(word, box[2] - 2),
      card = this.card(box, text, `word mid ${ink}${size}`, color),
      [x, y, width, height] = box;
    this.add("rect", { x, y, width, height, class: "outline" });
    this.run(card, { transform: ["translateY(-9px)", "none"], opacity: [0, 1] }, this.span(begin, end));
    if (this.back) this.hole(box);
  }

  /** A line grows along a way. */
  line(d, begin = 0, end = 1) {
    const line = this.add("path", { d, class: "growing", pathLength: 1 });
    this.run(line, { strokeDashoffset: [1, 0] }, this.span(begin, end));
  }

  /** The line of a copy grows towards its target, where nothing arrives yet. @param {Way | undefined} way */
  grow(way) {
    if (!way || this.left-- <= 0) return;
    if (this.back) this.run(way.node, { opacity: [0, 0] });
    this.line(`M${way.points.join("L")}`);
  }

  /** What a candidate loses is drawn back to the left. @param {Box | null} spot */
  shorten(spot) {
    if (!spot) return;
    const [x, y, width, height] = spot;
    Object.assign(this, { duration: 320, back: false });
    this.run(this.add("rect", { x, y, width, height, class: "lost" }), { transform: ["scaleX(1)", "scaleX(0)"] });
  }
}
