// Two runs of the same requests on the same memory, by one clock: who runs, what is written, what is
// held but empty, who has finished.

import { Axis, CALLS, SECONDS, inWords } from "./axis.js";
import { Course } from "./course.js";
import { html } from "./html.js";
import { Pool, gridOf } from "./pool.js";
import { scoreWords } from "./score.js";
import { svg } from "./svg.js";
import { plural } from "./text.js";
import { signsOf } from "./when.js";

const BESIDE = 760; // narrower than this, one stands above the other

/** The slots of a pool. @param {Run} run */
const slotsOf = ({ header }) => header.num_gpu_blocks * header.block_size;
/** The slots that can be held: not V1's null block. @param {Run} run */
const usableOf = (run) => run.keyframes[0].usable * run.header.block_size;

/** Whether two runs are a race: both have a scheduler, the same requests and as much memory. @param {Run[]} runs */
export function isRace([a, b]) {
  const names = ({ lives }) =>
      lives.served
        .map(({ name }) => name)
        .sort()
        .join(),
    waits = ({ header, schedules }) => header.queues.length > 0 && schedules.length > 0;
  return (
    waits(a)
    && waits(b)
    && names(a) === names(b)
    && names(a) !== ""
    && (slotsOf(a) === slotsOf(b) || usableOf(a) === usableOf(b))
  );
}

/** How a run takes memory, what its batches had in them, and what becomes of a freed block. @param {Run} run */
export function manner(run) {
  const { header, groups, schedules, events } = run,
    kinds = (at) => new Set(events[at].scheduled.map((row) => row[3])), // prompts, next tokens, or both
    batch = schedules.some((at) => kinds(at).size > 1)
      ? "Some batches mix prompts and answers."
      : "No batch mixes prompts and answers: one kind waits for the other.";
  if (header.lists[0]?.[1] !== "sorted") {
    const what = groups.several ? "Blocks" : `Blocks of ${plural(header.block_size, "token")}`,
      then = header.caching ? "keeps its tokens, as a cache" : "forgets its tokens";
    return [`${what} are taken as they are needed.`, batch, `A freed block ${then}.`];
  }
  const whole = schedules.some((event) => run.share[event + 1][2] > 0);
  return [whole ? "Each request reserves one region when it starts." : "Slots are taken as needed.", batch, ""];
}

/** When each request has ended, in one unit. @param {Run} run @param {Axis} axis @returns {Map<Name, number>} */
const endsOf = (run, { places }) =>
  new Map(run.lives.served.flatMap(({ name, ended }) => (ended === null ? [] : [[name, places[ended]]])));

/** Who is sooner, and by how much: with all requests or, if both end together, with one on average.
 * @param {Run[]} runs @param {string[]} titles */
export function verdict(runs, titles) {
  const unit = runs.every(({ clock }) => clock.length) ? SECONDS : CALLS,
    axes = runs.map((run) => new Axis(run, unit)),
    ends = runs.map((run, i) => endsOf(run, axes[i])),
    all = runs[0].lives.served.length,
    mean = (times) => [...times.values()].reduce((sum, time) => sum + time, 0) / all;
  if (ends.some(({ size }) => size < all)) return "Not all requests are finished here.";
  const gains = [
    { times: axes.map(({ max }) => max), what: `the last of ${all} is`, how: "" },
    { times: ends.map(mean), what: "a request is", how: ", on average" },
  ];
  for (const { times, what, how } of gains) {
    const sooner = Math.round(100 * (1 - Math.min(...times) / Math.max(...times)));
    if (sooner > 1) return `${titles[Number(times[1] < times[0])]}: ${what} finished ${sooner} % sooner${how}.`;
  }
  return `Neither is faster: all ${all} are finished as soon.`;
}

export class Race {
  /** `go` is told a place on the common axis. @param {Run[]} runs */
  constructor(runs, go) {
    this.runs = runs;
    this.go = go;
    const titles = runs.map(({ header }, i) => (typeof header.title === "string" ? header.title : ["A", "B"][i]));
    const ways = runs.map(manner),
      alike = ways[0][0] === ways[1][0], // else memory is the story, not batches
      caches = runs.some(({ header }) => header.caching);
    this.sides = runs.map((run, i) => ({
      run,
      title: titles[i],
      // What is the same in both is said above them.
      way: html(
        "p",
        { class: "ps-manner" },
        ways[i].filter((words, k) => words !== ways[1 - i][k] && [true, alike, caches][k]).join(" "),
      ),
      score: html("span", { class: "ps-score-line" }),
      ends: html("span", {}),
      body: html("div", {}),
    }));
    const later = (this.later = html("span", {}, "\u2504\u25cb finished later in the other run"));
    this.node = html(
      "section",
      { class: "ps-race", "aria-label": "both runs on one clock" },
      this.sentence(titles, ways),
      html(
        "div",
        { class: "ps-sides" },
        ...this.sides.map(({ title, way, score, ends, body }) =>
          html(
            "section",
            { class: "ps-side", "aria-label": title },
            html("h2", {}, title, html("small", {}, " \u00b7 ends at ", ends)),
            way,
            score,
            body,
          ),
        ),
      ),
      html("p", { class: "ps-signs" }, ...signsOf(runs), later),
    );
    new ResizeObserver(() => this.layOut()).observe(this.node);
  }

