"""The badges of README.md in any fork, and its links where PyPI shows it."""

import re
from pathlib import Path

import pytest

from tools import badges

README = (badges.ROOT / "README.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("https://github.com/ada/pages.git", "ada/pages"),
        ("git@github.com:ada/pages.sim.git", "ada/pages.sim"),
        ("https://github.com/ada/pages/", "ada/pages"),
        ("https://example.org/ada/pages", None),
        ("", None),
    ],
)
def test_the_repository_of_an_address(address: str, name: str | None) -> None:
    assert badges.repository(address) == name


def test_badges_lead_to_the_repository_that_they_were_made_for() -> None:
    once = badges.with_badges(README, "ada/pages", "main")
    links = re.findall(r"\]\((https:[^)]+)\)", once.split("<!-- /badges -->")[0])
    assert sum("ada/pages" in link for link in links) == 4  # the check's picture, and three links
    assert (badges.ROOT / badges.FIRST).is_file()
    again = badges.with_badges(once, "eve/fork", "main")
    assert "ada" not in again and again == badges.with_badges(README, "eve/fork", "main")


def test_on_pypi_no_link_is_relative() -> None:
    whole = badges.with_whole_links(README, "ada/pages", "v1")
    assert not re.findall(r"\]\((?!https:)", whole)
    assert not re.findall(r'src(?:set)?="(?!https:)', whole)
    assert '"https://raw.githubusercontent.com/ada/pages/v1/figures/' in whole
    assert "(https://github.com/ada/pages/blob/v1/docs/install.md)" in whole


def test_the_readme_is_written_once_the_repository_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "README.md").write_text(README, "utf-8")
    monkeypatch.setattr(badges, "ROOT", tmp_path)
    monkeypatch.delenv("GITHUB_REPOSITORY", raising=False)
    assert badges.main([]) == 1 and (tmp_path / "README.md").read_text("utf-8") == README
    monkeypatch.setenv("GITHUB_REPOSITORY", "ada/pages")
    assert badges.main(["--whole"]) == 0
    assert "mybinder.org/v2/gh/ada/pages" in (tmp_path / "README.md").read_text("utf-8")
