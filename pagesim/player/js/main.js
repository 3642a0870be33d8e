/*
 * The player: steps through a timeline file, forwards and backwards. Without a dependency.
 *
 * This is where it starts, with its theme, its memory and its hooks. read.js and model.js know the file,
 * layout.js where things stand, view.js, queues.js and occupancy.js draw, controls.js listens. A page
 * carries all of them as one script: bundle/player.js, made by `make web`.
 *
 * It reads pagesim/timeline/FORMAT.md and nothing else. "Step i" is the state after i events; what
 * event i - 1 changed is outlined. Every text from the file goes through textContent or text nodes:
 * nothing in a file can become markup.
 *
 * Hooks for tests (they change only together with the tests):
 *   .pagesim-player          the root: data-step, data-steps, data-theme (light | dark), data-ready
 *                            (true | error), data-predict (on | off), data-asking (index of the event
 *                            that the open question is about: the step at which the player stands)
 *   [data-action="…"]        first prev play next last goto speed-1 speed-2 speed-3 predict skip none done
 *                            prev-schedule next-schedule (only where a scheduler was recorded)
 *                            search search-prev search-next sel-prev sel-next sel-clear
 *   .ps-slider .ps-goto .ps-search .ps-answer       the four inputs
 *   .ps-caption .ps-changes .ps-detail .ps-feedback .ps-score .ps-message .ps-problem    texts
 *   .ps-stage                the picture; in it [data-block="7"] is the cell of block 7 in its pool
 *   .ps-curve                the occupancy curve; .ps-share its numbers
 *   window.pagesimPlayer     {step, steps, goto(i), state(), timings, header, problem}; state() is in
 *                            the shape of the format's `state`; timings: {read_ms, model_ms, mount_ms,
 *                            draw_ms}, mount_ms from the page's script to the first picture, unpacking included
 */

import { Player } from "./controls.js";
import { html } from "./html.js";
import { Run } from "./model.js";
import { message, parse, unpack } from "./read.js";

/** Where the step is kept: an iframe that was scrolled away begins again. */
function keeper(text) {
  let hash = 0x811c9dc5; // FNV-1a: it names the file, nothing more
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  const key = `pagesim-player:${(hash >>> 0).toString(16)}:${text.length}`;
  return {
    read() {
      try { return JSON.parse(sessionStorage.getItem(key)) ?? {}; } catch { return {}; }
    },
    write(value) {
      try { sessionStorage.setItem(key, JSON.stringify(value)); } catch { /* then it starts from the beginning */ }
    },
  };
}

/** Light or dark, as the notebook around it, or else as the system. Follows both. */
function follow(root) {
  const system = matchMedia("(prefers-color-scheme: dark)");
  let host = null;
  try {
    host = parent === window ? null : parent.document.body;
  } catch { /* another origin */ }
  const update = () => {
    const lab = host?.dataset.jpThemeLight;
    const dark = lab === undefined ? system.matches : lab === "false";
    root.dataset.theme = document.documentElement.dataset.theme = dark ? "dark" : "light";
  };
  system.addEventListener("change", update);
  if (host) {
    new MutationObserver(update).observe(host, { attributes: true, attributeFilter: ["data-jp-theme-light"] });
  }
  update();
}

/** In a notebook the iframe takes the height that the player needs. */
function fit(root) {
  try {
    const frame = window.frameElement;
    if (frame) new ResizeObserver(() => { frame.style.height = `${root.scrollHeight + 4}px`; }).observe(root);
  } catch { /* another origin: it scrolls */ }
}

async function mount(root, text, begun) {
  follow(root);
  root.tabIndex = -1;
  try {
    const file = parse(await unpack(text));
    const read = performance.now() - begun;
    const run = new Run(file);
    const modelled = performance.now() - begun;
    const player = new Player(root, run, keeper(text));
    const timings = { model_ms: modelled - read, read_ms: read, mount_ms: performance.now() - begun };
    window.pagesimPlayer = {
      get step() { return player.step; },
      get steps() { return run.steps; },
      get timings() { return { ...timings, draw_ms: player.drawMs }; },
      goto: (step) => player.go(step),
      state: () => JSON.parse(JSON.stringify(run.at(player.step))),
      header: run.header,
      problem: run.problem,
    };
    root.dataset.ready = "true";
  } catch (error) {
    root.replaceChildren(html("p", { class: "ps-problem", role: "alert" },
      `This timeline cannot be shown: ${message(error)}.`));
    root.dataset.ready = "error";
  }
  fit(root);
}

const data = document.getElementById("pagesim-timeline").content;
const begun = Number(document.currentScript.dataset.begun);
mount(document.querySelector(".pagesim-player"), data.textContent.trim(), begun);
