// Reads the file: its text becomes a header and events, or a message.

import { isModel } from "./bytes.js";

const FORMAT = "pagesim-timeline/2";
const MAX_BYTES = 256 * 1024 * 1024; // more is a bomb, or too large for a notebook
const MAX_BLOCKS = 65536;

export class TimelineError extends Error {}

export const wrong = (text) => {
  throw new TimelineError(text);
};
export const isCount = (x) => Number.isSafeInteger(x) && x >= 0;
export const isName = (x) => Number.isSafeInteger(x) || typeof x === "string";
export const isNumber = (x) => typeof x === "number" && Number.isFinite(x);
export const list = (x, what) => (Array.isArray(x) ? x : wrong(`${what} is not a list`));
export const message = (error) => (error instanceof Error ? error.message : String(error));

/** A gzipped file in base64 → its text. */
export async function unpack(base64) {
  const packed = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  const stream = new DecompressionStream("gzip"); // fed by hand: simpler than through a Blob
  const writer = stream.writable.getWriter(),
    reader = stream.readable.getReader();
  const written = Promise.all([writer.write(packed), writer.close()]);
  const chunks = [];
  written.catch(() => {
    /* the reader fails with the same error */
  });
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    chunks.push(value);
    size += value.length;
    if (size > MAX_BYTES) wrong(`more than ${MAX_BYTES} bytes`);
  }
  return new TextDecoder("utf-8", { fatal: true }).decode(await new Blob(chunks).arrayBuffer());
}

/** Text → {header, events, problem}: a damaged line ends the events and becomes the problem. */
export function parse(text) {
  const lines = text.split("\n");
  const header = checkHeader(parseLine(lines[0], 1));
  const events = [];
  for (let i = 1; i < lines.length; i++) {
    if (lines[i] === "" && i === lines.length - 1) break;
    try {
      events.push(checkEvent(parseLine(lines[i], i + 1), i + 1));
    } catch (error) {
      return { header, events, problem: message(error) };
    }
  }
  const promised = header.events;
  const short = isCount(promised) && promised > events.length;
  const problem = short ? `the file ends after ${events.length} of ${promised} events` : "";
  return { header, events, problem };
}

function parseLine(line, number) {
  let value;
  try {
    value = JSON.parse(line);
  } catch {
    wrong(`line ${number} is not JSON`);
  }
  if (value === null || typeof value !== "object" || Array.isArray(value)) {
    wrong(`line ${number} is not a JSON object`);
  }
  return value;
}

function checkHeader(header) {
  if (header.format !== FORMAT) wrong(`line 1: format is ${JSON.stringify(header.format)}, not "${FORMAT}"`);
  if (!isCount(header.block_size)) wrong(`line 1: block_size is ${JSON.stringify(header.block_size)}`);
  if (header.block_size < 1) wrong("line 1: block_size is 0");
  header.queues = list(header.queues ?? [], "line 1: queues");
  for (const key of ["pools", "lists"]) {
    for (const pair of list(header[key], `line 1: ${key}`)) list(pair, `line 1: ${key}`);
    if (!header[key].every(([name]) => typeof name === "string")) wrong(`line 1: ${key} have no names`);
  }
  if (!header.queues.every((name) => typeof name === "string")) wrong("line 1: queues have no names");
  header.groups = list(header.groups ?? [], "line 1: groups");
  for (const group of header.groups) {
    const fits = typeof group?.kind === "string" && isCount(group.block_size) && group.block_size > 0;
    if (!fits) wrong("line 1: a group has no kind or no block_size");
  }
  let total = 0; // the first pool is drawn at the left, all others beside it
  for (const [name, size] of header.pools) {
    total += isCount(size) ? size : wrong(`line 1: pool ${name} has ${size} blocks`);
  }
  header.num_gpu_blocks = header.pools[0]?.[1] ?? 0;
  header.num_cpu_blocks = total - header.num_gpu_blocks;
  header.pool_names = [
    header.pools[0]?.[0] ?? "",
    header.pools
      .slice(1)
      .map(([name]) => name)
      .join(", "),
  ];
  if (total > MAX_BLOCKS) wrong(`line 1: ${total} blocks, the player shows at most ${MAX_BLOCKS}`);
  if (header.model && !isModel(header.model)) wrong("line 1: model does not describe tensors of K and V");
  if (header.state === null || typeof header.state !== "object") wrong("line 1: no state");
  return header;
}

/** What a program of a kernel holds: FORMAT.md. */
function checkRead(row, what) {
  const [program, name, query, head, slots, weights, ...held] = list(row, what),
    fits =
      list(program, what).every(isCount)
      && isName(name)
      && [query, head].every(isCount)
      && list(slots, what).every((slot) => slot === null || isCount(slot))
      && list(weights, what).every(isNumber)
      && weights.length > 0
      && [0, weights.length].includes(slots.length)
      && held.length === 3
      && held.every(isNumber);
  if (!fits) wrong(`${what} are not what a program holds`);
}

function checkEvent(event, number) {
  if (typeof event.event !== "string") wrong(`line ${number}: "event" is not a string`);
  event.of = isName(event.of) ? event.of : null;
  event.caption = typeof event.caption === "string" ? event.caption : "";
  for (const key of ["effects", "tables", "opened", "tokens", "closed", "queues", "scheduled", "marks", "reads"]) {
    event[key] = list(event[key] ?? [], `line ${number}: "${key}"`);
  }
  for (const row of event.effects) list(row, `line ${number}: an effect`);
  for (const row of [...event.tables, ...event.opened, ...event.tokens]) list(row, `line ${number}: a table`);
  for (const row of event.queues) list(row, `line ${number}: "queues"`);
  for (const row of event.scheduled) list(row, `line ${number}: "scheduled"`);
  for (const row of event.marks) list(list(row, `line ${number}: "marks"`)[2], `line ${number}: "marks"`);
  for (const row of event.reads) checkRead(row, `line ${number}: "reads"`);
  if (!isNumber(event.difference)) delete event.difference;
  event.line = number;
  return event;
}
