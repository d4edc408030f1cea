"""Plain frames and arrays in, Altair charts out: figures that know no model and no result."""
