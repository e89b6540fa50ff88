"""Signals of small changes of a record: whether the label stays, and whether the loss rises."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.utils import gen_batches

from .._core.containers import (
    align_columns,
    concat_columns,
    frame_to_numpy,
    is_frame,
    is_tensor,
    refuse_foreign_table,
    to_numpy,
)
from .._core.metric_inputs import check_option
from .._core.numbers import SMALLEST, check_count, check_number, check_numbers, show, to_array
from .._core.query import CHUNK, query_victim
from .._core.randomness import check_seed
from .._core.records import Records
from ._base import VictimSignal
from ._confidence import Correctness, Loss

# What changes the values of tables that hold text.
_BY_SWAPS = (
    "LabelRobustness(change='swap', population=records) and TransferredQueryAttack(search='swap') "
    "put in values of other records"
)


def as_rows_of_numbers(X, who):
    """Return the numbers in a container of rows, and a function that restores the container."""
    refuse_foreign_table(X, who)
    changes = f"{who} changes every feature by a number"
    if sparse.issparse(X):
        raise ValueError(f"{changes}; X must not be sparse.")
    if is_tensor(X):
        return to_numpy(X), lambda values: _as_tensor_like(X[:0], values)
    if is_frame(X):
        for name, dtype in X.dtypes.items():
            if not pd.api.types.is_numeric_dtype(dtype) or dtype.kind == "c":
                raise ValueError(f"{changes}; {name!r} holds no numbers. {_BY_SWAPS}.")
        values = frame_to_numpy(X)
        if values.dtype.kind not in "biuf":
            raise ValueError(f"{changes}; some of X are missing.")
        return values, lambda values: pd.DataFrame(values, columns=X.columns)
    if X.dtype.kind not in "biuf":
        raise ValueError(f"{changes}; X holds no numbers but {X.dtype}.")
    return X, lambda values: values


def _as_tensor_like(X, values):
    """Return an array as a tensor like X, or of floats if X would cut off fractions."""
    is_cut = values.dtype.kind == "f" and not X.is_floating_point()
    return (X.float() if is_cut else X).new_tensor(values)


def as_scale(scale, shape, who):
    """Return one positive unit for each feature, of the shape of one record."""
    scale, size = np.ravel(check_scale(scale)), int(np.prod(shape))
    if len(scale) not in (1, size):
        raise ValueError(
            f"scale of {who} must be one number or one for each of {size} features; "
            f"got {len(scale)}."
        )
    return np.broadcast_to(scale, size).reshape(shape)


def check_scale(scale):
    """Return units, one or more numbers above 0."""
    return check_numbers(scale, "scale", "above 0", SMALLEST)


def is_right(victim, rows, y, who):
    """Return whether the predicted class is the label."""
    answers = query_victim(victim, rows)
    if answers.kind == "value":
        raise ValueError(f"{who} needs a classifier; got a regressor.")
    if answers.kind == "label" and not hasattr(victim, "classes_"):
        return answers.values == y  # a batch need not contain every label
    return Correctness()(answers, y) == 1


# Number of roundings that an output may contain, for example from a sum in another order.
_ROUNDINGS = 8


def loss_rounding(outputs, y):
    """Return the difference up to which two losses of a record may differ by rounding only."""
    unit = _ROUNDINGS * np.finfo(outputs.values.dtype).eps
    if outputs.kind == "value":
        values = np.asarray(outputs.values, dtype=np.float64)
        return 2 * unit * (np.abs(y) + np.abs(values)) * np.abs(y - values)
    loss = -Loss()(outputs, y)
    if outputs.kind == "proba":
        return unit * (1 + loss)
    # Near 0, the loss of logits is the exponential of a difference, and as exact as the difference.
    return unit * np.abs(outputs.values).max(axis=1) * np.minimum(loss, 1)


class _GaussianNoise:
    """Gaussian noise with a standard deviation that is a multiple of the scale."""

    magnitudes = (0.1, 0.2, 0.5, 1.0)

    def __init__(self, X, signal):
        self.X, self.restore = as_rows_of_numbers(X, f"Signal {signal.name!r}")
        self.scale = as_scale(signal.scale, self.X.shape[1:], f"signal {signal.name!r}")
        self.dtype = self.X.dtype if self.X.dtype.kind == "f" else np.dtype(float)

    def draw(self, magnitude, n_copies, rng):
        return magnitude * self.scale * rng.normal(size=(n_copies, *self.X.shape[1:]))

    def apply(self, noise):
        """Return changed copies of all records, one set of records after the other."""
        changed = self.X + noise[:, None]
        return self.restore(changed.reshape(-1, *self.X.shape[1:]).astype(self.dtype))


class _BitFlip:
    """Flip each feature of 0 or 1 with some probability."""

    magnitudes = (0.01, 0.02, 0.05, 0.1)

    def __init__(self, X, signal):
        self.X, self.restore = as_rows_of_numbers(X, f"Signal {signal.name!r}")
        if not np.isin(self.X, (0, 1)).all():
            raise ValueError(
                f'Signal {signal.name!r} with change="flip" needs features of 0 and 1.'
            )

    def draw(self, magnitude, n_copies, rng):
        return rng.uniform(size=(n_copies, *self.X.shape[1:])) < magnitude

    def apply(self, flipped):
        changed = np.where(flipped[:, None], 1 - self.X, self.X)
        return self.restore(changed.reshape(-1, *self.X.shape[1:]).astype(self.X.dtype))


class _FeatureSwap:
    """Replace each feature, with some probability, by its value in a random record."""

    magnitudes = (0.05, 0.1, 0.2, 0.4)

    def __init__(self, X, signal):
        self.name, donors = signal.name, align_columns(signal.population.X, X)
        for rows in (X, donors):
            refuse_foreign_table(rows, f"Signal {self.name!r}")
            if sparse.issparse(rows) or is_tensor(rows):
                raise ValueError(
                    f'Signal {self.name!r} with change="swap" needs an array or a table; '
                    f"got {type(rows).__name__}."
                )
        names = [list(rows.columns) if is_frame(rows) else None for rows in (X, donors)]
        if names[0] != names[1] or X.shape[1:] != donors.shape[1:]:
            raise ValueError(
                f"The population of signal {self.name!r} must have the features of the records."
            )
        self.X, self.donors = X, donors

    def draw(self, magnitude, n_copies, rng):
        shape = (n_copies, *self.X.shape[1:])
        donor = rng.randint(len(self.donors), size=shape)
        return np.where(rng.uniform(size=shape) < magnitude, donor, -1)

    def apply(self, donor):
        shape = (len(donor), len(self.X), *self.X.shape[1:])
        donor = np.broadcast_to(donor[:, None], shape).reshape(-1, *shape[2:])
        if not is_frame(self.X):
            own = np.broadcast_to(self.X, shape).reshape(donor.shape)
            taken = np.take_along_axis(self.donors, np.maximum(donor, 0), axis=0)
            return np.where(donor >= 0, taken, own)
        own = np.tile(np.arange(len(self.X)), shape[0])
        columns = {}
        for j, name in enumerate(self.X.columns):
            both = concat_columns([self.X.iloc[:, j], self.donors.iloc[:, j]])
            place = np.where(donor[:, j] >= 0, len(self.X) + donor[:, j], own)
            columns[name] = both.iloc[place].reset_index(drop=True)
        return pd.DataFrame(columns)


_CHANGES = {"noise": _GaussianNoise, "flip": _BitFlip, "swap": _FeatureSwap}


@dataclass(frozen=True)
class LabelRobustness(VictimSignal):
    """Share of random changes of a record under which the predicted label stays correct.

    Models are often correct in a wider neighborhood of their training records. The attack queries
    only predicted labels: of the record itself and, if it is classified correctly, of ``n_changes``
    copies per magnitude. The score is the share of correct predictions, including the record
    itself, and 0 if the record itself is misclassified. The same changes are applied to every
    record, so that a score depends only on the record.

    Parameters
    ----------
    change : {"noise", "flip", "swap"}, default="noise"
        - ``"noise"``: Gaussian noise on all features; a magnitude is its standard deviation in
          units of ``scale``;
        - ``"flip"``: features of 0 and 1 are flipped; a magnitude is a probability;
        - ``"swap"``: each feature is replaced by its value in a random record of the population; a
          magnitude is a probability. Suitable for tables with categories.
    magnitudes : sequence of float, default=None
        Strengths of the change. If None, (0.1, 0.2, 0.5, 1) for noise, (0.01, 0.02, 0.05, 0.1) for
        flips and (0.05, 0.1, 0.2, 0.4) for swaps.
    n_changes : int, default=25
        Number of changed copies per record and magnitude.
    scale : float or sequence of float, default=1.0
        Unit of the noise, one for all features or one per feature; 1 for standardized features.
    population : Records, default=None
        Records to take values from for ``change="swap"``, members or not. Columns of a table are
        matched by their names.
    random_state : int, default=0
        Controls the changes.

    See Also
    --------
    BoundaryDistance : Distance to the nearest misclassified point.
    Merlin : Share of random changes that raise the loss.

    Notes
    -----
    Source: Choquette-Choo et al. (2021). They also count correct predictions for copies of a
    misclassified record, which did not improve the attack in our experiments.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skmia import Records
    >>> from skmia.signals import LabelRobustness
    >>> X, y = load_iris(return_X_y=True)
    >>> victim = LogisticRegression(max_iter=500).fit(X, y)
    >>> LabelRobustness(n_changes=5).of(victim, Records(X, y)[[0, 60, 70]]).round(2)
    array([1.  , 0.95, 0.  ])
    """

    change: Literal["noise", "flip", "swap"] = "noise"
    magnitudes: Sequence[float] | None = None
    n_changes: int = 25
    scale: float | Sequence[float] = 1.0
    population: Records | None = None
    random_state: int = 0
    name = "label_robustness"
    reads = ("proba", "logits", "decision", "label")

    def __post_init__(self):
        check_option(self.change, "change", _CHANGES)
        check_count(self.n_changes, "n_changes")
        check_scale(self.scale)
        check_seed(self.random_state)
        if (self.change == "swap") != isinstance(self.population, Records):
            raise ValueError(
                'population must be Records for change="swap" and None for others; '
                f"got change={self.change!r} and population={self.population!r}."
            )
        if self.magnitudes is not None:
            found = to_array(self.magnitudes, "magnitudes", "hold numbers", np.float64)
            inside = (found > 0) & (found <= (np.inf if self.change == "noise" else 1))
            if found.ndim != 1 or not len(found) or not inside.all():
                raise ValueError(
                    "magnitudes must be numbers above 0, probabilities for flips and swaps; "
                    f"got {show(self.magnitudes)}."
                )
        super().__post_init__()

    def _inspect(self, victim, records):
        share = is_right(victim, records.X, records.y, f"Signal {self.name!r}").astype(float)
        rows = np.flatnonzero(share)
        if len(rows):
            share[rows] = self._count(victim, records[rows])
        return share

    def _count(self, victim, records):
        """Return the share of correct predictions for records and their copies."""
        change = _CHANGES[self.change](records.X, self)
        magnitudes = change.magnitudes if self.magnitudes is None else self.magnitudes
        rng, right = np.random.RandomState(self.random_state), np.ones(len(records))
        for magnitude in magnitudes:
            drawn = change.draw(magnitude, self.n_changes, rng)
            for some in gen_batches(self.n_changes, max(1, CHUNK // len(records))):
                y = np.tile(records.y, len(drawn[some]))
                kept = is_right(victim, change.apply(drawn[some]), y, f"Signal {self.name!r}")
                right += kept.reshape(-1, len(records)).sum(axis=0)
        return right / (1 + len(magnitudes) * self.n_changes)


_MOST_CHANGES = 1_000_000  # queries of each record


@dataclass(frozen=True)
class Merlin(VictimSignal):
    """Share of small random changes of a record that raise the victim's loss.

    Members of a trained model lie near minima of its loss. Each change adds Gaussian noise to all
    features. The same changes are applied to every record, so that a score depends only on the
    record. A change counts if it raises the loss by more than rounding errors. The share is a
    multiple of ``1 / n_changes``, with many ties. The victim is queried ``n_changes + 1`` times per
    record, once for the record itself. Source: Jayaraman et al. (2021), algorithm 3.

    Parameters
    ----------
    n_changes : int, default=100
        Number of changed copies of each record.
    scale : float, default=0.01
        Standard deviation of the noise, in units of the features, which should have the same scale.
    random_state : int, default=0
        Controls the noise.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skmia import Records
    >>> from skmia.signals import Merlin
    >>> X, y = load_iris(return_X_y=True)
    >>> victim = LogisticRegression(max_iter=500).fit(X, y)
    >>> Merlin(n_changes=10).of(victim, Records(X, y)[[0, 60, 149]])
    array([0.6, 0.4, 0.3])
    """

    n_changes: int = 100
    scale: float = 0.01
    random_state: int = 0
    name = "merlin"
    reads = Loss.reads

    def __post_init__(self):
        check_count(self.n_changes, "n_changes", high=_MOST_CHANGES)
        check_number(self.scale, "scale", "above 0", SMALLEST)
        check_seed(self.random_state)

    def _inspect(self, victim, records):
        X, restore = as_rows_of_numbers(records.X, f"Signal {self.name!r}")
        dtype = X.dtype if X.dtype.kind == "f" else np.dtype(float)
        rng = np.random.RandomState(self.random_state)
        noise = rng.normal(scale=self.scale, size=(self.n_changes, 1, *X.shape[1:])).astype(dtype)
        signal = Loss()
        answers = query_victim(victim, restore(X.astype(dtype)))
        # For a forest or a saturated net, many changes leave the loss unchanged, up to rounding.
        below = signal(answers, records.y) - loss_rounding(answers, records.y)
        raised = np.zeros(len(records))
        for some in gen_batches(self.n_changes, max(1, CHUNK // len(records))):
            changed = X + noise[some]
            answers = query_victim(victim, restore(changed.reshape(-1, *X.shape[1:])))
            values = signal(answers, np.tile(records.y, len(changed))).reshape(len(changed), -1)
            raised += (values < below).sum(axis=0)  # the signal is minus the loss
        return raised / self.n_changes
