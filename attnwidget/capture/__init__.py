"""How attention leaves a running model. Knows torch and transformers, no files or widgets."""
