"""The player: turns a timeline file into a page that steps forwards and backwards.

``page.page`` makes one HTML document, ``notebook.notebook_html`` a notebook's output,
``static_svg.static_svg`` a still picture, and ``describe.describe`` its alternative text. All read
the format (``pagesim/timeline/FORMAT.md``) and use none of the simulator's objects.
"""
