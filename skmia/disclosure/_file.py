"""Checks of what the file of a model tells its training records apart by."""

import numpy as np
from scipy import sparse
from sklearn.frozen import FrozenEstimator

from .._core.asking import unwrap
from .._core.classes import is_of_package
from .._core.skorch_nets import is_skorch
from ..attacks import StoredValuesAttack
from ..inspection import inspect_model
from ..victims import read_state
from ..victims.inputs import find_model
from ..victims.leaves import has_leaves, iter_leaves
from ._checks import check_groups, check_groups_of_rows, check_leaves, check_rows
from ._groups import count_groups, count_leaves, number_rows


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
    n_rows, is_stored = _search_rows(case, inspection)
    if is_stored is not None:
        found.columns["is_stored"] = is_stored
    n_found = None if is_stored is None else int(is_stored.sum())
    found.checks.append(check_rows(n_rows, n_found, inspection.unread))


def _examine_groups(case, answers, found):
    """Add the checks of groups; return the smallest leaf of each member, or None."""
    if not has_leaves(case.model):
        numbers = number_rows(*_list_columns(case.training.X, case.n_records))
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


def _list_columns(X, n_records):
    """Columns of a table of any kind, and the number of its rows."""
    if hasattr(X, "iloc"):
        columns = (X.iloc[:, k].to_numpy() for k in range(X.shape[1]))
    elif sparse.issparse(X):
        X = X.tocsc()
        columns = (X[:, [k]].toarray()[:, 0] for k in range(X.shape[1]))
    else:
        columns = np.reshape(np.asarray(X), (n_records, -1)).T
    return columns, n_records


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


def _search_rows(case, inspection):
    """Number of training rows that the file stores, and which members are among them.

    Estimators that are not known may keep rows under any name, so these arrays are searched, too.
    """
    stored = inspection.stored
    named = stored[stored["kind"] == "rows"] if inspection.level == "rows" else stored[:0]
    others = stored[(stored["kind"] == "other") & (stored["n_values"] > 1)]
    if named.empty and others.empty:
        return 0, None
    attack = StoredValuesAttack(FrozenEstimator(unwrap(case.model))).fit(case.training)
    is_stored, found = np.zeros(case.n_records, dtype=bool), attack.found_
    is_stored[found.index[found["whole_row"].astype(bool)]] = True
    sizes = [shape[0] for shape in named["shape"] if shape is not None]
    n_rows = max([*sizes, *named["n_arrays"]], default=0)
    return max(int(n_rows), int(is_stored.sum())), is_stored
