// The map as it is seen now, as a file.

import { clock, darkness } from "populace-town/film.js";
import { plain, short } from "populace-town/words.js";

export function save(href, name) {
  const link = document.createElement("a");
  link.href = href;
  link.download = name;
  link.click();
}

export function svg(painter, film, scene) {
  const { map, theme, width, height, view } = painter;
  const at = (x, y) => painter.screen(x, y).map((part) => part.toFixed(1));
  const safe = (text) => plain(text).replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
  const words = (x, y, text, size, colour) =>
    `<text x="${x}" y="${y}" font-size="${size}" text-anchor="middle" fill="${colour}">${safe(text)}</text>`;
  const parts = [`<rect width="${width}" height="${height}" fill="${theme.ground}"/>`];
  map.streets.x.forEach((x, k) => {
    const [x1, y1] = at(x, map.streets.y[k]);
    const [x2, y2] = at(map.streets.to_x[k], map.streets.to_y[k]);
    const wide = Math.max(6.5 * view.scale, 1.6).toFixed(1);
    parts.push(`<line x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}" stroke="${theme.kerb}" stroke-width="${wide}" stroke-linecap="round"/>`);
  });
  const b = map.buildings;
  const heat = scene.layer === "heat" ? painter.heat : null;
  if (heat) {
    heat.streets.x.forEach((x, k) => {
      const [left, top] = at(x - heat.cell / 2, heat.streets.y[k] + heat.cell / 2);
      const side = (heat.cell * view.scale).toFixed(1);
      parts.push(`<rect x="${left}" y="${top}" width="${side}" height="${side}" fill="${painter.warm(heat.streets.person_hours[k] / heat.outdoors)}"/>`);
    });
  }
  b.left.forEach((left, k) => {
    const [x, y] = at(left, b.bottom[k] + b.height[k]);
    const [wide, high] = [b.width[k] * view.scale, b.height[k] * view.scale].map((part) => part.toFixed(1));
    parts.push(`<rect x="${x}" y="${y}" width="${wide}" height="${high}" fill="${painter.colour(k, heat)}" stroke="${theme.edge}" stroke-width="0.6"/>`);
  });
  b.left.forEach((_, k) => {
    if (b.kind[k] === "home" && view.scale < 1.1) return;
    const [x, y] = at(b.x[k], b.bottom[k]);
    parts.push(words(x, Number(y) + 13, b.name[k], 10, theme.ink));
  });
  const dark = heat ? 0 : darkness(scene.time) * theme.dusk;
  if (dark) parts.push(`<rect width="${width}" height="${height}" fill="rgb(${theme.night})" fill-opacity="${dark.toFixed(2)}"/>`);
  for (const node of scene.layer === "news" ? scene.news : []) {
    if (node.from_row === null || node.time > scene.time || !film.has(node.row) || !film.has(node.from_row)) continue;
    const [x1, y1] = at(film.x[node.from_row], film.y[node.from_row]);
    const [x2, y2] = at(film.x[node.row], film.y[node.row]);
    parts.push(`<line x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}" stroke="${theme.link}" stroke-opacity="0.5"/>`);
  }
  for (let row = 0; scene.known && row < film.people; row++) {
    if (!film.has(row)) continue;
    const [x, y] = at(film.x[row], film.y[row]);
    const news = scene.layer === "news";
    const colour = news ? (scene.knows(row) ? theme.knows : theme.unaware) : film.inside[row] < 0 ? theme.walker : theme.person;
    parts.push(`<circle cx="${x}" cy="${y}" r="3.5" fill="${colour}" stroke="${theme.halo.slice(0, 7)}"/>`);
    if (painter.named.has(row)) parts.push(words(x, Number(y) - 6, short(map.people.name[row]), 9, theme.ink));
  }
  parts.push(`<text x="10" y="${height - 10}" font-size="12" fill="${theme.ink}">${safe(`${map.name}, ${clock(scene.time)} · ${map.run}`)}</text>`);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif">${parts.join("")}</svg>`;
}
