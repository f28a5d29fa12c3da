"""The ways in which an agent goes about a question, one file each."""
