"""Small functions of disclosure at the limits of their branches, with answers by hand."""

from types import SimpleNamespace as NS

import numpy as np
import pytest
from by_hand import expect_answers
from defaults import compare_defaults_of
from numpy import array
from scipy import stats
from scipy.special import expit
from sklearn.linear_model._base import LinearClassifierMixin

from skmia._core.outputs import Outputs
from skmia.disclosure import _parameters, _recommend, _result, _rules, _structural_checks

LIMIT = {"name": "auc", "group": "all", "status": "fail", "level": "block", "text": "T"}


def make_limit(**other):
    return NS(**LIMIT | other)


# Of each module: calls and answers. Whatever may be equal differs, and each branch decides once.


class OwnLinearModel(LinearClassifierMixin):
    coef_ = np.ones((1, 3))


def count_distinct(places, people, n_places=2):
    return _structural_checks._count_distinct(array(places), array(people), n_places)


def count_groups(numbers, labels, people=None):
    people = None if people is None else array(people)
    found = _structural_checks.count_groups(array(numbers), array(labels), people)
    return found.sizes, found.n_classes, found.smallest_cells


def score(values, kind):
    classes = None if kind in ("value", "log_odds") else [0, 1]
    return _structural_checks._score_model_answers(Outputs(values, classes, kind), array([1, 0]))


def number_labels(kind, classes):
    labels = array([7, 3, 7])
    return _structural_checks._number_labels(Outputs(1.0 * labels, classes, kind), labels)


def check_stored(*given):
    found = _structural_checks.check_stored_rows(*given)
    return found.status, found.value, found.n_records, found.text


def check_freedom(n_parameters, largest=None, effective=1234.56):
    count = NS(n_parameters=n_parameters, formula="f", largest_tree=largest)
    found = _structural_checks.check_freedom(count, 12, effective, _result.THRESHOLDS)
    return found.status, found.value, found.text


LOSS = 0.1, 0.2, 0.3, 0.3, 0.2, 0.1
MORE = 0.5, 0.6, 0.7, 0.7, 0.6, 0.5


def measure_gap(*people):
    membership = np.arange(12) < 6
    people = array(people) if people else None
    return tuple(_result._measure_gap(array([*LOSS, *MORE]), membership, people))


def welch(members, others):
    """The difference of two means with the interval of Welch's test."""
    ends = stats.ttest_ind(others, members, equal_var=False).confidence_interval()
    return np.mean(others) - np.mean(members), ends.low, ends.high


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
        # A linear model of one's own, which always has an intercept.
        (lambda: _parameters._count_linear(OwnLinearModel()), (4, "columns, and intercept")),
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
    _result: [
        # Means .2 and .6, and Welch's interval of .4.
        (lambda: measure_gap(), welch(LOSS, MORE)),
        # Of people it is that of their means, on each side.
        (
            lambda: measure_gap(8, 8, 7, 1, 2, 3, 9, 8, 4, 8, 5, 6),
            welch([0.15, *LOSS[2:]], [0.5, 0.65, 0.7, 0.6, 0.5]),
        ),
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
        # How well each answer fits its label, and the loss.
        (
            lambda: score(array([[0.25, 0.75], [0.9, 0.1]]), "proba"),
            ([0.75, 0.9], [0.25, 0.1], "probability of the label"),
        ),
        (
            lambda: score(np.log([[1.0, 3.0], [9.0, 1.0]]), "logits"),
            ([0.75, 0.9], [0.25, 0.1], "probability of the label"),
        ),
        (
            lambda: score(array([2.0, -1.0]), "log_odds"),
            ([2.0, -1.0], [1 - expit(2.0), 1 - expit(-1.0)], "log odds of the label"),
        ),
        (
            lambda: score(array([3.5, -1.0]), "value"),
            ([-2.5, -1.0], None, "minus the absolute error"),
        ),
        (
            lambda: score(array([1, 1]), "label"),
            ([1.0, 0.0], [0.0, 1.0], "whether the class is right"),
        ),
        (
            lambda: score(array([[-1.0, 2.0], [0.5, 1.0]]), "decision"),
            ([3.0, -0.5], [0.0, 1.0], "margin of the label"),
        ),
        (lambda: number_labels("value", None), ([0, 0, 0], 0)),
        (lambda: number_labels("log_odds", None), ([1, 0, 1], 2)),
        (lambda: number_labels("label", [0, 3, 7]), ([2, 1, 2], 3)),
        # A part of a file that cannot be read is neither stored rows nor none.
        (
            lambda: check_stored(0, 0, ()),
            ("passed", 0, 0, "No training rows were found in the file."),
        ),
        (
            lambda: check_stored(1200, None, ("a",)),
            ("flagged", 1200, None, "The file stores 1,200 training rows."),
        ),
        (
            lambda: check_stored(1200, 5, ()),
            (
                *("flagged", 1200, 5),
                "The file stores 1,200 training rows. 5 members were found among them.",
            ),
        ),
        (
            lambda: check_stored(1, 1, ())[-1],
            "The file stores 1 training row. 1 member was found among them.",
        ),
        (
            lambda: check_stored(0, 0, ("net.a",))[-1],
            "1 part of the file could not be read, such as net.a.",
        ),
        (
            lambda: check_stored(0, 0, ("net.a", "net.b")),
            (
                *("cannot be said", None, None),
                "2 parts of the file could not be read, such as net.a.",
            ),
        ),
        # 12 members: 12, 2, 1 and -1 degrees of freedom are left.
        (
            lambda: [check_freedom(n)[:2] for n in (2, 3, 12, 13)],
            [("passed", 10), ("flagged", 9), ("flagged", 0), ("flagged", -1)],
        ),
        (lambda: check_freedom(None, None), ("cannot be said", None, "Cannot be said: f.")),
        (
            lambda: check_freedom(1200, 30)[2],
            "12 members minus 1,200 parameters (f) leave -1,188 degrees of freedom; fewer than 10 "
            "are flagged. The largest single tree has 30 parameters. The effective degrees of "
            "freedom are 1,234.6.",
        ),
        (
            lambda: check_freedom(2, None, None)[2],
            "12 members minus 2 parameters (f) leave 10 degrees of freedom; fewer than 10 are "
            "flagged.",
        ),
        (
            lambda: check_freedom(11, 1, None)[2],
            "12 members minus 11 parameters (f) leave 1 degree of freedom; fewer than 10 are "
            "flagged. The largest single tree has 1 parameter.",
        ),
        (lambda: _structural_checks._count_who_are(1), "1 member is"),
        (lambda: _structural_checks._count_who_are(1200), "1,200 members are"),
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
