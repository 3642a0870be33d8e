// What two runs have done so far, a line for each: running requests, hits, preemptions, blocks held, the time.

import { html } from "./html.js";
import { nameText, plural, short } from "./text.js";

/** Counts the hits and preemptions of a run up to each of its steps. */
export class Tally {
  /** @param {Run} run */
  constructor(run, copies = false, inSlots = false) {
    let hits = 0,
      preemptions = 0,
      out = 0,
      back = 0;
    this.run = run;
    this.inSlots = inSlots;
    this.unit = inSlots ? run.header.block_size : 1; // beside blocks of another size slots are counted
    this.copies = copies; // whether to tell how many blocks went to another pool and came back
    this.sums = [[0, 0, 0, 0]];
    for (const { event, effects } of run.events) {
      for (const [kind, a, b, , more] of effects) {
        if (kind === "hit") hits += more || 0;
        if (kind === "move") [out, back] = a < b ? [out + 1, back] : [out, back + 1];
        if (kind === "begin") [out, back] = b === "store" ? [out + more.length, back] : [out, back + more.length];
      }
      preemptions += Number(event === "preempt");
      this.sums.push([hits, preemptions, out, back]);
    }
  }

  /** The line at a step: a text by the name of its column. */
  at(step) {
    const { run } = this,
      { header } = run,
      state = run.at(step),
      [hits, preemptions, out, back] = this.sums[step];
    const queue = (name) => (state.queues.get(name) ?? []).map((request) => nameText(state.first(request)));
    const running = queue("running"),
      ended = run.schedules.filter((event) => event < step).length;
    const line = new Map([["", typeof header.title === "string" ? header.title : ""]]);
    if (run.schedules.length) line.set("schedule()", `${ended}`);
    if (run.clock.length) line.set("time", `${(run.clock[ended - 1] ?? 0).toFixed(2)} s`);
    if (state.queues.size) {
      line.set("runs", running.length ? `${running.length}: ${short(running.join(" "), 40)}` : "nothing");
      line.set("waits", `${queue("waiting").length + queue("kv_holding_waiting").length}`);
    }
    line.set("hits", header.caching ? plural(hits, "token") : "no caching");
    line.set("preemptions", `${preemptions}`);
    if (this.copies) line.set("GPU \u2192 CPU", plural(out, "block")).set("CPU \u2192 GPU", plural(back, "block"));
    const held = [state.held, state.usable].map((count) => count * this.unit).join(" of ");
    return line.set(this.inSlots ? "slots held" : "blocks held", held);
  }
}

/** {rows, differing}: the names of the columns and a line for each run, what differs marked; and that alone. */
export function linesOf(tallies, steps) {
  const lines = tallies.map((tally, i) => tally.at(steps[i]));
  const columns = [...new Set(lines.flatMap((line) => [...line.keys()]))];
  const text = (line, name) => line.get(name) ?? "\u2013";
  const differing = columns.filter((name) => name && new Set(lines.map((line) => text(line, name))).size > 1);
  const cell = (line, name) => {
    if (!name) return html("th", { scope: "row" }, text(line, name));
    return html("td", { "data-name": name, class: differing.includes(name) && "ps-differs" }, text(line, name));
  };
  const rows = [
    html("tr", {}, ...columns.map((name) => (name ? html("th", { scope: "col" }, name) : html("td")))),
    ...lines.map((line) => html("tr", {}, ...columns.map((name) => cell(line, name)))),
  ];
  return { rows, differing: differing.map((name) => [name, ...lines.map((line) => text(line, name))]) };
}
