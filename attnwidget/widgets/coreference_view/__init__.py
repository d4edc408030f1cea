"""CoreferenceView: a document with its mentions, and the antecedents that a head chooses."""
