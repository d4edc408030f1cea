"""Encoding of the values that kernel and page exchange."""
