// Saves what a chart shows: as SVG as it is drawn, or as PNG at twice its size. Always dark on white, for paper.
window.populaceSave = async (id, kind, name) => {
  const chart = getElement(id).chart;
  const svg = chart.getDataURL({ type: "svg", backgroundColor: "#ffffff" });
  let href = svg;
  if (kind === "png") {
    const image = new Image();
    await new Promise((done, failed) => {
      image.onload = done;
      image.onerror = failed;
      image.src = svg;
    });
    const canvas = document.createElement("canvas");
    canvas.width = 2 * chart.getWidth();
    canvas.height = 2 * chart.getHeight();
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    href = canvas.toDataURL("image/png");
  }
  const link = document.createElement("a");
  link.href = href;
  link.download = `${name}.${kind}`;
  link.click();
};

// The light that somebody chose is kept by the browser, for a year.
window.populaceKeep = (name, value) => {
  document.cookie = `${name}=${encodeURIComponent(value)}; path=/; max-age=31536000; samesite=strict`;
};

// Headings of tables are sorted with a click; here they can be reached with Tab and pressed with Enter or Space too.
const populaceHeading = th => {
  const order = th.classList.contains("sorted") ? (th.classList.contains("sort-desc") ? "descending" : "ascending") : "none";
  if (th.tabIndex !== 0) th.tabIndex = 0;
  if (th.getAttribute("aria-sort") !== order) th.setAttribute("aria-sort", order);
};
document.addEventListener("keydown", event => {
  const th = event.target.closest?.("th.sortable");
  if (!th || (event.key !== "Enter" && event.key !== " ")) return;
  event.preventDefault();
  th.click();
});
new MutationObserver(changes => {
  for (const { target, addedNodes } of changes) {
    if (target.matches?.("th.sortable")) populaceHeading(target);
    for (const node of addedNodes) node.querySelectorAll?.("th.sortable").forEach(populaceHeading);
    for (const node of addedNodes) if (node.matches?.("th.sortable")) populaceHeading(node);
  }
}).observe(document.documentElement, { childList: true, subtree: true, attributes: true, attributeFilter: ["class"] });
