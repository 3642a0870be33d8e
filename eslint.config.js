// How the player's script and the kit's example are checked: make lint, where `make web-setup` has been run.

const browser = [
  "atob",
  "Blob",
  "console",
  "DecompressionStream",
  "document",
  "getComputedStyle",
  "history",
  "Image",
  "IntersectionObserver",
  "location",
  "MutationObserver",
  "matchMedia",
  "parent",
  "performance",
  "ResizeObserver",
  "Response",
  "setInterval",
  "clearInterval",
  "clearTimeout",
  "setTimeout",
  "FILM",
  "PAIR",
  "STYLE",
  "TextDecoder",
  "URL",
  "URLSearchParams",
  "window",
  "XMLSerializer",
];

/** What the site's scripts use besides. */
const SITE = ["addEventListener", "CSSStyleSheet", "FormData", "IntersectionObserver", "localStorage"];

/** What the pages with editors use besides; what follows `Worker` is in the scripts before them. */
const LIVE = ["CSS", "Event", "Worker", "kept", "editor", "make"];
LIVE.push("ask", "failed", "judged", "python", "replace", "show", "wake");
const WORKER = ["addEventListener", "fetch", "performance", "postMessage", "process", "URL"];

const rules = {
  "array-callback-return": "error",
  "consistent-return": "error",
  "default-param-last": "error",
  eqeqeq: ["error", "always", { null: "ignore" }],
  "max-len": ["error", { code: 120, ignoreRegExpLiterals: true }],
  "max-lines": ["error", 400],
  "no-console": "error",
  "no-dupe-keys": "error",
  "no-duplicate-imports": "error",
  "no-empty": "error",
  "no-eval": "error",
  "no-implicit-globals": "error",
  "no-param-reassign": "error",
  "no-redeclare": "error",
  "no-shadow": "error",
  "no-undef": "error",
  "no-unreachable": "error",
  "no-unused-expressions": "error",
  "no-unused-vars": "error",
  "no-use-before-define": ["error", { functions: false }],
  "no-useless-escape": "error",
  "no-var": "error",
  "object-shorthand": "error",
  "prefer-const": "error",
  "prefer-template": "error",
  quotes: ["error", "double", { avoidEscape: true }],
  semi: "error",
};

export default [
  { ignores: ["pagesim/player/bundle/"] },
  {
    files: ["pagesim/player/**/*.js"],
    languageOptions: { globals: Object.fromEntries(browser.map((name) => [name, "readonly"])) },
    rules,
  },
  {
    // Scripts, not modules: a page that is opened from a disk may not import one.
    files: ["tools/course/book/assets/*.js"],
    languageOptions: {
      sourceType: "script",
      globals: Object.fromEntries([...browser, ...SITE].map((name) => [name, "readonly"])),
    },
    rules: { ...rules, "no-implicit-globals": "off" },
  },
  {
    // Here too: they share one scope with site.js.
    files: ["tools/course/live/assets/{editor,python,shown,live}.js"],
    languageOptions: {
      sourceType: "script",
      globals: Object.fromEntries([...browser, ...SITE, ...LIVE].map((name) => [name, "readonly"])),
    },
    rules: {
      ...rules,
      "no-implicit-globals": "off",
      "no-redeclare": ["error", { builtinGlobals: false }],
      "no-unused-vars": ["error", { vars: "local" }],
    },
  },
  {
    files: ["tools/course/live/assets/worker.js", "tools/course/live/*.mjs"],
    languageOptions: { globals: Object.fromEntries(WORKER.map((name) => [name, "readonly"])) },
    rules,
  },
  {
    files: ["pagesim/player/bundle.mjs", "kit/example/simulator.mjs"],
    languageOptions: { globals: { process: "readonly", URL: "readonly" } },
    rules,
  },
];
