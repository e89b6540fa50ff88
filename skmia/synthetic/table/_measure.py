"""The privacy numbers of a synthetic table, of training rows beside held-out rows."""

import warnings

import numpy as np
import pandas as pd

from ..._core.blind import score_blindly
from ..._core.records import Records
from ...metrics import auc_interval
from .._copy_test import CopyTest, compute_smallest_share
from .._privacy_loss import PrivacyLoss
from .._risks import InferenceRisk, LinkabilityRisk, SinglingOutRisk
from ._membership import ATTACKS, measure_membership
from .evidence import FIRST, correct, weigh

# Rows of each table for the distances of all pairs, and records to attack.
_MOST_ROWS, _N_ATTACKS = 2000, 2000
# Level of the interval of the AUC that distinguishes training rows from holdout.
_SHIFT_LEVEL = 0.99

COLUMNS = ["estimate", "low", "high", "attack", "control", "naive", "n_attacks", "n_controls"]
COLUMNS += ["pvalue", "pvalue_below", "pvalue_holm"]


def measure(tables, settings, secrets, clock):
    """Measure all numbers.

    Parameters
    ----------
    tables : tuple of DataFrame
        Training rows, holdout and synthetic rows.
    settings : dict
        ``confidence_level`` and ``random_state``, an integer.
    secrets : list of str or None
        Columns to infer; None for each column.
    clock : Clock

    Returns
    -------
    results : DataFrame
        A row for each number.
    copies : DataFrame
        Result of the :class:`CopyTest`.
    resemblance : tuple of float
        How far the synthetic rows are from the holdout, with its limits.
    """
    n_columns = tables[0].shape[1]
    n_numbers = 5 + len(ATTACKS) + (0 if n_columns < 2 else len(secrets or range(n_columns)))
    alpha = 1 - settings["confidence_level"]
    # The smallest p-value has to be below the level after the correction.
    n_permutations = max(999, int(np.ceil(4 * n_numbers / alpha)))
    rng = np.random.RandomState(settings["random_state"])
    thin = thin_and_fill(tables, rng)
    with clock("copies"):
        copies = CopyTest(**settings).fit(*tables).result_
    found = {name: _read_copies(copies.loc[name]) for name in (FIRST, "near copies")}
    with clock("privacy loss"):
        found["privacy loss"], resemblance = _measure_loss(thin, settings, n_permutations)
    with clock("membership"):
        found |= measure_membership(thin, settings, n_permutations)
    # More predicates than rows would be about the same rows.
    n_attacks = min(_N_ATTACKS, *map(len, tables))
    settings = {**settings, "n_permutations": n_permutations, "n_attacks": n_attacks}
    for name, risk in _list_risks(settings, n_columns, secrets).items():
        with clock(name), warnings.catch_warnings():
            # Control records show what a column reveals by determining another one.
            warnings.filterwarnings("ignore", "In the synthetic table")
            result = risk.fit(*tables).result_
        rows = result if name == "inference" else result.iloc[:1]
        for column, row in rows.iterrows():
            found[f"inference of {column}" if name == "inference" else name] = _read_risk(row)
    results = pd.DataFrame(found).T.astype(float)
    results["pvalue_holm"] = correct(results.index, results["pvalue"])
    levels = dict(zip(results.index, alpha * weigh(results.index)))
    copies["smallest_share_corrected"] = [
        compute_smallest_share(row, row["share_counted"], levels.get(name, alpha))
        for name, row in copies.iterrows()
    ]
    return results[COLUMNS], copies, resemblance


def _list_risks(settings, n_columns, secrets):
    risks = {
        "singling out": SinglingOutRisk(**settings),
        "singling out, one column": SinglingOutRisk("univariate", **settings),
    }
    if n_columns > 1:
        risks["linkability"] = LinkabilityRisk(**settings)
        risks["inference"] = InferenceRisk(secrets, **settings)
    return risks


def _measure_loss(tables, settings, n_permutations):
    loss = PrivacyLoss(metric="gower", n_permutations=n_permutations, **settings).fit(*tables)
    low, high = loss.interval_
    number = {"estimate": loss.statistic_, "low": low, "high": high}
    number |= {"attack": np.nan, "control": np.nan, "naive": np.nan}
    number |= {"n_attacks": loss.n_rows_, "n_controls": loss.n_rows_}
    number |= {"pvalue": loss.pvalue_, "pvalue_below": loss.pvalue_below_}
    resemblance = loss.result_.loc["resemblance loss, test", ["estimate", "low", "high"]]
    return number, tuple(resemblance.astype(float))


def _read_copies(row):
    number = {"estimate": row["share"], "low": row["low"], "high": row["high"]}
    number |= {"attack": row["train"] / row["n_train"], "control": row["test"] / row["n_test"]}
    number |= {"naive": np.nan, "n_attacks": row["n_train"], "n_controls": row["n_test"]}
    return number | {"pvalue": row["pvalue"], "pvalue_below": row["pvalue_below"]}


def _read_risk(row):
    number = {"estimate": row["risk"], "low": row["low"], "high": row["high"]}
    number |= {name: row[name] for name in ("attack", "control", "naive")}
    number |= {name: row[name] for name in ("n_attacks", "n_controls", "pvalue")}
    return number | {"pvalue_below": np.nan}


def measure_shift(real, holdout, seed):
    """AUC of a model that distinguishes training rows from the holdout without synthetic rows.

    Returns
    -------
    interval : Interval or None
        With a 99% interval; None if there are too few rows.
    """
    rows = pd.concat([real, holdout], ignore_index=True)
    membership = np.arange(len(rows)) < len(real)
    found = score_blindly(Records(rows, np.zeros(len(rows))), membership, seed)
    if found is None:
        return None
    places, scores = found
    return auc_interval(membership[places], scores, confidence_level=_SHIFT_LEVEL)


def thin_and_fill(tables, rng):
    """At most 2,000 rows of each table, without missing numbers, for distances of all pairs."""
    return _fill([thin(table, rng) for table in tables])


def thin(table, rng, most=_MOST_ROWS):
    """At most so many rows of a table, drawn at random."""
    if len(table) <= most:
        return table
    return table.iloc[np.sort(rng.choice(len(table), most, replace=False))]


def _fill(tables):
    """Tables whose columns of numbers lack nothing; whether a value was missing is a category."""
    frames = [table.copy() for table in tables]
    for column in frames[-1].columns:
        lacks = [frame[column].isna() for frame in frames]
        numeric = all(pd.api.types.is_numeric_dtype(frame[column].dtype) for frame in frames)
        if not numeric or not any(part.any() for part in lacks):
            continue
        known = frames[-1][column].dropna()
        middle = known.median() if len(known) else 0.0
        added = f"{column} is missing"
        while added in frames[-1]:
            added += " "
        for frame, part in zip(frames, lacks):
            frame[column] = frame[column].fillna(middle)
            frame[added] = part.to_numpy().astype(str)
    return frames
