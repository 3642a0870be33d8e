// The first page: a race that runs while it is seen, tiles that show one part of a player each, and a sweep.

const REST = 2500, // milliseconds at the end of the race, before it begins again
  PACE = 900; // milliseconds for a step in a tile
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const hidden = (css) => `${css} { display: none !important; }`;
/** What of a player is left out where it is shown small. */
const SHOWN = {
  race: hidden(
    ".ps-race > h1, .ps-bar > :not([data-action=pair-play], .ps-slider, .ps-place), .ps-lines, .ps-differences",
  ),
  when: hidden(".pagesim-player > :not(.ps-picture, :has(.ps-curve)), .ps-stage, .ps-legend"),
  where: hidden(".pagesim-player > :not(:has(.ps-stage), .ps-stage), .ps-curve, .ps-legend"),
  who: hidden(".pagesim-player > :not(:has(.ps-stage), .ps-stage), .ps-curve, .ps-legend"),
};

/** The document of a player's frame as soon as it has mounted. */
function mounted(frame) {
  return new Promise((done) => {
    const look = () => {
      const inside = frame.contentDocument;
      if (inside?.querySelector("[data-mounted]")) done(inside);
      else setTimeout(look, 100);
    };
    look();
  });
}

/** Show a part of it, and call `tick` again and again while a reader sees it and has not taken over. */
async function show(frame, name, tick) {
  const inside = await mounted(frame),
    sheet = new frame.contentWindow.CSSStyleSheet();
  sheet.replaceSync(SHOWN[name]);
  inside.adoptedStyleSheets = [...inside.adoptedStyleSheets, sheet];
  let timer = 0,
    taken = calm.matches;
  const watch = new IntersectionObserver(([{ isIntersecting }]) => {
    clearInterval(timer);
    if (!taken) tick(inside, frame.contentWindow, isIntersecting);
    if (isIntersecting && !taken) timer = setInterval(() => tick(inside, frame.contentWindow, true), PACE);
  });
  for (const kind of ["pointerdown", "keydown"]) {
    inside.addEventListener(kind, () => {
      taken = true;
      clearInterval(timer);
      watch.disconnect();
    });
  }
  watch.observe(frame);
}

/** Play the race, and again some time after its end; stop where nobody looks. */
let over = 0;
function race(inside, window, isSeen) {
  const pair = inside.querySelector(".pagesim-pair"),
    play = inside.querySelector("[data-action=pair-play]"),
    plays = play.getAttribute("aria-pressed") === "true",
    ended = +pair.dataset.step >= window.pagesimPair.steps;
  if (ended && isSeen) over += PACE;
  if (plays !== isSeen && (!ended || over > REST)) {
    over = 0;
    play.click();
  }
}

/** One step on, from the last to the first. */
function step(inside, { pagesimPlayer: player }, isSeen) {
  if (isSeen && player) player.goto(player.step >= player.steps ? 0 : player.step + 1);
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
    document.querySelector("[data-of=token]").textContent = `${row.token.toFixed(0)} %`;
    for (const part of ["token", "reserved", "internal"]) {
      document.querySelector(`.bar .${part}`).style.width = `${row[part]}%`;
    }
  };
  form.addEventListener("change", draw);
  draw();
}

addEventListener("DOMContentLoaded", () => {
  sweep();
  show(document.querySelector(".race iframe"), "race", race);
  for (const tile of document.querySelectorAll(".tile")) {
    show(tile.querySelector("iframe"), tile.dataset.show, step);
  }
});
