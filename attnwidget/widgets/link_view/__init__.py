"""LinkView: explanation of one attention link and the information that it carries."""
