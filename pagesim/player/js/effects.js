// What an event does to the state.

import { begin, end, wait } from "./jobs.js";
import { isCount, list, wrong } from "./read.js";
import { CACHED, COMPUTED } from "./state.js";

function carry(s, a, [b]) {
  s.fill[s.block(b)] = s.fill[a];
  s.content[b] = s.content[a];
}

function checkLookup(s, ids, [asked, found]) {
  const known = Array.isArray(ids) && ids.length > 0 && ids.every((id) => s.groups.list[id]);
  if (!known) wrong("a group is asked that does not exist");
  if (!isCount(asked) || !isCount(found)) wrong("a lookup has no number of tokens");
}

/**
 * What the player knows of each effect: the sign and the words for it, the words by which a question asks for its
 * blocks (as in pagesim/journal/effects.py), and what it does: (state, block, rest of the effect, number of the step).
 */
const EFFECTS = new Map(
  Object.entries({
    take: {
      sign: "+",
      word: "taken",
      asked: ["taken"],
      apply(s, b, [name], step) {
        if (!s.leave(s.listNames.indexOf(name), b)) wrong(`block ${b} is taken, but it is not in the ${name}`);
        s.refs[b] = 1;
        s.fill[b] = 0;
        s.content[b] = undefined;
        s.taken[b] = step;
        s.flags[b] &= ~COMPUTED;
      },
    },
    free: {
      sign: "\u2212",
      word: "returned",
      asked: ["returned"],
      apply(s, b, [name, place], step) {
        const ids = s.lists[s.listNames.indexOf(name)] ?? wrong(`block ${b} is freed to a list that does not exist`);
        if (s.refs[b] !== 1) wrong(`block ${b} is freed, but has ${s.refs[b]} owners`);
        s.refs[b] = 0;
        s.freed[b] = step;
        if (s.content[b]) s.content[b] = { ...s.content[b], last: undefined };
        if (place === 0) ids.push(b);
        else ids.unshift(b);
      },
    },
    write: {
      sign: "\u270e",
      word: "written",
      asked: ["written"],
      apply(s, b, [name, first, count]) {
        s.write(b, name, first, count);
      },
    },
    share: {
      sign: "&",
      word: "shared",
      asked: ["shared"],
      apply(s, b) {
        if (s.refs[b] < 1) wrong(`block ${b} is shared, but it has no owner`);
        s.refs[b] += 1;
      },
    },
    unshare: {
      sign: "~",
      word: "given up by one",
      asked: [],
      apply(s, b) {
        if (s.refs[b] < 2) wrong(`block ${b} is unshared, but has ${s.refs[b]} owners`);
        s.refs[b] -= 1;
      },
    },
    copy: { sign: "\u21d2", word: "copied", asked: ["copied", "copied to"], apply: carry },
    move: { sign: "\u21c4", word: "moved to another pool", asked: ["swapped", "swapped to"], apply: carry },
    hit: {
      sign: "\u25ce",
      word: "found in the cache",
      asked: ["found"],
      apply(s, b, [name, first, count], step) {
        if (!(s.flags[b] & CACHED)) wrong(`block ${b} is hit, but it is not cached`);
        if (s.refs[b] === 0) {
          if (!s.lists.some((_, i) => s.find(i, b))) wrong(`block ${b} is hit, but it is in no list`);
          s.taken[b] = step;
        }
        s.refs[b] += 1;
        s.write(b, name ?? null, first, count);
        s.fill[b] = s.sizeOf(b);
      },
    },
    evict: {
      sign: "\u2715",
      word: "forgotten",
      asked: ["evicted"],
      apply(s, b) {
        if (!(s.flags[b] & CACHED)) wrong(`block ${b} is evicted, but it is not cached`);
        s.flags[b] &= ~CACHED;
      },
    },
    cache: {
      sign: "\u2605",
      word: "now cached",
      asked: ["cached"],
      apply(s, b) {
        s.flags[b] |= CACHED;
        s.fill[b] = s.sizeOf(b);
      },
    },
    computed: {
      sign: "\u2713",
      word: "computed",
      asked: [],
      apply(s, b) {
        s.flags[b] |= COMPUTED;
      },
    },
    begin: { sign: "\u21e2", word: "being copied", asked: [], apply: begin },
    end: { sign: "\u21a6", word: "copied", asked: [], apply: end },
    lookup: { sign: "?", word: "asked", asked: [], apply: checkLookup },
    null: {
      sign: "\u2205",
      word: "out of the window",
      asked: [],
      apply(s, b) {
        s.nullBlock = b;
      },
    },
  }),
);

