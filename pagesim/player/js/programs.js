// The programs of a kernel that reads the pages: what each holds after each load, and their order.

import { nameText, plural, short } from "./text.js";

const MOST = 560; // units: what is drawn of them; the others are counted
const TABLE = 22; // a block table above the programs that walk it
const ROW = 20,
  TITLE = 16,
  LOW = 27, // one row, and its title beside it
  GAP = 3,
  WORDS = 12;
const ROOMY = 560; // from this width on a title stands beside its row, and columns have their names

/** Smaller first, number by number. */
const inOrder = (a, b) => a.map((one, i) => one - (b[i] ?? 0)).find((less) => less) ?? 0;

/** The programs in the order of their tables and heads, a reduction behind its partitions.
 * @param {PageEvent[]} events @returns {Program[]} */
export function programsOf(events) {
  const found = new Map(),
    names = new Map();
  events.forEach(({ reads }, i) => {
    for (const [index, name, query, head, slots, weights, m, l] of reads) {
      const merges = !slots.length,
        key = `${merges} ${index} ${name}`,
        of = `${name} ${query} ${head}`;
      if (!names.has(name)) names.set(name, names.size);
      if (!found.has(key)) found.set(key, { key, index, name, merges, rows: new Map(), steps: [] });
      const { rows, steps } = found.get(key);
      if (!rows.has(of)) rows.set(of, { of, query, head, first: 0, loads: [] });
      rows.get(of).loads.push({ step: i + 1, slots, weights, m, l });
      if (!steps.includes(i + 1)) steps.push(i + 1);
    }
  });
  const programs = [...found.values()].map((one) => ({ ...one, part: -1, rows: [...one.rows.values()] })),
    heads = new Map(); // of a row, where its programs stand
  programs.sort((a, b) => inOrder(a.index, b.index));
  for (const { name, rows, merges } of programs) {
    for (const { of } of merges ? [] : rows) heads.set(of, [names.get(name), rows[0].query, rows[0].head]);
  }
  for (const { of, loads } of programs.flatMap(({ merges, rows }) => (merges ? rows : []))) {
    let part = 0,
      first = 0;
    for (const program of programs.filter(({ merges }) => !merges)) {
      for (const row of program.rows.filter((one) => one.of === of)) {
        Object.assign(row, { merged: loads[0], first });
        program.part = part++;
        first += weightsAt(row, 0).length;
      }
    }
  }
  const place = ({ rows, merges, index }) => [...(heads.get(rows[0].of) ?? [0, 0, 0]), +merges, ...index];
  return programs.sort((a, b) => inOrder(place(a), place(b)));
}

/** The keys of a row in the order of its loads, with their weights at a step relative to the largest score by then:
 * null for those that are not read yet. @param {ProgramRow} row */
export function weightsAt({ loads, merged }, step) {
  const now = merged && merged.step <= step ? merged : loads.findLast((load) => load.step <= step);
  return loads.flatMap((load) =>
    load.weights.map((weight, i) => ({
      slot: load.slots[i],
      fresh: load.step === step,
      weight: now && load.step <= step ? weight * Math.exp(load.m - now.m) : null,
    })),
  );
}

/** The blocks that a program loads at a step. @param {Program} program */
export const blocksAt = ({ rows }, step, size) => [
  ...new Set(
    rows
      .flatMap(({ loads }) => loads.find((load) => load.step === step)?.slots ?? [])
      .flatMap((slot) => (slot === null ? [] : Math.floor(slot / size))),
  ),
];

/** What a program does at a step. @param {Program} program @param {PageEvent | null} event */
export function doing(program, event, step, size) {
  const { steps, merges, rows } = program,
    n = steps.filter((one) => one <= step).length,
    now = steps.includes(step),
    blocks = blocksAt(program, step, size).sort((a, b) => a - b),
    what = blocks.length ? `block${blocks.length > 1 ? "s" : ""} ${blocks.join(", ")}` : "the new token";
  if (event?.event === "output" && (merges || !rows[0].merged)) return "writes acc \u00f7 \u2113";
  if (merges) return now ? `merges ${plural(rows[0].loads[0].weights.length, "partition")}` : n ? "done" : "waits";
  if (now) return `load ${n} of ${steps.length}: ${what}`;
  if (rows[0].merged && rows[0].merged.step <= step) return "merged";
  return n < steps.length ? (n ? "sees none of these keys" : "waits") : `done: ${plural(n, "load")}`;
}

/** The word whose key is in a slot; null for the new token, which is in none yet. @param {State} state */
export function keyIn(state, name, slot, label) {
  const { ids, tokens } = state.table(name),
    size = state.blockSize;
  return slot === null ? null : label(tokens[ids.indexOf(Math.floor(slot / size)) * size + (slot % size)]);
}

