"""Texts, tokens, treebanks and coreference. This folder does not import torch."""
