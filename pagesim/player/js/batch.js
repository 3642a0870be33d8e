// One call of schedule() as one change: what all requests of a batch write is written at once.

/** Many events as one: the last one, with the changes of all; null for none.
 * @param {PageEvent[]} events @returns {PageEvent | null} */
export function batchOf(events) {
  const all = (key) => events.flatMap((event) => event[key]);
  if (!events.length) return null;
  const parts = Object.fromEntries(["effects", "tables", "opened", "tokens", "queues"].map((key) => [key, all(key)]));
  return { ...events[events.length - 1], ...parts };
}

/** For motion: one token of each sequence first, so that the batch is seen to be written at once. */
export function writesFirst(event) {
  const single = ([kind, , , , count]) => kind === "write" && count === 1;
  return { ...event, effects: [...event.effects.filter(single), ...event.effects.filter((one) => !single(one))] };
}
