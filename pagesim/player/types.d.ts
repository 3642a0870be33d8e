// What the player's modules hand to each other, for `tsc --checkJs` alone: the page never sees it.
// A parameter without a type is any; what these names say is checked.

import type { Player as Controls } from "./js/controls.js";
import type { Stage as Picture } from "./js/view.js";
import type { Layer as Sheet } from "./js/svg.js";
import type { Run as WholeRun } from "./js/model.js";
import type { Lives } from "./js/lives.js";
import type { Axis as TimeAxis } from "./js/axis.js";
import type { Course as WholeCourse } from "./js/course.js";
import type { Groups as Kinds } from "./js/groups.js";
import type { Spots as Places } from "./js/spots.js";
import type { When } from "./js/when.js";
import type { Kernel as Readers } from "./js/kernel.js";
import type { State as Pages } from "./js/state.js";

declare global {
  /** The style of the page, which bundle.mjs puts in. */
  const STYLE: string;
  /** Whether the page plays a film of a kernel: no other page carries what draws one. */
  const FILM: boolean;
  /** Whether the page has two runs. */
  const PAIR: boolean;

  interface Window {
    pagesimPlayer: Hooks | undefined;
    pagesimPlayers: (Hooks | undefined)[];
    pagesimPair: object;
  }
  /** What a pointer hits: set on the node that is drawn. */
  interface EventTarget {
    hit?: Hit | null;
  }
  interface SVGElement {
    now: Record<string, unknown>;
  }

  type Player = Controls;
  type Stage = Picture;
  type Kernel = Readers;
  type Layer = Sheet;
  type Run = WholeRun;
  type Groups = Kinds;
  type Axis = TimeAxis;
  type Course = WholeCourse;
  type State = Pages;
  type Spots = Places;

  /** The tensors behind the blocks: FORMAT.md. */
  interface Shape {
    name: string;
    layers: number;
    kv_heads: number;
    head_dim: number;
    bytes: number;
    layout: string;
    values?: [Name, number, number[][]][];
  }
  /** Runs of bytes that lie at equal distances. */
  interface Runs {
    start: number;
    run: number;
    count: number;
    step: number;
  }
  /** A copy between the GPU and a second tier, and its line in the picture. */
  interface Job {
    id: number;
    kind: string; // store or load
    request: Name;
    pairs: number[][];
    isFlushed: boolean;
  }
  interface Way {
    points: number[][];
    node: SVGElement;
  }
  /** A part of an event, the state before it, and what has been done by then. */
  interface Beat {
    name: string;
    part: PageEvent;
    state: State;
    done: PageEvent | null;
  }
  /** A map that has every key it is asked for. */
  interface Whole<K, V> extends Map<K, V> {
    get(key: K): V;
  }
  /** A request over a whole run: [from which step, up to which or null, its queue]. */
  interface Line {
    name: Name;
    spans: [number, number | null, string][];
    preempted: number[];
    ended: number | null;
    lost: boolean; // it left without its output
  }
  /** Of a sequence or a request. */
  type Name = string | number;
  /** Its kind, its block (or groups), and what the kind needs: FORMAT.md. */
  type Effect = [string, any, ...any[]];
  type Box = [number, number, number, number];
  /** Of a cell and of what stands around it; the last three are 0 where a block is not a strip of slots. */
  interface Sizes {
    w: number;
    h: number;
    gx: number;
    gy: number;
    detail: number;
    before: number;
    behind: number;
    owners: number;
  }
  /** The cells of both pools: g and c are their numbers of columns. */
  interface Grid extends Sizes {
    g: number;
    c: number;
    rows: number;
  }

  /** A large pool as one picture: so many columns of squares, and how many blocks are enlarged. */
  interface Texture {
    shown: number;
    columns: number;
    t: number;
    apart: number; // empty places before the second pool
    height: number;
  }

  interface Header {
    [key: string]: any;
    block_size: number;
    num_gpu_blocks: number;
    num_cpu_blocks: number;
    pool_names: [string, string];
    lists: [string, string?][];
    queues: string[];
    groups: { kind: string; block_size: number; sliding_window?: number }[];
    caching?: boolean;
    model?: Shape;
  }
  interface PageEvent {
    event: string;
    of: Name | null;
    caption: string;
    effects: Effect[];
    tables: [Name, number, number[]][];
    opened: [Name, unknown[], number?][];
    tokens: [Name, number, unknown[]][];
    closed: Name[];
    queues: [string, string, number, Name, Name?][];
    scheduled: [Name, Name | null, number, boolean][];
    marks: [unknown, unknown, [number, number][]][];
    reads: [number[], Name, number, number, (number | null)[], number[], number, number, number][];
    difference?: number;
    line: number;
    step?: number;
    called?: string;
  }
  interface Table {
    name: Name;
    ids: number[];
    tokens: unknown[];
    known: number;
    filled: number;
  }
  interface Mark {
    name: string;
    on: string; // slots or blocks
    numbers: Map<number, number>;
  }
  /** What a program holds after a load, for one query and head. */
  interface Load {
    step: number;
    slots: (number | null)[];
    weights: number[];
    m: number;
    l: number;
  }
  interface ProgramRow {
    of: string;
    query: number;
    head: number;
    loads: Load[];
    first: number; // how many keys are those of earlier partitions
    merged?: Load; // by the reduction
  }
  /** A program of a kernel: `part` is the number of its partition, or -1. */
  interface Program {
    key: string;
    index: number[];
    name: Name;
    merges: boolean;
    part: number;
    rows: ProgramRow[];
    steps: number[];
  }
  interface ProgramBox {
    program: Program;
    y: number;
    h: number;
    tall: boolean; // one row, its title beside it
    once: boolean; // all programs of the sequence do the same at each step: its table shows it
    left: number; // where its bars begin
    unit: number; // the width of a bar
    words: [string, number][]; // under the last of some boxes: what each column is the key of, and when it is loaded
    lines: number[]; // and in which line below each stands
  }
  /** Where programs are drawn, and the scales of their numbers. */
  interface Film {
    x: number;
    right: number;
    boxes: ProgramBox[];
    tables: { name: Name; y: number }[];
    rest: number;
    number: number; // the width of a column of numbers
    em: number;
    isRoomy: boolean;
    least: number;
    most: number;
    sum: number;
    end: number;
    height: number;
  }
  interface Word {
    name: Name;
    position: number;
  }
  /** A word, and where its bytes are. */
  interface Found extends Word {
    k: number;
    block: number;
    offset: number;
    slot: number;
  }
  interface Hit {
    block?: number;
    program?: string;
    seq?: Name;
    word?: Word;
    at?: (x: number, y?: number) => number | null | undefined;
  }
  interface Selected {
    kind: string; // block or seq
    value: any;
  }
  /** What a reader has chosen to see of a step. */
  interface View {
    selected: Selected | null;
    hideNext: boolean;
    slots: boolean;
    picks: number[];
    shade: number;
    round: number;
    differ: Set<Name>;
    event: PageEvent | null;
  }
  /** How a sequence is painted. */
  interface Look {
    place: number;
    color: string;
    pattern: string | null;
    ink: string;
  }
  /** One of several groups: the tokens of its blocks, its window, how it is called. */
  interface Group {
    size: number;
    window?: number;
    state: boolean;
    letter: string;
    label: string;
  }
  interface Owner extends Partial<Look> {
    name: Name;
  }
  /** What a cell looks like: it is painted again when this changes. */
  interface Face {
    refs: number;
    waiting: boolean;
    isNull: boolean;
    fill: number;
    cached: boolean;
    computed: boolean;
    dim: boolean;
    chosen: boolean;
    slots: boolean;
    group: Group | undefined;
    size: number;
    letter: string;
    job: Name | undefined;
    after: number | undefined;
    last: Name | undefined;
    code: string | null;
    lit: (number | undefined)[];
    words: string[];
  }
  /** A block → the kinds of a step's effects on it. */
  type Changed = Map<number, Set<string>>;
  interface Kept {
    read(): Record<string, any>;
    write(value: object): void;
  }
  interface Hooks {
    readonly step: number;
    readonly steps: number;
    readonly timings: Record<string, number>;
    readonly beats: string[];
    beat(i: number, back?: boolean): void;
    goto(step: number): void;
    state(): object;
    header: Header;
    problem: string;
  }
}

