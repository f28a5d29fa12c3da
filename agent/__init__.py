"""Floor 3: the system under test."""
