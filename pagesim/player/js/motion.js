// Motion: a step is played in beats. Each is drawn as what it is, the state before it (or, backwards, after it), with
// ghosts over it; whatever else the reader does ends the step at once.

import { beatsOf } from "./beats.js";
import { isListed } from "./ghosts.js";

const still = matchMedia("(prefers-reduced-motion: reduce)");
/** Milliseconds of a beat and how many there may be: slow, normal and fast, and at a click. */
export const PACES = [
  [480, 9],
  [120, 2],
  [0, 0],
  [320, 9],
];
export const CLICK = 3;
const BOUND = 4.5, // a step with more beats than this takes no longer than one with so many
  LONG = 1.5; // with few, each of them has more time

export class Motion {
  /** @param {Player} player */
  constructor(player) {
    this.player = player;
    /** @type {Beat[]} */
    this.beats = []; // and how it all ends
    /** @type {Animation | null} */
    this.clock = null;
  }

  /** The beats of the step that is shown, and after them its end. @returns {Beat[]} */
  of(most = PACES[CLICK][1]) {
    const { run, from, event, step, stage } = this.player,
      isSeen = event && most && !stage.layout.texture, // there, few blocks have cells
      beats = isSeen ? beatsOf(event, run.at(from), step, most) : [];
    return beats.length ? [...beats, { name: "", part: beats[0].part, done: event, state: run.at(step).copy() }] : [];
  }

  /** Play beats, in reverse if told so; how long it will take. */
  play(beats, pace = CLICK, back = false) {
    this.stop();
    if (still.matches || !beats.length) return 0;
    const count = beats.length - 1;
    this.begin(beats, PACES[pace][0] * Math.min(BOUND / count, LONG), back);
    this.turn(back ? count - 1 : 0);
    return this.each * count;
  }

  begin(beats, each, back) {
    const ends = [beats.at(-1), beats[0]];
    Object.assign(this, { beats, each, back, also: ends.map(({ state }) => this.player.stage.owners(state)) });
  }

  turn(i) {
    if (i < 0 || i > this.beats.length - 2) this.player.redraw();
    else {
      const clock = (this.clock = this.show(i));
      clock.onfinish = () => this.turn(this.back ? i - 1 : i + 1);
    }
  }

  show(i) {
    const { player, beats, back } = this,
      { stage, root } = player,
      [a, b] = [beats[i], beats[i + 1]],
      /** @param {Beat} beat */
      draw = ({ state, done }) => {
        const view = player.view(done);
        view.hideNext ||= a.part.effects.some(isListed); // a block is on its way there
        player.state = stage.draw(player.step, view, state, this.also);
        return stage.spots.keep();
      },
      other = draw(back ? a : b);
    stage.ghosts.keep(a.part);
    const shown = draw(back ? b : a);
    stage.trace(null);
    if (!back) player.panel.reach(b.done);
    root.dataset.beat = `${a.name} ${i + 1}/${beats.length - 1}`;
    return stage.ghosts.play(a, b, back ? other : shown, back ? shown : other, this.each, back);
  }

  /** Hold a beat of the step that is shown, for those who look closely, as tests do: it lasts very long. */
  hold(i, back = false) {
    this.begin(this.of(), 1e6, back);
    this.show(i);
  }

  /** Nothing moves any longer: what is shown next is the step as it ends. */
  stop() {
    this.beats = [];
    this.player.panel.reach(null);
    this.clock?.cancel(); // on a picture that may be gone
    this.player.stage.ghosts.clear();
    delete this.player.root.dataset.beat;
  }

  /** End a step that is being played. */
  finish() {
    if (this.beats.length) this.player.redraw();
  }

  /** @param {Box | null} spot */
  shorten(spot) {
    if (!still.matches) this.player.stage.ghosts.shorten(spot);
  }
}
