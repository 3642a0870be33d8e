// The lists of blocks without owners, front first: which one is taken next, how long each has been free, what is
// cached, what a hit took; and beside the pool or them, or above them, what sharing saves.

import { AGES, BACK, LABEL, LIST, MARGIN, isAged } from "./layout.js";
import { frame } from "./overlay.js";
import { plural, ranges, short } from "./text.js";

const MOST = 1024; // places that are remembered of blocks for which there is no room

/** Draw all lists.
 * @param {Stage} stage @param {State} state @param {Changed} changed @param {View} view */
export function drawLists(stage, state, changed, view) {
  const { layout, run, under } = stage;
  let y = layout.listsY;
  drawSharing(stage, state);
  for (const number of layout.lists) {
    const [name, order] = run.header.lists[number],
      ids = state.idsIn(number);
    under.text(MARGIN, y + 12, short(name, 15), "strong");
    if (order === "sorted") drawRow(stage, state, changed, view, y, { number, chips: ranges(ids, state.blockSize) });
    else {
      const chips = ids.map((id) => ({ text: `${id}`, ids: [id] })),
        back = run.isStack(name) ? "bottom" : "back";
      drawRow(stage, state, changed, view, y, { number, chips, front: number ? "front" : "next", back });
      if (isAged(run, number)) y += AGES;
    }
    y += LIST;
  }
}

/** How many blocks are in use, and how many without sharing: in words, and those it saves dashed.
 * @param {Stage} stage @param {State} state */
function drawSharing({ under, layout }, { sharing: { used, alone } }) {
  const [x, y, room] = layout.sharing,
    each = Math.min(room / alone, 16);
  if (!room || used === alone) return;
  under.text(x, y, `${plural(used, "block")}; without sharing ${alone}`, "sum");
  if (each < 3) return;
  const box = (i) => `M${x + i * each} ${y + 8}h${0.75 * each}v12h${-0.75 * each}z`,
    boxes = (first, to) => Array.from({ length: to - first }, (_, i) => box(first + i)).join("");
  under.path(boxes(0, used), "counted", "none", "var(--held)");
  under.path(boxes(used, alone), "counted saved");
}

/** @param {Stage} stage @param {State} state @param {Changed} changed @param {View} view */
function drawRow(stage, state, changed, view, y, { number, chips, front = "", back = "" }) {
  const { layout, run, under, over, spots } = stage,
    left = MARGIN + LABEL,
    last = layout.listsEnd,
    places = new Map(),
    stack = back === "bottom";
  if (!chips.length) under.text(left, y + 12, "empty", "muted");
  else if (front && !view.hideNext) {
    under.text(left, y - 5, `\u25be ${front}`, "strong small");
    const words = "a stack: blocks return here too";
    if (stack && layout.fits(words, last - left - 54) !== null) under.text(left + 54, y - 5, words, "muted small");
  }
  const digits = `${state.total - 1}`.length,
    em = layout.narrow ? 7.4 : 6.5;
  const wide = ({ text }) => Math.max(digits, text.length) * em + 9;
  const more = (digits + 1) * em + 14; // the room for "+12"
  const framed = [],
    ages = []; // [step, from, to] of neighbours that were freed together
  let x = left;
  const room = last - left - (front ? BACK : 0) - (number ? 0 : layout.aside);
  for (const chip of fitting(chips, room, wide, more, front ? 3 : 0)) {
    if (chip.hidden) {
      // the middle of a queue, the end of a sorted list
      for (const id of chip.hidden.slice(0, MOST).flatMap(({ ids }) => ids)) spots.lists.set(id, [x, y, 26, 16]);
      under.text(x + 4, y + 12, `+${chip.hidden.length}`, "muted");
      x += more;
      continue;
    }
    const { text, ids } = chip,
      width = wide(chip),
      pick = { block: ids[0] };
    for (const id of ids) spots.lists.set(id, [x, y, width, 16]);
    const first = front && x === left && !view.hideNext,
      cached = front && state.isCached(ids[0]);
    under.rect(x, y, width, 16, `${first ? "thick" : "thin"}${cached ? " waiting" : ""}`, "transparent", pick);
    if (cached) under.path(`M${x + width} ${y}h-6l6 6z`, "mark hollow");
    places.set(ids[0], x);
    under.text(x + width / 2, y + 12, text, first ? "mid strong" : "mid", pick);
    if (ids.some((id) => changed.has(id))) frame(framed, x, x + width, 2);
    if (view.selected?.kind === "block" && ids.includes(view.selected.value)) under.rect(x, y, width, 16, "chosen");
    const age = ages.at(-1),
      freed = state.freed[ids[0]];
    if (age?.[0] === freed && x - age[2] < 3) age[2] = x + width;
    else ages.push([freed, x, x + width]);
    x += width + 2;
  }
  for (const [from, end] of framed) over.rect(from - 2, y - 2, end - from + 4, 20, "frame");
  if (!front) return;
  if (chips.length > 1) under.text(x + 5, y + 12, back, "muted small");
  if (stack && chips.length) under.path(`M${x} ${y - 1}v18`, "floor");
  if (!isAged(run, number)) ages.length = 0;
  for (const age of ages) drawAge(stage, age, y);
  if (ages.length) under.text(MARGIN, y + 30, layout.narrow ? "steps ago" : "freed, steps ago", "small muted");
  places.set(null, x);
  for (const at of gapsIn(state.gaps, number)) {
    if (places.has(at)) over.path(`M${places.get(at) - 1} ${y + 17}l-4 6h8z`, "gap");
  }
}

/** A bracket under neighbours that were freed by the same step: how many steps ago. @param {Stage} stage */
function drawAge({ under, layout, step }, [freed, from, to], y) {
  const words = freed ? [`${step - freed}`] : ["since the start", "start"],
    text = words.find((one) => layout.fits(one, to - from) === "") ?? "";
  under.path(`M${from + 1} ${y + 18}v2H${to - 1}v-2`, "lead");
  under.text((from + to) / 2, y + 30, text, "mid small muted");
}

/**
 * The chips for which there is room, and {hidden: the others}, which takes `more` of it. Of those shown one in
 * `ends` is at the end of the list.
 */
function fitting(chips, room, wide, more, ends) {
  const few = chips.length < room / 8;
  if (few && chips.reduce((sum, chip) => sum + wide(chip) + 2, 0) <= room) return chips;
  let head = 0,
    used = more;
  while (used + wide(chips[head]) + 2 <= room) used += wide(chips[head++]) + 2;
  const tail = ends && Math.floor(head / ends);
  const hidden = chips.slice(head - tail, chips.length - tail);
  return [...chips.slice(0, head - tail), { hidden }, ...chips.slice(chips.length - tail)];
}

/** Before which blocks of a list, as it is now, those stood that a hit took out of it; null: at its end. */
function gapsIn(gaps, number) {
  const found = new Set();
  for (const gap of gaps.values()) {
    let { behind } = gap;
    while (gaps.has(behind)) ({ behind } = gaps.get(behind));
    if (gap.list === number) found.add(behind);
  }
  return found;
}
