// What routers are told about an event, in runs whose engine tells them.

const MOST = 12;

/** "routers hear: what 5 held is removed; what 1, 2 hold is stored", or nothing: they know no blocks,
 * but contents. @param {Run} run @param {PageEvent} event @param {State} after */
export function forRouters({ header }, event, after) {
  const told = header.kv_events;
  if (!Array.isArray(told) || event.event === "reset_cache") return "";
  const where = (pool) => (told.length > 1 ? ` on the ${header.pool_names[pool]}` : "");
  /** @type {[string, number, number[]][]} */
  const heard = [];
  if (event.event === "reset_prefix_cache") {
    return after.held ? "" : `routers hear: all${where(0)} is removed`;
  }
  for (const [kind, id] of event.effects) {
    if ((kind !== "cache" && kind !== "evict") || !told.includes(header.pool_names[after.pool(id)])) continue;
    const last = heard.at(-1),
      pool = after.pool(id);
    if (last?.[0] === kind && last[1] === pool) last[2].push(id);
    else heard.push([kind, pool, [id]]);
  }
  const words = heard.map(([kind, pool, ids]) => {
    const more = ids.length > MOST ? ` and ${ids.length - MOST} more` : "",
      what = `what ${ids.slice(0, MOST).join(", ")}${more}`,
      verb = kind === "evict" ? "held is removed" : `${ids.length > 1 ? "hold" : "holds"} is stored`;
    return `${what} ${verb}${where(pool)}`;
  });
  return words.length ? `routers hear: ${words.join("; ")}` : "";
}
