// Two runs side by side, stepped together: by calls of schedule() where both have them, else by
// events, or by their clocks. What differs is marked in both pictures and listed above them.

import { CALLS, EVENTS, SECONDS, stopsOf } from "./axis.js";
import { button, html } from "./html.js";
import { CLICK, PACES } from "./motion.js";
import { Race, isRace } from "./race.js";
import { fill } from "./screen.js";
import { stepper } from "./stepper.js";
import { Tally, linesOf } from "./tally.js";
import { nameText, plural, short } from "./text.js";

const PACE = 700, // milliseconds per step
  BRISK = 80, // where there are many: then a run plays in about TICKS of these
  TICKS = 160;
const LISTED = 6; // differences listed in words
const MANY = 64; // blocks of a pool

/** Whether memory is handed out in stretches. @param {Run} run */
const isInOnePiece = ({ header }) => header.lists[0]?.[1] === "sorted";

/** A race is seen first, alone, where there are no blocks to compare, or too many. @param {Run[]} runs */
export const isFolded = (runs) =>
  isRace(runs) && runs.some((run) => isInOnePiece(run) || run.header.num_gpu_blocks > MANY);

/** Where each run is at the times of both clocks: its last schedule() that has ended by then. */
function stopsByClock(runs) {
  const clocks = runs.map(({ clock }) => clock),
    times = [...new Set(clocks.flat())].sort((a, b) => a - b);
  return {
    places: [0, ...times, times.at(-1) ?? 0],
    stops: runs.map(({ schedules, steps }, i) => {
      let ended = 0;
      const at = times.map((time) => {
        while (clocks[i][ended] <= time) ended += 1;
        return ended === schedules.length ? steps : ended ? schedules[ended - 1] + 1 : 0;
      });
      return [0, ...at, steps];
    }),
  };
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

/** What differs: the names of sequences, and rows of what it is and how it is in each. @param {State[]} states */
export function differences([a, b]) {
  const names = new Set();
  for (const state of [a, b]) {
    for (const name of state.tables.keys()) names.add(state.groups.owner(name));
    for (const queue of state.queues.values()) for (const request of queue) names.add(state.first(request));
  }
  const of = (state, name) => has(state, name, a.blockSize !== b.blockSize),
    found = [...names].filter((name) => of(a, name) !== of(b, name));
  const rows = found.slice(0, LISTED).map((name) => [nameText(name), of(a, name), of(b, name)]);
  if (found.length > LISTED) rows.push([`and ${plural(found.length - LISTED, "more sequence")}`]);
  const share = (count) => [a, b].map((s) => `${((100 * count(s)) / (s.usable || 1)).toFixed(1)} %`),
    held = share((s) => s.held);
  if (held[0] !== held[1])
    rows.push(["memory held", ...held], ["with tokens", ...share((s) => s.slots.token / s.blockSize)]);
  return { names: new Set(found), rows };
}

/** Sequences that have the same in both, but in blocks with other numbers. @param {State[]} states */
function elsewhere([a, b]) {
  const ids = (state, name) => blocksOf(state, state.tablesOf(name)).join(", ");
  return [...new Set([...a.tables.keys()].map((name) => a.groups.owner(name)))]
    .filter((name) => ids(a, name) !== ids(b, name))
    .slice(0, LISTED)
    .map((name) => [nameText(name), ...[a, b].map((state) => `blocks ${short(ids(state, name), 40)}`)]);
}

export class Pair {
  /** Without players it is folded: `draw` makes them when a reader unfolds it.
   * @param {Run[]} runs @param {any[]} players */
  constructor(root, runs, players, draw) {
    this.root = root;
    this.runs = runs;
    this.players = players;
    this.makePlayers = draw;
    this.folded = players.length === 0;
    this.step = this.timer = 0;
    this.unit = "";
    this.stops = [];
    const bySchedule = runs.every(({ schedules }) => schedules.length > 0);
    const each = runs.map((run) => stopsOf(run, bySchedule ? CALLS : EVENTS)),
      places = [...Array(Math.max(...each.map((all) => all.length))).keys()];
    this.ways = [{ name: bySchedule ? CALLS : "step", stops: each, places }];
    if (runs.every(({ clock }) => clock.length)) this.ways.push({ name: SECONDS, ...stopsByClock(runs) });
    this.race = isRace(runs) ? new Race(runs, (place) => this.seek(place)) : null;
    this.tallies = runs.map(
      (run) =>
        new Tally(
          run,
          runs.some(({ perChunk }) => perChunk > 0),
          new Set(runs.map(({ header }) => header.block_size)).size > 1,
        ),
    );
    this.buttons = stepper("pair-", {
      at: () => this.step,
      go: (step) => this.go(step),
      back: () => this.go(this.step - 1),
      next: () => this.go(this.step + 1),
      play: () => this.play(),
    });
    this.toScale();
    this.build();
    document.addEventListener("keydown", (event) =>
      this.buttons.obey(event, {
        Escape: () => this.players.forEach((player) => player.leave()),
        f: () => fill(this.root),
      }),
    );
    this.link(this.race ? this.ways.length - 1 : 0);
    const first = this.stops.map((stops, i) => stops.findIndex((step) => step >= runs[i].opening));
    this.go(Math.min(...first.map((stop) => Math.max(stop, 0)))); // where one of them has something to show
  }

  /** Draw blocks of one size as large on both sides: each picture has room for what either of them needs. */
  toScale() {
    const { runs } = this,
      kinds = runs.map((run) => [run.header.block_size, isInOnePiece(run), run.perChunk].join());
    if (kinds[0] !== kinds[1] || runs.some(({ groups }) => groups.several)) return;
    this.players.forEach((player, i) => {
      player.beside = runs[1 - i];
      player.layOut();
    });
  }

  /** Step them together by schedule(), or by their clocks, from where the first run stands. */
  link(way) {
    const [before] = this.stops,
      at = before?.[Math.min(this.step, before.length - 1)];
    ({ name: this.unit, stops: this.stops, places: this.places } = this.ways[way]);
    this.race?.measure(this.unit);
    this.steps = Math.max(...this.stops.map((stops) => stops.length)) - 1;
    this.slider.max = `${this.steps}`;
    this.slider.setAttribute("aria-label", this.unit);
    this.linkButtons.forEach((node, i) => node.setAttribute("aria-pressed", `${i === way}`));
    this.reserve();
    const here = this.stops[0].findIndex((step) => step >= at);
    if (before) this.go(Math.max(here, 0));
  }

  build() {
    this.slider = this.buttons.slider;
    this.linkButtons = this.ways.map(({ name }, i) =>
      button(`pair-by-${i}`, name, `${name}: step both by it`, () => this.link(i)),
    );
    this.fold = button("pair-fold", "Block by block", "Block by block: what each run does to its blocks", () =>
      this.unfold(!this.folded),
    );
    this.fold.hidden = !this.race;
    this.lines = html("table", { class: "ps-lines" });
    this.place = html("span", { class: "ps-place" });
    this.heard = html("p", { class: "ps-heard" });
    this.differ = html("div", { class: "ps-differences" });
    this.lines.hidden = this.differ.hidden = this.runs.every((run) => run.programs.length > 0);
    if (this.race) this.root.dataset.race = "true";
    this.root.prepend(
      ...(this.race ? [this.race.node] : []),
      html(
        "div",
        { class: "ps-bar" },
        ...this.buttons.nodes,
        this.place,
        html(
          "span",
          { class: "ps-group", role: "group", "aria-label": "together by", hidden: this.ways.length < 2 },
          html("span", { class: "ps-named" }, "together by"),
          ...this.linkButtons,
        ),
        this.fold,
      ),
      this.lines,
      this.differ,
      this.heard,
    );
    this.playing(false);
    this.unfold(this.folded);
  }

  /** While they play, nothing is read aloud. */
  playing(on) {
    this.buttons.playing(on);
    this.heard.setAttribute("aria-live", on ? "off" : "polite");
  }

  /** Show or hide the two players. */
  unfold(folded) {
    this.folded = folded;
    this.root.dataset.folded = `${folded}`;
    this.fold.setAttribute("aria-expanded", `${!folded}`);
    if (folded || !this.stops.length) return;
    if (!this.players.length) {
      this.players = this.makePlayers();
      this.toScale();
    }
    this.reserve();
    this.go(this.step);
  }

  /** Where both have come at a place on the axis of the race. */
  seek(place) {
    const after = this.places.findIndex((one) => one > place + 1e-9);
    this.go((after < 0 ? this.places.length : after) - 1);
  }

  /** Room for the most differences: a look at some of the steps. */
  reserve() {
    if (this.folded) return;
    const { runs } = this,
      all = [...Array(40).keys()].map((k) => Math.round((k * this.steps) / 39)),
      told = all.map(
        (step) =>
          differences(runs.map((run, i) => run.at(this.stops[i][Math.min(step, this.stops[i].length - 1)]))).rows,
      );
    this.tell(told.sort((a, b) => b.length - a.length)[0]);
    this.differ.style.minHeight = `${this.differ.offsetHeight}px`;
  }

  /** A row for each difference. @param {string[][]} rows */
  tell(rows) {
    const titles = this.players.map(({ run }, i) => html("th", { scope: "col" }, `${run.header.title ?? "AB"[i]}`)),
      table = html("table", {}, html("tr", {}, html("td"), ...titles));
    for (const [what, ...both] of rows) {
      const name = html("th", { scope: "row" }, html("b", {}, "\u2260"), ` ${what}`);
      table.append(html("tr", {}, name, ...both.map((text) => html("td", {}, text))));
    }
    this.differ.replaceChildren(rows.length ? table : "The two do not differ.");
  }

  /** Move both to one place; a run that is over stays at its end. */
  go(step) {
    const next = step === this.step + 1;
    this.step = Math.min(Math.max(Math.round(step) || 0, 0), this.steps);
    const at = this.stops.map((stops) => stops[Math.min(this.step, stops.length - 1)]);
    this.race?.draw(at, this.places[this.step]);
    this.root.dataset.step = this.slider.value = `${this.step}`;
    const [here, end] = [this.step, this.steps].map((stop) => this.places[stop].toFixed(2));
    this.place.textContent =
      this.unit === SECONDS ? `${here} s of ${end} s` : `${this.unit} ${this.step} of ${this.steps}`;
    this.slider.setAttribute("aria-valuetext", this.place.textContent);
    this.words = [];
    if (!this.folded) this.compare(at, next);
    const said = this.race
      ? this.race.sides.map(({ title, score }) => `${title}: ${score.textContent}`)
      : this.players.map(({ panel, run }) => `${run.header.title ?? ""}: ${panel.caption.textContent}`);
    this.heard.textContent = [this.place.textContent, ...said, ...this.words].join(". ");
  }

  /** Show both players at their steps, and what differs there. */
  compare(at, next) {
    const states = this.runs.map((run, i) => run.at(at[i])),
      others = elsewhere(states);
    const { names, rows } = differences(states);
    this.players.forEach((player, i) => {
      player.differ = names;
      player.go(at[i]);
      if (FILM && next) player.stage.kernel?.play(PACES[CLICK][0]);
    });
    const lines = linesOf(this.tallies, at);
    this.lines.replaceChildren(...lines.rows);
    if (!rows.length) rows.push(...lines.differing); // else these come with them, and are marked above
    if (!rows.length) rows.push(...others); // V1's blocks are never V0's: its first is null
    this.words = rows.map(([what, ...both]) => [what, both.join(" | ")].filter(Boolean).join(": "));
    this.tell(rows);
  }

  play() {
    const on = !this.timer;
    clearInterval(this.timer);
    const { steps, places } = this,
      brisk = this.race !== null && steps > 60;
    if (on && this.step >= steps) this.go(0);
    let place = places[this.step];
    const tick = () => {
      if (this.step >= steps) this.play();
      else if (!brisk) this.go(this.step + 1);
      else {
        place = Math.max(place + places[steps] / TICKS, places[this.step + 1]);
        this.seek(place);
      }
    };
    this.timer = on ? setInterval(tick, brisk ? BRISK : PACE) : 0;
    this.playing(on);
  }
}
