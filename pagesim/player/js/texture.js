// A pool of thousands of blocks as one picture: a path for each colour, however many blocks have it. Cells.js
// draws the part of it that is enlarged.

import { box, fieldOf } from "./field.js";

/** The colour of a block in the picture: its first owner's, or what it is without one.
 * @param {State} state @param {Owner[] | undefined} owners */
const lookOf = (state, id, owners, near) =>
  (owners?.[0] && near && !near.has(owners[0].name) ? "var(--crowd)" : owners?.[0]?.color)
  ?? (state.refs[id] || state.isIdle(id) ? "var(--held)" : undefined);

/** @param {Stage} stage @param {State} state @param {Owner[][]} owners @param {Changed} changed */
export function drawTexture({ under, over, layout, cells, near }, state, owners, changed) {
  const { columns, t, height, apart } = /** @type {Texture} */ (layout.texture),
    { numGpu: gpu, total } = state,
    [{ x: left, y: low, columns: across }] = layout.pools,
    top = low - height - 26,
    field = fieldOf(left, top, columns, t, t, t),
    // the second pool begins in a row of its own
    place = (id) => (id < gpu ? id : id + apart),
    outline = (from, to, more = 0) =>
      field.outline(from, Math.min(to, gpu), more) + field.outline(Math.max(from, gpu) + apart, to + apart, more),
    paths = new Map();
  for (let id = 0, end = 0; id < total; id = end) {
    const look = lookOf(state, id, owners[id], near);
    for (end = id + 1; end < total && lookOf(state, end, owners[end], near) === look;) end++;
    if (look) paths.set(look, (paths.get(look) ?? "") + outline(id, end));
  }
  const at = (x, y) => {
    const found = field.under(x, y) ?? total + apart,
      id = found < gpu ? found : found - apart;
    return found < gpu || (id >= gpu && id < total) ? id : null;
  };
  under.rect(left, top, columns * t, height, "", "transparent", { at });
  for (const [look, d] of paths) under.path(d, "texture", "none", look);
  const rims = [
    [0, gpu],
    [gpu, total],
  ].map(([from, to]) =>
    from < to ? box(left, field.at(place(from))[1], columns * t, Math.ceil((to - from) / columns) * t) : "",
  );
  under.path(rims.join(""), "thin");
  if (rims[1]) under.text(left, field.at(place(gpu))[1] - 6, `${state.poolNames[1]} pool`, "strong");
  const spot = Math.max(t, 3);
  over.path([...changed.keys()].map((id) => box(...field.at(place(id)), spot, spot)).join(""), "spot");
  const end = Math.min(cells.from + cells.shown, total),
    right = left + across * (layout.cell.w + layout.cell.gx) - layout.cell.gx,
    [[a, y], [b, z]] = [field.at(place(cells.from)), field.at(place(end - 1))],
    down = top + height;
  over.path(outline(cells.from, end, 1.5), "enlarged");
  under.path(`M${a} ${y + t}V${down}L${left} ${low - 4}H${right}L${b + t} ${down}V${z + t}`, "lead");
}
