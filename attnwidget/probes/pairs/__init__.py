"""Pair probe of Coenen et al. (2019)."""
