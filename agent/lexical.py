"""Which texts share a question's words: BM25 over the words that identifiers are made of."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

__all__ = ["bm25", "question_words", "words"]

# The usual constants of Robertson and Zaragoza's section 3.
_K1 = 1.2
_B = 0.75
_WORD = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"(?<=[^\W\d_A-Z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[^\W\d_])(?=\d)")
# Words that say nothing of a table, in questions and in DDL.
_SAID_EVERYWHERE = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be by do does for from had has have how in into is it its many much "
        "no not of on one or per that the their them there this to was were what when where which "
        "who whose with without "
        "bigint boolean char character check comment constraint create date decimal default double "
        "exists float foreign if integer int key nullable null numeric parquet precision primary "
        "real references smallint string table text time timestamp tinyint unique using varchar "
        "varying view zone",
    )
)


def words(text: str) -> list[str]:
    """Return the words of a text in their order: lower case, singular, identifiers divided.

    `orderLines`, `order_lines` and `Order lines` all give `order` and `line`.
    """
    parts = (part for word in _WORD.findall(text) for part in _HUMP.split(word))
    found = (part.lower() for part in parts)
    return [_singular(word) for word in found if word not in _SAID_EVERYWHERE]


def question_words(question: str) -> set[str]:
    """Return a question's words, and those that two neighbours make when written as one.

    Many a schema writes "line item" as `lineitem`.
    """
    single = words(question)
    return {*single, *(first + second for first, second in pairwise(single))}


def bm25(question: set[str], texts: Sequence[Sequence[str]]) -> list[float]:
    """Return how much each text has to say of a question's words; 0 where it has none of them.

    Okapi BM25 (S. Robertson and H. Zaragoza, "The Probabilistic Relevance Framework: BM25 and
    Beyond", 2009, equations 3.3 and 3.15), with k1 = 1.2 and b = 0.75: the sum over the words of
    idf * f * (k1 + 1) / (f + k1 * (1 - b + b * length / mean length)), where f is how often the
    text has the word. Of n texts of which d have it, idf = ln(1 + (n - d + 0.5) / (d + 0.5)), which
    is Lucene's and never negative.

    Args:
        question: The question's words.
        texts: The words of each text.
    """
    counts = [Counter(text) for text in texts]
    mean = sum(map(len, texts)) / len(texts) if texts else 0.0
    scores = [0.0] * len(texts)
    for word in sorted(question):
        having = sum(word in count for count in counts)
        idf = math.log(1 + (len(texts) - having + 0.5) / (having + 0.5))
        for place, count in enumerate(counts):
            if f := count[word]:
                length = 1 - _B + _B * len(texts[place]) / mean
                scores[place] += idf * f * (_K1 + 1) / (f + _K1 * length)
    return scores


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zzes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word
