"""Places of tokens in the pictures and sounds of the input."""
