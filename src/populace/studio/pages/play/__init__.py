"""Take part in a run."""
