// The second tier in the picture: its chunks, and the copies under way between it and the GPU.

import { begins, pairsText } from "./jobs.js";
import { MARGIN, chunkGap } from "./layout.js";
import { nameText, plural, short } from "./text.js";

const STEPS = 12; // of a bend

/** A line around the blocks of each chunk. @param {Stage} stage @param {State} state */
export function drawChunks(stage, state) {
  const {
      cells: { at },
      layout: {
        cell: { w, h, gx, gy },
        per,
      },
      under,
    } = stage,
    out = Math.min(chunkGap(per) / 2, gx / 2, gy / 2) + 0.5;
  if (per < 2 || h < 6) return;
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

/** The way of a copy: out of a pool along the gaps between its cells, past all words, and across to the other one.
 * @param {Stage} stage @param {string} kind @param {number[]} pair @returns {[number, number][]} */
function way({ cells, layout, run }, kind, pair, i) {
  const { w, h, gx, detail } = layout.cell,
    gpu = run.header.num_gpu_blocks,
    [high, low] = pair.map((id) => cells.at[id]).sort((a, b) => a.id - b.id),
    aside = (i % 3) * Math.min(gx / 4, 2) - 2,
    top = cells.at[gpu - 1].y + h,
    bottom = cells.at[gpu].y - 10;
  /** @type {[number, number][]} */
  const points = [];
  let begin = high.x + w * (kind === "store" ? 0.62 : 0.3),
    end = low.x + w / 2;
  if (detail) {
    points.push([begin, high.y + h]);
    if (high.y + h < top) {
      points.push([begin, high.y + h + 4 + aside], [(begin = high.x + w + gx / 2 + aside), high.y + h + 4 + aside]);
    }
    if (low.y > bottom + 10) end = low.x - gx / 2 + aside;
  } else [begin, end] = [high.x + w / 2, low.x + w / 2];
  for (let k = 0; k <= STEPS; k++) {
    const t = k / STEPS; // as steep as the gaps at both ends
    points.push([begin + (end - begin) * t * t * (3 - 2 * t), top + 6 + (bottom - top - 6) * t]);
  }
  if (end < low.x) points.push([end, low.y - 6 + aside], [low.x + w / 2, low.y - 6 + aside]);
  points.push([low.x + w / 2, low.y]);
  return kind === "store" ? points : points.reverse();
}

/** A line for each block that is being copied: those of this step's jobs are marked as all that it changes.
 * @param {Stage} stage @param {State} state @param {PageEvent | null} event @param {View} view */
export function drawCopies(stage, state, event, { selected }) {
  const { over } = stage;
  let i = 0;
  for (const { id, kind, request, pairs } of state.jobs.values()) {
    const follows = {
      block: (pair) => pair.includes(selected?.value),
      seq: () => state.first(request) === selected?.value,
    };
    for (const pair of pairs) {
      const points = way(stage, kind, pair, i++),
        d = `M${points.join("L")}`,
        dim = selected && !follows[selected.kind](pair) ? " dim" : "",
        classes = [`copy-edge${dim}`, `copy${begins(event, id) ? " begun" : ""}${dim}`];
      stage.spots.ways.set(pair[1], { points, nodes: classes.map((name) => over.path(d, name)) });
    }
  }
}

/** A row with the jobs under way. @param {Stage} stage @param {State} state @param {PageEvent | null} event */
export function drawJobs(stage, state, event, y) {
  const { under, over, run, layout } = stage,
    em = layout.narrow ? 7.6 : 6.9,
    jobs = [...state.jobs.values()];
  under.text(MARGIN, y + 12, "copies", "strong");
  let x = MARGIN + 92;
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
