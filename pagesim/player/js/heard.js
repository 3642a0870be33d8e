// What routers are told about an event, in runs whose engine tells them.

const MOST = 12;

/** "routers hear: what 5 held is removed; what 1, 2 hold is stored", or nothing: they know no blocks,
 * but contents. @param {Run} run @param {PageEvent} event @param {State} after */
export function forRouters(run, event, after) {
  const { kv_events: tells, num_gpu_blocks: gpu } = run.header;
  if (tells !== true) return "";
  /** @type {[string, number[]][]} */
  const told = [];
  if (event.event === "reset_prefix_cache") {
    return after.refs.slice(0, gpu).some(Boolean) ? "" : "routers hear: all is removed";
  }
  for (const [kind, id] of event.effects) {
    if ((kind !== "cache" && kind !== "evict") || id >= gpu) continue;
    const last = told.at(-1);
    if (last?.[0] === kind) last[1].push(id);
    else told.push([kind, [id]]);
  }
  const words = told.map(([kind, ids]) => {
    const more = ids.length > MOST ? ` and ${ids.length - MOST} more` : "",
      what = `what ${ids.slice(0, MOST).join(", ")}${more}`;
    return kind === "cache" ? `${what} ${ids.length > 1 ? "hold" : "holds"} is stored` : `${what} held is removed`;
  });
  return words.length ? `routers hear: ${words.join("; ")}` : "";
}
