// The model: the state of the pages at any step.

import { isCount, isName, list, message, wrong } from "./read.js";
import { nameText } from "./text.js";

// Okabe and Ito's palette, and the patterns of its further rounds in squares of 5: colors.py.
export const COLORS = ["#56B4E9", "#E69F00", "#009E73", "#CC79A7", "#F0E442", "#D55E00", "#0072B2"];
export const PATTERNS = ["", "M0 0L5 5M5 0L0 5", "M0 2.5H5", "M0 0L5 5", "M0 2.5H5M2.5 0V5", "M2.5 0V5"];
const CACHED = 1, COMPUTED = 2;
const KEYFRAME = 32; // events between two copies of the state: how far a scrub must replay

/**
 * Everything at one step. A table is never changed but replaced, and its tokens are an array that
 * only grows (`known` says how much of it counts, `filled` how many slots are written), so copying a
 * state is cheap. A list is an array with its front at the end, where most blocks come and go.
 */
export class State {
  static begin(header) {
    const s = new State(), given = header.state;
    const total = header.num_gpu_blocks + header.num_cpu_blocks;
    s.poolNames = header.pool_names;
    s.listNames = header.lists.map(([name]) => name);
    s.sorted = header.lists.map(([, order]) => order === "sorted");
    s.blockSize = header.block_size;
    s.numGpu = header.num_gpu_blocks;
    s.total = total;
    for (const name of ["refs", "fill", "taken", "freed"]) s[name] = new Int32Array(total);
    s.flags = new Uint8Array(total);
    s.content = new Array(total); // {tokens, first, name}: what was written into a block, and by which table
    s.tables = new Map();
    s.slots = { token: 0, internal: 0, reserved: 0 };
    const lists = list(given.lists ?? [], "lists");
    s.lists = s.listNames.map((name, i) => list(lists[i] ?? [], name).map((id) => s.block(id)).reverse());
    for (const [id, count] of list(given.refs ?? [], "refs")) {
      s.refs[s.block(id)] = isCount(count) ? count : wrong(`refs: ${count} owners`);
    }
    for (const [key, flag] of [["cached", CACHED], ["computed", COMPUTED]]) {
      for (const id of list(given[key] ?? [], key)) s.flags[s.block(id)] |= flag;
    }
    s.nullBlock = given.null == null ? null : s.block(given.null);
    const queues = list(given.queues ?? [], "queues");
    s.queues = new Map(header.queues.map((name, i) => [name, list(queues[i] ?? [], name).filter(isName)]));
    s.requests = new Map(list(given.requests ?? [], "requests").filter((row) => list(row, "requests").every(isName)));
    for (const [name, ids, tokens, written] of list(given.tables ?? [], "tables")) {
      s.open(name, tokens, written, list(ids, "a table").map((id) => s.block(id)));
    }
    for (const table of s.tables.values()) s.fillFrom(table, 0);
    for (let id = 0; id < total; id++) {
      if (s.flags[id] & CACHED) s.fill[id] = s.blockSize;
      s.count(id, 1);
    }
    return s;
  }

  copy() {
    const s = Object.assign(new State(), this);
    for (const name of ["refs", "fill", "taken", "freed", "flags"]) s[name] = this[name].slice();
    s.content = this.content.slice();
    s.tables = new Map(this.tables);
    s.requests = new Map(this.requests);
    s.slots = { ...this.slots };
    s.lists = this.lists.map((ids) => ids.slice());
    return s;
  }

  block(id) {
    return isCount(id) && id < this.total ? id : wrong(`block ${JSON.stringify(id)} does not exist`);
  }

  pool(id) { return id < this.numGpu ? 0 : 1; }
  /** Whether a block that has no owner is still found by its content. */
  isIdle(id) { return this.refs[id] === 0 && (this.flags[id] & CACHED) > 0; }
  isCached(id) { return (this.flags[id] & CACHED) > 0; }
  isComputed(id) { return (this.flags[id] & COMPUTED) > 0 && (this.refs[id] > 0 || (this.flags[id] & CACHED) > 0); }
  /** The blocks of a list, front first. */
  idsIn(i) { return this.sorted[i] ? this.lists[i].slice().sort((a, b) => a - b) : this.lists[i].slice().reverse(); }
  /** Where a block waits: {list, name, rank}, or null. */
  placeOf(id) {
    const i = this.lists.findIndex((ids) => ids.includes(id));
    return i < 0 ? null : { list: i, name: this.listNames[i], rank: this.idsIn(i).indexOf(id) + 1 };
  }
  /** The tokens in a block's slots, first to last, as far as they are known. */
  tokensIn(id) {
    const { tokens, first, name } = this.content[id] ?? {};
    if (!tokens || id === this.nullBlock) return [];
    const table = this.tables.get(name), known = table?.tokens === tokens ? table.known : Infinity;
    return tokens.slice(first, Math.min(first + this.fill[id], known));
  }

