// Marks: the numbers that an event puts on blocks or slots, such as attention weights.

import { isCount, isNumber } from "./read.js";

const brief = (value) => `${+value.toPrecision(3)}`;

/** The marks of an event as [{name, on, numbers: Map(id → number)}, …]; invalid ones are skipped. What programs
 * read is drawn by kernel.js. @param {PageEvent | null} event @returns {Mark[]} */
export const marksOf = (event) =>
  (event?.reads.length ? [] : (event?.marks ?? [])).map(([name, on, pairs]) => ({
    name: String(name),
    on: on === "slots" ? "slots" : "blocks",
    numbers: new Map(pairs.filter((pair) => isCount(pair?.[0]) && isNumber(pair[1]))),
  }));

/** Block → what a mark says about it: the sum over its slots, or its own number. @param {Mark | undefined} mark */
export function marked(mark, blockSize) {
  const sums = new Map();
  if (!mark) return sums;
  for (const [id, number] of mark.numbers) {
    const block = mark.on === "slots" ? Math.floor(id / blockSize) : id;
    sums.set(block, (sums.get(block) ?? 0) + number);
  }
  const least = Math.max(...sums.values()) / 100;
  const text = (sum) => (sum && sum < least ? "\u22480" : `${+sum.toPrecision(2)}`);
  return new Map([...sums].map(([block, sum]) => [block, text(sum)]));
}

/** Slots that a mark shades: slot → its share of the largest number that a mark of this name has in the run: a
 * program's reads have one scale. @param {Mark | undefined} mark @param {PageEvent[]} events */
export function litSlots(mark, blockSize, events) {
  const lit = new Map();
  if (!mark) return lit;
  let most = 1e-30;
  for (const { marks } of events) {
    for (const [name, , pairs] of marks) {
      if (name === mark.name) for (const [, number] of pairs) most = Math.max(most, number);
    }
  }
  for (const [id, number] of mark.numbers) {
    const slots = mark.on === "slots" ? [id] : [...Array(blockSize).keys()].map((i) => id * blockSize + i);
    for (const slot of slots) lit.set(slot, Math.max(number / most, 0));
  }
  return lit;
}

/** How pale a slot is while a mark is shown: the less it counts, the more; what is not read is as pale as can be. */
export const paleness = (part) => (part === undefined ? "rest" : `lit lit-${Math.round(4 * part)}`);
/** The ink on such a slot. */
export const inkOn = (part, ink) => (part >= 0.875 ? ink : "halo");

/** What the marks of an event say about one block: " attention: 0.25, 0.5." @param {PageEvent | null} event */
export function markText(event, block, blockSize) {
  const slots = [...Array(blockSize).keys()].map((i) => block * blockSize + i);
  return marksOf(event)
    .map(({ name, on, numbers }) => {
      const ids = (on === "slots" ? slots : [block]).filter((id) => numbers.has(id));
      const found = ids.map((id) => brief(numbers.get(id)));
      return found.length ? ` ${name}: ${found.join(", ")}.` : "";
    })
    .join("");
}
