"""What one can do around a run: probe, estimate, examine, ask again, begin a scenario."""
