"""Tensors in, tensors out: pure functions that know no model, file or widget."""
