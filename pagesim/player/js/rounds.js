// What the groups answer to a lookup: each may shorten the candidate that the next one is asked about.

import { isLookup } from "./effects.js";
import { plural } from "./text.js";

/** The rounds of an event: [{ids, asked, found}, …], empty for any other; not who is asked for nothing.
 * @param {PageEvent | null} event */
export const roundsOf = (event) =>
  (event?.effects ?? [])
    .filter(isLookup)
    .filter(([, , asked], i) => asked > 0 || i === 0)
    .map(([, ids, asked, found]) => ({ ids, asked, found }));

/** What was said last of so many answers, in words: the earlier ones are seen in the bars.
 * @param {Run} run @param {PageEvent} event */
export function roundInWords(run, event, count) {
  const rounds = roundsOf(event),
    key = ({ ids }) => `${ids}`;
  if (!count) return `The candidate: ${plural(rounds[0].asked, "token")}.`;
  const { ids, asked, found } = rounds[count - 1],
    [who, says] = run.groups.speaker(ids),
    again = rounds.slice(0, count - 1).some((one) => key(one) === `${ids}`) ? ", asked again," : "",
    less = found < asked ? `: the candidate shrinks from ${asked} to ${found}` : "",
    hit = count === rounds.length ? ` The hit: ${plural(found, "token")}.` : "";
  return `${who[0].toUpperCase()}${who.slice(1)}${again} ${says} ${found}${less}.${hit}`;
}
