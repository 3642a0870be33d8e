// Texts: what a block is, and what happened to it.

export const plural = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;
export const nameText = (name) => (typeof name === "number" ? `s${name}` : name);
/** A request and its first sequence; a single name where they have the same one. */
export function requestText(request, first) {
  const name = nameText(first);
  return `${request}` === `${first}` || nameText(request) === name || `${request}` === name
    ? name
    : `${name} ${nameText(request)}`;
}

/** A table by the name of its sequence, and by its group where there are several. @param {State} s */
export const tableText = (s, name) => {
  const who = nameText(s.groups.owner(name));
  return s.groups.several ? `${who} (${s.groups.list[s.groups.of(name)].label})` : who;
};

export const short = (text, most) => (text.length > most ? `${text.slice(0, Math.max(most - 1, 1))}\u2026` : text);

/** What a table of one of several groups holds: "window 8: blocks 4, 5, 2 behind the window".
 * @param {State} s @param {Table} table */
export function groupText(s, { name, ids }) {
  const group = s.groups.list[s.groups.of(name)],
    own = ids.filter((id) => id !== s.nullBlock),
    gone = ids.length - own.length;
  const of = (id) => (s.stateIn(id) ? `${id} after ${plural(s.stateIn(id), "token")}` : `${id}`),
    blocks = own.length ? `block${own.length > 1 ? "s" : ""} ${short(own.map(of).join(", "), 60)}` : "no blocks",
    less = group.state ? "not kept" : "behind the window";
  return `${group.label}: ${blocks}${gone ? `, ${gone} ${less}` : ""}`;
}

/** A list without the name of its pool: the GPU free list is the free list. */
export function listWord(s, name) {
  const pool = s.poolNames.find((one) => one && name.startsWith(`${one} `));
  return pool ? name.slice(pool.length + 1) : name;
}

/** Ids in ascending order as [{text: "3\u20137", ids}, …], or the slots of so large units. */
export function ranges(ids, size = 1) {
  const found = [];
  for (const id of ids) {
    if (found.length && found.at(-1).at(-1) === id - 1) found.at(-1).push(id);
    else found.push([id]);
  }
  return found.map((those) => {
    const [first, last] = [those[0] * size, (those.at(-1) + 1) * size - 1];
    return { ids: those, text: first === last ? `${first}` : `${first}\u2013${last}` };
  });
}

/** The owners of a block, its tokens, and since when: the line under the picture. */
export function describeBlock(run, s, id, label) {
  const group = s.refs[id] || s.isIdle(id) ? s.groups.list[s.group[id]] : undefined,
    kind = group && id !== s.nullBlock ? `, ${group.label}` : "",
    size = s.sizeOf(id),
    isRow = s.sorted[0], // contiguous memory has no blocks
    begin = id * s.blockSize,
    slots = size > 1 ? `lots ${begin} to ${begin + size - 1}` : `lot ${begin}`,
    where = `${isRow ? `S${slots}` : `Block ${id}`} (${s.poolNames[s.pool(id)]}${kind})`;
  const since = (step) => (step ? `since step ${step}` : "since before the recording");
  const marks = [];
  for (const job of s.jobs.values()) {
    for (const [from, to] of job.pairs.filter((pair) => pair.includes(id))) {
      marks.push(
        `${job.kind === "store" ? "being stored" : "being loaded"} ${to === id ? `from ${from}` : `to ${to}`}`,
      );
    }
  }
  if (s.isCached(id)) marks.push("its content is cached");
  if (s.isComputed(id)) marks.push("its values are computed");
  const facts = marks.join(", "),
    tail = facts && ` ${facts[0].toUpperCase()}${facts.slice(1)}.`;
  if (id === s.nullBlock) {
    return `${where}: the null block: it is never handed out, and stands for blocks that left a sliding window.`;
  }
  if (s.refs[id] === 0) {
    const place = s.placeOf(id),
      stands = place ? `; number ${place.rank} in the ${listWord(s, place.name)}` : "",
      last = s.lastOwner(id),
      whose = last === undefined ? "" : `; its last owner was ${nameText(s.groups.owner(last))}`;
    return `${where}: ${s.isIdle(id) ? "unused" : "free"} ${since(s.freed[id])}${whose}${stands}.${tail}`;
  }
  if (s.isCopy(id)) {
    const { name } = s.content[id] ?? {},
      loads = s.refs[id] - 1,
      words = s.pending.has(id) ? "" : s.tokensIn(id).map(label).join(" "),
      of = name === undefined ? "a copy" : `a copy of what ${nameText(s.groups.owner(name))} computed`;
    return (
      `${where}, chunk ${Math.floor((id - s.numGpu) / s.perChunk)}: ${of}${words && `: ${words}`}, `
      + `${since(s.taken[id])}${loads ? `; ${plural(loads, "load")} read${loads > 1 ? "" : "s"} it` : ""}.${tail}`
    );
  }
  const owners = [];
  /** @type {unknown[]} */
  let tokens = [];
  for (const table of s.tables.values()) {
    const k = table.ids.indexOf(id);
    if (k < 0) continue;
    owners.push(nameText(s.groups.owner(table.name)) + (isRow ? "" : ` (logical block ${k})`));
    if (owners.length === 1) tokens = table.tokens.slice(k * size, Math.min((k + 1) * size, table.known));
  }
  const who = owners.length ? owners.join(", ") : "a handle outside any table";
  const what = tokens.length ? `: ${tokens.map(label).join(" ")}` : "";
  const after = s.stateIn(id),
    state = after === undefined ? "no state yet" : `the state after ${plural(after, "token")}`,
    holds = group?.state ? state : `${s.fill[id]} of ${plural(size, "slot")} filled${what}`,
    at = isRow || group?.state || size < 2 ? "" : `, s${slots}`;
  return `${where}${at}: owned by ${who}, ${plural(s.refs[id], "owner")}, ${since(s.taken[id])}; ${holds}.${tail}`;
}

/** The owners of a block, or why it has none. @param {Owner[]} owners @param {Face} look */
export function namesOf(owners, { refs, waiting, isNull }) {
  if (isNull) return "null";
  if (owners.length) return owners.map((owner) => nameText(owner.name)).join(" ");
  return refs ? "held" : waiting ? "unused" : "";
}

/** What a cell is called: what can be read on it, and how full it is. */
export function cellText({ id, texts }, names, { refs, waiting, isNull, fill, size }, detail) {
  const read = texts.nodes.slice(0, texts.used).map(({ now }) => now.text);
  if (!read.includes(`${id}`)) read.unshift(id);
  if (detail < 2) read.push(names);
  const full = isNull ? "never handed out" : refs || waiting ? `${fill} of ${size} filled` : "free";
  return `block ${read.filter((text) => text !== "").join(" ")}, ${full}`;
}
