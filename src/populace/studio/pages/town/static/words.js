// Words cut to the room that there is.

// Signs that steer the text around them have no place on a canvas either.
export function plain(text) {
  return text.replace(/[\p{Cc}\p{Cf}]+/gu, " ").trim();
}

export function short(name) {
  const first = [...plain(name).split(/\s+/)[0]];
  return first.length > 16 ? `${first.slice(0, 15).join("")}…` : first.join("");
}

export function wrapped(context, text, width, most) {
  const rows = [""];
  for (const word of text.split(/\s+/)) {
    const longer = rows.at(-1) ? `${rows.at(-1)} ${word}` : word;
    if (context.measureText(longer).width <= width) rows[rows.length - 1] = longer;
    else if (rows.at(-1)) rows.push(word);
    else rows[rows.length - 1] = word;
    if (rows.length > most) break;
  }
  const cut = rows.length > most;
  const kept = rows.slice(0, most).map((row) => fitted(context, row, width));
  if (cut) kept[most - 1] = `${fitted(context, kept[most - 1], width - 12).replace(/…$/, "")}…`;
  return kept;
}

function fitted(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  let signs = [...text];
  while (signs.length > 1 && context.measureText(`${signs.join("")}…`).width > width) signs = signs.slice(0, -1);
  return `${signs.join("")}…`;
}
