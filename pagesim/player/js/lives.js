// Who waits, runs and holds memory over a whole run: a life line for each request, its share of the pool.

const ALONE = new Set(["take", "free", "evict", "cache", "computed", "lookup", "begin", "end", "null"]);
/** Whether an effect may change who else has a block. @param {Effect} effect */
const mayShare = ([kind]) => kind !== "write" && !ALONE.has(kind);
const LOST = /ignore|abort/; // events by which a request leaves without its output

/** Notes every step of a run, once, as it is read. */
export class Lives {
  constructor() {
    /** @type {Map<Name, Line>} */
    this.lines = new Map(); // by the sequence that stands for a request
    this.shares = new Map(); // sequence → [[from which step, blocks it alone holds, blocks' worth of them written], …]
    this.common = [[0, 0, 0]]; // the same of the blocks that have several owners
    this.alive = []; // by step: how many requests are in a queue, or sequences have a table
  }

  /** @param {State} state @param {PageEvent | null} event */
  note(state, event) {
    const step = this.alive.length,
      named = this.touched(state, event);
    if (state.queues.size)
      for (const name of this.moved(state, event)) this.turn(name, queueOf(state, name), step, event);
    else for (const name of named) this.turn(name, placeOf(state, name), step, event);
    for (const name of named)
      this.weigh(
        state,
        state.tablesOf(name).flatMap(({ ids }) => ids),
        step,
        name,
      );
    if (!event || event.effects.some(mayShare)) this.weigh(state, state.refs.keys(), step);
    let alive = state.queues.size ? 0 : state.tables.size;
    for (const names of state.queues.values()) alive += names.length;
    this.alive.push(alive);
  }

  /** The sequences whose share of the memory an event may change. @param {State} state */
  touched(state, event) {
    const every = [...state.tables.keys()];
    if (!event) return new Set(every.map((name) => state.groups.owner(name)));
    const names = [...event.tables, ...event.opened].map(([name]) => name).concat(event.closed);
    for (const [kind, , name] of event.effects) if (kind === "write" && name != null) names.push(name);
    if (event.effects.some(mayShare)) names.push(...every); // blocks that others have as well
    return new Set(names.map((name) => state.groups.owner(name)));
  }

  /** The requests that an event moves between queues. @param {State} state */
  moved(state, event) {
    const requests = event
      ? event.queues.map((row) => row[4] ?? state.requests.get(row[3]) ?? row[3])
      : [...state.queues.values()].flat();
    return new Set(requests.map((request) => (event ? state.groups.owner(request) : state.first(request))));
  }

  /** A request is in another place from a step on: in a queue, or null. */
  turn(name, queue, step, event) {
    /** @type {Line} */
    const line = this.lines.get(name) ?? { name, spans: [], preempted: [], ended: null, lost: false },
      last = line.spans.at(-1),
      lasts = last?.[1] === null;
    if ((lasts ? last[2] : null) === queue) return;
    this.lines.set(name, line);
    if (lasts) last[1] = step;
    if (queue !== null) {
      if (last?.[2] === "running" && last[1] === step) line.preempted.push(step);
      line.spans.push([step, null, queue]);
      line.ended = null;
    } else if (last) {
      line.ended = step;
      line.lost = LOST.test(event?.event ?? "");
    }
  }

  /** How many blocks of the first pool a sequence alone holds, or, without a name, how many have several owners.
   * @param {State} state @param {Iterable<number>} ids @param {Name} [name] */
  weigh(state, ids, step, name) {
    const rows = name === undefined ? this.common : (this.shares.get(name) ?? []),
      [, was, full] = rows.at(-1) ?? [0, 0, 0];
    let held = 0,
      written = 0;
    for (const id of ids) {
      if (id >= state.numGpu || id === state.nullBlock || (name === undefined) !== state.refs[id] > 1) continue;
      held += 1;
      written += state.part(id);
    }
    if (was === held && full === written) return;
    rows.push([step, held, written]);
    if (name !== undefined) this.shares.set(name, rows);
  }

  /** Where a request is at a step: the name of its queue, or null. */
  queueAt(name, step) {
    const span = this.lines.get(name)?.spans.findLast(([from]) => from <= step);
    return span && (span[1] === null || step < span[1]) ? span[2] : null;
  }

  /** The requests that were not turned away. */
  get served() {
    return [...this.lines.values()].filter(({ lost }) => !lost);
  }

  /** How many requests have had their whole output at a step. */
  finished(step) {
    return this.served.filter(({ ended }) => ended !== null && ended <= step).length;
  }
}

/** The queue of a request, by the sequence that stands for it. @param {State} state */
function queueOf(state, name) {
  for (const [queue, requests] of state.queues) if (requests.some((one) => state.first(one) === name)) return queue;
  return null;
}

/** Without a scheduler: whether a sequence has a table, and where its blocks are. @param {State} state */
function placeOf(state, name) {
  if (!state.tablesOf(name).length) return null;
  return state.perChunk === 0 && state.isAway(name) ? "swapped" : "running";
}
