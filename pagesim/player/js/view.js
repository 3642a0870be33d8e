// The picture of one step.

import { HEAD, MARGIN, QUEUE, WIDTH, plan } from "./layout.js";
import { PATTERNS, TWO_BLOCKS } from "./model.js";
import { drawQueues } from "./queues.js";
import { Layer, Recycler, sizeFor, svg } from "./svg.js";
import { drawTables, isSelected } from "./tables.js";
import { marked } from "./marks.js";
import { CHANGES, nameText, short } from "./text.js";

/** Block → the kinds of what an event did to it. */
function changesOf(event) {
  const changed = new Map();
  for (const effect of event?.effects ?? []) {
    const kinds = (id) => changed.get(id) ?? changed.set(id, new Set()).get(id);
    if (TWO_BLOCKS.has(effect[0])) kinds(effect[2]).add(effect[0]);
    else kinds(effect[1]).add(effect[0]);
  }
  return changed;
}

/** The whole picture. `draw(step, view)` shows a step; view: {selected, hideNext}. */
export class Stage {
  constructor(run, label) {
    const layout = plan(run);
    Object.assign(this, { run, label, layout, cells: [], focused: 0 });
    this.strips = this.planStrips();
    this.height = HEAD + layout.body + this.strips.height + 24;
    this.node = svg("svg", { viewBox: `0 0 ${WIDTH} ${this.height}`, class: "ps-stage", role: "group" });
    this.node.setAttribute("aria-label", "The cache at this step: tables, pools, free lists");
    this.patterns();
    this.under = new Layer(this.node, "under");
    this.pools();
    this.over = new Layer(this.node, "over");
    this.headings();
  }

  patterns() {
    const defs = this.node.appendChild(svg("defs"));
    PATTERNS.forEach((d, round) => {
      if (!round) return;
      const lines = defs.appendChild(svg("pattern", { id: `ps-round-${round}`, width: 5, height: 5,
        patternUnits: "userSpaceOnUse" }));
      lines.append(svg("path", { d, class: "hatch" }));
    });
    const stripes = defs.appendChild(svg("pattern", { id: "ps-hatch", width: 5, height: 5,
      patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }));
    stripes.append(svg("line", { x1: 0, y1: 0, x2: 0, y2: 5, class: "hatch" }));
    const head = defs.appendChild(svg("marker", { id: "ps-head", viewBox: "0 0 8 8", refX: 7, refY: 4,
      markerWidth: 5, markerHeight: 5, orient: "auto-start-reverse" }));
    head.append(svg("path", { d: "M0 0L8 4L0 8z", class: "arrowhead" }));
  }

  /** Which lists there are, and how many rows each may take. */
  planStrips() {
    const { header, most, inUse } = this.run;
    const front = (order, i) => (order === "sorted" ? "" : i ? "front" : "next");
    const lists = header.lists.map(([name, order], i) => [name, (s) => s.idsIn(i), front(order, i)])
      .filter((_, i) => i === 0 || inUse.has(i));
    const queued = most.queued ? header.queues.length * QUEUE + 6 : 0;
    return { lists, height: lists.length * 32 + queued + 8 };
  }

  headings() {
    const { layout, run } = this;
    const title = (x, text) => {
      const node = this.node.appendChild(svg("text", { x, y: 15, class: "heading" }));
      node.textContent = text;
    };
    title(MARGIN, layout.full ? "Logical blocks" : "Sequences: logical blocks \u2192 block table");
    if (layout.full) {
      title(layout.left - 66, "Block table");
      [["block", 17], ["filled", 50]].forEach(([text, dx]) => {
        const at = { x: layout.left - 66 + dx, y: HEAD + 13, class: "mid small muted" };
        this.node.appendChild(svg("text", at)).textContent = text;
      });
    }
    if (run.header.num_gpu_blocks) title(layout.poolsX, `${run.header.pool_names[0]} pool`);
    if (run.header.num_cpu_blocks) title(layout.cpuX, `${run.header.pool_names[1]} pool`);
    if (layout.cell.detail || layout.cell.h < 9) return;
    for (const cell of this.cells) { // too small for ids: at least where each row begins
      const first = cell.id < run.header.num_gpu_blocks ? layout.poolsX : layout.cpuX;
      if (cell.x !== first) continue;
      const y = cell.y + layout.cell.h - 3;
      const node = this.node.appendChild(svg("text", { x: cell.x - 4, y, class: "end tiny muted" }));
      node.textContent = cell.id;
    }
  }

