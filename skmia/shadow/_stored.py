"""How results of the models of a pool become its answers, smoothed for moments.

In memory, ``gather_results`` writes them into place as they arrive; on disk, their arrays stay in
the files of the checkpoint, which ``open_arrays`` reads.
"""

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from .._core.filed_array import FiledArray, RowSource, rows_of
from .._core.outputs import Outputs
from .._training.checkpoint_arrays import read_stored, read_stored_bits
from .._training.job import KeptResults
from ..signals import (
    Hinge,
    JointResidual,
    LogResidual,
    log_of_residual,
    orient_predictions,
)
from ._answers import PoolAnswers, RecordColumns
from ._job import signals_of


class GatheredResults(NamedTuple):
    """Results of all models of a pool."""

    signals: np.ndarray | None  # (n_signals, n_queries, n_estimators, n), float32; None on disk
    outputs: np.ndarray | None  # (n_estimators, n, n_classes), float32
    models: list
    steps: np.ndarray  # (n_estimators,)
    warnings: list  # (category, message) of all
    last: KeptResults  # for what all models have in common


def gather_results(results, n_estimators, n_records, on_disk=False):
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
    return GatheredResults(signals, outputs, models, steps, said, kept)


def open_arrays(paths, n_records, with_outputs):
    """Return the arrays of a pool, read from files on request.

    Return signals of shape (n_signals, n_queries, n_estimators, n); outputs of shape (n_estimators,
    n, n_classes); membership of shape (n_estimators, n).
    """
    signals = read_stored(paths, "raw", axis=2)
    outputs = read_stored(paths, "outputs", n_tail=1) if with_outputs else None
    return signals, outputs, read_stored_bits(paths, "subset", n_records)


class TrainedRows(RowSource):
    """Training sets without the records that no model is trained on, from when they are read."""

    def __init__(self, rows, trained):
        self._rows, self._trained = rows, trained
        self.n_columns, self.dtype = rows.n_columns, rows.dtype

    def read(self, number, start, stop):
        return self._rows.read(number, start, stop) & self._trained[start:stop]


def leave_untrained_out(membership, trained):
    """Return who was trained on what, without records of weight 0, which models are given."""
    if trained is None:
        return membership
    if isinstance(membership, FiledArray):
        return FiledArray(TrainedRows(membership.rows, trained), membership.numbers)
    return membership & trained


