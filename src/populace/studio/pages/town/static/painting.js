// Draws a town onto a canvas. What stays is drawn once and copied; only people and words are drawn at every frame.

import { DARK, GREEN, LIGHT } from "populace-town/colours.js";
import { darkness } from "populace-town/film.js";
import { plain, short, wrapped } from "populace-town/words.js";

const FONT = "Roboto, system-ui, sans-serif";
const MARGIN = 0.25; // of the canvas, drawn beyond each side so that it can move a little
const SHADES = 10; // between day and night
const BUBBLES = 14;
const NEW_BUBBLES = 3;
const ROOM = 60000; // pixels of map for each
const NAMES = 90;

export class Painter {
  constructor(canvas, map) {
    this.canvas = canvas;
    this.map = map;
    this.context = canvas.getContext("2d");
    this.stay = document.createElement("canvas");
    this.words = new Map();
    this.named = new Set();
    this.drawn = "";
    this.view = { x: 0, y: 0, scale: 1 };
    this.heat = null;
  }

  get theme() {
    return document.body.classList.contains("body--dark") ? DARK : LIGHT;
  }

  resize() {
    this.ratio = Math.min(window.devicePixelRatio || 1, 2);
    this.width = this.canvas.clientWidth;
    this.height = this.canvas.clientHeight;
    this.canvas.width = Math.round(this.width * this.ratio);
    this.canvas.height = Math.round(this.height * this.ratio);
    this.drawn = "";
  }

  fit() {
    const [left, bottom, right, top] = this.map.bounds;
    const [wide, high] = [this.width - Math.min(90, 0.07 * this.width), this.height - 50];
    const scale = Math.min(wide / (right - left), high / (top - bottom));
    this.view = { x: (left + right) / 2, y: (bottom + top) / 2, scale };
  }

  screen(x, y) {
    const { view } = this;
    return [(x - view.x) * view.scale + this.width / 2, this.height / 2 - (y - view.y) * view.scale];
  }

  world(sx, sy) {
    const { view } = this;
    return [(sx - this.width / 2) / view.scale + view.x, view.y - (sy - this.height / 2) / view.scale];
  }

  zoom(factor, sx = this.width / 2, sy = this.height / 2) {
    const [x, y] = this.world(sx, sy);
    const least = Math.min(this.width, this.height) / 20000;
    this.view.scale = Math.min(Math.max(this.view.scale * factor, least), 60);
    const [nx, ny] = this.world(sx, sy);
    this.view.x += x - nx;
    this.view.y += y - ny;
  }

  paint(film, scene) {
    const { context, theme } = this;
    this.still(scene);
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    const dx = (this.at.x - this.view.x) * this.view.scale;
    const dy = (this.view.y - this.at.y) * this.view.scale;
    context.fillStyle = theme.ground;
    context.fillRect(0, 0, this.width, this.height);
    context.drawImage(
      this.stay,
      dx - this.width * MARGIN, dy - this.height * MARGIN,
      this.width * (1 + 2 * MARGIN), this.height * (1 + 2 * MARGIN),
    );
    if (!scene.known) return;
    if (scene.layer === "news") this.links(film, scene);
    if (scene.follow >= 0) this.way(film.way(scene.follow, scene.time));
    this.people(film, scene);
    if (scene.layer !== "heat") this.bubbles(film, scene);
  }

  // Streets, buildings and their names, a little beyond the edges.
  still({ layer, time }) {
    const { view, theme } = this;
    const moved = this.at && (
      Math.abs(this.at.x - view.x) * view.scale > this.width * MARGIN ||
      Math.abs(this.at.y - view.y) * view.scale > this.height * MARGIN
    );
    const dark = layer === "heat" ? 0 : Math.round(darkness(time) * SHADES) / SHADES;
    const stamp = `${dark} ${view.scale} ${theme === DARK} ${layer === "heat" ? this.heat?.stamp : ""} ${this.ratio}`;
    if (stamp === this.drawn && !moved) return;
    this.drawn = stamp;
    this.at = { x: view.x, y: view.y };
    const width = this.width * (1 + 2 * MARGIN);
    const height = this.height * (1 + 2 * MARGIN);
    this.stay.width = Math.round(width * this.ratio);
    this.stay.height = Math.round(height * this.ratio);
    const context = this.stay.getContext("2d");
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.fillStyle = theme.ground;
    context.fillRect(0, 0, width, height);
    const place = (x, y) => [(x - view.x) * view.scale + width / 2, height / 2 - (y - view.y) * view.scale];
    this.streets(context, place);
    if (layer === "heat" && this.heat) this.warmth(context, place);
    this.buildings(context, place, layer === "heat" ? this.heat : null);
    context.fillStyle = `rgba(${theme.night}, ${dark * theme.dusk})`;
    context.fillRect(0, 0, width, height);
    this.labels(context, place, width, height, dark > 0.5);
  }