  // -- the pools: one group a block, updated only where it looks different -----------------------

  pools() {
    const { cell, poolsX, cpuX } = this.layout, gpu = this.run.header.num_gpu_blocks;
    const total = gpu + this.run.header.num_cpu_blocks;
    const groups = this.run.header.pool_names.map((name) => svg("g", { role: "group", "aria-label": `${name} pool` }));
    for (let id = 0; id < total; id++) {
      const cpu = id >= gpu, index = cpu ? id - gpu : id, columns = cpu ? cell.c : cell.g;
      const x = (cpu ? cpuX : poolsX) + (index % columns) * (cell.w + cell.gx);
      const y = HEAD + 12 + Math.floor(index / columns) * (cell.h + cell.gy);
      const g = svg("g", { transform: `translate(${x} ${y})`, class: "ps-cell", "data-block": id,
        role: "button", tabindex: id === 0 ? 0 : -1, "aria-label": `block ${id}` });
      const edge = svg("rect", { width: cell.w, height: cell.h, class: "edge" });
      g.append(edge);
      g.hit = edge.hit = { block: id };
      groups[+cpu].append(g);
      this.cells.push({ id, x, y, g, edge, key: "", fills: new Recycler(g, "path", edge),
        texts: new Recycler(g, "text") });
    }
    this.node.append(...groups);
  }

  /** Who holds which block: block → [{name, place, color, pattern}, …]. */
  owners(state) {
    const owners = new Array(state.total);
    for (const table of state.tables.values()) {
      const owner = { name: table.name, ...this.run.look(table.name) };
      for (const id of table.ids) {
        const had = owners[id];
        if (!had) owners[id] = [owner];
        else if (had.at(-1) !== owner) had.push(owner);
      }
    }
    return owners;
  }

  paintCell(cell, state, owners, selected) {
    const { id } = cell, refs = state.refs[id], waiting = state.isIdle(id);
    const isNull = id === state.nullBlock;
    const fill = refs || waiting ? state.fill[id] : 0;
    const cached = state.isCached(id), computed = state.isComputed(id);
    let key = `${fill},${refs},${waiting},${cached},${computed},${isNull}`;
    for (const owner of owners) key += `,${owner.place}`;
    const dim = selected !== null && !isSelected(selected, id, owners);
    if (cell.key === `${key}${dim}`) return;
    cell.key = `${key}${dim}`;
    const { w, h, detail } = this.layout.cell, { fills, texts } = cell;
    const high = (h * fill) / state.blockSize;
    const box = (x, y, width, height) => `M${x} ${y}h${width}v${height}h${-width}z`;
    const colors = isNull || owners.length === 0 ? [null] : owners.slice(0, 6);
    if ((refs || waiting) && (high || isNull || owners.length === 0)) {
      const each = w / colors.length, tall = isNull || !high ? h : high;
      colors.forEach((owner, i) => {
        const d = box(i * each, h - tall, each, tall);
        fills.next({ d, class: owner ? "" : waiting ? "waiting" : "held", fill: owner ? owner.color : "none" });
        if (owner?.pattern && detail < 2) fills.next({ d, class: "round", fill: owner.pattern }); // it has no name
      });
    }
    if (cell.id >= state.numGpu && high) {
      fills.next({ d: box(0, h - high, w, high), class: "hatched", fill: "url(#ps-hatch)" });
    }
    const mark = Math.max(Math.min(h * 0.3, 9), 2.5);
    if (computed) fills.next({ d: `M${w} ${h}h${-mark}l${mark} ${-mark}z`, class: "mark", fill: "none" });
    if (cached && !detail) {
      fills.next({ d: `M${w} 0h${-mark}l${mark} ${mark}z`, class: "mark hollow", fill: "none" });
    }
    if (isNull) fills.next({ d: `M0 0L${w} ${h}M${w} 0L0 ${h}`, class: "cross", fill: "none" });
    fills.done();
    const classes = refs > 1 ? "edge shared" : "edge";
    if (cell.edgeClass !== classes) cell.edge.setAttribute("class", cell.edgeClass = classes);
    const group = dim ? "ps-cell dim" : "ps-cell";
    if (cell.groupClass !== group) cell.g.setAttribute("class", cell.groupClass = group);
    if (detail) this.cellTexts(cell, refs, cached, owners, isNull, waiting);
    texts.done();
  }

