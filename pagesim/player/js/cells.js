// The pools: one cell per block, repainted only when its look changes. Of a large pool a part has cells.

import { box } from "./field.js";
import { SIGNED, chunkGap } from "./layout.js";
import { inkOn, paleness } from "./marks.js";
import { Recycler, svg } from "./svg.js";
import { isSelected } from "./tables.js";
import { cellText, nameText, namesOf, short } from "./text.js";

/** The width of a frame around the letter of a group. */
const letterWidth = (letter) => 5 + 8.5 * letter.length;
/** Whether cells have room for the letters of all groups. @param {Sizes} cell @param {Groups} groups */
export const hasLetters = ({ w, h, detail }, groups) =>
  detail > 0 || (h >= 14 && groups.list.every(({ letter }) => w >= letterWidth(letter)));

/** The path of a frame within a rectangle. */
export const ring = (x, y, width, height, by) =>
  `${box(x, y, width, height)}M${x + by} ${y + by}v${height - 2 * by}h${width - 2 * by}v${2 * by - height}z`;

const NAMED = 13; // from this height on a small cell has room for a name

export class Cells {
  /** The cells are children of `parent`; `at` has them by block. @param {Stage} stage */
  constructor(stage, parent) {
    const { layout, run } = stage,
      { cell, pools } = layout,
      gpu = run.header.num_gpu_blocks;
    this.stage = stage;
    this.total = gpu + run.header.num_cpu_blocks;
    this.signs = new Set(); // of this step: numbers that stand for names, and "last"
    /** @type {Changed} */
    this.changed = new Map();
    /** @type {[number, number] | undefined} */
    this.reached = undefined; // in which step the keyboard reached which block
    /** @type {any[]} */
    this.all = [];
    this.shown = layout.texture?.shown ?? this.total;
    const groups = run.header.pool_names.map((name) => svg("g", { role: "group", "aria-label": `${name} pool` }));
    for (let id = 0; id < this.shown; id++) {
      const pool = +(id >= gpu && !layout.texture),
        index = pool ? id - gpu : id,
        { columns } = pools[pool];
      const aside = pool && layout.per ? Math.floor((index % columns) / layout.per) * chunkGap(layout.per) : 0;
      const x = pools[pool].x + (index % columns) * (cell.w + cell.gx) + aside;
      const y = pools[pool].y + Math.floor(index / columns) * (cell.h + cell.gy);
      const g = svg("g", { transform: `translate(${x} ${y})`, class: "ps-cell" });
      const edge = svg("rect", { width: cell.w, height: cell.h, role: "button" });
      g.append(edge);
      groups[pool].append(g);
      this.all.push({
        x,
        y,
        g,
        edge,
        first: index % columns === 0,
        key: "",
        fills: new Recycler(g, "path", edge),
        texts: new Recycler(g, "text"),
      });
    }
    this.node = groups[0];
    parent.append(...groups.filter((group) => group.firstChild));
    this.show(0);
  }

  /** The cells are those of the blocks from this one on. */
  show(from) {
    if (from === this.from) return;
    this.from = from;
    /** @type {any[]} */
    this.at = []; // by block
    this.all.forEach((cell, i) => {
      const id = from + i,
        { g, edge } = cell;
      cell.id = id;
      cell.key = "";
      g.hit = edge.hit = { block: id };
      g.setAttribute("data-block", id);
      edge.setAttribute("tabindex", i ? -1 : 0);
      const there = id < this.total;
      g.style.display = there ? "" : "none";
      if (there) this.at[id] = cell;
    });
  }

