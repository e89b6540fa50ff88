"""Whether the same records are mistaken for members again and again."""

from typing import NamedTuple

import numpy as np

from ..._core.escaping import visible
from ..._core.pvalues import is_significant
from ...base import TooFewModelsError, score_pseudo_victims, treats_models_as_victims
from .._measure import find_overall
from .._run import draw_sample, take_sampled_records
from ._base import DROPPED, SOMETIMES, STATED, BaseCheck

# The rates of more records and models would be known a little better.
_MOST_RECORDS, _MOST_MODELS = 4_000, 64

# It is told if a record that is mistaken once is mistaken again more than so many times as often as
# all are on average, beyond doubt.
_TIMES = 1.5
_N_DRAWS = 199


class RecordRates(NamedTuple):
    """How often a record that one model mistakes for a member is mistaken by another one."""

    estimate: float
    low: float
    high: float


def measure_repeated_alarms(alarms, is_out, level, rng):
    """Estimate how often a record that one model mistakes for a member is mistaken by another one.

    It is the mean rate of the records, each weighted by its own rate, and takes no law of the
    rates: of all pairs of models without a record, those that both mistake it are counted.

    Parameters
    ----------
    alarms, is_out : ndarray of shape (n_models, n), dtype bool
        Whether a record was taken for a member of a model, and where it was none.
    level : float
        Confidence level.
    rng : Generator

    Returns
    -------
    rates : RecordRates or None
        None unless the rates of records differ beyond chance.
    """
    # If all records had one rate, the alarms of each model would be a random choice of its
    # non-members.
    alarms, places = alarms & is_out, [np.flatnonzero(out) for out in is_out]
    n_out, own = is_out.sum(axis=0), alarms.sum(axis=0)
    # Arrays, because numpy takes a third of the time of a draw to make one of a number.
    n_alarms = [np.asarray(n) for n in alarms.sum(axis=1)]
    repeated = float(_count_repeated(own, n_out))
    counts = np.empty((_N_DRAWS, len(own)), dtype=np.intp)
    for count in counts:
        drawn = [rng.choice(some, n, replace=False) for some, n in zip(places, n_alarms)]
        count[:] = np.bincount(np.concatenate(drawn), minlength=len(own))
    n_above = np.count_nonzero(_count_repeated(counts, n_out) >= repeated)
    if not is_significant((1 + n_above) / (1 + _N_DRAWS), (1 - level) / 2):
        return None
    rows = rng.integers(len(own), size=counts.shape)
    found = _count_repeated(own[rows], n_out[rows])
    ends = np.quantile(found, [(1 - level) / 2, (1 + level) / 2])
    return RecordRates(repeated, *map(float, ends))


def _count_repeated(n_alarms, n_out):
    """Return the mean of squared rates over that of rates, by pairs of models without a record.

    Take arrays of shape (..., n); return an array of shape (...).
    """
    rate = n_alarms.sum(axis=-1) / np.maximum(n_out.sum(axis=-1), 1)
    pairs = np.maximum((n_out * (n_out - 1)).sum(axis=-1), 1)
    both = (n_alarms * (n_alarms - 1)).sum(axis=-1) / pairs
    return np.divide(both, rate, out=np.zeros(np.shape(rate)), where=rate > 0)


def flag_by_model(scores, is_out, rate):
    """Whether each score is above that of all but a share of the non-members of its model."""
    flagged = np.zeros(scores.shape, dtype=bool)
    for k, (own, out) in enumerate(zip(scores, is_out, strict=True)):
        others = np.sort(own[out])
        n_allowed = int(rate * len(others) * (1 + 1e-12))
        if n_allowed:
            flagged[k] = own > others[len(others) - 1 - n_allowed]
    return flagged


class RecordRatesCheck(BaseCheck):
    """Whether records that are mistaken once are mistaken far more often than all on average.

    It says nothing unless this is shown. Each shadow model is a victim whose non-members are known,
    and a threshold that mistakes a share of them together need not mistake each one as often.
    """

    name = "rates of single records"
    presence = SOMETIMES
    of_file = DROPPED
    stated = "Some records are mistaken more often than others"

    def ask(self, case, run, findings):
        rate, found = _choose_rate(findings.numbers), None
        names = [] if rate is None else run.orders.get(("tpr", rate), [])
        name = next((one for one in names if treats_models_as_victims(run.fitted[one])), None)
        if name is not None:
            found = _measure_rates(case, run, run.fitted[name], rate)
        if found is None or found.low < _TIMES * rate:
            return None
        again, low, high = (f"{100 * number:.2g}%" for number in found)
        text = (
            f"At the threshold of {visible(name)} at which {100 * rate:g}% of the non-members are "
            "mistaken for members on average, a record that one shadow model mistakes is mistaken "
            f"by another one in {again} of the cases [{low}, {high}]. EqualRateAttack has a "
            "threshold for each record."
        )
        return self.answer(STATED, text, found)


def _choose_rate(numbers):
    """Return the smallest measured rate from 1% on, else the largest."""
    rates = sorted(set(numbers["max_fpr"].to_numpy()[find_overall(numbers, "tpr")].tolist()))
    return next((rate for rate in rates if rate >= 0.01), rates[-1] if rates else None)


def _measure_rates(case, run, attack, rate):
    rng = np.random.default_rng(case.seeds["checks"])
    rows = draw_sample(len(case.records), case.subsets, _MOST_RECORDS, case.seeds["checks"])
    models = np.arange(min(len(run.pool.membership_), _MOST_MODELS))
    try:
        scored = score_pseudo_victims(attack, take_sampled_records(case.records, rows), models)
    except TooFewModelsError:
        return None
    scores, inside, judged = scored
    is_out = judged & ~inside
    flagged = flag_by_model(scores, is_out, rate)
    return measure_repeated_alarms(flagged, is_out, case.level, rng)
