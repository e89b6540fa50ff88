"""Pools of models that were trained elsewhere, from the models, their outputs or their scores."""

import warnings

import numpy as np
from scipy.special import stdtr

from .._core.callers import level_of_user
from .._core.groups import check_class_labels, sorted_values
from .._core.numbers import check_number, show, to_array
from .._core.outputs import NUMBERS, Outputs, check_order_of_columns, tell_columns
from .._core.progress import show_progress
from .._core.query import warn_of_given
from .._core.sklearn import validate_parameter_constraints
from .._core.splits import join_copies
from .._training.job import Job, JobData, TrainedModel, keep, warn_once
from ..signals import AnswerSignal
from ._job import (
    check_outputs_store,
    check_temperatures,
    further_signals,
    infer_design,
    make_keeper,
)
from ._stored import gather_results, make_answers

_SINGLE = ("log_odds", "value", "label")  # kinds of outputs with one number for each record
_KINDS = ("logits", "proba", "decision", *_SINGLE, "values")

_MUST = "be an array with one row for each model"
_FROM_NUMBERS = "np.array([np.isin(np.arange(n), rows) for rows in lists]) makes it"
_MUST_BITS = (
    "be an array with a row for each model, which is 1 where it was trained on the record, else 0 "
    f"(of lists of row numbers, {_FROM_NUMBERS})"
)


def check_scores(scores, membership, n_records, resolution):
    """Check the arguments of ``ShadowPool.from_scores``.

    Take scores, membership of shape (n_estimators, n_records); return scores, membership of shape
    (n_estimators, n_records).
    """
    if not isinstance(resolution, str) or resolution != "auto":
        check_number(resolution, "resolution", '"auto" or a finite number of at least 0', 0)
    scores = to_array(scores, "scores", _MUST)
    membership = to_array(membership, "membership", _MUST_BITS)
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
    """Check training sets of models.

    Take membership of shape (n_models, n_records); return membership of shape (n_models,
    n_records).
    """
    membership = to_array(membership, "membership", _MUST_BITS)
    n_rows = "n_estimators" if n_models is None else n_models
    if membership.ndim != 2 or membership.shape != (n_models or len(membership), n_records):
        cure = f" Of lists of row numbers, {_FROM_NUMBERS}."
        are_numbers = membership.dtype.kind in "iu" and membership.size and membership.max() > 1
        raise ValueError(
            f"membership needs the shape ({n_rows}, {n_records}); got {membership.shape}."
            f"{cure if are_numbers else ''}"
        )
    if membership.dtype.kind not in "biuf":
        raise ValueError(f"membership must hold 0 and 1; got an array of {membership.dtype}.")
    if not np.isin(membership, (0, 1)).all():
        raise ValueError("membership must be 1 where a model was trained on the record, else 0.")
    if not len(membership):
        raise ValueError("membership is empty; a pool needs one model or more.")
    return membership.astype(bool)


def list_unanswerable(pool, kind):
    """Yield settings of a pool for which outputs of its models do not suffice."""
    if pool.store == "models" or (pool.store == "outputs" and kind == "log_odds"):
        wanted = "models" if pool.store == "models" else "class probabilities"
        yield f'store="{pool.store}" keeps {wanted}, which outputs of kind {kind!r} lack.'
    check_outputs_store(pool.store, kind)
    if kind == "log_odds" and any(temperature != 1 for temperature in pool.temperatures):
        yield (
            "Log odds cannot be converted to another temperature without the class probabilities; "
            f"got temperatures={show(pool.temperatures)}."
        )
    for signal in further_signals(pool.signals):
        if not isinstance(signal, AnswerSignal):
            yield f"Signal {signal.name!r} needs the models themselves: use from_models."


