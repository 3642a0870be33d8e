// Drawing tools that reuse their nodes from step to step.

const SVG = "http://www.w3.org/2000/svg";

export function svg(tag, attributes = {}) {
  const node = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
}

/**
 * Nodes of one kind, reused from step to step. An attribute is written only when it changes, and
 * surplus nodes leave the page: the same step always gives the same markup.
 */
export class Recycler {
  constructor(parent, tag, anchor = null) {
    this.parent = parent;
    this.tag = tag;
    this.anchor = anchor;
    this.nodes = [];
    this.used = this.shown = 0;
  }

  /** @param {Hit | null} hit */
  next(attributes, hit = null) {
    let node = this.nodes[this.used];
    if (!node) {
      node = this.nodes[this.used] = svg(this.tag);
      node.now = {};
    }
    if (this.used === this.shown) {
      this.parent.insertBefore(node, this.anchor);
      this.shown += 1;
    }
    this.used += 1;
    for (const key in attributes) {
      if (node.now[key] !== attributes[key]) node.setAttribute(key, (node.now[key] = attributes[key]));
    }
    node.hit = hit;
    return node;
  }

  done() {
    while (this.shown > this.used) this.nodes[--this.shown].remove();
    this.used = 0;
  }
}

/** A sheet that is redrawn at each step: rectangles below paths below texts. */
export class Layer {
  constructor(parent, className) {
    this.groups = [];
    const group = (name) => {
      const node = parent.appendChild(svg("g", { class: `${className} ${name}` }));
      this.groups.push(node);
      return node;
    };
    this.kinds = {
      rect: new Recycler(group("rects"), "rect"),
      path: new Recycler(group("paths"), "path"),
      ground: new Recycler(group("grounds"), "rect"),
      text: new Recycler(group("texts"), "text"),
    };
  }

  /** @param {Hit | null} hit */
  rect(x, y, width, height, className, fill = "none", hit = null) {
    return this.kinds.rect.next({ x, y, width, height, class: className, fill }, hit);
  }

  path(d, className, stroke = "none", fill = "none") {
    return this.kinds.path.next({ d, class: className, stroke, fill });
  }

  /** @param {Hit | null} hit */
  text(x, y, text, className = "", hit = null) {
    const node = this.kinds.text.next({ x, y, class: className }, hit);
    if (node.now.text !== text) node.textContent = node.now.text = text;
    return node;
  }

  /** Text on a background of paper, readable on fills and hatches. @param {Hit | null} hit */
  pill(x, y, text, className = "", hit = null) {
    const width = 6.4 * text.length + 5;
    this.ground(x - width / 2, y - 9.5, width, 12.5, "pill", hit);
    this.text(x, y, text, `mid ${className}`, hit);
  }

  /** A background for text: above the paths, unlike `rect`. @param {Hit | null} hit */
  ground(x, y, width, height, className, hit = null) {
    this.kinds.ground.next({ x, y, width, height, class: className }, hit);
  }

  done() {
    for (const kind of Object.values(this.kinds)) kind.done();
  }
}
