// A step as a separate picture that can stand on a slide: title, caption and the picture with its
// legend on 16 : 9. An SVG that needs no outside style, or a PNG of it.

import { svg } from "./svg.js";

const SCALE = 2, // pixels per unit
  MARGIN = 24;
const pen = /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));

/** A text in lines that are at most so wide. */
function lines(text, width, font) {
  pen.font = font;
  const all = [""];
  for (const word of text.split(" ")) {
    const longer = `${all.at(-1)} ${word}`.trim();
    if (all.at(-1) && pen.measureText(longer).width > width) all.push(word);
    else all[all.length - 1] = longer;
  }
  return all;
}

/** The picture with its present style, its title and its caption. */
function standalone(node) {
  const picture = node.cloneNode(true),
    root = node.closest(".pagesim-player"),
    looks = getComputedStyle(root),
    family = looks.fontFamily,
    { width: wide, height: high } = node.viewBox.baseVal;
  const names = ["paper", "ink", "muted", "line", "panel", "held", "crowd", "mark", "focus"];
  const given = names.map((name) => `--${name}: ${looks.getPropertyValue(`--${name}`)};`).join(" ");
  const rules = document.querySelector("style")?.textContent;
  const roomy = Math.max(wide + 2 * MARGIN, ((high + 120) * 16) / 9),
    left = (roomy - wide) / 2;
  const said = /** @type {[string, number, string][]} */ ([
    ["h1", 17, "bold"],
    [".ps-caption", 14, "normal"],
    [".ps-changes", 12.5, "normal"],
  ]);
  let y = MARGIN,
    own = ""; // the sheet's rules: the page forbids styles at its elements
  const texts = said.flatMap(([css, size, weight], i) => {
    const words = root.querySelector(css)?.textContent ?? "",
      font = `${weight} ${size}px ${family}`;
    own += `svg .said-${i} { font: ${font}; }\n`;
    return lines(words, roomy - left - MARGIN, font).map((line) => {
      const text = svg("text", { x: left, y: (y += 1.4 * size), class: `said-${i}` });
      text.textContent = line;
      return text;
    });
  });
  const filled = y + 16 + high + MARGIN,
    height = Math.max(filled, (roomy * 9) / 16),
    width = (height * 16) / 9,
    viewBox = `${(roomy - width) / 2} ${(filled - height) / 2} ${width} ${height}`,
    sheet = svg("svg", { viewBox, width, height }),
    style = svg("style");
  const font = `font-family: ${family}; font-variant-numeric: tabular-nums;`;
  style.textContent = `svg { ${given} ${font} background: var(--paper); }\n${rules}\n${own}`;
  picture.querySelector(".ps-ghosts")?.remove();
  for (const [name, value] of Object.entries({ x: left, y: y + 16, width: wide, height: high }))
    picture.setAttribute(name, value);
  sheet.append(style, ...texts, picture);
  return { text: new XMLSerializer().serializeToString(sheet), width, height };
}

/** The same as a PNG. */
async function asPng({ text, width, height }) {
  const image = new Image();
  image.src = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [SCALE * width, SCALE * height];
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(image.src);
  return new Promise((done) => {
    canvas.toBlob(done, "image/png");
  });
}

/** Hand a picture of the step to the browser's downloads. */
export async function save(kind, node, step) {
  const made = standalone(node),
    blob = kind === "png" ? await asPng(made) : new Blob([made.text], { type: "image/svg+xml" });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = `step-${step}.${kind}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
