// The cached blocks as a tree, first blocks left: why a block is found only behind those before it.

import { chainsOf } from "./chains.js";
import { CHAIN, LABEL, MARGIN } from "./layout.js";
import { short } from "./text.js";

const HIGH = 17,
  LINK = 14, // between a block and the next one
  LEAST = 26;

/** @param {Stage} stage @param {State} state @param {Owner[][]} owners @param {PageEvent | null} event
 * @param {Changed} changed @param {View} view */
export function drawTree(stage, state, owners, event, changed, view) {
  const { tree: under, over, layout, run, label } = stage,
    all = chainsOf(state, event),
    size = state.blockSize,
    { rightX: left, treeY: top } = layout,
    why = "each one\u2019s hash contains the hash at its left";
  under.text(left, top + 4, "Cached blocks", "strong");
  if (!layout.narrow) under.text(left + LABEL, top + 4, why, "muted");
  if (!all.length) under.text(left, top + 24, "none", "muted");
  const isOf = ({ ids, missed }) =>
    missed || ids.some((id) => changed.has(id) || (view.selected?.kind === "block" && view.selected.value === id));
  const first = [...all].sort((a, b) => +b.some(isOf) - +a.some(isOf)).slice(0, run.chains),
    rows = all.filter((chain) => first.includes(chain)),
    deep = Math.max(...rows.map((chain) => chain.length)),
    room = layout.width - MARGIN - left - 16,
    wide = Math.max(Math.min((room + LINK) / deep - LINK, 170), LEAST),
    most = Math.floor((room + LINK) / (wide + LINK));
  const drawn = new Map(); // node → where it is
  let links = "";
  rows.forEach((chain, row) => {
    const y = top + 13 + row * CHAIN;
    for (const node of chain.slice(0, most)) {
      if (drawn.has(node)) continue;
      const { ids, k, above, missed } = node,
        [id] = ids,
        x = left + k * (wide + LINK),
        from = drawn.get(above);
      drawn.set(node, y);
      if (above) links += `M${x - LINK} ${from + HIGH / 2}h${LINK / 2}V${y + HIGH / 2}h${LINK / 2}`;
      const mine = owners[id]?.slice(0, 6) ?? [],
        high = HIGH / mine.length,
        hit = id === undefined ? null : { block: id };
      mine.forEach(({ color, pattern }, i) => {
        for (const paint of [color, pattern]) if (paint) under.rect(x, y + i * high, wide, high, "", paint, hit);
      });
      under.rect(x, y, wide, HIGH, hit ? `thin${mine.length ? "" : " waiting"}` : "absent", "transparent", hit);
      const words = node.tokens.slice(k * size, (k + 1) * size).map(label),
        name = ids.join(" "),
        fit = (begin) =>
          layout.cut(`${begin ? "\u2026 " : ""}${words.slice(begin).join(" ")}`, wide - 8 * name.length - 16),
        whole = fit(0),
        // What is too long begins where it differs from another block behind the same one.
        alike = rows.map((one) =>
          one[k]?.above === above
            ? words.findIndex((_, i) => one[k].tokens[k * size + i] !== node.tokens[k * size + i])
            : 0,
        ),
        [part, tiny] = wide < 7 * size ? ["", ""] : whole[0].endsWith("\u2026") ? fit(Math.max(...alike, 0)) : whole,
        text = hit && part ? `${name}: ${part}` : part || short(name, 5);
      under.text(
        x + wide / 2,
        y + 12.5,
        text,
        `mid cut ${mine.length > 1 ? "halo" : (mine[0]?.ink ?? "")}${tiny}`,
        hit,
      );
      if (ids.some((one) => changed.has(one))) over.rect(x - 2, y - 2, wide + 4, HIGH + 4, "frame hung");
      if (missed) over.path(`M${x - LINK / 2} ${y - 3}v${HIGH + 6}`, "candidate");
    }
    if (chain.length > most) under.text(left + most * (wide + LINK), y + 12.5, `+${chain.length - most}`, "muted");
  });
  under.path(links, "lead");
  if (all.length > rows.length) {
    under.text(layout.width - MARGIN, top + 4, `and ${all.length - rows.length} more`, "end muted");
  }
}
