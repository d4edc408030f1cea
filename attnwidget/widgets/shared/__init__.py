"""What every widget shares."""
