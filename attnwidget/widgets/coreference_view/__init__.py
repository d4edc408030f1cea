"""CoreferenceView: antecedents in running text."""
