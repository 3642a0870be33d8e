// Rows of equal places without a node for each: where a place is, what lies at a point, the outline of neighbours.

/** The path of a rectangle. */
export const box = (x, y, width, height) => `M${x} ${y}h${width}v${height}h${-width}z`;
const brief = (number) => +number.toFixed(2);

/** So many `columns` of places of w × h from (left, top) on, row below row. */
export const fieldOf = (left, top, columns, w, h, pitch) => ({
  at: (place) => [left + (place % columns) * w, top + Math.floor(place / columns) * pitch],
  /** What lies at a point, also beyond the last place; null beside the rows. */
  under(x, y) {
    const column = Math.floor((x - left) / w);
    return column < 0 || column >= columns ? null : Math.floor((y - top) / pitch) * columns + column;
  },
  /** From a place to another, row by row, drawn larger by `more`; both may lie within a place. */
  outline(from, to, more = 0) {
    let d = "";
    for (let at = from; at < to;) {
      const row = Math.floor(at / columns),
        end = Math.min(to, (row + 1) * columns),
        x = left + (at - row * columns) * w;
      d += box(brief(x - more), brief(top + row * pitch - more), brief((end - at) * w + 2 * more), brief(h + 2 * more));
      at = end;
    }
    return d;
  },
});
