// A pool of thousands of blocks as one picture: a path for each colour, however many blocks have it. Cells.js
// draws the part of it that is enlarged.

import { box } from "./cells.js";

/** The colour of a block in the picture: its first owner's, or what it is without one.
 * @param {State} state @param {Owner[] | undefined} owners */
const lookOf = (state, id, owners) =>
  owners?.[0]?.color ?? (state.refs[id] || state.isIdle(id) ? "var(--held)" : undefined);

/** Where the blocks of a large pool are. @param {Stage} stage */
function placesOf({ layout, run }) {
  const { columns, t, cpuGap, height } = /** @type {Texture} */ (layout.texture),
    { x, y: bottom } = layout.pools[0],
    { num_gpu_blocks: gpu, num_cpu_blocks: cpu } = run.header,
    top = bottom - height - 26,
    low = top + Math.ceil(gpu / columns) * t + cpuGap;
  /** The first of some blocks in a row, as a place of the picture. */
  const at = (id) => {
    const index = id < gpu ? id : id - gpu;
    return [x + (index % columns) * t, (id < gpu ? top : low) + Math.floor(index / columns) * t];
  };
  /** The block at a place. */
  const blockAt = (px, py) => {
    const column = Math.floor((px - x) / t),
      above = py < low - cpuGap || !cpu,
      id = Math.floor((py - (above ? top : low)) / t) * columns + column;
    return column < 0 || column >= columns || id < 0 || id >= (above ? gpu : cpu) ? null : id + (above ? 0 : gpu);
  };
  /** The path of neighbours, row by row. */
  const stretch = (from, to, by = 0) => {
    let d = "";
    for (let id = from; id < to;) {
      const first = id < gpu ? 0 : gpu,
        end = Math.min(to, id + columns - ((id - first) % columns), id < gpu ? gpu : gpu + cpu),
        [left, y] = at(id);
      d += box(
        +(left - by).toFixed(2),
        +(y - by).toFixed(2),
        +((end - id) * t + 2 * by).toFixed(2),
        +(t + 2 * by).toFixed(2),
      );
      id = end;
    }
    return d;
  };
  return { x, top, low, at, blockAt, stretch, width: columns * t };
}

/** @param {Stage} stage @param {State} state @param {Owner[][]} owners @param {Changed} changed */
export function drawTexture(stage, state, owners, changed) {
  const { under, over, layout, cells } = stage,
    { columns, t, height } = /** @type {Texture} */ (layout.texture),
    { x, top, low, at, blockAt, stretch, width } = placesOf(stage),
    paths = new Map();
  for (let id = 0, end = 0; id < state.total; id = end) {
    const look = lookOf(state, id, owners[id]);
    for (end = id + 1; end < state.total && lookOf(state, end, owners[end]) === look;) end++;
    if (look) paths.set(look, (paths.get(look) ?? "") + stretch(id, end));
  }
  under.rect(x, top, width, height, "", "transparent", { at: blockAt });
  for (const [look, d] of paths) under.path(d, "texture", "none", look);
  const gpuRows = Math.ceil(state.numGpu / columns) * t,
    rims = box(x, top, width, gpuRows) + (state.total > state.numGpu ? box(x, low, width, top + height - low) : "");
  under.path(rims, "thin");
  if (state.total > state.numGpu) under.text(x, low - 6, `${state.poolNames[1]} pool`, "strong");
  const spot = Math.max(t, 3);
  over.path([...changed.keys()].map((id) => box(...at(id), spot, spot)).join(""), "spot");
  const { from, shown } = cells,
    end = Math.min(from + shown, state.total),
    { x: left, y: lowest, columns: across } = layout.pools[0],
    right = left + across * (layout.cell.w + layout.cell.gx) - layout.cell.gx;
  over.path(stretch(from, end, 1.5), "enlarged");
  const [[a, y], [b, z]] = [at(from), at(end - 1)];
  under.path(`M${a} ${y + t}V${top + height}L${left} ${lowest - 4}H${right}L${b + t} ${top + height}V${z + t}`, "lead");
}
