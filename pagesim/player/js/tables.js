// The block tables, left of the pools: in full as in the figures, or one line each.

import { GAP, HEAD, LINE, MARGIN, NAME, ROW, lookupHeight } from "./layout.js";
import { CHANGES } from "./effects.js";
import { frame } from "./overlay.js";
import { concerns, drawLanes } from "./lanes.js";
import { drawLookup } from "./lookup.js";
import { inkOn, paleness } from "./marks.js";
import { roundsOf } from "./rounds.js";
import { namesIn } from "./search.js";
import { nameText, plural, ranges, short } from "./text.js";

/** Whether the reader follows a block or one of its owners.
 * @param {Selected} selected @param {Owner[]} owners */
export function isSelected(selected, id, owners) {
  if (selected.kind === "block") return selected.value === id;
  return owners.some((owner) => owner.name === selected.value);
}

/** The class of the name of a sequence that the reader follows. @param {View} view */
const isPicked = ({ selected }, name) => (selected?.kind === "seq" && selected.value === name ? " picked" : "");

/** The sign of a sequence that differs in the run beside this one. @param {View} view @param {Table} table */
const differs = (view, table) => (view.differ.has(table.name) ? "\u2260 " : "");

/** @param {Stage} stage @param {State} state @param {PageEvent | null} event
 * @param {Changed} changed @param {View} view */
export function drawTables(stage, state, event, changed, view) {
  if (FILM && stage.kernel) {
    stage.kernel.draw(state, event);
    return;
  }
  if (stage.layout.several) {
    const asks = roundsOf(event).length > 0;
    const height = stage.layout.tables - (asks ? lookupHeight(stage.run) : 0);
    drawLanes(stage, state, event, changed, view, wantedIn(stage.run, event, view), height);
    if (event && asks) drawLookup(stage, event, view.round);
    return;
  }
  if (!stage.layout.full) {
    tablesInLines(stage, state, event, changed, view);
    return;
  }
  const plugs = tablesInFull(stage, state, event, changed, view);
  const moves = state.jobs.size > 0 || event?.effects.some(([what]) => what === "move"); // then its arrows come first
  const { kind, value } = view.selected ?? {};
  if (plugs.length) wires(stage, plugs, (id) => moves || (kind === "block" && value !== id));
}

/** The left side as in the figures: slots with their tokens, then the block table.
 * @param {Stage} stage @param {State} state @param {PageEvent | null} event
 * @param {Changed} changed @param {View} view */