  cellTexts(cell, refs, cached, owners, isNull, waiting) {
    const { w, h, detail } = this.layout.cell;
    const put = (x, y, className, text) => {
      const node = cell.texts.next({ x, y, class: className });
      if (node.now.text !== text) node.textContent = node.now.text = text;
    };
    const used = refs || waiting;
    if (detail === 1) {
      put(w / 2, h / 2 + 4, used ? "id mid strong halo" : "id mid muted", `${cell.id}`);
      if (refs > 1) put(w - 2, 9, "tiny end halo", `\u00d7${refs}`);
      if (cached) put(2, 9, "tiny halo", "c");
      return;
    }
    put(4, 13, used ? "id strong halo" : "id muted", `${cell.id}`);
    const times = refs > 1 ? `\u00d7${refs}` : "", both = (cached ? "c" : "") + times;
    const marks = sizeFor(both, w - 10 - 7.5 * `${cell.id}`.length) === "" ? both : times;
    if (marks) put(w - 4, 13, refs > 1 ? "strong end halo" : "end halo", marks);
    if (isNull) put(w / 2, h - 8, "mid halo", "null");
    else if (owners.length) {
      const names = owners.map((owner) => nameText(owner.name)).join(" "), size = sizeFor(names, w - 4);
      if (size !== null) put(w / 2, h - 8, `mid halo${size}`, names);
    } else if (refs) put(w / 2, h - 8, "mid halo", "held");
    else if (waiting) put(w / 2, h - 8, "mid halo", "unused");
  }

  // -- one step ----------------------------------------------------------------------------------

  draw(step, view) {
    const { run } = this, state = run.at(step);
    const event = step ? run.events[step - 1] : null;
    const owners = this.owners(state), none = [];
    for (const cell of this.cells) this.paintCell(cell, state, owners[cell.id] ?? none, view.selected);
    const changed = changesOf(event);
    drawTables(this, state, event, changed, view);
    this.drawStrips(state, event, changed, view);
    this.arrows(event);
    this.outline(changed, view);
    this.drawMarks(event, state);
    this.legend(state, event);
    this.under.done();
    this.over.done();
    return state;
  }

  swatch(x, y, w, h, className, { color, pattern }, hit) {
    this.under.rect(x, y, w, h, className, color, hit);
    if (pattern) this.under.rect(x, y, w, h, className, pattern, hit);
  }

  drawStrips(state, event, changed, view) {
    const layer = this.under, label = 92;
    let y = HEAD + this.layout.body + 14;
    for (const [name, read, front] of this.strips.lists) {
      const ids = read(state);
      layer.text(MARGIN, y + 12, short(name, 15), "strong");
      layer.text(MARGIN + label, y - 5, ids.length && !view.hideNext ? `\u25be ${front}` : "", "strong small");
      if (!ids.length) layer.text(MARGIN + label, y + 12, "empty", "muted");
      const width = `${state.total - 1}`.length * 6.5 + 9;
      const most = Math.floor((WIDTH - 2 * MARGIN - label - 40) / (width + 2));
      ids.slice(0, most).forEach((id, i) => {
        const x = MARGIN + label + i * (width + 2), pick = { block: id };
        layer.rect(x, y, width, 16, i || view.hideNext ? "thin" : "thick", "transparent", pick);
        layer.text(x + width / 2, y + 12, `${id}`, i || view.hideNext ? "mid" : "mid strong", pick);
        if (changed.has(id)) this.over.rect(x - 2, y - 2, width + 4, 20, "frame");
        if (view.selected?.kind === "block" && view.selected.value === id) layer.rect(x, y, width, 16, "chosen");
      });
      if (ids.length > most) {
        layer.text(MARGIN + label + most * (width + 2) + 4, y + 12, `+${ids.length - most}`, "muted");
      }
      y += 32;
    }
    if (this.run.most.queued) drawQueues(this, state, event, view, y);
  }

