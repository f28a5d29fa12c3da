"""Scoring without an agent: predictions made elsewhere, and the stored SQL of a run.

`score_predictions` and `rescore` write run directories; `pool` spreads the work over processes,
`worker` does it, `clerk` writes it down.
"""

from bothends.eval.scoring.score import Listener, rescore, score_experiment, score_predictions

__all__ = ["Listener", "rescore", "score_experiment", "score_predictions"]
