"""Floor 2: the four tools, built over an engine."""
