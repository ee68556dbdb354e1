"""What runs a scenario: the scenario itself, its steps, its settings, and the run as an object."""
