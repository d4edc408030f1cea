"""MetricStrip: what was measured of a head."""
