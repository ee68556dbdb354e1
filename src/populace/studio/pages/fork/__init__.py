"""Fork a run at a step, with interventions."""
