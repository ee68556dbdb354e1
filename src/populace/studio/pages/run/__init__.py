"""One run: metrics, people, events, answers, usage, settings."""
