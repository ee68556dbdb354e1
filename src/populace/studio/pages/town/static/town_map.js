// A town that plays: the clock runs here, in the browser, and Python is told of it now and then.

import { camera } from "populace-town/camera.js";
import { clock, darkness, Film } from "populace-town/film.js";
import { Painter } from "populace-town/painting.js";
import { save, svg } from "populace-town/picture.js";

const TELL_MS = 500;
const READ_MS = 2600; // a bubble stays at least so long
const MOST_SAID = 60; // bubbles at a time, of which some find room

const LEGENDS = {
  people: [["indoors", "in a building"], ["walking", "on the way"]],
  heat: [["cool", "little time"], ["warm", "much time"]],
  news: [["knowing", "knows the news"], ["unaware", "does not"]],
};

export default {
  props: { api: String, time: Number, speed: Number, follow: Number, layer: String, speeds: Array, live: Boolean },
  template: `
    <div class="town">
      <div class="town-stage">
        <canvas ref="canvas" tabindex="0" role="img" class="town-canvas" data-testid="town-canvas"
          aria-label="Map of the town. Space plays, comma and full stop step, arrows move, plus and minus zoom, 0 shows all."></canvas>
        <div class="town-corner">
          <q-btn round dense unelevated size="sm" icon="add" aria-label="Zoom in" data-testid="town-zoom-in" @click="near(1.4)" />
          <q-btn round dense unelevated size="sm" icon="remove" aria-label="Zoom out" data-testid="town-zoom-out" @click="near(1 / 1.4)" />
          <q-btn round dense unelevated size="sm" icon="fit_screen" aria-label="Show the whole town" data-testid="town-fit" @click="whole" />
        </div>
        <div class="town-legend small" aria-label="Colours">
          <span v-for="each in legends[kind]" :key="each[0]"><i :class="'town-' + each[0]"></i>{{ each[1] }}</span>
        </div>
        <div class="town-note" role="status" v-if="note">{{ note }}</div>
      </div>
      <div class="town-controls">
        <q-btn flat round dense icon="skip_previous" aria-label="One step back" data-testid="town-back" @click="stepBy(-1)" />
        <q-btn round dense unelevated color="primary" :icon="playing ? 'pause' : 'play_arrow'" data-testid="town-play"
          :aria-label="playing ? 'Pause' : 'Play'" @click="toggle" />
        <q-btn flat round dense icon="skip_next" aria-label="One step forward" data-testid="town-forward" @click="stepBy(1)" />
        <span ref="clock" class="town-clock" data-testid="town-clock"></span>
        <input ref="slider" type="range" class="town-slider" aria-label="Time" data-testid="town-slider" min="0" max="1" step="60" @input="slide" />
        <label class="town-speed">
          <span class="soft small">speed</span>
          <select aria-label="Simulated seconds a second" data-testid="town-speed" :value="rate" @change="setSpeed(Number($event.target.value))">
            <option v-for="each in speeds" :key="each" :value="each">{{ each }}×</option>
          </select>
        </label>
      </div>
    </div>`,
  data() {
    return { playing: false, rate: this.speed, note: "Reading the map …", kind: this.layer, legends: LEGENDS };
  },
  async mounted() {
    // What changes with every frame is kept apart from Vue, which would watch it.
    const state = {
      time: this.time, until: -1e9, follow: this.follow, layer: this.layer,
      news: [], heard: new Map(), bubbles: [], known: false, loose: false, dirty: true,
    };
    this.state = state;
    const canvas = this.$refs.canvas;
    canvas.drawn = 0;
    let map;
    try {
      const answer = await fetch(this.api);
      map = await answer.json();
      if (!answer.ok) throw new Error(map.error);
    } catch (error) {
      this.note = String(error.message || error);
      return;
    }
    if (map.first === null) {
      this.note = "The first step is not done yet.";
      this.waiting = true;
      return;
    }
    const film = new Film(this.api, map);
    const painter = new Painter(canvas, map);
    this.parts = Object.freeze({ map, film, painter });
    painter.resize();
    painter.fit();
    state.time = Math.min(Math.max(Number.isFinite(this.time) ? this.time : map.begins, map.begins), map.ends);
    this.span();
    this.note = "";
    camera(canvas, painter, {
      changed: () => (state.dirty = true),
      released: () => (state.loose = true),
      picked: (x, y) => {
        const row = painter.nearest(film, x, y);
        if (row >= 0) this.choose(row);
      },
      keys: (key) => this.key(key),
    });
    this.watch = new ResizeObserver(() => {
      const { view, width } = painter;
      painter.resize();
      if (!width) painter.fit();
      else painter.view = { ...view };
      state.dirty = true;
    });
    this.watch.observe(canvas);
    this.onKey = (event) => {
      const busy = event.target.closest?.("input, select, textarea, button, a, [role=button], [contenteditable]");
      if (event.key === " " && !busy && event.target !== canvas) {
        event.preventDefault();
        this.toggle();
      }
    };
    document.addEventListener("keydown", this.onKey);
    if (state.layer === "news") await this.readNews();
    if (state.follow >= 0) this.closer();
    let before = performance.now();
    const turn = (now) => {
      if (this.over) return;
      this.frame(now, Math.min(now - before, 250) / 1000);
      before = now;
      requestAnimationFrame(turn);
    };
    requestAnimationFrame(turn);
    this.$emit("ready", {});
  },
  unmounted() {
    this.over = true;
    this.watch?.disconnect();
    document.removeEventListener("keydown", this.onKey);
  },
  methods: {
    frame(now, seconds) {
      const { map, film, painter } = this.parts;
      const { state } = this;
      if (this.playing && state.known) {
        const end = map.ends;
        state.time = Math.min(state.time + seconds * this.rate, end);
        if (state.time >= end && !this.live) this.playing = false;
        state.dirty = true;
      }
      const dark = document.body.classList.contains("body--dark");
      if (dark !== state.dark || !state.known) state.dirty = true;
      state.dark = dark;
      if (state.follow >= 0 && !state.loose && state.known) this.approach();
      if (!state.dirty && !state.bubbles.length) return;
      state.known = film.locate(state.time);
      this.note = state.known ? "" : film.problem || "Reading …";
      state.dirty = false;
      this.hear(now);
      painter.paint(film, {
        time: state.time, layer: state.layer, follow: state.follow, known: state.known, bubbles: state.bubbles,
        news: state.news, knows: (row) => state.heard.has(row) && state.heard.get(row) <= state.time,
      });
      this.$refs.canvas.drawn += 1;
      this.show(now);
    },
    // Bubbles open when something is said, and stay until it is over and can have been read.
    hear(now) {
      const { film } = this.parts;
      const { state } = this;
      if (!state.known) return;
      const jumped = state.time < state.until || state.time - state.until > Math.max(900, this.rate * 2);
      const fresh = film.said(jumped ? -1 : state.until, state.time).filter((line) => !jumped || line.until > state.time);
      fresh.forEach((line) => (line.opened = now));
      const reading = (line) => state.time < line.until || (this.playing && now - line.opened < READ_MS);
      const kept = jumped ? [] : state.bubbles.filter(reading);
      const waiting = [...kept.filter((line) => !line.placed), ...fresh].slice(-MOST_SAID);
      state.bubbles = [...kept.filter((line) => line.placed), ...waiting];
      state.until = state.time;
    },
    show(now) {
      const { state } = this;
      if (now - (state.shown || 0) < 100 && this.playing) return;
      state.shown = now;
      this.$refs.slider.value = state.time;
      const text = `${clock(state.time)} ${darkness(state.time) > 0.5 ? "☾" : "☀"}`;
      if (this.$refs.clock.textContent !== text) {
        this.$refs.clock.textContent = text;
        this.$refs.slider.setAttribute("aria-valuetext", clock(state.time));
      }
      window.dispatchEvent(new CustomEvent("town-time", { detail: state.time }));
      clearTimeout(this.telling);
      const tell = () => {
        state.told = performance.now();
        this.$emit("time", { time: Math.round(state.time), playing: this.playing, speed: this.rate });
      };
      if (now - (state.told || 0) >= TELL_MS) tell();
      else this.telling = setTimeout(tell, TELL_MS);
    },
    approach() {
      const { film, painter } = this.parts;
      const { state } = this;
      if (!film.has(state.follow)) return;
      const dx = film.x[state.follow] - painter.view.x;
      const dy = film.y[state.follow] - painter.view.y;
      if (Math.hypot(dx, dy) * painter.view.scale < 0.5) return;
      painter.view.x += dx * 0.2;
      painter.view.y += dy * 0.2;
      state.dirty = true;
    },
    closer() {
      const { painter } = this.parts;
      painter.view.scale = Math.max(painter.view.scale, 2.5);
    },
    key(key) {
      if (key === " ") this.toggle();
      else if (key === ",") this.stepBy(-1);
      else if (key === ".") this.stepBy(1);
      else if (key === "Escape") this.choose(-1);
      else return false;
      return true;
    },
    toggle() {
      const { state } = this;
      if (!this.parts) return;
      if (!this.playing && state.time >= this.parts.map.ends && !this.live) state.time = this.parts.map.begins;
      this.playing = !this.playing;
      state.dirty = true;
    },
    stop() {
      this.playing = false;
    },
    stepBy(steps) {
      if (!this.parts) return;
      const { map } = this.parts;
      const now = (this.state.time - map.begins) / map.tick;
      this.seek(map.begins + (steps > 0 ? Math.floor(now + 1e-6) + 1 : Math.ceil(now - 1e-6) - 1) * map.tick);
    },
    slide(event) {
      this.seek(Number(event.target.value));
    },
    seek(time) {
      if (!this.parts) return;
      const { map } = this.parts;
      this.state.time = Math.min(Math.max(time, map.begins), map.ends);
      this.state.dirty = true;
    },
    setSpeed(speed) {
      this.rate = speed;
      if (this.parts) this.show(performance.now());
      this.$emit("time", { time: Math.round(this.state.time), playing: this.playing, speed });
    },
    near(factor) {
      this.parts?.painter.zoom(factor);
      this.state.dirty = true;
    },
    whole() {
      this.parts?.painter.fit();
      this.state.loose = true;
      this.state.dirty = true;
    },
    choose(row) {
      this.setFollow(row);
      this.$emit("follow", { row });
    },
    setFollow(row) {
      const { state } = this;
      const begins = state.follow < 0 && row >= 0;
      state.follow = row;
      state.loose = false;
      state.dirty = true;
      if (begins && this.parts) this.closer();
    },
    async setLayer(layer) {
      if (layer === "news") await this.readNews();
      this.state.layer = this.kind = layer;
      this.state.dirty = true;
    },
    async readNews() {
      const found = await this.parts.film.json(`${this.api}/news`);
      this.state.news = found.news;
      this.state.heard = new Map(found.news.map((node) => [node.row, node.time]));
    },
    setHeat(heat) {
      if (!this.parts) return;
      const most = Math.max(...heat.buildings, 1e-9);
      const outdoors = Math.max(...heat.streets.person_hours, 1e-9);
      this.parts.painter.heat = { ...heat, most, outdoors, stamp: `${heat.begins}-${heat.ends}` };
      this.state.dirty = true;
    },
    async extend(last, ends) {
      if (!this.parts) {
        if (this.waiting) window.location.reload();
        return;
      }
      this.parts.film.extend(last, ends);
      this.span();
      if (this.state.layer === "news") await this.readNews();
      this.state.dirty = true;
    },
    span() {
      const { map } = this.parts;
      Object.assign(this.$refs.slider, { min: map.begins, max: map.ends, value: this.state.time });
    },
    picture(kind) {
      const { painter, film, map } = this.parts;
      const { state } = this;
      const name = `${map.run}-${state.layer}-${Math.round(state.time)}.${kind}`;
      if (kind === "png") return save(this.$refs.canvas.toDataURL("image/png"), name);
      const knows = (row) => state.heard.has(row) && state.heard.get(row) <= state.time;
      const text = svg(painter, film, { ...state, knows });
      return save(`data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`, name);
    },
  },
};
