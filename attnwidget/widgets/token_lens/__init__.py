"""TokenLens: what every head does for one word."""
