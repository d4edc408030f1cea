"""Scores of all heads for all behaviours, and the names that follow."""
