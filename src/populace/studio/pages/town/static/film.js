// Where everybody is at any time, from windows of steps that are fetched shortly before they are needed.

const STEPS = 24; // of a window
const KEPT = 40; // windows
const NEAR = 1e-3;
const ABSENT = -2; // the building of those who have left or not come yet

const share = (number) => number - Math.floor(number);

export class Film {
  constructor(api, map) {
    this.api = api;
    this.map = map;
    this.people = map.people.name.length;
    this.x = new Float32Array(this.people);
    this.y = new Float32Array(this.people);
    this.inside = new Int16Array(this.people); // the building, -1 on the way, ABSENT
    this.windows = new Map();
    this.problem = "";
    const b = map.buildings;
    this.centres = new Map(b.x.map((x, k) => [`${x},${b.y[k]}`, k]));
  }

  extend(last, ends) {
    // What is known of the last window stays in sight until the longer one is here.
    for (const [key, window] of this.windows) if (key >= this.key(this.map.last)) window.stale = true;
    this.map.last = last;
    this.map.ends = ends;
  }

  step(time) {
    const step = this.map.first + Math.floor((time - this.map.begins) / this.map.tick);
    return Math.min(Math.max(step, this.map.first), this.map.last);
  }

  key(step) {
    return Math.floor((step - this.map.first) / STEPS);
  }

  // The window of a time, or undefined while it is under way; the next one is asked for as well.
  window(time) {
    const key = this.key(this.step(time));
    const found = this.fetched(key);
    if (found && this.map.first + (key + 1) * STEPS <= this.map.last) this.fetched(key + 1);
    return found;
  }

  fetched(key) {
    const found = this.windows.get(key);
    if (found) {
      this.windows.delete(key);
      this.windows.set(key, found); // the last used stand last
      if (found.stale) {
        found.stale = false;
        this.load(key, found);
      }
      return found.ready ? found : undefined;
    }
    const coming = { ready: false };
    this.windows.set(key, coming);
    if (this.windows.size > KEPT) this.windows.delete(this.windows.keys().next().value);
    this.load(key, coming);
    return undefined;
  }

  async load(key, target) {
    const from = this.map.first + key * STEPS;
    const span = `from=${from}&to=${Math.min(from + STEPS - 1, this.map.last)}`;
    try {
      const [film, speech] = await Promise.all([
        this.json(`${this.api}/frames?${span}`),
        this.json(`${this.api}/speech?${span}&limit=240`),
      ]);
      Object.assign(target, this.prepared(film), { speech, ready: true });
      this.problem = "";
    } catch (error) {
      this.problem = String(error.message || error);
      // Whoever needs it asks again, though not at every frame.
      setTimeout(() => !target.ready && this.windows.get(key) === target && this.windows.delete(key), 2000);
    }
  }

  async json(address) {
    const answer = await fetch(address);
    const found = await answer.json();
    if (!answer.ok) throw new Error(found.error || `${answer.status}`);
    return found;
  }

  prepared(film) {
    const first = film.steps[0];
    const at = film.at.map((row) => Int16Array.from(row));
    const walk = film.steps.map(() => new Int32Array(this.people).fill(-1));
    const spots = film.steps.map(() => new Map());
    film.outside.row.forEach((row, k) => {
      spots[film.outside.step[k] - first].set(row, this.spot(film.outside.x[k], film.outside.y[k], row));
    });
    const w = film.walks;
    const metres = new Float32Array(w.x.length);
    const into = w.row.map((_, k) => this.centres.get(`${w.x[w.begins[k + 1] - 1]},${w.y[w.begins[k + 1] - 1]}`) ?? -1);
    w.row.forEach((row, k) => {
      walk[w.step[k] - first][row] = k;
      const begin = w.begins[k];
      const end = w.begins[k + 1] - 1;
      [w.x[begin], w.y[begin]] = this.spot(w.x[begin], w.y[begin], row);
      [w.x[end], w.y[end]] = this.spot(w.x[end], w.y[end], row);
      for (let p = begin + 1; p <= end; p++) {
        metres[p] = metres[p - 1] + Math.hypot(w.x[p] - w.x[p - 1], w.y[p] - w.y[p - 1]);
      }
    });
    return { first, at, walk, walks: w, metres, into, spots };
  }

