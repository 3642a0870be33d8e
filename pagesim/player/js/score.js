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

/** The same in words: the requests, or when they had finished, then the memory. @param {Run} run */
export function scoreWords(run, step, end, cached = 0) {
  const { running, waiting, written, kept, finished, all } = scoreOf(run, step),
    bold = (words) => html("b", {}, `${words}`),
    percent = (part) => bold(`${part.toFixed(0)} %`);
  return [
    html(
      "span",
      {},
      ...(step === run.steps
        ? [bold(finished === all ? `all ${all} finished` : `${finished} of ${all} finished`), ` at ${end}`]
        : [bold(running), " running, ", bold(waiting), " waiting, ", bold(finished), ` of ${all} finished`]),
    ),
    html(
      "span",
      {},
      ...[percent(written), " written"],
      ...(kept >= 0.5 ? [", ", percent(kept), " held but empty"] : []),
      ...(cached >= 0.5 ? [", ", percent(cached), " cached"] : []),
    ),
  ];
}
