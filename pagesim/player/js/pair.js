// Two runs side by side, stepped together: by calls of schedule() where both have them, else by
// events, or by their clocks. What differs is marked in both pictures and listed above them.

import { button, html } from "./html.js";
import { fill } from "./screen.js";
import { Tally, linesOf } from "./tally.js";
import { nameText, plural, short } from "./text.js";

const PACE = 700; // milliseconds per step
const LISTED = 6; // differences listed in words

/** Where each run is at the times of both clocks: its last schedule() that has ended by then. */
function stopsByClock(runs) {
  const clocks = runs.map(({ clock }) => clock),
    times = [...new Set(clocks.flat())].sort((a, b) => a - b);
  return runs.map(({ schedules, steps }, i) => [
    0,
    ...times.map((time) => {
      const ended = clocks[i].filter((end) => end <= time).length;
      return ended ? schedules[ended - 1] + 1 : 0;
    }),
    steps,
  ]);
}

/** The steps of a run at which it is compared. @param {Run} run */
function stopsOf(run, bySchedule) {
  if (!bySchedule) return [...Array(run.steps + 1).keys()];
  const stops = [0, ...run.schedules.map((event) => event + 1)];
  return stops[stops.length - 1] < run.steps ? [...stops, run.steps] : stops;
}

/** Where a request is: the name of its queue, or null. @param {State} state */
const queueOf = (state, name) =>
  [...state.queues].find(([, requests]) => requests.some((request) => state.first(request) === name))?.[0] ?? null;

/** The blocks of some tables: of several groups without the entries that are null.
 * @param {State} state @param {Table[]} tables */
const blocksOf = (state, tables) => {
  const ids = tables.flatMap((table) => table.ids);
  return state.groups.several ? ids.filter((id) => id !== state.nullBlock) : ids;
};

/** Of blocks with other sizes their slots are told. @param {State} state */
const has = (state, name, inSlots = false) => {
  const tables = state.tablesOf(name),
    queue = queueOf(state, name),
    blocks = blocksOf(state, tables).length,
    room = inSlots ? plural(blocks * state.blockSize, "slot") : plural(blocks, "block");
  return [queue, blocks ? `${plural(tables[0].filled, "token")} in ${room}` : ""].filter(Boolean).join(", ") || "gone";
};

/** What differs: the names of sequences, and a few words about each. */
export function differences([a, b]) {
  const names = new Set();
  for (const state of [a, b]) {
    for (const name of state.tables.keys()) names.add(state.groups.owner(name));
    for (const queue of state.queues.values()) for (const request of queue) names.add(state.first(request));
  }
  const of = (state, name) => has(state, name, a.blockSize !== b.blockSize),
    found = [...names].filter((name) => of(a, name) !== of(b, name));
  const words = found.slice(0, LISTED).map((name) => `${nameText(name)}: ${of(a, name)} | ${of(b, name)}`);
  if (found.length > LISTED) words.push(`and ${plural(found.length - LISTED, "more sequence")}`);
  const share = (count) => [a, b].map((s) => `${((100 * count(s)) / (s.usable || 1)).toFixed(1)} %`),
    [held, full] = [share((s) => s.held), share((s) => s.slots.token / s.blockSize)];
  if (held[0] !== held[1]) words.push(`memory held: ${held.join(" | ")}; with tokens: ${full.join(" | ")}`);
  return { names: new Set(found), words };
}

/** Sequences that have the same in both, but in blocks with other numbers. */
function elsewhere([a, b]) {
  const ids = (state, name) => blocksOf(state, state.tablesOf(name)).join(", ");
  return [...new Set([...a.tables.keys()].map((name) => a.groups.owner(name)))]
    .filter((name) => ids(a, name) !== ids(b, name))
    .slice(0, LISTED)
    .map((name) => `${nameText(name)}: blocks ${[a, b].map((state) => short(ids(state, name), 40)).join(" | ")}`);
}

export class Pair {
  constructor(root, players) {
    this.root = root;
    this.players = players;
    this.step = this.timer = 0;
    this.unit = "";
    this.stops = [];
    const runs = players.map(({ run }) => run),
      bySchedule = runs.every(({ schedules }) => schedules.length > 0);
    this.ways = [[bySchedule ? "schedule()" : "step", runs.map((run) => stopsOf(run, bySchedule))]];
    if (runs.every(({ clock }) => clock.length)) this.ways.push(["seconds", stopsByClock(runs)]);
    this.tallies = runs.map(
      (run) =>
        new Tally(
          run,
          runs.some(({ perChunk }) => perChunk > 0),
          new Set(runs.map(({ header }) => header.block_size)).size > 1,
        ),
    );
    this.build();
    document.addEventListener("keydown", (event) => this.key(event));
    this.link(0);
    const first = this.stops.map((stops, i) => stops.findIndex((step) => step >= runs[i].opening));
    this.go(Math.min(...first.map((stop) => Math.max(stop, 0)))); // where one of them has something to show
  }

