"""Gold on engines other than the one it was written for: translated, and held against itself."""
