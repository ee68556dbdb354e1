"""Continuations of a forum thread, side by side."""