  streets(context, place) {
    const { streets } = this.map;
    context.lineCap = "round";
    for (const [colour, metres, least] of [[this.theme.kerb, 9, 3], [this.theme.street, 6.5, 1.6]]) {
      context.strokeStyle = colour;
      context.lineWidth = Math.max(metres * this.view.scale, least);
      context.beginPath();
      streets.x.forEach((x, k) => {
        context.moveTo(...place(x, streets.y[k]));
        context.lineTo(...place(streets.to_x[k], streets.to_y[k]));
      });
      context.stroke();
    }
  }

  buildings(context, place, heat) {
    const { theme, view, map: { buildings: b } } = this;
    context.lineWidth = Math.min(1, Math.max(0.4, view.scale));
    b.left.forEach((left, k) => {
      const [x, y] = place(left, b.bottom[k] + b.height[k]);
      context.fillStyle = this.colour(k, heat);
      context.strokeStyle = theme.edge;
      const round = GREEN.has(b.kind[k]) ? 6 * view.scale : Math.min(2, view.scale);
      context.beginPath();
      context.roundRect(x, y, b.width[k] * view.scale, b.height[k] * view.scale, round);
      context.fill();
      context.stroke();
    });
  }

  colour(building, heat) {
    if (heat) return this.warm(heat.buildings[building] / heat.most);
    const kind = this.map.buildings.kind[building];
    return GREEN.has(kind) ? this.theme.green : kind === "home" ? this.theme.home : this.theme.work;
  }

  warmth(context, place) {
    const { streets, cell, outdoors } = this.heat;
    const side = cell * this.view.scale;
    streets.x.forEach((x, k) => {
      const [sx, sy] = place(x - cell / 2, streets.y[k] + cell / 2);
      context.fillStyle = this.warm(streets.person_hours[k] / outdoors);
      context.fillRect(sx, sy, side + 0.5, side + 0.5);
    });
  }

  // Little and much can both be seen on a scale of roots.
  warm(part) {
    const { heat } = this.theme;
    const at = Math.sqrt(Math.min(Math.max(part, 0), 1)) * 2;
    const low = Math.min(Math.floor(at), 1);
    const mixed = heat[low].map((value, k) => Math.round(value + (heat[low + 1][k] - value) * (at - low)));
    return `rgb(${mixed})`;
  }

  labels(context, place, width, height, night) {
    const { theme, view, map: { buildings: b } } = this;
    const taken = [];
    const order = b.name.map((_, k) => k).sort((p, q) => (b.kind[p] === "home") - (b.kind[q] === "home") || p - q);
    context.textAlign = "center";
    context.textBaseline = "top";
    context.lineJoin = "round";
    for (const k of order) {
      const [x, y] = place(b.x[k], b.bottom[k]);
      if (x < 0 || y < 0 || x > width || y > height) continue;
      const home = b.kind[k] === "home";
      if (home && view.scale < 1.1) continue;
      const size = home ? 11 : 12;
      context.font = `${home ? 400 : 600} ${size}px ${FONT}`;
      for (const name of [b.name[k], b.label[k]]) {
        const half = context.measureText(name).width / 2 + 4;
        const box = [x - half, y + 1, x + half, y + size + 5];
        if (taken.some((t) => box[0] < t[2] && t[0] < box[2] && box[1] < t[3] && t[1] < box[3])) continue;
        taken.push(box);
        context.strokeStyle = night ? theme.dim : theme.halo;
        context.lineWidth = 3;
        context.strokeText(name, x, y + 3);
        context.fillStyle = home && !night ? theme.soft : theme.ink;
        context.fillText(name, x, y + 3);
        break;
      }
    }
  }

