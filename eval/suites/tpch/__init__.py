"""TPC-H: 22 questions with gold."""
