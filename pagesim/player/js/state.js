// The state of the pages at one step.

import { Groups } from "./groups.js";
import { begin, perChunk } from "./jobs.js";
import { isCount, isName, list, wrong } from "./read.js";
import { nameText } from "./text.js";

export const CACHED = 1,
  COMPUTED = 2;

/**
 * Everything at one step. A table is never changed but replaced, and its tokens are an array that
 * only grows (`known` says how much of it counts, `filled` how many slots are written), so copying a
 * state is cheap. A list is an array with its front at the end, where most blocks come and go.
 */
export class State {
  static begin(header) {
    const s = new State(),
      given = header.state;
    const total = header.num_gpu_blocks + header.num_cpu_blocks;
    s.poolNames = header.pool_names;
    s.listNames = header.lists.map(([name]) => name);
    s.sorted = header.lists.map(([, order]) => order === "sorted");
    s.blockSize = header.block_size;
    s.groups = new Groups(header);
    s.numGpu = header.num_gpu_blocks;
    s.total = total;
    for (const name of ["refs", "fill", "taken", "freed"]) s[name] = new Int32Array(total);
    s.flags = new Uint8Array(total);
    s.group = new Int8Array(total).fill(-1); // of the table that holds a block, or held it last
    // What was written into a block, and by which table: {tokens, first, name}; {name, state} is a state after so
    // many tokens.
    s.content = new Array(total);
    s.tables = new Map();
    s.slots = { token: 0, internal: 0, reserved: 0 };
    s.gaps = new Map(); // where the last step's hits stood: block → {list, rank, behind: the block behind it}
    s.flight = []; // the steps whose output is not known yet: {step, rows: as in `scheduled`}
    s.preempted = new Set(); // requests that lost their blocks
    const lists = list(given.lists ?? [], "lists");
    s.lists = s.listNames.map((name, i) =>
      list(lists[i] ?? [], name)
        .map((id) => s.block(id))
        .reverse(),
    );
    for (const [id, count] of list(given.refs ?? [], "refs")) {
      s.refs[s.block(id)] = isCount(count) ? count : wrong(`refs: ${count} owners`);
    }
    for (const id of list(given.cached ?? [], "cached")) s.flags[s.block(id)] |= CACHED;
    for (const id of list(given.computed ?? [], "computed")) s.flags[s.block(id)] |= COMPUTED;
    s.perChunk = perChunk(header); // the CPU blocks of a chunk, where they are a second tier
    s.jobs = new Map(); // the copies under way: job → {id, kind, request, pairs, isFlushed}
    s.ended = []; // those that the last step has ended
    s.deferred = new Map(); // requests passed over → the jobs that were under way then
    s.loaded = new Set(); // requests whose load has ended, and who wait
    s.nullBlock = given.null == null ? null : s.block(given.null);
    const queues = list(given.queues ?? [], "queues");
    s.queues = new Map(header.queues.map((name, i) => [name, list(queues[i] ?? [], name).filter(isName)]));
    s.requests = new Map(list(given.requests ?? [], "requests").filter((row) => list(row, "requests").every(isName)));
    for (const [id, ...job] of list(given.jobs ?? [], "jobs")) begin(s, id, job);
    for (const [name, ids, tokens, written] of list(given.tables ?? [], "tables")) {
      s.open(
        name,
        tokens,
        written,
        list(ids, "a table").map((id) => s.block(id)),
      );
    }
    for (const table of s.tables.values()) s.fillFrom(table, 0);
    for (let id = 0; id < total; id++) {
      if (s.flags[id] & CACHED) s.fill[id] = s.sizeOf(id);
      s.count(id, 1);
    }
    return s;
  }

  copy() {
    const s = Object.assign(new State(), this);
    for (const name of ["refs", "fill", "taken", "freed", "flags", "group"]) s[name] = this[name].slice();
    s.content = this.content.slice();
    s.tables = new Map(this.tables);
    s.requests = new Map(this.requests);
    s.gaps = new Map(this.gaps);
    s.slots = { ...this.slots };
    s.lists = this.lists.map((ids) => ids.slice());
    return s;
  }

  block(id) {
    return isCount(id) && id < this.total ? id : wrong(`block ${JSON.stringify(id)} does not exist`);
  }