  people(film, scene) {
    const { context, theme } = this;
    const size = Math.min(Math.max(2.6, 1.5 * this.view.scale + 1.4), 7);
    const groups = { plain: [], walker: [], knows: [] };
    const seen = [];
    for (let row = 0; row < film.people; row++) {
      const [x, y] = this.screen(film.x[row], film.y[row]);
      if (!film.has(row) || x < -20 || y < -20 || x > this.width + 20 || y > this.height + 20) continue;
      seen.push(row);
      const news = scene.layer === "news";
      const group = news ? (scene.knows(row) ? "knows" : "plain") : film.inside[row] < 0 ? "walker" : "plain";
      groups[group].push(x, y);
    }
    const colours = { plain: scene.layer === "news" ? theme.unaware : theme.person, walker: theme.walker, knows: theme.knows };
    context.globalAlpha = scene.layer === "heat" ? 0.55 : 1;
    context.lineWidth = size < 4 ? 0.6 : 1;
    context.strokeStyle = theme.halo;
    for (const [group, points] of Object.entries(groups)) {
      if (!points.length) continue;
      context.fillStyle = colours[group];
      context.beginPath();
      for (let k = 0; k < points.length; k += 2) {
        context.moveTo(points[k] + size, points[k + 1]);
        context.arc(points[k], points[k + 1], size, 0, 6.2832);
      }
      context.fill();
      context.stroke();
    }
    context.globalAlpha = 1;
    if (scene.follow >= 0 && film.has(scene.follow)) {
      context.strokeStyle = theme.chosen;
      context.lineWidth = 2.5;
      context.beginPath();
      context.arc(...this.screen(film.x[scene.follow], film.y[scene.follow]), size + 4, 0, 6.2832);
      context.stroke();
    }
    this.crowds(film, seen, size);
    this.names(film, scene, seen, size);
  }

  // How many are in a building, where their dots no longer stand apart.
  crowds(film, seen, size) {
    const { view, map: { buildings: b } } = this;
    const counts = new Map();
    for (const row of seen) {
      if (film.inside[row] >= 0) counts.set(film.inside[row], (counts.get(film.inside[row]) || 0) + 1);
    }
    for (const [k, count] of counts) {
      const room = b.width[k] * b.height[k] * view.scale * view.scale;
      if (count < 4 || room > count * size * size * 7) continue;
      const word = this.word(`${count}`, 11, true);
      const [x, y] = this.screen(b.left[k] + b.width[k], b.y[k]);
      this.context.drawImage(word.image, x + 1, y - word.high / 2, word.wide, word.high);
    }
  }

  // Short names where there is room; who had one keeps it, so that names do not flicker.
  names(film, scene, seen, size) {
    const all = seen.length <= 45 || this.view.scale >= 2.4;
    const speaking = new Set(scene.bubbles.filter((line) => line.placed).map((line) => line.row));
    const wanted = seen.filter((row) => all || speaking.has(row) || row === scene.follow);
    wanted.sort((a, b) => (b === scene.follow) - (a === scene.follow) || this.named.has(b) - this.named.has(a) || a - b);
    const columns = Math.ceil(this.width / 8) + 1;
    const taken = new Uint8Array(columns * (Math.ceil(this.height / 7) + 1));
    this.named.clear();
    for (const row of wanted) {
      if (this.named.size >= NAMES) break;
      const [x, y] = this.screen(film.x[row], film.y[row]);
      const word = this.word(short(this.map.people.name[row]), 11, row === scene.follow);
      const left = Math.max(0, Math.floor((x - word.wide / 2) / 8));
      const right = Math.min(columns - 1, Math.floor((x + word.wide / 2) / 8));
      const top = Math.max(0, Math.floor((y - size - 14) / 7));
      if (right < left) continue;
      const cells = [taken.subarray(top * columns + left, top * columns + right + 1)];
      cells.push(taken.subarray((top + 1) * columns + left, (top + 1) * columns + right + 1));
      if (row !== scene.follow && cells.some((cell) => cell.some(Boolean))) continue;
      cells.forEach((cell) => cell.fill(1));
      this.named.add(row);
      this.context.drawImage(word.image, x - word.wide / 2, y - size - 16, word.wide, word.high);
    }
  }

  // Words are drawn once and then copied, which is many times quicker than writing them anew.
  word(text, size, strong) {
    const key = `${text}|${size}|${strong}|${this.theme === DARK}|${this.ratio}`;
    let made = this.words.get(key);
    if (made) return made;
    if (this.words.size > 2000) this.words.clear();
    const image = document.createElement("canvas");
    const context = image.getContext("2d");
    context.font = `${strong ? 700 : 500} ${size}px ${FONT}`;
    made = { image, wide: Math.ceil(context.measureText(text).width) + 6, high: size + 5 };
    image.width = made.wide * this.ratio;
    image.height = made.high * this.ratio;
    context.scale(this.ratio, this.ratio);
    context.font = `${strong ? 700 : 500} ${size}px ${FONT}`;
    context.textBaseline = "top";
    context.lineJoin = "round";
    context.lineWidth = 3;
    context.strokeStyle = this.theme.halo;
    context.strokeText(text, 3, 2);
    context.fillStyle = this.theme.ink;
    context.fillText(text, 3, 2);
    this.words.set(key, made);
    return made;
  }

