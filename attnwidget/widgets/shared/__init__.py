"""Base classes and shared code of all widgets."""
