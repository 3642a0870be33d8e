// The occupancy of the whole run.

import { MARGIN, WIDE } from "./layout.js";
import { svg } from "./svg.js";
import { plural } from "./text.js";

const SHARES = new Map([
  ["token", "token"],
  ["internal", "internal (partly filled)"],
  ["reserved", "reserved (no token yet)"],
  ["free", "free"],
]);

/** The occupancy of the GPU pool over the whole run; a click selects a step. */
export class Curve {
  /** @param {Run} run */
  constructor(run, go, all = WIDE) {
    const narrow = all < 700, // the legend stands below the curve
      far = all === WIDE;
    this.run = run;
    this.left = 92;
    this.top = 4;
    this.width = all - 92 - MARGIN;
    this.height = 62;
    this.node = svg("svg", { viewBox: `0 0 ${all} ${narrow ? 104 : 84}`, role: "img" });
    this.node.setAttribute("class", far ? "ps-curve far" : "ps-curve");
    this.node.setAttribute("aria-label", this.words());
    const { left, top, width, height } = this;
    const names = ["reserved", "internal", "token"]; // painted from the back to the front
    const counts = [3, 2, 1];
    this.node.append(svg("rect", { x: left, y: top, width, height, class: "share-free" }));
    names.forEach((name, i) => this.node.append(svg("path", { d: this.area(counts[i]), class: `share-${name}` })));
    this.node.append(svg("rect", { x: left, y: top, width, height, class: "edge" }));
    const text = (x, y, words, className) => {
      this.node.appendChild(svg("text", { x, y, class: className })).textContent = words;
    };
    text(MARGIN, top + 36, "GPU slots", "strong");
    text(left - 4, top + 9, "100 %", "end muted small");
    text(left - 4, top + height, "0 %", "end muted small");
    text(left, top + height + 13, "step 0", "muted small");
    text(left + width, top + height + 13, `${run.steps}`, "end muted small");
    ["token", "internal", "reserved", "free"].forEach((name, i) => {
      const x = narrow
        ? MARGIN + [0, 66, 144, 228][i]
        : left + width / 2 + [-2.2, -1.45, 0.05, 1.55][i] * (far ? 100 : 112);
      const y = top + height + (narrow ? 22 : 5);
      this.node.append(svg("rect", { x, y, width: 12, height: 10, class: `swatch share-${name}` }));
      text(x + 17, y + 9, narrow ? name : SHARES.get(name), "muted small");
    });
    this.cursor = this.node.appendChild(svg("path", { class: "cursor" }));
    const seek = (event) => {
      const box = this.node.getBoundingClientRect();
      const at = ((event.clientX - box.left) * all) / (box.width || 1);
      go(Math.round(((at - left) / width) * run.steps));
    };
    let from = { clientX: 0, clientY: 0 };
    this.node.addEventListener("pointerdown", (event) => {
      this.node.setPointerCapture(event.pointerId);
      from = event;
      if (event.pointerType !== "touch") seek(event);
    });
    this.node.addEventListener("pointermove", (event) => {
      const along = Math.abs(event.clientX - from.clientX) > Math.abs(event.clientY - from.clientY);
      if (this.node.hasPointerCapture(event.pointerId) && (along || event.pointerType !== "touch")) seek(event);
    });
    this.node.addEventListener("click", seek); // a finger that taps; one that scrolls changes nothing
  }

  area(count) {
    const { run, left, top, width, height } = this;
    const columns = Math.min(run.steps, Math.floor(width));
    const y = (step) => {
      const part = run
        .percent(step)
        .slice(0, count)
        .reduce((sum, x) => sum + x, 0);
      return (top + height * (1 - Math.min(part, 100) / 100)).toFixed(1);
    };
    let d = `M${left} ${top + height}`;
    for (let i = 0; i <= columns; i++) {
      const step = columns ? Math.round((i / columns) * run.steps) : 0;
      const x = (left + (columns ? (i / columns) * width : 0)).toFixed(1);
      d += `${i ? `H${x}` : ""}V${y(step)}`;
    }
    return `${d}H${left + width}V${top + height}z`;
  }

  words() {
    const { run } = this;
    let peak = 0;
    for (let i = 0; i <= run.steps; i++) if (run.percent(i)[3] < run.percent(peak)[3]) peak = i;
    return (
      `Occupancy of the GPU's slots over ${plural(run.steps, "step")}. `
      + `Fullest at step ${peak}: ${shares(run, peak)}. At the end: ${shares(run, run.steps)}.`
    );
  }

  draw(step) {
    const { run, left, top, width, height } = this;
    const x = (left + (run.steps ? (step / run.steps) * width : 0)).toFixed(1);
    this.cursor.setAttribute("d", `M${x} ${top - 3}v${height + 6}`);
  }
}

/** @param {Run} run */
export function shares(run, step) {
  const names = [...SHARES.keys()];
  return run
    .percent(step)
    .map((part, i) => `${names[i]} ${part.toFixed(1)} %`)
    .join(", ");
}
