// A whole run: its events, and the state at any step.

import { apply, isLookup } from "./effects.js";
import { chainsOf } from "./chains.js";
import { Lives } from "./lives.js";
import { programsOf } from "./programs.js";
import { isCount, isName, message } from "./read.js";
import { CACHED, COMPUTED, State } from "./state.js";

// The palette, on whose last three text is white, and the patterns of further rounds in squares of 5: colors.py.
// prettier-ignore
export const COLORS = [
  "#56B4E9", "#E69F00", "#009E73", "#CC79A7", "#F0E442", "#D55E00", "#AADD88", "#0072B2", "#8B5A2B", "#6F4FE8",
];
export const PATTERNS = ["", "M0 0L5 5M5 0L0 5", "M0 2.5H5", "M0 0L5 5", "M0 2.5H5M2.5 0V5", "M2.5 0V5"];
const FEW = 5; // chains of cached blocks that are shown at once
const HELD = [CACHED, CACHED | COMPUTED]; // flags of a block whose content is kept
const CROWD = 20;
const KEYFRAME = 32; // events between two copies of the state: how far a scrub must replay

/** A whole run: any step is reached from the keyframe before it. */
export class Run {
  constructor({ header, events, problem }) {
    this.header = header;
    this.problem = problem;
    this.events = [];
    this.keyframes = [];
    this.places = new Map(); // sequence → its place in the order of first appearance
    this.requests = new Map();
    this.most = { tables: 0, rows: 0, length: 0, queued: 0, requests: 0, span: 1 };
    this.lookups = 0; // how many groups, or kinds of them, are ever asked in one event
    this.share = [];
    this.chains = 0; // for how many chains of cached blocks there is room
    this.shares = false; // whether sharing ever saves a block
    this.ends = new Map(); // list → the places at which blocks ever return to it
    this.lives = new Lives();
    this.ahead = false; // whether slots are ever written before their tokens are known
    this.inUse = new Set(); // the lists in which a block ever waits
    const known = Array.isArray(header.sequences) ? header.sequences.filter(isName) : [];
    const { tokens: labels } = header,
      named = (token) => labels && typeof labels === "object" && Object.hasOwn(labels, token);
    // A token that nobody knows, such as a simulated request's, is a number below 0.
    this.label = (token) => (named(token) ? String(labels[token]) : token < 0 ? "\u00b7" : `${token}`);
    const state = State.begin(header);
    this.groups = state.groups;
    this.perChunk = state.perChunk;
    for (const name of known) this.place(name);
    this.survey(state, null);
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
      this.lookups = Math.max(this.lookups, new Set(event.effects.filter(isLookup).map((e) => `${e[1]}`)).size);
      for (const [, , asked] of event.effects.filter(isLookup)) this.most.span = Math.max(this.most.span, asked);
      this.survey(state, event);
      if (this.events.length % KEYFRAME === 0) this.keyframes.push(state.copy());
    }
    for (const first of this.requests.values()) this.place(first); // some never had a table
    const { clock } = header; // when each schedule() had ended, in seconds
    const fits = Array.isArray(clock) && clock.length === this.schedules.length && clock.every(Number.isFinite);
    this.clock = fits ? clock : [];
    const has = (test) => this.events.some(test);
    this.updates = has(({ event }) => event === "update_from_output"); // the output of a step is told
    this.computes = header.state.computed?.length > 0 || has(({ effects }) => effects.some(([e]) => e === "computed"));
    this.marks = has(({ marks, reads }) => marks.length > 0 && !reads.length);
    this.programs = FILM ? programsOf(this.events) : [];
    this.cursor = { state: this.keyframes[0].copy(), step: 0 };
  }

  /** Whether blocks return only to where they are taken from: a list is then a stack, unless it is a queue by name. */
  isStack(list) {
    const places = this.ends.get(list);
    return places?.size === 1 && places.has(0) && !/queue/.test(list);
  }

  /** Whether there are too many sequences to tell them apart by their colours. */
  get isCrowd() {
    return this.places.size > CROWD;
  }

  get steps() {
    return this.events.length;
  }

  /** The events that end a call of schedule(), or say that it failed. */
  get schedules() {
    const ends = (event) => event.event === "schedule" || (event.event === "failed" && event.called === "schedule");
    return [...this.events.keys()].filter((i) => ends(this.events[i]));
  }

  /** The questions of the file about steps that it has. */
  get questions() {
    const { questions } = this.header;
    return Array.isArray(questions) ? questions.filter((one) => isCount(one?.at) && one.at < this.steps) : [];
  }

  /** The step to open at: the author's, or the first one that leaves tokens in a block, but no answer. */
  get opening() {
    const { opens } = this.header,
      filled = Math.max(
        this.share.findIndex(([token]) => token > 0),
        0,
      );
    if (isCount(opens) && opens <= this.steps) return opens;
    return Math.min(filled, ...this.questions.map(({ at }) => at));
  }

  /** The step to ask from: an author's questions begin where they do, the player's own at the start. */
  get asking() {
    const { questions, opening } = this;
    return questions.length ? Math.min(opening, ...questions.map(({ at }) => at)) : 0;
  }

  /** @param {State} s @param {PageEvent | null} event */
  survey(s, event) {
    this.lives.note(s, event);
    const owners = new Set();
    let rows = 0;
    for (const table of s.tables.values()) {
      this.place(table.name);
      rows += Math.max(table.ids.length, 1);
      this.ahead ||= table.filled > table.known;
      this.most.length = Math.max(this.most.length, table.ids.length);
      if (!this.groups.several) continue;
      owners.add(this.groups.owner(table.name));
      const end = table.ids.length * this.groups.sizeOf(table.name);
      this.most.span = Math.max(this.most.span, this.groups.isState(table.name) ? table.filled : end);
    }
    this.most.requests = Math.max(this.most.requests, owners.size);
    if (!this.shares && (!event || event.effects.some(([kind]) => kind === "share" || kind === "hit"))) {
      const { used, alone } = s.sharing;
      this.shares = used < alone;
    }
    if (!this.groups.several && HELD.some((flags) => s.flags.includes(flags))) {
      const few = s.total <= 64 ? chainsOf(s, event).length : FEW;
      this.chains = Math.min(Math.max(this.chains, few), FEW);
    }
    for (const [kind, , list, place] of event?.effects ?? []) {
      if (kind === "free") this.ends.set(list, (this.ends.get(list) ?? new Set()).add(place));
    }
    for (const names of s.queues.values()) {
      for (const name of names) this.requests.set(name, s.first(name));
      this.most.queued = Math.max(this.most.queued, names.length);
    }
    s.lists.forEach((ids, i) => {
      if (ids.length) this.inUse.add(i);
    });
    this.most.tables = Math.max(this.most.tables, s.tables.size);
    this.most.rows = Math.max(this.most.rows, rows);
    this.share.push([s.slots.token, s.slots.internal, s.slots.reserved]);
  }

  /** Colours go by the order of first appearance: pagesim/player/colors.py. */
  place(table) {
    const name = this.groups.owner(table);
    if (!this.places.has(name)) this.places.set(name, this.places.size);
  }

  /** How a sequence is painted: its colour, the pattern of its round or null, the ink on it. */
  look(name) {
    const place = this.places.get(this.groups.owner(name)) ?? 0,
      round = Math.floor(place / COLORS.length) % PATTERNS.length,
      nth = place % COLORS.length;
    return {
      place,
      color: COLORS[nth],
      pattern: round ? `url(#ps-round-${round})` : null,
      ink: round ? "halo" : nth > 6 ? "light" : "dark", // on a pattern words need a ground
    };
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

  /** Percent of the slots that can be used at a step, in the order token, internal, reserved, free. */
  percent(step) {
    const all = this.keyframes[0].usable * this.header.block_size || 1;
    const used = this.share[step].map((slots) => (100 * slots) / all);
    return [...used, Math.max(100 - used[0] - used[1] - used[2], 0)];
  }
}
