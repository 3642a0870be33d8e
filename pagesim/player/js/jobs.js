// The copies between the GPU and a second tier: which are under way, and who waits for them.

import { isCount, isName, list, wrong } from "./read.js";
import { nameText, plural } from "./text.js";

/** How many CPU blocks a chunk of the second tier has; 0 where the CPU pool, if any, is swap space. */
export function perChunk({ tier, num_cpu_blocks }) {
  if (tier === undefined) return 0;
  const per = tier?.blocks_per_chunk;
  return isCount(per) && per > 0 && num_cpu_blocks % per === 0 ? per : wrong("line 1: tier has no chunks");
}

/** The content of the sources is that of the targets, unless the file has said what it is. @param {State} s */
function carry(s, pairs) {
  for (const [from, to] of pairs) {
    if (s.fill[to] || !s.refs[to]) continue;
    s.count(to, -1);
    [s.fill[to], s.content[to]] = [s.fill[from], s.content[to] ?? s.content[from]];
    s.count(to, 1);
  }
}

/** A copy begins: nothing of it is there yet. @param {State} s */
export function begin(s, id, [kind, request, given]) {
  if (!isCount(id) || s.jobs.has(id)) wrong(`job ${JSON.stringify(id)} begins, but it has begun already`);
  if (!["store", "load"].includes(kind) || !isName(request)) wrong(`job ${id} is no store or load of a request`);
  const pairs = list(given, "pairs").map((pair) => list(pair, "a pair").map((block) => s.block(block)));
  if (!pairs.every(({ length }) => length === 2)) wrong(`job ${id} has a block without a partner`);
  s.jobs = new Map(s.jobs).set(id, { id, kind, request, pairs, isFlushed: false });
  if (kind === "store") carry(s, pairs); // what is in the source now: it may be taken before the copy has ended
}

/** All workers have reported a copy, or it was forgotten. @param {State} s */
export function end(s, id) {
  const job = s.jobs.get(id) ?? wrong(`job ${JSON.stringify(id)} ends, but it is not under way`);
  s.jobs = new Map(s.jobs);
  s.jobs.delete(id);
  s.ended = [...s.ended, job];
  if (job.kind === "load") carry(s, job.pairs);
  if (job.kind === "load") s.loaded = new Set(s.loaded).add(job.request);
}

/** What an event changes in who waits for what, when its effects are done. A request that was passed over is asked
 * again by the next schedule: when one of the copies has ended, it is not known whether it waits still.
 * @param {State} s @param {PageEvent} event */
export function wait(s, event) {
  const { event: kind, of, effects, queues } = event,
    isOf = (request) => of !== null && s.first(request) === s.groups.owner(of),
    taken = new Set(effects.filter((e) => e[0] === "take").map((e) => e[1]));
  const flushed = (job) => (kind === "preempt" && isOf(job.request)) || job.pairs.some(([source]) => taken.has(source));
  for (const [id, job] of s.jobs) {
    if (!job.isFlushed && flushed(job)) s.jobs = new Map(s.jobs).set(id, { ...job, isFlushed: true });
  }
  const moved = new Set(queues.map((move) => move[3])),
    stays = ([request, jobs]) => !moved.has(request) && jobs.every((id) => s.jobs.has(id));
  s.deferred = new Map([...s.deferred].filter(stays));
  if (kind === "defer" && of !== null && s.jobs.size) s.deferred.set(of, [...s.jobs.keys()]);
  s.loaded = new Set(
    [...s.loaded].filter((request) => !queues.some((move) => move[0] === "leave" && move[3] === request)),
  );
}

/** Whether a job begins in an event. @param {PageEvent | null} event */
export const begins = (event, job) => event?.effects.some((e) => e[0] === "begin" && e[1] === job) ?? false;

/** "3 → 12, 4 → 13" of the pairs of a job, as many as may be named. */
export function pairsText(pairs, most) {
  const named = pairs.slice(0, most).map((pair) => pair.join(" \u2192 ")),
    more = pairs.length > most ? ` and ${pairs.length - most} more` : "";
  return named.join(", ") + more;
}

/** What a job does, in words: "a stores 2 blocks: 3 → 12, 4 → 13". @param {State} s */
export function jobText(s, { kind, request, pairs, isFlushed }) {
  const count = plural(pairs.length, "block"),
    flushed = isFlushed ? ", which must end before the step computes" : "";
  return `${nameText(s.first(request))} ${kind}s ${count}: ${pairsText(pairs, 6)}${flushed}`;
}

/** For what a request waits, as far as copies are concerned: "" for nothing. @param {State} s */
export function waitsFor(s, request, brief = false) {
  const load = [...s.jobs.values()].find((job) => job.kind === "load" && job.request === request);
  if (load) return brief ? `\u2191${load.pairs.length}` : `loads ${plural(load.pairs.length, "block")}`;
  if (brief) return "";
  if (s.deferred.has(request)) return "waits for a copy";
  return s.loaded.has(request) ? "loaded" : "";
}
