"""What every head of a model does: examples, behaviours with controls, and the atlas of a model."""
