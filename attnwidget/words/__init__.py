"""Studies of words: relations, coreference, links and linguistic features."""
