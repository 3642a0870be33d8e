// A step as a separate picture: an SVG that needs no outside style, or a PNG of it.

const SCALE = 2; // pixels per unit

/** The picture with its present style, as text. */
export function standalone(node) {
  const picture = node.cloneNode(true),
    root = node.closest(".pagesim-player"),
    looks = getComputedStyle(root);
  const names = ["paper", "ink", "muted", "line", "panel", "held", "mark", "focus"];
  const given = names.map((name) => `--${name}: ${looks.getPropertyValue(`--${name}`)};`).join(" ");
  const style = document.createElementNS("http://www.w3.org/2000/svg", "style");
  const rules = document.querySelector("style")?.textContent;
  const font = `font-family: ${looks.fontFamily}; font-variant-numeric: tabular-nums;`;
  style.textContent = `svg { ${given} ${font} background: var(--paper); }\n${rules}`;
  picture.prepend(style);
  picture.querySelector(".ps-ghosts")?.remove();
  const [, , width, height] = picture.getAttribute("viewBox").split(" ");
  picture.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  picture.setAttribute("width", width);
  picture.setAttribute("height", height);
  return new XMLSerializer().serializeToString(picture);
}

/** The same as a PNG. */
export async function asPng(node) {
  const { width, height } = node.viewBox.baseVal;
  const image = new Image();
  image.src = URL.createObjectURL(new Blob([standalone(node)], { type: "image/svg+xml" }));
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
  const blob = kind === "png" ? await asPng(node) : new Blob([standalone(node)], { type: "image/svg+xml" });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = `step-${step}.${kind}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
