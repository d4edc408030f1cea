"""RelationTable: the best head of each relation."""
