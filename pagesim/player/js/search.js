// The search box, and the sequences of an event.

import { blocksOf } from "./effects.js";

/** @param {PageEvent} event @param {Run["groups"]} groups */
export const namesIn = (event, groups) =>
  [
    event.of,
    ...event.closed,
    ...[...event.opened, ...event.tokens, ...event.tables].map((row) => row[0]),
    ...event.effects.filter((e) => ["write", "hit", "null"].includes(e[0])).map((e) => e[2]),
  ].map((name) => groups.owner(name));

/** The block that a query names; -1: none. */
export const blockNamed = (query) => +(/^(?:block\s*|#)(\d+)$/i.exec(query.trim())?.[1] ?? -1);

/** A query from the search box → the indices of the events it matches. @param {Run} run */
export function search(run, query) {
  const text = query.trim(),
    low = text.toLowerCase();
  const block = blockNamed(text);
  const names = [...run.places.keys()].filter((name) => `${name}` === text || `s${name}` === text);
  for (const [request, first] of run.requests) if (`${request}` === text) names.push(first);
  const kinds = (event) => event.event === low || event.effects.some((e) => e[0] === low);
  const inCaption = (event) => event.caption.toLowerCase().includes(low);
  let test = inCaption;
  if (block >= 0) test = (event) => event.effects.some((e) => blocksOf(e).includes(block));
  else if (names.length) test = (event) => namesIn(event, run.groups).some((name) => names.includes(name));
  else if (run.events.some(kinds)) test = kinds;
  return text ? [...run.events.keys()].filter((i) => test(run.events[i])) : [];
}
