"""Places that people share."""