  // The middle of a building stands for a place in it; there everybody has a spot of their own.
  spot(x, y, row) {
    const building = this.centres.get(`${x},${y}`);
    return building === undefined ? [x, y] : this.within(building, row);
  }

  within(building, row) {
    const b = this.map.buildings;
    return [
      b.left[building] + b.width[building] * (0.12 + 0.76 * share(0.5 + row * 0.7548776662)),
      b.bottom[building] + b.height[building] * (0.14 + 0.72 * share(0.5 + row * 0.569840291)),
    ];
  }

  // Puts everybody where they are at a time; false where that is not known yet.
  locate(time) {
    const window = this.window(time);
    if (!window) return false;
    const index = this.step(time) - window.first;
    const at = window.at[index];
    if (!at) return false;
    const walk = window.walk[index];
    for (let row = 0; row < this.people; row++) {
      let place;
      this.inside[row] = at[row];
      if (walk[row] >= 0) {
        place = this.along(window, walk[row], time);
        this.inside[row] = time < window.walks.ends[walk[row]] - NEAR ? -1 : window.into[walk[row]];
      } else if (at[row] >= 0) {
        place = this.within(at[row], row);
      } else {
        place = at[row] === ABSENT ? [NaN, NaN] : window.spots[index].get(row);
      }
      this.x[row] = place[0];
      this.y[row] = place[1];
    }
    return true;
  }

  // Whether somebody is in the town, in a building or on the way.
  has(row) {
    return this.inside[row] !== ABSENT;
  }

  along(window, k, time) {
    const w = window.walks;
    const begin = w.begins[k];
    const end = w.begins[k + 1] - 1;
    const part = Math.min(Math.max((time - w.starts[k]) / Math.max(w.ends[k] - w.starts[k], 1), 0), 1);
    const walked = window.metres[begin] + part * (window.metres[end] - window.metres[begin]);
    let p = begin;
    while (p < end - 1 && window.metres[p + 1] < walked) p++;
    if (p >= end) return [w.x[end], w.y[end]];
    const leg = window.metres[p + 1] - window.metres[p];
    const s = leg > 0 ? Math.min(Math.max((walked - window.metres[p]) / leg, 0), 1) : 1;
    return [w.x[p] + (w.x[p + 1] - w.x[p]) * s, w.y[p] + (w.y[p + 1] - w.y[p]) * s];
  }

  // The way that somebody is on, for drawing.
  way(row, time) {
    const window = this.window(time);
    const k = window ? window.walk[this.step(time) - window.first]?.[row] : -1;
    if (k === undefined || k < 0 || time >= window.walks.ends[k]) return [];
    const { begins, x, y } = window.walks;
    return Array.from({ length: begins[k + 1] - begins[k] }, (_, p) => [x[begins[k] + p], y[begins[k] + p]]);
  }

  // What is said from one time to another.
  said(since, until) {
    const window = this.window(until);
    return window ? window.speech.slice(after(window.speech, since), after(window.speech, until)) : [];
  }
}

// How many lines are shown at or before a time; they are sorted by it.
function after(lines, time) {
  let [low, high] = [0, lines.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lines[middle].shown <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function clock(time) {
  const two = (number) => String(Math.floor(number)).padStart(2, "0");
  return `day ${Math.floor(time / 86400) + 1}, ${two((time / 3600) % 24)}:${two((time / 60) % 60)}`;
}

// How dark it is, from 0 to 1: the sun rises from six to half past seven and sets from half past five to seven.
export function darkness(time) {
  const hour = (time / 3600) % 24;
  if (hour < 6 || hour > 19) return 1;
  if (hour < 7.5) return (7.5 - hour) / 1.5;
  return hour > 17.5 ? (hour - 17.5) / 1.5 : 0;
}
