// Reasons: why blocks answer a question, and why others do not, taken from the step itself.

import { ANSWERS } from "./effects.js";
import { isCount } from "./read.js";
import { listWord, nameText, plural } from "./text.js";

export const MANY = 6; // more blocks than this need not be named

/** How many tokens an event writes or finds: in the first of several groups.
 * @param {State["groups"]} groups @param {PageEvent} event */
export const added = (groups, event) =>
  event.effects
    .filter((e) => (e[0] === "write" || e[0] === "hit") && isCount(e[4]) && groups.of(e[2]) === 0)
    .reduce((sum, e) => sum + e[4], 0);

/** "block 7", or "blocks 7, 2 and 5". */
export function blocksText(ids) {
  const words = ids.length > MANY ? [...ids.slice(0, MANY), `${ids.length - MANY} more`] : ids;
  return words.length < 2 ? `block ${words[0]}` : `blocks ${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}

/** A reason as a sentence of its own; the name of a sequence is left as it is. @param {Run} run */
export function sentence(run, text) {
  const first = /^\p{L}+(?![\p{L}\d_])/u.exec(text)?.[0],
    begins = first && !run.places.has(first);
  const whole = begins ? first[0].toUpperCase() + text.slice(1) : text;
  return whole && !/[.!?\u2026]$/.test(whole) ? `${whole}.` : whole;
}

/** Why the blocks answer a question with this word: `answers` of `all` that would fit.
 * @param {State} s @param {PageEvent} event */
export function reasonFor(word, s, event, answers, all = answers) {
  const [b] = answers,
    many = answers.length > 1,
    free = event.effects.find((e) => e[0] === "free" && e[1] === b);
  if (b === undefined) return "";
  if (["taken", "copied to", "swapped to", "evicted"].includes(word)) return whyTaken(s, event, answers);
  if (word === "unused") return "No token was ever written into it.";
  if (event.event === "preempt" && ["returned", "swapped"].includes(word)) {
    const [, queue, place] = event.queues.find(([what]) => what === "leave") ?? ["", "", NaN];
    const isLast = s.queues.get(queue)?.length === place + 1;
    if (isLast) return `${nameText(s.groups.owner(event.of))} is the last one in the queue ${queue}.`;
  }
  const ends = new Map([
    [0, ["front", "first"]],
    [-1, ["back", "last"]],
  ]).get(free?.[3]);
  if (word === "returned" && all.length > answers.length && free && ends) {
    const [end, then] = ends;
    return `Each goes to the ${end} of the ${listWord(s, free[2])}, so the last one is taken ${then}.`;
  }
  if (word === "returned") {
    const stays = event.effects.some(([kind]) => kind === "unshare") ? "; what others share stays" : "";
    return `${many ? "They lose their" : "It loses its"} last owner${stays}.`;
  }
  if (word === "written" && event.effects.some((e) => e[0] === "take" && e[1] === b)) {
    return whyTaken(s, event, answers);
  }
  if (word === "written") return s.refs[b] > 1 ? "It had room." : "It had room, and one owner: nothing is copied.";
  if (word === "shared") return "Each block of the table gains an owner; nothing is copied.";
  if (word === "copied") return "It has several owners, and one of them writes: that one gets a copy.";
  if (word === "swapped") return `What ${many ? "they hold" : "it holds"} is kept, in another pool.`;
  if (word === "found") return "These tokens, after the same beginning, were cached there.";
  return word === "cached" ? `${many ? "They are" : "It is"} full now.` : "";
}

/** @param {State} s @param {PageEvent} event */
function whyTaken(s, event, [b, ...rest]) {
  const copy = event.effects.find((effect) => effect[0] === "copy" && effect[2] === b);
  if (copy) {
    const owners = isCount(copy[3]) ? ` by ${copy[3]}` : "";
    return `Block ${copy[1]} is shared${owners}: its writer gets its own copy, and block ${b} is taken for it.`;
  }
  const before = event.effects.findIndex((effect) => effect[0] === "take" && effect[1] === b);
  if (before < 0) return `Block ${b} has these tokens already.`;
  const earlier = event.effects.slice(0, before);
  const [, , list] = event.effects[before],
    word = s.pool(b) ? list : listWord(s, list);
  const { rank } = s.placeOf(b) ?? { rank: 0 },
    at = rank === 1 ? "the front" : `place ${rank}`;
  const takes = event.effects.filter(([kind]) => kind === "take").length;
  if (s.sorted[s.listNames.indexOf(list)] && takes > 1) {
    const written = added(s.groups, event);
    return `The row is reserved whole: ${takes * s.blockSize} slots, of which ${written} are written now.`;
  }
  if (ANSWERS.get("evicted")({ effects: earlier }).includes(b)) {
    if (s.isCopy(b)) return `No chunk was free: the second tier gives up ${b}, and forgets what it held.`;
    const who =
      list === s.listNames[0]
        ? `Block ${b} is at ${at} of the ${word}: it`
        : `No block is free, so the ${word} gives up ${b} and`;
    return `${who} forgets what it held${rank === 1 ? "; it has waited longest" : ""}.`;
  }
  if (earlier.some((effect) => effect[0] === "free" && effect[1] === b)) {
    return `Block ${b} is freed in this very step, so it is taken first.`;
  }
  const others =
    rest.length && rest.every((id, k) => s.placeOf(id)?.rank === rank + k + 1) ? "; the others stand behind it" : "";
  const last = s.freed[b] && s.freed[b] === Math.max(...s.idsIn(s.listNames.indexOf(list)).map((id) => s.freed[id]));
  if (last && rank === 1) {
    return `Block ${b} was freed last (step ${s.freed[b]}), so it is at the front of the ${word}${others}.`;
  }
  return `Block ${b} is at ${at} of the ${word}${others}.`;
}

/** Why a block that was chosen is not the answer, as far as it matters to what is asked.
 * @param {State} s @param {PageEvent} event */
export function whyNot(s, event, { word, all, answers }, id) {
  const block = `block ${id}`,
    place = s.placeOf(id),
    pool = s.pool(id);
  if (all.includes(id)) return `${block} is ${word} too, but not ${answers[0] === all[0] ? "first" : "last"}`;
  if (id === s.nullBlock) return `${block} is the null block`;
  if (answers.length && pool !== s.pool(answers[0])) return `${block} is on the ${s.poolNames[pool]}`;
  if (word === "unused" && event.effects.some((e) => e[0] === "free" && e[1] === id)) {
    return `${block} holds ${plural(s.fill[id], "token")}`;
  }
  if (word === "evicted" && s.isIdle(id)) return `${block} keeps its content`;
  if (word === "found" && id < s.total) return `${block} ${s.isCached(id) ? "holds other tokens" : "is not cached"}`;
  if (!s.refs[id]) return place ? `${block} is number ${place.rank} in the ${place.name}` : `${block} is in no list`;
  const own = [...s.tables.values()]
    .filter(({ ids }) => ids.includes(id))
    .map(({ name }) => nameText(s.groups.owner(name)));
  const who = own.length > 2 ? `${own.length} sequences` : own.join(" and ");
  if (["returned", "unused", "swapped"].includes(word)) return `${block} stays${who && ` with ${who}`}`;
  if (word === "written" && s.part(id) === 1) return `${block} is full`;
  return who ? `${block} belongs to ${who}` : `${block} is in use`;
}
