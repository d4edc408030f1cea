"""Live figures: traits, and what is computed when one changes. The page (`js/`) draws."""
