// What a reader with a screen reader, a keyboard or weak eyes would stumble over on the page that is open.
() => {
  const problems = [];
  const visible = element => {
    const box = element.getBoundingClientRect(), style = getComputedStyle(element);
    return box.width > 0 && box.height > 0 && style.visibility !== "hidden" && style.display !== "none";
  };
  const hidden = element => element.closest("[aria-hidden=true]") !== null;
  const where = element => `${element.tagName.toLowerCase()}.${String(element.className?.baseVal ?? element.className).split(" ").slice(0, 3).join(".")}`;
  const words = element => {
    const copy = element.cloneNode(true);
    copy.querySelectorAll(".q-icon, i").forEach(icon => icon.remove());
    return copy.textContent || "";
  };
  const name = element => {
    const labelled = (element.getAttribute("aria-labelledby") || "").split(" ").map(id => document.getElementById(id)?.innerText || "").join(" ");
    const label = element.id && document.querySelector(`label[for="${CSS.escape(element.id)}"]`);
    return (element.getAttribute("aria-label") || labelled || label?.innerText || element.closest("label")?.innerText
      || [...element.querySelectorAll("[aria-label]")].map(each => each.getAttribute("aria-label")).join(" ")
      || words(element) || element.getAttribute("alt") || element.getAttribute("title") || "").trim();
  };

  if (!document.documentElement.lang) problems.push("html has no lang");
  const mains = document.querySelectorAll("main, [role=main]");
  if (mains.length !== 1) problems.push(`${mains.length} mains`);
  if (!document.title.trim()) problems.push("no title");

  let level = 0;
  const headings = [...document.querySelectorAll("h1,h2,h3,h4,h5,h6,[role=heading]")].filter(each => visible(each) && !hidden(each));
  for (const each of headings) {
    const now = Number(each.getAttribute("aria-level") || each.tagName[1]);
    if (now > level + 1) problems.push(`heading jumps from ${level} to ${now}: ${each.innerText.slice(0, 40)}`);
    level = now;
  }
  if (headings.filter(each => (each.getAttribute("aria-level") || each.tagName[1]) === "1").length !== 1) problems.push("not one heading of level 1");

  for (const each of document.querySelectorAll("button, a[href], [role=button], [role=tab], [role=switch], [role=slider], [role=combobox], input, textarea, select")) {
    if (!visible(each) || hidden(each) || each.type === "hidden" || each.closest(".q-field__append")) continue;
    if (!name(each)) problems.push(`no name: ${where(each)} ${each.outerHTML.slice(0, 120)}`);
  }
  for (const each of document.querySelectorAll("img, canvas, [role=img]"))
    if (visible(each) && !hidden(each) && !(each.getAttribute("aria-label") || each.getAttribute("alt"))) problems.push(`no text alternative: ${where(each)}`);
  for (const each of document.querySelectorAll("[role=slider]"))
    if (visible(each) && !each.getAttribute("aria-valuetext")) problems.push(`slider without spoken value: ${each.outerHTML.slice(0, 160)}`);
  for (const each of document.querySelectorAll("th.sortable"))
    if (visible(each) && !hidden(each) && each.tabIndex !== 0) problems.push(`heading of a table that the keyboard cannot reach: ${each.innerText}`);
  const ids = [...document.querySelectorAll("[id]")].map(each => each.id);
  const twice = ids.filter((id, place) => ids.indexOf(id) !== place);
  if (twice.length) problems.push(`ids used twice: ${[...new Set(twice)].slice(0, 5)}`);

  // Contrast of every text with what lies behind it.
  const parse = colour => {
    const numbers = colour.match(/[\d.]+/g).map(Number);
    const srgb = colour.startsWith("color(srgb") ? numbers.slice(0, 3).map(part => part * 255) : numbers.slice(0, 3);
    return { rgb: srgb, alpha: numbers.length > 3 ? numbers[3] : 1 };
  };
  const over = (top, below) => top.rgb.map((part, place) => part * top.alpha + below[place] * (1 - top.alpha));
  const background = element => {
    const layers = [];
    for (let each = element; each; each = each.parentElement) {
      const colour = parse(getComputedStyle(each).backgroundColor);
      if (colour.alpha > 0) layers.push(colour);
      if (colour.alpha === 1) break;
    }
    return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255]);
  };
  const light = rgb => {
    const [red, green, blue] = rgb.map(part => part / 255).map(part => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const seen = new Set();
  let texts = 0;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement, text = walker.currentNode.textContent.trim();
    if (!text || !element || !visible(element) || element.closest("script, style, .q-icon, i, [disabled], .disabled, [aria-hidden=true]")) continue;
    const style = getComputedStyle(element);
    let opacity = 1;
    for (let each = element; each; each = each.parentElement) opacity *= Number(getComputedStyle(each).opacity);
    if (opacity === 0) continue;
    texts += 1;
    const behind = background(element);
    const ink = parse(element.closest("svg") ? style.fill === "none" ? style.color : style.fill : style.color);
    const front = over({ rgb: ink.rgb, alpha: ink.alpha * opacity }, behind);
    const [more, less] = [light(front), light(behind)].sort((one, other) => other - one);
    const ratio = (more + 0.05) / (less + 0.05);
    const key = `${where(element)} ${style.color}`;
    if (ratio < 4.5 && !seen.has(key)) {
      seen.add(key);
      problems.push(`contrast ${ratio.toFixed(2)}: ${where(element)} “${text.slice(0, 40)}” ${style.color} on ${behind.map(Math.round)}`);
    }
  }
  return { problems, texts };
}
