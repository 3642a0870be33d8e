from pagesim import kernels  # first: it turns on Triton's interpreter where there is no GPU

import triton
import triton.language as tl


# %% right: 64 bits, said aloud, and another number for what is masked
@triton.jit
def gather_kernel(buffer_ptr, cache_ptr, table_ptr, numbers, TILE: tl.constexpr):
    place = tl.program_id(0)
    number = tl.program_id(1) * TILE + tl.arange(0, TILE)
    block = tl.load(table_ptr + place).to(tl.int64)
    inside = number < numbers
    values = tl.load(cache_ptr + block * numbers + number, mask=inside, other=0.0)
    tl.store(buffer_ptr + place * numbers + number, values, mask=inside)


def gather_blocks(cache, table, buffer):
    numbers, tile = cache[0].numel(), 8
    grid = (len(table), triton.cdiv(numbers, tile))
    gather_kernel[grid](buffer, cache, table, numbers, TILE=tile)

# %% right: number by number
# as "64 bits, said aloud, and another number for what is masked", but
#-     block = tl.load(table_ptr + place).to(tl.int64)
#-     inside = number < numbers
#-     values = tl.load(cache_ptr + block * numbers + number, mask=inside, other=0.0)
#-     tl.store(buffer_ptr + place * numbers + number, values, mask=inside)
#+     block = tl.load(table_ptr + place)
#+     for i in range(TILE):
#+         at = tl.program_id(1) * TILE + i
#+         if at < numbers:
#+             tl.store(buffer_ptr + place * numbers + at, tl.load(cache_ptr + block * numbers + at))

# %% right: pointers to the two blocks
# as "64 bits, said aloud, and another number for what is masked", but
#-     block = tl.load(table_ptr + place).to(tl.int64)
#-     inside = number < numbers
#-     values = tl.load(cache_ptr + block * numbers + number, mask=inside, other=0.0)
#-     tl.store(buffer_ptr + place * numbers + number, values, mask=inside)
#+     source = cache_ptr + tl.load(table_ptr + place) * numbers
#+     target = buffer_ptr + place.to(tl.int64) * numbers
#+     values = tl.load(source + number, mask=number < numbers, other=-5.0)
#+     tl.store(target + number, values, mask=number < numbers)

# %% right: in two halves
# as "64 bits, said aloud, and another number for what is masked", but
#-     block = tl.load(table_ptr + place).to(tl.int64)
#-     inside = number < numbers
#-     values = tl.load(cache_ptr + block * numbers + number, mask=inside, other=0.0)
#-     tl.store(buffer_ptr + place * numbers + number, values, mask=inside)
#+     block = tl.load(table_ptr + place)
#+     half = TILE // 2
#+     for begin in range(0, TILE, TILE // 2):
#+         at = tl.program_id(1) * TILE + begin + tl.arange(0, TILE // 2)
#+         values = tl.load(cache_ptr + block * numbers + at, mask=at < numbers)
#+         tl.store(buffer_ptr + place * numbers + at, values, mask=at < numbers)

# %% right: what is outside reads the block's first number, and is not stored
# as "64 bits, said aloud, and another number for what is masked", but
#-     block = tl.load(table_ptr + place).to(tl.int64)
#+     block = tl.load(table_ptr + place)
#
#-     values = tl.load(cache_ptr + block * numbers + number, mask=inside, other=0.0)
#+     at = tl.where(inside, number, 0)
#+     values = tl.load(cache_ptr + block * numbers + at)

# %% wrong: no mask on the store
# as "64 bits, said aloud, and another number for what is masked", but
#-     block = tl.load(table_ptr + place).to(tl.int64)
#+     block = tl.load(table_ptr + place)
#
#-     values = tl.load(cache_ptr + block * numbers + number, mask=inside, other=0.0)
#-     tl.store(buffer_ptr + place * numbers + number, values, mask=inside)
#+     values = tl.load(cache_ptr + block * numbers + number, mask=inside)
#+     tl.store(buffer_ptr + place * numbers + number, values)

# %% wrong: no mask on the load
# as "64 bits, said aloud, and another number for what is masked", but
#-     block = tl.load(table_ptr + place).to(tl.int64)
#+     block = tl.load(table_ptr + place)
#
#-     values = tl.load(cache_ptr + block * numbers + number, mask=inside, other=0.0)
#+     values = tl.load(cache_ptr + block * numbers + number)

# %% wrong: no mask at all
# as "64 bits, said aloud, and another number for what is masked", but
#-     block = tl.load(table_ptr + place).to(tl.int64)
#+     block = tl.load(table_ptr + place)
#
#-     values = tl.load(cache_ptr + block * numbers + number, mask=inside, other=0.0)
#-     tl.store(buffer_ptr + place * numbers + number, values, mask=inside)
#+     values = tl.load(cache_ptr + block * numbers + number)
#+     tl.store(buffer_ptr + place * numbers + number, values)

