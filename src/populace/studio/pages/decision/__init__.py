"""One decision of a person, and the same question asked again."""
