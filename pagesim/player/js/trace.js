// From a word to its bytes: logical block, table entry, physical block, slot, row of the tensors, and
// the program that reads it, if one does in this step.

import { ROW } from "./layout.js";
import { marksOf } from "./marks.js";
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

/** The path in words. @param {State} state @param {PageEvent | null} event @param {Found} found */
export function wayOf(state, event, found, label) {
  const { name, position, k, block, offset } = found,
    size = state.groups.sizeOf(name);
  const table = state.table(name),
    known = position < table.known;
  const word = known ? `\u201c${label(table.tokens[position])}\u201d` : "A token";
  const cpu = block >= state.numGpu,
    index = cpu ? block - state.numGpu : block,
    row = index * size + offset;
  const where = cpu ? `the ${state.poolNames[1]}'s tensors` : "the K and V tensors";
  const readers = marksOf(event)
    .filter(({ on }) => on === "slots")
    .map(({ name: reader, numbers }) => {
      const number = numbers.get(found.slot);
      return number === undefined ? "" : `; ${reader} reads it (${number.toPrecision(2)})`;
    })
    .join("");
  return (
    `${word} is token ${position} of ${tableText(state, name)}: logical block ${k}, offset ${offset} \u2192 `
    + `the table's entry ${k}: block ${block} \u2192 slot ${index} \u00b7 ${size} + ${offset} = ${row} `
    + `\u2192 row ${row} of ${where}${readers}.`
  );
}

/** From below a place along its row to a lane, and from there below the row of the next place: past all words. */
const way = ([x, y, w, h], [toX, toY, toW, toH], lane, gap) =>
  `M${x + w / 2} ${y + h}v1H${lane}V${toY + toH + gap}H${toX + toW / 2}V${toY + toH}`;

/** Frames around the word's places, joined by a line.
 * @param {Stage} stage @param {Layer} layer @param {Found | null} found */
export function drawTrace(stage, layer, found) {
  const at = found && stage.cells.at[found.block];
  if (found && at) {
    const { slot: logical } = stage.layout,
      { cell } = stage.layout;
    const key = `${found.name} ${found.k}`,
      slot = stage.slotWidth(stage.run.groups.sizeOf(found.name));
    const left = stage.spots.rows.get(key),
      entry = stage.spots.of.get(key);
    /** @type {Box | undefined} */
    const row = left && [left[0] + found.offset * logical, left[1], logical, ROW];
    /** @type {Box} */
    const end = cell.detail === 3 ? [at.x + found.offset * slot, at.y, slot, cell.h] : [at.x, at.y, cell.w, cell.h];
    const lane = Math.max(stage.layout.pools[0].x - (cell.before || (cell.detail ? 10 : 34)) - 2, 3),
      gap = Math.min(cell.gy / 2, 3);
    if (row && entry) layer.path(way(row, entry, entry[0] - 4, 1), "trace-line");
    if (entry) layer.path(way(entry, end, lane, gap), "trace-line");
    for (const place of [row, entry, end]) if (place) layer.rect(...place, "traced");
  }
  layer.done();
}
