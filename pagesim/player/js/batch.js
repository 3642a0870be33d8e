// Many changes as one: the parts of an event, or all events of a call of schedule().

const PARTS = ["effects", "tables", "opened", "tokens", "closed", "queues"];

/** One event and then another as one: the other, with the changes of both.
 * @param {PageEvent} one @param {PageEvent} other @returns {PageEvent} */
export function both(one, other) {
  const joined = PARTS.map((key) => [key, [...one[key], ...other[key]]]);
  return { ...other, ...Object.fromEntries(joined) };
}

/** An event without its changes. @param {PageEvent} event @returns {PageEvent} */
export const emptied = (event) => ({
  ...{ ...event, event: "", scheduled: [], marks: [] },
  ...Object.fromEntries(PARTS.map((key) => [key, []])),
});

/** All that a call of schedule() did, as one event; null for none.
 * @param {PageEvent[]} events @returns {PageEvent | null} */
export const batchOf = (events) => (events.length ? events.reduce(both) : null);
