// What the browser's tests ask of a page: `page.look("name", …)` returns what the function returns. Here: where things
// are, and what lies on what. It goes on in look_what.js.

const all = (css, within = document) => [...within.querySelectorAll(css)];
const box = (node) => node.getBoundingClientRect();
const middle = (node) => {
  const { left, right, top, bottom } = box(node);
  return [(left + right) / 2, (top + bottom) / 2];
};
const said = (nodes) => nodes.map((node) => node.textContent);
const stages = (number = 0) => all(".ps-stage")[number];

// -- what lies on what ---------------------------------------------------------------------------

// A text's box is higher than its letters: `cut` is the share of it above and below them.
const cutBox = (node, cut) => {
  const { left, right, top, bottom, height } = box(node);
  const says = node.textContent || node.getAttribute("class");
  return { says, left, right, top: top + height * cut, bottom: bottom - height * cut };
};
const meet = (a, b) =>
  Math.min(a.right, b.right) - Math.max(a.left, b.left) > 0.7 &&
  Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 0.7;

// What elements say and where they are: all that match, or those among them with these texts.
function boxes(css, ...texts) {
  const found = all(css).filter((n) => !texts.length || texts.includes(n.textContent));
  return found.map((node) => {
    const [x, y] = middle(node);
    return { ...cutBox(node, 0), x, y };
  });
}

// How large the letters of the smallest text of the pictures that are shown are, in pixels.
function smallestText() {
  return Math.min(...all(".ps-stage, .ps-curve").filter((one) => box(one).width).flatMap((picture) => {
    const scale = box(picture).width / picture.viewBox.baseVal.width;
    const texts = all("text", picture).filter((t) => t.textContent);
    return texts.map((t) => parseFloat(getComputedStyle(t).fontSize) * scale);
  }));
}

// Pairs of things that lie on each other in a player, and what lies outside of its picture.
function overlaps(number = 0) {
  const stage = stages(number);
  const words = all("text", stage).filter((t) => t.textContent.trim())
    .map((t) => cutBox(t, 0.22));
  const signs = new Set(said(all(".over text", stage)));
  const badges = all(".over .badge", stage).map((badge) => cutBox(badge, 0));
  const found = [];
  words.forEach((a, i) => {
    for (const b of words.slice(i + 1)) if (meet(a, b)) found.push([a.says, b.says]);
  });
  badges.forEach((a, i) => {
    for (const b of badges.slice(i + 1)) if (meet(a, b)) found.push(["badge", "badge"]);
    for (const word of words) {
      if (!signs.has(word.says) && meet(a, word)) found.push(["badge", word.says]);
    }
  });
  const within = box(stage);
  const shapes = all(":is(.under, .over, .ps-cell) :is(rect, path)", stage)
    .map((shape) => ({ ...cutBox(shape, 0), says: shape.getAttribute("class") || "fill" }));
  for (const each of [...words, ...shapes]) {
    const out = each.left < within.left - 1 || each.right > within.right + 1 ||
      each.top < within.top - 1 || each.bottom > within.bottom + 1;
    if (out) found.push(["outside", each.says]);
  }
  return found;
}

// For each step of the only player: what overlaps there.
function overlapsAt(steps) {
  return steps.flatMap((step) => {
    pagesimPlayer.goto(step);
    return overlaps().map((pair) => [step, ...pair]);
  });
}

// Texts that paths cross, less what `cut` and `more` take from the top and the bottom of each.
function crossed(paths, texts, cut, more) {
  const boxes = texts.filter((t) => t.textContent.trim()).map((t) => [t.textContent, box(t)]);
  const found = [];
  for (const path of paths) {
    const matrix = path.getScreenCTM();
    for (let at = 0; at <= path.getTotalLength(); at += 2) {
      const { x, y } = path.getPointAtLength(at).matrixTransform(matrix);
      for (const [text, { left, right, top, bottom, height }] of boxes) {
        const less = height * cut + more;
        if (x > left && x < right && y > top + less && y < bottom - less) found.push(text);
      }
    }
  }
  return [...new Set(found)];
}

// Texts that an arrow of this step crosses.
function crossedByArrows() {
  const texts = all(".ps-stage .ps-cell text, .ps-stage .under.texts text");
  return crossed(all(".ps-stage .over .arrow"), texts, 0, 2);
}

