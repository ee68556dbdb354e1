"""What the pages show, as data."""