  /** Of a large pool the part is shown that a reader is in, or that has most of what a step changed.
   * @param {View} view @param {Changed} changed */
  turn({ selected }, changed) {
    if (this.shown === this.total) return;
    const { step } = this.stage,
      pageOf = (id) => id - (id % this.shown),
      pages = new Map();
    for (const id of changed.keys()) pages.set(pageOf(id), (pages.get(pageOf(id)) ?? 0) + 1);
    const [page] = [...pages].sort((a, b) => b[1] - a[1]);
    if (selected?.kind === "block" && selected !== this.followed) this.reached = [step, selected.value];
    this.followed = selected;
    if (this.reached?.[0] === step) this.show(pageOf(this.reached[1]));
    else if (selected?.kind === "block") this.show(pageOf(selected.value));
    else if (page) this.show(page[0]);
  }

  /** The way from a block to another: a large pool is turned to it, and must be drawn again.
   * @param {Hit} hit */
  walk({ block = 0 }, dx, dy, redraw) {
    const { layout, run } = this.stage,
      pool = +(block >= run.header.num_gpu_blocks && !layout.texture),
      id = block + dx + dy * layout.pools[pool].columns;
    if (id >= 0 && id < this.total && !this.at[id]) {
      this.reached = [this.stage.step, id];
      redraw();
    }
    this.at[id]?.edge.focus();
  }

  /** Where names have no room, a reader who points at a block sees what else its owners have.
   * @param {Owner[][] | null} owners */
  lift(owners, block) {
    const { cell } = this.stage.layout;
    if (cell.detail || (cell.h >= NAMED && cell.w >= 2 * NAMED)) return;
    const names = owners?.[block]?.map(({ name }) => name),
      shares = (id) => owners?.[id]?.some(({ name }) => names?.includes(name));
    for (const { id, g } of this.all) g.classList.toggle("faint", !!names?.length && !shares(id));
  }

  /** Of many sequences only these have their colours; null: there are few. @param {Set<Name> | null} near */
  calm(near) {
    if (near) this.at.forEach(({ g, whose }) => g.classList.toggle("calm", !whose.some((name) => near.has(name))));
  }

  /** @param {State} state @param {Owner[][]} owners @param {View} view @param {Changed} changed */
  draw(state, owners, view, changed) {
    this.turn(view, changed);
    this.owners = owners;
    this.signs.clear();
    this.changed = changed;
    this.at.forEach((cell) => this.paint(cell, state, owners[cell.id] ?? [], view));
  }