  /** The slots of a block: those of its group. */
  sizeOf(id) {
    return (this.groups.several && this.groups.list[this.group[id]]?.size) || this.blockSize;
  }
  /** How much of a block is filled, from 0 to 1. */
  part(id) {
    return this.fill[id] / this.sizeOf(id);
  }
  /** After how many tokens a block has the state; undefined if it holds none. */
  stateIn(id) {
    return id === this.nullBlock ? undefined : this.content[id]?.state;
  }
  /** The blocks of the first pool that have owners. */
  get held() {
    return this.refs.subarray(0, this.numGpu).filter((count) => count > 0).length;
  }
  /** The blocks of the first pool that can have owners: not the null block, unless it is counted as an owner. */
  get usable() {
    return this.numGpu - Number(this.nullBlock !== null && this.refs[this.nullBlock] === 0);
  }
  /** The gauge that an engine logs: it counts blocks, and one with a token counts as a full one. */
  get usage() {
    return `${((100 * this.held) / (this.usable || 1)).toFixed(1)} %`;
  }
  pool(id) {
    return id < this.numGpu ? 0 : 1;
  }
  /** Blocks that an event has freed keep the name of the table that held them, until they are taken again.
   * @param {PageEvent} event */
  leaveNames({ tables, closed }, step) {
    for (const name of [...tables.map((row) => row[0]), ...closed]) {
      for (const id of this.tables.get(name)?.ids ?? []) {
        if (this.refs[id] === 0 && this.freed[id] === step)
          this.content[id] = { ...(this.content[id] ?? { name }), last: name };
      }
    }
  }
  /** The table that held a free block last, as far as the file says. */
  lastOwner(id) {
    return this.refs[id] === 0 && id !== this.nullBlock ? this.content[id]?.last : undefined;
  }
  /** How many blocks are in use, and how many it would be if none were shared: {used, alone}. */
  get sharing() {
    let used = 0,
      alone = 0;
    this.refs.forEach((count, id) => (used += +(count > 0 && id !== this.nullBlock)));
    for (const { ids } of this.tables.values()) alone += ids.filter((id) => id !== this.nullBlock).length;
    return { used, alone };
  }
  /** Whether a block that has no owner is still found by its content. */
  isIdle(id) {
    return this.refs[id] === 0 && (this.flags[id] & CACHED) > 0;
  }
  isCached(id) {
    return (this.flags[id] & CACHED) > 0;
  }
  isComputed(id) {
    return (this.flags[id] & COMPUTED) > 0 && (this.refs[id] > 0 || (this.flags[id] & CACHED) > 0);
  }
  /** The blocks of a list, front first. */
  idsIn(i) {
    return this.sorted[i] ? this.lists[i].slice().sort((a, b) => a - b) : this.lists[i].slice().reverse();
  }
  /** Where a block waits: {list, name, rank}, or null. */
  placeOf(id) {
    const i = this.lists.findIndex((ids) => ids.includes(id));
    return i < 0 ? null : { list: i, name: this.listNames[i], rank: this.idsIn(i).indexOf(id) + 1 };
  }
  /** The tokens in a block's slots, first to last, as far as they are known. */
  tokensIn(id) {
    const { tokens, first = 0, name } = this.content[id] ?? {};
    if (!tokens || id === this.nullBlock) return [];
    const table = this.tables.get(name),
      known = table?.tokens === tokens ? table.known : Infinity;
    return tokens.slice(first, Math.min(first + this.fill[id], known));
  }

  /** How many slots of a block are written with tokens that are not known yet. */
  unknownIn(id) {
    const { tokens, first = 0, name } = this.content[id] ?? {},
      table = this.tables.get(name);
    if (!tokens || table?.tokens !== tokens || id === this.nullBlock) return 0;
    return Math.max(Math.min(first + this.fill[id], table.filled) - Math.max(table.known, first), 0);
  }

  /** From entry k on, a table's blocks hold its tokens. */
  holds(table, k) {
    const { name, tokens, ids } = table,
      size = this.groups.sizeOf(name);
    if (this.groups.several) this.gather(name, ids.slice(k));
    for (let i = k; i < ids.length; i++) {
      if (!this.groups.isState(name)) this.content[ids[i]] = { tokens, first: i * size, name };
    }
  }

  /** Blocks belong to the group of a table from now on: their slots are counted as its. */
  gather(name, ids) {
    for (const id of ids) {
      if (this.block(id) === this.nullBlock) continue;
      this.count(id, -1);
      this.group[id] = this.groups.of(name);
      this.count(id, 1);
    }
  }

  put(table, change) {
    this.tables.set(table.name, { ...table, ...change });
  }
  table(name) {
    return this.tables.get(name) ?? wrong(`there is no table ${JSON.stringify(name)}`);
  }

  open(name, given, written, ids = []) {
    if (!isName(name)) wrong("a name is neither a number nor a string");
    const tokens = list(given, "tokens").slice();
    this.put({ name, ids, tokens, known: tokens.length, filled: isCount(written) ? written : tokens.length });
    this.holds(this.tables.get(name), 0);
  }

