// Contiguous memory: one path for what a request holds, however many slots.

import { fieldOf } from "./field.js";
import { Layer, Recycler, svg } from "./svg.js";
import { isSelected } from "./tables.js";
import { nameText, ranges, short } from "./text.js";

export class Rows {
  /** Beside `at`, where each slot is, all is drawn by request. @param {Stage} stage */
  constructor(stage, parent) {
    const { layout, run } = stage,
      { w, h, gy } = layout.cell,
      [{ x: left, y: top, columns }] = layout.pools,
      { num_gpu_blocks: count, block_size: size } = run.header,
      none = svg("g"), // motion asks for a node of each slot
      node = parent.appendChild(svg("g"));
    this.node = node;
    this.stage = stage;
    this.signs = new Set();
    this.field = fieldOf(left, top, columns, w, h, h + gy);
    this.at = Array.from({ length: count }, (_, id) => {
      const [x, y] = this.field.at(id);
      return { id, x, y, g: none };
    });
    const ground = new Layer(node, "memory");
    ground.path(this.field.outline(0, count), "edge unit");
    if (w > 5) ground.path(this.at.map(({ id, x, y }) => (id % columns ? `M${x} ${y}v${h}` : "")).join(""), "ticks");
    for (let id = 0; id < count; id += columns) {
      ground.text(left - 4, this.at[id].y + h / 2 + 4, `${id * size}`, "end tiny muted");
    }
    this.layer = new Layer(node, "memory");
    this.requests = new Recycler(node, "path");
    const whole = node.appendChild(svg("rect", { x: left, y: top, width: columns * w, class: "whole" }));
    whole.setAttribute("height", `${this.at[count - 1].y + h - top}`);
    whole.hit = {
      at: (x, y) => {
        const id = this.field.under(x, y);
        return id !== null && id in this.at ? id : null;
      },
    };
  }

  /** @param {State} state @param {Owner[][]} _ @param {View} view */
  draw(state, _, { selected }) {
    const { layer, field, stage } = this,
      { w, h } = stage.layout.cell,
      [{ columns }] = stage.layout.pools;
    for (const { name, ids, filled } of state.tables.values()) {
      if (!ids.length) continue;
      const [from] = ids,
        to = from + ids.length,
        written = from + filled / state.blockSize,
        { color, pattern } = stage.run.look(name),
        followed = selected && isSelected(selected, ids.find((id) => id === selected.value) ?? -1, [{ name }]),
        dim = selected && !followed ? "dim " : "",
        text = short(nameText(name), 12),
        { x, y } = this.at[from];
      layer.path(field.outline(from, written), dim, "none", color);
      if (pattern) layer.path(field.outline(from, written), dim, "none", pattern);
      layer.path(field.outline(written, to), `${dim}reserved`, "none", color);
      const which = ranges(ids, state.blockSize)[0].text.replace("\u2013", " to "),
        called = `${nameText(name)}, slots ${which}, ${filled} filled`,
        known = { role: "button", "aria-label": called, tabindex: this.requests.used ? -1 : 0, "data-block": from };
      this.requests.next({ d: field.outline(from, to), class: `${dim}ps-cell stretch`, ...known }, { seq: name });
      if (text.length * 7 < Math.min(ids.length, columns - (from % columns)) * w) {
        layer.text(x + 4, y + (h < 16 ? -2.5 : h / 2 + 4), text, `${dim}strong halo`); // a thin row has it above
      }
    }
    layer.done();
    this.requests.done();
  }

  /** The keyboard's way from a request to the next one in memory. @param {Hit} hit */
  walk({ seq }, dx, dy) {
    const all = this.requests.nodes.slice(0, this.requests.shown).sort((a, b) => a.dataset.block - b.dataset.block);
    all[all.findIndex(({ hit }) => hit.seq === seq) + dx + dy]?.focus();
  }

  /** Every request has its name. */
  lift() {}
  calm() {}
}
