// A simulator of vLLM 0.33's scheduler, as small as it can be: one file, no packages.
//
//     python3 check.py traps -- node example/simulator.mjs
//
// It reads a header and then one call per line, and prints one answer per call. It knows what the ten traps need,
// and no more: one kind of layer, first come first served, no asynchronous scheduling. The number of a trap stands
// where its rule is.

import { createInterface } from "node:readline";

// The blocks: which are free, how many requests own the others, and what is cached in them.
class BlockPool {
  constructor(numBlocks) {
    this.free = Array.from({ length: numBlocks - 1 }, (_, index) => index + 1); // 01: block 0 is never used
    this.owners = new Map(); // block -> number of requests
    this.contents = new Map(); // block -> content
    this.blocks = new Map(); // content -> blocks; the one that was cached first is found
  }

  // Take blocks from the front of the queue. Only now what was cached in them is lost (07).
  take(count) {
    const taken = this.free.splice(0, count);
    for (const block of taken) {
      const content = this.contents.get(block);
      if (this.contents.delete(block)) {
        const others = this.blocks.get(content).filter((other) => other !== block);
        if (others.length) this.blocks.set(content, others);
        else this.blocks.delete(content);
      }
      this.owners.set(block, 1);
    }
    return taken;
  }

  // A request shares these blocks. One that nobody owns leaves the queue, wherever it is in it (08).
  share(blocks) {
    this.free = this.free.filter((block) => !blocks.includes(block));
    for (const block of blocks) this.owners.set(block, (this.owners.get(block) ?? 0) + 1);
  }

  // A request gives its table back, last block first (10). What is cached goes to the back of the queue.
  release(table) {
    const freed = [];
    for (const block of [...table].reverse()) {
      const left = this.owners.get(block) - 1;
      if (left) this.owners.set(block, left);
      else this.owners.delete(block);
      if (!left) freed.push(block);
    }
    const isCached = (block) => this.contents.has(block);
    this.free = [...freed.filter((block) => !isCached(block)), ...this.free, ...freed.filter(isCached)];
  }

  // A block with the same content may exist already: both stay (09).
  cache(block, content) {
    this.contents.set(block, content);
    this.blocks.set(content, [...(this.blocks.get(content) ?? []), block]);
  }
}

class Scheduler {
  constructor({ scheduler, cache }) {
    this.limits = scheduler;
    this.cache = cache;
    this.pool = new BlockPool(cache.num_gpu_blocks);
    this.waiting = [];
    this.running = [];
    this.preempted = []; // since the last step was scheduled
    this.steps = []; // the steps that have been scheduled and not updated
  }

  add({ request, prompt, max_tokens, stop = [], salt = "" }) {
    const tokens = [...prompt];
    const fresh = { computed: 0, table: [], numCached: 0 };
    this.waiting.push({ name: request, tokens, longest: prompt.length + max_tokens, stop, salt, ...fresh });
  }

  schedule() {
    const { max_num_batched_tokens, max_num_seqs, max_model_len, long_prefill_token_threshold } = this.limits;
    const isAlone = this.running.length + this.waiting.length === 1;
    const threshold = (!isAlone && long_prefill_token_threshold) || Infinity;
    const step = [];
    const numPreempted = this.preempted.length;
    let budget = max_num_batched_tokens;

    for (let place = 0; place < this.running.length && budget > 0; place += 1) {
      const request = this.running[place];
      const missing = Math.min(request.tokens.length - request.computed, threshold);
      const count = Math.min(missing, budget, max_model_len - request.computed - 1);
      // 02: a block is needed only where the table is too short. 06: running requests ignore the watermark.
      const needed = () => this.blocksFor(request.computed + count) - request.table.length;
      while (this.running.includes(request) && needed() > this.pool.free.length) {
        this.preempt(this.running.pop()); // 03: the last one
      }
      if (count > 0 && this.running.includes(request)) {
        this.grow(request, count);
        step.push([request, count]);
        budget -= count;
      }
    }

    // 04: nobody is admitted in a step that has preempted.
    const mayAdmit = this.preempted.length === numPreempted;
    while (mayAdmit && budget > 0 && this.waiting.length && this.running.length < max_num_seqs) {
      const [request] = this.waiting;
      const hits = this.hits(request);
      const found = hits.length * this.cache.block_size;
      const missing = Math.min(request.tokens.length - found, threshold);
      if (!this.limits.enable_chunked_prefill && missing > budget) break;
      const count = Math.min(missing, budget);
      if (!this.fits(request, hits, found + count)) break; // and nobody behind it is tried
      this.waiting.shift();
      this.running.push(request);
      this.pool.share(hits);
      Object.assign(request, { table: hits, numCached: hits.length, computed: found });
      this.grow(request, count);
      step.push([request, count]);
      budget -= count;
    }

    for (const [request, count] of step) request.computed += count;
    this.steps.push(step);
    const tokens = step.map(([request, count]) => [request.name, count]);
    return { tokens, preempted: this.preempted.splice(0).sort() };
  }

