// Where the player is shown: a wide page, a phone, a projector; and the address of a step.

import { button } from "./html.js";
import { NARROW, WIDE } from "./layout.js";
import { isCount } from "./read.js";
import { nameText } from "./text.js";

/** The width of the picture in units: as many as pixels, so that words stay readable, but not below a phone's. */
export const unitsFor = ({ clientWidth: width }) => Math.min(Math.max((width || WIDE) - (width % 20), NARROW), WIDE);

/** When a phone is turned or a window resized, the picture is laid out again. @param {Player} player */
export function watchWidth(player) {
  new ResizeObserver(() => {
    if (unitsFor(player.root) !== player.stage.layout.width) player.layOut();
  }).observe(player.root);
}

/** The button for a projector: full screen, type twice as large, the caption as a subtitle. */
export function fullScreenButton(root) {
  const toggle = () => (document.fullscreenElement ? document.exitFullscreen() : root.requestFullscreen());
  const node = button("fullscreen", "Full screen", "for a projector (f)", () => toggle()?.catch?.(() => {}));
  node.hidden = !document.fullscreenEnabled;
  return node;
}

/** What `#step=14&follow=s1` asks for: {step, follow}, each null if missing. @param {Run} run */
export function fromAddress(run) {
  const params = new URLSearchParams(location.hash.slice(1));
  const step = params.get("step"),
    follow = params.get("follow");
  const block = /^block(\d+)$/.exec(follow ?? "");
  const name = [...run.places.keys()].find((one) => `${one}` === follow || `s${one}` === follow);
  return {
    step: step !== null && isCount(+step) ? +step : null,
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
