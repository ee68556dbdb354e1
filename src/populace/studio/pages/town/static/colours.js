// The colours of a town by light and by dark, and which buildings are green.

export const LIGHT = {
  ground: "#eef1ea", street: "#ffffff", kerb: "#d5dad0", home: "#e3d9c6", work: "#c9d6e3", green: "#cfe3c4",
  edge: "#8f9aa3", ink: "#1b1f24", soft: "#57606a", halo: "#ffffffe0", dim: "#c3c8d060", person: "#0072b2", walker: "#d55e00",
  bubble: "#ffffff", night: "16, 26, 66", dusk: 0.3, knows: "#cc3d00", unaware: "#4f5b67", link: "#cc3d00",
  chosen: "#b3007a", heat: [[255, 246, 214], [240, 140, 20], [150, 20, 10]],
};
export const DARK = {
  ground: "#1a1f1d", street: "#343b3d", kerb: "#262c2d", home: "#4a4234", work: "#33424f", green: "#2a402a",
  edge: "#6b757d", ink: "#e6e9ed", soft: "#a2abb5", halo: "#14171bd0", dim: "#14171bd0", person: "#56b4e9", walker: "#f5a55a",
  bubble: "#2a3037", night: "4, 8, 30", dusk: 0.42, knows: "#ff9a4d", unaware: "#8d97a1", link: "#ff9a4d",
  chosen: "#ff7ad1", heat: [[60, 48, 30], [214, 110, 20], [255, 226, 130]],
};
export const GREEN = new Set(["park", "garden", "playground", "square", "market"]);
