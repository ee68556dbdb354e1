"""A survey: items, marginals, crosstabs, and the answers of one person."""
