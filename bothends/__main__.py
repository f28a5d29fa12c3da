"""`python -m bothends`."""

from __future__ import annotations

from bothends.cli import main

main()