  /** From entry k on, a table's blocks hold its tokens. */
  holds(table, k) {
    for (let i = k; i < table.ids.length; i++) {
      this.content[table.ids[i]] = { tokens: table.tokens, first: i * this.blockSize, name: table.name };
    }
  }

  put(table, change) { this.tables.set(table.name, { ...table, ...change }); }
  table(name) { return this.tables.get(name) ?? wrong(`there is no table ${JSON.stringify(name)}`); }

  open(name, given, written, ids = []) {
    if (!isName(name)) wrong("a name is neither a number nor a string");
    const tokens = list(given, "tokens").slice();
    this.put({ name, ids, tokens, known: tokens.length, filled: isCount(written) ? written : tokens.length });
    this.holds(this.tables.get(name), 0);
  }

  /** A block leaves a list; whether it was in it. */
  leave(i, id) {
    const ids = this.lists[i] ?? wrong("there is no such list"), at = ids.lastIndexOf(id);
    if (at >= 0) ids.splice(at, 1);
    return at >= 0;
  }

  /** What a table says about its blocks, at the start and when it first appears. */
  fillFrom(table, sign = 1) {
    table.ids.forEach((id, k) => {
      const here = Math.min(Math.max(table.filled - k * this.blockSize, 0), this.blockSize);
      if (id === this.nullBlock || here <= this.fill[id]) return;
      this.count(id, -sign);
      this.fill[id] = here;
      this.count(id, sign);
    });
  }

  /** Add (or with -1 take away) what a block of the first pool contributes to the curve. */
  count(id, sign) {
    if (id >= this.numGpu || this.refs[id] === 0) return;
    const fill = this.fill[id];
    if (fill === 0) this.slots.reserved += sign * this.blockSize;
    else {
      this.slots.token += sign * fill;
      this.slots.internal += sign * (this.blockSize - fill);
    }
  }

  /** The tokens of a table from a position on. Replaying a step writes the same values again. */
  know(name, first, tokens) {
    const table = this.table(name);
    if (first !== table.known) wrong(`${table.known} tokens of a table are known, not ${first}`);
    for (let i = 0; i < list(tokens, "tokens").length; i++) table.tokens[first + i] = tokens[i];
    this.put(table, { known: first + tokens.length });
  }

  /** Positions of a table are written into a block, or found in it. */
  write(b, name, first, count) {
    if (!isCount(first) || !isCount(count)) wrong("a position is not a number");
    const held = name === null ? this.fill[b] + count : first % this.blockSize + count;
    this.fill[b] = Math.max(this.fill[b], Math.min(held, this.blockSize));
    if (name === null) return;
    const table = this.table(name), start = first - (first % this.blockSize);
    this.content[b] = { tokens: table.tokens, first: start, name };
    if (first + count > table.filled) this.put(table, { filled: first + count });
  }

  /** From entry k on, the table holds `ids`. */
  retable(name, k, ids) {
    const table = this.table(name);
    for (const id of list(ids, "a table's ids")) this.block(id);
    if (!isCount(k) || k > table.ids.length) wrong(`a table has ${table.ids.length} entries, none at ${k}`);
    this.put(table, { ids: table.ids.slice(0, k).concat(ids) });
    this.holds(this.table(name), k);
  }

  /** A request leaves a queue, or enters it at a place. */
  move([what, queue, place, request, first]) {
    if (!this.queues.has(queue) || !isName(request)) wrong("a queue that does not exist changes");
    const names = this.queues.get(queue).slice();
    if (what === "leave") {
      if (names[place] !== request) wrong(`${nameText(request)} leaves ${queue}, but it is not there`);
      names.splice(place, 1);
    } else {
      if (!isCount(place) || place > names.length) wrong(`the queue ${queue} has no place ${place}`);
      names.splice(place, 0, request);
      if (isName(first)) this.requests.set(request, first);
    }
    this.queues = new Map(this.queues).set(queue, names);
  }

  /** Whether a sequence has blocks outside the first pool. */
  isAway(name) { return this.tables.get(name)?.ids.some((id) => id >= this.numGpu) ?? false; }

  /** The sequence that stands for a request: its first one, if that is known. */
  first(request) { return this.requests.get(request) ?? request; }

