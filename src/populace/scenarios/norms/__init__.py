"""Norm diffusion: blue or green shirts in an office."""

from populace.scenarios.norms.norms import Norms

__all__ = ["Norms"]
