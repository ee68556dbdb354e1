"""One person of a run."""
