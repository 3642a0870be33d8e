"""A still picture of one state, with alternative text, for where no script runs.

Pure Python, a few kilobytes, the same bytes each time. It looks as the player does: one colour per
sequence with its name beside it, words in the physical blocks, hatch = CPU, pale = reserved, thick
edge and a count = shared, corners = cached and computed.
"""

from collections.abc import Collection
from textwrap import wrap

from pagesim.files.jsonl import JsonObject
from pagesim.journal.effects import Name
from pagesim.player.cache_view import CacheView
from pagesim.player.describe import words_of
from pagesim.player.sheet import BOLD
from pagesim.player.still import MARGIN, TABLE, WIDTH, Still
from pagesim.player.still_below import draw_legend, draw_lists
from pagesim.player.still_groups import draw_lanes
from pagesim.player.still_in_full import draw_strips, draw_tables
from pagesim.player.still_small import LEFT, draw_boxes, draw_lines
from pagesim.player.still_tier import draw_pools


def static_svg(
    header: JsonObject, state: JsonObject, caption: str, concerned: Collection[Name] = ()
) -> str:
    """An SVG document of ``state`` (the format's, see ``FORMAT.md``) under a caption.

    ``header`` gives the sizes and the tokens' labels. A large cache is shown without words: at most
    16 sequences with 8 blocks each, the rest is counted. Of many sequences only those in
    ``concerned`` have colours.
    """
    cache = CacheView.of(header, state)
    still = Still(cache, concerned)
    for place, line in enumerate(wrap(caption, 112, max_lines=2, placeholder=" \u2026")):
        still.sheet.text(MARGIN, MARGIN + 12 + place * 16, line, look=BOLD)
    if cache.groups:
        bottom = draw_lanes(still, TABLE + 70 if still.in_full else LEFT - 20)
        bottom = max(bottom, draw_strips(still) if still.in_full else draw_boxes(still))
    elif still.tier:
        bottom = max(draw_tables(still) if still.fits else draw_lines(still),
                     draw_pools(still, still.tier))  # fmt: skip
    elif still.in_full:
        bottom = max(draw_tables(still), draw_strips(still))
    else:
        bottom = max(draw_lines(still), draw_boxes(still))
    height = draw_legend(still, draw_lists(still, bottom + 22) + 6) + MARGIN
    return still.sheet.svg(WIDTH, height, words_of(cache), still.looks.values())
