"""Lists of all words or categories of the training rows: what is in them, and what is not."""

from collections import Counter
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import binom
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, TargetEncoder

from ..victims.inner_models import iter_inner_models
from ._stored_chance import compute_chance
from ._stored_views import make_columns

_ENCODERS = OneHotEncoder, OrdinalEncoder, TargetEncoder
_MOST_WORDS = 5  # named of one record
_LEAST = 0.999 * np.log(2)  # as in the ledger


class _Words(NamedTuple):
    """Words of texts, and how many candidates have each."""

    place: str
    known: frozenset
    counts: Counter
    limits: tuple  # numbers of training texts that a word of the list can have
    n: int

    def weigh(self, word):
        """Log likelihood ratio of membership of a record with a word."""
        others, (low, high) = max(self.counts[word], 1) - 1, self.limits
        if word in self.known:
            if low <= 1 and high >= others + 1:
                return float(-np.log(compute_chance(0.0, others + 1, self.n)))
            return self._compare(_between(others, low - 1, high - 1), _between(others, low, high))
        return self._compare(
            1 - _between(others, low - 1, high - 1), 1 - _between(others, low, high)
        )

    def _compare(self, member, other):
        with np.errstate(divide="ignore"):
            ratio = np.log(member) - np.log(max(other, 1 / (self.n + 1)))
        most = np.log(self.n + 1)
        return float(np.clip(ratio, -most, most))

    def expect(self, word):
        """Chance that a word of a record that was not used is in the list."""
        others, (low, high) = max(self.counts[word], 1) - 1, self.limits
        return max(float(_between(others, low, high)), 1 / (self.n + 1))


def _between(others, low, high):
    """Chance that so many of other candidates, half of them members, are training rows."""
    return binom.cdf(high, others, 0.5) - binom.cdf(low - 1, others, 0.5)


class StoredLists:
    """What lists of words and of categories say of candidates.

    A vocabulary lists the words of all training texts, an encoder all categories of its columns: a
    record with another one was not a training row.

    Parameters
    ----------
    model : fitted estimator
    records : Records of n candidates
    """

    def __init__(self, model, records):
        self._model, self._n = model, len(records)
        self._words, hits, pairs = {}, [], []
        for inner in _iter_lists(model, records.X):
            if isinstance(inner.model, CountVectorizer):
                texts = _split(inner)
                words = self._words[inner.path] = _read_words(inner, texts, self._n)
                weights = {word: words.weigh(word) for word in words.counts}
                pairs += _describe_words(words, texts, weights)
                hits += [_count_hits(words, texts)]
        # As the tables of a ledger, of words alone: it lists the categories itself.
        self.places = pd.DataFrame(hits, columns=_PLACES)
        self.found = pd.DataFrame(pairs, columns=_FOUND).set_index("record")

    def scores(self, records):
        """Log likelihood ratio of each record, and the number of its values that are not listed."""
        ratios, n_absent = np.zeros(len(records)), np.zeros(len(records), dtype=int)
        for inner in _iter_lists(self._model, records.X):
            words = self._words.get(inner.path)
            if words is None:
                absent = _count_unknown(inner)
                ratios -= absent * np.log(self._n + 1)
                n_absent += absent
                continue
            weights = {}
            for i, text in enumerate(_split(inner)):
                for word in text:
                    if word not in weights:
                        weights[word] = words.weigh(word)
                    ratios[i] += weights[word]
                n_absent[i] += len(text - words.known)
        return ratios, n_absent


_PLACES = ["place", "view", "n_values", "expected_values", "n_rows", "expected_rows"]
_FOUND = ["record", "place", "view", "columns", "whole_row", "score"]


def _iter_lists(model, X):
    """Yield the parts of a model that list all words or categories, with what reaches them."""
    for inner in iter_inner_models(model, X):
        part = inner.model
        if isinstance(part, CountVectorizer):
            is_cut = part.max_features is not None and len(part.vocabulary_) >= part.max_features
            if not part.fixed_vocabulary_ and not is_cut:
                yield inner
        elif isinstance(part, _ENCODERS) and isinstance(part.categories, str):
            yield inner


def _split(inner):
    """Set of the words of each text."""
    analyze = inner.model.build_analyzer()
    return [set(analyze(text)) for text in np.ravel(np.asarray(inner.X, dtype=object)).tolist()]


def _read_words(inner, texts, n):
    model, n_members = inner.model, n / 2
    low, high = (
        limit if isinstance(limit, int) else limit * n_members
        for limit in (model.min_df, model.max_df)
    )
    high = n if model.max_df == 1.0 else high
    place = f"{inner.path}.vocabulary_" if inner.path else "vocabulary_"
    counts = Counter(word for text in texts for word in text)
    limits = max(1, int(np.ceil(low))), int(high)
    return _Words(place, frozenset(model.vocabulary_), counts, limits, n)


def _count_hits(words, texts):
    n_values = sum(len(text & words.known) for text in texts)
    expected = sum(n * words.expect(word) for word, n in words.counts.items())
    return words.place, "words", n_values, expected, 0, 0.0


def _describe_words(words, texts, weights):
    for i, text in enumerate(texts):
        telling = [word for word in text & words.known if weights[word] >= _LEAST]
        telling = sorted(telling, key=lambda word: (-weights[word], word))
        if telling:
            score = sum(weights[word] for word in telling)
            yield i, words.place, "words", ", ".join(telling[:_MOST_WORDS]), False, score


def _count_unknown(inner):
    """Number of categories of each record that an encoder does not know."""
    columns = make_columns(inner.X).values()
    known = (make_columns(np.asarray(one)[:, None])["0"] for one in inner.model.categories_)
    missing = [
        np.zeros(len(column), dtype=bool)
        if column.dtype.kind != one.dtype.kind
        else ~pd.Series(column).isin(one).to_numpy()
        for column, one in zip(columns, known, strict=True)
    ]
    return np.sum(missing, axis=0)
