"""Small functions of attacks at the limits of their branches, with answers by hand."""

import warnings
from types import SimpleNamespace as NS

import numpy as np
import pandas as pd
import pytest
from by_hand import expect_answers, tell_refusal
from defaults import compare_defaults_of
from numpy import array, nan
from scipy.linalg import LinAlgWarning
from sklearn.exceptions import ConvergenceWarning

from skmia.attacks import (
    ShadowAttack,
    _array_search,
    _attack_people,
    _attribute,
    _bit_solver,
    _file_attack,
    _lira,
    _one_query,
    _queried_threshold,
    _released_model,
    _shadow,
    _split_threshold,
    _stack_models,
    _stacked,
    _stored_values,
    _vulnerable_records,
    diversity,
    ranges,
)
from skmia.signals import get_signal


def shadow_reads(*features):
    return sorted(ShadowAttack(features=features)._needs().reads)


two_people = _attack_people.NumberedPeople(array([0, 1, 0]))


def has_collapsed(missing, is_assumed=True):
    residuals = array([] if missing is None else [900.0, 4.0 * missing])
    attack = NS(_weights=array([1.0, 4.0]), _equations=NS(is_assumed=is_assumed), prior=0.5)
    solution = NS(residuals=residuals)
    return bool(_bit_solver.EquationsAttack._has_collapsed(attack, solution, 100))


def fit_with_warnings(features, is_member):
    warnings.warn("It stops early.", ConvergenceWarning, stacklevel=1)
    warnings.warn("A step fails.", LinAlgWarning, stacklevel=1)
    return features + is_member


CELLS = array([[1.0, 7.0, 1.0, 0.0], [2.0, 3.0, 0.0, 1.0], [2.0, 5.0, 0.0, 1.0]])
FRAME = pd.DataFrame(CELLS, columns=[*"abcd"])


def attribute(sensitive, values=None, frame=False, X=None):
    X = FRAME if frame else CELLS if X is None else X
    return _attribute.SensitiveAttribute(X, sensitive, values)


sorted_column = _queried_threshold._SortedColumn(array([3.0, 1.0, nan, 1.0, 5.0, 9.0]), 4)


SEVERAL = pd.DataFrame({"a": [[1, 2], np.array(["x", "y"]), 3]})


def expect_variance(squares, n_models, counts):
    return _attack_people._expect_variance(array(squares), array(n_models), array(counts))


def choose_models(n_models, n_records):
    attack = NS(pool_=NS(membership_=np.zeros((n_models, 1))))
    return _attack_people.choose_models(attack, n_records)


OWN = array([1.5, -2.0, 3.0])
OF_MODELS = array(
    [[0.5, 1.0, 2.0], [1.0, nan, 4.0], [2.5, 3.0, nan], [3.5, -1.0, nan], [1.0, 0.5, nan]]
)
KNOWN, N_RECORDS = np.isfinite(OF_MODELS), array([1, 2, 3])


def standardize_by_hand():
    return _attack_people.standardize(OWN, OF_MODELS, KNOWN, N_RECORDS)


def standardize_in_loops():
    """Score each person, and each model as the victim, by the formula of the docstring."""
    squares = [np.nansum((one - np.nanmean(one)) ** 2) for one in OF_MODELS.T]
    prior = expect_variance(squares, KNOWN.sum(axis=0), N_RECORDS)

    def score(value, others, k):
        variance = (((others - others.mean()) ** 2).sum() + 8 * prior[k]) / (len(others) + 7)
        return (value - others.mean()) / np.sqrt(variance * (1 + 1 / len(others)))

    of_people = [column[~np.isnan(column)] for column in OF_MODELS.T]
    scores = [score(OWN[k], of_people[k], k) for k in (0, 1)] + [nan]
    left = [
        score(OF_MODELS[j, k], np.delete(OF_MODELS[:, k], j)[np.delete(KNOWN[:, k], j)], k)
        for j in range(5)
        for k in (0, 1)
        if KNOWN[j, k]
    ]
    return scores, left