  /** What a cell looks like, as a string: the cell is painted when it changes.
   * @param {State} state @param {Owner[]} owners */
  paint(cell, state, owners, { selected, slots }) {
    const { id } = cell,
      { layout, label } = this.stage,
      { detail } = layout.cell;
    const refs = state.refs[id],
      waiting = state.isIdle(id),
      isNull = id === state.nullBlock;
    const group = isNull || !(refs || waiting) ? undefined : state.groups.list[state.group[id]];
    const size = group?.size ?? state.blockSize;
    const job = this.stage.pending.get(id);
    const last = state.lastOwner(id),
      code = owners.length === 1 && !state.groups.several && !this.isSigned(cell) ? this.code(owners[0]) : null;
    const isNear = (name) => !this.stage.near || this.stage.near.has(name);
    if (last !== undefined && isNear(last)) this.signs.add("last");
    cell.whose = [...owners.map(({ name }) => name), last];
    if (code && code !== nameText(owners[0].name) && isNear(owners[0].name)) this.signs.add(code);
    const look = {
      job: job && state.first(job.request),
      last,
      code,
      group,
      size,
      letter: group && state.groups.several ? group.letter : "",
      after: state.stateIn(id),
      refs,
      waiting,
      isNull,
      fill: refs || waiting ? state.fill[id] : 0,
      cached: state.isCached(id),
      computed: state.isComputed(id),
      dim: selected !== null && !isSelected(selected, id, owners),
      chosen: selected?.kind === "block" && selected.value === id,
      slots: slots && detail === 3,
      lit: Array.from({ length: this.stage.lit.size && size }, (_, i) => this.stage.lit.get(id * state.blockSize + i)),
      words: detail > 1 && !job && (refs || waiting) ? state.tokensIn(id).map(label) : [],
    };
    for (let i = refs && detail > 1 && !job ? state.unknownIn(id) : 0; i > 0; i--) look.words.push("?");
    let key = Object.values(look).join();
    for (const owner of owners) key += `,${owner.place}`;
    if (cell.key === key) return;
    cell.key = key;
    this.fill(cell, state, owners, look);
    this.shade(cell, look.lit);
    if (look.computed) this.corner(cell, "mark", 1);
    if (look.cached) this.corner(cell, "mark hollow", 0);
    const { w, h } = layout.cell;
    if (isNull) cell.fills.next({ d: `M0 0L${w} ${h}M${w} 0L0 ${h}`, class: "cross", fill: "none" });
    cell.edge.setAttribute("class", `edge${refs > 1 ? " shared" : refs || look.waiting || isNull ? "" : " free"}`);
    cell.g.setAttribute("class", look.dim ? "ps-cell dim" : "ps-cell");
    cell.edge.setAttribute("aria-pressed", look.chosen);
    if (look.letter) this.letter(cell, look);
    cell.fills.done();
    if (detail === 3) this.strip(cell, state, owners, look);
    else if (detail) this.texts(cell, owners, look);
    else {
      if (cell.first && h >= 9) this.put(cell, -4, h - 3, "end tiny muted", `${id}`);
      const part = (look.fill / size) * h; // the letters are in the middle, on the fill, above it, or on both
      const ink =
        look.lit.length || (part > h / 2 - 5 && part < h / 2 + 5) ? "halo" : part < h / 2 ? "" : owners[0]?.ink;
      if (code) this.put(cell, w / 2, h / 2 + 4, `code mid tiny ${ink}`, code);
    }
    cell.edge.setAttribute("aria-label", cellText(cell, namesOf(owners, look), look, detail));
    cell.texts.done();
  }

  /** The slots with tokens in the colours of the owners: stacked in a strip, side by side in a box.
   * @param {any} cell @param {State} state @param {Owner[]} owners */
  fill({ id, fills }, state, owners, { refs, waiting, isNull, fill, size, group, job, last }) {
    const {
        cell: { w, h, detail },
      } = this.stage.layout,
      across = detail === 3;
    const filled = ((across ? w : h) * fill) / size;
    const colors = isNull || owners.length === 0 ? [null] : owners.slice(0, 6);
    if (job !== undefined) {
      const d = box(0, 0, w, h); // all of it is promised, nothing is there yet
      fills.next({ d, class: "reserved", fill: this.stage.run.look(job).color });
      fills.next({ d, class: "hatched", fill: "url(#ps-hatch)" });
      return;
    }
    if ((refs || waiting) && (filled || isNull || owners.length === 0)) {
      const each = (across ? h : w) / colors.length,
        whole = isNull || !filled;
      colors.forEach((owner, i) => {
        const d = across
          ? box(0, i * each, whole ? w : filled, each)
          : box(i * each, whole ? 0 : h - filled, each, whole ? h : filled);
        fills.next({ d, class: owner ? "own" : waiting ? "waiting" : "held", fill: owner ? owner.color : "none" });
        if (owner?.pattern) fills.next({ d, class: "round", fill: owner.pattern });
      });
    }
    if (last !== undefined) {
      const by = h < 12 ? 1 : 2,
        d = ring(by, by, w - 2 * by, h - 2 * by, by),
        { color, pattern } = this.stage.run.look(last);
      for (const paint of [color, pattern]) if (paint) fills.next({ d, class: "last", fill: paint });
    }
    if (id >= state.numGpu && filled && !state.perChunk) {
      const d = across ? box(0, 0, filled, h) : box(0, h - filled, w, filled);
      fills.next({ d, class: "hatched", fill: "url(#ps-hatch)" });
    }
    if (detail !== 3) return;
    const slot = w / size; // all blocks are as wide
    let ticks = "";
    if (group ? !group.state : !state.groups.several) {
      for (let i = 1; i < size; i++) ticks += `M${i * slot} 0v${h}`;
    }
    if (ticks) fills.next({ d: ticks, class: "ticks", fill: "none" });
  }

