// Questions: which blocks a step is about to change, asked before it is made.

import { blocksOf } from "./effects.js";
import { isCount } from "./read.js";
import { listWord, nameText, plural } from "./text.js";

// What can be asked → the blocks of the event that answer it: pagesim/timeline/questions.py.
const from = (...kinds) => (event) => event.effects.filter((e) => kinds.includes(e[0])).map((e) => e[1]);
const to = (...kinds) => (event) => event.effects.filter((e) => kinds.includes(e[0])).map((e) => e[2]);
const ANSWERS = new Map(Object.entries({
  taken: from("take"), returned: from("free"), written: from("write"), shared: from("share"),
  copied: from("copy"), "copied to": to("copy"), swapped: from("move"),
  "swapped to": to("move"), found: from("hit"), evicted: from("evict"), cached: from("cache"),
  unused: (event, s) => from("free")(event).filter((id) => s.fill[id] === 0),
}));
const MANY = 6; // more blocks than this need not be named

// The player's own questions: which block a call takes, which ones a leaving sequence returns.
const TAKES = ["append_slots", "append_token_ids", "ensure_num_empty_slots", "allocate", "admit", "resume",
  "swap_out", "swap_in"];
const RETURNS = ["free", "finish", "abort"];
const DECISIONS = ["admit", "preempt", "resume", "ignore"]; // the request concerned is half the answer

const ofWhom = (event) => (event.of === null || DECISIONS.includes(event.event) ? "" : ` of ${nameText(event.of)}`);

/**
 * The question before event i, in state s, or null: {ask, answers, which, none, why}. The answers are
 * the blocks of the event that fit; `which` is all, in order, or any one of them; `none`: the answer
 * may be no block.
 */
export function questionFor(run, s, i) {
  const event = run.events[i];
  if (!event) return null;
  const asked = Array.isArray(run.header.questions) ? run.header.questions : [];
  for (const question of asked) {
    if (question?.at !== i) continue;
    const found = answersTo(question, event, s);
    if (found.answers.length) return { ask: String(question.ask), none: false, ...found };
  }
  const takes = ANSWERS.get("taken")(event), returns = ANSWERS.get("returned")(event);
  const what = `${event.event}${ofWhom(event)}${promised(event)}.`;
  if (takes.length || TAKES.includes(event.event)) {
    return { ask: `${what} Which block is taken first, if any?`, answers: takes.slice(0, 1), which: "any",
      none: true, why: takes.length ? whyTaken(s, event, takes[0]) : "" };
  }
  if (!returns.length && !RETURNS.includes(event.event)) return null;
  const few = returns.length <= MANY;
  return { ask: `${what} ${few ? "Which blocks are returned, if any?" : "Name a block that is returned, if any."}`,
    answers: returns, which: few ? "all" : "any", none: true, why: returns.length ? whyReturned(returns) : "" };
}

/** An author's question: a word and the event give its answer; a list of ids may replace the event. */
function answersTo(question, event, s) {
  const word = question.answer, given = Array.isArray(word);
  const touched = new Set(event.effects.flatMap(blocksOf));
  const ids = [...new Set(given ? word.filter((id) => touched.has(id)) : ANSWERS.get(word)?.(event, s) ?? [])];
  const which = question.which ?? (given ? "any" : "all");
  const answers = which === "first" ? ids.slice(0, 1) : which === "last" ? ids.slice(-1) : ids;
  const reason = word === "taken" && ids.length ? whyTaken(s, event, ids[0]) : "";
  const why = String(question.why || reason).replaceAll("{answer}", blocksText(answers));
  return { answers, which: which === "in order" || which === "all" ? which : "any", why };
}

function promised(event) {
  const writes = event.effects.filter((e) => (e[0] === "write" || e[0] === "hit") && isCount(e[4]));
  const count = writes.reduce((sum, e) => sum + e[4], 0);
  return count ? `, ${plural(count, "token")}` : "";
}

/** "block 7", or "blocks 7, 2 and 5". */
function blocksText(ids) {
  const words = ids.length > MANY ? [...ids.slice(0, MANY), `${ids.length - MANY} more`] : ids;
  return words.length < 2 ? `block ${words[0]}` : `blocks ${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}

/** Whether the chosen blocks answer a question. */
export function isRight({ answers, which }, chosen) {
  if (which === "any" && answers.length) return chosen.length === 1 && answers.includes(chosen[0]);
  if (chosen.length !== answers.length) return false;
  return chosen.every((id, k) => (which === "in order" ? answers[k] === id : answers.includes(id)));
}

/** Whether a reader must say when all blocks are chosen. */
export const wantsMany = ({ answers, which, none }) => which !== "any" && (none || answers.length > 1);

/** The answer, as shown after a wrong guess. */
export function solution({ answers, which }) {
  if (!answers.length) return "no block";
  const order = which === "in order" && answers.length > 1 ? ", in this order" : "";
  if (which !== "any") return blocksText(answers) + order;
  return answers.map((id) => `block ${id}`).slice(0, MANY).join(" or ");
}

function whyReturned(returns) {
  const lose = returns.length > 1 ? "lose their last owner" : "loses its last owner";
  const text = blocksText(returns);
  return `${text[0].toUpperCase()}${text.slice(1)} ${lose}; what others share stays.`;
}

function whyTaken(s, event, b) {
  const copy = event.effects.find((effect) => effect[0] === "copy" && effect[2] === b);
  if (copy) {
    const owners = isCount(copy[3]) ? ` by ${copy[3]}` : "";
    return `Block ${copy[1]} is shared${owners}: its writer gets its own copy, and block ${b} is taken for it.`;
  }
  const before = event.effects.findIndex((effect) => effect[0] === "take");
  const earlier = event.effects.slice(0, before);
  const [, , list] = event.effects[before], word = listWord(s, list), { rank } = s.placeOf(b) ?? { rank: 0 };
  if (earlier.some((effect) => effect[0] === "evict" && effect[1] === b)) {
    const who = list === s.listNames[0] ? `Block ${b} is at the front of the ${word}: it`
      : `No block is free, so the ${word} gives up ${b} and`;
    return `${who} forgets what it held${rank === 1 ? "; it has waited longest" : ""}.`;
  }
  if (earlier.some((effect) => effect[0] === "free" && effect[1] === b)) {
    return `Block ${b} is freed in this very step, so it is taken first.`;
  }
  const last = s.freed[b] && s.freed[b] === Math.max(...s.idsIn(s.listNames.indexOf(list)).map((id) => s.freed[id]));
  if (last) return `Block ${b} was freed last (step ${s.freed[b]}), so it is at the front of the ${word}.`;
  return `Block ${b} is at ${rank === 1 ? "the front" : `place ${rank}`} of the ${word}.`;
}

/** Why a wrong choice was not possible. */
export function whereIs(s, id) {
  if (s.refs[id]) return `block ${id} ${s.refs[id] > 1 ? `has ${s.refs[id]} owners` : "is in use"}`;
  const place = s.placeOf(id);
  return place ? `block ${id} is number ${place.rank} in the ${place.name}` : `block ${id} is in no list`;
}
