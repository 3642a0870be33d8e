/*
 * The player: steps through a timeline file, forwards and backwards, without dependencies.
 *
 * It starts here, with its theme, its memory and its hooks. read.js, groups.js, state.js, effects.js,
 * jobs.js, rounds.js, lives.js, axis.js and model.js understand the file, layout.js places things, view.js,
 * queues.js, score.js, course.js and when.js draw (of several groups lanes.js and lookup.js, of a second tier
 * copies.js, of a kernel that reads programs.js and kernel.js, of many sequences crowd.js says whose colours are seen);
 * beats.js, motion.js and ghosts.js show a step as it happens, and
 * controls.js knows what is shown; panel.js and stepper.js are what stands around the picture, input.js and walk.js
 * what a reader does with it. trace.js, lens.js, stations.js and bytes.js lead from a word to its bytes. A page
 * contains all of them as one script: bundle/player.txt, packed by `make web`.
 *
 * It reads pagesim/timeline/FORMAT.md and nothing else. "Step i" is the state after i events; what
 * event i - 1 changed is outlined. Every text from the file goes through textContent or text nodes:
 * nothing in a file can become markup.
 *
 * Hooks for tests (they change only together with the tests):
 *   .pagesim-player          the root: data-step, data-steps, data-theme (light | dark), data-ready
 *                            (true | error), data-predict (on | off), data-asking (index of the event
 *                            that the open question is about: the step that is shown), data-groups
 *                            (how many, if several), data-tier (the blocks of a chunk, if there is a second
 *                            tier), data-round (how many answers of a lookup are shown)
 *   [data-action="…"]        first prev play next last goto speed-1 speed-2 speed-3 predict skip none done
 *                            prev-schedule next-schedule (only where a scheduler was recorded)
 *                            search search-prev search-next sel-prev sel-next sel-clear
 *   .ps-slider .ps-goto .ps-search .ps-answer       the four inputs
 *   .ps-caption .ps-call .ps-changes .ps-detail .ps-feedback .ps-score .ps-message .ps-problem    texts
 *   .ps-note .ps-lens        where a word is: at the pointer, and in beats; [data-action="lens-back"], lens-deeper
 *                            lens-close mib
 *   .ps-stage                the picture; in it [data-block="7"] is the cell of block 7 in its pool
 *   .ps-told                 how the run stands, in numbers
 *   .ps-curve                the course of the run: memory by request and life lines; .ps-share its numbers
 *   .pagesim-pair            around two players: data-step, data-mounted; .ps-lines, .ps-differences;
 *                            [data-action="pair-…"]
 *   window.pagesimPair       {steps, goto(i), differences}; pagesimPlayers has the hooks of both
 *   window.pagesimPlayer     {step, steps, goto(i), state(), beats, beat(i, back), timings, header, problem};
 *                            state() is in the shape of the format's `state`; beats names those of the step that is
 *                            shown, and beat() holds one, or it in reverse (data-beat on the root while one is
 *                            played: "copy 2/4"); timings: {mount_ms}, from the page's script to the first picture,
 *                            unpacking included
 */

import { Player } from "./controls.js";
import { html } from "./html.js";
import { Run } from "./model.js";
import { Pair, isFolded } from "./pair.js";
import { message, parse, unpack } from "./read.js";

/**
 * Where the step is kept, because an iframe that scrolls out of view is reloaded, and the score of the
 * answers, which outlives the window. Both belong to this file alone.
 */
function keeper(text) {
  let hash = 0x811c9dc5; // FNV-1a: it names the file, nothing more
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  const key = `pagesim-player:${(hash >>> 0).toString(16)}:${text.length}`;
  /** @param {"sessionStorage" | "localStorage"} storage @returns {Kept} */
  const within = (storage, name) => ({
    read() {
      try {
        return JSON.parse(window[storage].getItem(name) ?? "null") ?? {};
      } catch {
        return {};
      }
    },
    write(value) {
      try {
        window[storage].setItem(name, JSON.stringify(value));
      } catch {
        /* then it is forgotten */
      }
    },
  });
  return { ...within("sessionStorage", key), score: within("localStorage", `${key}:score`) };
}

