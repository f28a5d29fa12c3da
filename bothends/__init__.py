"""bothends: evaluate LLM agents at text-to-SQL on big data, at both ends."""