  /** The state as the format writes it. */
  toJSON() {
    const having = (flag) => [...this.flags.keys()].filter((id) => this.flags[id] & flag);
    const computed = [...this.flags.keys()].filter((id) => this.isComputed(id));
    const queues = [...this.queues.values()], queued = [...new Set(queues.flat())];
    const requests = queued.filter((name) => this.requests.has(name)).map((name) => [name, this.first(name)]);
    const written = (t) => (t.filled === t.known ? [] : [t.filled]);
    return {
      tables: [...this.tables.values()].map((t) => [t.name, t.ids, t.tokens.slice(0, t.known), ...written(t)]),
      lists: this.lists.map((_, i) => this.idsIn(i)),
      refs: [...this.refs.entries()].filter(([, count]) => count > 0),
      cached: having(CACHED),
      computed,
      null: this.nullBlock,
      queues,
      ...(requests.length ? { requests } : {}),
    };
  }
}

function carry(s, a, [b]) {
  s.fill[s.block(b)] = s.fill[a];
  s.content[b] = s.content[a];
}

// One function per effect: (state, block, rest of the effect, number of the step).
const EFFECTS = new Map(Object.entries({
  take(s, b, [name], step) {
    if (!s.leave(s.listNames.indexOf(name), b)) wrong(`block ${b} is taken, but it is not in the ${name}`);
    s.refs[b] = 1;
    s.fill[b] = 0;
    s.content[b] = undefined;
    s.taken[b] = step;
    s.flags[b] &= ~COMPUTED;
  },
  free(s, b, [name, place], step) {
    const ids = s.lists[s.listNames.indexOf(name)] ?? wrong(`block ${b} is freed to a list that does not exist`);
    if (s.refs[b] !== 1) wrong(`block ${b} is freed, but has ${s.refs[b]} owners`);
    s.refs[b] = 0;
    s.freed[b] = step;
    if (place === 0) ids.push(b);
    else ids.unshift(b);
  },
  share(s, b) {
    if (s.refs[b] < 1) wrong(`block ${b} is shared, but it has no owner`);
    s.refs[b] += 1;
  },
  unshare(s, b) {
    if (s.refs[b] < 2) wrong(`block ${b} is unshared, but has ${s.refs[b]} owners`);
    s.refs[b] -= 1;
  },
  write(s, b, [name, first, count]) { s.write(b, name, first, count); },
  copy: carry,
  move: carry,
  cache(s, b) {
    s.flags[b] |= CACHED;
    s.fill[b] = s.blockSize;
  },
  hit(s, b, [name, first, count], step) {
    if (!(s.flags[b] & CACHED)) wrong(`block ${b} is hit, but it is not cached`);
    if (s.refs[b] === 0) {
      if (!s.lists.some((_, i) => s.leave(i, b))) wrong(`block ${b} is hit, but it is in no list`);
      s.taken[b] = step;
    }
    s.refs[b] += 1;
    s.write(b, name ?? null, first, count);
    s.fill[b] = s.blockSize;
  },
  evict(s, b) {
    if (!(s.flags[b] & CACHED)) wrong(`block ${b} is evicted, but it is not cached`);
    s.flags[b] &= ~CACHED;
  },
  computed(s, b) { s.flags[b] |= COMPUTED; },
  null(s, b) { s.nullBlock = b; },
}));

export const TWO_BLOCKS = new Set(["copy", "move"]);

/** The blocks an effect names. */
export const blocksOf = (effect) => (TWO_BLOCKS.has(effect[0]) ? [effect[1], effect[2]] : [effect[1]]);

function apply(s, event, step) {
  for (const [name, tokens, written] of event.opened) s.open(name, tokens, written);
  for (const [name, first, tokens] of event.tokens) s.know(name, first, tokens);
  for (const effect of event.effects) {
    const [kind, b, ...rest] = effect;
    const doing = EFFECTS.get(kind) ?? wrong(`unknown effect ${JSON.stringify(kind)}`);
    const touched = blocksOf(effect);
    for (const id of touched) s.count(s.block(id), -1);
    doing(s, b, rest, step);
    for (const id of touched) s.count(id, 1);
  }
  for (const [name, k, ids] of event.tables) s.retable(name, k, ids);
  for (const [name] of event.opened) s.fillFrom(s.tables.get(name));
  for (const name of event.closed) s.tables.delete(name);
  for (const move of event.queues) s.move(move);
}