  /** What a mark says about each slot: its colour is as full as its share, and in a strip a bar is as long. */
  shade({ fills }, lit) {
    const { w, h, detail } = this.stage.layout.cell,
      high = h / lit.length,
      wide = w / lit.length,
      put = (d, name) => fills.next({ d, class: name, fill: "none" });
    if (lit.length && lit.every((part) => part === undefined)) put(box(0, 0, w, h), paleness());
    else {
      lit.forEach((part, i) => {
        put(detail === 3 ? box(i * wide, 0, wide, h) : box(0, h - (i + 1) * high, w, high), paleness(part));
        if (detail === 3 && part) put(box(i * wide + 1, h - 3.5, (wide - 2) * part, 3), "weight");
      });
    }
  }

  corner({ fills }, className, low) {
    const { w, h } = this.stage.layout.cell,
      mark = Math.max(Math.min(h * 0.3, 9), 2.5);
    fills.next({
      d: low ? `M${w} ${h}h${-mark}l${mark} ${-mark}z` : `M${w} 0h${-mark}l${mark} ${mark}z`,
      class: className,
      fill: "none",
    });
  }

  /** The letter of the block's group, in a frame of its own; a sign for its kind where there is no room.
   * @param {any} cell @param {Face} look */
  letter(cell, { letter, group }) {
    const { w, h, detail } = this.stage.layout.cell,
      wide = letterWidth(letter);
    const beside = detail === 1 && this.isBeside(letter);
    const low = detail === 2 ? h - 20 : h - 13; // above the signs of a step
    const [x, y, high] = detail === 3 ? [-3 - wide, h / 2 - 6.5, 13] : beside ? [0, 0, h] : [0, low, 13];
    if (detail) {
      cell.fills.next({ d: box(x, y, wide, high), class: "tag", fill: "none" });
      this.put(cell, x + wide / 2, y + high / 2 + 4, "mid strong", letter);
    } else if (hasLetters(this.stage.layout.cell, this.stage.run.groups))
      this.put(cell, w / 2, h / 2 + 4, "mid strong halo", letter);
    else if (group?.state) cell.fills.next({ d: box(w / 3, h / 3, w / 3, h / 3), class: "kind", fill: "none" });
    else if (group?.window) cell.fills.next({ d: box(0, 0, w / 4, h), class: "kind", fill: "none" });
  }

  /** Whether small boxes have room for their numbers beside the letter. */
  isBeside(letter) {
    const { fits, cell } = this.stage.layout;
    return letter !== "" && fits(`${this.total - 1}`, cell.w - letterWidth(letter) - 3) === "";
  }

  /** Whether the signs of this step are drawn over a cell: it is the last one in its frame. */
  isSigned({ id, y }) {
    const kinds = this.changed.get(id),
      next = this.at[id + 1]?.y === y && this.changed.get(id + 1);
    return this.stage.layout.cell.h >= SIGNED && kinds && `${[...kinds]}` !== `${[...(next || [])]}`;
  }

  /** A name, or only the number in it, where a small cell has room for it.
   * @param {Owner} owner */
  code({ name }) {
    const {
      fits,
      cell: { w, h, detail },
    } = this.stage.layout;
    for (const text of h < (detail ? 2 * NAMED : NAMED) || detail > 1
      ? []
      : [nameText(name), ...(typeof name === "number" ? [`${name}`] : [])]) {
      if (fits(text, w - 1) !== null) return text;
    }
    return null;
  }

  put(cell, x, y, className, text) {
    const node = cell.texts.next({ x, y, class: className, "aria-hidden": true }); // the cell's name says it
    if (node.now.text !== text) node.textContent = node.now.text = text;
  }

