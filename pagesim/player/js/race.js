// Two runs of the same requests on the same memory, by one clock: who runs, what is written, what is
// held and still empty, who has finished.

import { Axis, inWords } from "./axis.js";
import { Course } from "./course.js";
import { html } from "./html.js";
import { Pool, gridOf } from "./pool.js";
import { scoreWords } from "./score.js";
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

/** How a run uses its memory, in a sentence. @param {Run} run */
export function manner(run) {
  const { header, groups } = run;
  if (header.lists[0]?.[1] !== "sorted") {
    const what = groups.several ? "Blocks" : `Blocks of ${plural(header.block_size, "token")}`;
    return `${what} are taken as they are needed${header.caching ? ", and kept as a cache when they are freed" : ""}.`;
  }
  return run.schedules.some((event) => run.share[event + 1][2] > 0)
    ? "Each request reserves one contiguous region when it starts."
    : "Slots are taken one by one, as they are needed.";
}

/** Words for where one stands beside the other, and others for where it stands above it. */
const where = (wide, narrow) => [
  html("span", { class: "ps-wide" }, wide),
  html("span", { class: "ps-narrow" }, narrow),
];

export class Race {
  /** `go` is told a place on the common axis. @param {Run[]} runs */
  constructor(runs, go) {
    this.runs = runs;
    this.go = go;
    const titles = runs.map(({ header }, i) => (typeof header.title === "string" ? header.title : ["A", "B"][i]));
    this.sides = runs.map((run, i) => ({
      run,
      title: titles[i],
      score: html("span", { class: "ps-score-line" }),
      ends: html("span", {}),
      body: html("div", {}),
    }));
    this.node = html(
      "section",
      { class: "ps-race", "aria-label": "both runs on one clock" },
      this.sentence(titles),
      html(
        "div",
        { class: "ps-sides" },
        ...this.sides.map(({ title, score, ends, body }) =>
          html(
            "section",
            { class: "ps-side", "aria-label": title },
            html("h2", {}, title, html("small", {}, ...where(" \u00b7 ends at ", " \u00b7 "), ends)),
            score,
            body,
          ),
        ),
      ),
      html("p", { class: "ps-signs" }, ...signsOf(runs)),
    );
    new ResizeObserver(() => this.layOut()).observe(this.node);
  }

  /** What is seen, in one sentence, and how the two differ. */
  sentence(titles) {
    const [a, b] = this.runs,
      [one, other] = [manner(a), manner(b)],
      name = (title, words) => [html("b", {}, title), words],
      count = plural(a.lives.served.length, "request"),
      memory = Math.min(usableOf(a), usableOf(b)).toLocaleString("en");
    return html(
      "h1",
      {},
      `The same ${count} on the same memory, with room for ${memory} tokens. `,
      ...where("Left: ", "Above: "),
      ...name(titles[0], one === other ? ". " : `. ${one} `),
      ...where("Right: ", "Below: "),
      ...name(titles[1], `. ${other}`),
    );
  }

  /** Use this unit of time from now on. */
  measure(unit) {
    this.axes = this.runs.map((run) => new Axis(run, unit));
    this.max = Math.max(...this.axes.map((axis) => axis.max));
    this.sides.forEach(({ ends }, i) => (ends.textContent = inWords(unit, this.axes[i].max)));
    this.courses?.forEach((course, i) => course.measure(this.axes[i], this.max));
  }

  layOut() {
    const all = this.node.clientWidth || 1200,
      width = Math.max(Math.floor(all < BESIDE ? all : (all - 28) / 2), 300);
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
    this.courses.forEach((course, i) => course.measure(this.axes[i], this.max));
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
      this.pools[i].draw(run.at(steps[i]));
      const written = run.percent(steps[i])[0].toFixed(0);
      this.pools[i].node.setAttribute("aria-label", `${title}: ${written} % of the memory is written`);
      this.courses[i].draw(steps[i], place);
      score.parentElement.dataset.over = `${steps[i] === run.steps}`;
      score.replaceChildren(...scoreWords(run, steps[i], inWords(unit, max)));
    });
  }
}
