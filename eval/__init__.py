"""Floor 4: suites, the trial runner, verdicts, metrics, the record store, reports."""
