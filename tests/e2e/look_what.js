// What the browser's tests ask of a page, begun in look_where.js: colours, the pointer, motion, films.

// -- colours -------------------------------------------------------------------------------------

const rgb = (text) => (/rgba?\(([^)]+)\)/.exec(text) ?? [, "0,0,0,0"])[1].split(",").map(Number);
const opaque = (color) => color.length === 3 || color[3] === 1;

// The last ground that an element or one of its ancestors has.
function ground(node) {
  for (let at = node; at; at = at.parentElement) {
    const color = rgb(getComputedStyle(at).backgroundColor);
    if (opaque(color)) return color.slice(0, 3);
  }
  return [255, 255, 255];
}

// Every text of a page with its colour and the ground that it stands on.
function textsOfPage() {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !node.checkVisibility()) continue;
    found.push([walker.currentNode.data, rgb(getComputedStyle(node).color), ground(node)]);
  }
  return found;
}

// What lies behind a text of a picture: its halo where it has one, else the last opaque shape
// painted under its middle, else the ground of its ancestors.
function behind(text, shapes) {
  const style = getComputedStyle(text), [x, y] = middle(text);
  if (style.stroke !== "none" && parseFloat(style.strokeWidth) >= 3) return rgb(style.stroke);
  let found = ground(text);
  for (const shape of shapes) {
    if (!(shape.compareDocumentPosition(text) & Node.DOCUMENT_POSITION_FOLLOWING)) break;
    const look = getComputedStyle(shape);
    if (!look.fill.startsWith("rgb") || look.opacity !== "1" || !opaque(rgb(look.fill))) continue;
    const here = new DOMPoint(x, y).matrixTransform(shape.getScreenCTM().inverse());
    const part = +look.fillOpacity;
    if (shape.isPointInFill(here)) found = found.map((was, i) => part * rgb(look.fill)[i] + (1 - part) * was);
  }
  return found;
}

