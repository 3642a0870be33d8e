// The tensors behind the blocks: how many bytes there are, and which of them belong to a slot.

const PIECE = 16; // the bytes of a key that lie together for the CUDA kernels
/** Models to choose from: layers, KV heads, numbers of a head, their bytes. Compared with pagesim.sizing by a test. */
export const PRESETS = {
  "llama-3.1-8b": [32, 8, 128, 2],
  "llama-3.1-70b": [80, 8, 128, 2],
  "qwen3-8b": [36, 8, 128, 2],
  "opt-13b": [40, 40, 128, 2],
};
/** By the kernels that read K and V: in which order their numbers are. */
export const LAYOUTS = { flash: "FlashAttention", cuda: "CUDA kernels of 0.6.4" };

/** The file's model, or all that a reader may choose. @param {Header} header @returns {Shape[]} */
export const modelsOf = ({ model }) =>
  model
    ? [model]
    : Object.keys(LAYOUTS).flatMap((layout) =>
        Object.entries(PRESETS).map(([name, [layers, kv_heads, head_dim, bytes]]) => {
          return { name, layers, kv_heads, head_dim, bytes, layout };
        }),
      );

/** Whether a header may have this model. */
export function isModel({ name, layers, kv_heads: heads, head_dim: dim, bytes, layout, values = [] }) {
  const sizes = [layers, heads, dim, bytes],
    fits = (vector) => vector.length === heads * dim && vector.every(Number.isFinite);
  return (
    typeof name === "string"
    && sizes.every((n) => Number.isSafeInteger(n) && n > 0)
    && sizes.reduce((a, b) => a * b) <= 2 ** 40
    && (layout === "flash" || (layout === "cuda" && (dim * bytes) % PIECE === 0))
    && values.every(([, , vectors]) => vectors.length === 2 * layers && vectors.every(fits))
  );
}

/** The bytes of a slot's K, or V, in one layer. @param {Shape} model */
export const slotBytes = ({ kv_heads, head_dim, bytes }) => kv_heads * head_dim * bytes;
/** The bytes of so many slots: K and V in all layers. @param {Shape} model */
export const allBytes = (model, slots) => 2 * model.layers * slots * slotBytes(model);

/**
 * Where the numbers of a slot are in a layer's tensors of K and of V: so many runs of bytes, the first
 * of them at `start`, each `step` after the one before. @param {Shape} model @returns {Runs[]}
 */
export function runsOf(model, size, block, offset) {
  const all = slotBytes(model),
    cut = (run) => ({ start: block * size * all + offset * run, run, count: all / run, step: run * size });
  return (model.layout === "cuda" && size > 1 ? [PIECE, model.bytes] : [all, all]).map(cut);
}

export const grouped = (n) => n.toLocaleString("en");
/** "2 MiB". */
export function sizeText(bytes) {
  const power = Math.min(Math.floor(Math.log2(bytes) / 10), 4);
  return `${grouped(+(bytes / 1024 ** power).toPrecision(3))} ${["B", "KiB", "MiB", "GiB", "TiB"][power]}`;
}
