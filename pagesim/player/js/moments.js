// The moments of a load of a kernel, and its three parts, which are named above the programs.

/** In parts of a load: blocks come, and with them scores; m is known; where it has risen older bars shrink, and have;
 * scores become bars, and have. */
export const [CAME, KNOWN, SHRINKS, SHRUNK, ADDS, GROWN, END] = [0.8, 1.4, 1.7, 2.1, 2.4, 3.2, 3.4];
/** So much later than the first the last of several sequences begins, for the eye. */
export const LATE = 0.3;
const PARTS = [0, KNOWN, ADDS, END];

/** The part that is under way is filled, those that are done have a tick. At the end the answer takes their place.
 * @param {Kernel} kernel @param {PageEvent | null} event @param {number} lag of the last sequence */
export function drawParts(kernel, event, lag) {
  const { layer, past, film, rises } = kernel,
    { em, right } = film,
    loads = Boolean(event?.reads.length),
    isFirst = loads && !rises, // no older weights, or m is the same
    names = ["scores", isFirst ? "nothing to rescale" : "new max: rescale", "add to \u2113"],
    wides = [9, 20, 11].map((letters) => letters * 0.93 * em + 8);
  let { x } = film;
  const part = (sheet, words, wide, look, inside) => [
    sheet.path(`M${x} 22h${wide - 7}l5 8.5l-5 8.5h${7 - wide}${x > film.x ? "l5 -8.5" : ""}z`, look),
    sheet.text(x + wide / 2 - (x > film.x ? 0 : 2), 34.5, words, `mid ${inside}`),
  ];
  if (event?.difference) {
    const check = `\u2713 output = acc \u00f7 \u2113; largest difference < ${event.difference.toExponential(0)}`;
    part(layer, check, check.length * 0.9 * em + 14, "mark", "sign");
    return;
  }
  names.forEach((name, i) => {
    const todo = `${i + 1} ${name}`,
      isDone = loads && (i !== 1 || !isFirst),
      done = part(layer, isDone ? `\u2713 ${name}` : todo, wides[i], isDone ? "thin" : "chunk", isDone ? "" : "muted");
    if (isDone) {
      for (const node of done) kernel.seen.push([node, PARTS[i + 1], END, lag, 0]);
      for (const node of part(past, todo, wides[i], "chunk", "muted")) kernel.see(node, 0, PARTS[i]);
      for (const node of part(past, todo, wides[i], "mark", "sign")) kernel.see(node, PARTS[i], PARTS[i + 1], lag);
    }
    x += wides[i];
  });
  if (kernel.old && film.isRoomy) {
    kernel.see(layer.text(right, 34.5, "dashed: before the rescale", "muted end"), SHRINKS, END);
  }
}
