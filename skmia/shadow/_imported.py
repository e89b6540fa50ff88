"""Pools of models that were trained elsewhere, from the models, their outputs or their scores."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator

from .._core.asking import check_victim, warn_of_given
from .._core.groups import check_columns, sorted_values
from .._core.numbers import check_number, show, to_array
from .._core.outputs import NUMBERS, Outputs
from .._core.progress import show_progress
from .._core.records import Records
from .._core.sklearn import validate_parameter_constraints
from .._core.splits import join_copies
from .._core.types import ArrayLike
from .._core.validation import check_records
from .._training.job import Data, Job, Kept, Trained, keep, warn_once
from ..signals import AnswerSignal, Signal
from ._job import (
    check_outputs_store,
    check_temperatures,
    further_signals,
    infer_design,
    make_keeper,
)
from ._lookup import augmented

_SINGLE = ("log_odds", "value", "label")  # kinds of outputs with one number for each record
_KINDS = ("logits", "proba", "decision", *_SINGLE, "values")

_MUST = "be an array with one row for each model"


def check_scores(scores, membership, n_records, resolution):
    """Check the arguments of ``ShadowPool.from_scores``."""
    # scores, membership (n_estimators, n_records) -> scores, membership (n_estimators, n_records)
    if not isinstance(resolution, str) or resolution != "auto":
        check_number(resolution, "resolution", '"auto" or a finite number of at least 0', 0)
    scores = to_array(scores, "scores", _MUST)
    membership = to_array(membership, "membership", _MUST)
    if scores.ndim != 2 or scores.shape[1] != n_records or membership.shape != scores.shape:
        raise ValueError(
            f"scores and membership need the shape (n_estimators, {n_records}); "
            f"got {scores.shape} and {membership.shape}."
        )
    if scores.dtype.kind not in "biuf":
        raise ValueError(f"scores must hold numbers; got an array of {scores.dtype}.")
    if np.isnan(scores).any():
        raise ValueError(
            f"scores holds {np.isnan(scores).sum()} NaN; every model must score every record."
        )
    return scores, membership


def check_training_sets(membership, n_records, n_models=None):
    """Check training sets of models."""
    # membership (n_models, n_records) -> membership (n_models, n_records)
    membership = to_array(membership, "membership", _MUST)
    n_rows = "n_estimators" if n_models is None else n_models
    if membership.ndim != 2 or membership.shape != (n_models or len(membership), n_records):
        raise ValueError(
            f"membership needs the shape ({n_rows}, {n_records}); got {membership.shape}."
        )
    if membership.dtype.kind not in "biuf":
        raise ValueError(f"membership must hold 0 and 1; got an array of {membership.dtype}.")
    if not np.isin(membership, (0, 1)).all():
        raise ValueError("membership must be 1 where a model was trained on the record, else 0.")
    if not len(membership):
        raise ValueError("membership is empty; a pool needs one model or more.")
    return membership.astype(bool)


def check_answerable(pool, kind):
    """Refuse settings of a pool for which outputs of its models do not suffice."""
    if pool.store == "models" or (pool.store == "outputs" and kind == "log_odds"):
        wanted = "models" if pool.store == "models" else "class probabilities"
        raise ValueError(
            f'store="{pool.store}" keeps {wanted}, which outputs of kind {kind!r} lack.'
        )
    check_outputs_store(pool.store, kind)
    if kind == "log_odds" and any(temperature != 1 for temperature in pool.temperatures):
        raise ValueError(
            "Log odds cannot be converted to another temperature without the class probabilities; "
            f"got temperatures={show(pool.temperatures)}."
        )
    for signal in further_signals(pool.signals):
        if not isinstance(signal, AnswerSignal):
            raise ValueError(
                f"Signal {signal.name!r} needs the models themselves: use from_models."
            )


class GivenOutputs:
    """Outputs of models for records and their augmentations, which are read model by model."""

    # values (n_models, [n_queries,] n_records[, n_classes]), classes (n_classes,)

    def __init__(self, values, records, classes, kind):
        if not isinstance(kind, str) or kind not in _KINDS:
            raise ValueError(f"kind must be one of {', '.join(_KINDS)}; got {show(kind)}.")
        self._values, self._kind, self._y = to_array(values, "outputs", _MUST), kind, records.y
        is_single = kind in _SINGLE
        shape = self._values.shape if is_single else self._values.shape[:-1]
        if len(shape) not in (2, 3) or shape[-1] != len(records) or 0 in self._values.shape:
            last = "" if is_single else ", n_targets" if kind == "values" else ", n_classes"
            raise ValueError(
                f"outputs of kind {kind!r} need the shape (n_estimators, {len(records)}{last}) or "
                f"(n_estimators, n_queries, {len(records)}{last}); got {self._values.shape}."
            )
        self._has_queries = len(shape) == 3
        self.n_models, self.n_queries = shape[0], 1 if len(shape) == 2 else shape[1]
        self._classes = None if kind in NUMBERS else self._get_classes(classes)
        if self._classes is not None and not is_single:
            first = self._values[(0, 0) if self._has_queries else 0]
            warn_of_given(Outputs(first, self._classes, kind), self._y, stacklevel=4)

    def _get_classes(self, classes):
        if self._kind == "label":
            found = self._y if classes is None else check_columns(classes)
            both = np.concatenate([found, sorted_values(self._values, "outputs")])
            return sorted_values(both, "outputs and labels of the records")
        n_columns = self._values.shape[-1]
        found = np.unique(self._y) if classes is None else check_columns(classes)
        if len(found) != n_columns:
            source = "The records have" if classes is None else "classes has"
            raise ValueError(
                f"{source} {len(found)} labels, and outputs have {n_columns} columns; pass "
                "classes=, with the label of each column."
            )
        return found

    def of_model(self, k):
        """Outputs of a model for each query, with a column for every class that occurs in y."""
        values = self._values[k]
        values = values if self._has_queries else values[None]
        answers = [Outputs(rows, self._classes, self._kind) for rows in values]
        if self._classes is None:
            return answers
        all_classes = np.union1d(self._classes, self._y)
        return [outputs.aligned_to(all_classes) for outputs in answers]


class Gathered(NamedTuple):
    """Results of all models of a pool."""

    signals: np.ndarray | None  # (n_signals, n_queries, n_estimators, n), float32; None on disk
    outputs: np.ndarray | None  # (n_estimators, n, n_classes), float32
    models: list
    steps: np.ndarray  # (n_estimators,)
    warnings: list  # (category, message) of all
    last: Kept  # for what all models have in common


def gather(results, n_estimators, n_records, on_disk=False):
    """Write the results of the workers into place as they arrive."""
    signals = outputs = None
    models, caught, steps = [None] * n_estimators, {}, np.zeros(n_estimators)
    for k, kept in results:
        raw, answers = kept.arrays["raw"], kept.arrays.get("outputs")
        if signals is None and not on_disk:
            n_signals, n_queries, _ = raw.shape
            shape = (n_signals, n_queries, n_estimators, n_records)
            signals = np.empty(shape, dtype=np.float32)
        if not on_disk:
            signals[:, :, k] = raw
        if answers is not None and not on_disk:
            if outputs is None:
                outputs = np.empty((n_estimators, *answers.shape), np.float32)
            outputs[k] = answers
        models[k], steps[k], caught[k] = kept.model, kept.facts["step"], kept.warnings
    said = [warning for k in sorted(caught) for warning in caught[k]]
    return Gathered(signals, outputs, models, steps, said, kept)


_SETTINGS = (
    "augment",
    "signals",
    "temperatures",
    "store",
    "output_kind",
    "resolution",
    "verbose",
)


class ImportedPools:
    """Part of a :class:`ShadowPool` that makes fitted pools without training."""

    # Needs _set_results.

    @classmethod
    def from_outputs(
        cls,
        outputs: ArrayLike,
        membership: ArrayLike,
        records: Records,
        *,
        classes: ArrayLike | None = None,
        kind: Literal[
            "logits", "proba", "decision", "log_odds", "value", "values", "label"
        ] = "logits",
        estimator: BaseEstimator | None = None,
        augment: Callable[..., Any] | None = None,
        signals: Sequence[str | Signal] = ("auto",),
        temperatures: Sequence[float] | None = None,
        store: Literal["signals", "outputs"] = "signals",
        resolution: Literal["auto"] | float = "auto",
        verbose: int = 0,
    ) -> Self:
        """Create a fitted pool from outputs of models that were trained elsewhere.

        The pool is the one that :meth:`fit` would have made from the same models. Equal records
        count as one: a model trained on one of them counts as trained on all of them.

        Parameters
        ----------
        outputs : array-like of shape (n_estimators, n, n_classes) or \
                (n_estimators, n_queries, n, n_classes)
            Outputs of each model for each record, and for augmentations of them after the first
            query. The last axis is that of the targets for the kind ``"values"``, and missing for
            ``"log_odds"``, ``"value"`` and ``"label"``.
            It is read model by model, so it may be a memory-mapped array.
        membership : array-like of shape (n_estimators, n)
            1 where the model was trained on the record, else 0.
        records : Records of n records
            The records, in the order of the columns; see :meth:`skmia.Records.from_ids` if there
            are no features.
        classes : array-like of shape (n_classes,), default=None
            Labels of the last axis. If None, the sorted labels of the records.
        kind : {"logits", "proba", "decision", "log_odds", "value", "values", "label"}, \
                default="logits"
            Kind of the outputs, see :class:`~skmia.Outputs`.
        estimator : estimator, default=None
            How the models were trained, unfitted, if it is known. From a forest or from neighbors
            that vote, :class:`~skmia.attacks.LiRA` takes the number of voters.
        augment : callable, default=None
            As in the constructor, for victims that are queried. Stored outputs of a victim for the
            further queries are fields ``outputs_1``, ``outputs_2``, ... of the records.
        signals : tuple of str or Signal, default=("auto",)
            As in the constructor; only signals of outputs.
        temperatures : tuple of float, default=None
            As in the constructor, whose default is meant by None; log odds have only 1.0.
        store : {"signals", "outputs"}, default="signals"
            As in the constructor.
        resolution : "auto" or float, default="auto"
            As in the constructor.
        verbose : int, default=0
            Verbosity level. If positive, a progress bar is shown.

        Returns
        -------
        pool : ShadowPool

        Raises
        ------
        ValueError
            If shapes do not agree, an output is NaN or a membership is neither 0 nor 1.

        See Also
        --------
        skmia.shadow.load_shadows : Reads such arrays from the folders of other programs.

        Examples
        --------
        >>> import numpy as np
        >>> from skmia import Outputs, Records, ShadowPool
        >>> from skmia.attacks import LiRA
        >>> rng = np.random.default_rng(0)
        >>> y, inside = rng.integers(3, size=200), rng.random((9, 200)) < 0.5
        >>> logits = rng.normal(size=(9, 200, 3)) + 3 * inside[..., None] * np.eye(3)[y]
        >>> records = Records.from_ids(np.arange(200), y)
        >>> pool = ShadowPool.from_outputs(logits[:8], inside[:8], records)
        >>> answers = Outputs(logits[8], [0, 1, 2], "logits")
        >>> attack = LiRA(None, pool).fit(records.with_fields(outputs=answers))
        >>> bool(attack.score(records.with_fields(outputs=answers), inside[8]) > 0.5)
        True
        """
        given = GivenOutputs(outputs, check_records(records, targets=True), classes, kind)
        if temperatures is None:
            temperatures = (1.0,) if kind == "log_odds" else cls().temperatures
        pool = cls(
            n_estimators=given.n_models,
            estimator=estimator,
            augment=augment,
            signals=signals,
            temperatures=temperatures,
            store=store,
            resolution=resolution,
            verbose=verbose,
        )
        pool._check_settings()
        check_answerable(pool, kind)
        tables = [records.X] * given.n_queries
        membership = check_training_sets(membership, len(records), given.n_models)
        models = ((None, given.of_model(k)) for k in range(given.n_models))
        return pool._import(records, tables, membership, models)

    @classmethod
    def from_models(
        cls,
        models: Iterable[BaseEstimator],
        membership: ArrayLike,
        records: Records,
        *,
        estimator: BaseEstimator | None = None,
        augment: Callable[..., Any] | None = None,
        signals: Sequence[str | Signal] = ("auto",),
        temperatures: Sequence[float] = (1.0, 2.0),
        store: Literal["signals", "outputs", "models"] = "signals",
        output_kind: Literal["auto", "label"] = "auto",
        resolution: Literal["auto"] | float = "auto",
        verbose: int = 0,
    ) -> Self:
        """Create a fitted pool from models that were trained elsewhere.

        The pool is the one that :meth:`fit` would have made from the same models.

        Parameters
        ----------
        models : iterable of n_estimators fitted estimators
            Models like the victim. A generator that loads one after the other needs the memory of
            one model.
        membership : array-like of shape (n_estimators, n)
            1 where the model was trained on the record, else 0.
        records : Records of n records
            The records, in the order of the columns.
        estimator : estimator, default=None
            How the models were trained, unfitted, if it is known. From a forest or from neighbors
            that vote, :class:`~skmia.attacks.LiRA` takes the number of voters.
        augment : callable, default=None
            As in the constructor.
        signals : tuple of str or Signal, default=("auto",)
            As in the constructor.
        temperatures : tuple of float, default=(1.0, 2.0)
            As in the constructor.
        store : {"signals", "outputs", "models"}, default="signals"
            As in the constructor.
        output_kind : {"auto", "label"}, default="auto"
            As in the constructor.
        resolution : "auto" or float, default="auto"
            As in the constructor.
        verbose : int, default=0
            Verbosity level. If positive, a progress bar is shown.

        Returns
        -------
        pool : ShadowPool

        Raises
        ------
        ValueError
            If shapes do not agree or a membership is neither 0 nor 1.
        TypeError
            If one of the models is not an estimator.
        NotFittedError
            If one of the models is not fitted.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> from skmia import ShadowPool
        >>> from skmia.datasets import make_membership_problem
        >>> records, _ = make_membership_problem(200, random_state=0)
        >>> inside = np.random.default_rng(0).random((4, 200)) < 0.5
        >>> trees = [DecisionTreeClassifier().fit(records.X[i], records.y[i]) for i in inside]
        >>> ShadowPool.from_models(trees, inside, records).signals_.shape
        (2, 1, 4, 200)
        """
        check_records(records, targets=True)
        membership = check_training_sets(membership, len(records))
        pool = cls(
            n_estimators=len(membership),
            estimator=estimator,
            augment=augment,
            signals=signals,
            temperatures=temperatures,
            store=store,
            output_kind=output_kind,
            resolution=resolution,
            verbose=verbose,
        )
        pool._check_settings()
        tables = [copy.X for copy in augmented(records, augment)]
        asked = ((check_victim(model), None) for model in models)
        return pool._import(records, tables, membership, asked)

    @classmethod
    def from_scores(
        cls,
        scores: ArrayLike,
        membership: ArrayLike,
        records: Records,
        *,
        resolution: Literal["auto"] | float = "auto",
    ) -> Self:
        """Create a fitted pool from scaled logits that were computed elsewhere.

        Short for :meth:`from_outputs` with ``kind="log_odds"``.

        Parameters
        ----------
        scores : array-like of shape (n_estimators, n)
            Scaled logits log p_y - log(1 - p_y), in nats, of each shadow model on each record;
            infinite values are smoothed.
        membership : array-like of shape (n_estimators, n)
            1 where the model was trained on the record, else 0.
        records : Records of n records
            The records, in the order of the columns.
        resolution : "auto" or float, default="auto"
            As in the constructor.

        Returns
        -------
        pool : ShadowPool
            With the temperature 1.0 only.

        Raises
        ------
        ValueError
            If the shapes differ, a score is NaN, a membership is neither 0 nor 1 or the
            resolution is negative.
        """
        check_records(records)
        scores, membership = check_scores(scores, membership, len(records), resolution)
        return cls.from_outputs(scores, membership, records, kind="log_odds", resolution=resolution)

    def _check_settings(self):
        given = {name: getattr(self, name) for name in _SETTINGS}
        constraints = {name: self._parameter_constraints[name] for name in _SETTINGS}
        validate_parameter_constraints(constraints, given, caller_name="ShadowPool")
        check_temperatures(self.temperatures)
        further_signals(self.signals)

    def _import(self, records, tables, membership, models):
        """Set the fitted attributes from models, or from their outputs for each table."""
        membership = join_copies(membership, records.fingerprint)
        job = Job(None, Data(tables, records.y), membership, None, keep=make_keeper(self))
        results = _keep_each(job, models)
        results = show_progress(results, self.verbose, "shadow models", job.n_models)
        got = gather(results, job.n_models, len(records))
        warn_once(got.warnings, job.n_models)
        self._set_results(got, (got.signals, got.outputs, membership), records)
        if self.output_kind_ == "log_odds":  # of classifiers, whose classes only the labels tell
            self.classes_ = np.unique(records.y)
        self.notes_, self.design_ = [], infer_design(membership, records.fingerprint)
        return self


def _keep_each(job, models):
    """Yield what the pool keeps of each model; there must be one for each training set."""
    k = 0
    for k, (model, answers) in enumerate(models, start=1):
        if k > job.n_models:
            break
        yield k - 1, keep(job, Trained(job, k - 1, model, 0.0, answers=answers))
    if k != job.n_models:
        found = f"more than {job.n_models}" if k > job.n_models else k
        raise ValueError(
            f"models must be as many as the rows of membership, {job.n_models}; got {found}."
        )