class ChangedRows(RowSource):
    """Rows of signals, changed by a function of each signal when they are read."""

    def __init__(self, rows, changes):
        self._rows, self._changes = rows, list(changes)
        self.n_columns, self.dtype = rows.n_columns, rows.dtype
        self.rows_per_model, self.lead = rows.rows_per_model, rows.lead

    def read(self, number, start, stop):
        change = self._changes[number % self.rows_per_model // self.lead[1]]
        return change(self._rows.read(number, start, stop))


class OrientedRows(RowSource):
    """Rows of signals of which the first is a residual, after rows of oriented predictions."""

    def __init__(self, rows, oriented, y):
        self._rows, self._oriented, self._y = rows, oriented, y
        self.n_columns, self.dtype = rows.n_columns, rows.dtype
        self.lead = rows.lead[0] + 1, rows.lead[1]
        self.rows_per_model = rows.rows_per_model + rows.lead[1]

    def read(self, number, start, stop):
        model, row = divmod(int(number), self.rows_per_model)
        is_oriented, n_queries = row < self.lead[1], self.lead[1]
        place = row if is_oriented else row - n_queries
        values = self._rows.read(model * self._rows.rows_per_model + place, start, stop)
        return self._oriented(values, self._y[start:stop]) if is_oriented else values


def change_when_read(signals, changes):
    """Return an array in files whose values are changed when they are read."""
    return FiledArray(ChangedRows(signals.rows, changes), signals.numbers)


# Share of the targets of a regressor that the normal law of their joint length has as degrees of
# freedom. With all of them, the few models with large errors decide, as in heavy tails.
_SHARE_OF_TARGETS = 0.5


def make_answers(pool, got, arrays, records, design, classes):
    """Make the answers of a pool from what was kept of its models."""
    signals, outputs, membership = arrays
    facts = got.last.facts
    stored = signals_of(facts["kind"], pool.signals, pool.temperatures)
    n_parts, joint_residual = len(signals) - len(stored) + 1, None
    if n_parts > 1:
        signals, joint_residual = _join_targets(signals, membership, n_parts)
    elif stored[0] == LogResidual():
        signals, stored = _compare_predictions(signals, stored, membership, records.y)
    # A victim is smoothed by the pool's resolution, not by the records it is queried for: the score
    # of a record must not depend on the other records.
    smoothings = [
        _smooth(signal, raw, membership, np.dtype(facts["dtype"]), pool.resolution)
        for signal, raw in zip(stored, signals, strict=True)
    ]
    if isinstance(signals, FiledArray):
        # The files keep what the models said, as more models would be smoothed otherwise.
        signals = change_when_read(signals, [one.of_models for one in smoothings])
    scale = None
    if LogResidual() in stored:
        residuals = signals[stored.index(LogResidual()), 0]
        scale = _estimate_scale(residuals, membership, joint_residual)
    elif facts["signal"] == Hinge.name:
        scale = _estimate_margin_scale(signals[0, 0], membership)
    return PoolAnswers(
        signals=signals,
        membership=membership,
        outputs=outputs,
        estimators=got.models if pool.store == "models" else None,
        classes=classes,
        stored=stored,
        signal=stored[0].name,
        kind=facts["kind"],
        design=design,
        columns=RecordColumns.of(records),
        smoothings=smoothings,
        steps=np.asarray(got.steps),
        joint_residual=joint_residual,
        scale=scale,
        estimator=pool.estimator,
        augment=pool.augment,
    )


def _join_targets(signals, membership, n_parts):
    """Learn how the residuals of several targets become one signal, and replace them by it."""
    parts, rest = signals[:n_parts], signals[n_parts:]
    joint_residual = JointResidual.from_residuals(parts[:, 0], membership)
    joined = np.empty(parts.shape[1:], np.float32)
    for number, model in np.ndindex(joined.shape[:2]):
        joined[number, model] = joint_residual(parts[:, number, model])
    return np.concatenate([joined[None], rest]), joint_residual


# Records of a pool by which it decides whether predictions are on the scale of their labels.
_N_ORIENTED = 1 << 14


def _compare_predictions(signals, stored, membership, y):
    """Replace the residuals of one target by the signal of which their log is the usual one.

    Where predictions are not on the scale of the labels, they are a signal of their own that comes
    first.
    """
    residuals, y = signals[0], np.asarray(y, np.float64)
    some = slice(None, None, -(-len(y) // _N_ORIENTED))
    oriented = orient_predictions(y[some] - residuals[0][:, some], membership[:, some], y[some])
    if oriented is None:
        return _change_signals(signals, [log_of_residual]), stored
    signals = _put_predictions_first(signals, oriented, y)
    scale = _estimate_margin_scale(signals[0, 0], membership)
    stored = [replace(oriented, scale=scale), *stored]
    divide = partial(_divide_values, divisor=np.float32(scale))
    return _change_signals(signals, [divide, log_of_residual]), stored


def _put_predictions_first(signals, oriented, y):
    """Return oriented predictions and all signals, of which the first is a residual."""
    orient = partial(_orient_residual, oriented)
    if isinstance(signals, FiledArray):
        rows = OrientedRows(signals.rows, orient, y)
        n_models = signals.shape[2]
        numbers = np.arange(n_models * rows.rows_per_model).reshape(n_models, *rows.lead)
        return FiledArray(rows, np.moveaxis(numbers, 0, 2))
    predictions = np.empty((1, *signals.shape[1:]), np.float32)
    for number, model in np.ndindex(signals.shape[1:3]):
        predictions[0, number, model] = orient(signals[0, number, model], y)
    return np.concatenate([predictions, signals])


def _orient_residual(oriented, residual, y):
    return oriented(Outputs(y - residual, kind="value"), y).astype(np.float32)


def _change_signals(signals, changes):
    """Change the first signals, in place or when they are read."""
    if isinstance(signals, FiledArray):
        changes = [*changes, *[_keep_values] * (len(signals) - len(changes))]
        return change_when_read(signals, changes)
    for place, change in enumerate(changes):
        signals[place] = change(signals[place])
    return signals


def _divide_values(values, divisor):
    return values / divisor


def _keep_values(values):
    return values


def _smooth(signal, raw, membership, dtype, resolution):
    """Make the values of a signal finite in place, and return the smoothing for other models.

    At temperature 1 all models have one step, that of the pool. Other temperatures and further
    signals arrive smoothed by the step of each model, from ``_evaluate_raw``.
    """
    smoothing = signal.fit_smoothing(raw, membership, dtype, resolution)
    n_bad = 0
    for row in rows_of(raw):
        smoothed = smoothing.of_models(row)
        n_bad += np.count_nonzero(~np.isfinite(smoothed))
        row[:] = smoothed  # of signals in files this is a copy of the row
    if n_bad and resolution == 0:
        raise ValueError(
            f"resolution=0 leaves {n_bad} signals of shadow models infinite, because they hold "
            'probabilities of 0 or 1 or residuals of 0; use resolution="auto".'
        )
    if n_bad:
        raise ValueError(
            f"{n_bad} answers of the shadow models are NaN or infinite, by the signal "
            f"{signal.name!r}."
        )
    return smoothing


# Margins that the scale of margins is learned from, and how far it may be from their size.
_MOST_MARGINS = 100_000
_WIDEST_SCALE = 1e3


def _estimate_margin_scale(margins, membership):
    """Return what margins are divided by, so that their sigmoid is the probability of the label.

    It is that of Platt's calibration on OUT records, without an offset.
    """
    # Of a pool on disk, not all margins fit the memory.
    ends = np.cumsum([np.count_nonzero(~inside) for inside in membership])
    step = -(-ends[-1] // _MOST_MARGINS)
    rows = zip(margins, membership, np.r_[0, ends[:-1]], strict=True)
    outside = np.concatenate(
        [row[~inside][-start % step :: step].astype(np.float64) for row, inside, start in rows]
    )
    size = np.sqrt(np.mean(outside**2))
    if not size:
        return 1.0

    def lose(log_slope):
        return np.logaddexp(0, -np.exp(log_slope) * outside / size).mean()

    most = np.log(_WIDEST_SCALE)
    found = minimize_scalar(lose, bounds=(-most, most), method="bounded")
    return float(size / np.exp(found.x))


def _estimate_scale(residuals, membership, joint_residual):
    """Return the root mean squared residual on OUT records, of one target (regressors)."""
    total, n_outside = 0.0, 0
    for row, inside in zip(residuals, membership, strict=True):
        total += np.exp(-2 * row[~inside].astype(np.float64)).sum()
        n_outside += np.count_nonzero(~inside)
    n_targets = 1 if joint_residual is None else joint_residual.weights.shape[1]
    return float(np.sqrt(total / n_outside / max(1, _SHARE_OF_TARGETS * n_targets)))
