"""Facts about a Hugging Face model: modules, weights, prediction heads and memory."""
