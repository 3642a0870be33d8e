// The second tier in the picture: its chunks, and the copies under way between it and the GPU.

import { begins, pairsText } from "./jobs.js";
import { LABEL, MARGIN, chunkGap } from "./layout.js";
import { nameText, plural, short } from "./text.js";

/** A line around the blocks of each chunk. @param {Stage} stage @param {State} state */
export function drawChunks(stage, state) {
  const {
      cells: { at },
      layout: {
        cell: { w, h, gx, gy, detail },
        per,
      },
      under,
    } = stage,
    out = Math.min(chunkGap(per) / 2, gx / 2, gy / 2) + 0.5;
  if (per < 2 || !detail) return;
  let d = "";
  for (let first = state.numGpu; first < state.total;) {
    const { x, y } = at[first];
    let n = 1; // the part of a chunk that is in one row
    while ((first + n - state.numGpu) % per && at[first + n].y === y) n++;
    const last = at[first + n - 1];
    d += `M${x - out} ${y - out}H${last.x + w + out}v${h + 2 * out}H${x - out}z`;
    first += n;
  }
  under.path(d, "chunk");
}

/** What the second tier is: "6 chunks of 2 blocks, LRU". @param {Run} run */
export function chunksText({ header, perChunk }) {
  const count = plural(header.num_cpu_blocks / perChunk, "chunk"),
    policy = typeof header.tier.policy === "string" ? `, ${short(header.tier.policy.toUpperCase(), 12)}` : "";
  return `${count}${perChunk > 1 ? ` of ${perChunk} blocks` : ""}${policy}`;
}

/** A bend from below the first pool to above the second, as steep at both ends as the gaps between the cells. */
const bend = (begin, end, top, bottom) =>
  [...Array(13).keys()].map((k) => {
    const t = k / 12;
    return [begin + (end - begin) * t * t * (3 - 2 * t), top + (bottom - top) * t];
  });

/** The way of a copy: out of a pool along the gaps between its cells, past all words, and across to the other one.
 * Small cells have no such gaps: one line for all pairs of a job crosses from pool to pool.
 * @param {Stage} stage @param {string} kind @param {number[][]} pairs @returns {number[][]} */
function way({ cells, layout, run }, kind, pairs, i) {
  const { w, h, gx, detail } = layout.cell,
    gpu = run.header.num_gpu_blocks,
    aside = (i % 3) * Math.min(gx / 4, 2) - 2,
    top = cells.at[gpu - 1].y + h,
    bottom = cells.at[gpu].y,
    [highs, lows] = [0, 1].map((side) => pairs.map((pair) => cells.at[pair.toSorted((a, b) => a - b)[side]])),
    [high, low] = [highs[0], lows[0]],
    points = [];
  let begin = high.x + w * (kind === "store" ? 0.62 : 0.3),
    end = low.x + w / 2;
  if (!detail) {
    [begin, end] = [highs, lows].map((all) => all.reduce((sum, { x }) => sum + x, 0) / all.length + w / 2);
    points.push(...bend(begin, end, top + 4, bottom - 3));
  } else {
    points.push([begin, high.y + h]);
    if (high.y + h < top) {
      points.push([begin, high.y + h + 4 + aside], [(begin = high.x + w + gx / 2 + aside), high.y + h + 4 + aside]);
    }
    if (low.y > bottom) end = low.x - gx / 2 + aside;
    points.push(...bend(begin, end, top + 6, bottom - 10));
    if (low.y > bottom) points.push([end, low.y - 6 + aside], [low.x + w / 2, low.y - 6 + aside]);
    points.push([low.x + w / 2, low.y]);
  }
  return kind === "store" ? points : points.reverse();
}

/** A line for each block that is being copied: those of this step's jobs are marked as all that it changes.
 * @param {Stage} stage @param {State} state @param {PageEvent | null} event @param {View} view */
export function drawCopies(stage, state, event, { selected }) {
  const { over, layout, spots } = stage;
  let i = 0;
  for (const { id, kind, request, pairs } of state.jobs.values()) {
    if (!pairs.length) continue;
    for (const some of layout.cell.detail ? pairs.map((pair) => [pair]) : [pairs]) {
      const points = way(stage, kind, some, i++),
        d = `M${points.join("L")}`,
        follows =
          selected?.kind === "block" ? some.flat().includes(selected.value) : state.first(request) === selected?.value,
        more = `${begins(event, id) ? " begun" : ""}${selected && !follows ? " dim" : ""}`;
      over.path(d, "copy-edge");
      spots.ways.set(some[0][1], { points, node: over.path(d, `copy${more}`) });
    }
  }
}

/** A row with the jobs under way. @param {Stage} stage @param {State} state @param {PageEvent | null} event */
export function drawJobs(stage, state, event, y) {
  const { under, over, run, layout } = stage,
    em = layout.narrow ? 7.6 : 6.9,
    jobs = [...state.jobs.values()];
  under.text(layout.rightX, y + 12, "copies", "strong");
  let x = layout.rightX + LABEL;
  if (!jobs.length) under.text(x, y + 12, "none under way", "muted");
  for (const [i, { id, kind, request, pairs, isFlushed }] of jobs.entries()) {
    const first = state.first(request),
      hit = { seq: first },
      brief = `${nameText(first)} ${kind === "store" ? "\u2193" : "\u2191"} `,
      flush = isFlushed ? ", flushed" : "",
      text = brief + (pairs.length < 3 ? pairsText(pairs, 2) : plural(pairs.length, "block")) + flush,
      width = text.length * em + 22;
    if (x + width > layout.width - MARGIN - (i + 1 < jobs.length ? 34 : 0)) {
      under.text(x + 3, y + 12, `+${jobs.length - i}`, "muted");
      return;
    }
    stage.swatch(x, y, 11, 16, "", run.look(first), hit);
    under.rect(x, y, width, 16, "thin", "transparent", hit);
    under.text(x + 15, y + 12, text, "", hit);
    if (begins(event, id)) over.rect(x - 2, y - 2, width + 4, 20, "frame");
    x += width + 5;
  }
}