class GivenOutputs:
    """Outputs of models for records and their augmentations, which are read model by model.

    Shapes: values (n_models, [n_queries,] n_records[, n_classes]), classes (n_classes,).
    """

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
                f"{self._tell_single()}"
            )
        self._has_queries = len(shape) == 3
        self.n_models, self.n_queries = shape[0], 1 if len(shape) == 2 else shape[1]
        self._classes = None if kind in NUMBERS else self._get_classes(classes)
        if self._classes is not None and not is_single:
            for table in _list_tables(values):
                check_order_of_columns(table, self._classes)
        if not is_single or kind == "log_odds":
            first = self._values[(0, 0) if self._has_queries else 0]
            warn_of_given(Outputs(first, self._classes, kind), self._y)

    def _tell_single(self):
        """Return what to do with one number for each record where there are several classes."""
        if self._kind in NUMBERS or self._values.shape[-1:] != self._y.shape:
            return ""
        if len(np.unique(self._y)) == 2:
            return f"{tell_columns(self._kind)} Log odds of the label are kind='log_odds'."
        return " Log odds of the label are kind='log_odds'."

    def _get_classes(self, classes):
        if self._kind == "label":
            found = self._y if classes is None else check_class_labels(classes)
            both = np.concatenate([found, sorted_values(self._values, "outputs")])
            return sorted_values(both, "outputs and labels of the records")
        n_columns = self._values.shape[-1]
        found = np.unique(self._y) if classes is None else check_class_labels(classes)
        if len(found) != n_columns:
            source = "The records have" if classes is None else "classes has"
            cure = "; pass classes=, with the label of each column."
            if (len(found), n_columns) == (2, 1):
                cure = f".{tell_columns(self._kind)}"
            raise ValueError(
                f"{source} {len(found)} labels, and outputs have {n_columns} columns{cure}"
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


def _list_tables(values):
    """Yield the outputs of each model, and for each query, if they are given one by one."""
    for part in values if isinstance(values, list | tuple) else ():
        yield from part if isinstance(part, list | tuple) else (part,)


_SETTINGS = (
    "augment",
    "signals",
    "temperatures",
    "store",
    "output_kind",
    "resolution",
    "verbose",
)


def make_unfitted(pool_class, **settings):
    """Make a pool for models that were trained elsewhere, and check its settings."""
    pool = pool_class(**settings)
    given = {name: getattr(pool, name) for name in _SETTINGS}
    constraints = {name: pool_class._parameter_constraints[name] for name in _SETTINGS}
    validate_parameter_constraints(constraints, given, caller_name="ShadowPool")
    check_temperatures(pool.temperatures)
    further_signals(pool.signals)
    return pool


def import_models(pool, records, tables, membership, models):
    """Set the fitted attributes of a pool from models, or from their outputs for each table."""
    membership = join_copies(membership, records.fingerprint)
    job = Job(None, JobData(tables, records.y), membership, None, keep=make_keeper(pool))
    results = _keep_each(job, models)
    results = show_progress(results, pool.verbose, "shadow models", job.n_models)
    got = gather_results(results, job.n_models, len(records))
    warn_once(got.warnings, job.n_models)
    classes = got.last.arrays.get("classes")
    if got.last.facts["kind"] == "log_odds":  # of classifiers, whose classes only the labels tell
        classes = np.unique(records.y)
    design = infer_design(membership, records.fingerprint)
    arrays = got.signals, got.outputs, membership
    pool._set_answers(make_answers(pool, got, arrays, records, design, classes), notes=[])
    return pool


# Records by which the direction of given signals is checked, and how many standard errors are no
# chance of records, and which probability is none of training sets.
_N_DIRECTED, _SURE, _RARE = 10_000, 6.0, 1e-3


# What else than membership may be inverted in outputs of a kind.
_INVERTED = {
    "log_odds": " or the numbers are losses, whose log odds are -log(expm1(loss))",
} | dict.fromkeys(("logits", "proba", "decision"), " or classes is not in the order of the columns")


def warn_if_inverted(pool, kind="models"):
    """Return the pool; warn if training on records lowers their signals."""
    signals, membership = pool.signals_[0, 0], pool.membership_
    some = slice(None, None, -(-signals.shape[1] // _N_DIRECTED))
    inside = membership[:, some]
    # Models differ in their confidence.
    signals = signals[:, some].astype(np.float64)
    signals -= np.median(signals, axis=1, keepdims=True)
    n_models, n_inside = len(signals), inside.sum(axis=0)
    n_outside = n_models - n_inside
    # In units of its spread, because single large signals must not decide. Its mean is 0 by chance;
    # its sign is not one half where signals are skewed and most models were trained on a record.
    with np.errstate(divide="ignore", invalid="ignore"):
        gap = (signals * inside).sum(axis=0) / n_inside
        gap -= (signals * ~inside).sum(axis=0) / n_outside
        gap *= np.sqrt(n_inside * n_outside * (n_models - 1.0)) / signals.std(axis=0) / n_models
    known = np.isfinite(gap)
    if -gap[known].sum() <= _SURE * np.sqrt(known.sum()):
        return pool
    # Gaps of records in the same training sets can be alike, as those of one person are.
    sets = np.unique(inside[:, known], axis=1, return_inverse=True)[1]
    totals = np.bincount(sets.ravel(), gap[known])
    if _p_value_below_zero(totals) < _RARE:
        warnings.warn(
            "The models that were trained on a record fit it worse than the others, on average "
            "over the records. Perhaps membership is inverted (it must be 1 where a model was "
            f"trained on the record){_INVERTED.get(kind, '')}.",
            UserWarning,
            stacklevel=level_of_user(),
        )
    return pool


def _p_value_below_zero(values):
    """Return the p-value of the t test that numbers have a mean below 0."""
    n, mean = len(values), values.mean()
    error = np.sqrt(np.square(values - mean).sum() / max(n * (n - 1), 1))
    return stdtr(n - 1, mean / max(error, np.finfo(float).tiny)) if n > 1 else 1.0


def _keep_each(job, models):
    """Yield what the pool keeps of each model; there must be one for each training set."""
    k = 0
    for k, (model, answers) in enumerate(models, start=1):
        if k > job.n_models:
            break
        yield k - 1, keep(job, TrainedModel(job, k - 1, model, 0.0, answers=answers))
    if k != job.n_models:
        found = f"more than {job.n_models}" if k > job.n_models else k
        raise ValueError(
            f"models must be as many as the rows of membership, {job.n_models}; got {found}."
        )
