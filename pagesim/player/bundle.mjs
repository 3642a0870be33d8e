// Makes what a page carries: `make web`, after a change of js/ or of player.css. It needs esbuild.

import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";

const here = fileURLToPath(new URL(".", import.meta.url));
const target = process.argv[2] ?? `${here}bundle`;

/** Names and contents of all sources: tests/player/test_bundle.py takes the same sum. */
const sum = createHash("sha256");
for (const name of [
  ...readdirSync(`${here}js`)
    .sort()
    .map((file) => `js/${file}`),
  "player.css",
]) {
  sum.update(`${name}\n`).update(readFileSync(`${here}${name}`));
}
const banner = `/* made by \`make web\` from sources with the sum ${sum.digest("hex")} */`;

const make = (source, made, options = {}) =>
  buildSync({
    entryPoints: [here + source],
    outfile: `${target}/${made}`,
    target: "es2022",
    charset: "utf8",
    minify: true,
    legalComments: "none",
    ...options,
  });

make("player.css", "player.css");
make("js/load.js", "load.js");
const style = readFileSync(`${target}/player.css`, "utf8").trimEnd(); // packed with the script, which applies it
// A page of one run has no use for what compares two, and few show a kernel's programs.
const scripts = { "player.js": [false, false], "pair.js": [true, false], "film.js": [true, true] };
for (const [made, [pair, film]] of Object.entries(scripts)) {
  make("js/main.js", made, {
    bundle: true,
    format: "iife",
    banner: { js: banner },
    define: { STYLE: JSON.stringify(style), PAIR: `${pair}`, FILM: `${film}` },
  });
}
