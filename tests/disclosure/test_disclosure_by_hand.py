"""Small functions of disclosure at the limits of their branches, with answers by hand."""

from types import SimpleNamespace as NS

import numpy as np
import pytest
from by_hand import expect_answers
from defaults import compare_defaults_of
from numpy import array

from skmia._core.outputs import Outputs
from skmia.disclosure import _parameters, _recommend, _rules, _structural_checks

LIMIT = {"name": "auc", "group": "all", "status": "fail", "level": "block", "text": "T"}


def make_limit(**other):
    return NS(**LIMIT | other)


# Of each module: calls and answers. Whatever may be equal differs, and each branch decides once.


def count_distinct(places, people, n_places=2):
    return _structural_checks._count_distinct(array(places), array(people), n_places)


def count_groups(numbers, labels, people=None):
    people = None if people is None else array(people)
    found = _structural_checks.count_groups(array(numbers), array(labels), people)
    return found.sizes, found.n_classes, found.smallest_cells


ANSWERS = {
    _parameters: [
        (lambda: _parameters._count_of_trees(5), 13),
        (lambda: _parameters._sum_ensemble([3, 5], 2, "f"), (10, "f", 5)),
        (lambda: _parameters._sum_ensemble([], 2, "f"), (2, "f", None)),
        (
            lambda: _parameters._count_net(
                NS(coefs_=[np.zeros((2, 3))], intercepts_=[np.zeros(3)])
            ),
            (9, "weights and biases"),
        ),
        (lambda: _parameters._count_net(NS(coefs_=1)), None),
    ],
    _recommend: [
        (lambda: _recommend._is_small(NS(n_records=4, group="a"), NS(min_group=5)), True),
        (lambda: _recommend._is_small(NS(n_records=5, group="a"), NS(min_group=5)), False),
        (lambda: _recommend._is_small(NS(n_records=4, group="all"), NS(min_group=5)), False),
        (lambda: _recommend._is_small(NS(n_records=None, group="a"), NS(min_group=5)), False),
        (
            lambda: _recommend.list_missing(
                [make_limit(status="missing", group="a"), make_limit()],
                [
                    make_limit(name="c", status="missing"),
                    make_limit(name="d", status="missing", level="review"),
                    make_limit(name="e", status="fail"),
                ],
            ),
            ["auc (a).", "c. T"],
        ),
        (
            lambda: _recommend.list_failures(
                [],
                [
                    make_limit(name="c", status="missing"),
                    make_limit(name="d", level="review"),
                    make_limit(name="e"),
                ],
            ),
            ["e: T"],
        ),
        (
            lambda: _recommend.list_unmet([NS(is_met=True, text="a"), NS(is_met=False, text="b")]),
            ["b"],
        ),
        (
            lambda: _recommend._name_all(
                [
                    make_limit(),
                    make_limit(name="tpr", status="open"),
                    make_limit(name="gap", status="pass"),
                ],
                ("fail", "open"),
            ),
            {("auc", "all"), ("tpr", "all")},
        ),
        (
            lambda: _recommend._name_conditions(
                "x", NS(name="a", limits=[make_limit(status="pass")])
            ),
            ("a",),
        ),
        (
            lambda: _recommend._list_judged_fields(NS(a=1, interval=None)),
            {"a": 1, "interval": None},
        ),
        (
            lambda: _recommend._list_judged_fields(NS(a=1, interval=(1, 2))),
            {"a": 1, "interval": [1, 2]},
        ),
    ],
    _rules: [
        (lambda: _rules._is("none", None), True),
        (lambda: _rules._is("none", 1), False),
        (lambda: _rules._is("all", None), True),
        (lambda: _rules._is("all", 1.0), True),
        (lambda: _rules._is("all", 1), False),
        (lambda: _rules._is("all", 0.5), False),
        (lambda: _rules._is("whole", 3), True),
        (lambda: _rules._is("whole", True), False),
        (lambda: _rules._is("whole", 3.0), False),
        (lambda: _rules._compare_value("<", 2, "3"), True),
        (lambda: _rules._compare_value("<", 3, "3"), False),
        (lambda: _rules._compare_value("<", True, "3"), False),
        (lambda: _rules._compare_value("<", "2", "3"), False),
        (lambda: _rules._compare_value("==", 3, "3"), True),
        (lambda: _rules._compare_value("==", "3", "3"), True),
        (lambda: _rules._compare_value("==", True, "true"), True),
        (lambda: _rules._compare_value("==", False, "true"), False),
        (lambda: _rules._compare_value("==", 1, "true"), False),
        (lambda: _rules._is_zero(0), True),
        (lambda: _rules._is_zero(0.0), True),
        (lambda: _rules._is_zero(False), False),
        (lambda: _rules._is_zero(1), False),
        (lambda: _rules._is_zero("0"), False),
    ],
    _structural_checks: [
        # People at two places: one with two rows, at the same place or not, or as many as rows.
        (lambda: count_distinct([0, 0, 1], [0, 0, 1]), [1, 1]),
        (lambda: count_distinct([0, 1, 1], [0, 0, 1]), [1, 2]),
        (lambda: count_distinct([0, 0, 1], [0, 1, 2]), [2, 1]),
        (lambda: count_distinct([0, 0, 0], [1, 1, 1], 2), [1, 0]),
        (lambda: _structural_checks.count_leaves(array([1, 1, 0])), [2, 2, 1]),
        (lambda: _structural_checks.count_leaves(array([1, 1, 0]), array([0, 0, 1])), [1, 1, 1]),
        # Groups of 3 and 2 records: sizes, classes and the smallest class of each record's group.
        (
            lambda: count_groups([0, 0, 1, 0, 1], [0, 1, 1, 1, 1]),
            ([3, 3, 2, 3, 2], [2, 2, 1, 2, 1], [1, 1, 2, 1, 2]),
        ),
        (
            lambda: count_groups([0, 0, 1, 0, 1], [0, 1, 1, 1, 1], [0, 1, 2, 1, 2]),
            ([2, 2, 1, 2, 1], [2, 2, 1, 2, 1], [1, 1, 1, 1, 1]),
        ),
        (
            lambda: _structural_checks._list_answer_columns(
                Outputs(array([1.0, 2.0]), None, "value")
            ),
            [[1.0], [2.0]],
        ),
        (
            lambda: _structural_checks._list_answer_columns(
                Outputs(array([[0.25, 0.75], [0.5, 0.5]]), [0, 1], "proba")
            ),
            [[0.25, 0.75], [0.5, 0.5]],
        ),
        (
            lambda: _structural_checks._list_answer_columns(
                Outputs(np.log([[1.0, 3.0], [1.0, 1.0]]), [0, 1], "logits")
            ),
            [[0.25, 0.75], [0.5, 0.5]],
        ),
    ],
}


@pytest.mark.parametrize("module", ANSWERS, ids=lambda module: module.__name__)
def test_answers_by_hand(module):
    expect_answers(ANSWERS[module])


def test_defaults_are_those_of_the_docstrings():
    from skmia import disclosure

    found, n_compared = compare_defaults_of(disclosure)
    assert not found
    assert n_compared >= 11
