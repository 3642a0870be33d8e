"""The player: turns a timeline file into a page that steps forwards and backwards.

``page.page`` makes one HTML document, ``notebook.notebook_html`` a notebook's output,
``static_svg.static_svg`` a still picture, and ``describe.describe`` its alternative text. All read
the format (``pagesim/timeline/FORMAT.md``) and use none of the simulator's objects.

The script is in ``js``, and ``bundle.mjs`` packs it for pages of one run, of two, and of a
kernel at work, in ``bundle``. ``read``, ``model``, ``state`` and ``effects`` are the file and
the state at a step. ``layout`` and ``view`` draw the picture, with a module for each of its
parts. ``controls``, ``panel``, ``stepper``, ``input`` and ``walk`` are what a reader can do
with it, and ``predict`` and ``questions`` ask.

A step is cut into ``beats``, which ``motion`` plays with ``ghosts`` over the true picture.
``axis``, ``course`` and ``lives`` show when; ``trace``, ``lens``, ``stations`` and ``bytes``
where a word's bytes are; ``programs`` and ``kernel`` who reads them. ``tree`` draws the chains
of cached blocks, ``texture`` a pool of thousands, ``rows`` contiguous memory. ``pair`` compares
two runs, and ``race`` shows them on one clock. Of several groups of layers, ``lanes`` draws the
tables and ``lookup`` what the groups answer, which ``rounds`` reads from an event. Of a second
tier, ``jobs`` knows which copies are under way, and ``copies`` draws them. ``groups``, a module
here and one in ``js``, says what the groups are. ``cache_view`` says where everything is, for
still pictures and for figures.
"""
