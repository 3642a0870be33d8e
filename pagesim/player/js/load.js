/*
 * Unpacks the player's script, which a page carries gzipped and in base 85, and runs it as soon as the page is
 * seen: a chapter has many players. A page has both hashes in its Content-Security-Policy, so that nothing
 * else can be run this way.
 */
{
  const unpack = async () => {
    const begun = performance.now();
    const packed = /** @type {HTMLTemplateElement} */ (document.getElementById("pagesim-script")).content.textContent;
    const words = new DataView(new ArrayBuffer(packed.length));
    for (let at = 0; at < packed.length; at += 5) {
      let word = 0;
      for (const digit of packed.slice(at, at + 5).padEnd(5, "~")) {
        // The signs from % to ~, without & ' < > \, which HTML or a file of JSON would write longer.
        const c = digit.charCodeAt(0);
        word = word * 85 + c - 37 - 2 * +(c > 39) - +(c > 60) - +(c > 62) - +(c > 92);
      }
      words.setUint32((at / 5) * 4, word);
    }
    const bytes = words.buffer.slice(0, Math.floor(packed.length * 0.8));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(stream).text();
    script.dataset.begun = `${begun}`;
    document.body.append(script);
  };

  const seen = new IntersectionObserver(
    ([{ isIntersecting }]) => {
      if (!isIntersecting) return;
      seen.disconnect();
      unpack().catch((error) => {
        document.querySelector(".pagesim-player")?.append(`This player cannot be started: ${error}.`);
      });
    },
    { rootMargin: "300px" },
  );
  seen.observe(document.body);
}
