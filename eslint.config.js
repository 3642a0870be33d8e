// How the player's script is checked: make lint, where `make web-setup` has been run.

const browser = ["atob", "Blob", "console", "DecompressionStream", "document", "getComputedStyle", "history", "Image", "location",
  "MutationObserver", "matchMedia", "parent", "performance", "ResizeObserver", "Response", "setInterval",
  "clearInterval", "setTimeout", "STYLE",
  "TextDecoder", "URL", "URLSearchParams", "window", "XMLSerializer"];

const rules = {
  "array-callback-return": "error",
  "consistent-return": "error",
  "default-param-last": "error",
  "eqeqeq": ["error", "always", { null: "ignore" }],
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
  "quotes": ["error", "double", { avoidEscape: true }],
  "semi": "error",
};

export default [
  { ignores: ["pagesim/player/bundle/"] },
  {
    files: ["pagesim/player/**/*.js"],
    languageOptions: { globals: Object.fromEntries(browser.map((name) => [name, "readonly"])) },
    rules,
  },
  {
    files: ["pagesim/player/bundle.mjs"],
    languageOptions: { globals: { process: "readonly", URL: "readonly" } },
    rules,
  },
];
