"""Small functions of disparity at the limits of their branches, with answers by hand."""

from types import SimpleNamespace as NS

import numpy as np
import pandas as pd
import pytest
from by_hand import expect_answers, tell_refusal
from defaults import compare_defaults_of
from numpy import array, inf, nan
from scipy import sparse, stats

from skmia import Records
from skmia.disparity import _permutation, _test

values = array([[0.1, 0.5, 0.2], [0.4, 0.3, 0.9], [0.2, 0.8, 0.6], [0.5, 0.9, 0.1]])
table = pd.DataFrame(values, columns=["a", "b", "c"])
features, labels = array([[1.0, 2.0], [3.0, 4.0]]), array([0, 1])
grouped = Records(features, labels, site=array(["n", "s"]))
given = NS(
    means=array([1.25, -0.5, 0.25]),
    errors=array([0.1, 0.2, 0.3]),
    df=array([3.0, 7.0, 5.0]),
    pair_errors=array([0.3, 0.2, 0.1]),
    pair_df=array([5.0, 4.0, 9.0]),
    pair_pvalues=array([0.01, nan, 0.4]),
)


def reach(level, df, error):
    return stats.t.ppf((1 + level) / 2, df) * error


pair_reach = reach(0.9, given.pair_df, given.pair_errors)
means = pd.Series([0.1, 0.2], index=["a", "b"])


def analyze():
    """Return an analysis of variance by sums over the cells."""
    n_rounds, n_groups = values.shape
    explained = sum(n_rounds * (values[:, j].mean() - values.mean()) ** 2 for j in range(n_groups))
    of_rounds = sum(n_groups * (row.mean() - values.mean()) ** 2 for row in values)
    rest = ((values - values.mean()) ** 2).sum() - explained - of_rounds
    statistic = explained / 2 / (rest / 6)
    # The eigenvalues of the covariance of the contrasts.
    contrasts = array([[1, -1, 0], [1, 1, -2]]) / np.sqrt([[2.0], [6.0]])
    sizes = np.linalg.eigvalsh(contrasts @ np.cov(values.T) @ contrasts.T)
    epsilon = sizes.sum() ** 2 / (2 * (sizes**2).sum())
    pvalues = [stats.f.sf(statistic, 2 * c, 6 * c) for c in (1, epsilon)]
    return [explained, of_rounds, rest], [2, 3, 6], statistic, pvalues[0], epsilon, pvalues[1]


def describe_pairs(found=None):
    return _test.describe_pairs(table, found, confidence_level=0.9, correction="bonferroni")


def compare_pairs():
    """Return the t-tests of all pairs by scipy, in the columns of the table."""
    columns = {name: [] for name in _test.compare_pairs(table, "bonferroni", 0.9)}
    for first, other in (("a", "b"), ("a", "c"), ("b", "c")):
        told = stats.ttest_rel(table[first], table[other])
        interval = told.confidence_interval(0.9)
        away = table[first] - table[other]
        row = [first, other, away.mean(), interval.low, interval.high, told.statistic, 3]
        row += [told.pvalue, min(1.0, 3 * told.pvalue), away.mean() / away.std()]
        for name, value in zip(columns, row, strict=True):
            columns[name].append(value)
    return columns


SUMS = array([[4.0, 3.0], [10.0, 9.0]])
PARTS = _permutation.PartExposures(
    array([[1.0, 0.0, 8.0, 3.0, 0.0, 3.0], [1.0, 0.0, 64.0, 9.0, 0.0, 9.0]]),
    array([0, 2, 1, 0, 2, 2]),
    array([True, True, False, True, True, False]),
    1,
    0.0,
    1.0,
)


def sum_parts(*given):
    columns, *rest = _permutation.sum_parts(*map(array, given))
    return (columns.astype(int), *rest)


def estimate_variance(sums, counts, weight):
    sums, counts = array(sums, dtype=float), array(counts)
    unpacked = _permutation._unpack_sums(sums, counts)
    return _permutation._estimate_variance(unpacked, counts, weight)


