"""Live figures: traits, and the values computed from them. The page (`js/`) draws."""
