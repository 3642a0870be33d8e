// Many sequences: too many colours to tell apart say nothing. Only the sequences of a step and those that a reader
// means keep theirs; all others are one quiet grey.

import { COLORS } from "./model.js";
import { namesIn } from "./search.js";

/** How all sequences together are painted. */
export const ALL = { place: 0, ink: "", color: "var(--crowd)", pattern: null };
/** How memory is painted that several share. */
export const COMMON = { color: "var(--muted)", pattern: null };

/** The sequences that a reader means: of a block all owners.
 * @param {Owner[][] | null} owners @param {{block?: any, seq?: any}} hit @returns {Name[]} */
export const meant = (owners, { block, seq }) =>
  [seq, ...(owners?.[block] ?? []).map(({ name }) => name)].filter((name) => name !== undefined);

/** Who has colours, if there are many sequences: this step's, unless they are many as well, and the reader's.
 * @param {Run} run @param {View} view @returns {Set<Name> | null} */
export function nearTo(run, owners, view) {
  if (!run.isCrowd) return null;
  const { event, selected } = view,
    { kind = "seq", value } = selected ?? {},
    own = new Set(event ? namesIn(event, run.groups) : []);
  return new Set([...(own.size > COLORS.length ? [] : own), ...meant(owners, { [kind]: value })]);
}
