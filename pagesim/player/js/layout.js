// Where everything is, in units of the picture: decided once for a run and a width, so that
// nothing jumps from step to step.

import { filmOf } from "./programs.js";
import { short } from "./text.js";

export const WIDE = 1000,
  NARROW = 400; // a page that is drawn larger, and a phone held upright: else one unit is a pixel
const LEFT = 408, // the tables of many sequences, and the lists below them
  RIGHT = 400; // beside those queues and the tree stand below the pools
const PHONE = 600,
  LINKED_PHONE = 900; // narrower than this, or beside another run than that, it is upright
const TABLET = 800; // and so is a large pool below this
export const MARGIN = 10,
  HEAD = 26;
export const ROW = 17,
  NAME = 20,
  GAP = 9; // a table drawn in full
export const LANE = 20; // a table of several groups, and what its kind answers to a lookup
export const LINE = 22; // a table drawn in one line
export const CHAIN = 21; // of cached blocks
export const SIGNED = 19; // from this height on a cell has room for the signs of a step
export const QUEUE = 25; // a scheduler's queue
export const LIST = 32, // a list of blocks
  AGES = 15, // and since when its blocks are in it
  SHARED = 30, // what sharing saves: in a row of its own
  LABEL = 92,
  BACK = 48, // the room for a list's name, and for "bottom"
  ASIDE = 264; // or beside the pool, or at the end of the first list
const BETWEEN = 40, // from a pool to one below it
  FLIGHT = 52, // and where copies are under way between them
  BELOW = 24; // the heading of the second tier
const POOL = 310, // the room of a pool beside the programs that read it
  GUTTER = 22; // for lines to them, where they are above it
const MORE = 24; // with a second tier
const STAGE = 462,
  SMALL = 448; // the greatest height that fits a laptop's screen together with the controls
const MANY = 1024, // more blocks have no cells of their own
  CALLOUT = 26; // from the picture of a large pool to the part with cells
const TALL = 900,
  LINKED = 360; // a phone scrolls; beside another run both are to be seen, of a crowd the whole

// Sizes of a cell, largest first: width, height, gaps; the texts that fit.
const CELLS = [
  { w: 84, h: 52, gx: 9, gy: 25, detail: 2 },
  { w: 62, h: 48, gx: 7, gy: 24, detail: 2 },
  { w: 50, h: 38, gx: 6, gy: 16, detail: 2 },
  { w: 38, h: 28, gx: 5, gy: 6, detail: 1 },
  { w: 29, h: 23, gx: 4, gy: 4, detail: 1 },
  { w: 24, h: 19, gx: 3, gy: 3, detail: 0 },
  { w: 20, h: 16, gx: 2.5, gy: 3, detail: 0 },
  { w: 16, h: 14, gx: 2.5, gy: 2.5, detail: 0 },
  { w: 12, h: 11, gx: 2, gy: 2, detail: 0 },
  { w: 9, h: 8, gx: 1.5, gy: 1.5, detail: 0 },
  { w: 6, h: 6, gx: 1, gy: 1, detail: 0 },
  { w: 3.5, h: 3.5, gx: 0.5, gy: 0.5, detail: 0 },
];
/** A block as a row of slots with their words, its id before it, its owners and a mark after it. */
const STRIP = { h: 19, gy: 5, before: 22, detail: 3 },
  BADGE = 42,
  TAG = 20; // the letter of a block's group, between its id and its slots

const PLAIN = { before: 0, behind: 0, owners: 0 };

/** Rows of cells in two pools with these numbers of columns. */
const rowsOf = (gpu, cpu, g, c) => Math.max(Math.ceil(gpu / g), Math.ceil(cpu / c), 1);

