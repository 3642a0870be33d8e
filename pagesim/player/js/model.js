// The model: the state of the pages at any step.

// Okabe and Ito's palette, and the patterns of its further rounds in squares of 5: colors.py.
const COLORS = ["#56B4E9", "#E69F00", "#009E73", "#CC79A7", "#F0E442", "#D55E00", "#0072B2"];
const PATTERNS = ["", "M0 0L5 5M5 0L0 5", "M0 2.5H5", "M0 0L5 5", "M0 2.5H5M2.5 0V5", "M2.5 0V5"];
const CACHED = 1, TOUCHED = 2, COMPUTED = 4;
const QUEUES = ["waiting", "running", "swapped"];
const KEYFRAME = 32; // events between two copies of the state: how far a scrub must replay

/**
 * Everything at one step. A table is never changed but replaced, and its tokens are an array that
 * only grows (`filled` says how much of it counts), so copying a state is cheap.
 */
class State {
  static begin(header) {
    const s = new State(), given = header.state;
    const total = header.num_gpu_blocks + header.num_cpu_blocks;
    s.blockSize = header.block_size;
    s.numGpu = header.num_gpu_blocks;
    s.total = total;
    for (const name of ["refs", "fill", "taken", "freed"]) s[name] = new Int32Array(total);
    s.flags = new Uint8Array(total);
    s.tables = new Map();
    s.slots = { token: 0, internal: 0, reserved: 0 };
    s.free = pair(given.free, "free").map((ids) => ids.map((id) => s.block(id)).reverse());
    s.evictor = pair(given.evictor, "evictor").map((ids) => new Set(ids.map((id) => s.block(id))));
    for (const [id, count] of list(given.refs ?? [], "refs")) {
      s.refs[s.block(id)] = isCount(count) ? count : wrong(`refs: ${count} owners`);
    }
    for (const [key, flag] of [["cached", CACHED], ["touched", TOUCHED], ["computed", COMPUTED]]) {
      for (const id of list(given[key] ?? [], key)) s.flags[s.block(id)] |= flag;
    }
    s.nullBlock = given.null == null ? null : s.block(given.null);
    s.queues = queues(given.queues);
    s.requests = new Map(list(given.requests ?? [], "requests").filter((row) => list(row, "requests").every(isName)));
    for (const [name, ids, tokens] of list(given.tables ?? [], "tables")) {
      if (!isName(name)) wrong("tables: a name is neither a number nor a string");
      const its = list(ids, "a table").map((id) => s.block(id));
      s.put(name, its, list(tokens, "tokens").slice(), tokens.length);
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
    s.tables = new Map(this.tables);
    s.requests = new Map(this.requests);
    s.slots = { ...this.slots };
    s.free = this.free.map((ids) => ids.slice());
    s.evictor = this.evictor.map((ids) => new Set(ids));
    return s;
  }

  block(id) {
    return isCount(id) && id < this.total ? id : wrong(`block ${JSON.stringify(id)} does not exist`);
  }

  pool(id) { return id < this.numGpu ? 0 : 1; }
  evictable(id) { return this.evictor[this.pool(id)].has(id); }
  isComputed(id) { return this.refs[id] ? (this.flags[id] & COMPUTED) > 0 : this.evictable(id); }
  freeIds(pool) { return this.free[pool].slice().reverse(); }
  put(name, ids, tokens, filled) { this.tables.set(name, { name, ids, tokens, filled }); }

  /** What a table says about its blocks: at the start, and when it was not seen before. */
  fillFrom(table, sign = 1) {
    table.ids.forEach((id, k) => {
      const here = Math.min(Math.max(table.filled - k * this.blockSize, 0), this.blockSize);
      if (id === this.nullBlock || here <= this.fill[id]) return;
      this.count(id, -sign);
      this.fill[id] = here;
      this.count(id, sign);
    });
  }

  /** Add (or with -1 take away) what a GPU block contributes to the curve. */
  count(id, sign) {
    if (id >= this.numGpu || this.refs[id] === 0) return;
    const fill = this.fill[id];
    if (fill === 0) this.slots.reserved += sign * this.blockSize;
    else {
      this.slots.token += sign * fill;
      this.slots.internal += sign * (this.blockSize - fill);
    }
  }

  /** Tokens go behind those a table holds. Replaying a step writes the same values again. */
  append(name, tokens) {
    if (name === null || tokens.length === 0) return;
    if (!isName(name)) wrong("a name is neither a number nor a string");
    const table = this.tables.get(name) ?? { ids: [], tokens: [], filled: 0 };
    for (let i = 0; i < tokens.length; i++) table.tokens[table.filled + i] = tokens[i];
    this.put(name, table.ids, table.tokens, table.filled + tokens.length);
  }

  /** From its entry k on the table holds `ids`; tokens without a slot are gone. */
  retable(name, k, ids) {
    if (!isName(name) || !isCount(k)) wrong("a table's name or entry is no number");
    for (const id of list(ids, "a table's ids")) this.block(id);
    const old = this.tables.get(name) ?? { ids: [], tokens: [], filled: 0 };
    if (k > old.ids.length) wrong(`a table has ${old.ids.length} entries, none at ${k}`);
    const now = old.ids.slice(0, k).concat(ids);
    let { tokens, filled } = old;
    const room = now.length * this.blockSize;
    if (filled > room) { tokens = tokens.slice(0, room); filled = room; }
    this.put(name, now, tokens, filled);
  }

  /** A request leaves a queue, or enters it at a place. */
  move([what, queue, place, request, first]) {
    if (!QUEUES.includes(queue) || !isName(request)) wrong("a queue changes that does not exist");
    const names = this.queues[queue].slice();
    if (what === "leave") {
      if (names[place] !== request) wrong(`${nameText(request)} leaves ${queue}, but it is not there`);
      names.splice(place, 1);
    } else {
      if (!isCount(place) || place > names.length) wrong(`the queue ${queue} has no place ${place}`);
      names.splice(place, 0, request);
      if (isName(first)) this.requests.set(request, first);
    }
    this.queues = { ...this.queues, [queue]: names };
  }

  /** The sequence that stands for a request: its first one, if that is known. */
  first(request) { return this.requests.get(request) ?? request; }

  /** The state as the format writes it. */
  toJSON() {
    const having = (flag) => [...this.flags.keys()].filter((id) => this.flags[id] & flag);
    const computed = [...this.flags.keys()].filter((id) => this.isComputed(id));
    const queued = [...new Set(QUEUES.flatMap((key) => this.queues[key]))];
    const requests = queued.filter((name) => this.requests.has(name)).map((name) => [name, this.first(name)]);
    return {
      tables: [...this.tables.values()].map((t) => [t.name, t.ids, t.tokens.slice(0, t.filled)]),
      free: [this.freeIds(0), this.freeIds(1)],
      refs: [...this.refs.entries()].filter(([, count]) => count > 0),
      evictor: this.evictor.map((ids) => [...ids]),
      cached: having(CACHED),
      touched: having(TOUCHED),
      computed,
      null: this.nullBlock,
      queues: this.queues,
      ...(requests.length ? { requests } : {}),
    };
  }
}

function pair(value, what) {
  const both = value ?? [[], []];
  if (!Array.isArray(both) || both.length !== 2 || !both.every(Array.isArray)) {
    wrong(`${what} is no pair of lists`);
  }
  return both;
}

function queues(value) {
  const found = { waiting: [], running: [], swapped: [] };
  for (const key of QUEUES) found[key] = list(value?.[key] ?? [], key).filter(isName);
  return found;
}

// One function an effect: (state, block, rest of the effect, number of the step).
const EFFECTS = new Map(Object.entries({
  take(s, b, _, step) {
    const ids = s.free[s.pool(b)];
    if (s.refs[b]) wrong(`block ${b} is taken, but it has an owner`);
    if (s.evicted.delete(b)) { /* it was on no free list */ }
    else if (ids.at(-1) !== b) wrong(`block ${b} is taken, but it is not first in the free list`);
    else ids.pop();
    s.refs[b] = 1;
    s.fill[b] = 0;
    s.taken[b] = step;
    s.flags[b] &= ~COMPUTED;
  },
  return(s, b, _, step) {
    if (s.refs[b] !== 1) wrong(`block ${b} is returned, but has ${s.refs[b]} owners`);
    s.refs[b] = 0;
    s.freed[b] = step;
    if (s.flags[b] & CACHED) s.evictor[s.pool(b)].add(b);
    else s.free[s.pool(b)].push(b);
  },
  share(s, b) {
    if (s.refs[b] < 1) wrong(`block ${b} is shared, but nobody owns it`);
    s.refs[b] += 1;
  },
  unshare(s, b) {
    if (s.refs[b] < 2) wrong(`block ${b} is unshared, but has ${s.refs[b]} owners`);
    s.refs[b] -= 1;
  },
  write(s, b, [name, tokens]) {
    s.append(name, list(tokens, "tokens"));
    s.fill[b] = Math.min(s.fill[b] + tokens.length, s.blockSize);
  },
  copy(s, a, [b]) { s.fill[s.block(b)] = s.fill[a]; },
  swap_out(s, a, [b]) { s.fill[s.block(b)] = s.fill[a]; },
  swap_in(s, a, [b]) { s.fill[s.block(b)] = s.fill[a]; },
  promote(s, b) {
    s.flags[b] |= b < s.numGpu ? CACHED | TOUCHED : CACHED; // only the GPU's are ever computed
    s.fill[b] = s.blockSize;
  },
  hit(s, b, [name, tokens], step) {
    if (!(s.flags[b] & CACHED)) wrong(`block ${b} is hit, but it is not cached`);
    if (s.refs[b] === 0) {
      if (!s.evictor[s.pool(b)].delete(b)) wrong(`block ${b} is hit, but it is in no evictor`);
      s.flags[b] |= COMPUTED;
      s.taken[b] = step;
    }
    s.refs[b] += 1;
    s.fill[b] = s.blockSize;
    s.append(name ?? null, list(tokens ?? [], "tokens"));
  },
  evict(s, b) {
    if (!s.evictor[s.pool(b)].delete(b)) wrong(`block ${b} is evicted, but it is in no evictor`);
    s.flags[b] &= ~CACHED;
    s.evicted.add(b);
  },
  null(s, b) { s.nullBlock = b; },
}));

const TWO_BLOCKS = new Set(["copy", "swap_out", "swap_in"]);

/** The blocks an effect names. */
const blocksOf = (effect) => (TWO_BLOCKS.has(effect[0]) ? [effect[1], effect[2]] : [effect[1]]);

function apply(s, event, step) {
  s.evicted = new Set();
  for (const [name, tokens] of event.opened) {
    if (!isName(name)) wrong("a name is neither a number nor a string");
    s.put(name, [], list(tokens, "tokens").slice(), tokens.length);
  }
  for (const effect of event.effects) {
    const [kind, b, ...rest] = effect;
    const doing = EFFECTS.get(kind) ?? wrong(`the effect ${JSON.stringify(kind)} is not known`);
    const touched = blocksOf(effect);
    for (const id of touched) s.count(s.block(id), -1);
    doing(s, b, rest, step);
    for (const id of touched) s.count(id, 1);
  }
  for (const [name, k, ids] of event.tables) s.retable(name, k, ids);
  for (const [name] of event.opened) s.fillFrom(s.tables.get(name));
  for (const name of event.closed) s.tables.delete(name);
  if (event.event === "mark_blocks_as_computed") {
    for (let id = 0; id < s.total; id++) {
      if (s.flags[id] & TOUCHED) s.flags[id] = (s.flags[id] & ~TOUCHED) | COMPUTED;
    }
  }
  if (Array.isArray(event.queues)) for (const move of event.queues) s.move(list(move, "a queue's change"));
  else if (event.queues) s.queues = queues(event.queues);
}

/** A whole run: any step is reached from the keyframe before it. */
class Run {
  constructor({ header, events, problem }) {
    Object.assign(this, { header, problem, events: [], keyframes: [] });
    this.places = new Map(); // sequence → its place in the order of first appearance
    this.requests = new Map();
    this.most = { tables: 0, rows: 0, length: 0, queued: 0 };
    this.share = [];
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
    this.cursor = { state: this.keyframes[0].copy(), step: 0 };
  }

