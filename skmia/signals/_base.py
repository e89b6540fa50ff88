"""Base classes of signals: one number per record."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._core.copies import CopiesParameters
from .._core.filed_array import rows_of
from .._core.needs import Needs
from .._core.numbers import as_numbers
from .._core.outputs import KINDS_OF_ONE_LABEL, Outputs
from .._core.query import query
from .._core.records import Records
from .._core.transactions import TransactionMixin
from .._core.types import ArrayLike, DTypeLike
from .._core.validation import check_records, refuse_nan, require_victim

_BITS = 16


def compute_middle(pieces, n_values):
    """Return the two middle values of single-precision numbers; they are equal if n is odd.

    The numbers are counted by the upper and then by the lower half of their bits, so two passes
    find the values exactly.
    """
    return np.array([_find_rank(pieces, rank) for rank in ((n_values - 1) // 2, n_values // 2)])


def _find_rank(pieces, rank):
    upper, rank = _locate_rank((_sortable(piece) >> _BITS for piece in pieces()), rank)
    inside = (_sortable(piece) for piece in pieces())
    mask = np.uint32((1 << _BITS) - 1)
    lower, _ = _locate_rank((keys[keys >> _BITS == upper] & mask for keys in inside), rank)
    key = np.array([(upper << _BITS) | lower], dtype=np.uint32)
    return np.where(key >> 31, key ^ np.uint32(1 << 31), ~key).view(np.float32)[0]


def _locate_rank(parts, rank):
    """Return the bin that holds the value of a rank, and its rank within the bin."""
    counts = np.zeros(1 << _BITS, dtype=np.int64)
    for part in parts:
        counts += np.bincount(part, minlength=1 << _BITS)
    found = int(np.searchsorted(np.cumsum(counts), rank, side="right"))
    return found, rank - int(counts[:found].sum())


def _sortable(values):
    """Map numbers to integers of the same order."""
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    return np.where(bits >> 31, ~bits, bits | np.uint32(1 << 31))


# Share of the typical residual below which differences carry no information.
_SHARE = 0.1
SMALLEST_RESIDUAL = 1e-12


# Pools are processed row by row, because any array of their size takes as much memory as the pool.
def _largest_finite(raw):
    return max(float(np.abs(row[np.isfinite(row)]).max(initial=0.0)) for row in rows_of(raw))


@dataclass(frozen=True)
class Smoothing(ABC):
    """Rule learned from the values of some models and applied to those of any model."""

    resolution: float = 0.0
    step: float = 0.0

    # Margins are in the unit of decision values, whose finest step a user cannot know.
    _takes_resolution = True

    @classmethod
    def fit(cls, raw, inside, dtype, resolution="auto"):
        """Learn the resolution and the step.

        Shapes: raw (n_queries, n_models, n), inside (n_models, n).
        """
        step = float(cls._compute_step(raw, dtype))
        if resolution == "auto" or not cls._takes_resolution:
            resolution = cls._compute_resolution(raw, inside, step)
        return cls(float(resolution), step)

    @classmethod
    def _compute_resolution(cls, raw, inside, step):
        return 0.0 if all(np.isfinite(row).all() for row in rows_of(raw)) else step

    @classmethod
    @abstractmethod
    def _compute_step(cls, raw, dtype):
        """Return the step with which an infinite value is smoothed next to these values."""

    @abstractmethod
    def _move(self, raw, step):
        """Move values by a positive step."""

    def __call__(self, raw):
        """Return finite values of any model; with resolution 0, finite values are not changed."""
        if self.resolution:
            return self._move(raw, self.resolution)
        infinite = np.isinf(raw)
        return np.where(infinite, self._move(raw, self.step), raw) if infinite.any() else raw

    def of_models(self, raw):
        """Smooth the models that it was learned from; with resolution 0, infinite values stay."""
        return self._move(raw, self.resolution) if self.resolution else raw


class Unsmoothed(Smoothing):
    """No smoothing, for signals whose values are always finite."""

    _takes_resolution = False

    @classmethod
    def _compute_step(cls, raw, dtype):
        return 0.0

    @classmethod
    def _compute_resolution(cls, raw, inside, step):
        return 0.0

    def _move(self, raw, step):
        return raw


class LogitSmoothing(Smoothing):
    """Smoothing of log odds: probabilities of exactly 0 or 1 move inside by half of the step.

    The step is 1 / (1 + exp(z)) of the largest finite abs(z), at least the spacing of floats next
    to 1. Half of it is added to the probability and to its complement. Values arrive unclipped,
    from :meth:`AnswerSignal.raw` as from given scores, so they may be infinite.
    """

    @classmethod
    def _compute_step(cls, raw, dtype):
        # 1 / (1 + exp(|z|)) is the smaller of p_y and 1 - p_y. Below the spacing of floats next to
        # 1 one side can still be distinguished from its bound and the other cannot.
        largest = _largest_finite(raw)
        spacing = np.finfo(dtype).eps if np.issubdtype(dtype, np.floating) else np.finfo(float).eps
        return max(np.exp(-np.logaddexp(0, largest)), spacing)

    def _move(self, raw, step):
        half = raw.dtype.type(step / 2)
        with np.errstate(over="ignore"):
            p, q = 1 / (1 + np.exp(-raw)), 1 / (1 + np.exp(raw))
        return np.log(p + half) - np.log(q + half)


class ClippedSmoothing(Smoothing):
    """Clipping of values at plus and minus the largest finite value."""

    _takes_resolution = False

    @classmethod
    def _compute_step(cls, raw, dtype):
        # Values are infinite only for classes without training records; such a model counts as
        # being as confident as any other model.
        return _largest_finite(raw)

    def _move(self, raw, step):
        return np.clip(raw, -step, step)


class ResidualSmoothing(Smoothing):
    """Smoothing of residuals: the root of the sum of the squared residual and the squared step."""

    @classmethod
    def _compute_step(cls, raw, dtype):
        return SMALLEST_RESIDUAL

    @classmethod
    def _compute_resolution(cls, raw, inside, step):
        # Trees and interpolating models have residuals of 0 on their training records, which would
        # dominate every moment. The scale is therefore estimated on records that a model has not
        # seen.
        def list_outside():
            for row, members in zip(rows_of(raw[0]), rows_of(inside), strict=True):
                yield row[~members]

        n_outside = sum(np.count_nonzero(~members) for members in rows_of(inside))
        # The median of the residuals is the exponential of the median of their logarithms; for an
        # even number, both middle values are used.
        middle = compute_middle(list_outside, n_outside)
        typical = np.exp(-middle.astype(np.float64)).mean()
        return max(_SHARE * float(typical), step)

    def _move(self, raw, step):
        return -0.5 * np.logaddexp(-2 * raw, raw.dtype.type(2 * np.log(step)))


_METHODS = {
    "proba": "predict_proba",
    "logits": "predict_proba",
    "decision": "decision_function",
    "log_odds": "log odds of the label",
    "label": "predict",
    "value": "a regressor's predict",
    "values": "a regressor's predict",
}


def _as_tuple(values):
    """Return a list or an array as a tuple, of tuples if it has several dimensions."""
    if not isinstance(values, list | np.ndarray | pd.Series):
        return values
    values = values if isinstance(values, list) else values.tolist()
    return tuple(map(_as_tuple, values)) if isinstance(values, list) else values


class Signal(ABC):
    """Signal of membership: one number per record, higher means more likely a member.

    A signal is a frozen value: equal signals return equal numbers, and a :class:`~skmia.ShadowPool`
    can store any of them. Base class of :class:`AnswerSignal`, which reads the victim's outputs for
    a record, and of :class:`VictimSignal`, which needs the victim itself. Both refuse what a
    subclass computes unless it is one number per record; infinite numbers stay, and a pool makes
    them finite (:meth:`fit_smoothing`).

    Attributes
    ----------
    name : str
        The name under which attacks take the signal.
    reads : tuple of str
        Kinds of :class:`~skmia.Outputs` of the victims that it suits.
    access : tuple of str
        What the signal needs from the victim beyond stored outputs, in the terms of
        :class:`skmia.base.Needs`.
    """

    name: str
    reads: tuple[str, ...] = KINDS_OF_ONE_LABEL
    access: tuple[str, ...] = ()

    # Whether it changes with the unit of the targets of a regressor by more than a constant.
    has_unit_of_target = False

    # How infinite values are made finite before moments over shadow models are computed.
    _smoothing = Unsmoothed

    def __post_init__(self):
        """Hold lists and arrays of a dataclass as tuples, which are values and have a hash."""
        for field in fields(self):
            object.__setattr__(self, field.name, _as_tuple(getattr(self, field.name)))

    @abstractmethod
    def of(self, victim: BaseEstimator | None, records: Records) -> np.ndarray:
        """Return the signal of each record.

        Parameters
        ----------
        victim : fitted estimator or None
            Model under attack. If None, the predictions stored with the records are used.
        records : Records of n records
            Labeled records.

        Returns
        -------
        signal : ndarray of shape (n,)
            Higher means more likely a member.

        Raises
        ------
        ValueError
            If the victim does not answer what the signal needs.
        """

    def fit_smoothing(
        self,
        raw: np.ndarray,
        inside: np.ndarray,
        dtype: DTypeLike,
        resolution: Literal["auto"] | float = "auto",
    ) -> Callable[[np.ndarray], np.ndarray]:
        """Learn from the values of some models how infinite values are made finite.

        Parameters
        ----------
        raw : ndarray of shape (n_queries, n_models, n)
            Values of the models, as returned by :meth:`AnswerSignal.raw`.
        inside : ndarray of shape (n_models, n), dtype bool
            Which models were trained on which records.
        dtype : dtype
            Data type of the models' outputs.
        resolution : "auto" or float, default="auto"
            Finest step of the models' outputs, if it is known.

        Returns
        -------
        smoothing : callable
            Function that maps values of any model to finite values.
        """
        return self._smoothing.fit(raw, inside, dtype, resolution)

    def derive_from(self, stored: "Signal") -> Callable[[np.ndarray], np.ndarray] | None:
        """Return how the values of this signal follow from the values of another one.

        Parameters
        ----------
        stored : Signal
            Signal whose values are known.

        Returns
        -------
        derive : callable or None
            Function of an array of values that returns an array of the same shape. None if the
            values do not follow.
        """
        return None


def _name_signals(kind):
    """Say which signals suit outputs of a kind."""
    from ._registry import names_that_read  # which imports the signals

    names = names_that_read(kind)
    few = f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
    return f"Its answers suit the signal{'s' * (len(names) > 1)} {few}."


def _check_shape(signal, values, n_records):
    """Return what a signal gives as an array; refuse all but one number per record."""
    found = np.asarray(values)
    if found.shape != (n_records,) or found.dtype.kind not in "biuf":
        raise ValueError(
            f"Signal {signal.name!r} must give one number per record, an array of shape "
            f"({n_records},); got one of shape {found.shape} and dtype {found.dtype}."
        )
    return found


def _refuse_no_number(signal, values):
    """Refuse NaN; infinite values stay."""
    return refuse_nan(values, f"The victim's answers, by the signal {signal.name!r},")


class AnswerSignal(Signal):
    """Base class of signals that are computed from the victim's outputs.

    A subclass sets its name, declares which kinds of :class:`~skmia.Outputs` it can read, and
    computes one number per record in ``_evaluate(outputs, y)``.

    Attributes
    ----------
    name : str
        The name under which attacks take the signal.
    reads : tuple of str
        Kinds of outputs it reads.
    """

    reads: tuple[str, ...]

    def of(self, victim: BaseEstimator | None, records: Records) -> np.ndarray:
        return self(query(victim, records), records.y)

    def __call__(self, outputs: Outputs, y: ArrayLike) -> np.ndarray:
        """Compute the signal from given outputs.

        Parameters
        ----------
        outputs : Outputs of n answers
            Outputs of the victim.
        y : ndarray of shape (n,)
            Task labels.

        Returns
        -------
        signal : ndarray of shape (n,)
            Higher means more likely a member.

        Raises
        ------
        ValueError
            If the victim does not answer what the signal needs.
        """
        values = self._evaluate(outputs, self._check(outputs, y))
        return _refuse_no_number(self, _check_shape(self, values, len(outputs)))

    def raw(self, outputs: Outputs, y: ArrayLike, resolution: float = 0.0) -> np.ndarray:
        """Compute the signal from given outputs, for moments over models.

        The logarithms of probabilities of exactly 0 or 1 would dominate every moment. Such
        probabilities are moved inside here, or the values stay infinite until :meth:`fit_smoothing`
        has seen all models.

        Parameters
        ----------
        outputs : Outputs of n answers
            Outputs of one model.
        y : ndarray of shape (n,)
            Task labels.
        resolution : float, default=0.0
            Finest step of the model's probabilities. If 0, they are not changed.

        Returns
        -------
        signal : ndarray of shape (n,)
            Higher means more likely a member.

        Raises
        ------
        ValueError
            If the model does not answer what the signal needs.
        """
        values = self._evaluate_raw(outputs, self._check(outputs, y), resolution)
        return _check_shape(self, values, len(outputs))

    def raw_parts(self, outputs: Outputs, y: ArrayLike, resolution: float = 0.0) -> np.ndarray:
        """Compute the numbers from which a pool makes the signal, for moments over models.

        Parameters
        ----------
        outputs : Outputs of n answers
            Outputs of one model.
        y : ndarray of shape (n,) or (n, n_targets)
            Task labels.
        resolution : float, default=0.0
            As for :meth:`raw`.

        Returns
        -------
        parts : ndarray of shape (n_parts, n)
            The signal as :meth:`raw` gives it, or the residuals of one or several targets.

        Raises
        ------
        ValueError
            If the model does not answer what the signal needs.
        """
        return self.raw(outputs, y, resolution)[None]

    @property
    def has_likelihood(self) -> bool:
        """Whether the signal determines the model's probability of the label."""
        return type(self).log_likelihood is not AnswerSignal.log_likelihood

    def log_likelihood(self, values: np.ndarray, scale: float | None = None) -> np.ndarray:
        """Return the log-probability of the label for values of the signal, in nats.

        Parameters
        ----------
        values : ndarray
            Values of the signal.
        scale : float, default=None
            Standard deviation of the residuals of a regressor.

        Returns
        -------
        log_likelihood : ndarray of the same shape
            Log-probabilities up to a constant.

        Raises
        ------
        ValueError
            If the signal has no likelihood.
        """
        raise ValueError(f"Signal {self.name!r} does not determine the probability of the label.")

    def likelihood(self, values: np.ndarray, scale: float | None = None) -> np.ndarray:
        """Return the probability of the label for values of the signal.

        Parameters
        ----------
        values : ndarray
            Values of the signal.
        scale : float, default=None
            Standard deviation of the residuals of a regressor.

        Returns
        -------
        likelihood : ndarray of the same shape
            Probabilities up to a constant factor; 0 where they underflow.

        Raises
        ------
        ValueError
            If the signal has no likelihood.
        """
        return np.exp(self.log_likelihood(values, scale))

    def _check(self, outputs, y):
        """Check the outputs and return labels that the signal can be computed with."""
        if outputs.kind not in self.reads:
            # Log odds come from predict_proba as well.
            methods = [_METHODS[kind] for kind in self.reads if kind != "log_odds"]
            needs = " or ".join(dict.fromkeys(methods))
            raise ValueError(
                f"Signal {self.name!r} needs {needs}; the victim has only "
                f"{_METHODS[outputs.kind]}. {_name_signals(outputs.kind)}"
            )
        if outputs.kind in ("value", "values"):
            if np.asarray(y).dtype.kind not in "biuf":
                y = as_numbers(y, "y", "numbers, like the predictions of a regressor")
            if np.shape(y) != outputs.shape:
                raise ValueError(
                    f"y must hold one number for each prediction; got y of shape {np.shape(y)} and "
                    f"predictions of shape {outputs.shape}."
                )
        return y

    @abstractmethod
    def _evaluate(self, outputs, y):
        """Compute the signal from outputs of a kind that it reads."""

    def _evaluate_raw(self, outputs, y, resolution):
        return self._evaluate(outputs.smoothed(y, resolution), y)


