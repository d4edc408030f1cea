"""LinkView: why a head attends to a token, and what it carries."""
