"""Stories and exercises that a reader edits in the page: Python runs there, in a worker.

``stories`` has the stories to begin with, and ``pages`` puts them and the exercises into pages.
``files`` puts Python (Pyodide, from npm) and pagesim's pure part into the site's folder, where
``compiled`` compiles them; ``inside`` is what runs there, and ``checkable`` finds out which
exercises do. ``assets`` has the scripts and the style.
"""
