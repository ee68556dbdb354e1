"""The map of a town, played over time."""
