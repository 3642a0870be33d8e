// What two runs have done so far, a line for each: running requests, hits, preemptions, blocks held, the time.

import { html } from "./html.js";
import { nameText, plural, short } from "./text.js";

/** Counts the hits and preemptions of a run up to each of its steps. */
export class Tally {
  constructor(run) {
    let hits = 0, preemptions = 0;
    this.run = run;
    this.sums = [[0, 0]];
    for (const { event, effects } of run.events) {
      for (const effect of effects) if (effect[0] === "hit") hits += effect[4] || 0;
      preemptions += event === "preempt";
      this.sums.push([hits, preemptions]);
    }
  }

  /** The line at a step: a text by the name of its column. */
  at(step) {
    const { run } = this, { header } = run, state = run.at(step), [hits, preemptions] = this.sums[step];
    const held = state.refs.subarray(0, state.numGpu).filter((count) => count > 0).length;
    const usable = state.numGpu - (state.nullBlock !== null && state.refs[state.nullBlock] === 0);
    const queue = (name) => (state.queues.get(name) ?? []).map((request) => nameText(state.first(request)));
    const running = queue("running"), ended = run.schedules.filter((event) => event < step).length;
    const told = new Map([["", typeof header.title === "string" ? header.title : ""]]);
    if (run.schedules.length) told.set("schedule()", `${ended}`);
    if (run.clock.length) told.set("time", `${(run.clock[ended - 1] ?? 0).toFixed(2)} s`);
    if (state.queues.size) {
      told.set("runs", running.length ? `${running.length}: ${short(running.join(" "), 40)}` : "nothing");
      told.set("waits", `${queue("waiting").length}`);
    }
    told.set("hits", header.caching ? plural(hits, "token") : "no caching");
    told.set("preemptions", `${preemptions}`);
    return told.set("blocks held", `${held} of ${usable}`);
  }
}

/** The rows of a table: the names of the columns, then a line for each run; what differs is marked. */
export function linesOf(tallies, steps) {
  const told = tallies.map((tally, i) => tally.at(steps[i]));
  const columns = [...new Set(told.flatMap((line) => [...line.keys()]))];
  const cell = (line, name) => {
    const differs = name && told.some((other) => other.get(name) !== line.get(name)), text = line.get(name) ?? "\u2013";
    if (!name) return html("th", { scope: "row" }, text);
    return html("td", { "data-name": name, class: differs && "ps-differs" }, text);
  };
  return [html("tr", {}, ...columns.map((name) => html("th", { scope: "col" }, name))),
    ...told.map((line) => html("tr", {}, ...columns.map((name) => cell(line, name))))];
}
