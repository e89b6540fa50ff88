"""Whether the numbers of a synthetic table can be trusted."""

import numpy as np
import pandas as pd

from .evidence import FIRST, POWER, format_share

PASSED, WARNING, STATED, NOT_RUN = "passed", "warning", "stated", "not run"
# Share of the training rows with an equal row in the holdout from which there is a warning.
_MANY = 0.1


def make_checks(tables, shift, copies):
    """List the checks.

    Parameters
    ----------
    tables : dict of str to DataFrame
    shift : Interval or None
        AUC of a model that distinguishes training rows from the holdout.
    copies : DataFrame or None
        Result of the :class:`CopyTest`.

    Returns
    -------
    checks : dict of str to dict
        ``status`` and ``text`` of each check by its name.
    """
    if "holdout" not in tables:
        missing = {"status": NOT_RUN, "text": "There is no holdout."}
        return {name: dict(missing) for name in ("one population", "duplicates", "resolution")}
    return {
        "one population": _check_shift(shift),
        "duplicates": _check_duplicates(tables["real"], tables["holdout"]),
        "resolution": _check_resolution(copies),
    }


def _check_shift(shift):
    if shift is None:
        return {"status": NOT_RUN, "text": "There are too few rows."}
    estimate, low, high = shift
    text = (
        "A model without the synthetic rows distinguishes training rows from the holdout with AUC "
        f"{estimate:.3f} [{low:.3f}, {high:.3f}]"
    )
    if low <= 0.5:
        text += "; a warning is given if the interval lies above 0.5."
        return {"status": PASSED, "text": text}
    return {"status": WARNING, "text": f"{text}."}


def _check_duplicates(real, holdout):
    keys = [_hash(table) for table in (real, holdout)]
    share = float(np.isin(keys[0], np.unique(keys[1])).mean())
    text = f"{100 * share:.3g}% of the training rows have an equal row in the holdout"
    if share <= _MANY:
        return {"status": PASSED, "text": f"{text}."}
    return {
        "status": WARNING,
        "text": f"{text}, and what is copied from one is copied from the other: the numbers are "
        "too small. Are rows of one person in both tables?",
    }


def _hash(table):
    numbers = table.select_dtypes("number")
    table = table.assign(**{name: numbers[name] + 0.0 for name in numbers})
    return pd.util.hash_pandas_object(table.astype(object), index=False).to_numpy()


def _check_resolution(copies):
    shares = {name: copies.loc[name, "smallest_share_corrected"] for name in (FIRST, "near copies")}
    text = (
        f"Exact copies of {format_share(shares[FIRST])} of the training rows, or near copies of "
        f"{format_share(shares['near copies'])}, would have been found with a probability of "
        f"{100 * POWER:g}%."
    )
    return {"status": STATED, "text": text}