/** What stands under the bars of programs: column \u2192 [a word, the step that loads it]. Nothing where the rows have
 * different words in a column, or one word in all of them. @param {Run} run @param {ProgramBox[]} boxes */
function wordsOf(run, boxes) {
  /** @type {[string, number][]} */
  const words = [];
  let isOne = true;
  for (const { program, left } of boxes) {
    for (const { first, loads } of program.rows) {
      const keys = loads.flatMap(({ step, slots }) => slots.map((slot) => ({ step, slot })));
      keys.forEach(({ step, slot }, i) => {
        const word = short(keyIn(run.at(0), program.name, slot, run.label) ?? "new", 9);
        isOne &&= left === boxes[0].left && (words[first + i]?.[0] ?? word) === word;
        words[first + i] = [word, step];
      });
    }
  }
  return isOne && new Set(words.map(([word]) => word)).size > 2 ? words : []; // with "new"
}

/** In which line each word stands below its bar: the first in which it touches none before it.
 * @param {[string, number][]} words @returns {number[]} */
function linesOf(words, unit, em) {
  /** @type {number[]} */
  const ends = [];
  return words.map(([word], i) => {
    const wide = word.length * 0.93 * em + 4,
      begin = (i + 0.43) * unit - wide / 2,
      line = ends.findIndex((end) => end <= begin),
      at = line < 0 ? ends.length : line;
    ends[at] = begin + wide;
    return at;
  });
}

/** Whose it is: "s0 · head 1". @param {Program} program */
export function titleOf({ name, rows, part, merges }) {
  const heads = [...new Set(rows.map(({ head }) => head))],
    which = heads.length > 1 ? `heads ${heads[0]}\u2013${heads.at(-1)}` : `head ${heads[0]}`;
  const more = merges ? " \u00b7 reduction" : part < 0 ? "" : ` \u00b7 partition ${part}`;
  return `${nameText(name)} \u00b7 ${which}${more}`;
}

/** How many letters stand before a row of a program: its title, where that has no line of its own.
 * @param {Program} program */
const wordy = (program) => (program.rows.length > 1 ? 16 : titleOf(program).length);

/** Where the programs are drawn, as many as there is room for; null without any.
 * @param {Run} run @returns {Film | null} */
export function filmOf(run, right, narrow, x, top) {
  const { programs } = run;
  if (!programs.length) return null;
  const all = programs.flatMap(({ rows }) => rows),
    loads = all.flatMap((row) => row.loads),
    maxima = loads.map(({ m }) => m),
    keys = Math.max(...all.map((row) => row.first + weightsAt(row, 0).length)),
    em = narrow ? 8 : 7.2, // a letter, in bold
    isRoomy = right - x > ROOMY,
    number = isRoomy ? 13.6 * em : 52 + (narrow ? 0 : 10),
    /** @type {ProgramBox[]} */
    boxes = [],
    tables = [];
  let y = top + (isRoomy ? 18 : 32),
    from = 0; // the box with which those begin that share a row of words
  for (const [i, program] of programs.entries()) {
    const { name, rows, merges } = program,
      next = programs[i + 1],
      tall = rows.length === 1 && isRoomy,
      once = programs.every((one) => one.name !== name || (one.part < 0 && `${one.steps}` === `${program.steps}`)),
      head = tables.at(-1)?.name === name ? 0 : TABLE,
      h = tall ? (once ? LOW : 34) : TITLE + rows.length * ROW + 2,
      label = Math.min(Math.max(...programs.map((one) => (one.merges === merges ? wordy(one) : 0))), 27),
      left = x + (isRoomy ? 18 + 0.95 * em * label : rows.length > 1 ? 112 : 11),
      unit = Math.min((right - 2 * number - 10 - left) / keys, 40);
    if (i && y + head + h > top + MOST) break;
    if (head) tables.push({ name, y });
    y += head;
    /** @type {ProgramBox} */
    const box = { program, y, h, tall, once, left, unit, words: [], lines: [] };
    boxes.push(box);
    y += h + GAP;
    if (next?.name === name && next.merges === merges) continue;
    const words = merges || unit < 14 ? [] : wordsOf(run, boxes.slice(from));
    from = i + 1;
    if (!words.length) continue;
    box.words = words;
    box.lines = linesOf(words, unit, em);
    y += WORDS * (Math.max(...box.lines) + 1) + 3;
  }
  return {
    ...{ x, boxes, tables, number, right, em, isRoomy },
    rest: programs.length - boxes.length,
    least: Math.min(...maxima, 0),
    most: Math.max(...maxima, 0.01),
    sum: Math.max(...loads.map(({ l }) => l), 0.01),
    end: y + 10,
    height: y + (boxes.length < programs.length ? 17 : 0) - top,
  };
}
