// The keyboard in the picture: from block to block, through the words, and over all that stands beside them.

import { svg } from "./svg.js";
import { follow, wordAt } from "./trace.js";

const WAYS = new Map([
  ["ArrowRight", [1, 0]],
  ["ArrowLeft", [-1, 0]],
  ["ArrowDown", [0, 1]],
  ["ArrowUp", [0, -1]],
]);
const WHAT = "tables, lists and queues";
const SAME = 6; // units between what stands in one row

/** A key on a block that has the focus: Space selects it, Enter its words as well, and then
 * the bytes of a word; whether it was one of these.
 * @param {Player} player */
export function walk(player, key, hit) {
  const {
      state,
      word,
      stage: { cells },
    } = player,
    [dx, dy] = WAYS.get(key) ?? [0, 0];
  if (key === "Enter" && word) {
    player.lens.open(word, true);
    return true;
  }
  if (key === " " || key === "Enter") {
    player.choose(hit);
    if (key === "Enter" && player.selected?.kind === "block") read(player, wordAt(player.state, hit.block, 0));
    return true;
  }
  if (!dx && !dy) return false;
  if (word) read(player, { name: word.name, position: word.position + dx + dy * state.groups.sizeOf(word.name) });
  else cells.walk(hit, dx, dy, () => player.redraw());
  return true;
}

/** Show a word's way to its bytes, and stay with it: arrow keys go on through the text. @param {Player} player */
function read(player, word) {
  const found = word && follow(player.state, word);
  if (!found) return;
  const edge = player.stage.cells.at[found.block]?.edge;
  if (!edge) return;
  edge.focus();
  player.word = word;
  player.hover({ block: found.block, word });
  edge.setAttribute("aria-description", player.panel.detail.textContent);
}

/** A frame that Tab reaches and arrow keys move over sequences, rows of tables, and chips of lists and queues. */
export class Finger {
  /** @param {Player} player */
  constructor(player) {
    this.player = player;
    this.node = svg("rect", { class: "finger", role: "button", tabindex: 0, width: 1, height: 1 });
    this.node.setAttribute("aria-label", WHAT);
  }

  /** What a click reaches below the cells: rows and chips, each with its box. */
  places() {
    const { rect, text } = this.player.stage.under.kinds,
      found = [];
    for (const node of [rect, text].flatMap(({ nodes, shown }) => nodes.slice(0, shown))) {
      if (!node.hit || node.hit.word) continue;
      const { x, y, width, height } = node.getBBox();
      for (const [from, end, hit] of pieces(node.hit, x, x + width)) {
        const key = JSON.stringify(hit),
          same = found.find((one) => one.key === key && Math.abs(one.y - y) < SAME);
        if (!same) found.push({ key, hit, x: from, y, end, low: y + height });
        else [same.x, same.end] = [Math.min(same.x, from), Math.max(same.end, end)];
      }
    }
    return found;
  }

  /** Stay on what was pointed at, where it is now. */
  settle() {
    const all = this.places(),
      near = (one) => Math.abs(one.y - this.at.y) + Math.abs(one.x - this.at.x);
    const same = all.filter(({ key }) => key === this.at?.key).sort((a, b) => near(a) - near(b));
    this.point(same[0] ?? all[0]);
  }

  point(place) {
    if (!place) return;
    this.at = place;
    const { x, y, end, low, hit } = place,
      { player, node } = this;
    for (const [name, value] of Object.entries({ x: x - 2, y: y - 2, width: end - x + 4, height: low - y + 4 })) {
      node.setAttribute(name, value);
    }
    player.word = null;
    player.hover(hit);
    node.setAttribute("aria-label", player.panel.detail.textContent);
  }

  /** Whether a key is one of its own. */
  press(key) {
    const { at, player } = this,
      [dx, dy] = WAYS.get(key) ?? [0, 0];
    if (key === " " || key === "Enter") {
      player.choose(at?.hit ?? null);
      return true;
    }
    if (!at || (!dx && !dy)) return false;
    const isAhead = (one) =>
      dy ? (one.y - at.y) * dy >= SAME : Math.abs(one.y - at.y) < SAME && (one.x - at.x) * dx > 0;
    const far = (one) => 999 * Math.abs(one.y - at.y) * Math.abs(dy) + Math.abs(one.x - at.x);
    this.point(
      this.places()
        .filter(isAhead)
        .sort((a, b) => far(a) - far(b))[0],
    );
    return true;
  }
}

/** [from, end, hit] of each block in a row that is drawn as one; anything else is one piece.
 * @param {Hit} hit @returns {[number, number, Hit][]} */
function pieces(hit, from, end) {
  const { at } = hit;
  if (!at) return [[from, end, hit]];
  /** @type {[number, number, Hit][]} */
  const found = [];
  for (let x = from + 1; x < end; x += 2) {
    const block = at(x);
    if (block == null) continue;
    if (found.at(-1)?.[2].block === block) found[found.length - 1][1] = x + 1;
    else found.push([x - 1, x + 1, { block }]);
  }
  return found;
}