function tablesInFull(stage, state, event, changed, view) {
  const { under: layer, run } = stage,
    {
      slot,
      size,
      left,
      entry: [wide, counts],
    } = stage.layout;
  const x = MARGIN + 18,
    tableX = left - wide - counts,
    plugs = [];
  const kindOf = (id) => (changed.get(id)?.has("hit") ? "hit" : changed.has(id) ? "new" : "");
  let y = HEAD,
    rows = 0;
  for (const table of state.tables.values()) rows += table.ids.length;
  const reader = state.tables.get(event?.of ?? ""); // a mark of its event is about its words alone
  for (const table of state.tables.values()) {
    const look = run.look(table.name),
      { color, ink } = look,
      hit = { seq: table.name };
    const away = table.ids.some((id) => id >= state.numGpu);
    const faded = view.selected?.kind === "seq" && view.selected.value !== table.name,
      concerned = concerns(event, table.name);
    stage.swatch(MARGIN, y + 4, 11, 10, "swatch", look, hit);
    if (away) layer.rect(MARGIN, y + 4, 11, 10, "swatch", "url(#ps-hatch)", hit);
    const more = `: ${plural(table.filled, "token")}${away ? `, on the ${state.poolNames[1]}` : ""}`;
    layer.text(
      MARGIN + 16,
      y + 13,
      differs(view, table) + short(nameText(table.name), 38 - more.length) + more,
      `strong name${isPicked(view, table.name)}`,
      hit,
    );
    if (!table.ids.length) layer.text(x + 4, y + NAME + 12, "no blocks", "muted");
    y += NAME;
    table.ids.forEach((id, k) => {
      const cpu = id >= state.numGpu,
        dropped = id === state.nullBlock;
      const here = dropped ? 0 : Math.min(Math.max(table.filled - k * size, 0), size);
      const pick = { block: id },
        due = stage.pending.has(id), // not there yet
        hatched = cpu || due,
        wide0 = slot * (here || (due ? size : 0));
      layer.text(x - 4, y + 12, `${k}`, "end muted");
      if (wide0) stage.swatch(x, y, wide0, ROW, due ? "reserved" : faded ? "dim" : "", look, pick, table.name);
      if (wide0 && hatched) layer.rect(x, y, wide0, ROW, "hatched", "url(#ps-hatch)", pick);
      const isRead = !reader?.ids.includes(id) || reader === table,
        part = (i) => (isRead ? stage.lit.get(id * size + i) : undefined);
      for (let i = 0; i < size && stage.lit.size; i++) {
        layer.rect(x + i * slot, y, slot, ROW, paleness(part(i)));
        layer.rect(x + i * slot + 1, y + ROW - 3, (slot - 2) * (part(i) ?? 0), 2.5, "weight");
      }
      if (slot >= 6) for (let i = 1; i < size; i++) layer.rect(x + i * slot, y, 0.01, ROW, "tick");
      layer.rect(x, y, slot * size, ROW, "row", "transparent", pick);
      for (let i = 0; i < here; i++) {
        const word = { block: id, word: { name: table.name, position: k * size + i } };
        layer.rect(x + i * slot, y, slot, ROW, "", "transparent", word);
        const at = k * size + i,
          [text, sized] = stage.layout.cut(at < table.known ? stage.label(table.tokens[at]) : "?", slot - 2);
        if (!text) continue;
        if (hatched) layer.pill(x + (i + 0.5) * slot, y + 12.5, text, sized, word);
        else {
          const on = stage.lit.size ? inkOn(part(i), ink) : ink;
          layer.text(x + (i + 0.5) * slot, y + 12.5, text, `mid ${on}${sized}`, word);
        }
      }
      if (dropped) layer.text(x + (slot * size) / 2, y + 12.5, "out of the window", "mid muted");
      const key = `${table.name} ${k}`;
      stage.spots.entries.set(id, [tableX, y, wide, ROW]);
      stage.spots.of.set(key, [tableX, y, wide, ROW]);
      stage.spots.rows.set(key, [x, y]);
      layer.path(`M${x + slot * size + 4} ${y + ROW / 2}H${tableX - 4}`, "lead");
      if (dropped || due) layer.rect(tableX, y, wide, ROW, "thin", "transparent", pick);
      else stage.swatch(tableX, y, wide, ROW, faded ? "thin dim" : "thin", look, pick, table.name);
      if (hatched) layer.rect(tableX, y, wide, ROW, "thin", "url(#ps-hatch)", pick);
      layer.rect(tableX + wide, y, counts, ROW, "thin", "transparent", pick);
      if (hatched) layer.pill(tableX + wide / 2, y + 12.5, `${id}`, "strong", pick);
      else layer.text(tableX + wide / 2, y + 12.5, `${id}`, `mid strong ${dropped ? "" : ink}`, pick);
      layer.text(tableX + wide + counts / 2, y + 12.5, `${here}`, "mid", pick);
      const what = concerned ? kindOf(id) : "";
      if (what && what !== kindOf(table.ids[k - 1])) {
        // one frame around neighbours to which the same happens
        let n = 1;
        while (what === kindOf(table.ids[k + n])) n++;
        stage.over.rect(tableX - 2.5, y - 0.5, wide + counts + 5, n * ROW + 1, "frame");
      }
      if (what === "hit" && !stage.layout.narrow) {
        stage.over.ground(tableX - 19, y + 2.5, 12, 12, "badge");
        stage.over.text(tableX - 13, y + 12, CHANGES.get("hit")[0], "mid sign");
      }
      if (view.selected?.kind === "block" && view.selected.value === id) {
        layer.rect(tableX - 1, y, wide + counts + 2, ROW, "chosen");
      }
      const wired =
        rows <= (stage.layout.cell.detail === 3 ? 24 : 12) || (view.selected && isSelected(view.selected, id, [table]));
      if (wired && stage.layout.cell.detail > 1 && !stage.layout.narrow && !dropped) {
        plugs.push({ id, key, color, x: tableX + wide + counts, y: y + ROW / 2 });
      }
      y += ROW;
    });
    y += table.ids.length ? GAP : GAP + ROW;
  }
  if (!state.tables.size) layer.text(MARGIN, HEAD + 34, "no sequence holds any blocks", "muted");
  return plugs;
}

