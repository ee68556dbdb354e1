"""What pages show, as tables and plain data."""
