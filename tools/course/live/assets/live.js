// Stories and exercises that are edited in the page. What a reader has written is kept in this browser.
//
// Hooks for tests: .live[data-state] is asleep, loading, ready, running or broken; data-took says how many
// milliseconds Python needed for the last run, and data-shown how many until its picture was there.

const WORDS = {
  asleep: "Python is loaded when you need it: about 8 MB, once.",
  loading: "Python is loading. You can already step and write.",
  running: "It runs \u2026",
};

/** One text with its buttons, what it printed, and its picture. */
class Cell {
  constructor(root) {
    const code = root.querySelector(".code"),
      [kind, name] = root.dataset.live.split(":"),
      { title } = root.dataset;
    Object.assign(this, { root, kind, name, title, original: code.textContent.trimEnd(), ran: null, said: "" });
    const past = JSON.parse(kept.get(`live:${name}`) ?? "{}");
    this.past = typeof past.text === "string" ? past : { text: this.original };
    this.editor = editor(
      this.past.text,
      title,
      () => this.run(),
      () => this.changed(),
    );
    const button = (label, act, look = "") => {
      const node = make("button", { type: "button", class: look }, label);
      node.addEventListener("click", act);
      return node;
    };
    this.runs = button(kind === "check" ? "Check" : "Run", () => this.run(), "strong");
    this.stops = button("Stop", () => this.stop());
    this.resets = button("Reset", () => this.editor.set(this.original));
    this.status = make("p", { role: "status" });
    this.output = make("div", { class: "said" });
    const bar = make("div", { class: "bar" }, this.runs, this.stops, this.resets, this.status);
    code.replaceWith(this.editor.root, bar, this.output);
    this.stage = root.closest(".beside")?.querySelector(".stage > div");
    if (!this.stage) {
      this.stage = make("div", { class: "shown" });
      root.append(this.stage);
    } else this.ran = this.original;
    this.editor.area.addEventListener("focus", wake);
    python.heard.add(() => {
      this.refresh();
      this.catchUp();
    });
    this.refresh();
  }

  get text() {
    return this.editor.area.value;
  }

  keep(more = {}) {
    this.past = { ...this.past, text: this.text, ...more };
    kept.set(`live:${this.name}`, JSON.stringify(this.past));
  }

  changed() {
    this.said = "";
    this.editor.mark([]);
    this.keep({ stopped: false });
    this.refresh();
  }

  /** Run what an earlier visit has left, so that its picture is there; not what never ended. */
  catchUp() {
    const isSeen = this.kind === "run" && !this.root.closest("[hidden]");
    if (isSeen && python.state === "ready" && this.text !== this.ran && !this.past.stopped) this.run();
  }

  /** The buttons and the status line, as things are. */
  refresh() {
    const { state, why } = python,
      isEdited = this.text !== this.original,
      isOld = this.ran !== null && this.text !== this.ran;
    this.root.dataset.state = this.isRunning && state === "ready" ? "running" : state;
    this.runs.disabled = this.isRunning || state === "broken";
    this.stops.hidden = !this.isRunning;
    this.resets.hidden = !isEdited;
    this.stage.classList.toggle("old", isOld && this.kind === "run");
    const edited = isOld ? "The text has changed: Run shows it." : "",
      solved = this.past.right ? "\u2713 Solved before." : "",
      idle = this.said || edited || solved || (state === "ready" ? "Python is ready: Ctrl+Enter." : WORDS[state]),
      broken = `Python is not there, so nothing can be run. ${why}`;
    const words = state === "broken" ? broken : this.isRunning && state === "ready" ? WORDS.running : idle;
    if (this.status.textContent !== words) this.status.textContent = words;
  }

  async run() {
    if (this.isRunning) return;
    const { text } = this,
      begun = performance.now();
    this.isRunning = true;
    this.said = "";
    this.editor.mark([]);
    this.refresh();
    const patience = setTimeout(
      () => (this.status.textContent = "It still runs. Stop ends it; your text stays."),
      4000,
    );
    const answer = await ask({ kind: this.kind, text, name: this.kind === "run" ? this.title : this.name });
    clearTimeout(patience);
    this.isRunning = false;
    if (answer.stopped) {
      this.said = "Stopped. Your text is as it was.";
      this.keep({ stopped: true });
    } else if (answer.broken) {
      this.said = `Python itself came to an end, and begins again. ${answer.broken}`;
      this.keep({ stopped: true });
      replace();
    } else {
      this.tell(answer);
      this.keep(answer.verdict?.right ? { right: true } : {});
      this.root.dataset.took = answer.took;
      if (answer.page) {
        show(this.stage, answer.page, Boolean(answer.problem)).then(() => {
          if (this.kind === "run") this.ran = text;
          this.root.dataset.shown = performance.now() - begun;
          this.refresh();
        });
      } else if (this.kind === "check") this.stage.replaceChildren();
    }
    this.refresh();
  }

  stop() {
    replace();
  }

  /** What a notebook would show below the cell. */
  tell({ printed, problem, frames = [], verdict, took, page }) {
    const parts = [];
    if (printed) parts.push(make("pre", { tabindex: "0" }, printed));
    if (problem) {
      this.editor.mark(frames.map(({ line }) => line));
      parts.push(failed(problem, frames, (line) => this.editor.goto(line)));
      this.said = frames.length ? `There is an error in line ${frames.at(-1).line}.` : "There is an error.";
    } else if (verdict) {
      parts.push(judged(verdict));
      this.said = verdict.right ? "\u2713 Right." : verdict.tried ? "\u2717 Not right yet." : "It is not written yet.";
    } else {
      const ms = took < 10 ? took.toFixed(1) : took.toFixed(0);
      this.said = page ? `It ran in ${ms} ms.` : "It made no run: name a story last.";
    }
    this.output.replaceChildren(...parts);
  }
}

const cells = [];

/** One story at a time; the address says which. */
function choose() {
  const stories = [...document.querySelectorAll(".story")],
    named = stories.find((one) => one.querySelector(`[id="${CSS.escape(location.hash.slice(1))}"]`)),
    chosen = named ?? stories[0];
  if (!chosen) return;
  const name = `#${chosen.querySelector("h2").id}`;
  stories.forEach((one) => (one.hidden = one !== chosen));
  for (const link of document.querySelectorAll(".stories a")) {
    if (link.getAttribute("href") === name) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
  cells.find(({ root }) => chosen.contains(root))?.catchUp();
}

addEventListener("DOMContentLoaded", () => {
  if (location.protocol === "file:") {
    const keys = document.getElementById("editor-keys");
    if (keys) keys.textContent = "To change and run the texts, serve the site: python -m http.server -d site.";
  } else document.querySelectorAll(".live").forEach((root) => cells.push(new Cell(root)));
  choose();
  addEventListener("hashchange", choose);
  if (cells.length && document.querySelector(".story")) wake();
});
