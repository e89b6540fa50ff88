"""What the models of a pool answered, which records are in it, and who was trained on what."""

import warnings
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.stats import rankdata
from sklearn.base import BaseEstimator
from sklearn.utils import gen_batches

from .._core.callers import level_of_user
from .._core.filed_array import FiledArray
from .._core.moments import (
    Moments,
    SideMoments,
    compute_sides_of_each,
    count_models,
    cut,
    power_of_two_near,
)
from .._core.needs import LABELS
from .._core.numbers import SMALLEST, are_consecutive, check_count
from .._core.query import CHUNK, query, query_aligned
from .._core.records import Records, order_by_names
from .._core.validation import check_records, refuse_nan
from ..signals import (
    AnswerSignal,
    Correctness,
    JointResidual,
    LogResidual,
    ScaledLogit,
    Signal,
    kinds_of,
    log_of_residual,
    what_to_read,
)
from ..victims import get_access
from ._job import SubsetDesign, augmented
from ._record_columns import RecordColumns, take_columns

# Number of values of the pool that are read at once, and the least number of records, whose rows
# would be too short to be read fast.
_BLOCK, _FEWEST_RECORDS = 1 << 20, 1 << 13

# Most bytes that the moments of a signal may take. Those of a larger pool are computed block by
# block by each attack, so that the memory does not grow with the pool.
_MOST_BYTES = 1 << 26
_BYTES_PER_RECORD = 48

# Number of records whose values settle the unit of a signal.
_MOST_FOR_UNIT = 1 << 12


class SignalReading(NamedTuple):
    """Where the values of a signal are found."""

    place: int  # in the first axis of ``signals_``
    derive: Callable | None  # derives them from the values stored there
    signal: Signal


@dataclass(frozen=True)
class InUnit:
    """A signal divided by a power of two, for what must not depend on the unit of targets."""

    signal: str | tuple[str, float] | Signal
    unit: float

    def follow(self, reading):
        """Return where the values are found, given where those of the signal are."""

        def derive(values):
            return (values if reading.derive is None else reading.derive(values)) / self.unit

        return SignalReading(reading.place, derive, self)


class LabelLaw(NamedTuple):
    """Probability of the label as a function of a signal, up to a constant factor."""

    signal: Signal
    scale: float | None  # standard deviation of residuals, or what makes log odds of margins

    def likelihood(self, values):
        """Return the probability of the label; 0 where it underflows."""
        return self.signal.likelihood(values, self.scale)

    def log_likelihood(self, values):
        """Return the logarithm of the probability, in nats."""
        return self.signal.log_likelihood(values, self.scale)


def name_kept(signals, temperatures, kind, has_outputs, model):
    """Name what a pool keeps of each model, in the terms of :class:`Needs.keeps`."""
    further = [signal.temperature for signal in signals if isinstance(signal, ScaledLogit)]
    temperatures = {*temperatures, *further}
    kept = {
        "auto" if temperature == 1 else ("auto", float(temperature)) for temperature in temperatures
    }
    kept.update(signals)
    if kind == "label":
        kept.add(LABELS)
    elif has_outputs:
        kept.add("outputs")
    if model is not None:
        kept |= {"models"} | (get_access(model)[0] & {"gradients"})
    return frozenset(kept)


# Numbers of records on which the victim is compared with each shadow model, number of different
# signals from which on equal ones are no chance, and how far equal ones may be apart by rounding.
_FEWEST_COMPARED, _MOST_COMPARED, _FEWEST_VALUES, _ROUNDED = 20, 100, 5, 1e-5

UNLIKE_POOL = "The signals of the victim do not go with those of the shadow models"

# From record to record, signals of a victim go with those of models like it. In standard errors of
# a correlation: up to which it may be none, and from which on it surely is one.
_NONE, _SURE = 4.0, 8.0
_FEWEST_MODELS, _MOST_MODELS, _MOST_CORRELATED = 4, 16, 1000


def _tells_little(own):
    """Return whether a victim's signals are too few, or too often equal, to compare models by."""
    return len(own) < _FEWEST_COMPARED or len(np.unique(own)) < _FEWEST_VALUES