  /** A strip: the id before it, a word in each slot, the owners after it.
   * @param {State} state @param {Owner[]} owners @param {Face} look */
  strip(cell, state, owners, look) {
    const { cut, em, fits, cell: place } = this.stage.layout,
      { w, h, owners: behind } = place,
      { id } = cell,
      { refs, after } = look,
      slot = w / look.size;
    const middle = h / 2 + 4;
    this.put(
      cell,
      look.letter ? -7 - letterWidth(look.letter) : -7,
      middle,
      refs || look.waiting ? "id end strong" : "id end muted",
      `${id}`,
    );
    if (after !== undefined && look.group) {
      const text = fits(`state after ${after} tokens`, w - 4) === "" ? `state after ${after} tokens` : `after ${after}`;
      this.put(cell, w / 2, middle, `word mid ${owners.length === 1 ? owners[0].ink : "halo"}`, text);
    }
    for (let i = 0; i < look.size && !look.group?.state; i++) {
      const number = `${id * state.blockSize + i}`,
        word = look.slots ? number : look.words[i];
      const [shown, size] = cut(look.isNull ? "" : `${word ?? ""}`, slot - 2);
      if (!shown) continue;
      const plain = look.slots ? i >= look.fill : false;
      const own = owners.length === 1 && id < state.numGpu && !plain && !this.stage.near ? owners[0].ink : "halo",
        ink = look.lit.length ? inkOn(look.lit[i], own) : own;
      this.put(cell, (i + 0.5) * slot, middle, `word mid ${plain ? "muted" : ink}${size}`, shown);
    }
    const names = namesOf(owners, look),
      times = `\u00d7${refs}`,
      room = behind - 46; // beside three signs of a step
    const text = fits(names, room) === null ? (refs > 1 ? times : short(names, Math.floor(room / em))) : names;
    if (text) this.put(cell, w + behind - 12, middle, `end${refs > 1 ? " strong" : ""}${fits(text, room) ?? ""}`, text);
  }

  /** A box: the id, its owners, and the words where there is room for them.
   * @param {Owner[]} owners @param {Face} look */
  texts(cell, owners, look) {
    const {
        fits,
        cell: { w, h, detail },
      } = this.stage.layout,
      { id } = cell,
      { refs, waiting } = look;
    const used = refs || waiting,
      times = refs > 1 ? `\u00d7${refs}` : "";
    if (detail === 1) {
      const beside = this.isBeside(look.letter),
        y = look.code ? h / 2 - 2 : look.letter && !beside ? h / 2 - 1 : h / 2 + 4;
      if (look.code) this.put(cell, w / 2, h - 3, "code mid tiny halo", look.code);
      this.put(
        cell,
        beside ? (w + letterWidth(look.letter)) / 2 : w / 2,
        y,
        used ? "id mid strong halo" : "id mid muted",
        `${id}`,
      );
      const room = h >= 28 || `${id}`.length * 4 + 16 <= w / 2; // else the thick edge says it
      if (times && room && !this.stage.layout.per) this.put(cell, w - 2, 9, "tiny end halo", times);
      return;
    }
    this.put(cell, 4, 13, used ? "id strong halo" : "id muted", `${id}`);
    if (times) this.put(cell, w - 11, 13, "strong end halo", times);
    const names = namesOf(owners, look),
      aside = look.letter ? letterWidth(look.letter) : 0,
      size = fits(names, w - aside - 4);
    if (names && size !== null) this.put(cell, (w + aside) / 2, h - 7, `mid halo${size}`, names);
    const words = look.after === undefined || !look.group ? look.words.join(" ") : `after ${look.after}`,
      room = fits(words, w - 6);
    if (words && room !== null && h >= 48) this.put(cell, w / 2, h / 2 + 4, `word mid halo${room}`, words);
  }
}
