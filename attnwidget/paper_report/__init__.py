"""Report on a model: the figures of five papers with the papers' numbers, as one page."""