class VictimSignal(Signal):
    """Base class of signals that need the victim: its gradients, or outputs for changed records.

    A subclass sets its name, declares what it needs from the victim, and computes one number per
    record in ``_inspect(victim, records)``.

    Attributes
    ----------
    name : str
        The name under which attacks take the signal.
    reads : tuple of str
        Kinds of :class:`~skmia.Outputs` of the victims that it suits.
    access : tuple of str
        What the signal needs from the victim: ``"queries"`` about changed records, ``"gradients"``
        or ``"layers"``.
    """

    access = ("queries",)

    def of(self, victim: BaseEstimator | None, records: Records) -> np.ndarray:
        require_victim(victim, f"Signal {self.name!r}")
        records = check_records(records)
        values = _check_shape(self, self._inspect(victim, records), len(records))
        return _refuse_no_number(self, values)

    @abstractmethod
    def _inspect(self, victim, records):
        """Compute the signal from a fitted victim."""


class SignalColumns(TransactionMixin, CopiesParameters, TransformerMixin, BaseEstimator, ABC):
    """Base class of transformers from records to columns of signals."""

    _subjects: tuple = ("victim",)

    @abstractmethod
    def needs(self) -> Needs:
        """Return what the columns need from the victim.

        Returns
        -------
        needs : Needs
        """

    @abstractmethod
    def fit(self, X: Records, y: Any = None) -> Self:
        """Check the parameters and the victim.

        Parameters
        ----------
        X : Records of n records
            Labeled records.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : object
            Fitted estimator.
        """

    @abstractmethod
    def transform(self, X: Records) -> np.ndarray:
        """Compute the columns of each record.

        Parameters
        ----------
        X : Records of n records
            Labeled records.

        Returns
        -------
        values : ndarray of shape (n, n_columns)
        """

    @abstractmethod
    def _name_columns(self):
        """Return the names of the columns of the fitted transformer."""

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns.

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        names : ndarray of shape (n_columns,)
        """
        check_is_fitted(self)
        return np.array(self._name_columns(), dtype=object)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags
