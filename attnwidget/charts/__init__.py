"""Results as Altair charts; knows no model and no widget."""
