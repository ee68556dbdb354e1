"""Fidelity reports of the workspace."""
