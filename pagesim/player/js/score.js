// How a run stands at a step, in numbers that are seen first.

import { html } from "./html.js";

/** {running, waiting, written, kept, finished, all}. @param {Run} run */
export function scoreOf(run, step) {
  const { lives } = run,
    [written, internal, reserved] = run.percent(step),
    at = [...lives.lines.keys()].map((name) => lives.queueAt(name, step)),
    running = at.filter((queue) => queue === "running").length;
  return {
    running,
    waiting: at.filter(Boolean).length - running,
    written,
    kept: internal + reserved,
    finished: lives.finished(step),
    all: lives.served.length,
  };
}

/** The same in words; at its end, when that was. @param {Run} run */
export function scoreWords(run, step, end) {
  const { running, waiting, written, kept, finished, all } = scoreOf(run, step),
    bold = (words) => html("b", {}, `${words}`),
    percent = (part) => bold(`${part.toFixed(0)} %`);
  return step === run.steps
    ? [bold(finished === all ? `all ${all} finished` : `${finished} of ${all} finished`), ` at ${end}`]
    : [
        ...[bold(running), " at once \u00b7 "],
        ...(waiting ? [bold(waiting), waiting > 1 ? " wait \u00b7 " : " waits \u00b7 "] : []),
        ...[percent(written), " written"],
        ...(kept >= 0.5 ? [", ", percent(kept), " held and still empty"] : []),
        ...[" \u00b7 ", bold(finished), ` of ${all} finished`],
      ];
}
