// What an event does to the state.

import { wrong } from "./read.js";
import { CACHED, COMPUTED } from "./state.js";

function carry(s, a, [b]) {
  s.fill[s.block(b)] = s.fill[a];
  s.content[b] = s.content[a];
}

// One function per effect: (state, block, rest of the effect, number of the step).
const EFFECTS = new Map(Object.entries({
  take(s, b, [name], step) {
    if (!s.leave(s.listNames.indexOf(name), b)) wrong(`block ${b} is taken, but it is not in the ${name}`);
    s.refs[b] = 1;
    s.fill[b] = 0;
    s.content[b] = undefined;
    s.taken[b] = step;
    s.flags[b] &= ~COMPUTED;
  },
  free(s, b, [name, place], step) {
    const ids = s.lists[s.listNames.indexOf(name)] ?? wrong(`block ${b} is freed to a list that does not exist`);
    if (s.refs[b] !== 1) wrong(`block ${b} is freed, but has ${s.refs[b]} owners`);
    s.refs[b] = 0;
    s.freed[b] = step;
    if (place === 0) ids.push(b);
    else ids.unshift(b);
  },
  share(s, b) {
    if (s.refs[b] < 1) wrong(`block ${b} is shared, but it has no owner`);
    s.refs[b] += 1;
  },
  unshare(s, b) {
    if (s.refs[b] < 2) wrong(`block ${b} is unshared, but has ${s.refs[b]} owners`);
    s.refs[b] -= 1;
  },
  write(s, b, [name, first, count]) { s.write(b, name, first, count); },
  copy: carry,
  move: carry,
  cache(s, b) {
    s.flags[b] |= CACHED;
    s.fill[b] = s.blockSize;
  },
  hit(s, b, [name, first, count], step) {
    if (!(s.flags[b] & CACHED)) wrong(`block ${b} is hit, but it is not cached`);
    if (s.refs[b] === 0) {
      if (!s.lists.some((_, i) => s.find(i, b))) wrong(`block ${b} is hit, but it is in no list`);
      s.taken[b] = step;
    }
    s.refs[b] += 1;
    s.write(b, name ?? null, first, count);
    s.fill[b] = s.blockSize;
  },
  evict(s, b) {
    if (!(s.flags[b] & CACHED)) wrong(`block ${b} is evicted, but it is not cached`);
    s.flags[b] &= ~CACHED;
  },
  computed(s, b) { s.flags[b] |= COMPUTED; },
  null(s, b) { s.nullBlock = b; },
}));

export const TWO_BLOCKS = new Set(["copy", "move"]);

/** The blocks an effect names. */
export const blocksOf = (effect) => (TWO_BLOCKS.has(effect[0]) ? [effect[1], effect[2]] : [effect[1]]);

export function apply(s, event, step) {
  s.gaps = new Map();
  for (const [name, tokens, written] of event.opened) s.open(name, tokens, written);
  for (const [name, first, tokens] of event.tokens) s.know(name, first, tokens);
  for (const effect of event.effects) {
    const [kind, b, ...rest] = effect;
    const doing = EFFECTS.get(kind) ?? wrong(`unknown effect ${JSON.stringify(kind)}`);
    const touched = blocksOf(effect);
    for (const id of touched) s.count(s.block(id), -1);
    doing(s, b, rest, step);
    for (const id of touched) s.count(id, 1);
  }
  for (const [name, k, ids] of event.tables) s.retable(name, k, ids);
  for (const [name] of event.opened) s.fillFrom(s.tables.get(name));
  for (const name of event.closed) s.tables.delete(name);
  for (const move of event.queues) s.move(move);
  s.proceed(event);
}