/** Arrows from table entries to their blocks, along the gaps between the cells. @param {Stage} stage */
function wires(stage, plugs, isDim) {
  const {
    cell: { w, h, before, detail },
    pools,
  } = stage.layout;
  const lane = Math.min(44 / plugs.length, 8),
    slim = plugs.length > 12 ? " slim" : "",
    taken = new Map();
  plugs.forEach((plug, i) => {
    const { x: left, y: top } = stage.cells.at[plug.id],
      nth = taken.get(plug.id) ?? 0;
    taken.set(plug.id, nth + 1);
    const x = plug.x + 8 + i * lane;
    let d, head;
    if (detail === 3) {
      // into the side of a strip
      const y = top + h / 2 + ((nth % 3) - 0.5) * 5 - 2.5,
        end = left - before - 1;
      const over = left > pools[0].x ? `V${top - 4}H${end - 6}` : ""; // past another column
      d = `M${plug.x} ${plug.y}H${x}${over}V${y}H${end - 4}`;
      head = `M${end - 5} ${y - 3.5}v7l5 -3.5z`;
    } else {
      const down = left + w / 2 - 8 + nth * 12,
        over = top - 9 - ((i * 2.5) % 7.5);
      d = `M${plug.x} ${plug.y}H${x}V${over}H${down}V${top - 4}`;
      head = `M${down - 3.5} ${top - 6}h7l-3.5 5z`;
    }
    const dim = isDim(plug.id) ? " dim" : "";
    stage.spots.wires.set(plug.key, [
      [stage.under.path(d, `wire-edge${dim}${slim}`), d],
      [stage.under.path(d, `wire${dim}${slim}`, plug.color), d],
      [stage.under.path(head, `plug${dim}`), head],
    ]);
  });
}

/** Whose tables must be shown: this step's and the reader's.
 * @param {Run} run @param {PageEvent | null} event @param {View} view */
function wantedIn(run, event, { selected }) {
  const wanted = new Set(event ? namesIn(event, run.groups) : []);
  if (selected?.kind === "seq") wanted.add(selected.value);
  return wanted;
}

/** Many sequences: one line each; those that this step concerns are always among them.
 * @param {Stage} stage @param {State} state @param {PageEvent | null} event
 * @param {Changed} changed @param {View} view */
function tablesInLines(stage, state, event, changed, view) {
  const { lines } = stage.layout,
    tables = [...state.tables.values()];
  const wanted = wantedIn(stage.run, event, view);
  let shown = tables;
  if (tables.length > lines) {
    const late = tables
      .slice(lines)
      .filter((t) => wanted.has(t.name))
      .slice(-Math.min(lines, 3));
    shown = [...tables.slice(0, lines - late.length), ...late];
  }
  let y = HEAD + 2;
  for (const table of shown) {
    line(stage, table, y, state, concerns(event, table.name), changed, view);
    y += LINE;
  }
  const rest = tables.length - shown.length;
  const count = rest > 0 ? `and ${plural(rest, "more sequence")}` : tables.length ? "" : "no sequence holds any blocks";
  y = HEAD + Math.max(shown.length, 1) * LINE + 12;
  stage.under.text(MARGIN, y, count, "muted");
  if (stage.layout.slotRows && !stage.layout.contiguous) slots(stage, state, event, view, y + (count ? 22 : 4));
}

