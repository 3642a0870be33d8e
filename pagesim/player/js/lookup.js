// The picture of a lookup in several groups: a bar for each kind of them, which its answers shorten.

import { HEAD, LANE, MARGIN, lookupHeight } from "./layout.js";
import { tag } from "./lanes.js";
import { roundsOf } from "./rounds.js";
import { nameText, plural } from "./text.js";

/** The bars after some rounds, over the lower part of the tables' room.
 * @param {Stage} stage @param {PageEvent} event */
export function drawLookup(stage, event, count) {
  const { under: layer, over, layout, run } = stage,
    { x: left, unit } = layout.lanes;
  const rounds = roundsOf(event),
    told = rounds.slice(0, count),
    last = told.at(-1),
    most = rounds[0].asked,
    candidate = last?.found ?? most;
  /** @type {[string, number[]][]} */
  const kinds = [...new Map(rounds.map((round) => [`${round.ids}`, round.ids]))];
  const height = lookupHeight(run) - (run.lookups - kinds.length) * LANE;
  let y = HEAD + layout.tables - height;
  layer.rect(MARGIN - 6, y, layout.left - MARGIN + 10, height - 2, "board");
  const owner = run.groups.owner(event.of ?? ""),
    look = run.look(owner),
    { color } = look,
    title = `${nameText(owner)} asks for ${plural(most, "token")}`;
  stage.swatch(MARGIN, y + 5, 11, 10, "swatch", look, { seq: owner });
  layer.text(MARGIN + 16, y + 14, title, "strong");
  y += 20;
  const top = y,
    wide = (tokens) => tokens * unit;
  kinds.forEach(([key, ids]) => {
    const said = told.findLast((round) => `${round.ids}` === key),
      group = run.groups.list[ids[0]],
      has = said?.found ?? most;
    tag(layer, MARGIN, y + 1, group.letter);
    layer.text(MARGIN + 24, y + 12.5, group.label + (ids.length > 1 ? ` \u00d7${ids.length}` : ""), "");
    if (said) layer.rect(left, y + 2, wide(Math.min(has, candidate)), 13, "", color);
    if (has > candidate) layer.rect(left + wide(candidate), y + 2, wide(has - candidate), 13, "beyond", color);
    let ticks = "";
    for (let at = group.size; at < most; at += group.size) ticks += `M${left + wide(at)} ${y + 2}v13`;
    layer.path(ticks, "ticks");
    layer.path(`M${left} ${y + 2}h${wide(most)}v13h${-wide(most)}z`, "thin");
    if (said && said === last) over.rect(left - 2, y, wide(Math.max(said.asked, 1)) + 4, 17, "frame");
    const text = said ? `${said.found}` : "?";
    const x = said ? left + wide(has) : left + wide(most);
    layer.text(x - 4, y + 12.5, has || !said ? text : "", said ? "end strong halo" : "end muted");
    if (said && !has) layer.text(left + 4, y + 12.5, "0", "strong halo");
    y += LANE;
  });
  const lost = last ? kinds.findIndex(([key]) => key === `${last.ids}`) : -1;
  if (last && last.found < last.asked) {
    const way = `M${left + wide(last.asked)} ${top + lost * LANE + 8.5}H${left + wide(last.found) + 2}`;
    if (wide(last.asked - last.found) > 14) over.path(way, "arrow");
    stage.spots.lost = [left + wide(last.found), top + lost * LANE + 2, wide(last.asked - last.found), 13];
  }
  const at = left + wide(candidate);
  over.path(`M${at} ${top - 2}V${y}`, "candidate");
  const done = count === rounds.length,
    words = done ? `hit: ${plural(candidate, "token")}` : `candidate: ${plural(candidate, "token")}`;
  const near = at + words.length * (layout.narrow ? 8.6 : 8) > layout.left;
  layer.text(near ? at : at - 4, y + 13, words, near ? "end strong" : "strong");
}
