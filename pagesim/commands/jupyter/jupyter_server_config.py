"""Opens a notebook as JupyterLab is about to have it, so that one only read need not be saved.

JupyterLab writes the `language_info` of the kernel into every notebook that it opens, with Python's
version, and marks the notebook as changed if there was another. The chapters are the same on every
machine, so no version is in their files: it is put in where they are read.
"""

from typing import Any

from ipykernel.ipkernel import IPythonKernel
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager


class Contents(AsyncLargeFileManager):
    """Files as ever; a notebook in Python gets the whole `language_info`."""

    async def get(self, *arguments: Any, **options: Any) -> dict[str, Any]:
        files: Any = super()
        model: dict[str, Any] = await files.get(*arguments, **options)
        if model["type"] == "notebook" and model["content"]:
            metadata = model["content"]["metadata"]
            if metadata.get("language_info", {}).get("name") == "python":
                metadata["language_info"] = dict(IPythonKernel.language_info)
        return model


c = get_config()  # type: ignore[name-defined]  # noqa: F821 (Jupyter defines it)
c.ServerApp.contents_manager_class = Contents
