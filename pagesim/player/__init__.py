"""The step-through player: a timeline file becomes a page that can be stepped both ways.

``page.page`` makes one HTML document, ``notebook.notebook_html`` a notebook's output,
``static_svg.static_svg`` a still picture, ``describe.describe`` the words for it. All read the
format (``pagesim/timeline/FORMAT.md``) and know nothing of the simulator's objects.
"""
