"""TokenLens: the weights of every head for one word."""
