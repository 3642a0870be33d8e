// Words: what a block is, and what happened to it.

// How a change is called, and the sign that stands for it where there is no room for the word.
const CHANGES = new Map(Object.entries({
  take: ["+", "taken"], return: ["\u2212", "returned"], share: ["&", "shared"],
  unshare: ["~", "given up by one"], write: ["\u270e", "written"], copy: ["\u21d2", "copied"],
  swap_out: ["\u2193", "swapped out"], swap_in: ["\u2191", "swapped in"],
  promote: ["\u2605", "now cached"], hit: ["\u25ce", "found in the cache"],
  evict: ["\u2715", "forgotten"], null: ["\u2205", "out of the window"],
}));

const plural = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;
const nameText = (name) => (typeof name === "number" ? `s${name}` : name);
/** A request beside its first sequence; its name alone where they are called alike. */
function requestText(request, first) {
  const name = nameText(first);
  return `${request}` === `${first}` || nameText(request) === name || `${request}` === name
    ? name : `${name} ${nameText(request)}`;
}

const short = (text, most) => (text.length > most ? `${text.slice(0, Math.max(most - 1, 1))}\u2026` : text);

/** Who owns a block, which tokens it holds, since when: the line under the picture. */
function describeBlock(run, s, id, label) {
  const where = `Block ${id} (${s.pool(id) ? "CPU" : "GPU"})`;
  const since = (step) => (step ? `since step ${step}` : "since before the recording");
  const marks = [];
  if (s.flags[id] & CACHED) marks.push("its content is cached");
  if (s.isComputed(id)) marks.push("its values are computed");
  const tail = marks.length ? ` ${marks.join(", ")}.` : "";
  if (id === s.nullBlock) return `${where}: the null block; it stands where a block left the sliding window.`;
  if (s.refs[id] === 0 && s.evictable(id)) {
    return `${where}: nobody uses it ${since(s.freed[id])}; it waits in the evictor.${tail}`;
  }
  if (s.refs[id] === 0) {
    const rank = s.free[s.pool(id)].length - s.free[s.pool(id)].lastIndexOf(id);
    return `${where}: free ${since(s.freed[id])}; number ${rank} in the free list.`;
  }
  const owners = [];
  let tokens = null;
  for (const table of s.tables.values()) {
    const k = table.ids.indexOf(id);
    if (k < 0) continue;
    owners.push(`${nameText(table.name)} (logical block ${k})`);
    tokens ??= table.tokens.slice(k * s.blockSize, Math.min((k + 1) * s.blockSize, table.filled));
  }
  const who = owners.length ? owners.join(", ") : "a handle in no table";
  const what = tokens?.length ? `: ${tokens.map(label).join(" ")}` : "";
  return `${where}: owned by ${who}, ${plural(s.refs[id], "owner")}, ${since(s.taken[id])}; `
    + `${s.fill[id]} of ${plural(s.blockSize, "slot")} filled${what}.${tail}`;
}
