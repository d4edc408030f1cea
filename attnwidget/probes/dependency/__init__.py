"""Dependency probe of Clark et al. (2019, section 5)."""
