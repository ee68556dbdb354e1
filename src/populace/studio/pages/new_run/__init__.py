"""New run: pick a scenario, fill in its form, start it."""
