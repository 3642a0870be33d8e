// A text that a reader edits: a textarea that keeps indents, with the numbers of its lines.

/** An element with attributes, and what is in it: text is never markup. */
function make(tag, attributes, ...inside) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...inside);
  return node;
}

/** Replace what is selected so that the browser can undo it. */
function type(area, text) {
  area.focus();
  if (!document.execCommand(text ? "insertText" : "delete", false, text)) {
    area.setRangeText(text, area.selectionStart, area.selectionEnd, "end");
    area.dispatchEvent(new Event("input"));
  }
}

/** Four spaces more, or up to four fewer, at the beginning of each selected line. */
function shift(area, back) {
  const { value, selectionStart, selectionEnd } = area,
    from = value.lastIndexOf("\n", selectionStart - 1) + 1,
    lines = value.slice(from, selectionEnd).split("\n"),
    moved = lines.map((line) => (back ? line.replace(/^ {1,4}/, "") : `    ${line}`)),
    [first, all] = [moved[0].length - lines[0].length, moved.join("\n")];
  if (all === value.slice(from, selectionEnd)) return;
  area.setSelectionRange(from, selectionEnd);
  type(area, all);
  const start = Math.max(selectionStart + first, from);
  area.setSelectionRange(start, selectionStart === selectionEnd ? start : from + all.length);
}

/** What stands before the cursor in its line. */
function before({ value, selectionStart }) {
  return value.slice(value.lastIndexOf("\n", selectionStart - 1) + 1, selectionStart);
}

/** Tab indents; after Escape it leads on, so that the keyboard is never held. */
function keys(area, run) {
  let leaves = false;
  area.addEventListener("keydown", (event) => {
    const { key } = event,
      isEmpty = area.selectionStart === area.selectionEnd,
      line = before(area);
    let act = null;
    if (key === "Enter" && (event.ctrlKey || event.metaKey)) act = run;
    else if (key === "Enter" && isEmpty) {
      act = () => type(area, `\n${line.match(/^ */)[0]}${/:\s*(#.*)?$/.test(line) ? "    " : ""}`);
    } else if (key === "Tab" && !leaves) {
      act = () =>
        event.shiftKey || !isEmpty ? shift(area, event.shiftKey) : type(area, " ".repeat(4 - (line.length % 4)));
    } else if (key === "Backspace" && isEmpty && /^( {4})+$/.test(line)) {
      act = () => {
        area.setSelectionRange(area.selectionStart - 4, area.selectionStart);
        type(area, "");
      };
    }
    if (key !== "Shift") leaves = key === "Escape";
    if (!act) return;
    event.preventDefault();
    act();
  });
}

/** An editor with this text; `run` is called for Ctrl+Enter, and `changed` for each change. */
function editor(text, name, run, changed) {
  const area = make("textarea", {
      "aria-label": name,
      "aria-describedby": "editor-keys",
      autocapitalize: "off",
      autocomplete: "off",
      spellcheck: "false",
      wrap: "off",
    }),
    numbers = make("div", { class: "lines", "aria-hidden": "true" }),
    root = make("div", { class: "editor" }, numbers, area);
  const count = () => {
    const lines = area.value.split("\n").length;
    area.rows = lines;
    while (numbers.childElementCount > lines) numbers.lastElementChild.remove();
    while (numbers.childElementCount < lines) numbers.append(make("i", {}, `${numbers.childElementCount + 1}`));
  };
  area.value = text;
  count();
  keys(area, run);
  area.addEventListener("input", () => {
    count();
    changed();
  });
  return {
    root,
    area,
    set(next) {
      area.value = next;
      count();
      changed();
    },
    /** Mark lines of an error; none takes the marks away. */
    mark(lines) {
      [...numbers.children].forEach((one, i) => one.classList.toggle("wrong", lines.includes(i + 1)));
      if (lines.length) area.setAttribute("aria-invalid", "true");
      else area.removeAttribute("aria-invalid");
    },
    /** Put the cursor into a line. */
    goto(line) {
      const lines = area.value.split("\n").slice(0, line),
        end = lines.join("\n").length;
      area.focus();
      area.setSelectionRange(end - lines.at(-1).length, end);
    },
  };
}
