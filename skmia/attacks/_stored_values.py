"""Attack that searches the file of a model for records."""

from collections import Counter
from functools import lru_cache
from numbers import Integral
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import binom
from sklearn.base import BaseEstimator
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, TargetEncoder

from .._core.budget import Cost
from .._core.needs import ANY, Needs
from .._core.numbers import as_series
from .._core.query import check_fitted, unwrap
from .._core.validation import require_victim
from ..base import BaseAttack
from ..victims import has_file, iter_inner_models, read_state
from ._array_search import (
    ViewHits,
    ViewStats,
    compute_chance,
    list_columns,
    make_columns,
    make_places,
    make_views,
    to_single,
)
from ._file_attack import find_known, sort_distinct

# Memory per number of the candidates, in bytes.
_PER_NUMBER = 20

# Evidence of a value that is stored without the record with probability 1/2, less rounding.
LEAST = 0.999 * np.log(2)

_PLACES = ["place", "view", "n_values", "expected_values", "n_rows", "expected_rows"]
_FOUND = ["record", "place", "view", "columns", "whole_row", "score"]


class FoundValues:
    """What was found of records in all views and places."""

    def __init__(self, views, places, stats, n_candidates, *, is_fit):
        self._places = places
        self._names = [(view.name, [*view.columns, "y"]) for view in views]
        self._hits = [
            ViewHits(view, places, one, is_fit=is_fit)
            for view, one in zip(views, stats, strict=True)
        ]
        unit = np.log(n_candidates + 1)
        # The score of each record in each view, of shape (n_views, n).
        self.scores = np.array(
            [
                np.where(hits.rows >= 0, (view.n_source + 1) * unit + hits.rows, hits.sums)
                for view, hits in zip(views, self._hits, strict=True)
            ]
        )

    def list_places(self):
        """Tabulate the hits in each place and the number expected by chance."""
        entries = [
            (self._places[p].path, name, int(n_values), expected, int(n_rows), expected_rows)
            for (name, _), hits in zip(self._names, self._hits, strict=True)
            for p, (n_values, expected, n_rows, expected_rows) in enumerate(hits.numbers.tolist())
            if n_values or n_rows
        ]
        return pd.DataFrame(entries, columns=_PLACES)

    def list_records(self):
        """Tabulate what was found of each record, in the view with its highest score."""
        best, rows = self.scores.argmax(axis=0), []
        is_some = self.scores.max(axis=0) >= LEAST
        for v, ((name, names), hits) in enumerate(zip(self._names, self._hits, strict=True)):
            scores, chosen = self.scores[v], is_some & (best == v)
            for i in np.flatnonzero(chosen & (hits.rows >= 0)):
                path = self._places[hits.row_places[i]].path
                rows.append((i, path, name, "all", True, scores[i]))
            found = {}  # by record: names of columns, and paths of places in their order
            for k, records, evidence, places in hits.columns:
                some = chosen[records] & (hits.rows[records] < 0) & (evidence >= LEAST)
                for i, p in zip(records[some].tolist(), places[some].tolist(), strict=True):
                    columns, paths = found.setdefault(i, ([], {}))
                    columns.append(names[k])
                    paths[self._places[p].path] = True
            rows += [
                (i, ", ".join(paths), name, ", ".join(columns), False, scores[i])
                for i, (columns, paths) in found.items()
            ]
        return pd.DataFrame(sorted(rows), columns=_FOUND).set_index("record")


_ENCODERS = OneHotEncoder, OrdinalEncoder, TargetEncoder
_MOST_WORDS = 5  # named of one record