/** Under the lines, one logical block with its tokens: what this step wrote, or what is selected.
 * @param {Stage} stage @param {State} state @param {PageEvent | null} event @param {View} view */
function slots(stage, state, event, view, y) {
  const { under: layer, run } = stage,
    size = state.blockSize;
  const wrote = event?.effects.findLast((e) => (e[0] === "write" || e[0] === "hit") && e[2] !== null);
  const name = view.selected?.kind === "seq" ? view.selected.value : (wrote?.[2] ?? event?.of);
  const table = state.tables.get(name);
  if (!table?.ids.length) return;
  let k = table.ids.findLastIndex((id, i) => i * size < table.filled);
  if (wrote && name === wrote[2] && table.ids.includes(wrote[1])) k = table.ids.lastIndexOf(wrote[1]);
  if (view.selected?.kind === "block" && table.ids.includes(view.selected.value)) {
    k = table.ids.indexOf(view.selected.value);
  }
  if (k < 0) return;
  const look = run.look(name),
    pick = { block: table.ids[k] };
  const columns = Math.ceil(size / stage.layout.slotRows),
    width = Math.min((stage.layout.left - MARGIN) / columns, 50);
  layer.text(MARGIN, y, `${short(nameText(name), 20)}: logical block ${k} \u2192 block ${table.ids[k]}`, "strong");
  for (let i = 0; i < size && width >= 4; i++) {
    const filled = k * size + i < table.filled;
    const x = MARGIN + (i % columns) * width,
      top = y + 5 + Math.floor(i / columns) * ROW;
    if (filled) stage.swatch(x, top, width, ROW, "thin", look, pick, name);
    else layer.rect(x, top, width, ROW, "thin", "transparent", pick);
    const known = k * size + i < table.known,
      token = known ? stage.label(table.tokens[k * size + i]) : "?";
    const [text, sized] = stage.layout.cut(filled ? token : "", width - 2);
    const word = filled ? { ...pick, word: { name, position: k * size + i } } : pick;
    if (text) layer.text(x + width / 2, top + 12.5, text, `mid ${look.ink}${sized}`, word);
    layer.rect(x, top, width, ROW, "", "transparent", word);
  }
}

/** A request in contiguous memory: its row, filled as far as it has tokens, and its addresses.
 * @param {Stage} stage @param {Table} table @param {View} view */
function stretch(stage, table, y, view) {
  const {
      under: layer,
      run,
      layout: { left: end },
    } = stage,
    look = run.look(table.name);
  const hit = { seq: table.name },
    left = MARGIN + 78,
    unit = Math.min((end - left - 80) / run.most.length, 26);
  const faded = view.selected?.kind === "seq" && view.selected.value !== table.name ? "dim" : "";
  const width = unit * table.ids.length,
    size = run.header.block_size,
    filled = (unit * table.filled) / size;
  stage.swatch(MARGIN, y + 2, 11, 12, "swatch", look, hit);
  layer.text(MARGIN + 16, y + 12, differs(view, table) + short(nameText(table.name), 6), "strong name", hit);
  stage.swatch(left, y + 1, filled, 15, faded, look, hit);
  layer.rect(left + filled, y + 1, width - filled, 15, "reserved", look.color, hit);
  layer.rect(left, y + 1, width, 15, "thin", "transparent", hit);
  const where = ranges(table.ids, size)[0].text,
    all = run.header.num_gpu_blocks * size,
    fits = stage.layout.fits(`slots ${all}\u2013${all}`, end - left - unit * run.most.length - 8) === "";
  layer.text(left + width + 6, y + 12, fits ? `slots ${where}` : where, "muted small");
}

