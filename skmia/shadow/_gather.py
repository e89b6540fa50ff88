"""What the models of a pool said, gathered in the order in which they are done."""

from typing import NamedTuple

import numpy as np
from tqdm import tqdm

from .._training.job import Kept


class Gathered(NamedTuple):
    """What all models of a pool gave."""

    signals: np.ndarray  # (n_signals, n_queries, n_estimators, n), float32
    outputs: np.ndarray | None  # (n_estimators, n, n_classes), float32
    models: list
    steps: np.ndarray  # (n_estimators,)
    warnings: list  # (category, message) of all
    last: Kept  # for what all models have in common


def gather(results, n_estimators, n_records, verbose):
    """Write what the workers return into place as it arrives.

    Parameters
    ----------
    results : iterable of (int, Kept)
        In any order; where a model comes again, the last counts.
    n_estimators : int
        Number of models.
    n_records : int
        Number of records.
    verbose : int
        Whether to show a bar.

    Returns
    -------
    gathered : Gathered
    """
    signals = outputs = None
    models, caught, steps = [None] * n_estimators, {}, np.zeros(n_estimators)
    for k, kept in tqdm(results, total=n_estimators, desc="shadow models", disable=not verbose):
        raw, answers = kept.arrays["raw"], kept.arrays.get("outputs")
        if signals is None:
            n_signals, n_queries, _ = raw.shape
            shape = (n_signals, n_queries, n_estimators, n_records)
            signals = np.empty(shape, dtype=np.float32)
        signals[:, :, k] = raw
        if answers is not None:
            if outputs is None:
                outputs = np.empty((n_estimators, *answers.shape), np.float32)
            outputs[k] = answers
        models[k], steps[k], caught[k] = kept.model, kept.facts["step"], kept.warnings
    said = [one for k in sorted(caught) for one in caught[k]]
    return Gathered(signals, outputs, models, steps, said, kept)
