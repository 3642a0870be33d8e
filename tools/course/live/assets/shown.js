// What came of a text: its output, its error with the reader's own lines, a verdict, and its run.

/** The player's frame as soon as it has mounted. */
function mounted(frame) {
  return new Promise((done) => {
    const look = () => {
      if (frame.contentDocument?.querySelector("[data-mounted]")) done(frame);
      else if (frame.isConnected) setTimeout(look, 8);
    };
    look();
  });
}

/**
 * Put a run in the place of the one before, at the same step; that one stays until this one is drawn.
 * A player is drawn when it is near the window, so this may end much later.
 */
async function show(stage, page, atEnd) {
  stage.querySelectorAll(".coming").forEach((one) => one.remove());
  const before = stage.querySelector("iframe"),
    step = before?.contentWindow?.pagesimPlayer?.step,
    frame = make("iframe", {
      class: `pagesim-frame${before ? " coming" : ""}`,
      title: "The run of your text",
      sandbox: "allow-scripts allow-same-origin allow-downloads",
    });
  frame.srcdoc = page;
  stage.append(frame);
  await mounted(frame);
  const player = frame.contentWindow?.pagesimPlayer;
  if (player && (atEnd || step !== undefined)) player.goto(atEnd ? player.steps : Math.min(step, player.steps));
  for (const other of [...stage.children]) {
    if (other === frame) break;
    other.remove();
  }
  frame.classList.remove("coming");
}

/** The verdict of an exercise. */
function judged({ right, tried, headline, words, yours, expected, why, printed }) {
  const box = (name, text) => make("div", {}, make("small", {}, name), make("pre", { tabindex: "0" }, text)),
    mark = right ? "\u2713" : tried ? "\u2717" : "\u00b7",
    root = make("div", { class: "verdict", "data-right": `${right}` }, make("strong", {}, `${mark} ${headline}`));
  if (!words) return root;
  root.append(
    box("the smallest case that was found", words),
    make("div", { class: "two" }, box("your result", yours), box("the right result", expected)),
  );
  if (why) root.append(make("p", {}, why));
  if (printed) root.append(box("your function printed", printed));
  return root;
}

/** An error as in a notebook, with the reader's lines alone; each leads to its place in the text. */
function failed(problem, frames, goto) {
  const rows = frames.map(({ line, in: where, text }) => {
    const link = make("button", { type: "button", class: "line" }, `line ${line}`);
    link.addEventListener("click", () => goto(line));
    return make("li", {}, link, where ? ` in ${where}: ` : ": ", make("code", {}, text));
  });
  return make("div", { class: "problem" }, make("ol", {}, ...rows), make("pre", {}, problem));
}
