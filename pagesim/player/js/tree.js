// The cached blocks as a tree, first blocks left: why a block is found only behind those before it.

import { chainsOf } from "./chains.js";
import { CHAIN, HEAD, MARGIN } from "./layout.js";
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
    top = HEAD + layout.body + 12,
    long = "each one's hash contains the hash at its left, so a lookup goes from the left";
  under.text(MARGIN, top + 4, `Cached blocks${layout.narrow ? " by prefix" : `: ${long}`}`, "strong");
  if (!all.length) under.text(MARGIN, top + 24, "none", "muted");
  const isOf = ({ ids, missed }) =>
    missed || ids.some((id) => changed.has(id) || (view.selected?.kind === "block" && view.selected.value === id));
  const first = [...all].sort((a, b) => +b.some(isOf) - +a.some(isOf)).slice(0, run.chains),
    rows = all.filter((chain) => first.includes(chain)),
    deep = Math.max(...rows.map((chain) => chain.length)),
    room = layout.width - 2 * MARGIN - 60,
    wide = Math.max(Math.min(room / deep - LINK, 160), LEAST),
    most = Math.floor(room / (wide + LINK));
  const drawn = new Map(); // node → where it is
  let links = "";
  rows.forEach((chain, row) => {
    const y = top + 13 + row * CHAIN;
    for (const node of chain.slice(0, most)) {
      if (drawn.has(node)) continue;
      const { ids, k, above, missed } = node,
        [id] = ids,
        x = MARGIN + k * (wide + LINK),
        from = drawn.get(above);
      drawn.set(node, y);
      if (above) links += `M${x - LINK} ${from + HIGH / 2}h${LINK / 2}V${y + HIGH / 2}h${LINK / 2}`;
      const owner = owners[id]?.[0],
        hit = id === undefined ? null : { block: id };
      under.rect(x, y, wide, HIGH, hit ? (owner ? "thin" : "thin waiting") : "absent", owner?.color, hit);
      const words =
          wide < 7 * size
            ? ""
            : node.tokens
                .slice(k * size, (k + 1) * size)
                .map(label)
                .join(" "),
        name = ids.join(" "),
        [part, tiny] = layout.cut(words, wide - 8 * name.length - 16),
        text = hit && part ? `${name}: ${part}` : part || short(name, 5);
      under.text(x + wide / 2, y + 12.5, text, `mid cut ${owner ? owner.ink : ""}${tiny}`, hit);
      if (ids.some((one) => changed.has(one))) over.rect(x - 2, y - 2, wide + 4, HIGH + 4, "frame hung");
      if (missed) over.path(`M${x - LINK / 2} ${y - 3}v${HIGH + 6}`, "candidate");
    }
    if (chain.length > most) under.text(MARGIN + most * (wide + LINK), y + 12.5, `+${chain.length - most}`, "muted");
  });
  under.path(links, "lead");
  if (all.length > rows.length) {
    under.text(layout.width - MARGIN, top + 4, `and ${all.length - rows.length} more`, "end muted");
  }
}
