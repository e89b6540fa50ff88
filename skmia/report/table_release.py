"""What a policy recommends after an audit of a synthetic table."""

from dataclasses import replace
from functools import partial

import numpy as np
from scipy.special import ndtri

from .._core.evidence import CONCLUSIVE
from ..disclosure import Measurement, Policy, load_policy, recommend
from ..metrics import Interval
from ..synthetic import excess_risk

# Names of the numbers in policies, and the numbers of the report that each is the largest of.
_NUMBERS = {
    "singling_out": ("singling out", "singling out, one column"),
    "linkability": ("linkability",),
    "inference": ("inference of ",),
    "privacy_loss": ("privacy loss",),
    "exact_rare_copies": ("rare copies",),
}


def recommend_table(report, policy, conditions, provenance):
    """Recommend whether a synthetic table may be released, see :func:`recommend_release`."""
    policy = policy if isinstance(policy, Policy) else load_policy(policy)
    found = recommend(
        policy,
        "table",
        measure_table(report),
        conditions=conditions,
        provenance=describe_origin(report, *report.seeds) | provenance,
    )
    if report.evidence in CONCLUSIVE:
        return found
    return replace(found, result="cannot be said", reasons=(report.verdict,))


def describe_origin(report, *seeds):
    """What a second person needs to repeat an audit, with the seeds of these names."""
    versions = ", ".join(f"{name} {version}" for name, version in report.versions.items())
    given = {name: str(report.seeds[name]) for name in seeds}
    return {"created": report.created, "versions": versions, **given}


def measure_table(report):
    """The numbers of an audit of a table that policies limit, each the largest of its kind.

    Parameters
    ----------
    report : TableReport

    Returns
    -------
    measurements : list of Measurement
    """
    measurements = []
    for name in _NUMBERS:
        rows = list_numbers(report, name)
        rows = rows[rows["estimate"].notna()]
        if len(rows):
            n_rows = rows["n_attacks"] + rows["n_controls"]
            interval = partial(_bound_largest, rows.to_dict("records"), _get_level(report))
            measurements.append(Measurement(name, interval, n_records=int(n_rows.max())))
    return measurements


def list_numbers(report, name):
    """Rows of the results that belong to the name of a number in policies and limits."""
    wanted = _NUMBERS[name]
    if name == "inference":
        wanted = [number for number in report.results.index if number.startswith(wanted)]
    return report.results.loc[[number for number in wanted if number in report.results.index]]


def _get_level(report):
    return report.settings["confidence_level"]


def _bound_largest(rows, stated, level):
    """The interval of the largest number of several, by its level."""
    above = [_bound(row, stated, level) for row in rows]
    # Any of the lower ends may be too high, so they share the error.
    below = [_bound(row, stated, 1 - (1 - level) / len(rows)) for row in rows]
    return Interval(
        max(found.estimate for found in above),
        max(found.low for found in below),
        max(found.high for found in above),
    )


def _bound(row, stated, level):
    estimate = row["estimate"]
    if np.isnan(row["attack"]):
        factor = ndtri((1 + level) / 2) / ndtri((1 + stated) / 2)
        low, high = (estimate + factor * (row[end] - estimate) for end in ("low", "high"))
        return Interval(estimate, low, high)
    counts = []
    for rate, n in (("attack", "n_attacks"), ("control", "n_controls")):
        counts += [min(row[rate] * row[n], row[n]), int(row[n])]
    found = excess_risk(*counts, confidence_level=level)
    # The ends of an interval without limit are replaced by what a share cannot exceed.
    high = found.high if np.isfinite(found.high) else 1.0
    low = found.low if np.isfinite(found.low) else -np.inf
    return Interval(estimate, min(low, estimate), max(high, estimate))
