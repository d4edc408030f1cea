"""LinkView: why a head attends from one token to another, and what it carries."""
