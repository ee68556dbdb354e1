"""The forum of a run of a community."""