/** @returns {Grid | null} */
function strips({ gpu, cpu, size, room, height, narrow, marks, several }) {
  const owners = 94,
    before = STRIP.before + (several ? TAG : 0),
    behind = owners + (marks ? BADGE : 0);
  const most = Math.max(Math.floor((height + STRIP.gy) / (STRIP.h + STRIP.gy)), 1),
    columns = (count) => Math.ceil(count / most);
  const [g, c] = narrow ? [1, 1] : [columns(gpu), columns(cpu)];
  const slot = Math.min(narrow ? 66 : 52, (room / (narrow ? 1 : g + c) - before - behind) / size);
  const rows = narrow ? gpu + cpu : rowsOf(gpu, cpu, g, c || 1);
  if (size > 8 || slot < 22 || rows > most) return null;
  const w = slot * size,
    gx = before + behind;
  return { ...STRIP, before, behind, owners, w, gx, g, c: c || 1, rows };
}

/** Contiguous memory: units without gaps, a round number of them per row. @returns {Grid | null} */
function stretch({ gpu, room, height }) {
  for (const h of [22, 16, 11, 8]) {
    const rows = Math.max(Math.floor(height / (h + 12)), 1);
    // Regions are often as large as a power of two: such rows begin where a region begins.
    const g = Math.max(2 ** Math.ceil(Math.log2(gpu / rows)), Math.min(gpu, 20));
    if (room / g < 1.4 && h > 8) continue;
    return { ...PLAIN, w: Math.min(room / g, 26), h, gx: 0, gy: 12, detail: 0, g, c: 1, rows: Math.ceil(gpu / g) };
  }
  return null;
}

/** The room between two chunks of the second tier, if they have several blocks. */
export const chunkGap = (per) => (per > 1 ? 7 : 0);

/** How many blocks of the second tier stand in a row: whole chunks, or a part of one. */
function chunked({ w, gx }, cpu, room, per) {
  const gap = chunkGap(per),
    chunks = Math.floor((room + gx + gap) / (per * (w + gx) + gap));
  return Math.min(cpu, chunks ? chunks * per : Math.max(Math.floor((room + gx) / (w + gx)), 1));
}

/** @returns {Grid} */
function boxes({ gpu, cpu, full, room, height, between, stacked, several, per }) {
  let found = { ...PLAIN, ...CELLS[CELLS.length - 1], g: 1, c: 1, rows: gpu + cpu };
  for (const plain of CELLS) {
    const cell = several && plain.detail === 1 ? { ...plain, w: plain.w + 10 } : plain; // beside its number a letter
    const columns = Math.floor((room - between + cell.gx) / (cell.w + cell.gx));
    let best = { g: 0, c: 0, rows: Infinity };
    for (let g = 1; g <= Math.min(columns - (cpu && !stacked ? 1 : 0), gpu || 1); g++) {
      const c = !cpu
        ? 1
        : per
          ? chunked(cell, cpu, room, per)
          : stacked
            ? g
            : Math.min(columns - g, Math.max(2, g), cpu);
      const rows = stacked ? Math.ceil(gpu / g) + Math.ceil(cpu / c) : rowsOf(gpu, cpu, g, c);
      const wide = full && !per && gpu <= 24 && g > 4; // few blocks: four columns, as in the figures
      const odd = gpu >= 64 && g % 8 && columns >= 10; // many: rows that begin at round ids
      if (c > 0 && !wide && !odd && rows <= best.rows) best = { g, c, rows };
    }
    if (!best.g) continue;
    found = { ...PLAIN, ...cell, ...best };
    if (best.rows * (cell.h + cell.gy) - Math.min(cell.gy, STRIP.gy) <= height) break;
  }
  return found;
}

const widths = new Map(); // of texts at a size of one unit, in the font that the page shows
const pen = /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));
function widthOf(text) {
  if (!widths.size)
    pen.font = `100px ${getComputedStyle(document.getElementsByClassName("pagesim-player")[0]).fontFamily}`;
  if (!widths.has(text)) widths.set(text, pen.measureText(text).width / 100);
  return widths.get(text);
}

