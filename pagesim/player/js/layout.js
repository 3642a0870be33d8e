// Where everything stands, in units of the picture.

export const WIDTH = 1000, MARGIN = 10, HEAD = 26;
export const ROW = 17, NAME = 20, GAP = 9; // a table drawn in full
export const LINE = 22; // a table drawn in one line
export const QUEUE = 25; // a scheduler's queue

// Sizes of a cell, largest first: width, height, gaps; which texts it has room for.
const CELLS = [
  { w: 84, h: 52, gx: 9, gy: 25, detail: 2 }, { w: 62, h: 48, gx: 7, gy: 24, detail: 2 },
  { w: 50, h: 38, gx: 6, gy: 16, detail: 2 },
  { w: 38, h: 28, gx: 5, gy: 6, detail: 1 }, { w: 29, h: 23, gx: 4, gy: 4, detail: 1 },
  { w: 24, h: 19, gx: 3, gy: 3, detail: 0 }, { w: 20, h: 16, gx: 3, gy: 3, detail: 0 },
  { w: 16, h: 14, gx: 2.5, gy: 2.5, detail: 0 }, { w: 12, h: 11, gx: 2, gy: 2, detail: 0 },
  { w: 9, h: 8, gx: 1.5, gy: 1.5, detail: 0 }, { w: 6, h: 6, gx: 1, gy: 1, detail: 0 },
  { w: 3.5, h: 3.5, gx: 0.5, gy: 0.5, detail: 0 },
];

/** Where everything stands; decided once for a run, so that nothing jumps from step to step. */
export function plan(run) {
  const { header, most } = run;
  const gpu = header.num_gpu_blocks, cpu = header.num_cpu_blocks, size = header.block_size;
  const height = most.rows * ROW + most.tables * (NAME + GAP);
  const full = height <= 520 && most.length <= 16 && gpu <= 64 && cpu <= 64;
  const slot = Math.min(52, 208 / size);
  const left = full ? MARGIN + 18 + slot * size + 26 + 34 + 32 : 408;
  const poolsX = left + (full ? 62 : 36);
  const room = WIDTH - MARGIN - poolsX, between = cpu ? 34 : 0;
  let found = null;
  for (const cell of CELLS) {
    const pitch = cell.w + cell.gx;
    const columns = Math.floor((room - between + cell.gx) / pitch);
    let best = null;
    for (let g = 1; g <= Math.min(columns - (cpu ? 1 : 0), gpu || 1); g++) {
      const c = cpu ? Math.min(columns - g, Math.max(2, Math.ceil(g / 2)), cpu) : 1;
      const rows = Math.max(Math.ceil(gpu / g), Math.ceil(cpu / c), 1);
      const wide = full && gpu <= 24 && g > 4; // few blocks: four columns, as in the figures
      const odd = gpu >= 64 && g % 8 && columns >= 10; // many: rows that begin at round ids
      if (c > 0 && !wide && !odd && (!best || rows <= best.rows)) best = { g, c, rows };
    }
    if (!best) continue;
    found = { ...cell, ...best, height: best.rows * (cell.h + cell.gy) - cell.gy };
    if (found.height <= (cell.detail ? 430 : 535)) break;
  }
  const cell = found ?? { ...CELLS.at(-1), g: 1, c: 1, rows: gpu + cpu, height: (gpu + cpu) * 4 };
  const slotRows = Math.min(Math.ceil(size / 8), 4), under = 44 + slotRows * ROW;
  const body = Math.max(full ? height : Math.min(most.tables, 17) * LINE + under, cell.height + 14, 120);
  const lines = Math.max(Math.floor((body - under) / LINE), 1);
  return { full, slot, slotRows, size, left, poolsX, cell, body, lines,
    cpuX: poolsX + cell.g * (cell.w + cell.gx) - cell.gx + between };
}
