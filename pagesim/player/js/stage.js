// The picture of one step.

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
class Stage {
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
    const lists = header.lists.map(([name, order], i) => [name, (s) => s.idsIn(i), order === "sorted" ? "" : i ? "front" : "next"])
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
    const cached = state.flags[id] & CACHED, computed = state.isComputed(id);
    let key = `${fill},${refs},${waiting},${cached},${computed},${isNull}`;
    for (const owner of owners) key += `,${owner.place}`;
    const dim = selected !== null && !this.isSelected(selected, id, owners);
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
    if (detail) this.cellTexts(cell, refs, cached, owners, isNull, waiting, state);
    texts.done();
  }

  cellTexts(cell, refs, cached, owners, isNull, waiting, state) {
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

  isSelected(selected, id, owners) {
    if (selected.kind === "block") return selected.value === id;
    return owners.some((owner) => owner.name === selected.value);
  }

  // -- one step ----------------------------------------------------------------------------------

  draw(step, view) {
    const { run } = this, state = run.at(step);
    const event = step ? run.events[step - 1] : null;
    const owners = this.owners(state), none = [];
    for (const cell of this.cells) this.paintCell(cell, state, owners[cell.id] ?? none, view.selected);
    const changed = changesOf(event);
    const plugs = this.layout.full ? this.tablesInFull(state, changed, view)
      : this.tablesInLines(state, event, changed, view);
    if (plugs.length) this.wires(plugs, view);
    this.drawStrips(state, event, changed, view);
    this.arrows(event);
    this.outline(changed, view);
    this.legend(state, event);
    this.under.done();
    this.over.done();
    return state;
  }

  /** The left side as in the figures: slots with their tokens, then the block table. */
  tablesInFull(state, changed, view) {
    const { under: layer, run } = this, { slot, size, left } = this.layout;
    const x = MARGIN + 18, tableX = left - 66, plugs = [];
    let y = HEAD, rows = 0;
    for (const table of state.tables.values()) rows += table.ids.length;
    for (const table of state.tables.values()) {
      const look = run.look(table.name), { color, ink } = look, hit = { seq: table.name };
      const away = table.ids.some((id) => id >= state.numGpu);
      const faded = view.selected?.kind === "seq" && view.selected.value !== table.name;
      this.swatch(MARGIN, y + 4, 11, 10, "swatch", look, hit);
      if (away) layer.rect(MARGIN, y + 4, 11, 10, "swatch", "url(#ps-hatch)", hit);
      const more = `: ${plural(table.filled, "token")}${away ? `, on the ${state.poolNames[1]}` : ""}`;
      layer.text(MARGIN + 16, y + 13, short(nameText(table.name), 40 - more.length) + more,
        `strong name${view.selected?.value === table.name ? " picked" : ""}`, hit);
      if (!table.ids.length) layer.text(x + 4, y + NAME + 12, "no blocks", "muted");
      y += NAME;
      table.ids.forEach((id, k) => {
        const cpu = id >= state.numGpu, dropped = id === state.nullBlock;
        const here = dropped ? 0 : Math.min(Math.max(table.filled - k * size, 0), size);
        const pick = { block: id };
        layer.text(MARGIN + 4, y + 12, `${k}`, "muted");
        if (here) layer.rect(x, y, slot * here, ROW, faded ? "dim" : "", color, pick);
        if (here && cpu) layer.rect(x, y, slot * here, ROW, "hatched", "url(#ps-hatch)", pick);
        if (slot >= 6) for (let i = 1; i < size; i++) layer.rect(x + i * slot, y, 0.01, ROW, "tick");
        layer.rect(x, y, slot * size, ROW, "row", "transparent", pick);
        for (let i = 0; i < here && k * size + i < table.known; i++) {
          const text = this.label(table.tokens[k * size + i]), fits = sizeFor(text, slot - 2);
          if (fits === null) continue;
          if (cpu) layer.pill(x + (i + 0.5) * slot, y + 12.5, text, fits);
          else layer.text(x + (i + 0.5) * slot, y + 12.5, text, `mid ${ink}${fits}`, pick);
        }
        if (dropped) layer.text(x + (slot * size) / 2, y + 12.5, "out of the window", "mid muted");
        layer.path(`M${x + slot * size + 4} ${y + ROW / 2}H${tableX - 4}`, "lead");
        layer.rect(tableX, y, 34, ROW, faded ? "thin dim" : "thin", dropped ? "none" : color, pick);
        if (cpu) layer.rect(tableX, y, 34, ROW, "thin", "url(#ps-hatch)", pick);
        layer.rect(tableX + 34, y, 32, ROW, "thin", "transparent", pick);
        if (cpu) layer.pill(tableX + 17, y + 12.5, `${id}`, "strong", pick);
        else layer.text(tableX + 17, y + 12.5, `${id}`, `mid strong ${dropped ? "" : ink}`, pick);
        layer.text(tableX + 50, y + 12.5, `${here}`, "mid", pick);
        if (changed.has(id) && !changed.has(table.ids[k - 1])) { // one frame around neighbours
          let n = 1;
          while (k + n < table.ids.length && changed.has(table.ids[k + n])) n++;
          this.over.rect(tableX - 2.5, y - 2, 71, n * ROW + 4, "frame");
        }
        if (view.selected?.kind === "block" && view.selected.value === id) {
          layer.rect(tableX - 1, y, 68, ROW, "chosen");
        }
        const wired = rows <= 12 || (view.selected && this.isSelected(view.selected, id, [table]));
        if (wired && this.layout.cell.detail === 2 && !dropped) {
          plugs.push({ id, color, x: tableX + 66, y: y + ROW / 2 });
        }
        y += ROW;
      });
      y += table.ids.length ? GAP : GAP + ROW;
    }
    if (!state.tables.size) layer.text(MARGIN, HEAD + 14, "no sequence holds a block", "muted");
    return plugs;
  }

  swatch(x, y, w, h, className, { color, pattern }, hit) {
    this.under.rect(x, y, w, h, className, color, hit);
    if (pattern) this.under.rect(x, y, w, h, className, pattern, hit);
  }

  /** Arrows from table entries to their blocks, along the gaps between the rows of cells. */
  wires(plugs, view) {
    const lane = Math.min(44 / plugs.length, 8), taken = new Map();
    plugs.forEach((plug, i) => {
      const cell = this.cells[plug.id], nth = taken.get(plug.id) ?? 0;
      taken.set(plug.id, nth + 1);
      const x = plug.x + 8 + i * lane, down = cell.x + this.layout.cell.w / 2 - 8 + nth * 12;
      const over = cell.y - 9 - ((i * 2.5) % 7.5);
      const d = `M${plug.x} ${plug.y}H${x}V${over}H${down}V${cell.y - 4}`;
      const dim = view.selected && view.selected.kind === "block" && view.selected.value !== plug.id;
      this.under.path(d, dim ? "wire-edge dim" : "wire-edge");
      this.under.path(d, dim ? "wire dim" : "wire", plug.color);
      this.under.path(`M${down - 3.5} ${cell.y - 6}h7l-3.5 5z`, "plug");
    });
  }

  /** Many sequences: a line each; those that this step concerns are always among them. */
  tablesInLines(state, event, changed, view) {
    const { lines } = this.layout, tables = [...state.tables.values()];
    const wanted = new Set(event ? namesIn(event) : []);
    if (view.selected?.kind === "seq") wanted.add(view.selected.value);
    let shown = tables;
    if (tables.length > lines) {
      const late = tables.slice(lines).filter((t) => wanted.has(t.name)).slice(-Math.min(lines, 3));
      shown = [...tables.slice(0, lines - late.length), ...late];
    }
    let y = HEAD + 2;
    for (const table of shown) {
      this.line(table, y, state, wanted.has(table.name), changed, view);
      y += LINE;
    }
    const rest = tables.length - shown.length;
    const count = rest > 0 ? `and ${plural(rest, "more sequence")}; those of this step are always shown`
      : tables.length ? "" : "no sequence holds a block";
    y = HEAD + Math.max(shown.length, 1) * LINE + 12;
    this.under.text(MARGIN, y, count, "muted");
    this.slots(state, event, view, y + (count ? 22 : 4));
    return [];
  }

  /** Under the lines, one logical block with its tokens: what this step wrote, or what is chosen. */
  slots(state, event, view, y) {
    const { under: layer, run } = this, size = state.blockSize;
    const wrote = event?.effects.findLast((e) => (e[0] === "write" || e[0] === "hit") && e[2] !== null);
    const name = view.selected?.kind === "seq" ? view.selected.value : wrote?.[2] ?? event?.of;
    const table = state.tables.get(name);
    if (!table?.ids.length) return;
    let k = table.ids.findLastIndex((id, i) => i * size < table.filled);
    if (wrote && name === wrote[2] && table.ids.includes(wrote[1])) k = table.ids.lastIndexOf(wrote[1]);
    if (view.selected?.kind === "block" && table.ids.includes(view.selected.value)) {
      k = table.ids.indexOf(view.selected.value);
    }
    if (k < 0) return;
    const { color, ink } = run.look(name), pick = { block: table.ids[k] };
    const columns = Math.ceil(size / this.layout.slotRows), width = Math.min(398 / columns, 50);
    layer.text(MARGIN, y, `${short(nameText(name), 20)}: logical block ${k} \u2192 block ${table.ids[k]}`, "strong");
    for (let i = 0; i < size && width >= 4; i++) {
      const filled = k * size + i < table.filled;
      const x = MARGIN + (i % columns) * width, top = y + 5 + Math.floor(i / columns) * ROW;
      layer.rect(x, top, width, ROW, "thin", filled ? color : "transparent", pick);
      const known = filled && k * size + i < table.known;
      const text = known ? this.label(table.tokens[k * size + i]) : "", fits = sizeFor(text, width - 2);
      if (text && fits !== null) layer.text(x + width / 2, top + 12.5, text, `mid ${ink}${fits}`, pick);
    }
  }

  line(table, y, state, concerned, changed, view) {
    const { under: layer, run } = this, size = state.blockSize;
    const look = run.look(table.name), hit = { seq: table.name };
    const away = table.ids.some((id) => id >= state.numGpu);
    this.swatch(MARGIN, y + 2, 11, 12, "swatch", look, hit);
    layer.rect(MARGIN, y + 2, 11, 12, "swatch", away ? "url(#ps-hatch)" : "none", hit);
    const picked = view.selected?.value === table.name ? " picked" : "";
    layer.text(MARGIN + 16, y + 12, short(nameText(table.name), 9), `strong name${picked}`, hit);
    layer.text(MARGIN + 118, y + 12, `${table.filled}`, "end muted", hit);
    const width = 26, most = 10, left = MARGIN + 126;
    const gap = table.ids.length > most ? table.ids.length - (most - 1) : 0;
    const kept = gap ? [...table.ids.slice(0, 3), null, ...table.ids.slice(-(most - 4))] : table.ids;
    let fills = "", thin = "", thick = "";
    kept.forEach((id, i) => {
      const x = left + i * (width + 1);
      if (id === null) { layer.text(x + width / 2, y + 12, `+${gap}`, "mid muted"); return; }
      const k = gap && i > 3 ? table.ids.length - (kept.length - i) : i;
      const here = id === state.nullBlock ? 0 : Math.min(Math.max(table.filled - k * size, 0), size);
      const high = Math.round((150 * here) / size) / 10;
      if (high) fills += `M${x} ${y + 16}v${-high}h${width}v${high}z`;
      const edge = `M${x} ${y + 1}h${width}v15h${-width}z`;
      if (state.refs[id] > 1) thick += edge;
      else thin += edge;
      layer.text(x + width / 2, y + 12.5, `${id}`, "mid small halo");
      if (changed.has(id) && concerned) this.over.rect(x - 2, y - 1, width + 4, 19, "frame");
      if (view.selected?.kind === "block" && view.selected.value === id) this.over.rect(x, y + 1, width, 15, "chosen");
    });
    const faded = view.selected?.kind === "seq" && view.selected.value !== table.name ? "dim" : "";
    layer.path(fills, faded, "none", look.color);
    layer.path(away ? fills : "", faded, "none", "url(#ps-hatch)");
    layer.path(thin, "thin");
    layer.path(thick, "thick");
    // One place to click for the whole line: which block it is, the pointer's x says.
    const at = (x) => kept[Math.floor((x - left) / (width + 1))];
    layer.rect(left, y, kept.length * (width + 1), 17, "", "transparent", { at });
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
