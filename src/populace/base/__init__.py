"""What every room stands on: errors, random numbers, templates, formatting, locks."""
