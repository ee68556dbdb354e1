"""Home: every run and experiment of the workspace."""
