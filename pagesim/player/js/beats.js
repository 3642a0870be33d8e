// Cause before effect: an event as a list of beats, and the state of the pages before each of them.

import { both, emptied } from "./batch.js";
import { TWO_BLOCKS, isPromise, partly } from "./effects.js";

// What happens first: a block is forgotten, then taken, then filled from another one, and only then does a table
// point to it. Words are written when they have a place, blocks are given back when nobody needs them.
const NAMES = ["evict", "take", "copy", "table", "write", "free", "queue"],
  [TAKE, COPY, TABLE, FREE, QUEUE] = [1, 2, 3, 5, 6],
  ORDER = ["evict lookup", "take hit share", "copy move begin end", "null"], // all others: when words are written
  SEEN = /^(evict|take|hit|copy|move|begin|end|write|free|enter)$/; // these move something

/** Whether some rows begin with what is sought. */
const has = (rows, kind, block) => rows.some((row) => row[0] === kind && row[1] === block);

/** An event cut into parts, in an order in which each could have happened; `state` is the one before it.
 * @param {PageEvent} event @param {State} state @returns {PageEvent[]} */
function partsOf(event, state) {
  const parts = NAMES.map(() => emptied(event)),
    freed = new Set(); // whatever happens to these happens after that
  for (const effect of event.effects) {
    const [kind, block, target] = effect;
    let at = [...ORDER, kind].findIndex((kinds) => kinds.split(" ").includes(kind));
    if (isPromise(state, effect)) at = COPY;
    if (kind === "unshare") at = has(event.effects, "copy", block) ? TABLE : FREE;
    if (kind === "free") freed.add(block);
    if (freed.has(TWO_BLOCKS.has(kind) ? target : block)) at = FREE;
    parts[at].effects.push(effect);
  }
  for (const row of event.tables) {
    // With the blocks that it gains, with the copy to which it turns, or with those that it gives back.
    const [name, k, ids] = row,
      had = state.tables.get(name)?.ids ?? [],
      turns = ids.some((id, i) => k + i < had.length && had[k + i] !== id),
      grows = k + ids.length > had.length;
    parts[ids.some((id) => freed.has(id)) ? FREE : turns ? TABLE : grows ? TAKE : FREE].tables.push(row);
  }
  [parts[TAKE].opened, parts[TAKE].tokens] = [event.opened, event.tokens];
  [parts[FREE].closed, parts[QUEUE].queues] = [event.closed, event.queues];
  return parts;
}

/**
 * The beats of an event, at most so many: [{name, part, state, done}, …], with the state before each, and what of the
 * event has been done by then. What moves nothing happens with the beat before it. None if nothing moves.
 * @param {PageEvent} event @param {State} state the one before the event @returns {Beat[]}
 */
export function beatsOf(event, state, step, most = NAMES.length) {
  /** @type {{name: string, part: PageEvent}[]} */
  const beats = [];
  partsOf(event, state).forEach((part, at) => {
    const isSeen = [...part.effects, ...part.queues].some(([kind]) => SEEN.test(kind)),
      name = isSeen || (at === TABLE && part.tables.length) ? NAMES[at] : "",
      before = beats.at(-1);
    if (!before || (name && before.name && beats.length < most)) beats.push({ name, part });
    else [before.name, before.part] = [before.name || name, both(before.part, part)];
  });
  if (!beats[0].name) return [];
  const now = Object.assign(state.copy(), { gaps: new Map(), ended: [] });
  /** @type {PageEvent | null} */
  let done = null;
  try {
    return beats.map((beat) => {
      const begin = { ...beat, state: now.copy(), done };
      partly(now, beat.part, step);
      done = done ? both(done, beat.part) : beat.part;
      return begin;
    });
  } catch {
    return []; // a batch in which a table ends and begins again has no such order: it happens at once
  }
}
