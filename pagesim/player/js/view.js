// The picture of one step.

import { Cells } from "./cells.js";
import { ALL, meant, nearTo } from "./crowd.js";
import { Rows } from "./rows.js";
import { drawTexture } from "./texture.js";
import { chunksText, drawChunks, drawCopies } from "./copies.js";
import { TWO_BLOCKS, isLookup, isPromise } from "./effects.js";
import { Ghosts } from "./ghosts.js";
import { HEAD, MARGIN, plan } from "./layout.js";
import { drawLegend } from "./legend.js";
import { Kernel } from "./kernel.js";
import { drawLists } from "./lists.js";
import { litSlots, marksOf } from "./marks.js";
import { arrows, drawMarks, drawWritten, outline } from "./overlay.js";
import { patterns } from "./pool.js";
import { drawQueues } from "./queues.js";
import { Spots } from "./spots.js";
import { Layer, svg } from "./svg.js";
import { drawTables } from "./tables.js";
import { drawTree } from "./tree.js";
import { drawTrace } from "./trace.js";

/** Block → the kinds of an event's effects on it, with the copies that it ended.
 * @param {PageEvent | null} event @param {State} state */
function changesOf(event, state) {
  const changed = new Map();
  for (const effect of event?.effects ?? []) {
    const kinds = (id) => changed.get(id) ?? changed.set(id, new Set()).get(id);
    if (isLookup(effect) || effect[0] === "end" || isPromise(state, effect)) continue;
    if (effect[0] === "begin") for (const [, target] of effect[4]) kinds(target).add("begin");
    else if (TWO_BLOCKS.has(effect[0])) kinds(effect[2]).add(effect[0]);
    else kinds(effect[1]).add(effect[0]);
  }
  for (const { pairs } of state.ended) {
    for (const [, target] of pairs) changed.set(target, (changed.get(target) ?? new Set()).add("end"));
  }
  return changed;
}

/** The whole picture. `draw(step, view)` shows a step; view: {selected, hideNext, slots, picks}. */
export class Stage {
  /** @param {Run} run */
  constructor(run, label, width, linked, beside = run) {
    const layout = plan(run, width, linked, beside);
    this.run = run;
    this.label = label;
    this.layout = layout;
    this.focused = 0;
    this.spots = new Spots();
    this.node = svg("svg", {
      viewBox: `0 0 ${layout.width} ${layout.height}`,
      class: layout.far ? "ps-stage far" : "ps-stage",
      role: "group",
    });
    this.node.setAttribute("aria-label", "The cache at this step: tables, pools, free lists");
    this.patterns();
    this.under = new Layer(this.node, "under");
    this.tree = new Layer(this.node, "under");
    /** @type {any} */
    this.cells = layout.contiguous ? new Rows(this, this.node) : new Cells(this, this.node);
    this.over = new Layer(this.node, "over");
    this.kernel = FILM && layout.film ? new Kernel(this, layout.film) : null;
    this.traced = new Layer(this.node, "trace");
    this.ghosts = new Ghosts(this);
    this.headings();
  }

