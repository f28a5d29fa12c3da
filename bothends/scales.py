"""Scale factors as they are written on the command line."""

from __future__ import annotations

__all__ = ["scale_factors_of"]


def scale_factors_of(text: str) -> tuple[float, ...]:
    """Read scale factors, as in `0.01,0.1,1`.

    Raises:
        UsageError: If there are none, or one is not a positive number.
    """
    from bothends.eval.sweep import check_scale_factors
    from bothends.infra.errors import UsageError

    try:
        # Python would read 1_0 as 10.
        scales = tuple(float(part) for part in text.replace("_", "?").split(",") if part.strip())
    except ValueError:
        scales = ()
    if not scales:
        raise UsageError(f"--scale-factors {text} names no numbers: give some, such as 0.01,0.1,1")
    check_scale_factors(scales)
    return scales
