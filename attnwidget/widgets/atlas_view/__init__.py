"""AtlasView: what every head of a model does, with the evidence."""
