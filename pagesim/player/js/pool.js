// The memory of one run as a map in which every slot has the same area, whatever a block is: two runs
// on the same memory can be compared by eye. One path for all that a request holds, however many slots.

import { ALL } from "./crowd.js";
import { PATTERNS } from "./model.js";
import { Layer, svg } from "./svg.js";

const TALLEST = 210,
  GAP = 2; // between blocks; contiguous memory has none

/** The patterns of further sequences, in a picture that may be alone on a page. */
export function patterns(node) {
  const defs = node.appendChild(svg("defs"));
  PATTERNS.forEach((d, i) => {
    if (!i) return;
    const size = { width: 5, height: 5, patternUnits: "userSpaceOnUse" },
      pattern = defs.appendChild(svg("pattern", { id: `ps-round-${i}`, ...size }));
    pattern.append(svg("path", { d, class: "hatch", "stroke-opacity": 0.5 }));
  });
  return defs;
}

/** Rows and columns of cells with so many slots each, so that both runs have the same. */
export function gridOf(slots, perCell, width) {
  const cells = Math.ceil(slots / perCell);
  let columns = 16;
  const heightAt = (count) => Math.ceil(cells / count) * Math.min((width / count) * 0.62, 22);
  while (columns < cells && heightAt(columns) > TALLEST) columns += 16;
  const w = (width - 1.5) / Math.min(columns, cells),
    h = Math.min(w * 0.62, 22);
  return { columns: Math.min(columns, cells), w, h, cells, perCell, height: Math.ceil(cells / columns) * h };
}

export class Pool {
  /** @param {Run} run */
  constructor(run, width, grid) {
    this.run = run;
    this.grid = grid;
    this.contiguous = run.header.lists[0]?.[1] === "sorted";
    const { numGpu, usable, nullBlock, blockSize } = run.keyframes[0];
    this.skipped = usable < numGpu ? nullBlock : null; // V1's null block holds nothing
    this.node = svg("svg", { viewBox: `0 0 ${width} ${grid.height + 2}`, class: "ps-pool", role: "img" });
    patterns(this.node);
    const all = usable * blockSize,
      each = grid.perCell * (this.contiguous ? grid.columns : 1),
      d = Array.from({ length: Math.ceil(all / each) }, (_, i) => this.box(i * each, Math.min((i + 1) * each, all)));
    this.node.append(svg("path", { d: d.join(""), class: "cell" }));
    this.layer = new Layer(this.node, "map");
  }

  /** The outline of some slots in a row of addresses, row by row of the picture. */
  box(from, to) {
    const { columns, perCell, w, h } = this.grid,
      row = columns * perCell,
      gap = this.contiguous ? 0 : Math.min(GAP, w / 6);
    let d = "";
    for (let at = from; at < to;) {
      const y = Math.floor(at / row),
        end = Math.min(to, (y + 1) * row),
        // Blocks leave a gap after each other, which slots in a block do not.
        x = ((at - y * row) / perCell) * w,
        wide = Math.max(((end - at) / perCell) * (w - gap), 0.4),
        off = gap ? (x % w) * (gap / w) : 0;
      const high = (h - Math.min(GAP, h / 4)).toFixed(1);
      d += `M${(x - off + 0.5).toFixed(1)} ${(y * h + 0.5).toFixed(1)}`;
      d += `h${wide.toFixed(1)}v${high}h${(-wide).toFixed(1)}z`;
      at = end;
    }
    return d;
  }

  /** Where the slots of a block begin in the picture. */
  slotOf(state, id) {
    return (id - Number(this.skipped !== null && id > this.skipped)) * state.blockSize;
  }

  /** What a table holds, and what of it is written: stretches of addresses, joined where they touch. */
  stretches(state, ids) {
    const held = [],
      written = [],
      add = (all, from, to) => {
        const last = all.at(-1);
        if (this.contiguous && last?.[1] === from) last[1] = to;
        else all.push([from, to]);
      };
    for (const id of ids) {
      if (id >= state.numGpu || id === state.nullBlock) continue;
      const from = this.slotOf(state, id),
        filled = state.part(id) * state.blockSize;
      add(held, from, from + state.blockSize);
      if (filled) add(written, from, from + filled);
    }
    return { held, written };
  }

  /** Returns how many percent are a cache that nobody uses. @param {State} state */
  draw(state) {
    const { layer, run } = this,
      path = (all) => all.map(([from, to]) => this.box(from, to)).join(""),
      drawn = new Set();
    for (const table of state.tables.values()) {
      const own = table.ids.filter((id) => !drawn.has(id)); // a shared block once, as its first owner's
      own.forEach((id) => drawn.add(id));
      const { held, written } = this.stretches(state, own),
        { color, pattern } = run.isCrowd ? ALL : run.look(table.name);
      if (!held.length) continue;
      const all = path(held),
        full = path(written);
      layer.path(all, "ground", "none", "var(--paper)");
      layer.path(all, "share-kept", "none", color);
      layer.path(full, "", "none", color);
      if (pattern) layer.path(full, "", "none", pattern);
      layer.path(all, "outline");
    }
    const idle = [...state.flags.keys()].filter((id) => id < state.numGpu && state.isIdle(id));
    const whole = (id) => [this.slotOf(state, id), this.slotOf(state, id) + state.blockSize];
    if (idle.length) layer.path(path(idle.map(whole)), "idle");
    layer.done();
    return (100 * idle.length) / state.usable;
  }
}
