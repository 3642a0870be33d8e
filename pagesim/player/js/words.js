// Words: what a block is, which question to ask, and why an answer is right.

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

/** The question to ask before event i, or null: {ask, answers, why(choice)}. */
function questionFor(run, s, i) {
  const event = run.events[i];
  const given = (Array.isArray(run.header.questions) ? run.header.questions : [])
    .find((q) => q && q.at === i && Array.isArray(q.answer));
  const first = (kind) => event.effects.find((effect) => effect[0] === kind);
  const of = event.of === null ? "" : ` of ${nameText(event.of)}`;
  const next = `Next: ${event.event}${of}.`;
  if (given) {
    return { ask: String(given.ask ?? `${next} Which block?`), answers: given.answer.filter(isCount),
      why: String(given.why ?? event.caption) };
  }
  const all = (kind) => event.effects.filter((effect) => effect[0] === kind).map((e) => e[1]);
  const copy = first("copy"), takes = all("take"), returns = all("return");
  if (copy) {
    const [, a, b, owners] = copy;
    return { ask: `${next} Which block will be copied?`, answers: [a],
      why: `Block ${a} is shared${isCount(owners) ? ` by ${owners}` : ""}: `
        + `whoever writes to it first gets a copy of its own, block ${b}.` };
  }
  if (takes.length) {
    return { ask: `${next} Which block will be taken${takes.length > 1 ? " first" : ""}?`,
      answers: [takes[0]], why: whyTaken(s, event, takes[0]) };
  }
  if (returns.length) {
    const many = returns.length > 1;
    return { ask: `${next} ${many ? "Name one of the blocks that" : "Which block"} will be returned?`,
      answers: returns,
      why: `${many ? `Blocks ${short(returns.join(", "), 60)} lose their` : `Block ${returns[0]} loses its`} `
        + "last owner; what others share stays." };
  }
  return null;
}

function whyTaken(s, event, b) {
  const before = event.effects.findIndex((effect) => effect[0] === "take");
  const earlier = event.effects.slice(0, before);
  if (earlier.some((effect) => effect[0] === "evict" && effect[1] === b)) {
    return `No block is free, so the evictor gives up ${b} and forgets what it held`
      + `${[...s.evictor[s.pool(b)]][0] === b ? "; it has waited longest" : ""}.`;
  }
  if (earlier.some((effect) => effect[0] === "return" && effect[1] === b)) {
    return `Block ${b} is given back in this very step, so it is taken first.`;
  }
  if (s.freed[b]) {
    return `Block ${b} was freed last (step ${s.freed[b]}), so it is taken first: the free list is a stack.`;
  }
  return `Block ${b} stands at the front of the free list, and the front is taken first.`;
}

/** Why a wrong choice could not be it. */
function whereIs(s, id) {
  if (s.refs[id]) return `block ${id} is in use`;
  if (s.evictable(id)) return `block ${id} waits in the evictor`;
  const ids = s.free[s.pool(id)];
  const rank = ids.length - ids.lastIndexOf(id);
  return `block ${id} is number ${rank} in the ${s.pool(id) ? "CPU" : "GPU"} free list`;
}
