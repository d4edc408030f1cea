"""What is trained on attention: dependency classifiers, relation probes, the structural probe."""
