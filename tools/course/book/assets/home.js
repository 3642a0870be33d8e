// The first page: a race that runs while it is seen, tiles that show one part of a player each, and a sweep.

const REST = 2500, // milliseconds at the end, before it begins again
  LOOK = 900; // milliseconds from one look at what is seen to the next
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const hidden = (css) => `${css} { display: none !important; }`;
const STAGE = hidden(".pagesim-player > :not(:has(.ps-stage), .ps-stage), .ps-curve, .ps-legend");
/** What of a player is left out where it is shown small. */
const SHOWN = {
  race: hidden(
    ".ps-race > h1, .ps-bar > :not([data-action=pair-play], .ps-slider, .ps-place), .ps-lines, .ps-differences",
  ),
  when: `${hidden(
    ".pagesim-player > :not(.ps-told, .ps-picture, :has(.ps-curve)), .ps-stage, .ps-legend, .ps-when-head button",
  )} .ps-when-head { padding-inline: 3px; }`,
  where: STAGE,
  who: STAGE,
};
/** How fast a tile plays: 1 is slow, 3 is fast. */
const SPEED = { when: 3, where: 1, who: 1 };

/** The document of a player's frame as soon as it has mounted; before, it is dressed: nothing is shown and moved. */
function mounted(frame, style) {
  frame.addEventListener("load", () => {
    const sheet = new frame.contentWindow.CSSStyleSheet();
    sheet.replaceSync(style);
    frame.contentDocument.adoptedStyleSheets = [sheet];
  });
  return new Promise((done) => {
    const look = () => {
      const inside = frame.contentDocument;
      if (inside?.querySelector("[data-mounted]")) done(inside);
      else setTimeout(look, 100);
    };
    look();
  });
}

/** Show a part of it, and play it while a reader sees it and has not taken over. */
async function show(frame, name) {
  const inside = await mounted(frame, SHOWN[name]),
    { contentWindow: own } = frame;
  if (calm.matches) return;
  inside.querySelector(`[data-action=speed-${SPEED[name]}]`)?.click();
  const button = inside.querySelector(own.pagesimPair ? "[data-action=pair-play]" : "[data-action=play]"),
    { dataset } = inside.querySelector("[data-mounted]"),
    { steps } = own.pagesimPair ?? own.pagesimPlayer;
  let timer = 0,
    over = 0; // milliseconds since its end
  /** Play, and again some time after the end; stop where nobody looks. */
  const look = (isSeen) => {
    const ended = +dataset.step >= steps;
    if (ended && isSeen) over += LOOK;
    if ((button.getAttribute("aria-pressed") === "true") === isSeen || (ended && over <= REST)) return;
    over = 0;
    button.click();
  };
  const watch = new IntersectionObserver(([{ isIntersecting }]) => {
    clearInterval(timer);
    look(isIntersecting);
    if (isIntersecting) timer = setInterval(look, LOOK, true);
  });
  for (const kind of ["pointerdown", "keydown"]) {
    inside.addEventListener(kind, () => {
      clearInterval(timer);
      watch.disconnect();
    });
  }
  watch.observe(frame);
}

/** What a setting of the sweep has become. */
function sweep() {
  const rows = JSON.parse(document.getElementById("sweep").textContent),
    form = document.querySelector(".sweep form"),
    keys = ["block", "gib", "answer"];
  const draw = () => {
    const chosen = new FormData(form),
      row = rows.find((one) => keys.every((key) => `${one[key]}` === chosen.get(key)));
    document.querySelector("[data-of=batch]").textContent = row.batch.toFixed(0);
    document.querySelector("[data-of=token]").textContent = `${row.token.toFixed(0)}\u00a0%`;
    for (const part of ["token", "reserved", "internal"]) {
      document.querySelector(`.bar .${part}`).style.width = `${row[part]}%`;
    }
  };
  form.addEventListener("change", draw);
  draw();
}

addEventListener("DOMContentLoaded", () => {
  sweep();
  show(document.querySelector(".race iframe"), "race");
  for (const tile of document.querySelectorAll(".tile")) show(tile.querySelector("iframe"), tile.dataset.show);
});
