"""DependencyArcs: a sentence's tree and a head's predictions."""
