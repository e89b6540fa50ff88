"""Counts by the formulas of SACRO-ML, for comparison."""

from sklearn.tree import DecisionTreeClassifier

from ..victims.inputs import find_model
from ..victims.leaves import iter_leaves
from ._groups import count_groups, number_rows

# A probability nearer to 0 is 0 there.
_ZERO = 1e-8


def count_as_published(case, answers):
    """Count flagged members by shares of answers, which are not shares of people.

    Groups are leaves of a decision tree, and members with exactly the same answer otherwise. A
    class with a share of 0 is ruled out, and a small cell is a share of a group that makes fewer
    people than the threshold.

    Parameters
    ----------
    case : Case
    answers : Answers to the members

    Returns
    -------
    counts : dict of str to int
        Empty if the answers are not probabilities.
    """
    if not answers.has_probabilities:
        return {}
    columns = answers.columns.T
    if case.has_file and isinstance(find_model(case.model)[0], DecisionTreeClassifier):
        columns = [leaves.places for leaves in iter_leaves(case.model, case.training.X)]
    numbers = number_rows(columns, case.n_records)
    sizes = count_groups(numbers, answers.labels, case.people).sizes
    is_zero = answers.columns < _ZERO
    is_small = answers.columns * sizes[:, None] < case.thresholds["small_cells"].least
    return {
        "class_disclosure": int(is_zero.any(axis=1).sum()),
        "small_cells": int((is_small & ~is_zero).any(axis=1).sum()),
    }
