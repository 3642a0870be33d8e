// From a word to its slot: logical block, table entry, physical block, slot, and the program that reads
// it, if one does in this step. The lens goes on to the bytes.

import { html } from "./html.js";
import { marksOf } from "./marks.js";
import { slotsOf } from "./overlay.js";
import { tableText } from "./text.js";

/** Where a word is: {name, position, block, offset, slot, k}; null if its block is not known. @param {State} state */
export function follow(state, { name, position }) {
  const table = state.tables.get(name),
    size = state.groups.sizeOf(name),
    k = Math.floor(position / size),
    block = table?.ids[k];
  if (
    !table
    || state.groups.isState(name)
    || block === undefined
    || block === state.nullBlock
    || position >= table.filled
  )
    return null;
  const offset = position % size;
  return { name, position, k, block, offset, slot: block * state.blockSize + offset };
}

/** The word in a slot of a block: {name, position}, or null. @param {State} state */
export function wordAt(state, block, offset) {
  const { name, first } = state.content[block] ?? {};
  return first === undefined || offset < 0 || offset >= state.fill[block] || !state.tables.has(name)
    ? null
    : { name, position: first + offset };
}

/** @param {Word | null} b */
export const sameWord = (a, b) => a.name === b?.name && a.position === b?.position;

/** Where a word is, in two lines, and who reads it.
 * @param {State} state @param {PageEvent | null} event @param {Found} found */
export function noteOf(state, event, found, label) {
  const { name, position, block, offset } = found,
    table = state.table(name),
    word = position < table.known ? `\u201c${label(table.tokens[position])}\u201d \u00b7 ` : "",
    cpu = block >= state.numGpu,
    slot = (cpu ? block - state.numGpu : block) * state.groups.sizeOf(name) + offset;
  const readers = marksOf(event).flatMap(({ name: reader, on, numbers }) => {
    const number = on === "slots" ? numbers.get(found.slot) : undefined;
    return number === undefined ? [] : [`${reader} reads it (${number.toPrecision(2)})`];
  });
  return [
    `${word}token ${position} of ${tableText(state, name)}`,
    `block ${block}, offset ${offset} \u2192 slot ${slot}${cpu ? ` of the ${state.poolNames[1]}` : ""}`,
    ...readers,
  ];
}

/** Put a note beside the pointer, within the picture; no lines hide it. */
export function placeNote(node, lines, { x, y }) {
  node.hidden = !lines.length;
  node.replaceChildren(...lines.map((line) => html("div", {}, line)));
  const room = lines.length && node.offsetParent?.getBoundingClientRect(); // to measure takes longer than to draw
  if (!room) return;
  const left = Math.max(Math.min(x - room.x + 12, room.width - node.offsetWidth), 0);
  node.style.left = `${left}px`;
  node.style.top = `${y - room.y + 18}px`;
}

/** From below a place along its row to a lane, and from there below the row of the next place: past all words. */
const way = ([x, y, w, h], [toX, toY, toW, toH], lane, gap) =>
  `M${x + w / 2} ${y + h}v1H${lane}V${toY + toH + gap}H${toX + toW / 2}V${toY + toH}`;

/** Frames around the word's places, joined by a line.
 * @param {Stage} stage @param {Layer} layer @param {Found | null} found */
export function drawTrace(stage, layer, found) {
  const at = found && stage.cells.at[found.block];
  if (found && at) {
    const { cell, pools } = stage.layout,
      [strip, row] = slotsOf(stage, stage.spots.rows, ["", found.block, found.name, found.position, 1]),
      entry = stage.spots.of.get(`${found.name} ${found.k}`),
      end = strip || /** @type {Box} */ ([at.x, at.y, cell.w, cell.h]);
    const lane = Math.max(pools[0].x - (cell.before || (cell.detail ? 10 : 34)) - 2, 3),
      gap = Math.min(cell.gy / 2, 3);
    if (row && entry) layer.path(way(row, entry, entry[0] - 4, 1), "trace-line");
    if (entry) layer.path(way(entry, end, lane, gap), "trace-line");
    for (const place of [row, entry, end]) if (place) layer.rect(...place, "traced");
  }
  layer.done();
}
