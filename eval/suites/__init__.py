"""Suites of questions."""