/** Light or dark, like the notebook around it, or else like the system; follows both. */
function follow(root) {
  const system = matchMedia("(prefers-color-scheme: dark)");
  /** @type {HTMLElement | null} */
  let host = null;
  try {
    host = parent === window ? null : parent.document.body;
  } catch {
    /* another origin */
  }
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

/**
 * In a notebook the iframe takes the height that the player needs: never a scrollbar, not even for a moment.
 * The still picture, open where no script runs, is closed once: a reader who opens it wants it open.
 */
function fit(root) {
  try {
    const frame = /** @type {HTMLElement} */ (window.frameElement);
    if (!frame) return;
    document.documentElement.style.overflowY = "hidden";
    const still = frame.nextElementSibling;
    if (still?.classList.contains("pagesim-still")) still.removeAttribute("open");
    still?.classList.remove("pagesim-still");
    new ResizeObserver(() => {
      frame.style.height = `${root.scrollHeight + 4}px`;
    }).observe(root);
  } catch {
    /* another origin: it scrolls */
  }
}

/** Why a player cannot be shown, in its place. */
function fail(root, error) {
  const words = `This timeline cannot be shown: ${message(error)}.`;
  root.replaceChildren(html("p", { class: "ps-problem", role: "alert" }, words));
  root.dataset.ready = "error";
  return null;
}

/** Read one file; null, with the reason on the page, if it cannot be shown.
 * @returns {Promise<{run: Run, draw: () => Player | null} | null>} */
async function mount(root, text, begun, linked) {
  follow(root);
  root.tabIndex = -1;
  try {
    const run = new Run(parse(await unpack(text)));
    root.dataset.ready = "true";
    const draw = () => {
      try {
        const player = new Player(root, run, keeper(text), linked);
        player.hooks = {
          timings: { mount_ms: performance.now() - begun },
          get step() {
            return player.step;
          },
          get steps() {
            return run.steps;
          },
          get beats() {
            return player.motion.of().flatMap(({ name }) => name || []);
          },
          beat: (...which) => player.motion.hold(...which),
          goto: (step) => player.go(step),
          state: () => JSON.parse(JSON.stringify(run.at(player.step))),
          header: run.header,
          problem: run.problem,
        };
        return player;
      } catch (error) {
        return fail(root, error);
      }
    };
    return { run, draw };
  } catch (error) {
    return fail(root, error);
  }
}

/** Two files on one page are two players, linked. */
async function begin(begun) {
  document.querySelector("style")?.replaceWith(html("style", {}, STYLE));
  /** @type {NodeListOf<HTMLElement>} */
  const mounts = document.querySelectorAll(".pagesim-player");
  const roots = [...mounts],
    linked = roots.length > 1;
  /** @type {NodeListOf<HTMLTemplateElement>} */
  const templates = document.querySelectorAll(".pagesim-timeline");
  const files = [...templates].map((one) => one.content.textContent.trim());
  const mounted = await Promise.all(roots.map((root, i) => mount(root, files[i], begun, linked)));
  const draw = () => {
    const players = mounted.map((one) => one?.draw());
    window.pagesimPlayers = players.map((player) => player?.hooks);
    [window.pagesimPlayer] = window.pagesimPlayers;
    return players;
  };
  const outermost = /** @type {HTMLElement} */ (linked ? document.querySelector(".pagesim-pair") : roots[0]);
  const runs = PAIR && linked ? mounted.flatMap((one) => one?.run ?? []) : [],
    players = PAIR && runs.length > 1 && isFolded(runs) ? [] : draw();
  if (PAIR && runs.length > 1 && players.every((player) => player)) {
    const pair = new Pair(outermost, runs, players, draw);
    window.pagesimPair = {
      goto: (step) => pair.go(step),
      get steps() {
        return pair.steps;
      },
      get differences() {
        return pair.words;
      },
    };
  }
  outermost.dataset.mounted = "true";
  fit(outermost);
}

begin(Number(document.currentScript?.dataset.begun));