/** A whole run: any step is reached from the keyframe before it. */
export class Run {
  constructor({ header, events, problem }) {
    Object.assign(this, { header, problem, events: [], keyframes: [] });
    this.places = new Map(); // sequence → its place in the order of first appearance
    this.requests = new Map();
    this.most = { tables: 0, rows: 0, length: 0, queued: 0 };
    this.share = [];
    this.inUse = new Set(); // the lists in which a block ever waits
    const known = Array.isArray(header.sequences) ? header.sequences.filter(isName) : [];
    for (const name of known) this.place(name);
    const state = State.begin(header);
    this.survey(state);
    this.keyframes.push(state.copy());
    for (const event of events) {
      try {
        apply(state, event, this.events.length + 1);
      } catch (error) {
        this.problem = `line ${event.line}: ${message(error)}`;
        break;
      }
      this.events.push(event);
      for (const [name] of event.opened) this.place(name);
      this.survey(state);
      if (this.events.length % KEYFRAME === 0) this.keyframes.push(state.copy());
    }
    for (const first of this.requests.values()) this.place(first); // some never had a table
    this.marks = this.events.some(({ marks }) => marks.length > 0);
    this.cursor = { state: this.keyframes[0].copy(), step: 0 };
  }

  get steps() { return this.events.length; }

  /** The events that end a call of schedule(), or say that it failed. */
  get schedules() {
    const ends = (event) => event.event === "schedule" || (event.event === "failed" && event.called === "schedule");
    return [...this.events.keys()].filter((i) => ends(this.events[i]));
  }

  /** The step to open at: the first one that leaves tokens in a block. */
  get opening() {
    const step = this.share.findIndex(([token]) => token > 0);
    return Math.max(step, 0);
  }

  survey(s) {
    let rows = 0;
    for (const table of s.tables.values()) {
      this.place(table.name);
      rows += Math.max(table.ids.length, 1);
      this.most.length = Math.max(this.most.length, table.ids.length);
    }
    for (const names of s.queues.values()) {
      for (const name of names) this.requests.set(name, s.first(name));
      this.most.queued = Math.max(this.most.queued, names.length);
    }
    s.lists.forEach((ids, i) => { if (ids.length) this.inUse.add(i); });
    this.most.tables = Math.max(this.most.tables, s.tables.size);
    this.most.rows = Math.max(this.most.rows, rows);
    this.share.push([s.slots.token, s.slots.internal, s.slots.reserved]);
  }

  /** Colours go by the order of first appearance: pagesim/player/colors.py. */
  place(name) {
    if (!this.places.has(name)) this.places.set(name, this.places.size);
  }

  /** How a sequence is painted: its colour, the pattern of its round or null, the ink on it. */
  look(name) {
    const place = this.places.get(name) ?? 0, round = Math.floor(place / COLORS.length) % PATTERNS.length;
    const color = COLORS[place % COLORS.length];
    return { place, color, pattern: round ? `url(#ps-round-${round})` : null,
      ink: color === COLORS.at(-1) ? "light" : "dark" };
  }

  at(step) {
    const base = Math.floor(step / KEYFRAME);
    let { state, step: from } = this.cursor;
    if (from > step || from < base * KEYFRAME) {
      state = this.keyframes[base].copy();
      from = base * KEYFRAME;
    }
    for (; from < step; from++) apply(state, this.events[from], from + 1);
    this.cursor = { state, step };
    return state;
  }

  /** Percent of the first pool's slots at a step, in the order token, internal, reserved, free. */
  percent(step) {
    const all = this.header.num_gpu_blocks * this.header.block_size || 1;
    const used = this.share[step].map((slots) => (100 * slots) / all);
    return [...used, Math.max(100 - used[0] - used[1] - used[2], 0)];
  }
}

export const namesIn = (event) => [
  event.of, ...event.closed, ...[...event.opened, ...event.tokens, ...event.tables].map((row) => row[0]),
  ...event.effects.filter((e) => ["write", "hit", "null"].includes(e[0])).map((e) => e[2]),
];

/** A query from the search box → the indices of the events it matches. */
export function search(run, query) {
  const text = query.trim(), low = text.toLowerCase();
  const number = /^(?:block\s*|#)(\d+)$/i.exec(text);
  const names = [...run.places.keys()].filter((name) => `${name}` === text || `s${name}` === text);
  for (const [request, first] of run.requests) if (`${request}` === text) names.push(first);
  const kinds = (event) => event.event === low || event.effects.some((e) => e[0] === low);
  const said = (event) => event.caption.toLowerCase().includes(low);
  let test = said;
  if (number) test = (event) => event.effects.some((e) => blocksOf(e).includes(+number[1]));
  else if (names.length) test = (event) => namesIn(event).some((name) => names.includes(name));
  else if (run.events.some(kinds)) test = kinds;
  return text ? [...run.events.keys()].filter((i) => test(run.events[i])) : [];
}
