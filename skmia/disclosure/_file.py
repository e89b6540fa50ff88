"""Checks of what the file of a model tells its training records apart by."""

import numpy as np
from sklearn.frozen import FrozenEstimator

from .._core.asking import unwrap
from .._core.classes import is_of_package
from .._core.records import Records
from .._core.skorch_nets import is_skorch
from ..attacks import StoredValuesAttack
from ..inspection import inspect_model
from ..victims import read_state
from ..victims.inputs import find_model
from ..victims.leaves import has_leaves, iter_leaves
from ._checks import check_groups, check_groups_of_rows, check_leaves, check_rows
from ._groups import count_groups, count_leaves, number_rows

# Packages whose models keep rows under names that are known.
_KNOWN = {"catboost", "imblearn", "lightgbm", "sklearn", "skorch", "xgboost"}


def examine_file(case, answers, found):
    """Add the checks of groups, leaves and stored rows to the findings.

    Parameters
    ----------
    case : Case
    answers : Answers to the members
    found : Findings
    """
    inspection = inspect_model(case.model)
    _compare_numbers(case, inspection, found)
    smallest = _examine_groups(case, answers, found)
    may_have = smallest is None and _may_have_leaves(case.model)
    found.checks.append(check_leaves(smallest, case.name, may_have, case.thresholds))
    n_rows, is_stored = _search_rows(case, inspection, found)
    if is_stored is not None:
        found.columns["is_stored"] = is_stored
    n_found = None if is_stored is None else int(is_stored.sum())
    found.checks.append(check_rows(n_rows, n_found, inspection.unread))


def _examine_groups(case, answers, found):
    """Add the checks of groups; return the smallest leaf of each member, or None."""
    if not has_leaves(case.model):
        hashes = Records(case.training.X, np.zeros(case.n_records)).digests
        numbers = number_rows(hashes, case.n_records)
        sizes = count_groups(numbers, answers.labels, case.people)
        found.add_groups(
            check_groups_of_rows(sizes, answers, case.name, case.thresholds), sizes, "structure"
        )
        return None
    smallest = np.full(case.n_records, np.iinfo(np.int64).max)
    leaves = iter_leaves(case.model, case.training.X)
    numbers = number_rows(_watch(leaves, smallest, case.people), case.n_records, to_the_end=True)
    sizes = count_groups(numbers, answers.labels, case.people)
    checks = check_groups(sizes, answers, "file", case.thresholds)
    found.add_groups(checks, sizes, "structure")
    found.columns["smallest_leaf"] = smallest
    return smallest


def _watch(leaves, smallest, people):
    """Yield the leaves of each tree, and note the smallest number of training records in them."""
    for places, counts in leaves:
        np.minimum(smallest, count_leaves(places, people), out=smallest)
        if counts is not None and counts[places].all():
            np.minimum(smallest, counts[places].astype(np.int64), out=smallest)
        yield places


def _compare_numbers(case, inspection, found):
    stated, given = inspection.n_rows, case.n_records
    if stated is not None and stated > given:
        found.notes.append(
            f"The file states at least {stated:,} training rows, and {given:,} members were given: "
            "groups that are counted from them are too small."
        )


def _may_have_leaves(model):
    """Whether there are trees inside of a model, or it is of a package that is not known."""
    known = is_of_package(find_model(model)[0], "sklearn") or is_skorch(find_model(model)[0])
    parts = (part.estimator for part in read_state(model).estimators)
    return not known or any(has_leaves(part) for part in parts)


def _search_rows(case, inspection, found):
    """Number of training rows that the file stores, and which members are among them.

    Estimators of packages that are not known may keep rows under any name, so all that they store
    is searched.
    """
    stored = inspection.stored
    named = stored[stored["kind"] == "rows"] if inspection.level == "rows" else stored[:0]
    if named.empty and not _has_foreign_parts(case.model):
        return 0, None
    sizes = [shape[0] for shape in named["shape"] if shape is not None]
    n_rows = max([*sizes, *named["n_arrays"]], default=0)
    try:
        attack = StoredValuesAttack(FrozenEstimator(unwrap(case.model))).fit(case.training)
    except ValueError as error:  # such as sparse rows with too many columns
        found.notes.append(f"Members were not looked for among the stored arrays: {error}")
        return int(n_rows), None
    is_stored, hits = np.zeros(case.n_records, dtype=bool), attack.found_
    is_stored[hits.index[hits["whole_row"].astype(bool)]] = True
    return max(int(n_rows), int(is_stored.sum())), is_stored


def _has_foreign_parts(model):
    parts = read_state(model).estimators
    return any(type(part.estimator).__module__.split(".")[0] not in _KNOWN for part in parts)
