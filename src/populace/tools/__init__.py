"""Tools around a run: probe, cost estimate, doctor, description and a starter for scenarios."""
