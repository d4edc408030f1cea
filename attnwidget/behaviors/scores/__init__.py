"""Scores of all heads for all behaviors, and the names that follow from them."""
