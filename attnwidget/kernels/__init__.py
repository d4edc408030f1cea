"""Pure functions of tensors, which do not use models, files or widgets."""
