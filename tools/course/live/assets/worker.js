// Python in a worker: it runs what the page sends, one text after the other, and is replaced if one never ends.

import { loadPyodide } from "./pyodide.mjs";

const SIGALRM = 14;
/** When the next alarm is due: Python looks into `signals` while it runs. */
const alarm = { due: Infinity, every: 0 };
const signals = new Proxy([0], {
  get(_, place) {
    if (place !== "0" || Date.now() < alarm.due) return 0;
    alarm.due = alarm.every ? Date.now() + alarm.every : Infinity;
    return SIGALRM;
  },
  set: () => true,
});

/** Set the alarm, in seconds; 0 takes it back. */
function setAlarm(seconds, every) {
  alarm.due = seconds ? Date.now() + 1000 * seconds : Infinity;
  alarm.every = 1000 * every;
}

async function bytes(file) {
  const reply = await fetch(new URL(file, import.meta.url));
  if (!reply.ok) throw new Error(`${file}: ${reply.status}`);
  return reply.arrayBuffer();
}

async function start() {
  const core = bytes("pagesim.zip"),
    python = await loadPyodide({ indexURL: new URL(".", import.meta.url).href });
  const unpack = async (archive) => python.unpackArchive(await archive, "zip", { extractDir: "/lib/pagesim" });
  await unpack(core);
  python.runPython('import sys; sys.path.insert(0, "/lib/pagesim")');
  const inside = python.pyimport("inside");
  inside.lend_alarm(setAlarm);
  python.setInterruptBuffer(signals);
  return { inside, unpack };
}

/** Of a traceback the last line: it says what went wrong. */
const said = (error) => `${error.message ?? error}`.trim().split("\n").at(-1);

const started = start();
let exercises;

/** What came of one message: its `kind` is a function of inside.py. */
async function answer({ kind, text, name }) {
  const { inside, unpack } = await started;
  if (kind === "check") {
    exercises ??= unpack(bytes("exercises.zip"));
    await exercises;
    return JSON.parse(inside.check(name, text));
  }
  const begun = performance.now(),
    found = JSON.parse(inside.run(text, name));
  return { ...found, took: performance.now() - begun };
}

started.then(
  ({ inside }) => {
    postMessage({ ready: true });
    inside.run("import pagesim; pagesim.Story()", ""); // the first run is slow: it is not to be the reader's
  },
  (error) => postMessage({ broken: said(error) }),
);
addEventListener("message", async ({ data }) => {
  try {
    postMessage({ id: data.id, ...(await answer(data)) });
  } catch (error) {
    postMessage({ id: data.id, broken: said(error) });
  }
});
