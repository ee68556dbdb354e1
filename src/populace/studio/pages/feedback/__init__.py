"""Queues of answers that people rate."""
