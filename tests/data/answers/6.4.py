import kernels  # first: it turns on Triton's interpreter where there is no GPU

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
@triton.jit
def gather_kernel(buffer_ptr, cache_ptr, table_ptr, numbers, TILE: tl.constexpr):
    place = tl.program_id(0)
    number = tl.program_id(1) * TILE + tl.arange(0, TILE)
    block = tl.load(table_ptr + place)
    for i in range(TILE):
        at = tl.program_id(1) * TILE + i
        if at < numbers:
            tl.store(buffer_ptr + place * numbers + at, tl.load(cache_ptr + block * numbers + at))


def gather_blocks(cache, table, buffer):
    numbers, tile = cache[0].numel(), 8
    grid = (len(table), triton.cdiv(numbers, tile))
    gather_kernel[grid](buffer, cache, table, numbers, TILE=tile)


# %% right: pointers to the two blocks
@triton.jit
def gather_kernel(buffer_ptr, cache_ptr, table_ptr, numbers, TILE: tl.constexpr):
    place = tl.program_id(0)
    number = tl.program_id(1) * TILE + tl.arange(0, TILE)
    source = cache_ptr + tl.load(table_ptr + place) * numbers
    target = buffer_ptr + place.to(tl.int64) * numbers
    values = tl.load(source + number, mask=number < numbers, other=-5.0)
    tl.store(target + number, values, mask=number < numbers)


def gather_blocks(cache, table, buffer):
    numbers, tile = cache[0].numel(), 8
    grid = (len(table), triton.cdiv(numbers, tile))
    gather_kernel[grid](buffer, cache, table, numbers, TILE=tile)


