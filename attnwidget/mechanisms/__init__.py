"""Why a head attends and what it writes: decompositions that sum exactly."""