  get steps() { return this.events.length; }

  /** The events that end a call of schedule(), or say that it failed. */
  get schedules() {
    const ends = (event) => event.event === "schedule" || (event.event === "failed" && event.called === "schedule");
    return [...this.events.keys()].filter((i) => ends(this.events[i]));
  }

  survey(s) {
    let rows = 0;
    for (const table of s.tables.values()) {
      this.place(table.name);
      rows += Math.max(table.ids.length, 1);
      this.most.length = Math.max(this.most.length, table.ids.length);
    }
    for (const key of QUEUES) {
      for (const name of s.queues[key]) {
        this.requests.set(name, s.first(name));
      }
      this.most.queued = Math.max(this.most.queued, s.queues[key].length);
    }
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

  /** Percent of the GPU's slots at a step, in the order token, internal, reserved, free. */
  percent(step) {
    const all = this.header.num_gpu_blocks * this.header.block_size || 1;
    const used = this.share[step].map((slots) => (100 * slots) / all);
    return [...used, Math.max(100 - used[0] - used[1] - used[2], 0)];
  }
}

const namesIn = (event) => [
  event.of, ...event.closed, ...event.tables.map((row) => row[0]),
  ...event.effects.filter((e) => ["write", "hit", "null"].includes(e[0])).map((e) => e[2]),
];

/** What the search box says → the indices of the events it means. */
function search(run, query) {
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
