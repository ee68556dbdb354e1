"""Estimates with their intervals, from tables to tables; nothing here knows of runs."""
