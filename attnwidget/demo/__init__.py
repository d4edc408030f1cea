"""The embedded models, and the scripts that trained, fine-tuned and evaluated them."""
