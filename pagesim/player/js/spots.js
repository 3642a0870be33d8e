// Where things are in a picture that has been drawn: [x, y, width, height] each.

export class Spots {
  constructor() {
    this.clear();
  }

  /** Call this before the picture is drawn again. */
  clear() {
    this.lists = new Map();
    this.entries = new Map();
    this.chips = new Map();
    this.rows = new Map();
    this.of = new Map();
    this.wires = new Map(); // from an entry of a table: the nodes of each, and how they are drawn
    this.ways = new Map(); // of copies under way, by their targets
    this.lost = null; // what an answer takes from a candidate
    return this;
  }

  keep() {
    return Object.assign(new Spots(), this);
  }
}