  /** Step them together by schedule(), or by their clocks, from where the first run stands. */
  link(way) {
    const at = this.stops[0]?.[Math.min(this.step, this.stops[0].length - 1)] ?? 0;
    [this.unit, this.stops] = this.ways[way];
    this.steps = Math.max(...this.stops.map((stops) => stops.length)) - 1;
    this.slider.max = `${this.steps}`;
    this.slider.setAttribute("aria-label", this.unit);
    this.linkButtons.forEach((node, i) => node.setAttribute("aria-pressed", `${i === way}`));
    this.reserve();
    this.go(
      Math.max(
        this.stops[0].findIndex((step) => step >= at),
        0,
      ),
    );
  }

  build() {
    this.slider = html("input", {
      type: "range",
      class: "ps-slider",
      min: 0,
      step: 1,
      input: () => this.go(+this.slider.value),
    });
    this.linkButtons = this.ways.map(([unit], i) =>
      button(`pair-by-${i}`, unit, `step both by ${unit}`, () => this.link(i)),
    );
    this.lines = html("table", { class: "ps-lines" });
    this.place = html("span", { class: "ps-place", "aria-live": "polite" });
    this.playButton = button("pair-play", "\u25b6 Play", "play (Space)", () => this.play());
    this.differ = html("p", { class: "ps-differences", "aria-live": "polite" });
    this.root.prepend(
      html(
        "div",
        { class: "ps-bar" },
        button("pair-first", "\u21e4", "to the beginning (Home)", () => this.go(0)),
        button("pair-prev", "\u2190", "one back (\u2190)", () => this.go(this.step - 1)),
        this.playButton,
        button("pair-next", "\u2192", "one forward (\u2192)", () => this.go(this.step + 1)),
        button("pair-last", "\u21e5", "to the end (End)", () => this.go(this.steps)),
        this.slider,
        this.place,
        html(
          "span",
          { class: "ps-group", role: "group", "aria-label": "together by", hidden: this.ways.length < 2 },
          html("span", { class: "ps-named" }, "together by"),
          ...this.linkButtons,
        ),
      ),
      this.lines,
      this.differ,
    );
  }

  /** Room for the longest differences: a look at some of the steps. */
  reserve() {
    const runs = this.players.map(({ run }) => run),
      all = [...Array(40).keys()].map((k) => Math.round((k * this.steps) / 39)),
      told = all.map(
        (step) =>
          differences(runs.map((run, i) => run.at(this.stops[i][Math.min(step, this.stops[i].length - 1)]))).words,
      ),
      longest = told.sort((a, b) => b.join().length - a.join().length)[0];
    this.differ.replaceChildren(...longest.map((text) => html("span", {}, `\u2260 ${text}`)));
    this.differ.style.minHeight = `${this.differ.offsetHeight}px`;
  }

  /** Move both to one place; a run that is over stays at its end. */
  go(step) {
    this.step = Math.min(Math.max(Math.round(step) || 0, 0), this.steps);
    const at = this.stops.map((stops) => stops[Math.min(this.step, stops.length - 1)]);
    const runs = this.players.map(({ run }) => run);
    const states = runs.map((run, i) => run.at(at[i])),
      others = elsewhere(states);
    const { names, words } = differences(states);
    this.players.forEach((player, i) => {
      player.differ = names;
      player.go(at[i]);
    });
    const { rows, differing } = linesOf(this.tallies, at);
    this.lines.replaceChildren(...rows);
    if (!words.length) words.push(...differing); // else these come with them, and are marked above
    if (!words.length) words.push(...others); // V1's blocks are never V0's: its first is null
    this.words = words;
    this.root.dataset.step = this.slider.value = `${this.step}`;
    this.place.textContent =
      this.unit === "seconds" ? `time ${this.step} of ${this.steps}` : `${this.unit} ${this.step} of ${this.steps}`;
    const same = html("span", {}, "The two do not differ.");
    this.differ.replaceChildren(...(words.length ? words.map((text) => html("span", {}, `\u2260 ${text}`)) : [same]));
  }

  play() {
    const on = !this.timer;
    clearInterval(this.timer);
    this.timer = on ? setInterval(() => (this.step < this.steps ? this.go(this.step + 1) : this.play()), PACE) : 0;
    this.playButton.textContent = on ? "\u25ae\u25ae Pause" : "\u25b6 Play";
    this.playButton.setAttribute("aria-pressed", on);
  }

  key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.target.tagName === "INPUT" && event.target !== this.slider) return;
    if (event.target.closest?.(".ps-cell") || (event.key === " " && event.target.tagName === "BUTTON")) return;
    const moves = {
      ArrowRight: () => this.go(this.step + 1),
      ArrowLeft: () => this.go(this.step - 1),
      PageDown: () => this.go(this.step + 50),
      PageUp: () => this.go(this.step - 50),
      Home: () => this.go(0),
      End: () => this.go(this.steps),
      " ": () => this.play(),
      f: () => fill(this.root),
    };
    if (!Object.hasOwn(moves, event.key)) return;
    event.preventDefault();
    moves[event.key]();
  }
}