# %% right: in two halves
@triton.jit
def gather_kernel(buffer_ptr, cache_ptr, table_ptr, numbers, TILE: tl.constexpr):
    place = tl.program_id(0)
    number = tl.program_id(1) * TILE + tl.arange(0, TILE)
    block = tl.load(table_ptr + place)
    half = TILE // 2
    for begin in range(0, TILE, TILE // 2):
        at = tl.program_id(1) * TILE + begin + tl.arange(0, TILE // 2)
        values = tl.load(cache_ptr + block * numbers + at, mask=at < numbers)
        tl.store(buffer_ptr + place * numbers + at, values, mask=at < numbers)


def gather_blocks(cache, table, buffer):
    numbers, tile = cache[0].numel(), 8
    grid = (len(table), triton.cdiv(numbers, tile))
    gather_kernel[grid](buffer, cache, table, numbers, TILE=tile)


# %% right: what is outside reads the block's first number, and is not stored
@triton.jit
def gather_kernel(buffer_ptr, cache_ptr, table_ptr, numbers, TILE: tl.constexpr):
    place = tl.program_id(0)
    number = tl.program_id(1) * TILE + tl.arange(0, TILE)
    block = tl.load(table_ptr + place)
    inside = number < numbers
    at = tl.where(inside, number, 0)
    values = tl.load(cache_ptr + block * numbers + at)
    tl.store(buffer_ptr + place * numbers + number, values, mask=inside)


def gather_blocks(cache, table, buffer):
    numbers, tile = cache[0].numel(), 8
    grid = (len(table), triton.cdiv(numbers, tile))
    gather_kernel[grid](buffer, cache, table, numbers, TILE=tile)


# %% wrong: no mask on the store
@triton.jit
def gather_kernel(buffer_ptr, cache_ptr, table_ptr, numbers, TILE: tl.constexpr):
    place = tl.program_id(0)
    number = tl.program_id(1) * TILE + tl.arange(0, TILE)
    block = tl.load(table_ptr + place)
    inside = number < numbers
    values = tl.load(cache_ptr + block * numbers + number, mask=inside)
    tl.store(buffer_ptr + place * numbers + number, values)


def gather_blocks(cache, table, buffer):
    numbers, tile = cache[0].numel(), 8
    grid = (len(table), triton.cdiv(numbers, tile))
    gather_kernel[grid](buffer, cache, table, numbers, TILE=tile)


# %% wrong: no mask on the load
@triton.jit
def gather_kernel(buffer_ptr, cache_ptr, table_ptr, numbers, TILE: tl.constexpr):
    place = tl.program_id(0)
    number = tl.program_id(1) * TILE + tl.arange(0, TILE)
    block = tl.load(table_ptr + place)
    inside = number < numbers
    values = tl.load(cache_ptr + block * numbers + number)
    tl.store(buffer_ptr + place * numbers + number, values, mask=inside)


def gather_blocks(cache, table, buffer):
    numbers, tile = cache[0].numel(), 8
    grid = (len(table), triton.cdiv(numbers, tile))
    gather_kernel[grid](buffer, cache, table, numbers, TILE=tile)


# %% wrong: no mask at all
@triton.jit
def gather_kernel(buffer_ptr, cache_ptr, table_ptr, numbers, TILE: tl.constexpr):
    place = tl.program_id(0)
    number = tl.program_id(1) * TILE + tl.arange(0, TILE)
    block = tl.load(table_ptr + place)
    inside = number < numbers
    values = tl.load(cache_ptr + block * numbers + number)
    tl.store(buffer_ptr + place * numbers + number, values)


def gather_blocks(cache, table, buffer):
    numbers, tile = cache[0].numel(), 8
    grid = (len(table), triton.cdiv(numbers, tile))
    gather_kernel[grid](buffer, cache, table, numbers, TILE=tile)


# %% wrong: the place for the block
@triton.jit
def gather_kernel(buffer_ptr, cache_ptr, table_ptr, numbers, TILE: tl.constexpr):
    place = tl.program_id(0)
    number = tl.program_id(1) * TILE + tl.arange(0, TILE)
    block = place
    inside = number < numbers
    values = tl.load(cache_ptr + block * numbers + number, mask=inside)
    tl.store(buffer_ptr + place * numbers + number, values, mask=inside)


def gather_blocks(cache, table, buffer):
    numbers, tile = cache[0].numel(), 8
    grid = (len(table), triton.cdiv(numbers, tile))
    gather_kernel[grid](buffer, cache, table, numbers, TILE=tile)


# %% wrong: the block for the place
@triton.jit
def gather_kernel(buffer_ptr, cache_ptr, table_ptr, numbers, TILE: tl.constexpr):
    place = tl.program_id(0)
    number = tl.program_id(1) * TILE + tl.arange(0, TILE)
    block = tl.load(table_ptr + place)
    inside = number < numbers
    values = tl.load(cache_ptr + block * numbers + number, mask=inside)
    tl.store(buffer_ptr + block * numbers + number, values, mask=inside)


def gather_blocks(cache, table, buffer):
    numbers, tile = cache[0].numel(), 8
    grid = (len(table), triton.cdiv(numbers, tile))
    gather_kernel[grid](buffer, cache, table, numbers, TILE=tile)


# %% wrong: 32 bits for the block
@triton.jit
def gather_kernel(buffer_ptr, cache_ptr, table_ptr, numbers, TILE: tl.constexpr):
    place = tl.program_id(0)
    number = tl.program_id(1) * TILE + tl.arange(0, TILE)
    block = tl.load(table_ptr + place).to(tl.int32)
    inside = number < numbers
    values = tl.load(cache_ptr + block * numbers + number, mask=inside)
    tl.store(buffer_ptr + place * numbers + number, values, mask=inside)


def gather_blocks(cache, table, buffer):
    numbers, tile = cache[0].numel(), 8
    grid = (len(table), triton.cdiv(numbers, tile))
    gather_kernel[grid](buffer, cache, table, numbers, TILE=tile)


# %% wrong: blocks counted in tiles
@triton.jit
def gather_kernel(buffer_ptr, cache_ptr, table_ptr, numbers, TILE: tl.constexpr):
    place = tl.program_id(0)
    number = tl.program_id(1) * TILE + tl.arange(0, TILE)
    block = tl.load(table_ptr + place)
    inside = number < numbers
    values = tl.load(cache_ptr + block * TILE + number, mask=inside)
    tl.store(buffer_ptr + place * numbers + number, values, mask=inside)


def gather_blocks(cache, table, buffer):
    numbers, tile = cache[0].numel(), 8
    grid = (len(table), triton.cdiv(numbers, tile))
    gather_kernel[grid](buffer, cache, table, numbers, TILE=tile)


# %% wrong: the buffer counted in tiles
@triton.jit
def gather_kernel(buffer_ptr, cache_ptr, table_ptr, numbers, TILE: tl.constexpr):
    place = tl.program_id(0)
    number = tl.program_id(1) * TILE + tl.arange(0, TILE)
    block = tl.load(table_ptr + place)
    inside = number < numbers
    values = tl.load(cache_ptr + block * numbers + number, mask=inside)
    tl.store(buffer_ptr + place * TILE * tl.num_programs(1) + number, values, mask=inside)


def gather_blocks(cache, table, buffer):
    numbers, tile = cache[0].numel(), 8
    grid = (len(table), triton.cdiv(numbers, tile))
    gather_kernel[grid](buffer, cache, table, numbers, TILE=tile)


# %% wrong: the mask lets one more through
@triton.jit
def gather_kernel(buffer_ptr, cache_ptr, table_ptr, numbers, TILE: tl.constexpr):
    place = tl.program_id(0)
    number = tl.program_id(1) * TILE + tl.arange(0, TILE)
    block = tl.load(table_ptr + place)
    inside = number <= numbers
    values = tl.load(cache_ptr + block * numbers + number, mask=inside)
    tl.store(buffer_ptr + place * numbers + number, values, mask=inside)


def gather_blocks(cache, table, buffer):
    numbers, tile = cache[0].numel(), 8
    grid = (len(table), triton.cdiv(numbers, tile))
    gather_kernel[grid](buffer, cache, table, numbers, TILE=tile)


# %% wrong: the last number is left out
@triton.jit
def gather_kernel(buffer_ptr, cache_ptr, table_ptr, numbers, TILE: tl.constexpr):
    place = tl.program_id(0)
    number = tl.program_id(1) * TILE + tl.arange(0, TILE)
    block = tl.load(table_ptr + place)
    inside = number < numbers - 1
    values = tl.load(cache_ptr + block * numbers + number, mask=inside)
    tl.store(buffer_ptr + place * numbers + number, values, mask=inside)


def gather_blocks(cache, table, buffer):
    numbers, tile = cache[0].numel(), 8
    grid = (len(table), triton.cdiv(numbers, tile))
    gather_kernel[grid](buffer, cache, table, numbers, TILE=tile)


# %% wrong: the mask is that of the tile, not of the block
@triton.jit
def gather_kernel(buffer_ptr, cache_ptr, table_ptr, numbers, TILE: tl.constexpr):
    place = tl.program_id(0)
    number = tl.program_id(1) * TILE + tl.arange(0, TILE)
    block = tl.load(table_ptr + place)
    inside = tl.arange(0, TILE) < numbers
    values = tl.load(cache_ptr + block * numbers + number, mask=inside)
    tl.store(buffer_ptr + place * numbers + number, values, mask=inside)


def gather_blocks(cache, table, buffer):
    numbers, tile = cache[0].numel(), 8
    grid = (len(table), triton.cdiv(numbers, tile))
    gather_kernel[grid](buffer, cache, table, numbers, TILE=tile)


# %% wrong: the first entry of the table for all
@triton.jit
def gather_kernel(buffer_ptr, cache_ptr, table_ptr, numbers, TILE: tl.constexpr):
    place = tl.program_id(0)
    number = tl.program_id(1) * TILE + tl.arange(0, TILE)
    block = tl.load(table_ptr)
    inside = number < numbers
    values = tl.load(cache_ptr + block * numbers + number, mask=inside)
    tl.store(buffer_ptr + place * numbers + number, values, mask=inside)


def gather_blocks(cache, table, buffer):
    numbers, tile = cache[0].numel(), 8
    grid = (len(table), triton.cdiv(numbers, tile))
    gather_kernel[grid](buffer, cache, table, numbers, TILE=tile)


# %% wrong: the table from behind
@triton.jit
def gather_kernel(buffer_ptr, cache_ptr, table_ptr, numbers, TILE: tl.constexpr):
    place = tl.program_id(0)
    number = tl.program_id(1) * TILE + tl.arange(0, TILE)
    block = tl.load(table_ptr + tl.num_programs(0) - 1 - place)
    inside = number < numbers
    values = tl.load(cache_ptr + block * numbers + number, mask=inside)
    tl.store(buffer_ptr + place * numbers + number, values, mask=inside)


def gather_blocks(cache, table, buffer):
    numbers, tile = cache[0].numel(), 8
    grid = (len(table), triton.cdiv(numbers, tile))
    gather_kernel[grid](buffer, cache, table, numbers, TILE=tile)
