// The tables of several groups: for each request a lane per group, all to the same scale of positions.

import { HEAD, LANE, MARGIN, NAME, ROW } from "./layout.js";
import { frame } from "./overlay.js";
import { nameText, plural, short } from "./text.js";

/** The requests that have tables, in order of arrival: [[request, its tables], …]. @param {State} state */
export function requestsOf(state) {
  const found = new Map();
  for (const table of state.tables.values()) {
    const owner = state.groups.owner(table.name);
    found.set(owner, [...(found.get(owner) ?? []), table]);
  }
  return [...found];
}

/** As many requests as there is room for; those of this step are always among them.
 * @param {Stage} stage @param {State} state @param {PageEvent | null} event
 * @param {Changed} changed @param {View} view @param {Set<Name>} wanted */
export function drawLanes(stage, state, event, changed, view, wanted, height) {
  const { layout, run } = stage,
    lines = Math.max(Math.floor((height - 20) / layout.line), 0),
    all = requestsOf(state);
  let shown = all.slice(0, lines);
  if (all.length > lines) {
    const late = all.slice(lines).filter(([owner]) => wanted.has(owner));
    const kept = late.slice(-Math.min(lines, 2));
    shown = [...all.slice(0, lines - kept.length), ...kept];
  }
  let y = HEAD;
  for (const [owner, tables] of shown) {
    const hit = { seq: owner },
      picked = view.selected?.kind === "seq" && view.selected.value === owner ? " picked" : "";
    stage.swatch(MARGIN, y + 4, 11, 10, "swatch", run.look(owner), hit);
    const sign = view.differ.has(owner) ? "\u2260 " : "",
      name = `${sign}${short(nameText(owner), 24)}: ${plural(tables[0].filled, "token")}`;
    stage.under.text(MARGIN + 16, y + 13, name, `strong name${picked}`, hit);
    tables.forEach((table, i) => lane(stage, table, y + NAME + i * LANE, state, event, changed, view));
    y += layout.line;
  }
  const rest = all.length - shown.length;
  const words = rest ? `and ${plural(rest, "more request")}` : all.length ? "" : "no request holds any blocks";
  stage.under.text(MARGIN, y + 14, words, "muted");
}

/** Whether an event changes a table or what is in it. @param {PageEvent | null} event */
export const concerns = (event, name) =>
  event !== null
  && ([...event.tables, ...event.opened].some((row) => row[0] === name)
    || event.effects.some((e) => ["write", "hit"].includes(e[0]) && e[2] === name));

/** A table: a box for each block where its positions are, and a gap for those that are gone.
 * @param {Stage} stage @param {Table} table @param {State} state @param {PageEvent | null} event
 * @param {Changed} changed @param {View} view */
function lane(stage, table, y, state, event, changed, view) {
  const { under: layer, over, run, layout } = stage,
    { x: left, unit, room } = layout.lanes,
    { groups } = run;
  const group = groups.list[groups.of(table.name)],
    owner = groups.owner(table.name),
    { color, pattern } = run.look(owner),
    hit = { seq: owner };
  const faded = view.selected?.kind === "seq" && view.selected.value !== owner ? "dim" : "";
  tag(layer, MARGIN, y + 1, group.letter);
  layer.text(MARGIN + 24, y + 12.5, group.label, "name", hit);
  const end = left + Math.min(room, unit * run.most.span);
  const place = (k) => Math.min(left + k * group.size * unit, end);
  const named = event?.effects.filter((e) => e[0] === "null" && e[2] === table.name).map((e) => e[3]) ?? [];
  const concerned = concerns(event, table.name);
  const framed = [];
  let fills = "",
    thin = "",
    thick = "",
    gone = -1; // the first of the entries of a gap
  table.ids.forEach((id, k) => {
    const x = place(k),
      width = place(k + 1) - x;
    if (named.includes(k)) frame(framed, x, x + width, 1.5);
    if (id === state.nullBlock) {
      if (gone < 0) gone = k;
      if (table.ids[k + 1] !== id) {
        gap(stage, place(gone), x + width, y, state, group, table.ids[k + 1]);
        gone = -1;
      }
      return;
    }
    const box = /** @type {Box} */ ([x, y + 1, width, 15]);
    stage.spots.entries.set(id, box);
    stage.spots.of.set(`${table.name} ${k}`, box);
    const here = group.state
      ? +(state.stateIn(id) !== undefined)
      : Math.min(Math.max(table.filled / group.size - k, 0), 1);
    if (here) fills += `M${x} ${y + 1}h${(width * here).toFixed(2)}v15H${x}z`;
    const edge = `M${x} ${y + 1}h${width}v15h${-width}z`;
    if (state.refs[id] > 1) thick += edge;
    else thin += edge;
    const alone = k === 0 || table.ids[k - 1] !== state.nullBlock, // no gap before it says what it is
      after = alone && here && group.state ? `${id}: after ${state.stateIn(id)}` : `${id}`,
      text = layout.fits(after, width - 3) === "" ? after : `${id}`;
    if (layout.fits(text, width - 1) === "") layer.text(x + width / 2, y + 12.5, text, "mid halo");
    if (changed.has(id) && concerned) frame(framed, x, x + width, 1.5);
    if (view.selected?.kind === "block" && view.selected.value === id) over.rect(...box, "chosen");
  });
  layer.path(fills, faded, "none", color);
  if (pattern) layer.path(fills, faded, "none", pattern);
  layer.path(thin, "thin");
  layer.path(thick, "thick");
  for (const [from, to] of framed) over.rect(from - 2, y - 1, to - from + 4, 19, "frame");
  const at = (x) => {
    const id = table.ids[Math.floor((x - left) / (group.size * unit))];
    return id === state.nullBlock ? null : id;
  };
  layer.rect(left, y, place(table.ids.length) - left, ROW, "", "transparent", { at });
  if (!table.ids.length) layer.text(left + 4, y + 12.5, "no blocks", "muted");
}

/** Entries without a block, as an empty stretch that says why.
 * @param {Stage} stage @param {State} state */
function gap({ under: layer, layout }, x, end, y, state, group, next) {
  const after = group.state && next !== undefined ? state.stateIn(next) : undefined;
  const words = group.state
    ? [after ? `state after ${after} tokens` : "", after ? `after ${after}` : "", "not kept"]
    : ["behind the window", "behind"];
  const text = words.find((one) => one && layout.fits(one, end - x - 6) === "");
  layer.path(`M${x} ${y + 16}H${end}`, "lead");
  if (text) layer.text(group.state ? end - 4 : (x + end) / 2, y + 12.5, text, `${group.state ? "end" : "mid"} muted`);
}

/** The letter of a group in a small frame: the same beside a lane, on a block and in the legend.
 * @param {Layer} layer */
export function tag(layer, x, y, letter) {
  layer.ground(x, y + 1, 19, 13, "tag");
  layer.text(x + 9.5, y + 11.5, letter, "mid strong");
}
