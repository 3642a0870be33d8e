// What the lens shows: the word, the division, the entry of the table, the block, and the bytes.

import { allBytes, grouped, runsOf, sizeText, slotBytes } from "./bytes.js";
import { html } from "./html.js";
import { svg } from "./svg.js";
import { short, tableText } from "./text.js";

const W = 156,
  PALE = 0.3; // the width of a picture; the colour of what is not looked at
const X = [0, 80]; // of K and of V
const HALF = 74;

/** A picture: grids [x, y, w, h, rows, columns, how full of colour a cell is], and words [x, y, text, class]. */
function picture(color, grids, words) {
  const node = svg("svg", { viewBox: `0 0 ${W} 52`, "aria-hidden": true });
  const put = (x, y, width, height, full) =>
    node.append(svg("rect", { x, y, width, height, class: "thin", fill: full ? color : "none", "fill-opacity": full }));
  for (const [x, y, w, h, rows, columns, shade] of grids) {
    const wide = w / columns,
      tall = h / rows;
    for (let i = 0; i < rows * columns; i++) {
      const full = +shade(i);
      if (full || Math.min(wide, tall) > 3)
        put(x + (i % columns) * wide, y + Math.floor(i / columns) * tall, wide, tall, full);
    }
    put(x, y, w, h, 0);
  }
  for (const [x, y, text, className] of words)
    node.appendChild(svg("text", { x, y, class: className })).textContent = text;
  return node;
}

/** The beats of a word: items of a list, whose first and last bold numbers are used and found.
 * @param {Player} player @param {Found} at @param {Shape} model */
export function beatsOf({ state, run, label }, { name, position, k, block, offset }, model, layer) {
  const table = state.table(name),
    size = state.groups.sizeOf(name),
    { filled, ids } = table,
    { color, ink } = run.look(name),
    index = block < state.numGpu ? block : block - state.numGpu, // in its pool
    where = index === block ? "" : `block ${index} of the ${state.poolNames[1]}, `,
    all = slotBytes(model),
    runs = runsOf(model, size, index, offset),
    [{ run: piece, start }] = runs,
    cut = piece < all;
  const near = [position - 1, position, position + 1].filter((p) => p >= 0 && p < filled),
    row = Math.max(k - 1, 0),
    rows = k - row + 1,
    from = Math.max(Math.min(row, ids.length - 3), 0),
    shown = ids.slice(from, from + 3);
  const word = (p) => (p < table.known ? short(label(table.tokens[p]), 7) : "?"),
    on = (is, more = "") => `mid ${is ? ink : ""}${more}`;
  const beat = (head, grids, words, sum, ...notes) =>
    html(
      "li",
      {},
      html("h2", {}, head),
      picture(color, grids, words),
      html("p", { class: "ps-sum" }, ...sum.map((one) => (typeof one === "number" ? html("b", {}, `${one}`) : one))),
      ...notes.map((note) => html("p", {}, note)),
    );
  const each = ({ run: bytes, count, step, start: first }) =>
    `${grouped(cut ? count : bytes)} ${cut ? `pieces of ${bytes} bytes, one every ${step}` : "bytes in one piece"}, `
    + `from byte ${grouped(first)}`;
  const own = model.values?.find(([table_, at]) => table_ === name && at === position);
  return [
    beat(
      "1 The word",
      [[1, 4, 51 * near.length, 24, 1, near.length, (i) => (near[i] === position ? 1 : PALE)]],
      near.flatMap((p, i) => [
        [51 * i + 26, 20, word(p), on(p === position)],
        [51 * i + 26, 43, `${p}`, "mid muted"],
      ]),
      ["token ", position],
      `of ${tableText(state, name)}`,
    ),
    beat(
      "2 Divide",
      [[22, 1, 132, 25 * rows, rows, size, (i) => (i === position - row * size ? 1 : i < filled - row * size && PALE)]],
      [row, k].slice(-rows).map((one, i) => [16, 18 + 25 * i, `${one}`, "end muted"]),
      [position, ` \u00f7 ${size} = `, k, `, remainder ${offset}`],
      "logical block and offset",
    ),
    beat(
      "3 The table",
      [[34, 1, 60, 16.5 * shown.length, shown.length, 1, (i) => (from + i === k ? 1 : PALE)]],
      shown.flatMap((id, i) => [
        [26, 13.5 + i * 16.5, `${from + i}`, "end muted"],
        [64, 13.5 + i * 16.5, `${id}`, on(from + i === k, " strong")],
      ]),
      ["entry ", k, " \u2192 block ", block],
      `${where}slot ${index} \u00b7 ${size} + ${offset} = ${index * size + offset}`,
    ),
    beat(
      "4 The block",
      [[16, 1, 138, 50, 2, model.layers, (i) => i % model.layers === layer]],
      [..."KV"].map((half, i) => [2, 18 + 25 * i, half, "strong"]),
      ["block ", block, `: ${sizeText(allBytes(model, size))}`],
      `${model.layers} layers \u00d7 K and V \u00d7 ${size} slots \u00d7 ${sizeText(all)}`,
    ),
    beat(
      `5 The bytes, layer ${layer}`,
      X.map((x) => [x + 1, 13, HALF, cut ? 30 : 38, cut ? 5 : size, cut ? size : 1, (i) => i % size === offset]),
      X.flatMap((x, i) => [
        [x + 1, 10, "KV"[i], "strong"],
        [x + HALF / 2, 51, cut ? "\u2026" : "", "mid"], // there are hundreds of rows
      ]),
      [index, ` \u00b7 ${grouped(size * all)} + ${offset} \u00b7 ${grouped(piece)} = ${grouped(start)}`],
      ...(cut ? runs.map((one, i) => `${"KV"[i]}: ${each(one)}`) : [`K and V: ${each(runs[0])}`]),
      ...[0, 1].flatMap((i) => (own ? `${"KV"[i]} = ${own[2][2 * layer + i].slice(0, 4).join(", ")}, \u2026` : [])),
    ),
  ];
}
