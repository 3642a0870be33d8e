// What the groups answer to a lookup: each may shorten the candidate that the next one is asked about.

import { isLookup } from "./effects.js";
import { plural } from "./text.js";

/** The rounds of an event: [{ids, asked, found}, …], empty for any other. @param {PageEvent | null} event */
export const roundsOf = (event) =>
  (event?.effects ?? []).filter(isLookup).map(([, ids, asked, found]) => ({ ids, asked, found }));

/** What the first rounds said, in words. @param {Run} run @param {PageEvent} event */
export function roundsInWords(run, event, count) {
  const rounds = roundsOf(event),
    told = rounds.slice(0, count);
  const words = told.map(({ ids, asked, found }, i) => {
    const again = told.slice(0, i).some((one) => `${one.ids}` === `${ids}`) ? ", asked again," : "",
      [who, says] = run.groups.speaker(ids),
      less = found < asked ? `: the candidate shrinks from ${asked}` : "";
    return `${who[0].toUpperCase()}${who.slice(1)}${again} ${says} ${found}${less}.`;
  });
  if (!count) words.push(`The candidate: ${plural(rounds[0].asked, "token")}.`);
  if (count === rounds.length) words.push(`The hit: ${plural(rounds[count - 1].found, "token")}.`);
  return words.join(" ");
}