/** The size at which a text fits a width: "" is normal, " tiny" is small, null does not fit. */
const fits = (narrow, several, far) => (text, width) => {
  const [normal, tiny] = narrow ? [12.4, 12.4] : several ? [11.4, 11.4] : far ? [11, 9] : [11, 11],
    wide = widthOf(text);
  return wide * normal <= width ? "" : wide * tiny <= width ? " tiny" : null;
};

/** A word as it fits a width, without its end where need be, and its size; a number stays whole or away, for its
 * beginning is another number. */
const cut = (fit) => (text, width) => {
  for (let most = text.length, least = /\d/.test(text) ? most : Math.min(most, 3); most >= least; most--) {
    const size = fit(short(text, most), width);
    if (size !== null) return [short(text, most), size];
  }
  return ["", ""];
};

/** The room for a tree with so many chains. */
const treeHeight = (rows) => (rows ? 30 + rows * CHAIN : 0);

/** The room for what the groups answer to a lookup: a heading, a bar for each kind, the result. @param {Run} run */
export const lookupHeight = (run) => 44 + run.lookups * LANE;

/** Where the tables of several groups are drawn: to scale, so that a position is at one place in all of them.
 * @param {Run} run */
function lanesOf(run, left, narrow) {
  const em = narrow ? 7.6 : 6.9,
    labels = run.groups.list.map(({ label }) => label.length);
  const x = Math.ceil(MARGIN + 28 + Math.max(...labels) * em),
    room = left - x - (narrow ? 4 : 0),
    smallest = Math.min(...run.groups.list.map(({ size }) => size));
  return { x, unit: Math.min(room / run.most.span, 64 / smallest), room };
}

/** A large pool is one picture without cells; below it a part of it has them. Its rows are whole parts.
 * @returns {Texture} */
function textureOf(gpu, cpu, room) {
  const shown = 48;
  for (let columns = shown; ; columns += shown) {
    const t = Math.min(room / columns, 6),
      rows = Math.ceil(gpu / columns) + (cpu ? Math.ceil(22 / t) : 0), // and the heading of the second pool
      height = (rows + Math.ceil(cpu / columns)) * t;
    if (height <= 190 || t < 1) return { shown, columns, t, apart: rows * columns - gpu, height };
  }
}

/** The lists that a run uses, by number: none beside a kernel, which takes no blocks. @param {Run} run */
const listsOf = ({ header, inUse, programs }) =>
  programs.length ? [] : header.lists.map((_, i) => i).filter((i) => i === 0 || inUse.has(i));

/** Whether it is said since when the blocks of a list are in it: not of several groups, which leave no room, nor of
 * the CPU. @param {Run} run */
export const isAged = ({ header, groups }, list) =>
  !groups.several && header.lists[list][1] !== "sorted" && !header.lists[list][0].startsWith(header.pool_names[1]);

/** The height of the lists. @param {Run} run */
function listsHeight(run) {
  const lists = listsOf(run);
  return lists.length * LIST + lists.filter((list) => isAged(run, list)).length * AGES;
}

/** The height of the queues, with what is under way. @param {Run} run */
const queuesHeight = ({ header, most, updates, perChunk }) =>
  most.queued && (header.queues.length + Number(updates) + Number(perChunk > 0)) * QUEUE + 6;

/** The width of a list with so many blocks; of many not all are shown. */
const listWidth = (blocks) => (blocks > 64 ? 0 : LABEL + blocks * (`${blocks}`.length * 6.5 + 11) + BACK);

/** Upright is `narrow`: the pools stand below the tables. There is room for what another run needs, so that both
 * have one scale. @param {Run} run */
