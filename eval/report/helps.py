"""What each metric is, with its formula and its source: one text for the tables and the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = ["HELP"]

HELP: Final[Mapping[str, str]] = {
    "scored": "Trials that count: without provider errors, gold failures and unjudged results.",
    "valid": "Scored trials whose result contains gold: equal rows after some choice of columns "
    "(equation 2).",
    "ex": "Execution accuracy: mean(valid), the share of scored trials whose result contains gold "
    "(equation 2).",
    "ex_exact": "mean(exact): the share whose rows equal gold's as multisets, columns in any order "
    "(equation 7).",
    "ex_ordered": "As exact, and in gold's order where gold has a top-level ORDER BY.",
    "ex_set": "BIRD's official EX: equal sets of row tuples, columns in gold's order.",
    "em": "Exact match: the query is gold's own, as sqlglot reads both.",
    "soft_f1": "BIRD's Soft-F1: cells in common with gold, row by row; BIRD prints it times 100.",
    "r_ves": "BIRD's reward for speed, at most 1.118: mean of the square roots of 1.25, 1, 0.75, "
    "0.5 or 0.25 where EX set holds; BIRD prints it times 100.",
    "ves": "Valid efficiency score: mean(exact * T_gold / T_gen), the speed of the query alone, "
    "where it is right (BIRD).",
    "ves_star": "Efficiency end to end: mean(valid * P * T_gold / T_e2e) (equation 1). P is the "
    "share of its columns that gold has.",
    "vces": "Valid cost-efficiency score: mean(valid * P * (T_gold / T_e2e) / C_e2e), VES* for "
    "each dollar (equation 3).",
    "cvq": "Cost per valid query: mean(C_e2e) / EX. Undefined where no trial is valid.",
    "cost_usd": "C_e2e: dollars of the LLM and the engine for one attempt, valid or not "
    "(equation 3).",
    "llm_usd": "Dollars of the LLM for an attempt: tokens by their price, or seconds by the "
    "machine's.",
    "engine_usd": "Dollars of the engine for an attempt: seconds by the machine's price, or bytes "
    "scanned.",
    "burned_usd": "Dollars of scored trials that gave no valid answer: sum((1 - valid) * C_e2e).",
    "burned_share": "Their share of all dollars: 1 - EX where right and wrong answers cost alike.",
    "e2e_s": "T_e2e: seconds from the question to the answer, retries and the agent's own "
    "run_query included.",
    "llm_s": "Seconds in LLM calls, retries included.",
    "engine_s": "Seconds in which the engine worked.",
    "gold_s": "T_gold: the median seconds of gold's timed executions on the engine.",
    "generated_s": "T_gen: the median seconds of the generated query's timed executions.",
    "stage": "A stage is the LLM turns that choose its tool, plus the tool's own time.",
    "overhead": "What is outside the stages: the harness itself.",
    "scale_factor": "Scale factor of the data on which the queries were executed.",
}
"""By the metric's name; equations are those of the paper that the metrics come from."""
