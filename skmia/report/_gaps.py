"""By how much the victim, and models like it, fit training records better than others."""

import numpy as np
from scipy.special import expit

from .._core.outputs import Outputs
from ..signals import Correctness, LogResidual


def measure_gaps(case, pool):
    """By how much the victim fits its members better than its models fit theirs.

    The gap is the accuracy on the training records minus that on others; of a regression it is the
    mean squared error on others minus that on the training records, in variances of the targets.

    Return gap: victim and standard_error; mean and sd of the n_models models; z. None if the pool
    does not keep what it takes.
    """
    fits = _measure_fits(case, pool)
    if fits is None:
        return None
    own, models = fits
    sides = own[case.membership], own[~case.membership]
    victim = sides[0].mean() - sides[1].mean()
    error = np.sqrt(sum(side.var() / len(side) for side in sides))
    mean, sd = models.mean(), models.std(ddof=1)
    scale = np.hypot(error, sd)
    z = (victim - mean) / scale if scale > 0 else np.sign(victim - mean) * 1e3
    found = {"victim": victim, "standard_error": error, "mean": mean, "sd": sd}
    found = {name: float(number) for name, number in found.items()}
    return found | {"n_models": len(models), "z": float(z)}


def _measure_fits(case, pool):
    """Return how well the victim fits each record, and the gap of each model.

    None if it is not kept.
    """
    outputs, y, records = case.request.outputs, case.records.y, case.records
    if not isinstance(outputs, Outputs):
        return None
    if outputs.kind == "values" and _is_located(pool, LogResidual()):
        answered, signal = records.with_fields(outputs=outputs), LogResidual()
        fit = lambda values: -np.exp(-2 * np.asarray(values, np.float64))  # noqa: E731
        own = fit(pool.victim_values(None, answered, signal)[0])
    elif outputs.kind == "value":
        scale = np.var(y) or 1.0
        own, signal = -((y - outputs.values) ** 2) / scale, LogResidual()
        fit = lambda values: -np.exp(-2 * values) / scale  # noqa: E731
    elif outputs.classes is None:
        own, signal, fit = expit(outputs.values), "auto", expit
    else:
        own, signal, fit = outputs.is_correct(y).astype(float), Correctness(), np.asarray
        if not _is_located(pool, signal) and (
            len(outputs.classes) == 2 or outputs.kind == "decision"
        ):
            # The log odds or the margin of the label.
            signal, fit = "auto", lambda values: (values > 0).astype(float)
    if not _is_located(pool, signal):
        return None
    n_models = len(pool.membership_)
    sums, counts = np.zeros((2, n_models)), np.zeros((2, n_models))
    for _, values, inside, _ in pool.blocks(records, 1 << 16, signal):
        fits = fit(np.asarray(values[0], dtype=np.float64))
        for side, mask in enumerate((inside, ~inside)):
            sums[side] += np.where(mask, fits, 0.0).sum(axis=1)
            counts[side] += mask.sum(axis=1)
    if n_models < 2 or not counts.all():
        return None
    inside, outside = sums / counts
    return own, inside - outside


def _is_located(pool, signal):
    try:
        pool.locate_signal(signal)
    except (ValueError, TypeError, KeyError):
        return False
    return True
