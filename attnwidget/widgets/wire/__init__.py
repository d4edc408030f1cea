"""Values and traits that kernel and page exchange."""
