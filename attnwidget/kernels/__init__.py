"""Pure functions from tensors to tensors. They use no model, no file and no widget."""
