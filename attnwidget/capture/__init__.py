"""Reading and editing the attention of a running model. Uses torch and transformers, no widgets."""
