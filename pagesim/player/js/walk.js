// The keyboard in the picture: from block to block, and through the words.

import { follow, wordAt } from "./trace.js";

const WAYS = new Map([
  ["ArrowRight", [1, 0]],
  ["ArrowLeft", [-1, 0]],
  ["ArrowDown", [0, 1]],
  ["ArrowUp", [0, -1]],
]);

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
  const g = player.stage.cells.at[found.block]?.g;
  if (!g) return;
  g.focus();
  player.word = word;
  player.hover({ block: found.block, word });
  g.setAttribute("aria-label", player.panel.detail.textContent);
}