class StoredValuesAttack(BaseAttack):
    r"""Search the arrays that a released model stores for rows and values of candidates.

    Many estimators store training data unchanged: nearest neighbors, Gaussian processes and support
    vector machines store rows, encoders and quantile transformers store values by column, and
    regression trees store targets. The attack reads the state of the fitted model and compares it
    with known candidates. It needs no queries, shadow models or known members.

    Parameters
    ----------
    victim : fitted estimator
        Model or transformer whose file is attacked.

    Attributes
    ----------
    found_ : DataFrame
        One row for each candidate of ``fit`` with a stored value, or a stored whole row, that would
        be stored without the record with a probability of at most 1/2. The index is the position of
        the candidate. Columns: ``place``, paths of the arrays; ``view``, ``"raw"`` or the steps of
        a Pipeline that the record went through before it was found; ``columns``, names of the
        columns of the view, with ``"y"`` for the target of a regressor and ``"all"`` for a whole
        row; ``whole_row``; ``score``.
    places_ : DataFrame
        One row for each stored array and view with a hit: ``place``, ``view``; ``n_rows``, the
        number of candidates whose whole row is stored; ``n_values``, the number of their values
        that are stored; ``expected_rows`` and ``expected_values``, the numbers expected for records
        that were not used. A number near the expected one is not evidence, and a larger one is not
        proof. Words of texts in a vocabulary are values of the view ``"words"``.
    absent_ : Series
        Number of words or categories of each candidate that a vocabulary or encoder does not list,
        of candidates with one. Such a candidate was not among its training rows. Words are not
        counted that ``min_df`` or ``max_df`` may have left out of the vocabulary.
    state_ : ModelState
        State of the model.
    offset_ : float
        Threshold of the score; without ``membership``, :math:`\log(n + 1) / 2` for n candidates.
    classes_ : ndarray of shape (2,)
        ``[0, 1]``.

    Raises
    ------
    TypeError
        If the victim is a function or service, which has no file.
    ValueError
        If the model does not store any array.

    See Also
    --------
    skmia.victims.read_state : Lists the arrays.

    Notes
    -----
    The evidence of a stored value v that c of the n candidates have is

    .. math:: -\log \max(1 - (1 - s)\, 2^{-(c - 1)},\ 1 / (n + 1)),

    minus the logarithm of the probability that v would be stored without the record: with
    probability s, the share of the numbers of the same precision in the range of the column that
    are stored, v equals one by accident, or one of the c - 1 other candidates with this value was
    used. The score sums over the columns, each at the place with the strongest evidence. If the
    whole row is stored it is :math:`(p + 1) \log(n + 1)` for its p columns plus the evidence of the
    row, where c counts equal rows, and s is the number of distinct stored rows times the product of
    the frequencies of its values. A row does not count if s is 1/2 or more, or if each column of
    the array is sorted, as in quantiles. The sum treats columns as independent, so the score ranks
    records and is not a calibrated likelihood ratio.

    Arrays of a kind that is not known, such as sizes and version numbers, can hold values of a
    coarse column by accident. If w is the share of the values found in such an array beyond those
    expected by accident and one more, their evidence is :math:`-\log(1 - w + w p)` for the
    probability p above.

    Each word or category of a candidate that a ``CountVectorizer`` or an encoder does not list,
    unless its list was given to it, lowers the score by :math:`\log(n + 1)`. For a word that c
    candidates have, the score takes the log likelihood ratio of being listed, or not, if half of
    the other c - 1 candidates are members, with ``min_df`` and ``max_df``; a list that
    ``max_features`` has cut is not read.

    Numbers are compared in float64, or after rounding to float32 if the stored numbers have that
    precision. Raw rows and values are searched for, and what a model computes of them on their way:
    columns after each step, scores before an isotonic calibration, and transformed targets; a step
    is not searched for the columns that it has computed. Thresholds of trees, counts and numbers of
    rows are left out.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from skmia.attacks import StoredValuesAttack
    >>> from skmia.datasets import make_membership_problem
    >>> records, membership = make_membership_problem(random_state=0)
    >>> members = records[membership == 1]
    >>> model = KNeighborsClassifier(n_neighbors=50).fit(members.X, members.y)
    >>> attack = StoredValuesAttack(model).fit(records)
    >>> attack.score(records, membership)
    1.0
    >>> attack.found_["place"].unique().tolist()
    ['_fit_X']
    """

    _parameter_constraints = {**BaseAttack._parameter_constraints}

    def __init__(self, victim: BaseEstimator | None = None) -> None:
        self.victim = victim

    def _needs(self):
        return Needs(ANY, access=frozenset({"file"}))

    def _estimate_cost(self, records):
        """Return what it holds of these candidates, known before it begins.

        Columns in double precision, as they are and as they are searched, of each view.
        """
        n_numbers = np.prod(getattr(records.X, "shape", (len(records),)))
        return Cost(_PER_NUMBER * n_numbers, what=f"{n_numbers:,} numbers of the candidates")

    def _fit(self, records, membership):
        self.state_ = _read_victim(self.victim)
        self._places = make_places(self.state_)
        views = make_views(self.victim, records)
        stored = [to_single(place.distinct) for place in self._places]
        stored = np.unique(np.concatenate([*stored, np.empty(0, dtype=np.float32)]))
        self._stats = [ViewStats(view, stored) for view in views]
        self._n_candidates = len(records)
        ledger = self._search(views, is_fit=True)
        self._lists = _StoredLists(self.victim, records)
        found = self._lists.found
        listed = ledger.list_records()
        found = found[~found.index.duplicated() & ~found.index.isin(listed.index)]
        self.found_ = _join_found_tables(listed, found).sort_index()
        self.places_ = _join_found_tables(
            ledger.list_places(), self._lists.places, ignore_index=True
        )
        ratios, n_absent = self._lists.scores(records)
        self.absent_ = pd.Series(n_absent, name="n_absent")[n_absent > 0]
        order, self._digests, groups = sort_distinct(records)
        self._scores = np.empty(self._digests.shape[1])
        self._scores[groups] = (ledger.scores.max(axis=0) + ratios)[order]

    def _search(self, views, *, is_fit=False):
        return FoundValues(views, self._places, self._stats, self._n_candidates, is_fit=is_fit)

    def _score_samples(self, records):
        place, known = find_known(self._digests, records)
        if known.all():  # of candidates, as of all whom an attack on a file is asked for
            return self._scores[place]
        views = make_views(self.victim, records)
        for view, stats in zip(views, self._stats, strict=True):
            if len(list_columns(view)) != len(stats.columns):
                raise ValueError(
                    f"The candidates given to fit had {len(stats.columns)} columns ({view.name}); "
                    f"these records have {len(list_columns(view))}."
                )
        return self._search(views).scores.max(axis=0) + self._lists.scores(records)[0]

    def _natural_offset(self, records):
        return np.log(self._n_candidates + 1) / 2


