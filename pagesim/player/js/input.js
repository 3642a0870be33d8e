// What a reader does with the picture: the pointer, a finger and the keyboard.

import { fill } from "./screen.js";
import { isModified } from "./stepper.js";
import { wordAt } from "./trace.js";
import { walk } from "./walk.js";

const SWIPE = 40; // pixels

/** @param {Player} player */
export function listen(player) {
  const {
    panel: { picture },
    root,
  } = player;
  picture.addEventListener("mousedown", (event) => {
    event.preventDefault(); // a click must not move the focus, so that the arrow keys still step
    root.focus({ preventScroll: true });
  });
  picture.addEventListener("click", (event) => player.choose(hitOf(player, event)));
  for (const kind of ["pointerover", "pointermove"]) {
    picture.addEventListener(kind, (event) => player.hover(hitOf(player, event), event));
  }
  picture.addEventListener("pointerleave", (event) => {
    if (event.pointerType !== "touch") player.hover(null); // what a finger has tapped stays
  });
  picture.addEventListener("focusin", (event) => {
    const hit = hitOf(player, event),
      { stage, finger } = player;
    if (event.target === finger.node) finger.settle();
    if (!hit) return;
    if (!("program" in hit)) {
      stage.cells.at[stage.focused]?.edge?.setAttribute("tabindex", -1);
      stage.focused = hit.block ?? 0;
      event.target.setAttribute("tabindex", 0);
    }
    player.word = null;
    player.hover(hit);
    event.target.setAttribute("aria-description", player.panel.detail.textContent);
  });
  picture.addEventListener("keydown", (event) => {
    const { target, shiftKey } = event,
      { finger } = player,
      isCell = target.closest(".ps-cell") !== null;
    if (isModified(event) || shiftKey || (!isCell && target !== finger.node)) return;
    if (!(isCell ? walk(player, event.key, target.hit) : finger.press(event.key))) return;
    event.preventDefault();
    event.stopPropagation();
  });
  listenForSwipes(player, picture);
  if (!player.linked) document.addEventListener("keydown", (event) => key(player, event));
}

/** What is under the pointer: a block, its word, or a sequence. @param {Player} player */
function hitOf({ stage, state }, event) {
  const {
    layout: { width, cell },
    node,
    cells,
  } = stage;
  const hit = event.target?.hit ?? null;
  const box = node.getBoundingClientRect(),
    scale = width / (box.width || 1),
    x = (event.clientX - box.left) * scale;
  if (hit?.at) {
    const block = hit.at(x, (event.clientY - box.top) * scale);
    return block == null ? null : { block };
  }
  if (!hit || hit.word || hit.block === undefined || cell.detail !== 3 || event.type === "focusin") return hit;
  const word = wordAt(state, hit.block, Math.floor((x - cells.at[hit.block].x) / (cell.w / state.sizeOf(hit.block))));
  return word ? { ...hit, word } : hit;
}

/** A swipe to the left is a step forward, to the right a step back. @param {Player} player */
function listenForSwipes(player, node) {
  /** @type {[number, number] | null} */
  let start = null;
  node.addEventListener(
    "touchstart",
    (event) => {
      start = event.touches.length === 1 ? [event.touches[0].clientX, event.touches[0].clientY] : null;
    },
    { passive: true },
  );
  node.addEventListener(
    "touchend",
    (event) => {
      const end = event.changedTouches[0];
      if (!start || !end) return;
      const dx = end.clientX - start[0],
        dy = end.clientY - start[1];
      start = null;
      if (Math.abs(dx) < SWIPE || Math.abs(dx) < 2 * Math.abs(dy)) return;
      if (dx < 0) player.next();
      else player.back();
    },
    { passive: true },
  );
}

/** @param {Player} player  */
function key(player, event) {
  const { panel, root, run } = player,
    byCall = (way) => (run.schedules.length ? () => player.jumpSchedule(way) : undefined);
  if (event.key === "Escape") {
    player.leave();
    root.focus();
  } else if (player.predict.question && /^[0-9]$/.test(event.key) && !isModified(event)) {
    if (event.target.tagName !== "INPUT") player.predict.input.focus(); // the digit goes there
  }
  panel.steps.obey(event, {
    "Shift+ArrowRight": byCall(1),
    "Shift+ArrowLeft": byCall(-1),
    s: panel.slotsButton.hidden ? undefined : () => player.showSlots(!player.slots),
    f: () => fill(root),
  });
}
