// Contiguous memory: one path for what a request holds, however many slots.

import { box } from "./cells.js";
import { svg } from "./svg.js";
import { isSelected } from "./tables.js";
import { nameText, short } from "./text.js";

const PARTS = ["edge", "written", "over-color", "reserved", "hatched", "stretch"];

export class Rows {
  /** Beside `at`, where each slot is, all is drawn by request. @param {Stage} stage */
  constructor(stage, parent) {
    const { layout, run } = stage,
      { cell, pools } = layout,
      [{ x: left, y: top, columns }] = pools,
      count = run.header.num_gpu_blocks,
      size = run.header.block_size,
      none = svg("g"); // motion asks for a node of each block
    this.stage = stage;
    this.signs = new Set();
    this.at = Array.from({ length: count }, (_, id) => ({
      id,
      x: left + (id % columns) * cell.w,
      y: top + Math.floor(id / columns) * (cell.h + cell.gy),
      g: none,
    }));
    this.node = parent.appendChild(svg("g", { role: "group", "aria-label": `${run.header.pool_names[0]} pool` }));
    let ticks = "";
    for (const { id, x, y } of cell.w < 5 ? [] : this.at) if (id % columns) ticks += `M${x.toFixed(1)} ${y}v${cell.h}`;
    this.node.append(
      svg("path", { d: ticks, class: "ticks" }),
      svg("path", { d: this.stretch(0, count), class: "edge unit" }),
    );
    for (const { id, x, y } of this.at.filter((one) => one.id % columns === 0)) {
      const text = svg("text", { x: x - 4, y: y + cell.h - 3, class: "end tiny muted" });
      text.textContent = `${id * size}`;
      this.node.append(text);
    }
    const whole = svg("rect", {
      x: left,
      y: top,
      width: columns * cell.w,
      height: this.at[count - 1].y + cell.h - top,
    });
    whole.setAttribute("class", "whole");
    whole.hit = { at: (x, y) => this.blockAt(x, y) };
    this.requests = this.node.appendChild(svg("g"));
    this.node.append(whole);
    this.groups = new Map(); // the nodes of each request
  }

  blockAt(x, y) {
    const { cell, pools } = this.stage.layout,
      [{ x: left, y: top, columns }] = pools,
      id = Math.floor((y - top) / (cell.h + cell.gy)) * columns + Math.floor((x - left) / cell.w);
    return id in this.at ? id : null;
  }

  /** The path of some slots in a row, which may begin and end within one, line by line. */
  stretch(from, to) {
    const { cell, pools } = this.stage.layout,
      [{ columns }] = pools;
    let d = "";
    for (let at = from; at < to;) {
      const { id, x, y } = this.at[Math.floor(at)],
        end = Math.min(to, id - (id % columns) + columns);
      d += box(+(x + (at - id) * cell.w).toFixed(1), y, +((end - at) * cell.w).toFixed(1), cell.h);
      at = end;
    }
    return d;
  }

  /** @param {State} state @param {Owner[][]} _ @param {View} view */
  draw(state, _, { selected }) {
    const { cell } = this.stage.layout,
      gone = new Set(this.groups.keys());
    for (const table of state.tables.values()) {
      const { name, ids } = table;
      if (!ids.length) continue;
      gone.delete(name);
      const g = this.groups.get(name) ?? this.begin(name),
        { color, pattern } = this.stage.run.look(name),
        first = ids[0],
        end = ids[ids.length - 1] + 1,
        filled = first + table.filled / state.blockSize,
        dim = selected && !isSelected(selected, ids.includes(selected.value) ? selected.value : -1, [{ name }]);
      const [edge, written, over, reserved, hatched, outline] = g.parts;
      g.node.setAttribute("class", dim ? "ps-cell dim" : "ps-cell");
      g.node.setAttribute("data-block", first);
      for (const [node, from, to, fill] of [
        [edge, first, end, "transparent"],
        [written, first, filled, color],
        [over, first, filled, pattern ?? "none"],
        [reserved, filled, end, color],
        [hatched, filled, end, "url(#ps-hatch)"],
        [outline, first, end, "none"],
      ]) {
        node.setAttribute("d", this.stretch(from, to));
        node.setAttribute("fill", fill);
      }
      const { x, y } = this.at[first],
        text = short(nameText(name), 12),
        room = Math.min(ids.length, 12) * cell.w;
      g.label.setAttribute("x", x + 4);
      g.label.setAttribute("y", y + cell.h / 2 + 4);
      g.label.textContent = text.length * 7 < room ? text : "";
    }
    for (const name of gone) {
      this.groups.get(name).node.remove();
      this.groups.delete(name);
    }
    [...this.requests.children].forEach((node, i) => node.setAttribute("tabindex", i ? -1 : 0));
  }

  /** The nodes of a request that is new. */
  begin(name) {
    const node = this.requests.appendChild(svg("g", { role: "button", "aria-label": nameText(name) })),
      parts = PARTS.map((part) => node.appendChild(svg("path", { class: part }))),
      label = node.appendChild(svg("text", { class: "strong halo" }));
    node.hit = { seq: name };
    const made = { node, parts, label };
    this.groups.set(name, made);
    return made;
  }

  /** The keyboard's way from a request to the next one. @param {Hit} hit */
  walk({ seq }, dx, dy) {
    const all = [...this.groups].sort(([, a], [, b]) => a.node.dataset.block - b.node.dataset.block),
      at = all.findIndex(([name]) => name === seq);
    all[at + dx + dy]?.[1].node.focus();
  }

  /** Every request has its name. */
  lift() {}
}