def _join_found_tables(table, more, **options):
    # Older versions of pandas warn of the types of tables without rows.
    tables = [one for one in (table, more) if len(one)]
    return pd.concat(tables, **options) if tables else table


def _read_victim(victim):
    require_victim(victim, "StoredValuesAttack", "the fitted model itself")
    name = type(unwrap(victim)).__name__
    if not has_file(victim):
        raise TypeError(
            f"StoredValuesAttack reads the file of a model; got {name}, which has none. "
            "ThresholdAttack and LiRA read its answers."
        )
    if not hasattr(victim, "fit"):
        raise TypeError(f"victim must be a fitted estimator with a method fit; got {name}.")
    check_fitted(unwrap(victim), "victim")
    state = read_state(victim)
    if not state.arrays:
        raise ValueError(f"The victim {name} stores no array that can be read.")
    return state


# Lists of all words or categories of the training rows: what is in them, and what is not.


class _TextWords(NamedTuple):
    """Words of texts, and how many candidates have each."""

    place: str
    known: frozenset
    counts: Counter
    limits: tuple  # numbers of training texts that a word of the list can have
    n: int
    lists_rare: bool  # whether a word of a single training text is listed

    def find_absent(self, text):
        """Return the words of a candidate that the list would have if it was a training text."""
        if not self.lists_rare:
            return set()
        return {word for word in text - self.known if self.counts[word] <= self.limits[1]}

    def weigh(self, word):
        """Return the log likelihood ratio of membership of a record with a word."""
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
        """Return the chance that a word of a record that was not used is in the list."""
        others, (low, high) = max(self.counts[word], 1) - 1, self.limits
        return max(float(_between(others, low, high)), 1 / (self.n + 1))


@lru_cache(maxsize=4096)
def _between(others, low, high):
    """Return chance that so many of other candidates, half of them members, are training rows."""
    return binom.cdf(high, others, 0.5) - binom.cdf(low - 1, others, 0.5)


class _StoredLists:
    """What lists of words and of categories say of candidates.

    A vocabulary lists the words of all training texts, an encoder all categories of its columns: a
    record with another one was not a training row.
    """

    def __init__(self, model, records):
        self._model, self._n = model, len(records)
        self._words, hits, pairs = {}, [], []
        for inner in _iter_lists(model, records.X):
            if isinstance(inner.model, CountVectorizer):
                texts = _split_text_words(inner)
                words = self._words[inner.path] = _count_stored_words(inner, texts, self._n)
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
            for i, text in enumerate(_split_text_words(inner)):
                for word in text:
                    if word not in weights:
                        weights[word] = words.weigh(word)
                    ratios[i] += weights[word]
                n_absent[i] += len(words.find_absent(text))
        return ratios, n_absent


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


def _split_text_words(inner):
    """Return the set of the words of each text."""
    analyze = inner.model.build_analyzer()
    return [set(analyze(text)) for text in np.ravel(np.asarray(inner.X, dtype=object)).tolist()]


def _count_stored_words(inner, texts, n):
    model, n_members = inner.model, n / 2
    low, high = (
        limit if isinstance(limit, Integral) else limit * n_members
        for limit in (model.min_df, model.max_df)
    )
    high = n if model.max_df == 1.0 else high
    place = f"{inner.path}.vocabulary_" if inner.path else "vocabulary_"
    counts = Counter(word for text in texts for word in text)
    limits = max(1, int(np.ceil(low))), int(high)
    # A number of texts, or a share of them.
    lists_rare = model.min_df <= (1 if isinstance(model.min_df, Integral) else 0)
    return _TextWords(place, frozenset(model.vocabulary_), counts, limits, n, lists_rare)


def _count_hits(words, texts):
    n_values = sum(len(text & words.known) for text in texts)
    expected = sum(n * words.expect(word) for word, n in words.counts.items())
    return words.place, "words", n_values, expected, 0, 0.0


def _describe_words(words, texts, weights):
    for i, text in enumerate(texts):
        telling = [word for word in text & words.known if weights[word] >= LEAST]
        telling = sorted(telling, key=lambda word: (-weights[word], word))
        if telling:
            score = sum(weights[word] for word in telling)
            yield i, words.place, "words", ", ".join(telling[:_MOST_WORDS]), False, score


def _count_unknown(inner):
    """Return the number of categories of each record that an encoder does not know."""
    columns = make_columns(inner.X).values()
    known = (make_columns(np.asarray(one)[:, None])["0"] for one in inner.model.categories_)
    missing = [
        np.zeros(len(column), dtype=bool)
        if column.dtype.kind != one.dtype.kind
        else ~as_series(column).isin(one).to_numpy()
        for column, one in zip(columns, known, strict=True)
    ]
    return np.sum(missing, axis=0)