# %% wrong: the place for the block
# as "64 bits, said aloud, and another number for what is masked", but
#-     block = tl.load(table_ptr + place).to(tl.int64)
#+     block = place
#
#-     values = tl.load(cache_ptr + block * numbers + number, mask=inside, other=0.0)
#+     values = tl.load(cache_ptr + block * numbers + number, mask=inside)

# %% wrong: the block for the place
# as "64 bits, said aloud, and another number for what is masked", but
#-     block = tl.load(table_ptr + place).to(tl.int64)
#+     block = tl.load(table_ptr + place)
#
#-     values = tl.load(cache_ptr + block * numbers + number, mask=inside, other=0.0)
#-     tl.store(buffer_ptr + place * numbers + number, values, mask=inside)
#+     values = tl.load(cache_ptr + block * numbers + number, mask=inside)
#+     tl.store(buffer_ptr + block * numbers + number, values, mask=inside)

# %% wrong: 32 bits for the block
# as "64 bits, said aloud, and another number for what is masked", but
#-     block = tl.load(table_ptr + place).to(tl.int64)
#+     block = tl.load(table_ptr + place).to(tl.int32)
#
#-     values = tl.load(cache_ptr + block * numbers + number, mask=inside, other=0.0)
#+     values = tl.load(cache_ptr + block * numbers + number, mask=inside)

# %% wrong: blocks counted in tiles
# as "64 bits, said aloud, and another number for what is masked", but
#-     block = tl.load(table_ptr + place).to(tl.int64)
#+     block = tl.load(table_ptr + place)
#
#-     values = tl.load(cache_ptr + block * numbers + number, mask=inside, other=0.0)
#+     values = tl.load(cache_ptr + block * TILE + number, mask=inside)

# %% wrong: the buffer counted in tiles
# as "64 bits, said aloud, and another number for what is masked", but
#-     block = tl.load(table_ptr + place).to(tl.int64)
#+     block = tl.load(table_ptr + place)
#
#-     values = tl.load(cache_ptr + block * numbers + number, mask=inside, other=0.0)
#-     tl.store(buffer_ptr + place * numbers + number, values, mask=inside)
#+     values = tl.load(cache_ptr + block * numbers + number, mask=inside)
#+     tl.store(buffer_ptr + place * TILE * tl.num_programs(1) + number, values, mask=inside)

# %% wrong: the mask lets one more through
# as "64 bits, said aloud, and another number for what is masked", but
#-     block = tl.load(table_ptr + place).to(tl.int64)
#-     inside = number < numbers
#-     values = tl.load(cache_ptr + block * numbers + number, mask=inside, other=0.0)
#+     block = tl.load(table_ptr + place)
#+     inside = number <= numbers
#+     values = tl.load(cache_ptr + block * numbers + number, mask=inside)

# %% wrong: the last number is left out
# as "64 bits, said aloud, and another number for what is masked", but
#-     block = tl.load(table_ptr + place).to(tl.int64)
#-     inside = number < numbers
#-     values = tl.load(cache_ptr + block * numbers + number, mask=inside, other=0.0)
#+     block = tl.load(table_ptr + place)
#+     inside = number < numbers - 1
#+     values = tl.load(cache_ptr + block * numbers + number, mask=inside)

# %% wrong: the mask is that of the tile, not of the block
# as "64 bits, said aloud, and another number for what is masked", but
#-     block = tl.load(table_ptr + place).to(tl.int64)
#-     inside = number < numbers
#-     values = tl.load(cache_ptr + block * numbers + number, mask=inside, other=0.0)
#+     block = tl.load(table_ptr + place)
#+     inside = tl.arange(0, TILE) < numbers
#+     values = tl.load(cache_ptr + block * numbers + number, mask=inside)

# %% wrong: the first entry of the table for all
# as "64 bits, said aloud, and another number for what is masked", but
#-     block = tl.load(table_ptr + place).to(tl.int64)
#+     block = tl.load(table_ptr)
#
#-     values = tl.load(cache_ptr + block * numbers + number, mask=inside, other=0.0)
#+     values = tl.load(cache_ptr + block * numbers + number, mask=inside)

# %% wrong: the table from behind
# as "64 bits, said aloud, and another number for what is masked", but
#-     block = tl.load(table_ptr + place).to(tl.int64)
#+     block = tl.load(table_ptr + tl.num_programs(0) - 1 - place)
#
#-     values = tl.load(cache_ptr + block * numbers + number, mask=inside, other=0.0)
#+     values = tl.load(cache_ptr + block * numbers + number, mask=inside)
