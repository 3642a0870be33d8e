// What every page of the site does: its theme, players that start when they are seen, predictions that are
// compared, search, and the contents at the side.

const root = document.documentElement;

/** Light, dark, or as the system has it; the players inside follow what JupyterLab would tell them. */
function dress(theme) {
  if (theme) root.dataset.theme = theme;
  else delete root.dataset.theme;
  if (!document.body) return;
  if (theme) document.body.dataset.jpThemeLight = `${theme === "light"}`;
  else delete document.body.dataset.jpThemeLight;
}

/** What is kept from page to page, where that is allowed. */
const kept = {
  get: (name) => {
    try {
      return localStorage.getItem(`pagesim-site:${name}`);
    } catch {
      return null;
    }
  },
  set: (name, value) => {
    try {
      localStorage.setItem(`pagesim-site:${name}`, value);
    } catch {
      /* then it is forgotten */
    }
  },
};

/** Load a script of the site once. */
const loads = new Map();
function load(file) {
  const add = (done, failed) => {
    const script = Object.assign(document.createElement("script"), { src: file, onload: done, onerror: failed });
    document.head.append(script);
  };
  if (!loads.has(file)) loads.set(file, new Promise(add));
  return loads.get(file);
}

/** Give a frame its document, with the player's script in it. */
async function mount(frame) {
  const { assets, script, document: text } = frame.dataset;
  await Promise.all([script, text].map((name) => load(`${assets}${name}.js`)));
  const tag = '<template id="pagesim-script">';
  frame.srcdoc = window.pagesimTexts[text].replace(tag, () => tag + window.pagesimTexts[script]);
}

function players() {
  const seen = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting) continue;
        seen.unobserve(target);
        mount(target);
      }
    },
    { rootMargin: "400px" },
  );
  document.querySelectorAll("iframe[data-document]").forEach((frame) => seen.observe(frame));
}

// -- predictions ------------------------------------------------------------------------------------