def evidence_of_people(judged, correlation):
    """Summarize three people, of which the third has a score above those of 39 non-members."""
    scores, others = array([3.0, 1.0, 50.0]), np.arange(39.0)
    given = array(["a", "b", "c"]), scores, array([1, 1200, 7]), array(judged), others
    return _attack_people.PeopleEvidence(*given, "sum", correlation).summary()


digests = array([[1, 1, 2, 5], [7, 8, 9, 9]], dtype=np.uint64)
one = NS(
    fingerprint=array([5, 1, 9, 2], dtype=np.uint64),
    digests=array([[5, 1, 9, 2], [9, 8, 9, 3]], dtype=np.uint64),
)
two = NS(
    fingerprint=array([5, 1, 5, 2], dtype=np.uint64),
    digests=array([[5, 1, 5, 2], [9, 8, 9, 3]], dtype=np.uint64),
)

# Of each module: calls and answers. Whatever may be equal differs, and each branch decides once.
ANSWERS = {
    _array_search: [
        (lambda: _array_search.make_columns(FRAME[["a"]]), {"a": [1.0, 2.0, 2.0]}),
        (
            lambda: _array_search.make_columns(array([[1.0, -0.0], [2.0, 5.0]])),
            {"0": [1.0, 2.0], "1": [0.0, 5.0]},
        ),
        (lambda: _array_search.make_columns(array([3, 4])), {"0": [3.0, 4.0]}),
        (
            lambda: tell_refusal(lambda: _array_search.make_columns(SEVERAL)),
            "Cells that hold several values cannot be searched for.",
        ),
        (lambda: _array_search.count_decimals(array([1.25, 3.0])), 2),
        (lambda: _array_search.count_decimals(array([1.0, 3.0])), 0),
        (lambda: _array_search.count_decimals(array([1 / 3])), None),
        (lambda: _array_search.is_among(array([1, 2, 9]), array([1, 3])), [True, False, False]),
        (lambda: _array_search.is_among(array([1, 2]), array([])), [False, False]),
        (lambda: _array_search.are_single(array([0.5, nan])), True),
        (lambda: _array_search.are_single(array([0.1])), False),
        (lambda: _array_search.compute_chance(0.5, [1, 2, 3], 100), [0.5, 0.75, 0.875]),
        (lambda: _array_search.compute_chance(0.0, [1, 2], 100), [0.0099009901, 0.5]),
        (
            lambda: _array_search._are_quantiles(np.sort(np.arange(200.0).reshape(-1, 2), axis=0)),
            True,
        ),
        (lambda: _array_search._are_quantiles(np.arange(100.0)[:, None]), False),
        (lambda: _array_search._are_quantiles(np.arange(4.0).reshape(2, 2)), False),
        (lambda: _array_search._are_quantiles(np.arange(200.0)[::-1].reshape(-1, 2)), False),
    ],
    _attack_people: [
        (
            lambda: _attack_people._compute_t_statistic(
                array([0.0, 2.0]), array([1.0, 3.0]), array([4, 4]), array([2.0, 2.0])
            ),
            [0.0, 1.36111409],
        ),
        # Variances 3, 2 and 1.5 are 1 + 2 / n of 1, 2 and 4 records.
        (lambda: expect_variance([6.0, 4.0, 3.0], [3, 3, 3], [1, 2, 4]), [3.0, 2.0, 1.5]),
        # The third person has one model, and so no variance, but that of two records.
        (lambda: expect_variance([3.0, 4.0, 0.0], [2, 3, 1], [1, 2, 2]), [3.0, 2.0, 2.0]),
        # Neither part is below zero.
        (lambda: expect_variance([2.0, 4.0, 6.0], [3, 3, 3], [1, 2, 4]), [2.0, 2.0, 2.0]),
        (
            lambda: expect_variance([8.0, 2.0, 0.0], [3, 3, 3], [1, 2, 4]),
            [20 / 7, 10 / 7, 5 / 7],
        ),
        (lambda: expect_variance([1.0, 3.0], [2, 2], [2, 2]), [2.0, 2.0]),
        (lambda: expect_variance([0.0, 0.0], [2, 2], [2, 2]), [np.finfo(float).tiny] * 2),
        (lambda: expect_variance([0.0, 0.0], [1, 0], [2, 2]), [1.0, 1.0]),
        # Three persons by five models; the third has two, with which nothing is judged.
        (lambda: standardize_by_hand()[0], standardize_in_loops()[0]),
        (lambda: standardize_by_hand()[1], standardize_in_loops()[1]),
        (lambda: choose_models(20, 400_000), [0, 2, 4, 6, 8, 10, 12, 14, 16, 19]),
        (lambda: len(choose_models(20, 4_000_000)), 8),
        (lambda: choose_models(5, 4_000_000), [0, 1, 2, 3, 4]),
        (lambda: choose_models(5, 10), [0, 1, 2, 3, 4]),
        (lambda: two_people.sum(array([[1.0, 2.0, 4.0]])), [[5.0, 2.0]]),
        (
            lambda: two_people.combine(
                array([[1.0, 2.0, 4.0], [nan, 3.0, 1.0]]), array([True, False, True]), "sum"
            ),
            [[5.0, nan], [nan, nan]],
        ),
        (
            lambda: two_people.combine(
                array([[1.0, 2.0, 4.0], [-3.0, 3.0, -5.0]]), array([True, False, True]), "max"
            ),
            [[4.0, nan], [-3.0, nan]],
        ),
        # Residuals -1, 0, 1 and 1, 0, -1 of a person of two records, and those of one alone.
        (
            lambda: two_people.correlate(
                array([[1.0, 5.0, 4.0], [2.0, 7.0, 3.0], [3.0, 9.0, 2.0], [9.0, 1.0, 9.0]]),
                array([[True, True], [True, True], [True, True], [False, False]]),
            ),
            -1.0,
        ),
        (
            lambda: two_people.correlate(
                array([[1.0, 5.0, 1.0], [2.0, 7.0, 3.0], [3.0, 9.0, 2.0]]),
                np.ones((3, 2), dtype=bool),
            ),
            0.5,
        ),
        (
            lambda: two_people.correlate(
                array([[1.0, 5.0, 1.0], [2.0, 7.0, nan]]), np.ones((2, 2), dtype=bool)
            ),
            nan,
        ),
        (
            lambda: evidence_of_people([True, True, True], nan).splitlines(),
            [
                "3 people with 1 to 1,200 records each, combine='sum'",
                "1 of 3 have a p-value of at most 0.05; without members about 0.15 would",
                "calibrated on 39 scores of non-members by shadow models",
            ],
        ),
        (
            lambda: evidence_of_people([True, True, False], 0.25).splitlines()[1::2],
            [
                "0 of 2 have a p-value of at most 0.05; without members about 0.1 would",
                "1 people have too few shadow models",
            ],
        ),
        (
            lambda: evidence_of_people([True, True, False], 0.25).splitlines()[-1],
            "mean correlation of two records of a person: 0.25",
        ),
    ],
    _attribute: [
        # One column with its values, or some of them; a block of columns with a single one each.
        (lambda: attribute(1).values, [3.0, 5.0, 7.0]),
        (lambda: attribute(1, [9.0, 3.0, 9.0]).values, [9.0, 3.0]),
        (lambda: attribute(1).read(CELLS), [7.0, 3.0, 5.0]),
        (lambda: attribute("b", frame=True).read(FRAME), [7.0, 3.0, 5.0]),
        (lambda: attribute(slice(2, 4)).values, [2, 3]),
        (lambda: attribute(slice(2, 4)).read(CELLS), [2, 3, 3]),
        (lambda: attribute(["d", "c"], frame=True).read(FRAME), ["c", "d", "d"]),
        (lambda: attribute(1).complete(CELLS, 4.0)[:, 1], [4.0, 4.0, 4.0]),
        (
            lambda: attribute(["d", "c"], frame=True).complete(FRAME, "c")[["c", "d"]],
            {"c": [1.0] * 3, "d": [0.0] * 3},
        ),
        (lambda: (attribute(1).complete(CELLS, 4.0) is CELLS, CELLS[0, 1]), (False, 7.0)),
        (lambda: attribute([2, 3]).drop(CELLS), CELLS[:, :2]),
        (
            lambda: [
                *attribute(["a", "c"], X=FRAME[["a", "c", "b"]].assign(a=[0.0, 1, 1])).drop(
                    FRAME[["a", "c", "b"]]
                )
            ],
            ["b"],
        ),
        (lambda: attribute(1).check(CELLS), None),
        (
            lambda: [
                tell_refusal(lambda X=X: attribute(1).check(X)) is None
                for X in (CELLS, CELLS[:, :3], FRAME)
            ],
            [True, False, False],
        ),
        (
            lambda: [
                tell_refusal(lambda X=X: attribute("b", frame=True).check(X)) is None
                for X in (FRAME, FRAME[["b", "a", "c", "d"]], CELLS)
            ],
            [True, False, False],
        ),
        (
            lambda: [
                tell_refusal(call)
                for call in (
                    lambda: attribute([4]),
                    lambda: attribute("x", frame=True),
                    lambda: attribute([]),
                    lambda: attribute(slice(None)),
                    lambda: attribute([2, 3], [1.0]),
                    lambda: attribute([1, 2]),
                    lambda: attribute(1, [3.0]),
                    lambda: attribute(0, X=np.full((3, 2), 1.0)),
                    lambda: attribute(0, X=array([[1.0, 0.0], [nan, 0.0], [nan, 1.0]])),
                )
            ],
            [
                "sensitive=4 is not a column of X.",
                "sensitive='x' is not a column of X.",
                "sensitive must name some but not all of the 4 columns; got 0.",
                "sensitive must name some but not all of the 4 columns; got 4.",
                "values must be None for a one-hot block, which has its own.",
                "A sensitive block must be one-hot; record 0 is not. A block needs the columns of "
                "all values, also of one that was dropped.",
                "Column 1 needs at least two candidates; got 1.",
                "Column 0 needs at least two candidates; got 1.",
                "The column 0 lacks 2 of 3 values, first at position 1. Leave out the records "
                "without a value, or give the missing value a name.",
            ],
        ),
        (
            lambda: [
                tell_refusal(lambda n=n: attribute(0, X=np.arange(2.0 * n).reshape(n, 2)))
                for n in (100, 101)
            ],
            [None, "The column 0 has 101 values; pass candidates as values=."],
        ),
    ],
    _bit_solver: [
        (lambda: _bit_solver.measure_misfit(NS(residuals=array([3.0, 4.0]))), 3.53553391),
        (lambda: _bit_solver._as_share(-0.1), 0.0),
        # Of 100 candidates, half of whom are members, 25 members more or less may be found.
        (lambda: has_collapsed(25.0), False),
        (lambda: has_collapsed(25.1), True),
        (lambda: has_collapsed(-25.1), True),
        (lambda: has_collapsed(90.0, is_assumed=False), False),
        (lambda: has_collapsed(None), False),
        (lambda: _bit_solver._as_share(0.25), 0.25),
        (lambda: _bit_solver._as_share(2.0) < 1, True),
    ],
    _file_attack: [
        (
            lambda: _file_attack.sort_distinct(two),
            ([1, 3, 0, 2], [[1, 2, 5], [8, 3, 9]], [0, 1, 2, 2]),
        ),
        (
            lambda: _file_attack.find_known(digests[:, [0, 2, 3]], one),
            ([2, 0, 2, 1], [True, False, False, False]),
        ),
        (lambda: _file_attack.choose_offset(array([-2.0, 3.0, -2.0, 1.0]), 0.5), 3.0),
        (lambda: _file_attack.choose_offset(array([-2.0, -3.0]), 0.5), 5e-324),
    ],
    _lira: [
        (
            lambda: _lira._log_probability(array([0, 2]), array([2, 2]), array([0.5, 0.25]), 2.0),
            [-1.09861229, -2.07944154],
        ),
        (lambda: _lira._average_queries(array([[1.0, 2.0]])), [1.0, 2.0]),
        (lambda: _lira._average_queries(array([[1.0, 2.0], [3.0, 6.0]])), [2.0, 4.0]),
    ],
    _one_query: [
        (
            lambda: _one_query._advantage(
                array([1.0, 0.0, 1.0, 1.0]), array([True, True, False, False])
            ),
            -0.5,
        ),
        (lambda: _one_query._advantage(array([1.0, 0.0]), array([True, True])), 0.0),
        (lambda: _one_query._advantage(array([1.0, 0.0]), array([False, False])), 0.0),
    ],
    _queried_threshold: [
        # Distinct values 1, 3, 5 and 9 of five rows, of which the first four are candidates.
        (lambda: sorted_column.rows, [1, 3, 0, 4, 5]),
        (lambda: sorted_column.slots, [0, 0, 1, 2, 3]),
        (lambda: sorted_column.starts, [0, 2, 3, 4, 5]),
        (lambda: sorted_column.before, [0, 2, 3, 3, 3]),
        # Values alone, and pairs of which a threshold is the middle.
        (lambda: sorted_column.explain(3.0, 3.0), ([0, 1], [2, 1])),
        (lambda: sorted_column.explain(4.0, 4.0), ([1], [2])),
        (lambda: sorted_column.explain(4.9, 6.1), ([0, 1, 2], [3, 3, 2])),
        (lambda: sorted_column.explain(3.1, 3.9), ([], [])),
        (lambda: sorted_column.explain(-2.0, -1.0), ([], [])),
        (lambda: sorted_column.explain(20.0, 30.0), ([], [])),
        (
            lambda: _queried_threshold.merge_found(
                NS(
                    columns=array([0, 1, 0, 0]),
                    lower=array([1.0, 1.0, 4.0, 2.0]),
                    upper=array([3.0, 2.0, 5.0, 4.0]),
                    rows=array([7, 8, 9, 6]),
                )
            ),
            ([0, 0, 1], [2.0, 4.0, 1.0], [3.0, 5.0, 2.0], [0, 0, 1, 2], [7, 6, 9, 8]),
        ),
    ],
    _released_model: [
        (
            lambda: _released_model._rank_entry(NS(place="coef_ of A", size=3)),
            (False, -3, "coef_ of A"),
        ),
        (lambda: _released_model._rank_entry(NS(place="_x of A", size=3)), (True, -3, "_x of A")),
        (lambda: _released_model._rank_entry(NS(place="x of A", size=3)), (True, -3, "x of A")),
        (
            lambda: _released_model._locate_array("steps[0].coef_", {"steps[0]": 1}, "whole"),
            ("steps[0]", "coef_", "coef_"),
        ),
        (
            lambda: _released_model._locate_array("steps[0].a_.b_", {"steps[0]": 1}, "whole"),
            ("steps[0]", "a_", "b_"),
        ),
        (lambda: _released_model._locate_array("coef_", {}, "whole"), ("whole", "coef_", "coef_")),
        (lambda: _released_model._name_in_path("a", "b"), "a in b"),
        (lambda: _released_model._name_in_path("a", ""), "a"),
        (lambda: _released_model._capitalize("ab"), "Ab"),
        (lambda: _released_model._from_sample(array([0.0, 2.0]), 1), [0.0, 2.0]),
        (lambda: _released_model._from_sample(array([0.0, 2.0]), 0.5), [0.0, 1.43378083]),
        (
            lambda: [
                len(group)
                for group in _released_model._list_groups(
                    [
                        NS(path="a", fold=None),
                        NS(path="b", fold=NS(group="g")),
                        NS(path="c", fold=NS(group="g")),
                    ]
                )
            ],
            [1, 2],
        ),
        (
            lambda: _released_model._count_stated_rows(
                [
                    NS(
                        has_all=True,
                        attacks=[NS(n_rows_=8)],
                        share=0.5,
                        path="a",
                        fold=NS(group="g"),
                    ),
                    NS(
                        has_all=True,
                        attacks=[NS(n_rows_=10)],
                        share=0.5,
                        path="b",
                        fold=NS(group="g"),
                    ),
                ],
                0,
            ),
            18,
        ),
        (
            lambda: _released_model._count_stated_rows(
                [NS(has_all=False, attacks=[NS(n_rows_=8)], share=0.5, path="a", fold=None)], 0
            ),
            None,
        ),
    ],
    _shadow: [
        # What every feature can be computed from: probabilities, and what signals read beside them.
        (lambda: shadow_reads("probabilities"), ["decision", "logits", "proba"]),
        (lambda: shadow_reads("probabilities", "entropy"), ["logits", "proba"]),
        (lambda: shadow_reads(get_signal("entropy")), ["logits", "proba"]),
        (lambda: [*ShadowAttack()._needs().keeps], ["outputs"]),
    ],
    _split_threshold: [
        (lambda: _split_threshold._to_members(array([0.0, 2.0]), 0.5), [0.0, 1.43378083]),
        (lambda: _split_threshold._to_members(array([0.0, 2.0]), 1), [0.0, 2.0]),
        (lambda: _split_threshold._to_sample(array([0.0, 2.0]), 0.5), [-1.09861229, -0.239544766]),
        (lambda: _split_threshold._to_sample(array([0.0, 2.0]), 1), [0.0, 2.0]),
    ],
    _stack_models: [
        (lambda: _stack_models._fit_quietly(NS(fit=fit_with_warnings), 3, 4), 7),
        (lambda: _stack_models._is_ahead(array([1.0, 1.0, 3.0]), array([0, 0, 1]), 1.0), True),
        (lambda: _stack_models._is_ahead(array([1.0, 1.0, 3.0]), array([0, 0, 1]), 3.0), False),
        (lambda: _stack_models._is_ahead(array([1.0, 1.0]), array([0, 0]), 1.0), False),
        (lambda: _stack_models._is_ahead(array([1.0, 1.0]), array([0, 0]), 0), True),
        (lambda: _stack_models._is_ahead(array([0.0, 0.0]), array([0, 1]), 0), False),
    ],
    _stacked: [
        (lambda: _stacked.estimate_level((4.0, 1.0), (2.0, 3.0)), 3.0),
        (lambda: _stacked.estimate_gap((4.0, 1.0), (2.0, 3.0)), 2.0),
        (lambda: _stacked.estimate_spread((4.0, 1.0), (2.0, 3.0)), 0.693147181),
    ],
    _stored_values: [
        (lambda: _stored_values._between(10, 2, 4), 0.366210938),
        (lambda: _stored_values._between(4, 0, 1), 0.3125),
    ],
    _vulnerable_records: [
        (
            lambda: _vulnerable_records._direct(array([[[3.0], [0.0]], [[4.0], [0.0]]])),
            [[0.600000024, 0.800000012], [0.0, 0.0]],
        ),
    ],
    diversity: [
        (
            lambda: diversity.separate(
                array([[1.0, 0.0], [0.5, 0.5]]), array([[0.5, 0.5], [0.5, 0.5]])
            ),
            [[1.0, 0.0], [0.0, 0.0]],
        ),
        (
            lambda: diversity.separate(array([[0.5, 0.5]]), array([[0.5, 0.5]])),
            [[0.0, 0.0], [0.0, 0.0]],
        ),
        (lambda: diversity._own_product(1, 3), [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]),
        (
            lambda: diversity._count_epochs(array([True, True, True, False, False]), 0.5, 3, 7),
            (7, 7.0),
        ),
        (
            lambda: diversity._count_epochs(array([True, True, True, False, False]), 1e9, 3, None),
            (1, 2000000000.0),
        ),
        # Two steps of .8 in each epoch, of a way of three.
        (
            lambda: diversity._count_epochs(array([True, True, True, False, False]), 0.8, 3, None),
            (2, 3.2),
        ),
    ],
    ranges: [
        (lambda: ranges._average_quantiles(array([[4.0], [1.0], [3.0], [2.0]]), 0.25, 0.75), [2.5]),
        (lambda: ranges._average_quantiles(array([[4.0], [1.0], [3.0], [2.0]]), 0.95, 1.0), [4.0]),
        (lambda: ranges._average_quantiles(array([[4.0], [1.0], [3.0], [2.0]]), 0.0, 0.05), [1.0]),
    ],
}


@pytest.mark.parametrize("module", ANSWERS, ids=lambda module: module.__name__)
def test_answers_by_hand(module):
    expect_answers(ANSWERS[module])


def test_defaults_are_those_of_the_docstrings():
    from skmia import attacks
    from skmia.attacks import diversity, equal_rates, ranges, recovered, white_box

    found, n_compared = compare_defaults_of(
        attacks, diversity, equal_rates, ranges, recovered, white_box
    )
    assert not found
    assert n_compared >= 240
