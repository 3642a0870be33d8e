"""Chapter on several kinds of memory: a block of tokens must be as large as a state."""

from pagesim.figures.book.kit import INNER, MARGIN, S0, S3, SMALL, Sheet, drawing
from pagesim.figures.style import PAPER, Box

TOKEN, STATE, STEP = 4096, 2_146_304, 16
"""Bytes of a token and of a state in one layer of a model like Qwen3.5 9B; tokens per step."""
PROMPT = 300


@drawing("A block is as large as a state, so it has 528 tokens", 232)
def state_block(sheet: Sheet) -> str:
    """The bytes of 16 tokens, of a state and of 528 tokens, to one scale."""
    tokens = STEP * -(-STATE // (STEP * TOKEN))
    block = tokens * TOKEN
    scale = INNER / block
    rows = (
        (f"{STEP} tokens: {STEP * TOKEN:,} bytes", STEP * TOKEN, S0),
        (f"one state: {STATE:,} bytes", STATE, S3),
        (f"{tokens} tokens: {block:,} bytes", block, S0),
    )
    for place, (name, size, color) in enumerate(rows):
        top = 58.0 + 54 * place
        sheet.say(MARGIN, top - 9, name, ha="left", size=SMALL, bold=True)
        sheet.rectangle(Box(MARGIN, top, size * scale, 24), fill=color, width=1.6)
        if size == STATE:
            rest = Box(MARGIN + size * scale, top, (block - size) * scale, 24)
            sheet.rectangle(rest, fill=PAPER, hatch="xxxx")
            padding = (block - STATE) / STATE
            sheet.note(MARGIN + INNER, top - 9, f"padding: {padding:.2%} of the state", ha="right")
    end = MARGIN + PROMPT * TOKEN * scale
    sheet.bracket(MARGIN, end, 196, f"a prompt of {PROMPT} tokens fills no block", up=False)
    return (
        f"Three bars to one scale, in bytes of one layer. {STEP} tokens: {STEP * TOKEN:,}. One "
        f"state: {STATE:,}. {tokens} tokens: {block:,}, the smallest multiple of {STEP} tokens "
        f"that holds a state; the rest of a state's block, {block - STATE:,} bytes, is padding. A "
        f"prompt of {PROMPT} tokens does not fill such a block."
    )