  way(points) {
    if (points.length < 2) return;
    const { context } = this;
    context.strokeStyle = this.theme.chosen;
    context.lineWidth = 2;
    context.setLineDash([5, 5]);
    context.beginPath();
    points.forEach(([x, y], k) => (k ? context.lineTo(...this.screen(x, y)) : context.moveTo(...this.screen(x, y))));
    context.stroke();
    context.setLineDash([]);
  }

  links(film, scene) {
    const { context } = this;
    context.strokeStyle = this.theme.link;
    for (const [recent, width, alpha] of [[false, 1, 0.4], [true, 2.5, 0.95]]) {
      context.lineWidth = width;
      context.globalAlpha = alpha;
      context.beginPath();
      for (const node of scene.news) {
        if (node.from_row === null || node.time > scene.time || (scene.time - node.time < 1800) !== recent) continue;
        if (!film.has(node.row) || !film.has(node.from_row)) continue;
        context.moveTo(...this.screen(film.x[node.from_row], film.y[node.from_row]));
        context.lineTo(...this.screen(film.x[node.row], film.y[node.row]));
      }
      context.stroke();
    }
    context.globalAlpha = 1;
  }

  bubbles(film, scene) {
    const placed = [];
    const own = (line) => line.row === scene.follow || line.to.includes(scene.follow);
    const had = (line) => Boolean(line.placed); // who has one keeps it until it is read
    const lines = [...scene.bubbles].sort((a, b) => own(b) - own(a) || had(b) - had(a) || b.shown - a.shown);
    lines.forEach((line) => (line.placed = false));
    let written = 0; // few new ones a frame: writing takes its time
    const most = Math.max(3, Math.min(BUBBLES, (this.width * this.height) / ROOM));
    for (const line of lines) {
      if (placed.length >= most) break;
      const [x, y] = this.screen(film.x[line.row], film.y[line.row]);
      if (!film.has(line.row) || x < 0 || y < 0 || x > this.width || y > this.height) continue;
      if (!line.bubble && ++written > NEW_BUBBLES) continue;
      const bubble = this.bubble(line);
      const left = Math.min(Math.max(x - bubble.wide / 2, 4), Math.max(this.width - bubble.wide - 4, 4));
      const top = Math.max(y - bubble.high - 22, 4);
      const box = [left, top, left + bubble.wide, top + bubble.high];
      if (placed.some((t) => box[0] < t[2] && t[0] < box[2] && box[1] < t[3] && t[1] < box[3])) continue;
      placed.push(box);
      line.placed = true;
      this.context.drawImage(bubble.image, left, top, bubble.wide, bubble.high);
    }
  }

  bubble(line) {
    const key = `${this.theme === DARK} ${this.ratio}`;
    if (line.bubble?.key === key) return line.bubble;
    const image = document.createElement("canvas");
    const context = image.getContext("2d");
    const font = `12px ${FONT}`;
    context.font = font;
    const rows = wrapped(context, plain(line.text) || "…", 170, 3);
    const wide = Math.ceil(Math.max(...rows.map((row) => context.measureText(row).width))) + 18;
    const high = rows.length * 15 + 12;
    image.width = wide * this.ratio;
    image.height = high * this.ratio;
    context.scale(this.ratio, this.ratio);
    context.font = font;
    context.fillStyle = this.theme.bubble;
    context.strokeStyle = this.theme.edge;
    context.beginPath();
    context.roundRect(0.5, 0.5, wide - 1, high - 1, 7);
    context.fill();
    context.stroke();
    context.fillStyle = this.theme.ink;
    context.textBaseline = "top";
    rows.forEach((row, k) => context.fillText(row, 9, 7 + k * 15));
    line.bubble = { key, image, wide, high };
    return line.bubble;
  }

  // Who stands nearest to a point of the canvas, within reach of a finger; -1 for nobody.
  nearest(film, sx, sy, reach = 16) {
    let best = -1;
    let least = reach;
    for (let row = 0; row < film.people; row++) {
      const [x, y] = this.screen(film.x[row], film.y[row]);
      const away = Math.hypot(x - sx, y - sy);
      if (away < least) [best, least] = [row, away];
    }
    return best;
  }
}
