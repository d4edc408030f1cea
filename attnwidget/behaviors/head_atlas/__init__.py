"""Cards: the evidence about single heads, and its form in files."""
