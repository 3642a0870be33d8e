// Where the player is shown: a wide page, a phone, a projector; and the address of a step.

import { button } from "./html.js";
import { NARROW, WIDE } from "./layout.js";
import { isCount } from "./read.js";
import { nameText } from "./text.js";

const FAR = 1230, // from here on a page is drawn larger than it is planned
  SIDES = 28; // of the player's box

/** The width of the picture in units: no more than pixels, so that words stay readable, but not below a phone's. */
export function unitsFor({ clientWidth }) {
  const room = (clientWidth || FAR + SIDES) - SIDES,
    units = Math.max(room - (room % 20), NARROW);
  return room >= FAR ? WIDE : units === WIDE ? WIDE - 20 : units;
}

/** When a phone is turned or a window resized, the picture is laid out again. @param {Player} player */
export function watchWidth(player) {
  new ResizeObserver(() => {
    if (unitsFor(player.root) !== player.stage.layout.width) player.layOut();
  }).observe(player.root);
}

/** Fill the screen, or no longer. */
export const fill = (root) =>
  (document.fullscreenElement ? document.exitFullscreen() : root.requestFullscreen())?.catch?.(() => {});

/** The button for a projector: full screen, type twice as large, the caption as a subtitle. */
export function fullScreenButton(root) {
  const node = button("fullscreen", "Full screen", "for a projector (f)", () => fill(root));
  node.hidden = !document.fullscreenEnabled;
  return node;
}

/** What `#step=14&follow=s1&word=7` asks for: {step, follow, word}, each null if missing. @param {Run} run */
export function fromAddress(run) {
  const params = new URLSearchParams(location.hash.slice(1)),
    follow = params.get("follow"),
    count = (key) => {
      const number = +(params.get(key) || NaN);
      return isCount(number) ? number : null;
    };
  const block = /^block(\d+)$/.exec(follow ?? "");
  const name = [...run.places.keys()].find((one) => `${one}` === follow || `s${one}` === follow);
  return {
    step: count("step"),
    word: count("word"),
    follow:
      name !== undefined
        ? { kind: "seq", value: name }
        : block && +block[1] < run.at(0).total
          ? { kind: "block", value: +block[1] }
          : null,
  };
}

/** The address of what is shown now; a page has it in its URL, an iframe does not. @param {Selected | null} selected */
export function toAddress(step, selected) {
  if (window !== parent || location.protocol === "about:") return;
  const { kind, value } = selected ?? {};
  const who = kind === "block" ? `block${value}` : kind ? encodeURIComponent(nameText(value)) : "";
  try {
    history.replaceState(null, "", `#step=${step}${who && `&follow=${who}`}`);
  } catch {
    /* too often, or not allowed */
  }
}
