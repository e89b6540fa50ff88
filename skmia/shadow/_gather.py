"""Results of the models of a pool, gathered as they are finished."""

from typing import NamedTuple

import numpy as np

from .._training.job import Kept


class Gathered(NamedTuple):
    """Results of all models of a pool."""

    signals: np.ndarray | None  # (n_signals, n_queries, n_estimators, n), float32; None on disk
    outputs: np.ndarray | None  # (n_estimators, n, n_classes), float32
    models: list
    steps: np.ndarray  # (n_estimators,)
    warnings: list  # (category, message) of all
    last: Kept  # for what all models have in common


def gather(results, n_estimators, n_records, on_disk=False):
    """Write the results of the workers into place as they arrive.

    Parameters
    ----------
    results : iterable of (int, Kept)
        Model numbers and results in any order. If a model appears twice, the last result counts.
    n_estimators : int
        Number of models.
    n_records : int
        Number of records.
    on_disk : bool, default=False
        Whether signals and outputs stay in files.

    Returns
    -------
    gathered : Gathered
    """
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
