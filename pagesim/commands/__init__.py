"""The commands of `pagesim`, one file each; each imports what it needs when it runs.

``cli`` puts them together, and is what a shell starts. ``common`` is what they share, and
``findings`` is what ``doctor`` looks for.
"""
