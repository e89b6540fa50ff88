"""Whether single records are mistaken for members more often than all records together."""

from typing import NamedTuple

import numpy as np
from scipy import stats

from ..._core.escaping import visible
from ...base import TooFewModelsError, score_pseudo_victims, treats_models_as_victims
from .._measure import OK, OVERALL
from .._run import draw_sample, take_sampled_records
from ._base import DROPPED, SOMETIMES, STATED, BaseCheck

# The rates of more records and models would be known a little better.
_MOST_RECORDS, _MOST_MODELS = 4_000, 64

# A record is unlike others if its rate is more than so many times that of all together. It is told
# if so large a share of the records is beyond doubt.
_TIMES, _LEAST_SHARE = 2, 0.01
_N_DRAWS = 199


class RecordRates(NamedTuple):
    """Share of the records that are mistaken more than twice as often as all on average."""

    estimate: float
    low: float
    high: float


def share_frequent_alarms(alarms, is_out, times, level, rng):
    """Estimate how many records have a rate of alarms far above that of all together.

    Parameters
    ----------
    alarms, is_out : ndarray of shape (n_models, n), dtype bool
        Whether a record was taken for a member of a model, and where it was none.
    times : float
        How many times the rate of all records.
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
    spread, n_above = _fit_rates(own, n_out)[1], 0
    for _ in range(_N_DRAWS):
        drawn = [rng.choice(some, n, replace=False) for some, n in zip(places, alarms.sum(axis=1))]
        count = np.bincount(np.concatenate(drawn), minlength=len(own))
        n_above += _fit_rates(count, n_out)[1] >= spread
    if (1 + n_above) / (1 + _N_DRAWS) > (1 - level) / 2:
        return None
    shares = []
    for _ in range(_N_DRAWS):
        rows = rng.integers(len(own), size=len(own))
        shares.append(_share_above(*_fit_rates(own[rows], n_out[rows]), times))
    ends = np.quantile(shares, [(1 - level) / 2, (1 + level) / 2])
    return RecordRates(_share_above(*_fit_rates(own, n_out), times), *map(float, ends))


def _fit_rates(n_alarms, n_out):
    """Return mean and variance of the rates of records, by pairs of models without each of them."""
    mean = n_alarms.sum() / max(n_out.sum(), 1)
    pairs = (n_out * (n_out - 1)).sum()
    return mean, (n_alarms * (n_alarms - 1)).sum() / max(pairs, 1) - mean**2


def _share_above(mean, variance, times):
    """Return the share of a beta distribution of these moments above a multiple of its mean."""
    if not 0 < variance < mean * (1 - mean):
        return 0.0
    size = mean * (1 - mean) / variance - 1
    return float(stats.beta.sf(times * mean, mean * size, (1 - mean) * size))


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
    """Whether single records are mistaken for members far more often than all on average.

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
        if found is None or found.low < _LEAST_SHARE:
            return None
        share, low, high = (f"{100 * number:.2g}%" for number in found)
        text = (
            f"At the threshold of {visible(name)} at which {100 * rate:g}% of the non-members are "
            f"mistaken for members on average, about {share} of the records [{low}, {high}] have a "
            f"rate above {100 * _TIMES * rate:g}%, by shadow models treated as the victim. "
            "EqualRateAttack has a threshold for each record."
        )
        return self.answer(STATED, text, found)


def _choose_rate(numbers):
    """Return the smallest measured rate from 1% on, else the largest."""
    rows = numbers[(numbers["scope"] == OVERALL) & (numbers["metric"] == "tpr")]
    rates = sorted(rows.loc[rows["status"] == OK, "max_fpr"].unique())
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
    return share_frequent_alarms(flagged, is_out, _TIMES, case.level, rng)