/** @param {Stage} stage @param {Table} table @param {State} state @param {Changed} changed @param {View} view */
function line(stage, table, y, state, concerned, changed, view) {
  if (stage.layout.contiguous && table.ids.length) {
    stretch(stage, table, y, view);
    return;
  }
  const { under: layer, run } = stage,
    size = state.blockSize;
  const look = run.look(table.name),
    hit = { seq: table.name };
  const away = table.ids.some((id) => id >= state.numGpu),
    calm = stage.near && !stage.near.has(table.name);
  stage.swatch(MARGIN, y + 2, 11, 12, "swatch", look, hit);
  layer.rect(MARGIN, y + 2, 11, 12, "swatch", away ? "url(#ps-hatch)" : "none", hit);
  const name = differs(view, table) + short(nameText(table.name), 9);
  layer.text(MARGIN + 16, y + 12, name, `strong name${isPicked(view, table.name)}`, hit);
  layer.text(MARGIN + 118, y + 12, `${table.filled}`, "end muted", hit);
  const left = MARGIN + 126,
    digits = `${state.total - 1}`.length;
  const width = Math.max(26, digits * (stage.layout.narrow ? 7.8 : 6.4) + 4);
  const most = Math.floor((stage.layout.left - left) / (width + 1));
  const gap = table.ids.length > most ? table.ids.length - (most - 1) : 0;
  const kept = gap ? [...table.ids.slice(0, 3), null, ...table.ids.slice(-(most - 4))] : table.ids;
  const framed = [];
  let fills = "",
    thin = "",
    thick = "",
    crossed = "",
    due = ""; // not there yet
  kept.forEach((id, i) => {
    const x = left + i * (width + 1);
    if (id === null) {
      const more = `+${gap}`,
        sized = stage.layout.fits(more, width + 3);
      layer.text(x + width / 2, y + 12, sized === null ? "\u2026" : more, `mid muted${sized ?? ""}`);
      return;
    }
    stage.spots.entries.set(id, [x, y + 1, width, 15]);
    const k = gap && i > 3 ? table.ids.length - (kept.length - i) : i;
    stage.spots.of.set(`${table.name} ${k}`, [x, y + 1, width, 15]);
    const here = id === state.nullBlock ? 0 : Math.min(Math.max(table.filled - k * size, 0), size);
    const high = Math.round((150 * here) / size) / 10;
    if (stage.pending.has(id)) due += `M${x} ${y + 1}h${width}v15h${-width}z`;
    else if (high) fills += `M${x} ${y + 16}v${-high}h${width}v${high}z`;
    if (id === state.nullBlock) crossed += `M${x} ${y + 1}l${width} 15M${x} ${y + 16}l${width} -15`;
    const edge = `M${x} ${y + 1}h${width}v15h${-width}z`;
    if (state.refs[id] > 1) thick += edge;
    else thin += edge;
    const ink = calm ? "" : high === 15 && !away ? look.ink : "halo";
    layer.text(x + width / 2, y + 12.5, `${id}`, `mid small ${ink}`);
    if (changed.has(id) && concerned) frame(framed, x, x + width, 1.5);
    if (view.selected?.kind === "block" && view.selected.value === id) stage.over.rect(x, y + 1, width, 15, "chosen");
  });
  const faded = view.selected?.kind === "seq" && view.selected.value !== table.name ? "dim" : "";
  layer.path(fills, faded, "none", calm ? "var(--crowd)" : look.color);
  if (look.pattern && !calm) layer.path(fills, faded, "none", look.pattern);
  if (due) layer.path(due, "reserved", "none", look.color);
  if (due) layer.path(due, faded, "none", "url(#ps-hatch)");
  layer.path(away ? fills : "", faded, "none", "url(#ps-hatch)");
  layer.path(thin, "thin");
  layer.path(thick, "thick");
  layer.path(crossed, "tick");
  for (const [from, end] of framed) stage.over.rect(from - 2, y - 1, end - from + 4, 19, "frame");
  // One place to click for the whole line: the pointer's x says which block it is.
  const at = (x) => kept[Math.floor((x - left) / (width + 1))];
  layer.rect(left, y, kept.length * (width + 1), 17, "", "transparent", { at });
}
