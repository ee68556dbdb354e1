"""What is done with a community of people who write: look into it, ask what if, judge it."""
