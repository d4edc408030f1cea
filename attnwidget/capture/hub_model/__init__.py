"""Facts about Hugging Face models: wrappers, devices, inputs, tokens and losses."""
