"""`make lab` hands out notebooks as JupyterLab is about to have them."""

import asyncio
import json
import platform
from pathlib import Path
from typing import Any

import pytest

from tools.course import NOTEBOOKS, ROOT

pytest.importorskip("jupyter_server")
CHAPTER = json.loads((NOTEBOOKS / "00_start_here.ipynb").read_text(encoding="utf-8"))


def opened(folder: Path, notebook: dict[str, Any], **options: Any) -> Any:
    """What JupyterLab gets for a notebook: its metadata, or None without its content."""
    from traitlets.config.loader import PyFileConfigLoader

    folder_of_config = str(ROOT / "pagesim" / "commands" / "jupyter")
    config = PyFileConfigLoader("jupyter_server_config.py", folder_of_config)
    contents = config.load_config().ServerApp.contents_manager_class(root_dir=str(folder))
    (folder / "a.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    content = asyncio.run(contents.get("a.ipynb", **options))["content"]
    return content and content["metadata"]


def test_a_chapter_is_opened_with_the_python_of_the_kernel(tmp_path: Path) -> None:
    info = opened(tmp_path, CHAPTER)["language_info"]
    assert info["version"] == platform.python_version()
    assert info["codemirror_mode"] == {"name": "ipython", "version": 3}
    assert json.loads((tmp_path / "a.ipynb").read_text(encoding="utf-8")) == CHAPTER


def test_what_is_no_python_and_what_has_no_content_is_left_alone(tmp_path: Path) -> None:
    other = {"language_info": {"name": "R"}}
    assert opened(tmp_path, CHAPTER | {"metadata": other}) == other
    assert opened(tmp_path, CHAPTER | {"metadata": {}}) == {}
    assert opened(tmp_path, CHAPTER, content=False) is None
