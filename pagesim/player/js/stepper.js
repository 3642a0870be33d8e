// How one moves through a run, or through two: the buttons, their slider, and the keys that do the same.

import { button, html } from "./html.js";

const JUMP = 50, // steps of PageUp and PageDown
  PLAY = "\u25b6 Play";

export const isModified = (event) => event.ctrlKey || event.altKey || event.metaKey;

/** `names` is put before the names of the actions; `moves` are told what is pressed. */
export function stepper(names, moves) {
  const { at, go, back, next, play } = moves,
    first = () => go(0),
    last = () => go(Infinity),
    put = (name, sign, words, click) => button(names + name, sign, words, click),
    playButton = put("play", PLAY, "play (Space)", play);
  const slider = html("input", { type: "range", class: "ps-slider", min: 0, step: 1, input: () => go(+slider.value) });
  const keys = {
    ArrowRight: next,
    ArrowLeft: back,
    PageDown: () => go(at() + JUMP),
    PageUp: () => go(at() - JUMP),
    Home: first,
    End: last,
    " ": play,
  };
  return {
    slider,
    nodes: [
      put("first", "\u21e4", "to the beginning (Home)", first),
      put("prev", "\u2190", "one step back (\u2190)", back),
      playButton,
      put("next", "\u2192", "one step forward (\u2192)", next),
      put("last", "\u21e5", "to the end (End)", last),
      slider,
    ],
    playing(on) {
      playButton.textContent = on ? "\u25ae\u25ae Pause" : PLAY;
      playButton.setAttribute("aria-pressed", `${on}`);
    },
    /** Do what a key stands for, unless it is typed into a field or presses a button; `more` keys come first. */
    obey(event, more) {
      const { target, key } = event,
        all = { ...keys, ...more },
        move = all[`${event.shiftKey ? "Shift+" : ""}${key}`] ?? all[key];
      if (!move || isModified(event) || event.defaultPrevented) return;
      if ((target.tagName === "INPUT" && target !== slider) || (key === " " && target.tagName === "BUTTON")) return;
      event.preventDefault();
      event.stopPropagation();
      move();
    },
  };
}
