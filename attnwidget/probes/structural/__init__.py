"""Structural probe of Hewitt and Manning (2019)."""
