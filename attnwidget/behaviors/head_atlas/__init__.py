"""Atlas of a model: one card per head with the evidence about it, and its file format."""
