// Who heard the news from whom, as a tree that grows with the time of the map beside it.

import { clock } from "populace-town/film.js";

export default {
  props: { nodes: Array, time: Number, all: Number },
  template: `
    <div class="town-tree" data-testid="town-tree">
      <div class="small soft" role="status" data-testid="town-knowing">{{ known.length }} of {{ all }} people know</div>
      <ul v-if="known.length" role="tree" aria-label="Who heard the news from whom">
        <li v-for="node in known" :key="node.row" role="treeitem" :aria-level="node.depth + 1"
          :style="{ paddingLeft: Math.min(node.depth, 12) * 16 + 'px' }">
          <button type="button" :class="{ fresh: now - node.time < 1800 }" :title="node.text" dir="auto" @click="$emit('follow', { row: node.row })">
            <span aria-hidden="true">{{ node.depth ? "└ " : "● " }}</span>{{ node.name }}
            <span class="soft small"> {{ at(node.time) }}</span>
          </button>
        </li>
      </ul>
      <div v-else class="soft">Nobody knows yet.</div>
    </div>`,
  data() {
    return { now: this.time };
  },
  computed: {
    known() {
      return this.nodes.filter((node) => node.time <= this.now);
    },
  },
  mounted() {
    this.listen = (event) => (this.now = event.detail);
    window.addEventListener("town-time", this.listen);
  },
  unmounted() {
    window.removeEventListener("town-time", this.listen);
  },
  methods: { at: clock },
};