def _correlate(own, models, partners):
    """Return rank correlations with the mean rank of other models: of a victim, median of theirs.

    Other models of a model are those it was not drawn in a pair with, whose members are not its.
    Shapes: own (n,), models (n_estimators, n), partners (n_estimators,).
    """
    ranks = rankdata(np.vstack([own, models]), axis=1)
    ranks -= ranks.mean(axis=1, keepdims=True)
    ranks /= np.maximum(np.linalg.norm(ranks, axis=1, keepdims=True), SMALLEST)
    own, models = ranks[0], ranks[1:]
    others = models.sum(axis=0) - models - models[partners] * (partners >= 0)[:, None]
    others = np.vstack([models.sum(axis=0), others])
    others /= np.maximum(np.linalg.norm(others, axis=1, keepdims=True), SMALLEST)
    return own @ others[0], np.median((models * others[1:]).sum(axis=1))


@dataclass(frozen=True, eq=False)
class PoolAnswers:
    """What the models of a fitted pool answered on its records: the value that attacks read.

    :meth:`ShadowPool.to_answers` returns it. The methods are also methods of the pool.

    Attributes
    ----------
    signals : ndarray of shape (n_signals, n_queries, n_estimators, n), dtype float32
        Values of the stored signals; infinite values are smoothed.
    membership : ndarray of shape (n_estimators, n), dtype bool
        Which records each model was trained on.
    outputs : ndarray of shape (n_estimators, n, n_classes), dtype float32, or None
        Class probabilities (or logits), if they were kept.
    estimators : list of estimators or None
        The models, if they were kept.
    classes : ndarray or None
        Task labels.
    stored : list of Signal
        Stored signals, in the order of the first axis of ``signals``.
    signal : str
        Name of the signal that ``"auto"`` stands for.
    kind : str
        Kind of the outputs of the models.
    design : tuple
        How training sets depend on each other.
    columns : RecordColumns
        Which record is which column.
    smoothings : list
        How the infinite values of each signal were smoothed.
    steps : ndarray of shape (n_estimators,)
        Step with which the values of each model were smoothed.
    joint_residual : JointResidual or None
        How the residuals of several targets are joined to one signal; None for one task label.
    scale : float or None
        Standard deviation of the residuals of a regressor. For a classifier without probabilities,
        what its margins are divided by to make them log odds, learned from OUT records.
    estimator : estimator or None
        How the models were trained, if it is known.
    augment : callable or None
        Augmentation of the records that are asked.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skmia import ShadowPool
    >>> from skmia.datasets import make_membership_problem
    >>> records, membership = make_membership_problem(random_state=0)
    >>> pool = ShadowPool(DecisionTreeClassifier(), n_estimators=4, random_state=0).fit(records)
    >>> answers = pool.to_answers()
    >>> answers.values(records[:10]).shape
    (1, 4, 10)
    """

    signals: np.ndarray | FiledArray
    membership: np.ndarray | FiledArray
    outputs: np.ndarray | FiledArray | None
    estimators: list | None
    classes: np.ndarray | None
    stored: list
    signal: str
    kind: str
    design: SubsetDesign
    columns: RecordColumns
    smoothings: list
    steps: np.ndarray
    joint_residual: JointResidual | None = None
    scale: float | None = None
    estimator: BaseEstimator | None = None
    augment: Callable[..., Any] | None = None
    # By signal and function of its values. They are neither copied nor pickled.
    _moments: dict = field(default_factory=dict, init=False, repr=False)

    def __getstate__(self):
        return vars(self) | {"_moments": {}}

    def __deepcopy__(self, memo):
        copied = object.__new__(type(self))
        vars(copied).update(deepcopy(self.__getstate__(), memo))
        return copied

    def first(self, n_estimators: int) -> Self:
        """Return the answers of the first models only.

        Parameters
        ----------
        n_estimators : int
            Number of models, at most the size of the pool.

        Returns
        -------
        answers : PoolAnswers
            They share the arrays of these.
        """
        n_estimators = check_count(n_estimators, "n_estimators", high=len(self.membership))
        some = {
            name: None if getattr(self, name) is None else getattr(self, name)[:n_estimators]
            for name in ("membership", "outputs", "estimators", "steps")
        }
        signals, design = self.signals[:, :, :n_estimators], self.design.first(n_estimators)
        return replace(self, signals=signals, design=design, **some)

    def with_relatives(self, relatives: Records, records: Records) -> Self:
        """Return answers in which changed records have the training sets of their originals.

        Parameters
        ----------
        relatives : Records of n records
            Changed records, such as points around the records of the pool.
        records : Records of n records
            The original of each.

        Returns
        -------
        answers : PoolAnswers
            They share the arrays of these. In :meth:`blocks` and :meth:`count_inside`, a model
            counts as trained on a relative that is not itself in the pool if it was trained on the
            original.
        """
        relatives = order_by_names(relatives, self.columns.names)
        prints, first = np.unique(relatives.fingerprint, return_index=True)
        homes = self.locate(records)[first]
        return replace(self, columns=replace(self.columns, relatives=(prints, homes)))

    def part(self, columns: np.ndarray) -> Self:
        """Return the answers on some records, for attacks that were fitted to the whole.

        Parameters
        ----------
        columns : ndarray of shape (n,)
            Columns, as returned by :meth:`locate`, none of them -1.

        Returns
        -------
        answers : PoolAnswers
            Where the records are neighbors, they share the arrays of these, and signals in files
            stay there.
        """
        taken, is_together = {}, are_consecutive(columns)
        for name in ("signals", "membership"):
            values = getattr(self, name)
            if is_together and isinstance(values, FiledArray):
                taken[name] = values.span(columns[0], columns[0] + len(columns))
            else:
                taken[name] = take_columns(values, columns)
        # Attacks that read outputs take the whole pool.
        return replace(self, outputs=None, columns=self.columns.part(columns), **taken)

    def without(self, what: Any, records: Records) -> "Self | None":
        """Return the answers without something that is kept; None if nothing would be left."""
        if what in ("gradients", LABELS):
            return None  # the models have them
        if what == "models":
            outputs = self.outputs
            if "outputs" in self.keeps and self.classes is not None and outputs is None:
                answers = self.answers(records)
                outputs = np.empty(answers.shape, np.float32)
                outputs[:, self.locate(records)] = answers
            return replace(self, outputs=outputs, estimators=None)
        if what == "outputs":
            return replace(self, outputs=None, estimators=None)
        gone, n_stored = self.locate_signal(what).place, len(self.stored)
        if n_stored == 1:
            return None
        rest = [place for place in range(n_stored) if place != gone]
        return replace(
            self,
            stored=[self.stored[place] for place in rest],
            smoothings=[self.smoothings[place] for place in rest],
            signals=self.signals[rest],
        )

    def locate(self, records: Records) -> np.ndarray:
        """Return the column of each record in the pool.

        Parameters
        ----------
        records : Records of n records
            Any records.

        Returns
        -------
        column : ndarray of shape (n,)
            Columns; -1 for a record that is not in the pool.
        """
        return self.columns.locate(records)

    def _known_columns(self, records):
        columns = self.locate(records)
        unknown = np.flatnonzero(columns < 0)
        if len(unknown):
            raise ValueError(
                f"{len(unknown)} of {len(records)} records are not in the shadow pool, first at "
                f"position {unknown[0]}; {self.how_to_know(records)}"
            )
        return columns

    def how_to_know(self, records: Records) -> str:
        """Say how a pool that does not hold some records could.

        Parameters
        ----------
        records : Records of n records
            Records, some of which are not in the pool.

        Returns
        -------
        advice : str
            What to do, in one sentence, and what else is possible.
        """
        return self.columns.how_to_know(records)

    def locate_usable(self, records: Records) -> np.ndarray:
        """Return the column of each record whose signals the pool stores or can compute.

        Parameters
        ----------
        records : Records of n records
            Records of the pool; others need ``store="models"``.

        Returns
        -------
        column : ndarray of shape (n,)
            Columns; -1 for a record on which the stored models have to be queried.

        Raises
        ------
        ValueError
            If a record is not in the pool and the models were not kept.
        """
        return self._known_columns(records) if self.estimators is None else self.locate(records)

    @cached_property
    def n_inside(self) -> np.ndarray:
        """Number of models that were trained on each record of the pool."""
        n_models, n_records = self.membership.shape
        found = np.empty(n_records, np.int16 if n_models < 1 << 15 else np.int32)
        for rows in cut(n_records):
            found[rows] = count_models(self.membership[:, rows])
        return found

    def count_inside(self, records: Records) -> np.ndarray:
        """Return the number of models that were trained on each record.

        Parameters
        ----------
        records : Records of n records
            Records of the pool; others need ``store="models"``.

        Returns
        -------
        n_inside : ndarray of shape (n,)
        """
        columns = self.columns.find_homes(records, self.locate_usable(records))
        counts = self.n_inside
        found = np.empty(len(columns), counts.dtype)
        for rows in cut(len(columns)):
            found[rows] = np.where(columns[rows] >= 0, counts[columns[rows]], 0)
        return found

    def inside(self, columns: np.ndarray) -> np.ndarray:
        """Return which models were trained on the records of some columns.

        Parameters
        ----------
        columns : ndarray of shape (n,)
            Columns, as returned by :meth:`locate`.

        Returns
        -------
        inside : ndarray of shape (n_estimators, n), dtype bool
            False for column -1.
        """
        inside = take_columns(self.membership, columns)
        return inside if (columns >= 0).all() else inside & (columns >= 0)

    def draw_columns(self, n_records: int, usable: np.ndarray) -> np.ndarray:
        """Draw columns of the pool by the content of their records, each record once.

        The draw depends neither on the order of the records nor on a seed.

        Parameters
        ----------
        n_records : int
            Maximum number of columns.
        usable : ndarray of shape (n,), dtype bool
            Columns to draw from.

        Returns
        -------
        columns : ndarray of shape (n_drawn,)
            Columns in increasing order.
        """
        return self.columns.draw(n_records, usable)

    def blocks(
        self, records: Records, size: int, signal: str | tuple[str, float] | Signal = "auto"
    ) -> Iterator[tuple[slice | np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
        """Yield signals and training sets block by block, in the order of the pool's columns.

        A memory-mapped array of signals may be larger than the memory.

        Parameters
        ----------
        records : Records of n records
            Records of the pool; others need ``store="models"``.
        size : int
            Maximum number of records in a block.
        signal : "auto", ("auto", temperature), str or Signal, default="auto"
            Signal that is stored, or that follows from a stored one.

        Yields
        ------
        rows : slice or ndarray of shape (n_rows,)
            Which of the records.
        values : ndarray of shape (n_queries, n_estimators, n_rows)
            As :meth:`values` gives them.
        inside : ndarray of shape (n_estimators, n_rows), dtype bool
            As :meth:`inside` gives it.
        n_inside : ndarray of shape (n_rows,)
            Number of models that were trained on each record.
        """
        reading = self.locate_signal(signal)
        columns = self.locate_usable(records)
        homes = self.columns.find_homes(records, columns)
        in_order = (columns[1:] >= columns[:-1]).all()
        order = None if in_order else np.argsort(columns, kind="stable")
        for rows in gen_batches(len(records), size):
            rows = rows if order is None else order[rows]
            inside = self.inside(homes[rows])
            values = self._values_at(records, columns, rows, reading)
            yield rows, values, inside, count_models(inside)

    def answers(self, records: Records) -> np.ndarray:
        """Return class probabilities (or logits, or decision values) of each model on each record.

        Parameters
        ----------
        records : Records of n records
            Records of the pool; others need ``store="models"``.

        Returns
        -------
        answers : ndarray of shape (n_estimators, n, n_classes)

        Raises
        ------
        ValueError
            If neither the answers nor the models were kept, or the models are regressors.
        """
        if self.classes is None:
            raise ValueError(
                "The shadow models are regressors, which have no class probabilities; LiRA, RMIA "
                "and CalibratedAttack compare their predictions."
            )
        if self.kind == "label":
            raise ValueError(
                "The shadow models return labels, and no class probabilities; LiRA and "
                "CalibratedAttack compare labels."
            )
        if self.outputs is not None:
            return self.outputs[:, self._known_columns(records)]
        if self.estimators is None:
            raise ValueError(
                "The shadow pool kept only one number per model and record; class probabilities "
                'need store="outputs" or store="models".'
            )
        return np.array(
            [query_aligned(model, records.X, self.classes).values for model in self.estimators]
        )

    def moments(
        self,
        signal: str | tuple[str, float] | Signal = "auto",
        read: Callable | None = None,
    ) -> SideMoments | None:
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
        sides : SideMoments or None
            Moments of the columns of the pool, in order. None for a pool of so many records that
            they would take more than 64 MiB.
        """
        _, n_queries, _, n_records = self.signals.shape
        if n_queries * n_records * _BYTES_PER_RECORD > _MOST_BYTES:
            return None
        key = self.locate_signal(signal).signal, read
        if key not in self._moments:
            self._moments[key] = self._compute_moments(signal, read)
        return self._moments[key]

    def _compute_moments(self, signal, read):
        _, n_queries, n_models, n_records = self.signals.shape
        size, parts = max(_FEWEST_RECORDS, _BLOCK // (n_queries * n_models)), []
        for some in cut(n_records, size):
            columns = np.arange(some.start, some.stop)
            values, inside = self.values_at(columns, signal), self.inside(columns)
            values = values if read is None else read(values)
            parts.append(compute_sides_of_each(values, inside, self.design.partners))
        into, out = (
            Moments(*(np.concatenate(part, axis=-1) for part in zip(*moments, strict=True)))
            for moments in zip(*(sides[:2] for sides in parts), strict=True)
        )
        if all(sides.product is None for sides in parts):
            return SideMoments(into, out, None)
        products = [
            np.full(sides.into.mean.shape, np.nan) if sides.product is None else sides.product
            for sides in parts
        ]
        return SideMoments(into, out, np.concatenate(products, axis=-1))

    @property
    def n_records(self) -> int:
        """Number of records of the pool."""
        return self.columns.digests.shape[1]

    @property
    def temperatures(self) -> tuple[float, ...]:
        """Temperatures of the stored log odds; (1.0,) for models that have none."""
        scaled = [signal.temperature for signal in self.stored if isinstance(signal, ScaledLogit)]
        return tuple(scaled) if self.signal == ScaledLogit.name else (1.0,)

    @property
    def resolution(self) -> np.ndarray:
        """Step with which each signal was smoothed; 0 where none was needed."""
        return np.array([smoothing.resolution for smoothing in self.smoothings])

    @property
    def keeps(self) -> frozenset:
        """What is kept of each shadow model, in the terms of :class:`Needs.keeps`."""
        first = None if self.estimators is None else self.estimators[0]
        has_outputs = first is not None or self.outputs is not None
        return name_kept(self.stored, self.temperatures, self.kind, has_outputs, first)

    def locate_signal(self, signal: str | tuple[str, float] | Signal = "auto") -> SignalReading:
        """Return where the values of a signal are found.

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
        if isinstance(signal, InUnit):
            return signal.follow(self.locate_signal(signal.signal))
        if isinstance(signal, tuple):
            return self._locate_auto(signal[1])
        wanted = what_to_read(signal)
        if isinstance(wanted, str):
            return self._locate_auto(1.0)
        if wanted in self.stored:
            return SignalReading(self.stored.index(wanted), None, wanted)
        for place, stored in enumerate(self.stored):
            derive = wanted.derive_from(stored)
            if derive is not None:
                return SignalReading(place, derive, wanted)
        if isinstance(wanted, ScaledLogit) and self.signal == ScaledLogit.name:
            return self._locate_auto(wanted.temperature)
        raise ValueError(self._say_not_stored(wanted))

    def choose_unit(self, signal: str | tuple[str, float] | Signal) -> float:
        """Return the unit of a signal, a power of two, if it has that of the targets; 1 if not.

        Parameters
        ----------
        signal : "auto", ("auto", temperature), str or Signal
            A signal that is stored, or that follows from one.

        Returns
        -------
        unit : float
            The power of two next to the mean size of the values.
        """
        found = self.locate_signal(signal).signal
        if self.kind not in ("value", "values") or not found.has_unit_of_target:
            return 1.0
        step = -(-self.n_records // _MOST_FOR_UNIT)
        return power_of_two_near(self.values_at(np.arange(0, self.n_records, step), signal))

    def in_unit(
        self, signal: str | tuple[str, float] | Signal
    ) -> str | tuple[str, float] | Signal | InUnit:
        """Return what to read of a signal so that its values have no unit."""
        unit = self.choose_unit(signal)
        return signal if unit == 1 else InUnit(signal, unit)

    def _locate_auto(self, temperature):
        """Return the reading of "auto": what is stored first.

        ``signals_of`` in ``_job.py`` puts it before further signals, and ``_compare_predictions``
        in ``_stored.py`` oriented predictions before it.
        """
        if self.signal != ScaledLogit.name:
            return SignalReading(0, None, self.stored[0])
        if temperature not in self.temperatures:
            stored = ", ".join(map(str, self.temperatures))
            raise ValueError(
                f"The shadow pool stores the temperatures ({stored}), not {temperature}; "
                f"fit it with temperatures including {temperature}."
            )
        place = self.stored.index(ScaledLogit(temperature))
        return SignalReading(place, None, self.stored[place])

    def _say_not_stored(self, wanted):
        kinds = kinds_of(self.signal)
        if not set(kinds) & set(wanted.reads):
            reads = [kind for kind in wanted.reads if kind != "log_odds"]  # follow from "proba"
            return (
                f"The signal {wanted.name!r} reads {' or '.join(map(repr, reads))}; the "
                f"models of the shadow pool return {' or '.join(map(repr, kinds))}, for which "
                "'auto' is suitable."
            )
        stored = ", ".join(dict.fromkeys(repr(signal.name) for signal in self.stored))
        return (
            f"The shadow pool stores the signals {stored}, not {wanted.name!r}; "
            f'fit it with signals=("auto", {wanted!r}).'
        )

    def _values_at(self, records, columns, rows, reading):
        """Return values of some rows of records, computed by the kept models if necessary."""
        columns = columns[rows]
        values = take_columns(self.signals[reading.place], columns)
        unknown = np.flatnonzero(columns < 0)
        if len(unknown):
            values[:, :, unknown] = self._ask_models(records[rows][unknown], reading.place)
        return values if reading.derive is None else reading.derive(values)

    def _ask_models(self, records, place):
        """Compute values of the kept models, of shape (n_queries, n_estimators, n)."""
        models = list(zip(self.estimators, self.steps, strict=True))
        return np.array(
            [
                [self._evaluate(place, model, query, step, self._ask) for model, step in models]
                for query in augmented(records, self.augment)
            ]
        )

    def _get_stored(self, records):
        """Return records with the outputs that a victim gave for them and for each augmentation."""
        names = ["outputs", *(f"outputs_{q}" for q in range(1, self.signals.shape[1]))]
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
        if len(queries) != self.signals.shape[1]:
            raise ValueError(
                f"The shadow pool has signals of {self.signals.shape[1]} queries for each record, "
                f"and the victim can be asked {len(queries)}; pass augment= to from_outputs, or "
                "store the outputs of the victim with the records."
            )
        return queries

    def _ask(self, model, records):
        # New records can be of a class that the records of the pool lack, but the victim knows.
        known = records.y if self.classes is None else np.union1d(self.classes, records.y)
        return query_aligned(model, records.X, known)

    def _reduce(self, outputs):
        """Return the outputs of a victim or model, as much of them as is compared."""
        if self.kind == "label" and outputs.classes is not None:
            return outputs.as_labels()
        return outputs

    def _evaluate(self, place, model, records, step, ask):
        """Compute smoothed values of a stored signal, of shape (n,)."""
        signal = self.stored[place]
        if isinstance(signal, AnswerSignal):
            outputs = self._reduce(ask(model, records))
            self._check_kind(outputs.kind, signal)
            raw = np.empty(len(records), dtype=np.float32)
            for rows in gen_batches(len(records), CHUNK):
                parts = signal.raw_parts(outputs[rows], records.y[rows], step)
                raw[rows] = self._join(signal, parts)
        else:
            raw = signal.of(model, records)
        return self.smoothings[place](raw.astype(np.float32, copy=False))

    def _join(self, signal, parts):
        """Make one number per record of the parts of a signal."""
        if len(parts) == 1:
            return log_of_residual(parts[0]) if signal == LogResidual() else parts[0]
        joint = self.joint_residual
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
        kinds = kinds_of(self.signal)
        if kind not in kinds:
            advice = ' Or fit the pool with output_kind="label".' if kind == "label" else ""
            raise ValueError(
                f"The victim answers {kind!r}; to be compared with the signal {self.signal!r} of "
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
        values = take_columns(self.signals[reading.place], columns)
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
        positive = self.steps[self.steps > 0]
        step = np.median(positive) if len(positive) else 0.0
        queries = self._get_stored(records) if victim is None else self._augment(records)
        rows = [self._evaluate(reading.place, victim, number, step, query) for number in queries]
        values = refuse_nan(np.array(rows).T).T
        return values if reading.derive is None else reading.derive(values)

    def _take_some(self, values, records):
        """Return signals of a victim on some records of the pool, and their columns."""
        some = slice(_MOST_CORRELATED)  # neighbors are found without a search
        columns = self.columns.locate(records[some])
        return values[0, some][columns >= 0], columns[columns >= 0]

    def find_victim(self, values: np.ndarray, records: Records, signal: Any = "auto") -> int | None:
        """Return which shadow model answers exactly as a victim.

        Parameters
        ----------
        values : ndarray of shape (n_queries, n)
            Signal of the victim, as of :meth:`victim_values`.
        records : Records of n records
            Labeled records.
        signal : "auto", ("auto", temperature), str or Signal, default="auto"
            The signal that was read.

        Returns
        -------
        number : int or None
            Position of the shadow model; None if no model does, or if several do.
        """
        own, columns = self._take_some(values, records)
        few = slice(None, None, max(1, len(own) // _MOST_COMPARED))
        own, columns = own[few], columns[few]
        if _tells_little(own):
            return None
        models = self.values_at(columns, signal)[0]
        equal = np.isclose(models, own, rtol=_ROUNDED, atol=_ROUNDED).all(axis=1)
        return int(equal.argmax()) if equal.sum() == 1 else None  # else models hardly differ

    def warn_of_victim(self, values: np.ndarray, records: Records, signal: Any) -> None:
        """Warn if a victim is one of the shadow models, or if its signals do not go with theirs.

        Parameters
        ----------
        values : ndarray of shape (n_queries, n)
            Signal of the victim, as of :meth:`victim_values`.
        records : Records of n records
            Labeled records.
        signal : "auto", ("auto", temperature), str or Signal
            The signal that was read.
        """
        own, columns = self._take_some(values, records)
        if _tells_little(own):
            return
        k = self.find_victim(values, records, signal)
        if k is not None:
            warnings.warn(
                f"The victim answers exactly as shadow model {k} of the pool. If it is this model, "
                "it is compared with itself, and members are found even if nothing leaks: "
                f"leave_one_model_out(attack, records, models=[{k}]) attacks it with the other "
                "models. A pool with the seed of another pool has the same models.",
                UserWarning,
                stacklevel=level_of_user(),
            )
        n_models = len(self.membership)
        if n_models < _FEWEST_MODELS:
            return
        first = self.first(min(n_models, _MOST_MODELS))
        models = first.values_at(columns, signal)[0]
        agreement, usual = _correlate(own, models, first.design.partners)
        error = 1 / np.sqrt(len(own))
        if agreement < _NONE * error and usual > _SURE * error:
            warnings.warn(
                f"{UNLIKE_POOL} (rank correlation {agreement:.2f}; between shadow models about "
                f"{usual:.2f}). Give its answers in the order of the records, and of the kind that "
                "the pool has; else attacks find less than there is.",
                UserWarning,
                stacklevel=level_of_user(),
            )

    def get_law(self, signal: str | tuple[str, float] | Signal = "auto") -> LabelLaw:
        """Return the probability of the label as a function of a signal.

        Parameters
        ----------
        signal : "auto", ("auto", temperature), str or Signal, default="auto"
            A signal that has a likelihood.

        Returns
        -------
        law : LabelLaw
            With methods ``likelihood`` and ``log_likelihood``.

        Raises
        ------
        ValueError
            If the signal is not stored, or has no likelihood.
        """
        found = self.locate_signal(signal).signal
        if not getattr(found, "has_likelihood", False):
            cure = 'take signal="auto" or "loss"'
            if self.kind == "label":
                cure = "LiRA and CalibratedAttack compare labels"
            raise ValueError(
                f"The signal {found.name!r} says nothing of the probability of the label, which "
                f"the attack compares; {cure}."
            )
        return LabelLaw(found, self.scale)