def permute(n_permutations, n_enough):
    """Permute groups in blocks of four, of which six reach the statistic: 1, 4, 6, 7, 9 and 12."""
    reached = [[1.0, 0, 0, 1 - 1e-12], [0, 2.0, 1, 0], [1, 0, 1 - 1e-6, 1]]
    found = iter([1.0, *map(array, reached)])
    before = {name: vars(_permutation)[name] for name in ("compare_means", "_draw_group_sums")}
    size, _permutation._BLOCK = _permutation._BLOCK, 4
    _permutation.compare_means = lambda sums, counts: next(found)
    _permutation._draw_group_sums = lambda *given: 0.0
    try:
        return _permutation._permute_exposures(PARTS, n_permutations, n_enough, None)
    finally:
        vars(_permutation).update(before, _BLOCK=size)


def refuse(table):
    return tell_refusal(lambda: _test.check_table(table))


# Of each module: calls and answers. Whatever may be equal differs, and each branch decides once.
def can_reach(n_pairs, correction, alpha, factor):
    """Return whether one pair can be significant, and the number is a little above the least."""
    count = _test.count_permutations(n_pairs, correction, alpha, 999)
    pvalues = np.ones(n_pairs)
    pvalues[0] = 1 / (1 + count)
    least = factor * n_pairs / alpha
    reject, adjusted = _test.adjust(pvalues, correction, alpha)
    return bool(reject[0] and adjusted[0] <= alpha), bool(0.99 * least < count < 1.03 * least)


