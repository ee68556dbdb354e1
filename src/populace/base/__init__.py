"""Used by every other package: errors, random numbers, templates, formatting, locks, shared SQLite files."""
