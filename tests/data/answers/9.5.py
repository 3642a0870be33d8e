# %% right: dicts, everything asked before anything is changed
def kv_cache_manager(pool, block_size, max_model_len, watermark_blocks):
    tables = {}
    cached_upto = {}

    def get_computed_blocks(request):
        if not pool.enable_caching or request.skip_reading_prefix_cache:
            return []
        hits = []
        most = (request.num_tokens - 1) // block_size
        for block_hash in request.block_hashes[:most]:
            found = pool.get_cached_block(block_hash)
            if not found:
                break
            hits.append(found[0])
        return hits

    def allocate_slots(request, num_new_tokens, hits, lookahead, whole, reserved, others_run):
        rid = request.request_id
        table = tables.get(rid, [])
        computed = request.num_computed_tokens + len(hits) * block_size
        have = len(table) + len(hits)
        available = pool.get_num_free_blocks()
        available -= sum(1 for block in hits if block.ref_cnt == 0)
        if others_run and request.status.name != "RUNNING":
            available -= watermark_blocks
        if whole:
            full = min(request.num_tokens, max_model_len)
            if -(-full // block_size) - have > available:
                return None
        slots = min(computed + num_new_tokens + lookahead, max_model_len)
        new = max(0, -(-slots // block_size) - have)
        if new > available - reserved:
            return None
        if hits:
            pool.touch(hits)
        blocks = pool.get_new_blocks(new)
        tables[rid] = table + list(hits) + blocks
        if pool.enable_caching:
            start = cached_upto.get(rid, len(hits))
            end = min(computed + num_new_tokens, request.num_tokens) // block_size
            if end > start:
                pool.cache_full_blocks(request, tables[rid], start, end, block_size)
            cached_upto[rid] = max(start, end)
        return blocks

    def free(request):
        cached_upto.pop(request.request_id, None)
        blocks = tables.pop(request.request_id, None)
        if blocks:
            pool.free_blocks(list(reversed(blocks)))

    return tables, get_computed_blocks, allocate_slots, free

# %% right: a class, whose methods are handed out
class Manager:
    def __init__(self, pool, block_size, max_model_len, watermark_blocks):
        self.pool, self.size, self.longest = pool, block_size, max_model_len
        self.watermark = watermark_blocks
        self.tables, self.cached = {}, {}

    def computed(self, request):
        hits = []
        if self.pool.enable_caching and not request.skip_reading_prefix_cache:
            for number, block_hash in enumerate(request.block_hashes, 1):
                found = self.pool.get_cached_block(block_hash)
                if found is None or number * self.size >= request.num_tokens:
                    break
                hits += found
        return hits

    def blocks_for(self, tokens):
        return -(-min(tokens, self.longest) // self.size)

    def allocate(self, request, new_tokens, hits, lookahead, whole, reserved, others_run):
        table = self.tables.get(request.request_id, []) + list(hits)
        room = self.pool.get_num_free_blocks() - [b.ref_cnt for b in hits].count(0)
        if others_run and request.status.name != "RUNNING":
            room -= self.watermark
        after = request.num_computed_tokens + len(hits) * self.size + new_tokens
        missing = max(0, self.blocks_for(after + lookahead) - len(table))
        if whole and self.blocks_for(request.num_tokens) - len(table) > room:
            return None
        if missing > room - reserved:
            return None
        self.pool.touch(hits)
        new = self.pool.get_new_blocks(missing)
        self.tables[request.request_id] = table + new
        if self.pool.enable_caching:
            begin = self.cached.get(request.request_id, len(hits))
            end = max(begin, min(after, request.num_tokens) // self.size)
            self.pool.cache_full_blocks(request, table + new, begin, end, self.size)
            self.cached[request.request_id] = end
        return new

    def free(self, request):
        self.cached.pop(request.request_id, None)
        table = self.tables.pop(request.request_id, [])
        table.reverse()
        self.pool.free_blocks(table)


def kv_cache_manager(pool, block_size, max_model_len, watermark_blocks):
    m = Manager(pool, block_size, max_model_len, watermark_blocks)
    return m.tables, m.computed, m.allocate, m.free

# %% right: how much is cached is kept on a list beside the table, early returns by a helper
# as "dicts, everything asked before anything is changed", but
#-     cached_upto = {}
#+     marks = {}
#+
#+     def ceil(tokens):
#+         return (min(tokens, max_model_len) + block_size - 1) // block_size
#
#-             full = min(request.num_tokens, max_model_len)
#-             if -(-full // block_size) - have > available:
#+             if ceil(request.num_tokens) > have + available:
#
#-         slots = min(computed + num_new_tokens + lookahead, max_model_len)
#-         new = max(0, -(-slots // block_size) - have)
#+         new = max(0, ceil(computed + num_new_tokens + lookahead) - have)
#
#-             start = cached_upto.get(rid, len(hits))
#+             start = marks.setdefault(rid, [len(hits)])[-1]
#
#-             cached_upto[rid] = max(start, end)
#+                 marks[rid].append(end)
#
#-         cached_upto.pop(request.request_id, None)
#+         marks.pop(request.request_id, None)

# %% right: a defaultdict, math.ceil
import math
from collections import defaultdict


def kv_cache_manager(pool, block_size, max_model_len, watermark_blocks):
    tables = defaultdict(list)
    done = {}

    def get_computed_blocks(request):
        out = []
        if not pool.enable_caching:
            return out
        if request.skip_reading_prefix_cache:
            return out
        left = request.num_tokens - 1
        for h in request.block_hashes:
            left -= block_size
            block = pool.get_cached_block(h) if left >= 0 else None
            if block is None:
                return out
            out.append(block[0])
        return out

    def allocate_slots(request, num_new_tokens, hits, lookahead, whole, reserved, others_run):
        free_now = pool.get_num_free_blocks()
        for block in hits:
            if block.ref_cnt == 0:
                free_now -= 1
        if request.status.name != "RUNNING" and others_run:
            free_now -= watermark_blocks
        held = len(hits) + len(tables.get(request.request_id, ()))
        total = request.num_computed_tokens + block_size * len(hits) + num_new_tokens
        needed = math.ceil(min(total + lookahead, max_model_len) / block_size) - held
        for_all = math.ceil(min(request.num_tokens, max_model_len) / block_size) - held
        if whole and for_all > free_now or max(needed, 0) > free_now - reserved:
            return None
        pool.touch(hits)
        fresh = pool.get_new_blocks(max(needed, 0))
        tables[request.request_id].extend([*hits, *fresh])
        if pool.enable_caching:
            first = done.setdefault(request.request_id, len(hits))
            last = min(total, request.num_tokens) // block_size
            if last > first:
                pool.cache_full_blocks(request, tables[request.request_id], first, last, block_size)
                done[request.request_id] = last
        return fresh

    def free(request):
        done.pop(request.request_id, None)
        pool.free_blocks(tables.pop(request.request_id, [])[::-1])

    return tables, get_computed_blocks, allocate_slots, free

# %% right: hits as a tuple, rooms as functions
# as "dicts, everything asked before anything is changed", but
#-             hits.append(found[0])
#-         return hits
#+             hits.extend(found)
#+         return tuple(hits)
#
#-         available = pool.get_num_free_blocks()
#-         available -= sum(1 for block in hits if block.ref_cnt == 0)
#-         if others_run and request.status.name != "RUNNING":
#-             available -= watermark_blocks
#+         kept = watermark_blocks * (others_run and request.status.name != "RUNNING")
#+         available = pool.get_num_free_blocks() - len([b for b in hits if not b.ref_cnt]) - kept

# %% wrong: the allocation is not capped by max_model_len
# as "dicts, everything asked before anything is changed", but
#-         slots = min(computed + num_new_tokens + lookahead, max_model_len)
#+         slots = computed + num_new_tokens + lookahead

# %% wrong: whole is not capped by max_model_len
# as "dicts, everything asked before anything is changed", but
#-             full = min(request.num_tokens, max_model_len)
#+             full = request.num_tokens

# %% wrong: hits in the free queue cost nothing
# as "dicts, everything asked before anything is changed", but
#-         available -= sum(1 for block in hits if block.ref_cnt == 0)

# %% wrong: the watermark binds running requests too
# as "dicts, everything asked before anything is changed", but
#-         if others_run and request.status.name != "RUNNING":
#+         if others_run:

# %% wrong: the watermark binds a request that is alone
# as "dicts, everything asked before anything is changed", but
#-         if others_run and request.status.name != "RUNNING":
#+         if request.status.name != "RUNNING":

# %% wrong: reserved blocks are looked at for whole too
# as "dicts, everything asked before anything is changed", but
#-             if -(-full // block_size) - have > available:
#+             if -(-full // block_size) - have > available - reserved:

# %% wrong: slots ahead are cached as well
# as "dicts, everything asked before anything is changed", but
#-             end = min(computed + num_new_tokens, request.num_tokens) // block_size
#+             end = min(computed + num_new_tokens + lookahead, request.num_tokens) // block_size

# %% wrong: given back from the first block on
# as "dicts, everything asked before anything is changed", but
#-             pool.free_blocks(list(reversed(blocks)))
#+             pool.free_blocks(blocks)

# %% wrong: skip_reading_prefix_cache forgotten
# as "dicts, everything asked before anything is changed", but
#-         if not pool.enable_caching or request.skip_reading_prefix_cache:
#+         if not pool.enable_caching:

# %% wrong: the watermark is not looked at for whole
# as "dicts, everything asked before anything is changed", but
#-             if -(-full // block_size) - have > available:
#+             if -(-full // block_size) - have > available + (watermark_blocks if others_run and request.status.name != 'RUNNING' else 0):
