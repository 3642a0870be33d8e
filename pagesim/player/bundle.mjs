// Makes what a page carries: `make web`, after a change of js/ or of a style. It needs esbuild and terser.

import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipAsync } from "@gfx/zopfli";
import { buildSync, transformSync } from "esbuild";
import { minify } from "terser";

const here = fileURLToPath(new URL(".", import.meta.url));
const target = process.argv[2] ?? `${here}bundle`;

/** Names and contents of all sources: tests/player/test_bundle.py takes the same sum. */
const sum = createHash("sha256");
for (const name of [
  ...readdirSync(`${here}js`)
    .sort()
    .map((file) => `js/${file}`),
  "film.css",
  "pair.css",
  "player.css",
]) {
  sum.update(`${name}\n`).update(readFileSync(`${here}${name}`));
}
const banner = `made by \`make web\` from sources with the sum ${sum.digest("hex")}`;

const small = /** @type {const} */ ({ target: "es2022", charset: "utf8", minify: true, legalComments: "none" });
const make = (source, made, options = {}) =>
  buildSync({ entryPoints: [here + source], outfile: `${target}/${made}`, ...small, ...options });

mkdirSync(target, { recursive: true });
make("js/load.js", "load.js");
/** The digits of js/load.js. */
const DIGITS = String.fromCharCode(...Array.from({ length: 90 }, (_, i) => 37 + i)).replace(/[&'<>\\]/g, "");

/** Bytes in base 85: five digits for four of them. */
function inDigits(bytes) {
  let text = "";
  for (let at = 0; at < bytes.length; at += 4) {
    const four = [...bytes.subarray(at, at + 4)];
    let word = [0, 1, 2, 3].reduce((high, i) => high * 256 + (four[i] ?? 0), 0),
      five = "";
    for (let i = 0; i < 5; i++, word = Math.floor(word / 85)) five = DIGITS[word % 85] + five;
    text += five.slice(0, four.length + 1);
  }
  return text;
}

// A page of one run has no use for what compares two, and few show a kernel's programs. Each script is packed as
// small as gzip allows, once for all pages.
const scripts = { player: [false, false], pair: [true, false], film: [false, true], films: [true, true] };
const wanted = process.argv[3]; // one of them, or all
for (const [made, [pair, film]] of Object.entries(scripts)) {
  if (wanted && wanted !== made) continue;
  const sources = ["player.css", ...(pair ? ["pair.css"] : []), ...(film ? ["film.css"] : [])].map((name) =>
      readFileSync(here + name, "utf8"),
    ),
    style = transformSync(sources.join(""), { ...small, loader: "css" }).code.trimEnd();
  writeFileSync(`${target}/${made}.css`, `${style}\n`); // packed with the script, which applies it
  const { outputFiles } = make("js/main.js", made, {
    bundle: true,
    format: "iife",
    write: false,
    define: { STYLE: JSON.stringify(style), PAIR: `${pair}`, FILM: `${film}` },
  });
  const { code } = await minify(outputFiles[0].text, { ecma: 2020, module: true }); // about 3 % smaller once more
  const packed = await gzipAsync(Buffer.from(code ?? ""), {});
  writeFileSync(`${target}/${made}.txt`, `${banner}\n${inDigits(packed)}\n`);
}
