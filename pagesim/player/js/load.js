/*
 * Unpacks the player's script, which a page carries gzipped, and runs it. A page has both hashes in
 * its Content-Security-Policy, so that nothing else can be run this way.
 */
(async () => {
  const begun = performance.now();
  const packed = /** @type {HTMLTemplateElement} */ (document.getElementById("pagesim-script")).content.textContent;
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const script = document.createElement("script");
  script.textContent = await new Response(stream).text();
  script.dataset.begun = `${begun}`;
  document.body.append(script);
})().catch((error) => {
  document.querySelector(".pagesim-player")?.append(`This player cannot be started: ${error}.`);
});
