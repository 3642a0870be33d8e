"""Compile what every visit imports, while the site is made; `compiled.mjs` runs it in Pyodide.

A page that had to compile it would be ready a second later. The modules of pagesim and of the
standard library that a story loads become code without sources; the others stay as they are.
"""

import shutil
import sys
import zipfile
from importlib import import_module
from pathlib import Path
from py_compile import PycInvalidationMode, compile
from tempfile import TemporaryDirectory

SITE, LIBRARY = Path("/site"), Path("/lib/pagesim")
SCENE = "import pagesim; s = pagesim.Story(); s.arrive('a b'); pagesim.Engine('v1'); pagesim.v1; s"
"""What loads the modules of any story."""


NO_USE = """\
    bdb cgi cmd code codeop curses dbm doctest ensurepip ftplib http imaplib imghdr lib2to3 mailbox
    multiprocessing nntplib pdb poplib profile pstats pty pydoc pydoc_data sched smtplib sqlite3
    socketserver tkinter tomllib trace tty turtle turtledemo unittest venv webbrowser wsgiref
    xmlrpc"""
"""What nobody can use in a page, or for a text of a few lines: network, processes, debuggers."""


def loaded() -> set[str]:
    """The files that a story loads, by their names in the two archives."""
    shutil.unpack_archive(SITE / "pagesim.zip", LIBRARY)
    sys.path.insert(0, str(LIBRARY))
    import_module("inside").run(SCENE, "")
    files = [getattr(module, "__file__", None) or "" for module in [*sys.modules.values()]]
    return {file.partition(".zip/")[2] or file.removeprefix(f"{LIBRARY}/") for file in files}


def rewrite(archive: Path, wanted: set[str], prefix: str, without: set[str]) -> None:
    """Replace the wanted sources of an archive by their code; leave out packages without them."""
    made = archive.with_suffix(".new")
    with (
        TemporaryDirectory() as folder,
        zipfile.ZipFile(archive) as old,
        zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as new,
    ):
        for item in old.infolist():
            name, data = item.filename, old.read(item)
            if name not in wanted and name.partition("/")[0].removesuffix(".py") in without:
                continue
            if name in wanted:
                source, code = Path(folder, "source.py"), Path(folder, "code.pyc")
                source.write_bytes(data)
                unchecked = PycInvalidationMode.UNCHECKED_HASH
                compile(str(source), str(code), prefix + name, True, -1, unchecked)
                name, data = f"{name}c", code.read_bytes()
            # The date is left out, so that the same sources make the same file.
            new.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED, 9)
    made.replace(archive)


used = loaded()
rewrite(SITE / "python_stdlib.zip", used, "/lib/python314.zip/", {*NO_USE.split()})
rewrite(SITE / "pagesim.zip", used, f"{LIBRARY}/", set())
