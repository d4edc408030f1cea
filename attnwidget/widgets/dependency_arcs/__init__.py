"""DependencyArcs: a sentence's dependency tree with the predictions of a head."""
