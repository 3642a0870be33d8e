// Under the picture of one run: when. Its course, the unit of its time, and what the signs say.

import { Axis, inWords, unitsOf } from "./axis.js";
import { Course } from "./course.js";
import { button, html } from "./html.js";
import { scoreWords } from "./score.js";

/** What the signs of the life lines say, as far as there are any. @param {Run[]} runs */
export function signsOf(runs) {
  const lines = runs.flatMap((run) => [...run.lives.lines.values()]),
    crowd = runs.some(({ isCrowd }) => isCrowd) ? " ps-crowd" : "",
    has = (test) => lines.some(test),
    queued = (test) => has(({ spans }) => spans.some(([, , queue]) => test(queue)));
  const kept = runs.some((run) => run.share.some(([, internal, reserved]) => internal + reserved > 0));
  return [
    ["written", "written", true],
    ["kept", "held but empty", kept],
    ["common", "shared by several", runs.some((run) => !run.isCrowd && run.lives.common.length > 1)],
    ["idle", "cached, unused", runs.length > 1 && runs.some(({ header }) => header.caching)],
    ["runs", "runs", lines.length > 0],
    ["waits", "waits", queued((queue) => queue !== "running" && queue !== "swapped")],
    ["away", "swapped out", queued((queue) => queue === "swapped")],
    ["back", "preempted", has(({ preempted }) => preempted.length > 0)],
    ["done", "finished", has(({ ended, lost }) => ended !== null && !lost)],
    ["lost", "left without an output", has(({ lost }) => lost)],
  ]
    .filter(([, , is]) => is)
    .map(([sign, words]) => html("span", {}, html("i", { class: `ps-sign ps-sign-${sign}${crowd}` }), `${words}`));
}

export class When {
  /** @param {Player} player */
  constructor(player, width) {
    const { run } = player;
    this.run = run;
    this.units = unitsOf(run);
    this.course = new Course(run, width, {
      label: "the time in this run",
      go: ({ step }) => player.go(step),
      choose: (name) => player.choose({ seq: name }),
      point: (name) => player.hover(name === undefined ? null : { seq: name }),
    });
    this.buttons = this.units.map((unit, i) =>
      button(`unit-${i}`, unit, `${unit}: the unit of time`, () => this.measure(unit)),
    );
    const choice = html("span", { class: "ps-group", role: "group", "aria-label": "unit of time" }, ...this.buttons);
    choice.hidden = this.units.length < 2;
    this.told = player.panel.told;
    this.node = html(
      "div",
      { class: "ps-when" },
      html("div", { class: "ps-when-head" }, html("span", { class: "ps-signs" }, ...signsOf([run])), choice),
      this.course.node,
    );
    this.measure(this.units[0]);
  }

  measure(unit) {
    this.buttons.forEach((node, i) => node.setAttribute("aria-pressed", `${this.units[i] === unit}`));
    this.unit = unit;
    this.course.measure(new Axis(this.run, unit));
    this.course.draw(this.course.step ?? 0);
  }

  /** @param {Selected | null} selected */
  draw(step, selected) {
    const { course, run } = this,
      { unit, max } = course.axis;
    course.draw(step);
    if (run.header.queues.length) this.told.replaceChildren(...scoreWords(run, step, inWords(unit, max)));
    course.follow(selected?.kind === "seq" ? selected.value : undefined);
  }
}