// Every text of the player with its colour and what lies behind it.
function textsOfPlayer() {
  const seen = (n) => n.checkVisibility() && n.textContent.trim() && n.getClientRects().length;
  const own = (node) => [...node.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
  const whole = ":is(.pagesim-player, .pagesim-pair)";
  const html = all(`${whole} :is(h1, h2, p, b, span, button, label, th, td)`)
    .filter((node) => own(node) && seen(node))
    .map((node) => [node.textContent, rgb(getComputedStyle(node).color), ground(node)]);
  const shapes = all(`${whole} svg :is(rect, path)`)
    .filter((node) => !node.closest("defs, marker, pattern"));
  const svg = all(`${whole} svg text`).filter(seen)
    .map((node) => [node.textContent, rgb(getComputedStyle(node).fill), behind(node, shapes)]);
  return [...html, ...svg];
}

// The colours of the lines of shapes, and the ground under them.
function strokes(css) {
  return all(css).map((node) => [rgb(getComputedStyle(node).stroke), ground(node)]);
}

// -- the pointer ---------------------------------------------------------------------------------

// Move the pointer to the middle of an element, or so far into it from its left.
function pointAt(node, target = null, inside = null) {
  const [x, clientY] = middle(node);
  const clientX = inside === null ? x : box(node).left + inside;
  const hit = target ?? document.elementFromPoint(clientX, clientY);
  hit.dispatchEvent(new PointerEvent("pointermove", { clientX, clientY, bubbles: true }));
}

// Move the pointer to the text that says this, among those that match.
function pointAtText(css, text) {
  pointAt(all(css).find((node) => node.textContent === text));
}

// Where the middle of the text that says this is, once it has been scrolled into sight.
function middleOfText(css, text) {
  const found = all(css).find((node) => node.textContent === text);
  found.scrollIntoView({ block: "center" });
  return middle(found);
}

// Click whatever lies over the text that says this.
function clickText(css, text) {
  const over = document.elementFromPoint(...middleOfText(css, text));
  over.dispatchEvent(new MouseEvent("click", { bubbles: true }));
}

// A finger that goes so far on an element.
function swipe(target, dx, dy) {
  const touch = (clientX, clientY) => new Touch({ identifier: 1, target, clientX, clientY });
  const send = (type, touches, changedTouches) =>
    target.dispatchEvent(new TouchEvent(type, { touches, changedTouches, bubbles: true }));
  send("touchstart", [touch(200, 100)], []);
  send("touchend", [], [touch(200 + dx, 100 + dy)]);
}

// -- motion --------------------------------------------------------------------------------------

// The beat that is played as soon as a button is pressed.
function beatAfter(action) {
  document.querySelector(`[data-action="${action}"]`).click();
  return document.querySelector(".pagesim-player").dataset.beat ?? null;
}

// Hold a beat of the step that is shown, at a part of it; which one it is.
function beat(number, back = false, part = 0.5) {
  pagesimPlayer.beat(number, back);
  for (const one of document.getAnimations()) {
    one.pause();
    one.currentTime = part * 1e6;
  }
  return document.querySelector(".pagesim-player").dataset.beat;
}

const isGhost = (node) => node.closest(".ps-ghosts") !== null;

// What is seen under the ghosts: the cells, and all words but those that name the front of a list.
const under = () => {
  const texts = all(".ps-stage text").filter((t) => !isGhost(t) && !/^(\u25be|a stack)/.test(t.textContent));
  return [all(".ps-cell").map((cell) => cell.outerHTML), said(texts.filter((t) => !t.closest(".ps-cell")))];
};

// What the ghosts of a beat say, and where their middles are.
const ghosts = (css = ".ghost") =>
  all(`.ps-ghosts ${css}`).map((ghost) => [ghost.textContent, ...middle(ghost)]);

// Words on which a number lies while it is carried from its list, but where it begins and ends.
function crossedOnTheWay(number, back) {
  const found = new Set();
  for (let part = 0.02; part < 0.6; part += 0.02) {
    beat(number, back, part);
    const holes = all(".ps-ghosts .hole").map(box);
    const isSeen = ([x, y]) => !holes.some((h) => h.left < x && x < h.right && h.top < y && y < h.bottom);
    const texts = all(".ps-stage text").filter((t) => !isGhost(t) && t.textContent.trim());
    const words = texts.filter((t) => isSeen(middle(t))).map((t) => cutBox(t, 0.22));
    for (const chip of all(".ps-ghosts .ghost > rect")) {
      const here = cutBox(chip, 0), says = chip.parentNode.textContent;
      for (const word of words) if (word.says !== says && meet(here, word)) found.add(word.says);
    }
  }
  return [...found];
}

// -- a film, and two runs ------------------------------------------------------------------------

// How many shades of words lie within a block.
function lit(block) {
  const cell = box(all(`.ps-cell[data-block="${block}"] .edge`)[0]);
  const within = (r) => r.left >= cell.left - 1 && r.right <= cell.right + 1 &&
    r.top >= cell.top - 1 && r.bottom <= cell.bottom + 1;
  return all(".ps-cell .lit").map(box).filter(within).length;
}

const shades = () => all(".ps-cell .lit").map((rect) => rect.getAttribute("class"));

// The three parts of a load, or those that are filled now: their words, or their numbers.
function parts(isFilled = false) {
  const shown = (node) => getComputedStyle(node).opacity !== "0";
  if (isFilled) return said(all(".ps-stage .texts > text.sign").filter(shown)).map((text) => text[0]);
  const line = all(".ps-stage path:is(.thin, .chunk)").map(box);
  return said(all(".ps-stage text.mid").filter((text) => line.some((r) => r.height > 10 && r.width > 60 && middle(text)[1] > r.top &&
    middle(text)[1] < r.bottom && middle(text)[0] > r.left && middle(text)[0] < r.right)));
}

// How high a bar was before it was rescaled: so high is the outline around it, or 0.
function outlined({ left, bottom }, frame) {
  for (const path of all(".ps-stage .absent")) {
    const matrix = path.getScreenCTM(), [, y] = middle(path);
    if (y < frame.top || y > frame.bottom) continue;
    for (const [, x, top] of path.getAttribute("d").matchAll(/M(\S+) [^M]+?V([^h]+)h/g)) {
      const corner = new DOMPoint(+x, +top).matrixTransform(matrix);
      if (Math.abs(corner.x - left) < 1.5) return bottom - corner.y;
    }
  }
  return 0;
}

// The programs of a kernel: where each is drawn, what can be read in it now, how high its bars are.
function programs() {
  const within = (frame, css) => all(css).filter((node) => {
    const [x, y] = middle(node);
    return x > frame.left && x < frame.right && y > frame.top && y < frame.bottom;
  });
  return all(".ps-stage .program").map((node) => {
    const frame = box(node), heights = within(frame, ".bar").map((bar) => box(bar).height);
    const seen = within(frame, ".ps-stage text").filter((text) => getComputedStyle(text).opacity !== "0");
    const claimed = said(seen.filter((text) => !text.matches(".muted")));
    return { top: frame.top, bottom: frame.bottom, left: frame.left, heights, texts: said(seen), claimed,
      old: within(frame, ".bar").map((bar) => outlined(box(bar), frame)),
      marked: seen.filter((text) => text.matches(".rose")).length, outlined: within(frame, ".traced").length > 0 };
  });
}

// Hold what moves at a moment, in milliseconds.
function hold(moment) {
  for (const one of document.getAnimations()) {
    one.pause();
    one.currentTime = moment;
  }
}

// The blocks whose cells an element of this kind lies around.
const around = (css) => all(css).map(box).flatMap((r) => all(".ps-cell").filter((cell) => {
  const [x, y] = middle(cell.querySelector(".edge"));
  return x > r.left && x < r.right && y > r.top && y < r.bottom && r.height < 60;
})).map((cell) => +cell.dataset.block);

// Where the lines from the pages come down: those of a table from a page are one.
const trunks = () => [...new Set(all(".ps-stage .wire").map((way) => /H([\d.]+)V/.exec(way.getAttribute("d"))[1]))];

// Where the lines from the pages end: at the left of the programs.
const arrived = () => all(".ps-stage .plug").map((plug) => box(plug).right);
const words = (block) => said(all(`.ps-cell[data-block="${block}"] text`));
const traced = () => all(".ps-stage .traced").length;
const lines = () => all(".ps-lines tr").map((tr) => said([...tr.children]));

// How many names of each player are marked because they differ.
const signed = () => all(".pagesim-player").map((root) =>
  said(all(".ps-stage .name", root)).filter((text) => text.startsWith("\u2260")).length);

// How large the letters of the smallest text of a page are, in pixels; a formula has its own sizes.
function smallestLetters() {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), sizes = [Infinity];
  while (texts.nextNode()) {
    const { parentElement: within, textContent } = texts.currentNode;
    if (textContent.trim() && within.checkVisibility() && !within.closest("math")) {
      sizes.push(parseFloat(getComputedStyle(within).fontSize));
    }
  }
  return Math.min(...sizes);
}
