"""Patching: outputs of heads in one input put into the pass over another input."""
