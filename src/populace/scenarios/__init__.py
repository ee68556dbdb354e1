"""The studies that ship, one folder each."""
