"""Web sessions: pages as simplified HTML, a shop that people use, and sessions as tables."""
