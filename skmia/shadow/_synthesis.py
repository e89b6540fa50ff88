"""Synthetic training records for shadow models."""

import warnings
from abc import ABC, abstractmethod
from numbers import Real
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from .._core.callers import level_of_user
from .._core.containers import is_frame, refuse_foreign_table
from .._core.copies import CopiesParameters
from .._core.features import code_cells
from .._core.numbers import check_count, show, to_array
from .._core.query import check_victim, query_victim
from .._core.records import Records
from .._core.sklearn import Interval, at_least
from .._core.transactions import TransactionMixin
from .._core.types import ArrayLike, Seed
from .._core.validation import check_records


class TableCodes:
    """Columns of a table as numbers, and the values that each can take.

    Columns of text, categories, truth values and whole numbers that floats do not hold are encoded
    as the position of the value among the values seen; other numbers are unchanged.

    Take X of shape (n, ...); return codes of shape (n, n_features).
    """

    def __init__(self, X):
        refuse_foreign_table(X, "Synthesis")
        self._is_frame = is_frame(X)
        if self._is_frame:
            self._columns, self._dtypes, self._shape = X.columns, X.dtypes.tolist(), None
            encoded = [_encode_column(X.iloc[:, j]) for j in range(X.shape[1])]
        elif isinstance(X, np.ndarray) and X.dtype.kind in "biuf":
            self._dtypes, self._shape = [X.dtype], X.shape[1:]
            encoded = [(column, None) for column in X.reshape(len(X), -1).T]
            if _are_too_long(X):
                encoded = [code_cells(column) for column, _ in encoded]
        else:
            raise TypeError(
                "Records are synthesized from a DataFrame or an array of numbers; got X as "
                f"{type(X).__name__}{' of ' + str(X.dtype) if hasattr(X, 'dtype') else ''}."
            )
        self._values = [values for _, values in encoded]
        self.codes = np.column_stack([column for column, _ in encoded]).astype(np.float64)
        self._compute_domain()

    def _compute_domain(self):
        """Determine the range of each feature and the step between its values (0: real)."""
        empty = np.flatnonzero(np.isnan(self.codes).all(axis=0))
        if len(empty):
            raise ValueError(
                f"Feature {empty[0]} has no value in any record, so it cannot be drawn; leave it "
                "out."
            )
        ranges = [_compute_range(column) for column in self.codes.T]
        self._low, self._high, self._step = np.array(ranges).T
        step = np.where(self._step > 0, self._step, 1)
        self._n_values = np.rint((self._high - self._low) / step) + 1

    @property
    def n_features(self):
        return self.codes.shape[1]

    def draw(self, n_rows, rng):
        """Draw rows with each feature uniform over its domain."""
        return self._from_uniform(rng.random((n_rows, self.n_features)))

    def redraw(self, codes, n_changes, rng):
        """Redraw some different features of each row, uniformly over their domain.

        Shapes: codes (n, n_features), n_changes (n,).
        """
        changed = choose_features(n_changes, self.n_features, rng)
        rows, columns = np.nonzero(changed)
        redrawn = codes.copy()
        redrawn[rows, columns] = self._from_uniform(rng.random(len(rows)), columns)
        return redrawn

    def _from_uniform(self, uniform, columns=slice(None)):
        low, high, step = self._low[columns], self._high[columns], self._step[columns]
        stepped = low + step * np.floor(uniform * self._n_values[columns])
        return np.where(step > 0, stepped, low + uniform * (high - low))

    def other_value(self, values, columns):
        """Return the other of two values, NaN for features that have more or fewer."""
        flipped = self._low[columns] + self._high[columns] - values
        return np.where(self._n_values[columns] * (self._step[columns] > 0) == 2, flipped, np.nan)

    def decode(self, codes):
        """Decode a matrix of numbers into a table of the form given."""
        if not self._is_frame:
            if self._values and self._values[0] is not None:
                pairs = zip(self._values, codes.astype(np.intp).T)
                codes = np.column_stack([values.take(places) for values, places in pairs])
            return codes.astype(self._dtypes[0]).reshape(len(codes), *self._shape)
        columns = {
            j: _decode_column(codes[:, j], values, dtype)
            for j, (values, dtype) in enumerate(zip(self._values, self._dtypes))
        }
        return pd.DataFrame(columns, copy=False).set_axis(self._columns, axis=1)


# Floats hold all smaller whole numbers.
_EXACT = 2**53


def _are_too_long(numbers):
    """Return whether whole numbers would be rounded as floats, such as digits of an account."""
    is_whole = pd.api.types.is_integer_dtype(numbers.dtype) and numbers.dtype.itemsize == 8
    if not is_whole or numbers.size == 0:
        return False
    return max(abs(int(numbers.min())), abs(int(numbers.max()))) > _EXACT


def _encode_column(column):
    is_number = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
    if is_number and not _are_too_long(column.dropna()):
        return column.to_numpy(dtype=np.float64, na_value=np.nan), None
    return code_cells(column)


def _decode_column(codes, values, dtype):
    if values is None:
        is_plain = isinstance(dtype, np.dtype) and not np.isnan(codes).any()
        return codes.astype(dtype) if is_plain else pd.array(codes, dtype=dtype)
    return pd.Series(values.take(codes.astype(np.intp)), dtype=dtype)


def _compute_range(column):
    seen = np.unique(column[~np.isnan(column)])
    low, high = seen[0], seen[-1]
    if len(seen) <= 2:
        return low, high, (high - low) or 1.0
    return low, high, float((seen == np.rint(seen)).all())


def choose_features(n_chosen, n_features, rng):
    """Choose different features at random in each row.

    Return chosen of shape (n, n_features).
    """
    chosen = np.zeros((len(n_chosen), n_features), dtype=bool)
    for size in np.unique(n_chosen):  # only a few sizes occur: each one is halved from the last
        rows = np.flatnonzero(n_chosen == size)
        if size >= n_features:
            chosen[rows] = True
        elif size > 0:
            keys = rng.random((len(rows), n_features), dtype=np.float32)
            columns = keys.argpartition(size - 1, axis=1)[:, :size]
            chosen[rows[:, None], columns] = True
    return chosen


class Synthesizer(TransactionMixin, CopiesParameters, BaseEstimator, ABC):
    """Base class of synthesizers: learn from records in ``fit``, generate records in ``sample``."""

    _subjects = ("victim",)

    def fit(self, X: Records, y: Any = None) -> Self:
        """Learn the possible values of the features.

        Parameters
        ----------
        X : Records of n records
            Features in the form that the victim expects.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        records = check_records(X, labels=self._needs_labels())
        self._table = TableCodes(records.X)
        self.n_queries_ = 0
        self._fit(records)
        # Drawn here, so that each call of sample returns new records.
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        self._rng = np.random.default_rng(seed)
        return self

    def _ask(self, codes):
        """Query the victim with rows of codes, and count the queries."""
        self.n_queries_ += len(codes)
        return query_victim(self.victim, self._table.decode(codes))

    @abstractmethod
    def _needs_labels(self):
        """Return whether the records must have task labels."""

    @abstractmethod
    def _fit(self, records):
        """Learn from the records."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags


class SearchSettings(NamedTuple):
    """Limits of a search; see :class:`ModelBasedSynthesizer`."""

    min_confidence: float
    max_changes: int
    min_changes: int
    max_rejections: int
    max_iter: int


class HillClimb:
    """Parallel searches, each for one record of a class, with one query of the victim per step."""

    def __init__(self, table, ask, settings, rng):
        self._table, self._ask, self._settings, self._rng = table, ask, settings, rng
        self.target = np.empty(0, dtype=np.intp)  # column of the wanted class of each search
        self._proposal = self._best = np.empty((0, table.n_features))
        self._best_proba = np.empty(0)
        self._n_rejections = self._n_changes = self._n_iter = np.empty(0, dtype=np.intp)

    def start(self, targets):
        """Begin a search at a random record for each target."""
        n = len(targets)
        drawn = self._table.draw(n, self._rng)
        self.target = np.append(self.target, targets)
        self._proposal = np.concatenate([self._proposal, drawn])
        self._best = np.concatenate([self._best, drawn])
        self._best_proba = np.append(self._best_proba, np.zeros(n))
        self._n_rejections = np.append(self._n_rejections, np.zeros(n, dtype=np.intp))
        self._n_changes = np.append(self._n_changes, np.full(n, self._settings.max_changes))
        self._n_iter = np.append(self._n_iter, np.zeros(n, dtype=np.intp))

    def step(self):
        """Query the victim with each search's proposal and make the next proposals.

        Return codes of shape (n_found, n_features).
        """
        proba = self._ask(self._proposal)
        own = proba[np.arange(len(proba)), self.target]
        # A step to an equal probability is accepted, so that plateaus are crossed.
        better = own >= self._best_proba
        sure = (own > self._settings.min_confidence) & (proba.argmax(axis=1) == self.target)
        found = better & sure & (self._rng.random(len(own)) < own)
        self._move(better, own)
        ended = ~found & (self._n_iter >= self._settings.max_iter)
        result = self._proposal[found], self.target[found], self.target[ended]
        self._keep(~(found | ended))
        self._proposal = self._table.redraw(self._best, self._n_changes, self._rng)
        return result

    def _move(self, better, own):
        self._best = np.where(better[:, None], self._proposal, self._best)
        self._best_proba = np.where(better, own, self._best_proba)
        self._n_rejections = np.where(better, 0, self._n_rejections + 1)
        stuck = self._n_rejections > self._settings.max_rejections
        halved = np.maximum(self._settings.min_changes, (self._n_changes + 1) // 2)
        self._n_changes = np.where(stuck, halved, self._n_changes)
        self._n_rejections[stuck] = 0
        self._n_iter = self._n_iter + 1

    def _keep(self, kept):
        self.target, self._best = self.target[kept], self._best[kept]
        self._best_proba = self._best_proba[kept]
        self._n_rejections = self._n_rejections[kept]
        self._n_changes, self._n_iter = self._n_changes[kept], self._n_iter[kept]


def check_sample_count(n_samples):
    return check_count(n_samples, "n_samples")


def warn_short(report, why):
    """Warn the caller of ``sample`` about classes with fewer records than requested."""
    short = report.index[report["n_made"] < report["n_wanted"]].tolist()
    if short:
        shown = ", ".join(map(repr, short[:10])) + (", ..." if len(short) > 10 else "")
        warnings.warn(
            f"{len(short)} of {len(report)} classes have fewer records than requested, {why}: "
            f"{shown}; see report_.",
            stacklevel=level_of_user(),
        )


class ModelBasedSynthesizer(Synthesizer):
    """Synthesizer that searches for records by querying the victim, without real records.

    A search starts at a random record and changes a few features at a time. It keeps a change that
    does not lower the victim's probability of the wanted class, and ends with a record that the
    victim classifies with confidence. Such records resemble the victim's training data enough to
    train shadow models.

    Parameters
    ----------
    victim : fitted classifier
        Model under attack. It must give probabilities.
    min_confidence : float, default=0.2
        A record is accepted only if the victim's probability of its class exceeds this value and
        the probability of any other class, and then with that probability.
    max_changes : int, default=None
        Number of features that are redrawn per step at first. If None, a quarter of them.
    min_changes : int, default=1
        Minimum number of features that are redrawn per step.
    max_rejections : int, default=10
        The number of changed features is halved if more steps than this are rejected in a row.
    max_iter : int, default=1000
        Number of steps after which a search has failed.
    max_failures : int, default=10
        Number of failed searches per successful one, plus one, after which a class is given up.
    class_prior : array-like of shape (n_classes,), default=None
        Shares of the classes among the records. If None, they are equal.
    batch_size : int, default=1000
        Number of parallel searches, which share one query of the victim per step.
    random_state : int, RandomState instance or None, default=None
        Controls all draws. Each call of ``sample`` returns new records.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes of the victim.
    n_queries_ : int
        Number of records with which the victim was queried since ``fit``.
    report_ : DataFrame
        One row per class, set by ``sample``: ``n_wanted``, ``n_made``, ``n_failed`` (searches) and
        ``n_queries``.

    Raises
    ------
    ValueError
        If the victim gives no probabilities, or no record was found for any class.

    Warns
    -----
    UserWarning
        If a class has fewer records than requested.

    See Also
    --------
    MarginalSynthesizer : Synthesizer that needs the distribution of each feature and fewer queries.
    NoisyRecords : Synthesizer that changes some features of real records.

    Notes
    -----
    ``fit`` uses the records only to determine the possible values of each feature: all values that
    occur for text and categories, for features with only two values, and for whole numbers beyond
    2**53; otherwise all whole numbers between the smallest and the largest value, or all real
    numbers if one value is not whole. Two records with the smallest and largest values are
    sufficient.

    The count of rejections restarts whenever a change is kept; a description of the algorithm in
    slides uses the counter of the steps instead.

    Columns that depend on each other, such as a one-hot encoded feature, are not kept consistent.
    Put the encoder into the victim's Pipeline.

    References
    ----------
    Shokri, R., Stronati, M., Song, C. and Shmatikov, V. (2017). Membership inference attacks
    against machine learning models. IEEE S&P, algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.neural_network import MLPClassifier
    >>> from skmia import Records, ShadowPool
    >>> from skmia.datasets import make_membership_problem
    >>> from skmia.shadow import ModelBasedSynthesizer
    >>> records, _ = make_membership_problem(300, n_classes=3, kind="baskets", random_state=0)
    >>> net = MLPClassifier((16,), solver="lbfgs", random_state=0).fit(records.X, records.y)
    >>> limits = Records(np.array([[0] * 20, [1] * 20], dtype=np.float32))
    >>> synthesizer = ModelBasedSynthesizer(net, random_state=0).fit(limits)
    >>> made = synthesizer.sample(90)
    >>> made
    Records(90 records, X=ndarray(90, 20), float32, y=int64)
    >>> synthesizer.report_["n_made"].tolist()
    [30, 30, 30]
    >>> pool = ShadowPool(net, 4, store="outputs", random_state=0).fit(made)
    """

    _parameter_constraints = {
        "victim": "no_validation",
        "min_confidence": [Interval(Real, 0, 1, closed="left")],
        "max_changes": [at_least(1), None],
        "min_changes": [at_least(1)],
        "max_rejections": [at_least(0)],
        "max_iter": [at_least(1)],
        "max_failures": [at_least(1)],
        "class_prior": ["array-like", None],
        "batch_size": [at_least(1)],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        victim: BaseEstimator | None = None,
        *,
        min_confidence: float = 0.2,
        max_changes: int | None = None,
        min_changes: int = 1,
        max_rejections: int = 10,
        max_iter: int = 1000,
        max_failures: int = 10,
        class_prior: ArrayLike | None = None,
        batch_size: int = 1000,
        random_state: Seed = None,
    ) -> None:
        self.victim = victim
        self.min_confidence = min_confidence
        self.max_changes = max_changes
        self.min_changes = min_changes
        self.max_rejections = max_rejections
        self.max_iter = max_iter
        self.max_failures = max_failures
        self.class_prior = class_prior
        self.batch_size = batch_size
        self.random_state = random_state

    def _needs_labels(self):
        return False

    def _fit(self, records):
        check_victim(self.victim)
        n_features = self._table.n_features
        first = -(-n_features // 4) if self.max_changes is None else self.max_changes
        if not min(self.min_changes, n_features) <= first <= n_features:
            raise ValueError(
                f"max_changes must be between min_changes={self.min_changes} and the "
                f"{n_features} features; got {first}."
            )
        self._settings = SearchSettings(
            self.min_confidence,
            first,
            min(self.min_changes, first),
            self.max_rejections,
            self.max_iter,
        )
        outputs = self._ask(self._table.codes[:1])
        if outputs.kind not in ("proba", "logits"):
            raise ValueError(
                f"The search needs a victim with probabilities; this one returns {outputs.kind!r}."
            )
        self.classes_ = outputs.classes
        self._shares = self._check_prior()

    def _check_prior(self):
        n_classes = len(self.classes_)
        if self.class_prior is None:
            return np.full(n_classes, 1 / n_classes)
        prior = to_array(
            self.class_prior, "class_prior", "hold one share for each class", np.float64
        )
        if prior.shape != (n_classes,) or prior.min() < 0 or not np.isclose(prior.sum(), 1):
            raise ValueError(
                f"class_prior needs a share for each of {n_classes} classes, with sum 1; "
                f"got {show(self.class_prior)}."
            )
        return prior

    def sample(self, n_samples: int = 1) -> Records:
        """Search for records.

        Parameters
        ----------
        n_samples : int, default=1
            Number of records over all classes.

        Returns
        -------
        records : Records
            In the form of those given to ``fit``, with the wanted class as y, class by class; fewer
            than ``n_samples`` if the search for a class fails.
        """
        check_is_fitted(self)
        wanted = self._count_wanted(check_sample_count(n_samples))
        codes, labels = self._search(wanted)
        if len(labels) == 0:
            raise ValueError(
                f"No record was found for any of {len(self.classes_)} classes with "
                f"{int(self.report_['n_queries'].sum())} queries; allow a lower min_confidence or "
                "a larger max_iter."
            )
        warn_short(self.report_, "because the searches for more of them failed")
        order = np.argsort(labels, kind="stable")
        return Records(self._table.decode(codes[order]), self.classes_[labels[order]])

    def _count_wanted(self, n_samples):
        """Return the number of records per class, rounded so that their sum is correct."""
        ends = np.rint(np.cumsum(self._shares) * n_samples).astype(np.intp)
        return np.diff(ends, prepend=0)

    def _search(self, wanted):
        made, failed, asked = (np.zeros(len(wanted), dtype=np.intp) for _ in range(3))
        climb = HillClimb(self._table, self._ask_proba, self._settings, self._rng)
        codes, labels = [self._table.codes[:0]], [np.empty(0, dtype=np.intp)]
        while True:
            climb.start(self._choose_targets(climb.target, wanted, made, failed))
            if len(climb.target) == 0:
                break
            asked += np.bincount(climb.target, minlength=len(wanted))
            some, found, ended = climb.step()
            codes.append(some)
            labels.append(found)
            made += np.bincount(found, minlength=len(wanted))
            failed += np.bincount(ended, minlength=len(wanted))
        columns = {"n_wanted": wanted, "n_made": made, "n_failed": failed, "n_queries": asked}
        self.report_ = pd.DataFrame(columns, index=pd.Index(self.classes_, name="class"))
        return np.concatenate(codes), np.concatenate(labels)

    def _ask_proba(self, codes):
        outputs = self._ask(codes)
        return outputs.values if outputs.kind == "proba" else np.exp(outputs.log_proba())

    def _choose_targets(self, running, wanted, made, failed):
        """Choose the classes of the next searches, up to the batch size."""
        running = np.bincount(running, minlength=len(wanted))
        # At most as many searches run at once as may fail, so that an unreachable class costs
        # little; a reachable class soon gets all the searches that it needs.
        allowed = self.max_failures * (made + 1) - failed - running
        missing = np.minimum(wanted - made - running, allowed)
        room = self.batch_size - running.sum()
        targets = np.repeat(np.arange(len(wanted)), np.maximum(missing, 0))
        if len(targets) > room:
            # Classes take turns, so that none waits for the end of another.
            turn = np.concatenate([np.arange(n) for n in np.maximum(missing, 0)])
            targets = targets[np.argsort(turn, kind="stable")[: max(room, 0)]]
        return targets


class MarginalSynthesizer(Synthesizer):
    """Synthesizer that draws each feature independently from its marginal distribution.

    Suitable for an attacker who knows the marginal distribution of each feature, for example from
    published statistics, but has no records.

    Parameters
    ----------
    victim : fitted classifier or regressor, default=None
        Model under attack; its predictions become the task labels, and the features are drawn from
        their distribution over all records. If None, the features are drawn from their distribution
        within a class, and classes are as frequent as among the records.
    random_state : int, RandomState instance or None, default=None
        Controls all draws. Each call of ``sample`` returns new records.

    Attributes
    ----------
    n_queries_ : int
        Number of queries of the victim since ``fit``; one per synthetic record.
    report_ : DataFrame or None
        One row per class, set by ``sample``: ``n_wanted`` (at least one per class), ``n_made`` and
        ``n_queries``; None for a regressor.

    Warns
    -----
    UserWarning
        If a class has no record.

    See Also
    --------
    ModelBasedSynthesizer : Synthesizer that needs no statistics, but many queries.
    NoisyRecords : Synthesizer that changes some features of real records.

    References
    ----------
    Shokri, R., Stronati, M., Song, C. and Shmatikov, V. (2017). Membership inference attacks
    against machine learning models. IEEE S&P, section V-C.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from skmia.datasets import load_sklearn
    >>> from skmia.shadow import MarginalSynthesizer
    >>> iris = load_sklearn("iris")
    >>> victim = KNeighborsClassifier().fit(iris.X, iris.y)
    >>> synthesizer = MarginalSynthesizer(victim, random_state=0).fit(iris)
    >>> synthesizer.sample(60)
    Records(60 records, X=ndarray(60, 4), float64, y=int64)
    >>> synthesizer.n_queries_
    60
    """

    _parameter_constraints = {"victim": "no_validation", "random_state": ["random_state"]}

    def __init__(self, victim: BaseEstimator | None = None, *, random_state: Seed = None) -> None:
        self.victim = victim
        self.random_state = random_state

    def _needs_labels(self):
        return self.victim is None

    def _fit(self, records):
        if self.victim is not None:
            check_victim(self.victim)
            return
        if type_of_target(records.y).startswith("continuous"):
            raise ValueError(
                "Without a victim, records are drawn class by class, but y holds real values. Pass "
                "the victim, whose predictions become the labels."
            )
        self._classes, self._labels = np.unique(records.y, return_inverse=True)

    def sample(self, n_samples: int = 1) -> Records:
        """Draw records.

        Parameters
        ----------
        n_samples : int, default=1
            Number of records to generate.

        Returns
        -------
        records : Records of n_samples records
            In the form of those given to ``fit``.
        """
        check_is_fitted(self)
        n_samples = check_sample_count(n_samples)
        if self.victim is None:
            records, classes = self._draw_by_class(n_samples), self._classes
        else:
            records, classes = self._draw_and_ask(n_samples)
        self._report(records, classes)
        return records

    def _draw(self, rows, n_samples):
        """Draw every feature from a separate row."""
        codes = self._table.codes
        picked = rows[self._rng.integers(len(rows), size=(n_samples, codes.shape[1]))]
        return codes[picked, np.arange(codes.shape[1])]

    def _draw_by_class(self, n_samples):
        labels = self._labels[self._rng.integers(len(self._labels), size=n_samples)]
        codes = np.empty((n_samples, self._table.n_features))
        for label in np.unique(labels):
            chosen = labels == label
            codes[chosen] = self._draw(np.flatnonzero(self._labels == label), chosen.sum())
        return Records(self._table.decode(codes), self._classes[labels])

    def _draw_and_ask(self, n_samples):
        codes = self._draw(np.arange(len(self._table.codes)), n_samples)
        outputs = self._ask(codes)
        labels = outputs.values
        if outputs.kind not in ("label", "value"):
            labels = outputs.classes[labels.argmax(axis=1)]
        return Records(self._table.decode(codes), labels), outputs.classes

    def _report(self, records, classes):
        self.report_ = None
        if classes is None:
            return
        n_made = [np.count_nonzero(records.y == label) for label in classes]
        columns = {"n_wanted": np.maximum(n_made, 1), "n_made": n_made, "n_queries": 0}
        self.report_ = pd.DataFrame(columns, index=pd.Index(classes, name="class"))
        if self.victim is not None:
            self.report_["n_queries"] = n_made
        warn_short(self.report_, "because none was drawn")


class NoisyRecords(Synthesizer):
    """Synthesizer that changes a share of the features of real records.

    Suitable to measure how much an attack loses if the attacker's records come from a source that
    differs from the victim's.

    Parameters
    ----------
    noise : float, default=0.1
        Share of the features of each record that are changed, rounded to a whole number of them, at
        least one if the share is above 0. A feature with two values is flipped; others are drawn
        from their marginal distribution, which may return the old value.
    random_state : int, RandomState instance or None, default=None
        Controls all draws. Each call of ``sample`` returns new records.

    Attributes
    ----------
    n_changes_ : int
        Number of features that are changed in each record.
    n_queries_ : int
        Always 0, because no victim is queried.

    See Also
    --------
    MarginalSynthesizer : Synthesizer that draws all features.

    References
    ----------
    Shokri, R., Stronati, M., Song, C. and Shmatikov, V. (2017). Membership inference attacks
    against machine learning models. IEEE S&P, section V-C.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia import Records
    >>> from skmia.shadow import NoisyRecords
    >>> bits = np.random.default_rng(0).integers(2, size=(40, 20))
    >>> records = Records(bits, bits[:, 0])
    >>> noisy = NoisyRecords(noise=0.1, random_state=0).fit(records).sample()
    >>> np.unique((noisy.X != bits).sum(axis=1))
    array([2])
    """

    _parameter_constraints = {
        "noise": [Interval(Real, 0, 1, closed="both")],
        "random_state": ["random_state"],
    }

    def __init__(self, noise: float = 0.1, *, random_state: Seed = None) -> None:
        self.noise = noise
        self.random_state = random_state

    def _needs_labels(self):
        return True

    def _fit(self, records):
        self._labels = records.y
        wanted = round(self.noise * self._table.n_features)
        self.n_changes_ = max(wanted, int(self.noise > 0))

    def sample(self, n_samples: int | None = None) -> Records:
        """Change features of the records given to ``fit``.

        Parameters
        ----------
        n_samples : int, default=None
            Number of records, drawn without replacement as far as there are enough. If None, each
            record is used once, in order.

        Returns
        -------
        records : Records of n_samples records
            Changed records with their task labels.
        """
        check_is_fitted(self)
        codes = self._table.codes
        rows = np.arange(len(codes))
        if n_samples is not None:
            n_samples = check_sample_count(n_samples)
            rows = self._rng.choice(rows, n_samples, replace=n_samples > len(rows))
        chosen = choose_features(
            np.full(len(rows), self.n_changes_), self._table.n_features, self._rng
        )
        at, columns = np.nonzero(chosen)
        noisy = codes[rows]
        noisy[at, columns] = self._change(noisy[at, columns], columns)
        return Records(self._table.decode(noisy), self._labels[rows])

    def _change(self, values, columns):
        donors = self._rng.integers(len(self._table.codes), size=len(columns))
        drawn = self._table.codes[donors, columns]
        flipped = self._table.other_value(values, columns)
        return np.where(np.isnan(flipped), drawn, flipped)