// Texts that the way of any word crosses.
function crossedByWays() {
  const found = [];
  let lines = 0;
  for (const rect of all(".ps-stage .under rect").filter((r) => r.hit?.word)) {
    pointAt(rect, rect);
    const ways = all(".ps-stage .trace-line");
    lines += ways.length;
    found.push(...crossed(ways, all(".ps-stage text"), 0.22, 0));
  }
  return lines ? [...new Set(found)] : ["no line"];
}

// Labels that end in an ellipsis.
function cutLabels() {
  const labels = ".ps-stage .ps-cell text, .ps-stage .over text, .ps-stage .mid";
  return said(all(labels).filter((label) => !label.matches(".cut"))).filter((text) => text.includes("\u2026"));
}

// Signs over the front of a list that touch a box.
function signsOnBoxes() {
  const boxes = all(".ps-stage .under.rects rect").map(box);
  const signs = all(".ps-stage .under.texts text").filter((t) => t.textContent.startsWith("\u25be"));
  return said(signs.filter((sign) => {
    const a = box(sign), low = a.bottom - a.height * 0.2;
    return boxes.some((b) => b.width < 60 && b.left < a.right && a.left < b.right &&
      b.top - 1.5 < low && a.top + 2 < b.bottom);
  }));
}

// The number of the block in which each arrow ends.
function arrowEnds() {
  const cells = all(".ps-stage .ps-cell").map((cell) => box(cell.querySelector(".edge")));
  return all(".ps-stage .arrow").map((path) => {
    const tip = path.getPointAtLength(path.getTotalLength());
    const { x, y } = tip.matrixTransform(path.getScreenCTM());
    return cells.findIndex((c) => x > c.left && x < c.right && y > c.top && y < c.bottom);
  });
}

// Texts of the picture that reach out of it.
function outside() {
  const { right, bottom } = box(stages());
  const texts = all(".ps-stage text").filter((t) => t.textContent);
  return said(texts.filter((t) => box(t).right > right + 1 || box(t).bottom > bottom + 1));
}

// -- rows and lists ------------------------------------------------------------------------------

const drawn = () => all(".ps-stage .under.texts text");

// What stands behind the text that begins a row of the picture.
function row(name) {
  const head = drawn().find((t) => t.textContent === name);
  const beside = drawn().filter((t) => t.getAttribute("y") === head.getAttribute("y") && t !== head);
  return said(beside.sort((a, b) => a.getAttribute("x") - b.getAttribute("x")));
}

// The chips of the free queue, front first: [text, is it grey, is it thick].
function queue() {
  const label = all(".ps-stage .under text").find((t) => t.textContent === "free queue");
  const y = box(label);
  const chips = all(".ps-stage .under.rects rect").filter((r) =>
    r.getAttribute("height") === "16" && box(r).top < y.bottom && box(r).bottom > y.top);
  return chips.map((chip) => {
    const b = box(chip);
    const within = drawn().find((t) => {
      const [x] = middle(t);
      return x > b.left && x < b.right && box(t).top < b.bottom && box(t).bottom > b.top;
    });
    const classes = chip.classList;
    return [within?.textContent, classes.contains("waiting"), classes.contains("thick")];
  });
}

// Texts in the frames of this step.
function framed() {
  const frames = all(".ps-stage .over .frame:not(.hung)").map(box).filter((f) => f.height < 30);
  return said(drawn().filter((t) => {
    const b = box(t);
    return frames.some((f) => f.left <= b.left && f.right >= b.right &&
      f.top <= b.top + 2 && f.bottom >= b.bottom - 2);
  }));
}

// Words of tables and pools within shapes, sorted.
function wordsWithin(css) {
  const shapes = all(`.ps-stage ${css}`).map(box);
  const texts = all(".ps-stage :is(.under.texts, .ps-cell) text").filter((t) => {
    const [x, y] = middle(t);
    return shapes.some((s) => x > s.left && x < s.right && y > s.top && y < s.bottom);
  });
  return said(texts).sort();
}

// Whether the mark of a hit that left the free queue stands between two of its chips.
function gapBetween(one, other) {
  const gap = box(all(".ps-stage .over .gap")[0]);
  const y = drawn().find((t) => t.textContent === "free queue").getAttribute("y");
  const [left, right] = [one, other].map((id) =>
    box(drawn().find((t) => t.textContent === id && t.getAttribute("y") === y)));
  return left.right < gap.right && gap.left < right.left && gap.top > left.bottom - 4;
}
