// The layer over the pools: what this step did, from where to where, and the numbers on blocks.

import { marked } from "./marks.js";
import { CHANGES, TWO_BLOCKS, isPromise } from "./effects.js";
import { ROW, SIGNED } from "./layout.js";

/** Add a place of a row to those that are framed; neighbours, as far apart as `gap`, share a frame. */
export function frame(spans, from, end, gap) {
  if (spans.length && from - spans.at(-1)[1] <= gap) spans.at(-1)[1] = end;
  else spans.push([from, end]);
}

/** Dashed frames around what this step changed, with the signs for how; neighbours share one.
 * @param {Stage} stage @param {Changed} changed */
export function outline(stage, changed, { selected, picks }) {
  const {
    cells: { at },
    over,
    layout: {
      cell: { w, h, detail },
    },
  } = stage;
  for (const id of selected?.kind === "block" ? [...picks, selected.value] : picks) {
    if (at[id]) over.rect(at[id].x - 1, at[id].y - 1, w + 2, h + 2, "chosen");
  }
  const strip = detail === 3,
    signsOf = (id) => [...(changed.get(id) ?? [])].map((kind) => CHANGES.get(kind)[0]).join("");
  const ids = [...changed.keys()].filter((id) => at[id]).sort((a, b) => a - b);
  for (let i = 0; i < ids.length; i++) {
    const cell = at[ids[i]],
      signs = signsOf(ids[i]);
    let n = 1;
    const goesOn = (id) =>
      ids[i + n] === id && (strip ? at[id].x === cell.x : at[id].y === cell.y) && signsOf(id) === signs;
    while (goesOn(ids[i] + n)) n++;
    i += n - 1;
    const width = at[ids[i]].x + w - cell.x;
    over.rect(cell.x - 2.6, cell.y - 2.6, width + 5.2, at[ids[i]].y + h - cell.y + 5.2, "frame");
    if (h < SIGNED) continue; // no room: the list under the caption names them
    const wide = signs.length * 8 + 4;
    const x = strip ? cell.x + width + 5 : Math.max(cell.x + width + 5 - wide, cell.x),
      y = cell.y + (strip ? h / 2 : h) - 6;
    over.ground(x, y, wide, 12, "badge");
    over.text(x + wide / 2, y + 9.5, signs, detail ? "mid sign" : "mid sign tiny");
  }
}

/** Where slots of a table are: [in the pool, if its blocks are strips, in the table's row], undefined if not drawn.
 * @param {Stage} stage @param {Spots["rows"]} rows @param {any[]} effect @returns {(Box | undefined)[]} */
export function slotsOf({ cells, layout: { cell, slot }, run }, rows, [, id, name, first, count]) {
  const size = run.groups.sizeOf(name),
    at = cell.detail === 3 && !run.groups.isState(name) && cells.at[id],
    row = rows.get(`${name} ${Math.floor(first / size)}`);
  return [at && [at.x, at.y, cell.w / size, cell.h], row && [...row, slot, ROW]].map(
    (spot) => spot && [spot[0] + (first % size) * spot[2], spot[1], count * spot[2], spot[3]],
  );
}

/** A frame around the very slots that this step wrote.
 * @param {Stage} stage @param {State} state @param {PageEvent | null} event */
export function drawWritten(stage, state, event) {
  for (const effect of event?.effects ?? []) {
    const [kind, id, name, , count] = effect;
    if (kind !== "write" || !count || isPromise(state, effect)) continue;
    const [pool, row] = slotsOf(stage, stage.spots.rows, effect);
    for (const box of [state.tables.get(name)?.ids.includes(id) && pool, row]) {
      if (box) for (const line of ["arrow-edge slim", "outline"]) stage.over.rect(...box, line);
    }
  }
}

/** What the mark that is shown says about each block: behind a strip, in a box's lower left corner.
 * @param {Stage} stage @param {State} state */
export function drawMarks(stage, state) {
  const { w, h, detail, owners } = stage.layout.cell;
  if (detail < 2) return; // no room: the shades say it, and the line under the picture
  for (const [id, text] of marked(stage.shade, state.blockSize)) {
    const cell = stage.cells.at[id],
      wide = text.length * 6.4 + 4;
    if (!cell || (detail < 3 && wide > w / 2 + 5)) continue; // the other corner is that of the signs
    const [x, y] = detail === 3 ? [cell.x + w + owners - 9, cell.y + h / 2 - 6] : [cell.x, cell.y + h - 6];
    stage.over.ground(x, y, wide, 12, "badge");
    stage.over.text(x + wide / 2, y + 9.5, text, "mid sign tiny");
  }
}

/** A copy or a move as an arrow from block to block, between strips from the last word that is copied to where it goes:
 * along the gaps between the cells. @param {Stage} stage @param {State} state @param {PageEvent | null} event */
export function arrows(stage, state, event) {
  const { w, h, gx, gy, detail, before } = stage.layout.cell,
    strip = detail === 3;
  const pairs = (event?.effects ?? []).filter((effect) => TWO_BLOCKS.has(effect[0]));
  pairs.forEach(([, a, b], i) => {
    const from = stage.cells.at[a],
      to = stage.cells.at[b];
    if (!from || !to) return; // in a part of a large pool that is not shown
    const aside = (i % 3) * Math.min(gy / 12, 2),
      beside = strip && from.x !== to.x, // between two pools, past neither's owners
      way = from.y < to.y ? 1 : -1;
    let d = "";
    if (strip && !beside) {
      const [out, into] = [from.y + (h + way * h) / 2, to.y + (h - way * h) / 2],
        x = from.x + (w / state.sizeOf(a)) * ((state.fill[a] || 1) - 0.5),
        margin = from.x + w + 19 + aside, // where neither words nor owners are
        round = `V${out + (way * gy) / 2}H${margin}V${into - (way * gy) / 2}H${x}`;
      d = `M${x} ${out - 3 * way}${Math.abs(to.y - from.y) > h + gy ? round : ""}V${into + 3 * way}`;
    } else {
      const lane = (cell) => (cell.y + h + (strip ? gy / 2 : gy * 0.22) + aside).toFixed(1),
        between = beside ? Math.max(from.x, to.x) - before - 4 - (i % 3) * 2.5 : to.x - gx / 2 - aside,
        across = from.y === to.y ? "" : `H${between}V${lane(to)}`,
        [out, into] = !beside ? [w * 0.75, w * 0.25] : from.x < to.x ? [w - 5, 5] : [5, w - 5];
      d = `M${from.x + out} ${from.y + h - 3}V${lane(from)}${across}H${to.x + into}V${to.y + h - (strip ? 3 : 1)}`;
    }
    stage.over.path(d, strip ? "arrow-edge slim" : "arrow-edge");
    stage.over.path(d, "arrow");
  });
}
