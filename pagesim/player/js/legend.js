// The legend: every sign that the picture can show here. The caption has those for what a step did, with their words.

import { hasLetters, ring } from "./cells.js";
import { missedIn } from "./chains.js";
import { MARGIN } from "./layout.js";
import { COLORS } from "./model.js";
import { paleness } from "./marks.js";
import { isWasted } from "./queues.js";
import { tag } from "./lanes.js";
import { short } from "./text.js";

const HIGH = 16;

/** @param {Stage} stage @param {State} state @param {PageEvent | null} event */
export function drawLegend(stage, state, event) {
  const { under: layer, layout, run } = stage,
    { caching } = run.header,
    { signs } = stage.cells,
    left = MARGIN;
  const { em } = layout;
  let x = left,
    y = layout.height - layout.legend + 4;
  const entry = (text, paint, wide = 18) => {
    const width = wide + 14 + text.length * em;
    if (x + width > layout.width - MARGIN + 14) [x, y] = [left, y + HIGH];
    paint(x, y);
    layer.text(x + wide, y + 10, text, "muted small");
    x += width;
  };
  const box =
    (className, fill = "none") =>
    (bx, by) =>
      layer.rect(bx, by, 12, 11, className, fill);
  const both =
    (...paints) =>
    (bx, by) =>
      paints.forEach((paint) => paint(bx, by));
  const path = (d, className) => (bx, by) => layer.path(`M${bx} ${by}${d}`, className);
  entry(
    layout.contiguous ? "filled: slots with tokens" : "fill: slots with tokens",
    both((bx, by) => layer.rect(bx, by + 5, 12, 6, "grey"), box("thin")),
  );
  const hatch = both(box("grey"), box("thin", "url(#ps-hatch)"));
  if (layout.contiguous) entry("pale: reserved", both(box("reserved", COLORS[0]), box("thin")));
  if (run.perChunk) {
    entry("hatched: being copied there", hatch);
    if (run.perChunk > 1 && layout.cell.detail) entry("frame: a chunk", path("h16v11h-16z", "chunk"), 22);
  } else if (run.header.num_cpu_blocks) entry(`hatched: ${run.header.pool_names[1]}`, hatch);
  if (run.shares) entry("thick, \u00d72: shared", box("thick"));
  if (signs.has("last"))
    entry(
      "outline: freed, its last owner",
      both((bx, by) => layer.path(ring(bx + 1.5, by + 1.5, 9, 8, 1.5), "", "none", COLORS[0]), box("thin")),
    );
  if (run.isCrowd) entry("the other sequences", both(box("crowd"), box("thin")));
  const [number] = [...signs].filter((sign) => sign !== "last");
  const letter = (text) => (bx, by) => layer.text(bx + 6, by + 10, text, "mid strong");
  if (number) entry(`${number}: held by s${number}`, letter(number));
  const { several, list } = run.groups;
  const told = new Set(); // where letters have no room, groups that look the same are named once
  for (const group of several ? list : []) {
    const sign = group.state ? "m4 4h4v4h-4z" : "h4v11h-4z";
    if (hasLetters(layout.cell, run.groups)) {
      entry(group.label, (bx, by) => tag(layer, bx, by - 2, group.letter), 26);
    } else if ((group.window || group.state) && !told.has(group.label)) {
      told.add(group.label);
      entry(group.label, both(box("thin"), path(sign, "kind")));
    }
  }
  if (caching) {
    entry("upper corner: cached", both(box("thin"), path("m12 0h-6l6 6z", "mark hollow")));
    if (run.computes) entry("lower corner: computed", both(box("thin"), path("m12 11h-6l6 -6z", "mark")));
    entry("grey: cached, unused", box("thin waiting"));
  }
  if (state.nullBlock !== null)
    entry("crossed: null block, never handed out", both(box("thin"), path("l12 11m0 -11l-12 11", "cross")));
  if (run.ahead) entry("written, token not known yet", letter("?"));
  if (state.preempted.size) entry("was preempted", letter("\u21ba"));
  if (run.updates && state.flight.some(({ rows }) => rows.some(([request]) => isWasted(state, request)))) {
    entry("wasted: the request has left", letter("\u2717"));
  }
  if (layout.tree && missedIn(state, event)) {
    entry("bar: first block not found", (bx, by) => stage.over.path(`M${bx + 6} ${by}v12`, "candidate"));
  }
  if (state.gaps.size) {
    entry("a hit left the list here", (bx, by) => stage.over.path(`M${bx + 6} ${by + 2}l-4 7h8z`, "gap"));
  }
  if (stage.shade) {
    entry(`shaded: ${short(stage.shade.name, 48)}`, (bx, by) =>
      [1, 2, 3, 4].forEach((strong, i) => {
        layer.rect(bx + i * 4 - 2, by, 4, 11, "", event?.of == null ? "var(--held)" : run.look(event.of).color);
        layer.rect(bx + i * 4 - 2, by, 4, 11, paleness(strong / 4));
      }),
    );
  }
  if (event?.effects.length) entry("dashed: this step", box("frame"));
}
