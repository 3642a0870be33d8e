// The buttons by which one moves through a run, or through two, and their slider.

import { button, html } from "./html.js";

/** `names` is put before the names of the actions; the other arguments are told what is pressed. */
export function stepper(names, { go, back, next, play, last }) {
  const put = (name, sign, words, click) => button(names + name, sign, words, click),
    playButton = put("play", "", "play (Space)", play);
  const slider = html("input", { type: "range", class: "ps-slider", min: 0, step: 1, input: () => go(+slider.value) });
  return {
    slider,
    nodes: [
      put("first", "\u21e4", "to the beginning (Home)", () => go(0)),
      put("prev", "\u2190", "one step back (\u2190)", back),
      playButton,
      put("next", "\u2192", "one step forward (\u2192)", next),
      put("last", "\u21e5", "to the end (End)", last),
      slider,
    ],
    playing: (on) => {
      playButton.textContent = on ? "\u25ae\u25ae Pause" : "\u25b6 Play";
      playButton.setAttribute("aria-pressed", `${on}`);
    },
  };
}
