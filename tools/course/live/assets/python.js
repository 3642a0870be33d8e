// Python in a worker, which is replaced if a text never ends. It is begun when it is first wanted.

/** Python: one worker for the page, begun when it is first wanted. */
const python = { worker: null, state: "asleep", why: "", asked: new Map(), count: 0, heard: new Set() };

function enter(state, why = "") {
  Object.assign(python, { state, why });
  python.heard.forEach((hear) => hear());
}

function wake() {
  if (python.worker || python.state === "broken") return;
  const worker = new Worker(`${document.body.dataset.assets}../python/worker.js`, { type: "module" });
  worker.addEventListener("error", ({ message }) => enter("broken", message ?? "The worker was not found."));
  worker.addEventListener("message", ({ data }) => {
    if (worker !== python.worker) return;
    if (data.id !== undefined) {
      python.asked.get(data.id)?.(data);
      python.asked.delete(data.id);
    } else if (data.ready) enter("ready");
    else enter("broken", data.broken);
  });
  python.worker = worker;
  enter("loading");
}

/** Send a text to Python; what comes of it. */
function ask(question) {
  wake();
  const id = python.count++;
  return new Promise((done) => {
    python.asked.set(id, done);
    python.worker?.postMessage({ id, ...question });
  });
}

/** End whatever runs. */
function end() {
  python.worker?.terminate();
  python.worker = null;
  enter("asleep");
  const left = [...python.asked.values()];
  python.asked.clear();
  left.forEach((done) => done({ stopped: true }));
}

/** End whatever runs, and begin again. */
function replace() {
  end();
  wake();
}

// A browser keeps a few of the pages that were left, for the way back, and would keep the memory of their Pythons.
addEventListener("pagehide", () => {
  if (python.worker) addEventListener("pageshow", wake, { once: true });
  end();
});
