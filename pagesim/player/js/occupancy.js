// How full the cache is at a step, in words.

const SHARES = new Map([
  ["token", "token"],
  ["internal", "internal (partly filled)"],
  ["reserved", "reserved (no token yet)"],
  ["free", "free"],
]);

/** @param {Run} run */
export function shares(run, step) {
  const names = [...SHARES.keys()];
  return run
    .percent(step)
    .map((part, i) => `${names[i]} ${part.toFixed(1)} %`)
    .join(", ");
}
