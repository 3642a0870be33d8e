// Questions: which blocks a step is about to change, asked before it is made.

import { ANSWERS, blocksOf } from "./effects.js";
import { MANY, added, blocksText, reasonFor, sentence } from "./reasons.js";
import { nameText, plural } from "./text.js";

const COUNTS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];

// The player's own questions: which block a call takes, which ones a leaving sequence returns.
const GROWS = ["append_slots", "append_token_ids", "ensure_num_empty_slots"];
const TAKES = [...GROWS, "allocate", "admit", "resume", "swap_out", "swap_in"];
const RETURNS = ["free", "finish", "abort"];
const DECISIONS = ["admit", "preempt", "resume", "ignore"]; // the request concerned is half the answer

const countWord = ({ length }) => COUNTS[length] ?? `${length}`;
const promised = (groups, event) => (added(groups, event) ? `, ${plural(added(groups, event), "token")}` : "");
const ofWhom = (run, { of, event }) =>
  of === null || DECISIONS.includes(event) ? "" : ` of ${nameText(run.groups.owner(of))}`;

/**
 * The question before event i, in state s, or null: {ask, answers, which, none, why, inWhy, word, all}. The
 * answers are the blocks of the event that fit; `which` is all, in order, or any one of them; `none`: the
 * answer may be no block; `inWhy`: `why` names the answer; `all`: what the word alone would fit.
 * An author's questions are the only ones where there are some.
 */
export function questionFor(run, s, i) {
  const event = run.events[i];
  if (!event) return null;
  if (run.questions.length) {
    const asked = run.questions.filter(({ at }) => at === i).map((question) => asAsked(run, question, event, s));
    return asked.find(({ answers }) => answers.length) ?? null;
  }
  const takes = ANSWERS.get("taken")(event),
    returns = ANSWERS.get("returned")(event);
  const what = `${event.event}${ofWhom(run, event)}${promised(run.groups, event)}.`,
    inWhy = false,
    none = true;
  if (takes.length || TAKES.includes(event.event)) {
    if (!takes.length && hasRoom(s, event)) return null; // what is obvious is not asked
    const answers = takes.slice(0, 1),
      why = takes.length ? reasonFor("taken", s, event, answers) : "";
    return {
      ask: `${what} Which block is taken first, if any?`,
      answers,
      which: "any",
      none,
      why,
      inWhy,
      word: "taken",
      all: takes,
    };
  }
  if (!returns.length && !RETURNS.includes(event.event)) return null;
  const few = returns.length <= MANY;
  return {
    ask: `${what} ${few ? "Which blocks are returned, if any?" : "Name a block that is returned, if any."}`,
    answers: returns,
    which: few ? "all" : "any",
    none,
    inWhy,
    word: "returned",
    all: returns,
    why: returns.length ? reasonFor("returned", s, event, returns) : "",
  };
}

/** An author's question: a word and the event give its answer; a list of ids may replace the event. */
function asAsked(run, question, event, s) {
  const word = question.answer,
    given = Array.isArray(word),
    touched = new Set(event.effects.flatMap(blocksOf));
  const all = [...new Set(given ? word.filter((id) => touched.has(id)) : fitting(word, event, s))];
  const asked = question.which ?? (given ? "any" : "all");
  const answers = asked === "first" ? all.slice(0, 1) : asked === "last" ? all.slice(-1) : all;
  const which = asked === "in order" || asked === "all" ? asked : "any",
    own = String(question.why || "");
  const name = solution({ answers, which }),
    ask = String(question.ask).replaceAll("{count}", countWord(answers));
  const why = own.replaceAll(/(?:\bblocks? )?\{answer\}/g, name) || reasonFor(word, s, event, answers, all);
  return { ask, answers, which, none: false, why: sentence(run, why), inWhy: own.includes("{answer}"), word, all };
}

/** The blocks that fit a word; without a token in them for "unused". */
function fitting(word, event, s) {
  if (word === "unused") return ANSWERS.get("returned")(event).filter((id) => s.fill[id] === 0);
  return ANSWERS.get(word)?.(event) ?? [];
}

/** Whether a table grows and still has an empty slot afterwards. */
function hasRoom(s, event) {
  const table = GROWS.includes(event.event) ? s.tables.get(event.of) : null;
  return Boolean(table) && table.filled + added(s.groups, event) < table.ids.length * s.blockSize;
}

/** Whether the chosen blocks answer a question. */
export function isRight({ answers, which }, chosen) {
  if (which === "any" && answers.length) return chosen.length === 1 && answers.includes(chosen[0]);
  if (chosen.length !== answers.length) return false;
  return chosen.every((id, k) => (which === "in order" ? answers[k] === id : answers.includes(id)));
}

/** Whether a reader must say when all blocks are chosen. */
export const wantsMany = ({ answers, which, none }) => which !== "any" && (none || answers.length > 1);

/** What a reader does to answer. */
export function howTo(question) {
  if (!wantsMany(question)) return "Click it, or type its number:";
  const order = question.which === "in order" ? ", in order" : "";
  const all = question.none ? "all of them" : `all ${countWord(question.answers)}${order}`;
  return `Click ${all}, or type their numbers; then Done:`;
}

/** What is said of too few or too many blocks, before they are judged; "" where their number may be right. */
export function miscounted(question, { length }) {
  if (!length || (question.none && wantsMany(question))) return "";
  const wanted = wantsMany(question) ? question.answers : [0];
  const are = wanted.length > 1 ? "blocks are" : "block is";
  if (length === wanted.length) return "";
  const text = `${countWord(wanted)} ${are} asked, and you named ${countWord({ length })}:`;
  return text[0].toUpperCase() + text.slice(1);
}

/** What is typed → blocks: numbers, and for the name of a sequence those that it has. */
export function blocksIn(s, text) {
  const tables = new Map();
  for (const { name, ids } of s.tables.values()) {
    const owner = nameText(s.groups.owner(name)).toLowerCase();
    const more = s.groups.several ? [...(tables.get(owner) ?? []), ...ids.filter((id) => id !== s.nullBlock)] : ids;
    tables.set(owner, more);
  }
  const words = text.toLowerCase().split(/[\s,;]+/);
  return words.flatMap((word) => tables.get(word) ?? (/^#?\d+$/.test(word) ? [Number(word.replace("#", ""))] : []));
}

/** The answer, as shown after a wrong guess. */
export function solution({ answers, which }) {
  if (!answers.length) return "no block";
  const order = which === "in order" && answers.length > 1 ? ", in this order" : "";
  if (which !== "any") return blocksText(answers) + order;
  return answers
    .map((id) => `block ${id}`)
    .slice(0, MANY)
    .join(" or ");
}
