// Compile Python for the page: node compiled.mjs FOLDER runs compiled.py in the Pyodide that is in this folder.
// Its Python is the one that will import the result.

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [folder] = process.argv.slice(2),
  { loadPyodide } = await import(pathToFileURL(`${folder}/pyodide.mjs`).href),
  python = await loadPyodide({ indexURL: `${folder}/` });
python.FS.mkdir("/site");
python.FS.mount(python.FS.filesystems.NODEFS, { root: folder }, "/site");
python.runPython(readFileSync(new URL("compiled.py", import.meta.url), "utf8"));
