"""Chat models: hosted providers, replay, scripted."""
