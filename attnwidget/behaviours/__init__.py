"""Behaviours of heads: one file for each, with its score, its control and its source."""
