"""One experiment: progress, effects, validity."""
