"""Model inputs: texts, words, chats, pictures and sounds, as vocabulary ids and tensors."""