  // Whether a waiting request can be admitted. A hit that nobody owns costs a block as well (08).
  fits(request, hits, length) {
    const { watermark, scheduler_reserve_full_isl, max_model_len } = this.limits;
    const reserve = this.running.length ? Math.floor(watermark * this.cache.num_gpu_blocks) : 0; // 06
    const owned = hits.filter((block) => this.pool.owners.has(block)).length;
    const whole = scheduler_reserve_full_isl ? Math.min(request.tokens.length, max_model_len) : 0; // 05
    const needed = this.blocksFor(Math.max(length, whole)) - owned;
    return needed + reserve <= this.pool.free.length;
  }

  // The cached blocks a request begins with. At least one token must be left to compute.
  hits(request) {
    const blocks = [];
    const longest = Math.floor((request.tokens.length - 1) / this.cache.block_size);
    while (this.cache.enable_prefix_caching && blocks.length < longest) {
      const [block] = this.pool.blocks.get(this.content(request, blocks.length)) ?? [];
      if (block === undefined) break;
      blocks.push(block);
    }
    return blocks;
  }

  // Give a request room for its next tokens, and cache the blocks that they fill.
  grow(request, count) {
    const length = request.computed + count;
    request.table.push(...this.pool.take(this.blocksFor(length) - request.table.length));
    const numFull = this.cache.enable_prefix_caching ? Math.floor(length / this.cache.block_size) : 0;
    for (; request.numCached < numFull; request.numCached += 1) {
      this.pool.cache(request.table[request.numCached], this.content(request, request.numCached));
    }
  }

  preempt(request) {
    this.pool.release(request.table);
    Object.assign(request, { computed: 0, table: [], numCached: 0 });
    this.waiting.unshift(request);
    this.preempted.push(request.name);
  }

  // The oldest step in flight has sampled these tokens.
  update({ tokens }) {
    const answers = [];
    for (const [request] of this.steps.shift()) {
      const sampled = tokens[request.name] ?? [];
      if (!sampled.length || !this.running.includes(request)) continue;
      request.tokens.push(...sampled);
      const isLong = request.tokens.length >= Math.min(request.longest, this.limits.max_model_len);
      const reason = request.stop.includes(sampled[0]) ? "stop" : isLong ? "length" : null;
      if (reason) this.end(request);
      answers.push([request.name, sampled, reason]);
    }
    return answers;
  }

  abort({ requests }) {
    const ended = [...this.running, ...this.waiting].filter(({ name }) => requests.includes(name));
    ended.forEach((request) => this.end(request));
    return ended.map(({ name }) => name);
  }

  reset_prefix_cache({ running }) {
    while (running && this.running.length) this.preempt(this.running.pop());
    const isUnused = this.pool.owners.size === 0;
    if (isUnused) this.pool.contents.clear();
    if (isUnused) this.pool.blocks.clear();
    return isUnused;
  }

  counts() {
    const usage = 1 - this.pool.free.length / (this.cache.num_gpu_blocks - 1);
    return { unfinished: this.running.length + this.waiting.length, usage };
  }

  end(request) {
    this.pool.release(request.table);
    this.running = this.running.filter((other) => other !== request);
    this.waiting = this.waiting.filter((other) => other !== request);
  }

  blocksFor(length) {
    return Math.ceil(length / this.cache.block_size);
  }

  // What block number `index` holds: all tokens up to its end, and the salt.
  content({ salt, tokens }, index) {
    return `${salt}:${tokens.slice(0, (index + 1) * this.cache.block_size)}`;
  }

  state() {
    const alive = [...this.waiting, ...this.running];
    return {
      waiting: this.waiting.map(({ name }) => name),
      running: this.running.map(({ name }) => name),
      tables: Object.fromEntries(alive.map(({ name, table }) => [name, table])),
      free: this.pool.free,
    };
  }
}

let scheduler;
for await (const line of createInterface({ input: process.stdin })) {
  const { op, args, config } = JSON.parse(line);
  if (config) {
    scheduler = new Scheduler(config); // the header, which has no answer
  } else {
    const ret = scheduler[op](args);
    process.stdout.write(`${JSON.stringify({ ret, state: scheduler.state() })}\n`);
  }
}
