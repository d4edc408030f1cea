"""Example links of heads in a corpus: the strongest links, random samples, and rule matches."""