  /** Dashed frames around what this step changed, with the sign or the word for how. */
  outline(changed, { selected, picks }) {
    const { w, h, detail } = this.layout.cell;
    for (const id of selected?.kind === "block" ? [...picks, selected.value] : picks) {
      const cell = this.cells[id];
      if (cell) this.over.rect(cell.x - 1, cell.y - 1, w + 2, h + 2, "chosen");
    }
    for (const [id, kinds] of changed) {
      const cell = this.cells[id];
      if (!cell) continue;
      this.over.rect(cell.x - 2.6, cell.y - 2.6, w + 5.2, h + 5.2, "frame");
      const signs = [...kinds].map((kind) => CHANGES.get(kind)[0]).join("");
      if (h < 14) continue; // no room: the list under the caption names them
      const wide = signs.length * 8 + 4;
      this.over.ground(cell.x + w - wide + 5, cell.y + h - 6, wide, 12, "badge");
      this.over.text(cell.x + w + 5 - wide / 2, cell.y + h + 3.5, signs, detail ? "mid sign" : "mid sign tiny");
    }
  }

  /** What the step's first mark says of each block, in its lower left corner. */
  drawMarks(event, state) {
    const { h } = this.layout.cell;
    if (h < 14) return; // no room: the line under the picture tells it
    for (const [id, text] of marked(event, state.blockSize)) {
      const cell = this.cells[id], wide = text.length * 6.4 + 4;
      if (!cell) continue;
      this.over.ground(cell.x - 5, cell.y + h - 6, wide, 12, "badge");
      this.over.text(cell.x - 5 + wide / 2, cell.y + h + 3.5, text, "mid sign tiny");
    }
  }

  /** A copy or a swap as an arrow from block to block: along the gaps between the cells. */
  arrows(event) {
    const { w, h, gx, gy } = this.layout.cell;
    const pairs = (event?.effects ?? []).filter((effect) => TWO_BLOCKS.has(effect[0]));
    pairs.forEach(([, a, b], i) => {
      const from = this.cells[a], to = this.cells[b], aside = (i % 3) * Math.min(gy / 12, 2);
      const lane = (cell) => (cell.y + h + gy * 0.22 + aside).toFixed(1);
      const across = from.y === to.y ? "" : `H${to.x - gx / 2 - aside}V${lane(to)}`;
      const d = `M${from.x + w * 0.75} ${from.y + h - 3}V${lane(from)}${across}H${to.x + w * 0.25}V${to.y + h - 1}`;
      this.over.path(d, "arrow-edge");
      this.over.path(d, "arrow");
    });
  }

  legend(state, event) {
    const layer = this.under, y = this.height - 18, caching = this.run.header.caching;
    let x = MARGIN;
    const entry = (text, paint) => {
      paint(x, y);
      layer.text(x + 18, y + 10, text, "muted small");
      x += 34 + text.length * 5.3;
    };
    const box = (className, fill = "none") => (bx, by) => layer.rect(bx, by, 12, 11, className, fill);
    entry("fill: slots with tokens", (bx, by) => { layer.rect(bx, by + 5, 12, 6, "grey"); box("thin")(bx, by); });
    if (this.run.header.num_cpu_blocks) entry(`hatched: ${this.run.header.pool_names[1]}`, (bx, by) => {
      box("grey")(bx, by);
      box("thin", "url(#ps-hatch)")(bx, by);
    });
    entry("thick, \u00d72: shared", box("thick"));
    if (caching) {
      entry(this.layout.cell.detail ? "c: cached" : "corner above: cached", (bx, by) => {
        box("thin")(bx, by);
        if (this.layout.cell.detail) layer.text(bx + 6, by + 9, "c", "mid small");
        else layer.path(`M${bx + 12} ${by}h-6l6 6z`, "mark hollow");
      });
      entry("black corner: computed", (bx, by) => {
        box("thin")(bx, by);
        layer.path(`M${bx + 12} ${by + 11}h-6l6 -6z`, "mark");
      });
      entry("grey: cached, unused", box("thin waiting"));
    }
    if (state.nullBlock !== null) {
      entry("crossed: null block", (bx, by) => {
        box("thin")(bx, by);
        layer.path(`M${bx} ${by}l12 11m0 -11l-12 11`, "cross");
      });
    }
    if (event?.effects.length) entry("dashed: this step", box("frame"));
  }
}
