// Marks: the numbers that an event puts on blocks or slots, such as attention weights.

import { isCount } from "./read.js";

const isNumber = (value) => typeof value === "number" && Number.isFinite(value);
const brief = (value) => `${+value.toPrecision(3)}`;

/** The marks of an event as [{name, on, numbers: Map(id → number)}, …]; what is none is passed over. */
export const marksOf = (event) => (event?.marks ?? []).map(([name, on, pairs]) => ({
  name: String(name), on: on === "slots" ? "slots" : "blocks",
  numbers: new Map(pairs.filter((pair) => isCount(pair?.[0]) && isNumber(pair[1]))),
}));

/** Block → what an event's first mark says of it: the sum over its slots, or its own number. */
export function marked(event, blockSize) {
  const [mark] = marksOf(event), sums = new Map();
  for (const [id, number] of mark?.numbers ?? []) {
    const block = mark.on === "slots" ? Math.floor(id / blockSize) : id;
    sums.set(block, (sums.get(block) ?? 0) + number);
  }
  return new Map([...sums].map(([block, sum]) => [block, brief(sum)]));
}

/** What the marks of an event say of one block: " attention: 0.25, 0.5." */
export function markText(event, block, blockSize) {
  const slots = [...Array(blockSize).keys()].map((i) => block * blockSize + i);
  return marksOf(event).map(({ name, on, numbers }) => {
    const ids = (on === "slots" ? slots : [block]).filter((id) => numbers.has(id));
    const found = ids.map((id) => brief(numbers.get(id)));
    return found.length ? ` ${name}: ${found.join(", ")}.` : "";
  }).join("");
}
