"""The conclusion that the numbers and checks of an audit support."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from .._core.pages import LEAK, NONE, REVERSED, SHIFT, UNKNOWN
from ._measure import OK, OVERALL

# Checks without which no number means anything: while one of them warns, nothing is concluded.
_FIRST = ("labels",)

# Checks of whether members and non-members differ in nothing but the training.
_ALIKE = ("blind baseline", "difficulty", "drift", "formats", "negative control")

# Checks of whether a leak could have been found.
_SIGHTED = ("duplicates", "positive control")

# Without an answer to one of these, no finding can be relied on.
_GUARDS = ("permuted membership", *_FIRST, *_ALIKE)

# Without an answer to one of these, the absence of a finding cannot be relied on.
_GUARDS_OF_NOTHING = (*_SIGHTED, "shadow models", "small groups", "person level")

_NULL_COLUMNS = ["attack", "scope", "group", "metric", "max_fpr", "pvalue_adjusted", "pvalue_below"]

# Permutations take time: a confidence level that needs more of them than this is refused.
_MOST_PERMUTATIONS = 100_000
HIGHEST_LEVEL = 1 - 10 / _MOST_PERMUTATIONS


class Grounds(NamedTuple):
    """What a verdict rests on."""

    results: pd.DataFrame  # the numbers of the audit
    # Results of the permutation test: ``attack``, ``scope``, ``group``, ``metric``, ``max_fpr``,
    # ``pvalue_adjusted``, ``pvalue_below``.
    null: pd.DataFrame
    n_permutations: int  # number of permutations in the test
    checks: dict  # the checks by name
    level: float  # confidence level: one minus the probability of a finding without a leak
    asked: list  # names of the requested attacks


def make_grounds(results, permutation, checks, level, asked):
    """Collect what a verdict rests on; the null is empty if the permutation test failed."""
    null, n_permutations = pd.DataFrame(columns=_NULL_COLUMNS), 0
    if permutation is not None:
        null, n_permutations = permutation.frame, permutation.n_permutations
    return Grounds(results, null, n_permutations, checks, level, asked)


def count_permutations(confidence_level):
    """Number of permutations with which a p-value can fall well below one minus the level."""
    wanted = max(1000, int(np.ceil(10 / (1 - confidence_level) * (1 - 1e-9))))
    if wanted > _MOST_PERMUTATIONS:
        raise ValueError(
            f"confidence_level must be at most {HIGHEST_LEVEL:g} in an audit; at "
            f"{confidence_level!r} a finding would need {wanted:,} permutations of membership."
        )
    return wanted - 1


def list_leaks(grounds):
    """The numbers that are above chance, after correction for all that were tested."""
    # Each side gets half of the significance level, as in a two-sided interval.
    return grounds.null[grounds.null["pvalue_adjusted"] <= (1 - grounds.level) / 2]


def list_reversals(grounds):
    """The AUCs that are below chance, after correction for all AUCs."""
    return grounds.null[grounds.null["pvalue_below"] <= (1 - grounds.level) / 2]


def choose_evidence(grounds):
    """Draw the conclusion of an audit."""
    frame, checks = grounds.results, grounds.checks
    aucs = frame[(frame["metric"] == "auc") & (frame["scope"] == OVERALL)]
    if not (aucs["status"] == OK).any():
        return UNKNOWN
    if _get_warning(checks, _FIRST) is not None:
        return UNKNOWN
    if get_difference(checks) is not None:
        return SHIFT
    if _get_error(checks, _GUARDS) is not None:
        return UNKNOWN
    if len(list_leaks(grounds)):
        return LEAK
    if len(list_reversals(grounds)):
        return REVERSED
    return NONE if get_blindness(checks) is None else UNKNOWN


def get_difference(checks):
    """Return the first check by which members and non-members differ without the model, or None."""
    return _get_warning(checks, _ALIKE)


def _get_warning(checks, names):
    """The first of the named checks that warns, or None; not every audit asks all of them."""
    return next((name for name in names if name in checks and checks[name].is_warning), None)


def _get_error(checks, names):
    """The first of the named checks that failed, or None."""
    return next((name for name in names if name in checks and checks[name].is_error), None)


def get_blindness(checks):
    """Return the check that prevents a conclusion about this model, or None."""
    # If attacks succeed on shadow models and not on the victim, then the victim was trained on
    # other records than membership says, or in another way. If they succeed on shadow models in a
    # group that is too small to be judged on one model, nothing can be said about that group. If
    # people are found though no record is, the numbers of records do not tell. A check that failed
    # could have been any of these.
    found = _get_warning(checks, _FIRST)
    found = found or _get_error(checks, (*_GUARDS, *_GUARDS_OF_NOTHING))
    found = found or _get_warning(checks, _SIGHTED)
    if found is not None:
        return found
    shadows = checks["shadow models"]
    if shadows.is_warning and shadows.finding == "below":
        return "shadow models"
    return _get_warning(checks, ("small groups", "person level"))
