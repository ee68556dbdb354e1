// Moving about on the map: with a mouse, with fingers and with keys.

const KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

// Listens on a canvas; `changed` is called whenever the view moved, `picked` where somebody pressed without moving.
export function camera(canvas, painter, { changed, released, picked, keys }) {
  const fingers = new Map();
  let moved = 0;

  const spot = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const middle = () => {
    const all = [...fingers.values()];
    const at = [0, 1].map((axis) => all.reduce((sum, point) => sum + point[axis], 0) / all.length);
    const apart = all.length > 1 ? Math.hypot(all[0][0] - all[1][0], all[0][1] - all[1][1]) : 0;
    return { at, apart };
  };
  const listen = {
    pointerdown(event) {
      canvas.setPointerCapture(event.pointerId);
      if (!fingers.size) moved = 0;
      fingers.set(event.pointerId, spot(event));
    },
    pointermove(event) {
      if (!fingers.has(event.pointerId)) return;
      const before = middle();
      fingers.set(event.pointerId, spot(event));
      const now = middle();
      const dx = now.at[0] - before.at[0];
      const dy = now.at[1] - before.at[1];
      moved += Math.abs(dx) + Math.abs(dy);
      if (moved < 4 && fingers.size < 2) return;
      painter.view.x -= dx / painter.view.scale;
      painter.view.y += dy / painter.view.scale;
      if (before.apart && now.apart) painter.zoom(now.apart / before.apart, ...now.at);
      released();
      changed();
    },
    pointerup(event) {
      if (!fingers.delete(event.pointerId)) return;
      if (!fingers.size && moved < 4) picked(...spot(event));
    },
    pointercancel(event) {
      fingers.delete(event.pointerId);
    },
    wheel(event) {
      event.preventDefault();
      painter.zoom(Math.exp(-event.deltaY * 0.0015), ...spot(event));
      changed();
    },
    keydown(event) {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const way = KEYS[event.key];
      if (way) {
        painter.view.x += (way[0] * 60) / painter.view.scale;
        painter.view.y += (way[1] * 60) / painter.view.scale;
        released();
      } else if (event.key === "+" || event.key === "=") painter.zoom(1.25);
      else if (event.key === "-") painter.zoom(0.8);
      else if (event.key === "0") {
        painter.fit();
        released();
      } else if (!keys(event.key)) return;
      event.preventDefault();
      changed();
    },
  };
  for (const [name, handler] of Object.entries(listen)) {
    canvas.addEventListener(name, handler, { passive: false });
  }
}
