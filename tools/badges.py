"""Writes the badges of README.md for the repository that this clone came from: ``make badges``.

A badge needs the owner's name, which differs in every fork, so the committed README has none. With
``--whole``, the links of README.md become whole addresses too, as PyPI needs them.
"""

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FIRST = "notebooks/00_start_here.ipynb"
PLACE = re.compile(r"(<!-- badges[^>]*-->\n).*?(<!-- /badges -->)", re.DOTALL)
SOURCE = re.compile(r'(\bsrc(?:set)?=")(?!https?:)')
LINK = re.compile(r"(!?)(\[[^]]*\])\((?!https?:|#)([^)]+)\)")


def repository(address: str) -> str | None:
    """``owner/name`` of an address of GitHub, as git or a browser writes it."""
    found = re.search(r"github\.com[:/]([\w.-]+/[\w.-]+?)(?:\.git)?/?$", address)
    return found[1] if found else None


def badges(name: str, ref: str) -> str:
    """One line: whether the checks pass, and the first chapter on Binder and on Colab."""
    checks = f"https://github.com/{name}/actions/workflows/check.yml"
    binder, colab = "https://mybinder.org", "https://colab.research.google.com"
    shown = [
        ("checks", f"{checks}/badge.svg", checks),
        ("Binder", f"{binder}/badge_logo.svg", f"{binder}/v2/gh/{name}/{ref}?labpath={FIRST}"),
        ("Colab", f"{colab}/assets/colab-badge.svg", f"{colab}/github/{name}/blob/{ref}/{FIRST}"),
    ]
    return " ".join(f"[![{title}]({picture})]({link})" for title, picture, link in shown)


def with_badges(text: str, name: str, ref: str) -> str:
    """The README with its badges, in place of those that it had."""
    return PLACE.sub(lambda found: f"{found[1]}{badges(name, ref)}\n{found[2]}", text)


def with_whole_links(text: str, name: str, ref: str) -> str:
    """The README with links that work outside the repository."""
    pictures = f"https://raw.githubusercontent.com/{name}/{ref}"

    def whole(found: re.Match[str]) -> str:
        picture, title, path = found.groups()
        site = pictures if picture else f"https://github.com/{name}/blob/{ref}"
        return f"{picture}{title}({site}/{path})"

    return SOURCE.sub(rf"\1{pictures}/", LINK.sub(whole, text))


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def main(arguments: Sequence[str] | None = None) -> int:
    """Write README.md; 1 if nothing says which repository this is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--whole", action="store_true", help="make all links whole addresses")
    given = parser.parse_args(arguments)
    name = os.environ.get("GITHUB_REPOSITORY") or repository(_git("remote", "get-url", "origin"))
    if name is None:
        print("badges: no remote named origin is a repository on GitHub", file=sys.stderr)
        return 1
    head = _git("rev-parse", "--abbrev-ref", "origin/HEAD").removeprefix("origin/")
    ref = os.environ.get("GITHUB_REF_NAME") or head or "main"
    readme = ROOT / "README.md"
    text = with_badges(readme.read_text("utf-8"), name, ref)
    readme.write_text(with_whole_links(text, name, ref) if given.whole else text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
