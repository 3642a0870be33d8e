// The scheduler's queues: the requests that wait, run, or were swapped out.

import { drawJobs } from "./copies.js";
import { waitsFor } from "./jobs.js";
import { LABEL, MARGIN, QUEUE } from "./layout.js";
import { nameText, requestText, short } from "./text.js";

/** The changes of the queues in an event, as a list. @param {PageEvent | null} event */
export const movesOf = (event) => event?.queues ?? [];

/** The queues as rows of chips, front first; a request that computes has a number of tokens.
 * @param {Stage} stage @param {State} state @param {PageEvent | null} event @param {View} view */
export function drawQueues(stage, state, event, view) {
  const { under, over, run, layout } = stage,
    { rightX: begin, queuesY: top } = layout,
    left = begin + LABEL;
  const entered = new Set(
    movesOf(event)
      .filter(([what]) => what === "enter")
      .map((move) => `${move[1]} ${move[2]}`),
  );
  const tokens = new Map((event?.scheduled ?? []).map((row) => [row[0], row[2]]));
  const brief = run.most.queued > 10; // many: sequences only; the selected one is shown with its request
  inOrder([...state.queues]).forEach(([key, names], row) => {
    const y = top + row * QUEUE,
      [, begins, rest] = key.length > 12 ? (/^(.{1,11}_)(.+)$/.exec(key) ?? []) : []; // a long name takes two lines
    if (rest) under.text(begin, y + 5, begins, "strong");
    under.text(begin, y + (rest ? 17 : 12), rest ?? key, "strong");
    if (names.length > 1) under.text(left - 8, y + (rest ? 17 : 12), `${names.length}`, "end muted");
    if (!names.length) under.text(left, y + 12, "empty", "muted");
    let x = left,
      i = 0;
    for (; i < names.length; i++) {
      const first = state.first(names[i]),
        hit = { seq: first };
      const computes = tokens.has(names[i]);
      const name = brief ? nameText(first) : requestText(names[i], first);
      const sign = view.differ.has(first) ? "\u2260 " : "",
        again = state.preempted.has(names[i]) ? " \u21ba" : "",
        why = waitsFor(state, names[i], brief);
      const text = sign + short(name, 18) + again + (computes ? ` +${tokens.get(names[i])}` : why && ` ${why}`);
      const width = text.length * (computes ? 7.5 : 6.7) + 20,
        more = i + 1 < names.length ? 56 : 0;
      stage.spots.chips.set(names[i], [x, y, width, 16]);
      if (x + width > layout.width - MARGIN - more) break;
      stage.swatch(x, y, 11, 16, "", run.look(first), hit);
      if (state.isAway(first)) under.rect(x, y, 11, 16, "", "url(#ps-hatch)", hit);
      under.rect(x, y, width, 16, i ? "thin" : "thick", "transparent", hit);
      under.text(x + 15, y + 12, text, computes ? "strong" : "", hit);
      if (entered.has(`${key} ${i}`)) over.rect(x - 2, y - 2, width + 4, 20, "frame");
      if (view.selected?.kind === "seq" && view.selected.value === first) under.rect(x, y, width, 16, "chosen");
      x += width + 5;
    }
    if (i === names.length) return;
    under.text(x + 3, y + 12, `+${names.length - i}`, "muted");
    const hidden = [...Array(names.length - i).keys()].some((k) => entered.has(`${key} ${i + k}`));
    if (hidden) over.rect(x - 1, y - 2, 46, 20, "frame");
  });
  const ends = top + state.queues.size * QUEUE;
  if (run.updates) drawFlight(stage, state, event, ends);
  if (run.perChunk) drawJobs(stage, state, event, ends + Number(run.updates) * QUEUE);
}

/** The queues as a request passes through them: who waits with blocks stands between waiting and running. */
function inOrder(queues) {
  const [first, ...others] = queues,
    holding = others.filter(([key]) => key === "kv_holding_waiting");
  return holding.length ? [first, ...holding, ...others.filter((one) => !holding.includes(one))] : queues;
}

/** Whether a step in flight computes for nothing: its request has left. @param {State} state */
export function isWasted(state, request) {
  return ![...state.queues.values()].some((names) => names.includes(request));
}

/** The steps whose output is not known yet: who computes how many tokens.
 * @param {Stage} stage @param {State} state @param {PageEvent | null} event */
function drawFlight(stage, state, event, y) {
  const { under, over, run, layout } = stage;
  under.text(layout.rightX, y + 12, "in flight", "strong");
  let x = layout.rightX + LABEL;
  if (!state.flight.length) under.text(x, y + 12, "nothing", "muted");
  state.flight.forEach(({ step, rows }, i) => {
    const em = layout.narrow ? 7.6 : 6.9,
      name = `step ${step}`,
      left = x;
    const end = left + (layout.width - MARGIN - left) / (state.flight.length - i) - 8;
    under.text(x + 5, y + 12, name, "strong");
    x += name.length * em + 14;
    let shown = 0;
    for (const [request, first, tokens] of rows) {
      const text = isWasted(state, request) ? "\u2717" : `+${tokens}`,
        width = 14 + text.length * em + 6;
      if (x + width > end - (shown + 1 < rows.length ? 34 : 0)) break;
      stage.swatch(x, y + 2.5, 11, 11, "", run.look(first ?? request), { seq: run.groups.owner(first ?? request) });
      under.text(x + 14, y + 12, text, "");
      x += width;
      shown += 1;
    }
    if (shown < rows.length) under.text(x, y + 12, `+${rows.length - shown}`, "muted");
    if (shown < rows.length) x += 30;
    under.rect(left, y, x - left, 16, "thin", "transparent");
    if (event?.event === "schedule" && event.step === step) over.rect(left - 2, y - 2, x - left + 4, 20, "frame");
    x += 8;
  });
}

/** How an event changes the queues, in words. @param {PageEvent | null} event */
export function wayOf(event) {
  const queuesOf = (what) => [
    ...new Set(
      movesOf(event)
        .filter((move) => move[0] === what)
        .map((move) => move[1]),
    ),
  ];
  const from = queuesOf("leave").join(", "),
    to = queuesOf("enter").join(", ");
  if (!from && !to) return "";
  if (from === to) return `\u21c5 ${from}: reordered`;
  return `\u21c5 ${from || "new"} \u2192 ${to || "gone"}`;
}
