"""Tables and reports: pure functions of a run directory."""
