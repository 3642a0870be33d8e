// The lens: from a word to its bytes in five beats, each of which uses a number that the one before has found.

import { LAYOUTS, allBytes, modelsOf, sizeText } from "./bytes.js";
import { button, html } from "./html.js";
import { HEAD } from "./layout.js";
import { beatsOf } from "./stations.js";
import { follow } from "./trace.js";

const ROOM = 340,
  MOST = 470; // what the lens needs and takes beside the pool, in pixels
const still = matchMedia("(prefers-reduced-motion: reduce)");

export class Lens {
  /** @param {Player} player */
  constructor(player) {
    const models = modelsOf(player.run.header);
    this.player = player;
    /** @type {Word | null} */
    this.word = null;
    this.beat = this.turns = 0;
    this.models = models;
    this.several = player.run.groups.several; // layers of several groups differ in what a block is to them
    this.title = html("b", {});
    this.list = html("ol", {});
    this.hint = html("span", {});
    this.slider = html("input", { type: "range", min: 0, value: 0, "aria-label": "layer", input: () => this.draw() });
    this.choice = html(
      "select",
      { change: () => this.draw() },
      ...models.map(({ name, layout }) => html("option", {}, `${name}, ${LAYOUTS[layout]}`)),
    );
    this.unit = button("mib", "MiB", "count in MiB instead of blocks", () => this.count(!this.inBytes));
    this.node = html(
      "section",
      { class: "ps-lens", tabindex: -1, hidden: true, keydown: (event) => this.key(event) },
      html(
        "div",
        { class: "ps-bar" },
        this.title,
        html("span", { class: "ps-space" }),
        button("lens-back", "\u2190", "one beat back (\u2190)", () => this.go(-1)),
        button("lens-deeper", "\u2192", "one beat deeper (\u2192)", () => this.go(1)),
        button("lens-close", "\u2715", "close (Escape)", () => this.close()),
      ),
      this.list,
      html(
        "div",
        { class: "ps-bar", hidden: this.several },
        this.slider,
        this.hint,
        html("label", {}, "as in ", this.choice),
        this.unit,
      ),
    );
    for (const kind of ["mousedown", "click", "pointerover", "pointermove", "focusin", "touchstart"])
      this.node.addEventListener(kind, (event) => event.stopPropagation()); // they are not about the picture
  }

  /** Look at a word, from the first beat on. @param {Word} word */
  async open(word, focus = false) {
    const { layout } = this.player.stage;
    if (layout.contiguous || !follow(this.player.state, word)) return;
    this.word = word;
    this.node.hidden = false;
    this.draw();
    this.place();
    this.player.hover(null);
    if (focus) this.node.focus({ preventScroll: true });
    this.show(still.matches ? 5 : 1);
    for (const mine = ++this.turns; mine === this.turns && this.beat < this.list.children.length;)
      await this.carry().catch(() => {});
  }

  close() {
    if (!this.word) return;
    const { word, player } = this,
      found = word && follow(player.state, word);
    if (this.node.contains(document.activeElement))
      ((found && player.stage.cells.at[found.block]?.edge) ?? player.root).focus();
    this.turns += 1;
    this.word = null;
    this.node.hidden = true;
    player.hover(null);
  }

  /** Beside the pool if the sheet is empty there, or below it. */
  place() {
    const { layout, cells, node } = this.player.stage,
      { style, dataset } = this.node,
      scale = node.clientWidth / layout.width,
      end = Math.max(...cells.at.map(({ x }) => x)) + layout.cell.w + layout.cell.behind,
      free = (layout.width - end) * scale - 12;
    dataset.place = "side";
    style.width = `${Math.min(free, MOST)}px`;
    if (free > ROOM && this.node.offsetHeight <= (HEAD + layout.body) * scale) return;
    dataset.place = "below";
    style.width = "";
  }

  /** The first beats; the others keep their room. */
  show(beat) {
    this.beat = Math.max(beat, 1);
    [...this.list.children].forEach((node, i) => node.classList.toggle("ahead", i >= beat));
  }

  go(way) {
    this.turns += 1;
    if (way < 0) this.show(this.beat - 1);
    else this.carry().catch(() => {});
  }

  /** Show the next beat: the number that it uses comes from where it was found. */
  carry() {
    const [from, to] = [...this.list.children].slice(this.beat - 1);
    if (!to) return Promise.resolve();
    this.show(this.beat + 1);
    const was = [...from.querySelectorAll("b")].at(-1)?.getBoundingClientRect(),
      used = to.querySelector("b"),
      is = used?.getBoundingClientRect();
    if (still.matches || !was || !is) return Promise.resolve();
    for (const late of to.querySelectorAll(":not(b, .ps-sum)")) late.animate({ opacity: [0, 0, 1] }, 400);
    const transform = [`translate(${was.x - is.x}px, ${was.y - is.y}px)`, "none"];
    return used.animate({ transform }, { duration: 300, easing: "ease-in-out" }).finished;
  }

  /** Write how much memory there is into the picture, or how it was. */
  count(inBytes) {
    this.inBytes = inBytes;
    this.unit.setAttribute("aria-pressed", inBytes);
    const { stage, when, run } = this.player,
      size = run.header.block_size,
      [{ x }, { x: next }] = stage.layout.pools,
      text = (n) => (inBytes ? ` = ${sizeText(allBytes(this.model, n * size))}` : "");
    for (const [node, words, count] of stage.heads)
      node.textContent = words + (inBytes && (x === next || next - x > 260) ? `: ${count} blocks` : "") + text(count);
    when.course.more = text(run.keyframes[0].usable);
    when.measure(when.unit);
  }

  /** The word as it is at this step. */
  draw() {
    const { player, word, slider } = this,
      model = (this.model = this.models[this.choice.selectedIndex]);
    slider.max = model.layers - 1;
    this.hint.textContent = `layer ${slider.value} of ${model.layers}: same table, another base address`;
    if (this.inBytes) this.count(true);
    if (!word) return;
    const { tokens, known } = player.state.tables.get(word.name) ?? { tokens: [], known: 0 },
      found = follow(player.state, word),
      said = word.position < known ? `\u201c${player.label(tokens[word.position])}\u201d` : `token ${word.position}`,
      title = found ? `Where is ${said}?` : `${said} is not in the cache at this step.`,
      beats = found ? beatsOf(player, found, model, +slider.value).slice(0, this.several ? 3 : 5) : [];
    this.title.textContent = title;
    this.node.setAttribute("aria-label", title);
    this.list.setAttribute("aria-live", player.timer ? "off" : "polite");
    const fresh = beats.map((one) => one.textContent).join("");
    if (fresh !== this.list.textContent) this.list.replaceChildren(...beats); // else it would be read out again
    this.show(this.beat);
  }

  key(event) {
    const { target, key } = event,
      { name, position } = /** @type {Word} */ (this.word),
      next = (way) => () => {
        if (!follow(this.player.state, { name, position: position + way })) return;
        this.word = { name, position: position + way };
        this.draw();
        this.player.hover(null);
      },
      does = {
        Escape: () => this.close(),
        ArrowRight: () => this.go(1),
        ArrowLeft: () => this.go(-1),
        ArrowDown: next(1),
        ArrowUp: next(-1),
      };
    event.stopPropagation();
    if (!Object.hasOwn(does, key) || (key !== "Escape" && /INPUT|SELECT/.test(target.tagName))) return;
    event.preventDefault();
    does[key]();
  }
}
