"""Signals that a fitted pool stores, smoothed for moments."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted

from .._core.asking import CHUNK, query_aligned, unwrap
from .._core.filed_array import FiledArray, Rows, rows_of
from .._core.moments import Moments, Sides, compute_sides_of_each, cut
from .._core.needs import LABELS
from .._core.records import Records
from .._core.validation import check_finite, check_records, query
from .._training.stored import read_stored, read_stored_bits
from ..signals import (
    AnswerSignal,
    Correctness,
    JointResidual,
    LogResidual,
    ScaledLogit,
    Signal,
    kinds_of,
    what_to_read,
)
from ..victims import get_access, get_kind
from ._job import signals_of
from ._lookup import augmented, take_columns


def open_arrays(paths, n_records, with_outputs):
    """Return the arrays of a pool, read from files on request."""
    # -> signals (n_signals, n_queries, n_estimators, n); outputs (n_estimators, n, n_classes);
    # membership (n_estimators, n)
    signals = read_stored(paths, "raw", axis=2)
    outputs = read_stored(paths, "outputs", n_tail=1) if with_outputs else None
    return signals, outputs, read_stored_bits(paths, "subset", n_records)


class SmoothedRows(Rows):
    """Rows of signals, smoothed when they are read."""

    def __init__(self, rows, smoothings):
        self._rows, self._smoothings = rows, list(smoothings)
        self.n_columns, self.dtype = rows.n_columns, rows.dtype

    def read(self, number, start, stop):
        place = number % self._rows.rows_per_model // self._rows.lead[1]
        return self._smoothings[place].of_models(self._rows.read(number, start, stop))


def smooth_when_read(signals, smoothings):
    """Return an array in files whose values are smoothed when they are read."""
    return FiledArray(SmoothedRows(signals.rows, smoothings), signals.numbers)


# Share of the targets of a regressor that the normal law of their joint length has as degrees of
# freedom. With all of them, the few models with large errors decide, as in heavy tails.
_SHARE_OF_TARGETS = 0.5

# Number of values of the pool that are read at once, and the least number of records, whose rows
# would be too short to be read fast.
_BLOCK, _FEWEST_RECORDS = 1 << 20, 1 << 13

# Most bytes that the moments of a signal may take. Those of a larger pool are computed block by
# block by each attack, so that the memory does not grow with the pool.
_MOST_BYTES = 1 << 26
_BYTES_PER_RECORD = 48


class PoolMoments:
    """Part of a :class:`ShadowPool` that keeps the moments of its signals."""

    # Needs signals_, membership_ and design_, and what reads signals.

    def moments(
        self,
        signal: str | tuple[str, float] | Signal = "auto",
        read: Callable | None = None,
    ) -> Sides | None:
        """Return the moments of a signal over the IN and over the OUT models of each record.

        All attacks on a pool share them, so that it is read once. They are neither copied nor
        pickled with the pool.

        Parameters
        ----------
        signal : "auto", ("auto", temperature), str or Signal, default="auto"
            A signal that is stored, or that follows from one.
        read : callable, default=None
            Function of the values whose moments are taken instead. It must be hashable and equal to
            others that compute the same.

        Returns
        -------
        sides : Sides or None
            Moments of the columns of the pool, in order. None for a pool of so many records that
            they would take more than 64 MiB.
        """
        signals, membership = self.signals_, self.membership_
        if signals.shape[1] * self.n_records_ * _BYTES_PER_RECORD > _MOST_BYTES:
            return None
        kept = getattr(self, "_kept_moments", None)
        if kept is None or kept[0] is not signals or kept[1] is not membership:
            kept = self._kept_moments = signals, membership, {}
        key = self.locate_signal(signal).signal, read
        if key not in kept[2]:
            kept[2][key] = self._compute_moments(signal, read)
        return kept[2][key]

    def _compute_moments(self, signal, read):
        _, n_queries, n_models, n_records = self.signals_.shape
        size, parts = max(_FEWEST_RECORDS, _BLOCK // (n_queries * n_models)), []
        for some in cut(n_records, size):
            columns = np.arange(some.start, some.stop)
            values, inside = self.values_at(columns, signal), self.inside(columns)
            values = values if read is None else read(values)
            parts.append(compute_sides_of_each(values, inside, self.design_.partners))
        into, out = (
            Moments(*(np.concatenate(part, axis=-1) for part in zip(*moments, strict=True)))
            for moments in zip(*(sides[:2] for sides in parts), strict=True)
        )
        if all(sides.product is None for sides in parts):
            return Sides(into, out, None)
        products = [
            np.full(sides.into.mean.shape, np.nan) if sides.product is None else sides.product
            for sides in parts
        ]
        return Sides(into, out, np.concatenate(products, axis=-1))

    def __getstate__(self):
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_kept_moments"}


class Reading(NamedTuple):
    """Where the values of a signal are found."""

    place: int  # in the first axis of ``signals_``
    derive: Callable | None  # derives them from the values stored there
    signal: Signal


class Law(NamedTuple):
    """Probability of the label as a function of a signal, up to a constant factor."""

    signal: Signal
    scale: float | None  # standard deviation of the residuals of a regressor

    def likelihood(self, values):
        """Return the probability of the label; 0 where it underflows."""
        return self.signal.likelihood(values, self.scale)

    def log_likelihood(self, values):
        """Return the logarithm of the probability, in nats."""
        return self.signal.log_likelihood(values, self.scale)


class StoredSignals:
    """Part of a :class:`ShadowPool` that reads its signals and the victim's signals."""

    # Needs signals_, stored_, membership_, estimators_ and what locates records.

    def _smooth_signals(self, dtype, steps):
        """Make the stored values finite in place, and learn the smoothing for other models."""
        # A victim is smoothed by the pool's resolution, not by the records it is queried for: the
        # score of a record must not depend on the other records.
        self._join_targets()
        self._model_steps, self._smoothings = np.asarray(steps), []
        for signal, raw in zip(self.stored_, self.signals_, strict=True):
            smoothing = signal.fit_smoothing(raw, self.membership_, dtype, self.resolution)
            self._smoothings.append(smoothing)
            n_bad = 0
            for row in rows_of(raw):
                smoothed = smoothing.of_models(row)
                n_bad += np.count_nonzero(~np.isfinite(smoothed))
                row[:] = smoothed  # of signals in files this is a copy of the row
            self._check_smoothed(n_bad, signal)
        if isinstance(self.signals_, FiledArray):
            # The files keep what the models said, as more models would be smoothed otherwise.
            self.signals_ = smooth_when_read(self.signals_, self._smoothings)
        self.scale_ = self._estimate_scale()

    def _join_targets(self):
        """Learn how the residuals of several targets become one signal, and replace them by it."""
        n_parts = len(self.signals_) - len(self.stored_) + 1
        self.joint_residual_ = None
        if n_parts == 1:
            return
        parts, rest = self.signals_[:n_parts], self.signals_[n_parts:]
        self.joint_residual_ = JointResidual.from_residuals(parts[:, 0], self.membership_)
        joined = np.empty(parts.shape[1:], np.float32)
        for number, model in np.ndindex(joined.shape[:2]):
            joined[number, model] = self.joint_residual_(parts[:, number, model])
        self.signals_ = np.concatenate([joined[None], rest])

    def _check_smoothed(self, n_bad, signal):
        if n_bad and self.resolution == 0:
            raise ValueError(
                f"resolution=0 leaves {n_bad} signals of shadow models infinite, because they hold "
                'probabilities of 0 or 1 or residuals of 0; use resolution="auto".'
            )
        if n_bad:
            raise ValueError(
                f"{n_bad} answers of the shadow models are NaN or infinite, by the signal "
                f"{signal.name!r}."
            )

    @property
    def temperatures_(self) -> tuple[float, ...]:
        """Temperatures of the stored log odds; (1.0,) for models that have none."""
        scaled = [signal.temperature for signal in self.stored_ if isinstance(signal, ScaledLogit)]
        return tuple(scaled) if self.signal_ == ScaledLogit.name else (1.0,)

    @property
    def resolution_(self) -> np.ndarray:
        """Step with which each signal was smoothed; 0 where none was needed."""
        return np.array([smoothing.resolution for smoothing in self._smoothings])

    @property
    def keeps(self) -> frozenset:
        """What is, or will be, kept of each shadow model, in the terms of :class:`Needs.keeps`."""
        fitted = hasattr(self, "stored_")
        temperatures = self.temperatures_ if fitted else self.temperatures
        kept = {
            "auto" if temperature == 1 else ("auto", float(temperature))
            for temperature in temperatures
        }
        kept.update(
            self.stored_
            if fitted
            else signals_of(self._expected_kind(), self.signals, self.temperatures)
        )
        if (self.output_kind_ if fitted else self._expected_kind()) == "label":
            kept.add(LABELS)
        models = self.estimators_ is not None if fitted else self.store == "models"
        outputs = self.outputs_ is not None if fitted else self.store == "outputs"
        kept |= {"outputs"} if (models or outputs) and LABELS not in kept else set()
        if models:
            first = self.estimators_[0] if fitted else self.estimator
            kept |= {"models"} | (get_access(first)[0] & {"gradients"})
        return frozenset(kept)

    def _expected_kind(self):
        """Kind of the outputs of models that are yet to be trained."""
        return "label" if self.output_kind == "label" else get_kind(unwrap(self.estimator))

    def _estimate_scale(self):
        """Return the root mean squared residual on OUT records, of one target (regressors)."""
        if self.signal_ != LogResidual.name:
            return None
        total, n_outside = 0.0, 0
        for row, inside in zip(self.signals_[0, 0], self.membership_, strict=True):
            total += np.exp(-2 * row[~inside].astype(np.float64)).sum()
            n_outside += np.count_nonzero(~inside)
        n_targets = 1 if self.joint_residual_ is None else self.joint_residual_.weights.shape[1]
        return float(np.sqrt(total / n_outside / max(1, _SHARE_OF_TARGETS * n_targets)))

    def locate_signal(self, signal: str | tuple[str, float] | Signal = "auto") -> Reading:
        """Where the values of a signal are found.

        Parameters
        ----------
        signal : "auto", ("auto", temperature), str or Signal, default="auto"
            Signal to read, in the terms of :class:`Needs.keeps`.

        Returns
        -------
        reading : tuple
            ``place`` in ``signals_``; ``derive``, the function that computes the values from the
            stored ones, or None; and the ``signal``.

        Raises
        ------
        ValueError
            If the signal is neither stored nor follows from a stored one.
        """
        if isinstance(signal, tuple):
            return self._locate_auto(signal[1])
        wanted = what_to_read(signal)
        if isinstance(wanted, str):
            return self._locate_auto(1.0)
        if wanted in self.stored_:
            return Reading(self.stored_.index(wanted), None, wanted)
        for place, stored in enumerate(self.stored_):
            derive = wanted.derive_from(stored)
            if derive is not None:
                return Reading(place, derive, wanted)
        if isinstance(wanted, ScaledLogit) and self.signal_ == ScaledLogit.name:
            return self._locate_auto(wanted.temperature)
        raise ValueError(self._say_not_stored(wanted))

    def _locate_auto(self, temperature):
        if self.signal_ != ScaledLogit.name:
            return Reading(0, None, self.stored_[0])
        if temperature not in self.temperatures_:
            stored = ", ".join(map(str, self.temperatures_))
            raise ValueError(
                f"The shadow pool stores the temperatures ({stored}), not {temperature}; "
                f"fit it with temperatures including {temperature}."
            )
        place = self.temperatures_.index(temperature)
        return Reading(place, None, self.stored_[place])

    def _say_not_stored(self, wanted):
        kinds = kinds_of(self.signal_)
        if not set(kinds) & set(wanted.reads):
            reads = [kind for kind in wanted.reads if kind != "log_odds"]  # follow from "proba"
            return (
                f"The signal {wanted.name!r} reads {' or '.join(map(repr, reads))}; the "
                f"models of the shadow pool return {' or '.join(map(repr, kinds))}, for which "
                "'auto' is suitable."
            )
        stored = ", ".join(dict.fromkeys(repr(signal.name) for signal in self.stored_))
        return (
            f"The shadow pool stores the signals {stored}, not {wanted.name!r}; "
            f'fit it with signals=("auto", {wanted!r}).'
        )

    def _values_at(self, records, columns, rows, reading):
        """Return values of some rows of records, computed by the kept models if necessary."""
        columns = columns[rows]
        values = take_columns(self.signals_[reading.place], columns)
        unknown = np.flatnonzero(columns < 0)
        if len(unknown):
            values[:, :, unknown] = self._ask_models(records[rows][unknown], reading.place)
        return values if reading.derive is None else reading.derive(values)

    def _ask_models(self, records, place):
        """Compute values of the kept models, of shape (n_queries, n_estimators, n)."""
        models = list(zip(self.estimators_, self._model_steps, strict=True))
        return np.array(
            [
                [self._evaluate(place, model, query, step, self._ask) for model, step in models]
                for query in augmented(records, self.augment)
            ]
        )

    def _get_stored(self, records):
        """The records with the outputs that a victim gave for them and for each augmentation."""
        names = ["outputs", *(f"outputs_{q}" for q in range(1, self.signals_.shape[1]))]
        missing = [name for name in names[1:] if name not in records.fields]
        if missing:
            raise ValueError(
                f"The shadow pool has {len(names) - 1} augmentations, for which the outputs of the "
                f"victim must be known too: as fields of the records ({', '.join(missing)} "
                "missing), or pass the victim instead of stored outputs."
            )
        if len(names) == 1:
            return [records]
        return [records.with_fields(outputs=records[name]) for name in names]

    def _augment(self, records):
        queries = augmented(records, self.augment)
        if len(queries) != self.signals_.shape[1]:
            raise ValueError(
                f"The shadow pool has signals of {self.signals_.shape[1]} queries for each record, "
                f"and the victim can be asked {len(queries)}; pass augment= to from_outputs, or "
                "store the outputs of the victim with the records."
            )
        return queries

    def _ask(self, model, records):
        return query_aligned(
            model, records.X, records.y if self.classes_ is None else self.classes_
        )

    def _reduce(self, outputs):
        """The outputs of a victim or model, as much of them as is compared."""
        if self.output_kind_ == "label" and outputs.classes is not None:
            return outputs.as_labels()
        return outputs

    def _evaluate(self, place, model, records, step, ask):
        """Compute smoothed values of a stored signal, of shape (n,)."""
        signal = self.stored_[place]
        if isinstance(signal, AnswerSignal):
            outputs = self._reduce(ask(model, records))
            self._check_kind(outputs.kind, signal)
            raw = np.empty(len(records), dtype=np.float32)
            for rows in gen_batches(len(records), CHUNK):
                raw[rows] = self._join(signal.raw_parts(outputs[rows], records.y[rows], step))
        else:
            raw = signal.of(model, records)
        return self._smoothings[place](raw.astype(np.float32, copy=False))

    def _join(self, parts):
        """Make one number per record of the parts of a signal."""
        if len(parts) == 1:
            return parts[0]
        joint = self.joint_residual_
        n_targets = 1 if joint is None else joint.weights.shape[1]
        if len(parts) != n_targets:
            raise ValueError(
                f"The victim answers with {len(parts)} numbers for each record, and the shadow "
                f"models with {n_targets}."
            )
        return joint(parts)

    def _check_kind(self, kind, signal):
        if signal == Correctness() and kind not in ("value", "values"):
            return  # a bit is the same of all kinds
        # Outputs of another kind are on another scale, even if the signal could read them.
        kinds = kinds_of(self.signal_)
        if kind not in kinds:
            advice = ' Or fit the pool with output_kind="label".' if kind == "label" else ""
            raise ValueError(
                f"The victim answers {kind!r}; to be compared with the signal {self.signal_!r} of "
                f"the shadow models it must return {' or '.join(map(repr, kinds))}.{advice}"
            )

    def values(
        self, records: Records, signal: str | tuple[str, float] | Signal = "auto"
    ) -> np.ndarray:
        """Return the signal of each model on each record and its augmentations.

        Parameters
        ----------
        records : Records of n records
            Records of the pool; others need ``store="models"``.
        signal : "auto", ("auto", temperature), str or Signal, default="auto"
            A signal that is stored, or that follows from one.

        Returns
        -------
        values : ndarray of shape (n_queries, n_estimators, n)
            Stored values, dtype float32, with infinite values smoothed.

        Raises
        ------
        ValueError
            If a record is not in the pool and the models were not kept, or the signal is not.
        """
        check_records(records, targets=True)
        reading = self.locate_signal(signal)
        return self._values_at(records, self.locate_usable(records), slice(None), reading)

    def values_at(
        self, columns: np.ndarray, signal: str | tuple[str, float] | Signal = "auto"
    ) -> np.ndarray:
        """Return the signal of each model at columns of the pool.

        Parameters
        ----------
        columns : ndarray of shape (n,)
            Columns, as returned by :meth:`locate`, none of them -1.
        signal : "auto", ("auto", temperature), str or Signal, default="auto"
            As for :meth:`values`.

        Returns
        -------
        values : ndarray of shape (n_queries, n_estimators, n)
        """
        reading = self.locate_signal(signal)
        values = take_columns(self.signals_[reading.place], columns)
        return values if reading.derive is None else reading.derive(values)

    def victim_values(
        self,
        victim: BaseEstimator | None,
        records: Records,
        signal: str | tuple[str, float] | Signal = "auto",
    ) -> np.ndarray:
        """Return the signal of the victim, computed and smoothed like the shadow models.

        Parameters
        ----------
        victim : fitted estimator or None
            If None, the predictions stored with the records are used.
        records : Records of n records
            Labeled records.
        signal : "auto", ("auto", temperature), str or Signal, default="auto"
            As for :meth:`values`.

        Returns
        -------
        values : ndarray of shape (n_queries, n)
        """
        reading = self.locate_signal(signal)
        positive = self._model_steps[self._model_steps > 0]
        step = np.median(positive) if len(positive) else 0.0
        queries = self._get_stored(records) if victim is None else self._augment(records)
        rows = [self._evaluate(reading.place, victim, number, step, query) for number in queries]
        values = check_finite(np.array(rows).T).T
        return values if reading.derive is None else reading.derive(values)

    def get_law(self, signal: str | tuple[str, float] | Signal = "auto") -> Law:
        """Return the probability of the label as a function of a signal.

        Parameters
        ----------
        signal : "auto", ("auto", temperature), str or Signal, default="auto"
            A signal that has a likelihood.

        Returns
        -------
        law : Law
            With methods ``likelihood`` and ``log_likelihood``.

        Raises
        ------
        ValueError
            If the signal is not stored, or has no likelihood.
        """
        found = self.locate_signal(signal).signal
        if not getattr(found, "has_likelihood", False):
            cure = 'take signal="auto" or "loss"'
            if self.output_kind_ == "label":
                cure = "LiRA and CalibratedAttack compare labels"
            raise ValueError(
                f"The signal {found.name!r} says nothing of the probability of the label, which "
                f"the attack compares; {cure}."
            )
        return Law(found, self.scale_)

    def transform(self, X: Records) -> np.ndarray:
        """Return the first stored signal of each shadow model on each record.

        Parameters
        ----------
        X : Records of n records
            Records of the pool; others need ``store="models"``.

        Returns
        -------
        values : ndarray of shape (n, n_estimators)
            Higher means more like a member.

        Raises
        ------
        ValueError
            If a record is not in the pool and the models were not kept.
        """
        check_is_fitted(self)
        check_records(X, targets=True)
        return self.values(X, self.stored_[0])[0].T.copy()
