"""Attribute inference from the victim's predictions."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from sklearn.utils import check_random_state

from .._core.callers import level_of_user
from .._core.containers import (
    check_single_values,
    is_frame,
    is_tensor,
    to_numpy,
)
from .._core.copies import CopiesParameters, copy_unfitted
from .._core.error_hints import with_advice
from .._core.metric_inputs import check_record_weights
from .._core.numbers import make_room, show, to_array
from .._core.outputs import is_integer_slice
from .._core.query import check_victim, predict_flat, query_victim
from .._core.randomness import seed_estimator
from .._core.records import Records
from .._core.sklearn import HasMethods, StrOptions
from .._core.threads import on_one_thread
from .._core.transactions import TransactionMixin
from .._core.types import ArrayLike, Seed
from .._core.validation import check_features, check_records, refuse_nan, set_features
from ..metrics import paired_share_interval, share_interval
from ..victims import open_white_box
from ._file_attack import find_known, sort_distinct

# A share of the records that moves an accuracy by less than chance does.
_FEW = 0.01

# A column with more distinct values is treated as a measurement, whose candidates must be given.
_MOST_VALUES = 100


def _count_twins(places):
    """Return how many records have the content of another one, by the place of each content."""
    counts = np.bincount(places)
    return counts[counts > 1].sum()


class SensitiveAttribute:
    """One column with several values, or a block of one-hot columns.

    X (n, n_features), values (n_values,): candidates; for a block, the names or places of columns.
    """

    def __init__(self, X, sensitive, values):
        check_single_values(X, "Attribute inference")
        self._n_columns, self._names = X.shape[1], list(X.columns) if is_frame(X) else None
        self.columns = self._read_columns(X, sensitive)
        self.is_block = len(self.columns) > 1
        names = X.columns if is_frame(X) else pd.RangeIndex(X.shape[1])
        if self.is_block:
            if values is not None:
                raise ValueError("values must be None for a one-hot block, which has its own.")
            self.values = np.asarray(names[self.columns])
            self.read(X)
        else:
            name, column = names[self.columns[0]], self._column(X)
            missing = np.asarray(pd.isna(column))
            if missing.any():
                raise ValueError(
                    f"The column {name!r} lacks {missing.sum()} of {len(X)} values, first at "
                    f"position {missing.argmax()}. Leave out the records without a value, or give "
                    "the missing value a name."
                )
            self.values = self._read_values(column, name, values)

    @staticmethod
    def _read_columns(X, sensitive):
        everything = np.arange(X.shape[1])
        if isinstance(sensitive, slice):
            if not is_integer_slice(sensitive):
                raise ValueError(
                    f"A slice as sensitive holds positions of columns; got {sensitive}. Give the "
                    "names of the columns as a list."
                )
            columns = everything[sensitive]
        else:
            single = isinstance(sensitive, str) or not np.iterable(sensitive)
            wanted = [sensitive] if single else sensitive
            names = list(X.columns) if is_frame(X) else everything.tolist()
            missing = [name for name in wanted if name not in names]
            if missing:
                raise ValueError(f"sensitive={missing[0]!r} is not a column of X.")
            columns = np.array([names.index(name) for name in wanted], dtype=int)
        if len(columns) in (0, X.shape[1]):
            raise ValueError(
                f"sensitive must name some but not all of the {X.shape[1]} columns; "
                f"got {len(columns)}."
            )
        return columns

    @staticmethod
    def _read_values(column, name, values):
        try:
            if values is None:
                values = np.sort(pd.unique(np.asarray(column)))
                is_given = False
            else:
                values, is_given = pd.unique(to_array(values, "values").ravel()), True
                pd.Series(values.tolist(), dtype=column.dtype)
                are_text = [{isinstance(cell, str) for cell in cells} for cells in (values, column)]
                if are_text[0] ^ are_text[1] == {True, False}:
                    raise TypeError
        except (TypeError, ValueError, OverflowError):
            raise ValueError(
                f"Column {name!r} and values must hold values of one type, such as all text or all "
                f"numbers; got a column of {column.dtype} and values={show(values)}."
            ) from None
        if not is_given:
            if len(values) > _MOST_VALUES:
                raise ValueError(
                    f"The column {name!r} has {len(values)} values; pass candidates as values=."
                )
        if len(values) < 2:
            raise ValueError(f"Column {name!r} needs at least two candidates; got {len(values)}.")
        return values

    def check(self, X):
        """Refuse records that have other columns than those that were fitted."""
        check_single_values(X, "Attribute inference")
        if X.shape[1] != self._n_columns or is_frame(X) != (self._names is not None):
            raise ValueError(
                f"The attack was fitted on {self._n_columns} columns of "
                f"{'an array' if self._names is None else 'a DataFrame'}; got "
                f"{type(X).__name__} with {X.shape[1]}."
            )
        if self._names is not None and list(X.columns) != self._names:
            raise ValueError("The columns have other names, or another order, than in fit.")

    def _column(self, X):
        if is_frame(X):
            return X.iloc[:, self.columns[0]]
        column = X[:, self.columns[0]]
        return to_numpy(column) if is_tensor(column) else column

    def read(self, X):
        if not self.is_block:
            return np.asarray(self._column(X))
        block = X.iloc[:, self.columns] if is_frame(X) else X[:, self.columns]
        block = to_numpy(block) if is_tensor(block) else np.asarray(block)
        one_hot = np.isin(block, (0, 1)).all(axis=1) & (block.sum(axis=1) == 1)
        if not one_hot.all():
            raise ValueError(
                f"A sensitive block must be one-hot; record {np.argmin(one_hot)} is not. A block "
                "needs the columns of all values, also of one that was dropped."
            )
        return self.values[block.argmax(axis=1)]

    def complete(self, X, value):
        """Return the records with the attribute replaced by one value."""
        completed = self._copy(X)
        if self.is_block:
            content = (self.values == value).astype(float)
            for column, number in zip(self.columns, content, strict=True):
                self._fill(completed, column, number)
        else:
            self._fill(completed, self.columns[0], value)
        return completed

    def _copy(self, X):
        """Return a copy of a table, of a type that holds each candidate."""
        if is_frame(X):
            return X.copy()
        values = (0, 1) if self.is_block else self.values
        if is_tensor(X):
            is_cut = make_room(to_numpy(X[:0]), values).dtype.kind == "f"
            return X.double() if is_cut and not X.is_floating_point() else X.clone()
        return make_room(np.array(X), values)

    @staticmethod
    def _fill(X, column, value):
        if is_frame(X):
            name, kind = X.columns[column], X.dtypes.iloc[column]
            if isinstance(kind, pd.CategoricalDtype) and value not in kind.categories:
                kind = pd.CategoricalDtype([*kind.categories, value])
            X[name] = pd.Series([value] * len(X), index=X.index, dtype=kind, name=name)
        else:
            X[:, column] = value

    def drop(self, X):
        keep = np.setdiff1d(np.arange(X.shape[1]), self.columns)
        return X.iloc[:, keep] if is_frame(X) else X[:, keep]


def _make_baseline():
    """Return boosted trees that read text as categories."""
    text = make_column_selector(dtype_exclude="number")
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    return make_pipeline(
        make_column_transformer((encoder, text), remainder="passthrough"),
        HistGradientBoostingClassifier(max_iter=50),
    )


def _are_equal(guesses, truth):
    """Return whether each guess is the true value, in the precision of the less precise one."""
    if guesses.dtype.kind == truth.dtype.kind == "f":
        narrow = min(guesses.dtype, truth.dtype, key=lambda kind: kind.itemsize)
        guesses, truth = guesses.astype(narrow), truth.astype(narrow)
    return np.asarray(guesses == truth, dtype=bool)


class CandidateScores(TransactionMixin, CopiesParameters, ClassifierMixin, BaseEstimator, ABC):
    """Base class of attacks that score candidates, ``classes_``, for a value of each record."""

    _subjects = ("victim", "shadows")

    def predict(self, X: Records) -> np.ndarray:
        """Infer the value of each record.

        Parameters
        ----------
        X : Records of n records
            Records as for :meth:`score_samples`.

        Returns
        -------
        values : ndarray of shape (n,)
            Candidate with the highest score; the first one of equal scores.
        """
        best = self.score_samples(X).argmax(axis=1)
        return self.classes_[best]

    def score(
        self, X: Records, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the accuracy of the predictions.

        Parameters
        ----------
        X : Records of n records
            Labeled records.
        y : array-like of shape (n,), default=None
            True values. If None, they are read from the records.
        sample_weight : array-like of shape (n,), default=None
            Weights of the records.

        Returns
        -------
        accuracy : float
            Share of correct predictions; :meth:`compare` says how far it is above chance.
        """
        guesses = self.predict(X)
        truth = self._read_truth(X) if y is None else to_array(y, "y")
        if truth.shape != guesses.shape:
            raise ValueError(
                f"y must hold one value for each of {len(guesses)} records; "
                f"got an array of shape {truth.shape}."
            )
        right = _are_equal(guesses, truth)
        if sample_weight is None:
            return float(right.mean())
        weights = check_record_weights(sample_weight, len(right))
        if not weights.any():
            raise ValueError("sample_weight must hold one number of 0 or more, some above 0.")
        return float(np.average(right, weights=weights))

    @abstractmethod
    def _read_truth(self, records):
        """Read the true value of each record."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.target_tags.required = False
        return tags


class AttributeInferenceAttack(CandidateScores):
    """Attribute inference: complete a record with each candidate value.

    The attacker has access to the victim and knows every record except the attribute. Each
    candidate value completes the record, and the attack predicts the value that fits the victim
    best. A baseline predicts the attribute from the other columns and the label, without the
    victim. Only the difference between the accuracy of the attack and of the baseline is leakage.

    Parameters
    ----------
    victim : fitted estimator
        Model under attack.
    sensitive : str, int, slice, or sequence of str or int
        Column of the attribute, or the columns of a one-hot block: names in a DataFrame,
        positions in an array and in a slice.
    values : array-like of shape (n_values,), default=None
        Candidate values. If None, the values that occur in the records given to ``fit`` are used.
        Must be None for a block, whose candidates are its columns.
    criterion : {"loss", "softmax", "accuracy", "gradient"}, default="loss"
        Criterion by which a candidate fits the victim: the smallest loss; the largest probability
        of any class; the largest probability of any class among candidates with which the label is
        predicted (if there are none, the largest probability of the label); or the smallest
        gradient of the loss with respect to the parameters.
    baseline : classifier, default=None
        Unfitted classifier that learns the attribute from the other columns and the label. If None,
        boosted trees are used.
    random_state : int, RandomState instance or None, default=None
        Controls the baseline.

    Attributes
    ----------
    classes_ : ndarray of shape (n_values,)
        Candidate values. For a block, the names or positions of its columns.
    baseline_ : classifier
        Fitted on the records given to ``fit``; it predicts positions in ``baseline_values_``.
    baseline_values_ : ndarray of shape (n_known_values,)
        Values of the attribute in the records given to ``fit``, sorted.

    See Also
    --------
    skmia.victims.open_white_box : The victims that have gradients.

    Notes
    -----
    The first of tied candidates is predicted. The victim is queried once per record and candidate.

    References
    ----------
    del Grosso Guzman, G. (2023). Leakage of sensitive data from deep neural networks. PhD thesis,
    equations (2.62) to (2.65).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skmia import Records
    >>> from skmia.attacks import AttributeInferenceAttack
    >>> rng = np.random.default_rng(0)
    >>> X = np.column_stack([rng.normal(size=(400, 3)), rng.integers(2, size=400)])
    >>> y = rng.integers(2, size=400)
    >>> victim = DecisionTreeClassifier(random_state=0).fit(X[:200], y[:200])
    >>> attack = AttributeInferenceAttack(victim, sensitive=3, random_state=0)
    >>> attack = attack.fit(Records(X[200:], y[200:]))
    >>> attack.compare(Records(X[:200], y[:200])).index.tolist()
    ['attack', 'baseline', 'difference']
    """

    _parameter_constraints = {
        "victim": "no_validation",
        "sensitive": "no_validation",
        "values": ["array-like", None],
        "criterion": [StrOptions({"loss", "softmax", "accuracy", "gradient"})],
        "baseline": [HasMethods(["fit", "predict"]), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        victim: BaseEstimator | None = None,
        sensitive: str | int | slice | Sequence[str | int] | None = None,
        *,
        values: ArrayLike | None = None,
        criterion: Literal["loss", "softmax", "accuracy", "gradient"] = "loss",
        baseline: BaseEstimator | None = None,
        random_state: Seed = None,
    ) -> None:
        self.victim = victim
        self.sensitive = sensitive
        self.values = values
        self.criterion = criterion
        self.baseline = baseline
        self.random_state = random_state

    def fit(self, X: Records, y: Any = None) -> Self:
        """Determine the candidates and fit the baseline.

        Parameters
        ----------
        X : Records of n records
            Labeled records with their attribute, disjoint from the records under attack.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        records = check_records(X)
        check_victim(self.victim)
        if self.sensitive is None or self.sensitive is pd.NA:
            raise ValueError(
                f"sensitive must name the column of the attribute; got {self.sensitive}."
            )
        self._attribute = SensitiveAttribute(records.X, self.sensitive, self.values)
        self.classes_ = self._attribute.values
        self.baseline_ = _make_baseline() if self.baseline is None else copy_unfitted(self.baseline)
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        seed_estimator(self.baseline_, np.random.SeedSequence(seed))
        # Positions of the values, because scikit-learn treats 0.5 as a measurement, not as a class.
        codes, self.baseline_values_ = pd.factorize(self._attribute.read(records.X), sort=True)
        self._labels = pd.Index(pd.factorize(records.y, sort=True)[1])
        with with_advice(self.baseline_, records.X), on_one_thread(self.baseline is None):
            self.baseline_.fit(self._known_columns(records), codes)
        _, self._digests, places = sort_distinct(records)
        self._n_twins = _count_twins(places)
        set_features(self, records)
        return self

    def _known_columns(self, records):
        rest = self._attribute.drop(records.X)
        if is_frame(rest):
            return rest.rename(columns=str).assign(**{"task label": records.y})
        rest = to_numpy(rest) if is_tensor(rest) else np.asarray(rest)
        label = records.y
        if label.dtype.kind in "OU":  # -1 for a label that fit was not given
            label = self._labels.get_indexer(label)
        return pd.DataFrame(np.column_stack([rest, label])).rename(columns=str)

    def score_samples(self, X: Records) -> np.ndarray:
        """Score how well each candidate suits the victim.

        Parameters
        ----------
        X : Records of n records
            Labeled records; their attribute is not read.

        Returns
        -------
        scores : ndarray of shape (n, n_values)
            Higher means a better candidate: a probability, or minus a loss or a squared norm.

        Raises
        ------
        ValueError
            If the records have other columns than in `fit`.
        """
        records = check_features(self, check_records(X))
        self._attribute.check(records.X)
        completed = [self._attribute.complete(records.X, value) for value in self.classes_]
        if self.criterion == "gradient":
            white_box = open_white_box(self.victim)
            columns = [
                -(white_box.gradient_norms(white_box.encode(candidate), records.y) ** 2)
                for candidate in completed
            ]
            return refuse_nan(np.column_stack(columns))
        columns = [
            self._suit(query_victim(self.victim, candidate), records.y) for candidate in completed
        ]
        scores = np.stack(columns, axis=1)
        if self.criterion == "accuracy":
            largest, of_label, is_right = np.moveaxis(scores, 2, 0)
            some = is_right.any(axis=1)[:, None]
            scores = np.where(some, np.where(is_right, largest, 0), of_label)
        return refuse_nan(scores)

    def _suit(self, outputs, y):
        if outputs.kind == "value":
            if self.criterion != "loss":
                raise ValueError(
                    f"criterion={self.criterion!r} needs class probabilities; use 'loss' or "
                    "'gradient' for a regressor."
                )
            return -np.square(y - outputs.values)
        log_proba = outputs.log_proba()
        of_label = log_proba[np.arange(len(y)), outputs.label_index(y)]
        if self.criterion == "loss":
            return of_label
        largest = np.exp(log_proba.max(axis=1))
        if self.criterion == "softmax":
            return largest
        return np.column_stack([largest, np.exp(of_label), outputs.is_correct(y)])

    def predict_proba(self, X: Records) -> np.ndarray:
        """Return the normalized scores of the candidates; they are not calibrated probabilities.

        Parameters
        ----------
        X : Records of n records
            Labeled records.

        Returns
        -------
        proba : ndarray of shape (n, n_values)
            Normalized probabilities, or a softmax of minus the losses or squared norms. Rows sum to
            1.
        """
        scores = self.score_samples(X)
        if self.criterion in ("loss", "gradient"):
            return softmax(scores, axis=1)
        return scores / scores.sum(axis=1, keepdims=True)

    def _read_truth(self, records):
        return self._attribute.read(records.X)

    def compare(self, records: Records, *, confidence_level: float = 0.95) -> pd.DataFrame:
        """Compare the accuracy of the attack with the baseline.

        Parameters
        ----------
        records : Records of n records
            Labeled records on which the baseline was not fitted.
        confidence_level : float, default=0.95
            Confidence level of the intervals, in (0, 1).

        Returns
        -------
        comparison : DataFrame of shape (3, 3)
            Rows ``attack``, ``baseline`` and ``difference``; columns ``accuracy``, ``low`` and
            ``high``. Intervals are Clopper-Pearson; the difference has Tango's score interval for
            paired proportions. Records are independent, or people are, if the records have the
            field ``group_by``.

        Warns
        -----
        UserWarning
            If the baseline was fitted on some of the records, whose attribute it then knows. Equal
            records of different people are no sign of it.
        """
        guesses, truth = self.predict(records), self._attribute.read(records.X)
        n_known = find_known(self._digests, records)[1].sum()
        # Of twins by chance, no more are apart than are on the same side.
        n_twins = self._n_twins + _count_twins(sort_distinct(records)[2])
        if n_known > max(n_twins, _FEW * len(records)):
            warnings.warn(
                f"The baseline was fitted on {n_known:,} of the {len(records):,} records, so it "
                "knows their attribute, and the difference is too small. Fit on other records than "
                "those that are compared.",
                UserWarning,
                stacklevel=level_of_user(),
            )
        right = _are_equal(guesses, truth)
        with on_one_thread(self.baseline is None):
            codes = predict_flat(self.baseline_, self._known_columns(records))
        guessed = _are_equal(self.baseline_values_[codes], truth)
        people, level = records.fields.get("group_by"), {"confidence_level": confidence_level}
        rows = {
            "attack": share_interval(right, people, **level),
            "baseline": share_interval(guessed, people, **level),
            "difference": paired_share_interval(right, guessed, people, **level),
        }
        return pd.DataFrame.from_dict(rows, orient="index", columns=["accuracy", "low", "high"])