  /** A block leaves a list; whether it was in it. */
  leave(i, id) {
    const ids = this.lists[i] ?? wrong("there is no such list"),
      at = ids.lastIndexOf(id);
    if (at >= 0) ids.splice(at, 1);
    return at >= 0;
  }

  /** A hit takes a block out of a list, from any place: which, of those that stood there before the step. */
  find(i, id) {
    const ids = this.lists[i],
      at = ids.lastIndexOf(id);
    if (at < 0) return false;
    let rank = ids.length - at;
    const earlier = [...this.gaps.values()].filter(({ list: other }) => other === i).map((gap) => gap.rank);
    for (const other of earlier.sort((a, b) => a - b)) if (other <= rank) rank++;
    this.gaps.set(id, { list: i, rank, behind: ids[at - 1] ?? null });
    return this.leave(i, id);
  }

  /** What a table says about its blocks, at the start and when it first appears. */
  fillFrom(table, sign = 1) {
    const size = this.groups.sizeOf(table.name),
      state = this.groups.isState(table.name);
    table.ids.forEach((id, k) => {
      let here = Math.min(Math.max(table.filled - k * size, 0), size);
      if (id === this.nullBlock || here <= this.fill[id]) return;
      if (state) {
        this.content[id] ??= { name: table.name, state: Math.min((k + 1) * size, table.filled) };
        here = size;
      }
      this.count(id, -sign);
      this.fill[id] = here;
      this.count(id, sign);
    });
  }

  /** Add (or with -1 take away) what a block of the first pool contributes to the curve. */
  count(id, sign) {
    if (id >= this.numGpu || this.refs[id] === 0) return;
    const fill = this.fill[id],
      size = this.sizeOf(id),
      each = sign * (this.blockSize / size); // all blocks have as many bytes
    if (fill === 0) this.slots.reserved += sign * this.blockSize;
    else {
      this.slots.token += each * fill;
      this.slots.internal += each * (size - fill);
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
    const size = name === null ? this.sizeOf(b) : this.groups.sizeOf(name),
      state = name !== null && this.groups.isState(name);
    const held = name === null ? this.fill[b] + count : (first % size) + count;
    this.fill[b] = state ? size : Math.max(this.fill[b], Math.min(held, size));
    if (name === null) return;
    const table = this.table(name),
      start = first - (first % size);
    this.content[b] = state
      ? { name, state: count ? first + count : (this.stateIn(b) ?? first) }
      : { tokens: table.tokens, first: start, name };
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
    const names = (isName(request) && this.queues.get(queue)?.slice()) || wrong("a queue that does not exist changes");
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

  /** Which steps are in flight, and which requests were preempted. */
  proceed({ event, scheduled, queues, step }) {
    if (event === "schedule" && scheduled.length) this.flight = [...this.flight, { step, rows: scheduled }].slice(-2);
    if (event === "update_from_output") this.flight = this.flight.filter((one) => one.step !== step);
    for (const [what, queue, , request] of event === "preempt" ? queues : []) {
      if (what === "enter" && queue === "waiting") this.preempted = new Set(this.preempted).add(request);
    }
  }

  /** The tables of a sequence, one for each group. */
  tablesOf(owner) {
    if (this.groups.several) return [...this.tables.values()].filter(({ name }) => this.groups.owner(name) === owner);
    return [this.tables.get(owner)].filter((table) => table !== undefined);
  }

  /** Whether a sequence has blocks outside the first pool. */
  isAway(name) {
    return this.tablesOf(name).some(({ ids }) => ids.some((id) => id >= this.numGpu));
  }

  /** The blocks to which something is copied that is not there yet, and by which job. */
  get pending() {
    const found = new Map();
    for (const job of this.jobs.values()) for (const [, target] of job.pairs) found.set(target, job);
    return found;
  }
  /** Whether a block is in the second tier, where it has a copy and no table. */
  isCopy(id) {
    return this.perChunk > 0 && id >= this.numGpu;
  }

  /** The sequence that stands for a request: its first one, if that is known. */
  first(request) {
    return this.groups.owner(this.requests.get(request) ?? request);
  }

  /** The state as the format writes it. */
  toJSON() {
    const having = (flag) => [...this.flags.keys()].filter((id) => this.flags[id] & flag);
    const computed = [...this.flags.keys()].filter((id) => this.isComputed(id));
    const queues = [...this.queues.values()],
      queued = [...new Set(queues.flat())];
    const requests = queued.filter((name) => this.requests.has(name)).map((name) => [name, this.requests.get(name)]);
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
      ...(this.perChunk
        ? { jobs: [...this.jobs.values()].map((job) => [job.id, job.kind, job.request, job.pairs]) }
        : {}),
    };
  }
}
