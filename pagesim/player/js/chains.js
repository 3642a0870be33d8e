// Which cached block's hash contains which: what a lookup of a prefix can find, and where it ends.

const numbers = new Map(), // a prefix that ends with a block → its number
  prefixes = new WeakMap(); // the tokens of a table → the numbers of its prefixes

/** The number of the prefix of some tokens up to and with block k: the same only where all tokens are. */
function prefixOf(tokens, k, size) {
  const all = prefixes.get(tokens) ?? [];
  prefixes.set(tokens, all);
  for (let i = all.length; i <= k; i++) {
    if (tokens.length < (i + 1) * size) return undefined;
    const key = JSON.stringify([all[i - 1], size, tokens.slice(i * size, (i + 1) * size)]);
    if (!numbers.has(key)) numbers.set(key, numbers.size);
    all.push(numbers.get(key));
  }
  return all[k];
}

/**
 * The cached blocks of the first pool as chains, from the first block of a prefix to the last: lists of nodes
 * {k, ids, tokens, above, missed}. Chains share their nodes; one without ids is not cached, though its follower is,
 * or is the first one that the lookup of this event did not find.
 * @param {State} state @param {PageEvent | null} event
 */
export function chainsOf(state, event) {
  const nodes = new Map(),
    size = state.blockSize,
    put = (tokens, k) => {
      const number = prefixOf(tokens, k, size);
      if (number === undefined) return undefined;
      let node = nodes.get(number);
      if (!node) {
        const above = k ? put(tokens, k - 1) : null;
        node = { k, ids: [], tokens, above, below: [], missed: false };
        nodes.set(number, node);
        above?.below.push(node);
      }
      return node;
    };
  for (let id = 0; id < state.numGpu; id++) {
    const { tokens, first = 0 } = state.content[id] ?? {};
    if (tokens && state.isCached(id)) put(tokens, first / size)?.ids.push(id);
  }
  const asks = missedIn(state, event),
    missed = asks && put(asks.tokens, asks.k);
  if (missed) missed.missed = true;
  const chains = [],
    grow = (node, chain) => {
      const longer = [...chain, node];
      if (!node.below.length) chains.push(longer);
      for (const next of node.below) grow(next, longer);
    };
  for (const node of nodes.values()) if (!node.above) grow(node, []);
  return chains;
}

/** The first block of a table that begins with this event and was not found: {tokens, k}; null if all were. The
 * last token is always computed. @param {State} state @param {PageEvent | null} event */
export function missedIn(state, event) {
  const begun = event?.tables.find(([name, k, ids]) => k === 0 && ids.length && state.tables.has(name));
  if (!event || !begun) return null;
  const { ids, tokens, known } = state.table(begun[0]),
    found = new Set(event.effects.filter(([kind]) => kind === "hit").map((e) => e[1])),
    k = ids.findIndex((id) => !found.has(id));
  return k >= 0 && (k + 1) * state.blockSize < known ? { tokens, k } : null;
}