const plain = (text) => text.toLowerCase().replace(/["'\s]/g, "");
const numbers = (text) => (text.match(/-?\d[\d,]*\.?\d*(e-?\d+)?/gi) ?? []).map((n) => +n.replace(/,(?=\d{3}\b)/g, ""));

/** Whether a prediction says what the answer says; numbers may be off by the fraction `within`. */
function agrees(mine, truth, within) {
  const isList = /^[[{]/.test(truth),
    value = (text) =>
      text.includes("/") ? text.split("/").reduce((a, b) => a / b) : +text.replace(/,(?=\d{3}\b)/g, ""),
    near = (a, b) => Math.abs(a - b) <= Math.max(within, /\./.test(truth) ? 5e-4 : 0) * Math.abs(b) + 1e-9;
  if (isList && /\d/.test(truth)) {
    const sort = (all) => (truth.startsWith("{") ? all.sort((a, b) => a - b) : all),
      [a, b] = [mine, truth].map((text) => sort(numbers(text.replace(/,/g, " "))));
    return a.length === b.length && a.every((number, i) => near(number, b[i]));
  }
  if (truth !== "" && !Number.isNaN(+truth)) return mine.trim() !== "" && near(value(mine), +truth);
  return plain(mine).replace(/[[\]]/g, "") === plain(truth).replace(/[[\]]/g, "");
}

function predictions() {
  for (const form of document.querySelectorAll("form.predict")) {
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const { within } = JSON.parse(form.dataset.asked),
        fields = [...form.querySelectorAll("input")],
        said = form.querySelector("output");
      const open = fields.filter((field) => !field.value.trim());
      if (open.length) {
        const whose = fields.length > 1 ? ` for ${open.map((field) => field.labels[0].textContent).join(", ")}` : "";
        said.textContent = `Write a prediction${whose} first.`;
        open[0].focus();
        return;
      }
      const right = fields.filter((field) => agrees(field.value, field.dataset.answer, within));
      fields.forEach((field) => field.setAttribute("aria-invalid", `${!right.includes(field)}`));
      form.dataset.verdict = right.length === fields.length ? "right" : "wrong";
      const parts = fields.length > 1 ? ` ${right.length} of ${fields.length} are right.` : "";
      said.textContent =
        form.dataset.verdict === "right" ? "\u2713 Right." : `\u2717 Not this.${parts} Try again, or open the answer.`;
    });
  }
}

// -- search -----------------------------------------------------------------------------------------

const FOUND = 12; // results

/** How well a section fits: all words must be in it; those in its title count most. */
function fit(words, [, page, heading, text]) {
  const [title, all] = [`${page} ${heading}`.toLowerCase(), `${page} ${heading} ${text}`.toLowerCase()];
  if (!words.every((word) => all.includes(word))) return 0;
  return words.reduce((sum, word) => sum + (title.includes(word) ? 10 : 1), heading === page ? 2 : 0);
}

function search(assets) {
  const form = document.querySelector(".search"),
    field = form.querySelector("input"),
    list = form.querySelector("ul");
  form.hidden = false;
  const show = async () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    await load(`${assets}search.js`);
    const pages = new Set(),
      first = ([, [, page]]) => !pages.has(page) && pages.add(page); // one section of each page
    const found = !words.length
      ? []
      : window.pagesimSearch
          .map((row) => [fit(words, row), row])
          .filter(([score]) => score)
          .sort((a, b) => b[0] - a[0])
          .filter(first)
          .slice(0, FOUND);
    const items = found.map(([, [url, page, heading, text]]) => {
      const link = Object.assign(document.createElement("a"), { href: `${assets}../${url}` }),
        small = document.createElement("small"),
        at = Math.max(text.toLowerCase().indexOf(words[0]) - 30, 0);
      small.textContent = heading === page ? text.slice(at, at + 90) : `${page}: ${text.slice(at, at + 70)}`;
      link.append(heading, small);
      return link;
    });
    if (words.length && !items.length) items.push("Nothing was found.");
    list.replaceChildren(
      ...items.map((item) => {
        const row = document.createElement("li");
        row.append(item);
        return row;
      }),
    );
  };
  field.addEventListener("input", show);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    list.querySelector("a")?.click();
  });
  addEventListener("keydown", (event) => {
    if (event.key === "Escape") list.replaceChildren();
    if (event.key === "/" && !event.target.closest("input, textarea")) {
      event.preventDefault();
      field.focus();
    }
  });
}

// -- the page ---------------------------------------------------------------------------------------

function themes() {
  const button = document.querySelector(".theme"),
    names = { light: "\u2600", dark: "\u263e", "": "\u25d0" },
    said = { light: "Colours: light", dark: "Colours: dark", "": "Colours: as the system" };
  const wear = (theme) => {
    dress(theme);
    button.textContent = names[theme];
    button.title = said[theme];
    button.setAttribute("aria-label", said[theme]);
  };
  wear(kept.get("theme") ?? "");
  button.hidden = false;
  button.addEventListener("click", () => {
    const order = Object.keys(names),
      next = order[(order.indexOf(root.dataset.theme ?? "") + 1) % order.length];
    kept.set("theme", next);
    wear(next);
  });
}

function contents() {
  const menu = document.querySelector(".menu"),
    wide = matchMedia("(min-width: 1400px)");
  if (!menu) return;
  const set = () => (menu.open = wide.matches);
  wide.addEventListener("change", set);
  set();
  const here = menu.querySelector("[aria-current]");
  if (wide.matches && here) menu.scrollTop = here.offsetTop - 120;
}

dress(kept.get("theme"));
document.addEventListener("DOMContentLoaded", () => {
  root.classList.add("alive");
  themes();
  contents();
  players();
  predictions();
  search(document.body.dataset.assets);
  // On paper there are no players: their still pictures stand for them.
  addEventListener("beforeprint", () =>
    document.querySelectorAll("iframe + details").forEach((still) => (still.open = true)),
  );
});
