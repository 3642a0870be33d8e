document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-step]");
  if (!link || !window.pagesimPlayer) return;
  event.preventDefault();
  window.pagesimPlayer.goto(Number(link.dataset.step));
  document.querySelector(".pagesim-player").scrollIntoView({ behavior: "smooth" });
});
