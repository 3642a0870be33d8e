"""Attention over a block table."""

from pagesim.exercises.ch03 import one_pass, page_by_page, paged_decode, window

EXERCISES = (
    one_pass.EXERCISE,
    page_by_page.EXERCISE,
    paged_decode.EXERCISE,
    window.EXERCISE,
)