/** The sign of each effect, where there is no room for words, and the words. */
export const CHANGES = /** @type {Whole<string, [string, string]>} */ (
  new Map([...EFFECTS].map(([kind, { sign, word }]) => [kind, [sign, word]]))
);
/** The words for a kind, in a file with several groups or one: a state is in no window. */
export const wordOf = (kind, several) => (several && kind === "null" ? "now empty" : CHANGES.get(kind)[1]);
/** What the search box is shown to find. */
export const EXAMPLE = "evict";
export const TWO_BLOCKS = new Set([...EFFECTS].filter(([, effect]) => effect.apply === carry).map(([kind]) => kind));

/**
 * What can be asked → the blocks of the event that answer it.
 */
export const ANSWERS = /** @type {Whole<string, (event: {effects: any[][]}) => number[]>} */ (new Map());
for (const [kind, { asked }] of EFFECTS) {
  for (const word of asked) {
    const at = word.endsWith(" to") ? 2 : 1;
    ANSWERS.set(word, ({ effects }) => effects.filter((e) => e[0] === kind).map((e) => e[at]));
  }
}

/** Whether an effect tells what some groups found. @param {Effect} effect */
export const isLookup = ([kind]) => kind === "lookup";
/** Whether it only says where what a block of the second tier will hold comes from.
 * @param {State} s @param {any[]} effect */
export const isPromise = (s, [kind, id]) => kind === "write" && s.isCopy(id);
/** The blocks an effect names: a lookup names none, nor does the end of a copy. @param {Effect} effect */
export const blocksOf = ([kind, a, b, , pairs]) =>
  TWO_BLOCKS.has(kind)
    ? [a, b]
    : kind === "begin"
      ? list(pairs, "pairs").flat()
      : ["lookup", "end"].includes(kind)
        ? []
        : [a];

export function apply(s, event, step) {
  s.gaps = new Map();
  s.ended = [];
  partly(s, event, step);
}

/** A part of an event, after those before it. */
export function partly(s, event, step) {
  for (const [name, tokens, written] of event.opened) s.open(name, tokens, written);
  for (const [name, first, tokens] of event.tokens) s.know(name, first, tokens);
  if (s.groups.several) for (const [name, , ids] of event.tables) s.gather(name, list(ids, "a table's ids"));
  for (const [, name, , , slots] of event.reads) {
    s.table(name);
    for (const slot of slots) if (slot !== null) s.block(Math.floor(slot / s.blockSize));
  }
  for (const effect of event.effects) {
    const [kind, b, ...rest] = effect;
    const doing = EFFECTS.get(kind)?.apply ?? wrong(`unknown effect ${JSON.stringify(kind)}`);
    const touched = blocksOf(effect);
    for (const id of touched) s.count(s.block(id), -1);
    doing(s, b, rest, step);
    for (const id of touched) s.count(id, 1);
  }
  if (event.effects.some(([kind]) => kind === "free")) s.leaveNames(event, step);
  for (const [name, k, ids] of event.tables) s.retable(name, k, ids);
  for (const [name] of event.opened) s.fillFrom(s.tables.get(name));
  for (const name of event.closed) s.tables.delete(name);
  for (const move of event.queues) s.move(move);
  s.proceed(event);
  if (s.perChunk) wait(s, event);
}