export function plan(run, width = WIDE, linked = false, other = run, asked = false) {
  const { header } = run,
    far = width === WIDE,
    narrow = asked || width < (linked ? LINKED_PHONE : PHONE),
    tall = linked || run.isCrowd ? LINKED : TALL,
    greatest = (of) => Math.max(of(run), of(other));
  const most = Object.fromEntries(Object.keys(run.most).map((key) => [key, greatest((one) => one.most[key])]));
  const gpu = greatest((one) => one.header.num_gpu_blocks),
    cpu = greatest((one) => one.header.num_cpu_blocks),
    { several } = run.groups,
    size = several ? Math.max(...run.groups.list.map((one) => (one.state ? 1 : one.size))) : header.block_size;
  const per = run.perChunk,
    stacked = narrow || per > 0; // the second tier lies below the GPU, one level lower
  const contiguous = header.lists[0]?.[1] === "sorted";
  const isFilm = run.programs.length > 0,
    chains = isFilm ? 0 : greatest((one) => one.chains);
  const lists = greatest(listsHeight),
    queues = greatest(queuesHeight),
    tree = treeHeight(chains),
    wide = MARGIN + listWidth(gpu),
    isWide = !narrow && queues + tree > 0 && width - Math.max(wide, LEFT) >= RIGHT + 3 * MARGIN,
    shares = greatest((one) => Number(one.shares && !one.programs.length)),
    aside = narrow || width < TABLET ? 0 : shares * ASIDE,
    shared = aside || several ? 0 : shares * SHARED,
    below = (isWide ? Math.max(lists, queues) : lists + queues) + 8 + shared;
  const legend = isFilm
    ? 0
    : narrow
      ? Math.max((100 * NARROW) / width, 64) + Number(chains > 0) * 16
      : ((header.caching || other.header.caching ? (several ? 68 : 52) : 36) * WIDE) / Math.min(width, WIDE);
  const room = (narrow ? tall : (several ? STAGE - 6 : far ? STAGE : SMALL) + (per ? MORE : 0)) - HEAD - below - legend;

  const height = most.rows * ROW + most.tables * (NAME + GAP);
  const full = !several && !contiguous && !isFilm && height <= room && most.length <= 20 && gpu <= 64 && cpu <= 64;
  if (!full && !narrow && width < TABLET) return plan(run, width, linked, other, true);
  const slot = narrow ? Math.min(66, 264 / size) : Math.min(52, 208 / size);
  const entry = narrow ? [38, 42] : [34, 32],
    arrow = narrow ? 12 : 26; // two columns, and the way to them
  const table = arrow + entry[0] + entry[1];
  const left = full ? Math.max(MARGIN + 18 + slot * size + table, 216) : Math.min(LEFT, width - MARGIN);
  // Where two runs are stepped by schedule(), no step writes a word, and the pools are what is compared.
  const brief = linked && !several && [run, other].every(({ schedules }) => schedules.length > 0),
    slotRows = brief ? 0 : Math.min(Math.ceil(size / 8), 4),
    under = several || contiguous || brief ? 20 : 44 + slotRows * ROW;
  const line = several ? NAME + run.groups.list.length * LANE + 6 : LINE, // a request, or a table
    rows = several ? most.requests : most.tables;
  const beside = Math.min(narrow ? (several ? 400 : brief ? 152 : 260) : room, Math.max(rows, 4) * line + under);
  const lines = run.isCrowd && !several ? 5 : Math.max(Math.floor((beside - under) / line), 1);
  const last = contiguous ? gpu * size : gpu + cpu,
    digits = Math.max(10, `${last}`.length * 8 - 4);
  // Where programs are drawn they take the place of the tables, of the lists and of the legend.
  const film = FILM
    ? filmOf(run, width - MARGIN, narrow, narrow ? MARGIN + GUTTER : MARGIN + digits + POOL + 44, HEAD)
    : null;
  // It stands below a request where there is room for both, or in its place.
  const alone = lookupHeight(run) + 20,
    asks = run.lookups ? Math.max(alone, Math.min(alone + line, room)) : 0;
  const tables = film ? film.height : full ? height : Math.max(Math.min(rows, lines) * line + under, asks);
  const poolsX = film ? MARGIN + digits + (narrow ? GUTTER : 0) : narrow ? MARGIN + digits : left + (full ? 62 : 36),
    between = cpu && !stacked ? 34 : 0;
  const texture = contiguous || per || gpu + cpu <= MANY ? null : textureOf(gpu, cpu, width - MARGIN - poolsX),
    above = texture ? texture.height + CALLOUT : 0;
  const wanted = {
    gpu: texture ? texture.shown : gpu,
    cpu: texture ? 0 : cpu,
    size,
    marks: run.marks || other.marks,
    several,
    full,
    narrow,
    stacked,
    per,
    between,
    room: film && !narrow ? POOL : width - MARGIN - poolsX,
    height: (narrow ? tall : Math.max(room - 14, tables)) - (per ? FLIGHT + BELOW : 0) - above,
  };
  const found =
      (contiguous && stretch(wanted)) || ((full || several || film) && !per && strips(wanted)) || boxes(wanted),
    isCrowded = greatest((one) => one.places.size) > 7 && !several,
    // Where colours are many, a name says more than a number, and there is room for one of them.
    cell = isCrowded && found.h < 26 && found.detail === 1 ? { ...found, detail: 0 } : found;
  const pitch = { x: cell.w + cell.gx, y: cell.h + cell.gy },
    { before } = cell;
  const firstY = HEAD + (narrow ? tables + 30 : 0);
  const gpuRows = Math.ceil(wanted.gpu / cell.g);
  const pools = [
    { x: poolsX + before, y: firstY + 12 + above, columns: cell.g },
    stacked
      ? { x: poolsX + before, y: firstY + 12 + gpuRows * pitch.y + (per ? FLIGHT - cell.gy : BETWEEN), columns: cell.c }
      : { x: poolsX + before + cell.g * pitch.x + (before ? 0 : between - cell.gx), y: firstY + 12, columns: cell.c },
  ];
  const bottom = (i, count) => (count ? pools[i].y + Math.ceil(count / pools[i].columns) * pitch.y - HEAD : 0);
  const heading = per ? BELOW - cell.gy : 0,
    pool = Math.max(bottom(0, wanted.gpu), bottom(1, wanted.cpu) + heading + (per && narrow ? 8 : 0)),
    body = Math.max(tables, pool, 100);
  const fit = fits(narrow, several || per > 0, far);
  const end = poolsX + (cell.g + (between && cell.c)) * pitch.x + between,
    isBeside = aside && width - MARGIN - end >= aside;
  // Two columns: lists below the tables, or below the pools if they are wider than that; tree and queues at the right.
  const isSplit = isWide && (!aside || isBeside),
    listsEnd = isSplit ? Math.max(left, wide) : width - MARGIN,
    rightX = isSplit ? Math.max(poolsX, listsEnd + 2 * MARGIN) : MARGIN,
    treeY = HEAD + (isSplit ? pool : body) + 12,
    listsY = HEAD + (!isSplit ? body + tree : listsEnd > left ? body : tables) + shared + 14,
    queuesY = isSplit ? treeY + tree + 2 : listsY + lists,
    foot = Math.max(listsY + lists, queuesY + queues) - 6;
  return {
    width,
    narrow,
    full,
    contiguous,
    slot,
    slotRows,
    size,
    left,
    entry,
    cell,
    pools,
    texture,
    bottom: HEAD + bottom(1, cpu) + heading,
    lists: listsOf(run),
    body,
    lines,
    line,
    tables: narrow ? tables : body,
    aside: isBeside ? 0 : aside,
    shared,
    sharing: [
      // what it saves: x, y, and the room for it
      aside ? width - MARGIN - aside : MARGIN,
      isBeside ? firstY + 16 : HEAD + body + tree + 17,
      aside || shared / SHARED,
    ],
    legend,
    height: foot + legend,
    isOpen: isSplit || tree + shared === 0,
    listsEnd,
    listsY,
    rightX,
    queuesY,
    tree,
    treeY,
    several,
    per,
    film,
    lanes: several ? lanesOf(run, left, narrow) : { x: 0, unit: 0, room: 0 },
    em: narrow ? 7.4 : several || per || !far ? 6.4 : 5.6, // the width of a letter of the legend
    far,
    fits: fit,
    cut: cut(fit),
  };
}
