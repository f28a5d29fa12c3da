"""Floor 0: errors, prices, data and machines. Imports nothing else of ours."""