ANSWERS = {
    _permutation: [
        (
            lambda: _permutation._divide_variances(
                array([0.0, 1.0, 2.0]), array([0.0, 0.0, 4.0]), 3
            ),
            [0.0, inf, 0.5],
        ),
        (
            lambda: sum_parts([1.0, 3.0, nan, 1.0, 3.0], [0, 0, 1, 1, 1], [0, 0, 1, 2, 0]),
            (
                [[0, -1, 1], [0, 1, 1], [2, 1, 1], [0, -1, 1], [4, 1, 1]],
                [0, 1, 1],
                [False, True, False],
                1,
                2.0,
                1.0,
            ),
        ),
        (
            lambda: sum_parts([0.0, 4.0, 4.0, 0.0], [1, 0, 1, 2], [7, 0, 3, 4]),
            ([[-1, 1, 1, -1], [1, 1, 1, 1]], [1, 0, 1, 2], [True] * 4, 0, 2.0, 2.0),
        ),
        (
            lambda: sum_parts([0.1 + 0.2, 0.3], [0, 1], [0, 1])[:1],
            ([[0, 0], [0, 0]],),
        ),
        # Parts of one record: 1 and 3 in a group, 0, 0 and 3 in the other.
        (lambda: estimate_variance(SUMS, [2, 3], 1), [7 / 6, 26 / 27]),
        (lambda: estimate_variance(SUMS, [2, 3], 10), [43 / 33, 49 / 54]),
        # Of one record with 1 and two with 3 together, whose mean is 4/3.
        (lambda: estimate_variance([[4], [10], [3], [7], [5]], [2], 0), [4 / 81]),
        (lambda: estimate_variance([[4], [16]], [1], 1), [0.0]),
        (lambda: permute(4, None), (1.0, 3 / 5)),
        (lambda: permute(12, None), (1.0, 7 / 13)),
        (lambda: permute(12, 1), (1.0, 1 / 1)),
        (lambda: permute(12, 2), (1.0, 2 / 4)),
        (lambda: permute(12, 3), (1.0, 3 / 6)),
        (lambda: permute(12, 5), (1.0, 5 / 9)),
        (lambda: permute(12, 6), (1.0, 6 / 12)),
        (lambda: permute(12, 7), (1.0, 7 / 13)),
        (lambda: _permutation.compare_means(SUMS, array([2, 3])), 1 / (43 / 33 + 49 / 54)),
        (
            lambda: _permutation._estimate_pair(PARTS, (0, 2)),
            (7 / 6 + 26 / 27, (7 / 6 + 26 / 27) ** 2 / ((7 / 6) ** 2 / 2 + (26 / 27) ** 2 / 3)),
        ),
        (
            lambda: tuple(_permutation._take_pair(PARTS, (0, 2)))[:3],
            ([[1, 0, 3, 0, 3], [1, 0, 9, 0, 9]], [0, 1, 0, 1, 1], [True] * 4 + [False]),
        ),
    ],
    _test: [
        (lambda: _test.check_table([[1, None], [2, 3]]), {0: [1.0, 2.0], 1: [nan, 3.0]}),
        (
            lambda: refuse([1, 2]),
            "The table must have a row for each round and a column for each group; got an array "
            "of shape (2,).",
        ),
        (lambda: refuse([[1], [2]]), "There must be at least 2 groups to compare; got 1."),
        (
            lambda: refuse(pd.DataFrame([[1, 2, 3]], columns=["a", "b", "b"])),
            "Each group has one column; 'b' has several.",
        ),
        (lambda: refuse([["a", "b"]])[:27], "The table must hold numbers"),
        (
            lambda: refuse([[1.0, nan], [2.0, inf]]),
            "The table must hold finite numbers, or NaN for missing ones; got inf.",
        ),
        (
            lambda: _test.drop_incomplete(pd.DataFrame({"a": [1, nan, 3], "b": [4, 5, 6]})),
            {"a": [1.0, 3.0], "b": [4, 6]},
        ),
        (
            lambda: tell_refusal(
                lambda: _test.drop_incomplete(
                    pd.DataFrame({"a": [1, nan, 3], "b": [nan, nan, 6.0]})
                )
            ),
            "At least 2 rounds need a value of every group; 1 of 3 have one; group 'b' lacks 2.",
        ),
        (
            lambda: tell_refusal(lambda: _test.drop_incomplete(pd.DataFrame({"a": [1.0]}))),
            "At least 2 rounds need a value of every group; 1 of 1 have one.",
        ),
        # 435 pairs of 30 groups: of their harmonic number, 6.65 times as many for fdr_by.
        *(
            (lambda name=name: _test.count_permutations(435, name, 0.05, 999), 8700)
            for name in sorted(set(_test.CORRECTIONS) - {"fdr_by", "fdr_tsbky"})
        ),
        *(
            (lambda name=name, factor=factor: can_reach(435, name, 0.05, factor), (True, True))
            for name, factor in (("fdr_by", 6.65), ("fdr_tsbky", 1.05))
        ),
        (lambda: _test.count_permutations(1, "holm", 0.05, 7), 20),
        (lambda: _test.count_permutations(3, "fdr_by", 0.25, 99), 99),
        (lambda: _test.analyze(values), analyze()),
        (lambda: _test.analyze(values[:1]), ([nan] * 3, [2, 0, 0], *[nan] * 4)),
        (
            lambda: _test.analyze(array([[0.1, 0.5], [0.3, 0.7]])),
            ([0.16, 0.04, 0.0], [1, 1, 1], inf, 0.0, nan, 0.0),
        ),
        (
            lambda: _test.analyze(array([[0.5, 0.5], [0.25, 0.25]])),
            ([0.0, 0.0625, 0.0], [1, 1, 1], nan, nan, nan, nan),
        ),
        (lambda: _test.estimate_epsilon(values[:, :2]), 1.0),
        (lambda: _test.estimate_epsilon(array([[0.0, 1.0], [1.0, 2.0]])), nan),
        (lambda: _test.compare_pairs(table, "bonferroni", 0.9), compare_pairs()),
        (
            lambda: _test.describe_means(table, None, confidence_level=0.9)["low"].tolist(),
            [one.mean() - reach(0.9, 3, one.std(ddof=1) / 2) for one in values.T],
        ),
        (
            lambda: _test.describe_means(table, given, confidence_level=0.9),
            {
                "mean": [1.0, -0.5, 0.25],
                "std": [one.std(ddof=1) for one in values.T],
                "standard_error": [0.1, 0.2, 0.3],
                "low": [
                    1 - reach(0.9, 3, 0.1),
                    -0.5 - reach(0.9, 7, 0.2),
                    0.25 - reach(0.9, 5, 0.3),
                ],
                "high": [
                    1 + reach(0.9, 3, 0.1),
                    -0.5 + reach(0.9, 7, 0.2),
                    0.25 + reach(0.9, 5, 0.3),
                ],
            },
        ),
        (
            lambda: [*describe_pairs()],
            "group other difference low high pvalue pvalue_adjusted reject t_statistic t_df "
            "t_pvalue t_pvalue_adjusted effect_size".split(),
        ),
        (
            lambda: [*describe_pairs()[["pvalue", "pvalue_adjusted", "reject"]].to_numpy().ravel()],
            [nan, nan, False] * 3,
        ),
        (
            lambda: describe_pairs(given)[[*describe_pairs()][2:8]],
            {
                "difference": [1.75, 1.0, -0.75],
                "low": [
                    1.75 - reach(0.9, 5, 0.3),
                    1 - reach(0.9, 4, 0.2),
                    -0.75 - reach(0.9, 9, 0.1),
                ],
                "high": [
                    1.75 + reach(0.9, 5, 0.3),
                    1 + reach(0.9, 4, 0.2),
                    -0.75 + reach(0.9, 9, 0.1),
                ],
                "pvalue": [0.01, nan, 0.4],
                "pvalue_adjusted": [0.03, nan, 1.0],
                "reject": [True, False, False],
            },
        ),
        (lambda: _test.adjust(array([0.05]), "bonferroni", 0.05), ([True], [0.05])),
        # 1 - 0.9 is less than 0.1 in double precision.
        (lambda: _test.adjust(array([0.1]), "holm", 1 - 0.9), ([True], [0.1])),
        (lambda: _test.adjust(array([0.1001]), "holm", 1 - 0.9), ([False], [0.1001])),
        (lambda: _test.adjust(array([0.05, 0.3]), "holm", 1 - 0.9)[0], [True, False]),
        (lambda: _test.adjust(array([0.05, 0.3]), "bonferroni", 1 - 0.9)[0], [True, False]),
        (lambda: _test.adjust(array([0.06]), "bonferroni", 0.05), ([False], [0.06])),
        (lambda: _test.read_players(grouped, None) is grouped, True),
        (lambda: _test.read_players(features, labels).y, [0, 1]),
        (
            lambda: tell_refusal(lambda: _test.read_players(grouped, labels)),
            "X holds records, which carry their labels, and each round draws its members; leave y "
            "out.",
        ),
        (
            lambda: tell_refusal(lambda: _test.read_players(features, None))[:85],
            "fit takes features X and labels y, Records, or GroupGuesses; got ndarray without y. A",
        ),
        (lambda: _test.read_asked_groups(grouped, "site"), ["n", "s"]),
        (lambda: _test.read_asked_groups(features, 1), [2.0, 4.0]),
        (lambda: _test.read_asked_groups(["n", "s"], None), ["n", "s"]),
        (
            lambda: tell_refusal(lambda: _test.read_asked_groups(features, ["n", "s"])),
            "group holds the groups of the records of fit, not of other ones; give predict one "
            "group for each record.",
        ),
        (lambda: _test.is_sequence_of_groups(sparse.csr_array(features)), False),
        (
            lambda: tell_refusal(
                lambda: _test.look_up_means(
                    pd.Series([0.1, 0.2], index=["a", "b"]), array(["b", "c", "d"])
                )
            ),
            "Group 'c' did not occur in fit; its groups are a, b.",
        ),
        (
            lambda: _test._sums_of_squares(array([[1.0, 2.0, 6.0], [2.0, 3.0, 1.0]])),
            [4.0, 1.5, 12.0],
        ),
        (lambda: _test._sums_of_squares(array([[0.1, 0.1], [0.1, 0.1]])), [0.0, 0.0, 0.0]),
        (lambda: _test.compute_eta_squared(NS(sums=(1.0, 2.0, 3.0))), (0.25, 0.166666667)),
        (lambda: _test.compute_eta_squared(NS(sums=(0.0, 0.0, 0.0))), (nan, nan)),
        (lambda: _test.is_sequence_of_groups(["a", "b"]), True),
        (lambda: _test.is_sequence_of_groups(np.zeros((2, 2))), False),
        (lambda: _test.is_sequence_of_groups(pd.DataFrame({"a": [1]})), False),
        (
            lambda: _test.look_up_means(
                pd.Series([0.1, 0.2], index=["a", "b"]), array(["b", "a", "b"])
            ),
            [0.2, 0.1, 0.2],
        ),
    ],
}


@pytest.mark.parametrize("module", ANSWERS, ids=lambda module: module.__name__)
def test_answers_by_hand(module):
    expect_answers(ANSWERS[module])


def test_defaults_are_those_of_the_docstrings():
    from skmia import disparity

    found, n_compared = compare_defaults_of(disparity)
    assert not found
    assert n_compared >= 30
