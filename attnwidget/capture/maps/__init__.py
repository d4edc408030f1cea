"""Attention maps of one input: layers, tiles, thumbnails and tables."""