  patterns() {
    const defs = patterns(this.node),
      five = { width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
      eight = { viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 5, markerHeight: 5, orient: "auto-start-reverse" };
    defs
      .appendChild(svg("pattern", { id: "ps-hatch", ...five }))
      .append(svg("line", { x1: 0, y1: 0, x2: 0, y2: 5, class: "hatch" }));
    for (const [id, name] of [["ps-head", "arrowhead"], ...(this.run.perChunk ? [["ps-way", "wayhead"]] : [])]) {
      defs.appendChild(svg("marker", { id, ...eight })).append(svg("path", { d: "M0 0L8 4L0 8z", class: name }));
    }
  }

  headings() {
    const { layout, run } = this,
      { full, left, pools, contiguous, cell, film } = layout;
    this.heads = []; // of the pools: their nodes, words and numbers of blocks
    const put = (x, y, className, text) => {
      const node = this.node.appendChild(svg("text", { x, y, class: className }));
      node.textContent = text;
      return node;
    };
    put(
      film ? film.x : MARGIN,
      15,
      "heading",
      FILM && film
        ? "The kernel\u2019s programs, one load a step"
        : layout.several
          ? "Requests: a block table per group"
          : full
            ? "Logical blocks"
            : contiguous
              ? "Requests: one row each"
              : "Sequences: logical blocks \u2192 block table",
    );
    if (full) {
      const {
          entry: [id, filled],
        } = layout,
        x = left - id - filled;
      put(x, 15, "heading", "Block table");
      put(x + id / 2, HEAD + 13, "mid small muted", "block");
      put(x + id + filled / 2, HEAD + 13, "mid small muted", "filled");
    }
    const { header } = run,
      what = contiguous ? "memory, in slots" : "pool";
    [header.num_gpu_blocks, header.num_cpu_blocks].forEach((count, i) => {
      if (!count || (i && layout.texture)) return;
      const x = Math.min(pools[i].x - cell.before, layout.width - 84),
        tier = i && layout.per ? `: ${chunksText(run)}` : "",
        top = pools[i].y - (layout.texture ? layout.texture.height + 37 : 23),
        y = tier ? layout.bottom : top; // between the pools are the copies
      const words = `${header.pool_names[i]} ${what}${tier}`;
      this.heads.push([put(x, y, "heading", words), words, count]);
      if (cell.detail !== 3) return;
      if (!i || layout.narrow) put(pools[i].x - 7, y + 16, "end small muted", "block"); // else it touches "owners"
      put(pools[i].x, y + 16, "small muted", "slots");
      put(pools[i].x + cell.w + cell.owners - 12, y + 16, "end small muted", "owners");
    });
  }

  /** The owners of each block: block → [{name, place, color, pattern}, …]. @param {State} state */
  owners(state) {
    const owners = new Array(state.total);
    for (const table of state.tables.values()) {
      const owner = { name: state.groups.owner(table.name), ...this.run.look(table.name) };
      for (const id of table.ids) {
        if (state.groups.several && id === state.nullBlock) continue; // it says nothing there
        const had = owners[id];
        if (!had) owners[id] = [owner];
        else if (had.at(-1) !== owner) had.push(owner);
      }
    }
    for (let id = this.run.perChunk ? state.numGpu : state.total; id < state.total; id++) {
      const name = state.refs[id] ? state.content[id]?.name : undefined; // who computed what is copied there
      if (name !== undefined) owners[id] = [{ name: state.groups.owner(name), ...this.run.look(name) }];
    }
    return owners;
  }

  // -- one step ----------------------------------------------------------------------------------

  /** The state of a step, or one on the way to it, when blocks can have owners that are in no table of theirs.
   * @param {View} view @param {State} state @param {Owner[][][]} also */
  draw(step, view, state = this.run.at(step), also = []) {
    const { run } = this,
      { event } = view,
      owners = this.owners(state);
    for (const more of also) more.forEach((given, id) => (owners[id] ??= state.refs[id] ? given : owners[id]));
    this.step = step;
    const changed = changesOf(event, state);
    this.pending = state.pending;
    this.ghosts.clear();
    this.spots.clear();
    const shades = marksOf(event);
    this.shade = shades[view.shade] ?? shades[0];
    this.lit = litSlots(this.shade, state.blockSize, run.events);
    this.near = nearTo(run, owners, view);
    this.cells.draw(state, owners, view, changed);
    this.cells.calm(this.near);
    if (this.layout.texture) drawTexture(this, state, owners, changed);
    if (this.layout.tree && run.chains) drawTree(this, state, owners, event, changed, view);
    drawTables(this, state, event, changed, view);
    drawLists(this, state, changed, view);
    if (run.most.queued) drawQueues(this, state, event, view);
    if (run.perChunk) {
      drawChunks(this, state);
      drawCopies(this, state, event, view);
    }
    arrows(this, state, event);
    drawWritten(this, state, event);
    outline(this, changed, view);
    drawMarks(this, state);
    if (!this.kernel) drawLegend(this, state, event);
    this.under.done();
    this.tree.done();
    this.over.done();
    return state;
  }

  /** Show what belongs together with what a reader points at; returns who has colours. @param {Hit | null} hit */
  lift(hit) {
    const { cells, near } = this;
    cells.lift(cells.owners, hit?.block);
    if (!near) return null;
    const all = new Set([...near, ...meant(cells.owners, hit ?? {})]);
    cells.calm(all);
    return all;
  }

  /** Show the path of a word, as trace.js found it; null hides it. @param {Found | null} found */
  trace(found) {
    drawTrace(this, this.traced, found);
  }

  /** Of many sequences only those that a reader sees have colours. @param {Hit} hit */
  swatch(x, y, w, h, className, look, hit, name = hit.seq) {
    const { color, pattern } = this.near?.has(name ?? "") === false ? ALL : look;
    this.under.rect(x, y, w, h, className, color, hit);
    if (pattern) this.under.rect(x, y, w, h, className, pattern, hit);
  }
}
