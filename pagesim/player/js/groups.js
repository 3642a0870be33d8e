// The groups of layers in a file, each with tables, a block size and perhaps a window of its own.
// In a file with one group, which the header does not name, a table is its request's and nothing else.

const KINDS = new Map([
  ["full", "F"],
  ["window", "W"],
  ["mamba", "S"],
]);

export class Groups {
  constructor({ groups, block_size }) {
    this.size = block_size;
    this.several = groups.length > 1;
    const letters = groups.map(({ kind }) => KINDS.get(kind) ?? kind[0].toUpperCase());
    this.list = groups.map(({ kind, block_size: size, sliding_window: window }, i) => {
      const alike = letters.filter((letter) => letter === letters[i]),
        nth = letters.slice(0, i + 1).filter((letter) => letter === letters[i]).length;
      return {
        size,
        window,
        state: kind === "mamba",
        letter: alike.length > 1 ? `${letters[i]}${nth}` : letters[i],
        label: kind === "mamba" ? "state" : kind === "window" ? `window ${window}` : kind,
      };
    });
  }

  /** The group of a table: 0 where there is only one. */
  of(name) {
    if (!this.several) return 0;
    const at = `${name}`.lastIndexOf("@"),
      group = +`${name}`.slice(at + 1);
    return at >= 0 && group < this.list.length ? group : 0;
  }

  /** Whose table it is, under the name by which a reader knows it: the request, or with one group the table. */
  owner(name) {
    if (!this.several || typeof name !== "string" || !/@\d+$/.test(name)) return name;
    const request = name.slice(0, name.lastIndexOf("@"));
    return /^\d+$/.test(request) ? +request : request;
  }

  /** The tokens of a block of this table. */
  sizeOf(name) {
    return this.several ? this.list[this.of(name)].size : this.size;
  }

  /** Whether a block of this table holds a state instead of slots. */
  isState(name) {
    return this.several && this.list[this.of(name)].state;
  }

  /** Who speaks for some groups that are asked together, and the verb: ["the 3 windows of 8", "say"]. */
  speaker(ids) {
    const { state, window, label } = this.list[ids[0]],
      [one, of] = state ? ["state", ""] : window === undefined ? [label, ""] : ["window", ` of ${window}`];
    if (one === "full") return ["full attention", "says"];
    return ids.length > 1 ? [`the ${ids.length} ${one}s${of}`, "say"] : [`the ${one}${of}`, "says"];
  }
}
