"""Facts about a model of Hugging Face: modules, weights, heads for answers, and memory."""