  /** Who is sooner, and what is the same in both. @param {string[]} titles @param {string[][]} ways */
  sentence(titles, [[one], [other]]) {
    const { runs } = this,
      count = plural(runs[0].lives.served.length, "request"),
      memory = Math.min(...runs.map(usableOf)).toLocaleString("en"),
      same = `The same ${count} on the same memory, with room for ${memory} tokens. ${one === other ? one : ""}`;
    return html("h1", {}, html("b", {}, verdict(runs, titles)), " ", html("small", {}, same));
  }

  /** Use this unit of time from now on. */
  measure(unit) {
    this.axes = this.runs.map((run) => new Axis(run, unit));
    this.max = Math.max(...this.axes.map((axis) => axis.max));
    this.sides.forEach(({ ends }, i) => (ends.textContent = inWords(unit, this.axes[i].max)));
    if (this.courses) this.drawCourses();
  }

  /** Both courses on one axis, with the time that a request saves beside the other run behind its life line. */
  drawCourses() {
    const ends = this.runs.map((run, i) => endsOf(run, this.axes[i]));
    this.later.hidden = true;
    this.courses.forEach((course, i) => {
      course.measure(this.axes[i], this.max);
      const { left, right, width, below, pitch } = course;
      let lines = "",
        rings = "";
      course.rows.forEach(([{ name }, ...more], row) => {
        const [own, other] = [ends[i], ends[1 - i]].map(
            (of) => left + ((of.get(name) ?? NaN) / this.max) * (width - left - right),
          ),
          y = below + (row + 0.5) * pitch;
        // A row of several requests has no room behind each of them.
        if (more.length || pitch < 8 || !(other - own > 8)) return;
        lines += `M${own} ${y}H${other - 3}`;
        rings += `M${other - 3} ${y}a3 3 0 1 0 6 0a3 3 0 1 0 -6 0`;
      });
      course.sheet.append(svg("path", { d: lines, class: "chunk absent" }), svg("path", { d: rings, class: "chunk" }));
      this.later.hidden &&= !lines;
      // Its pool is far away; above the memory there are words already.
      if (this.isStacked) course.put(width - right, below - 6, "end strong halo", this.sides[i].title);
    });
  }

  layOut() {
    const all = this.node.clientWidth || 1200,
      width = Math.max(Math.floor((this.isStacked = all < BESIDE) ? all : (all - 28) / 2), 300);
    if (width === this.width) return;
    this.width = width;
    const perCell = Math.max(...this.runs.map(({ header }) => header.block_size), 1),
      grid = gridOf(Math.max(...this.runs.map(usableOf)), perCell > 1 ? perCell : 16, width);
    this.pools = this.runs.map((run) => new Pool(run, width, grid));
    this.courses = this.runs.map(
      (run, i) =>
        new Course(run, width, {
          label: `the time, on ${this.sides[i].title}`,
          go: (to) => this.go(to.place),
          choose: () => {},
        }),
    );
    this.sides.forEach(({ body }, i) => body.replaceChildren(this.pools[i].node, this.courses[i].node));
    this.drawCourses();
    if (this.last) this.draw(...this.last);
  }

  /** Show both at their steps; `place` is the time of both. */
  draw(steps, place) {
    /** @type {[number[], number]} */
    this.last = [steps, place];
    if (!this.pools) {
      this.layOut(); // at once: what comes later would move what is below it
      return;
    }
    this.runs.forEach((run, i) => {
      const { score, title } = this.sides[i],
        { unit, max } = this.axes[i];
      const cached = this.pools[i].draw(run.at(steps[i]));
      const written = run.percent(steps[i])[0].toFixed(0);
      this.pools[i].node.setAttribute("aria-label", `${title}: ${written} % of the memory is written`);
      this.courses[i].draw(steps[i], place);
      score.parentElement.dataset.over = `${steps[i] === run.steps}`;
      score.replaceChildren(...scoreWords(run, steps[i], inWords(unit, max), cached));
    });
  }
}