// The fields that a constructor copies from an object, or that a static method sets.
declare module "./js/state.js" {
  interface State {
    poolNames: string[];
    listNames: string[];
    sorted: boolean[];
    blockSize: number;
    numGpu: number;
    total: number;
    refs: Int32Array;
    fill: Int32Array;
    taken: Int32Array;
    freed: Int32Array;
    flags: Uint8Array;
    content: { tokens?: unknown[]; first?: number; state?: number; name: Name; last?: Name }[];
    group: Int8Array;
    groups: Groups;
    tables: Map<Name, Table>;
    slots: { token: number; internal: number; reserved: number };
    gaps: Map<number, { list: number; rank: number; behind: number | null }>;
    flight: { step: number; rows: PageEvent["scheduled"] }[];
    preempted: Set<Name>;
    lists: number[][];
    nullBlock: number | null;
    queues: Map<string, Name[]>;
    requests: Map<Name, Name>;
    perChunk: number;
    jobs: Map<number, Job>;
    ended: Job[];
    deferred: Map<Name, number[]>;
    loaded: Set<Name>;
  }
}
declare module "./js/model.js" {
  interface Run {
    header: Header;
    problem: string;
    events: PageEvent[];
    keyframes: State[];
    groups: Groups;
    perChunk: number;
    programs: Program[];
    lives: Lives;
  }
}
declare module "./js/lens.js" {
  interface Lens {
    model: Shape;
    inBytes: boolean | undefined;
  }
}
declare module "./js/controls.js" {
  interface Player {
    hooks: Hooks;
    stage: Stage;
    when: When;
    lens: import("./js/lens.js").Lens;
    pointer: { x: number; y: number };
    lasts: number;
    word: Word | null;
    hovered: Hit | null;
    selected: Selected | null;
    found: number[] | null;
  }
}
declare module "./js/view.js" {
  interface Stage {
    heads: [SVGElement, string, number][];
    shade: Mark | undefined;
    lit: Map<number, number>;
    pending: Map<number, Job>;
    step: number;
  }
}
declare module "./js/spots.js" {
  interface Spots {
    lists: Map<number, Box>;
    entries: Map<number, Box>;
    chips: Map<Name, Box>;
    rows: Map<string, [number, number]>;
    lost: Box | null;
    of: Map<string, Box>;
    wires: Map<string, [SVGElement, string][]>;
    ways: Map<number, Way>;
  }
}
declare module "./js/ghosts.js" {
  interface Ghosts {
    left: number;
    duration: number;
    back: boolean;
    before: Spots;
    after: Spots;
    live: Spots;
  }
}
declare module "./js/motion.js" {
  interface Motion {
    each: number;
    back: boolean;
    also: Owner[][][];
  }
}
declare module "./js/race.js" {
  interface Race {
    axes: Axis[];
    max: number;
    width: number;
    courses: Course[];
    pools: import("./js/pool.js").Pool[];
    last: [number[], number];
  }
}
declare module "./js/pair.js" {
  interface Pair {
    stops: number[][];
    steps: number;
    slider: HTMLInputElement;
    linkButtons: HTMLElement[];
    places: number[];
  }
}
declare module "./js/course.js" {
  interface Course {
    axis: Axis;
    max: number;
    step: number;
  }
}
