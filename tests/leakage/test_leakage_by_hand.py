"""Small functions of leakage at the limits of their branches, with answers by hand."""

from types import SimpleNamespace as NS

import numpy as np
import pandas as pd
import pytest
from by_hand import expect_answers, tell_refusal
from defaults import compare_defaults_of
from numpy import array, inf, nan
from scipy.stats import norm
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from skmia._core.gaussians import DiagonalMoments
from skmia.leakage import (
    _gaussian,
    _mahalanobis,
    _mean_attacks,
    _mean_glir,
    _refits,
    _total_variation,
    _witness,
    _worst_case,
    bounds,
    gaps,
)


def compare_neighbors(n, n_neighbors, n_features):
    """Return whether votes of neighbors are those of a search by hand, of others and itself."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, n_features)) * 3 ** np.arange(n_features)
    members = np.arange(n) % 3 > 0
    X[members] += 1.0
    witness = _witness.NeighborsWitness(n_neighbors, None)
    places = X / X.std(axis=0)
    order = np.argsort(((places[:, None] - places) ** 2).sum(axis=2), axis=1)
    k = 2 * int(np.sqrt(n) / 2) + 1 if n_neighbors is None else n_neighbors
    inside = members[order[:, :k]].sum(axis=1) / members.sum()
    outside = (~members)[order[:, :k]].sum(axis=1) / (~members).sum()
    posterior = witness.learn(X, members, None).posterior(X)
    guesses = []
    for row in range(n):
        found = members[order[row, 1 : k + 1]]
        rest = members.sum() - members[row], (~members).sum() - (not members[row])
        guesses.append(found.sum() / rest[0] > (~found).sum() / rest[1])
    advantage = np.mean(array(guesses)[members]) - np.mean(array(guesses)[~members])
    labelings = array([members, np.roll(members, 1)])
    estimated = witness.estimate(X, labelings, np.random.default_rng(1))
    return np.allclose(posterior, inside / (inside + outside)), np.isclose(estimated[0], advantage)


def compare_votes_beside(constant):
    """Return whether a column of one value leaves the votes of neighbors as they are."""
    rng = np.random.default_rng(0)
    X, members = rng.normal(size=(60, 20)), np.arange(60) % 2 > 0
    columns = X, np.column_stack([X, np.full(60, constant)])
    votes = [_witness.NeighborsWitness(5, 1).learn(Z, members, None).posterior(Z) for Z in columns]
    return np.array_equal(*votes)


def count_neighbors(n, n_neighbors=None):
    witness = _witness.NeighborsWitness(n_neighbors, None)
    counts = []
    for n_spare in (0, 1):
        witness._build(np.arange(n)[:, None] * 1.0, n_spare)
        counts.append(witness._n_neighbors)
    return tuple(counts)


def learn_on_a_grid(scale):
    """Return what a witness of two far groups says on them, between them and beyond."""
    X = np.append(np.arange(8.0), np.arange(200.0, 208.0))[:, None] * scale
    witness = _witness.GridKernelWitness(1.0).learn(X, np.arange(16) < 8, None)
    asked = array([3.5, 60.0, 150.0, 203.5, -1e3, 1e3])[:, None] * scale
    return witness.posterior(asked).round(9)


HELD = _mean_attacks.HeldOut(array([1.0, 2.0, 4.0, 5.0]), array([2.0, 4.0, 6.0, 8.0]), 0.5)
PULLED = HELD._replace(pull=-0.5)


def describe_target(*given):
    found = _mahalanobis.MisspecifiedTarget(*map(array, given))
    return found.effective_score, found.advantage, found.loss, found.naive_advantage


SUMMARY = """\
Worst-case vulnerability by observed frequencies: 1,200 members, 800 non-members
  vulnerability    0.250
  without leakage  0.050 on average over 3 shuffles, p = 0.5
  lower bound      0.125 at 90% confidence
  best threshold   0.200, 90% interval [0.100, 0.300]
  signed gap       -0.220
     n_members  vulnerability
  a          1          0.500
  b          2              -""".splitlines()


def describe_worst_case(**changes):
    groups = pd.DataFrame({"n_members": [1, 2], "vulnerability": [0.5, nan]}, ["a", "b"])
    given = {
        "_confidence_level": 0.9,
        "n_members_": 1200,
        "n_nonmembers_": 800,
        "method_": "plugin",
        "vulnerability_": 0.25,
        "lower_bound_": 0.125,
        "null_": array([0.01, 0.02, 0.12]),
        "bias_": 0.05,
        "pvalue_": 0.5,
        "threshold_advantage_": (0.2, 0.1, 0.3),
        "signed_gap_": -0.22,
        "group_vulnerability_": groups.rename_axis("group"),
    }
    return _worst_case.describe_worst_case(NS(**given | changes)).splitlines()


ONE_SHIFT = 2 * norm.cdf(1) - 1
TARGETS = (
    [4.0, 4.0, 0.0],
    [ONE_SHIFT, ONE_SHIFT, 0.0],
    [0.0, 0.0, ONE_SHIFT],
    [ONE_SHIFT, norm.cdf(-2.5) - norm.cdf(-0.5), 0.0],
)


def hold_out():
    """Hold out each of three rows, on the mean of the others as the direction."""
    return _mean_attacks.hold_out(
        array([[0.0], [1.0], [5.0]]),
        lambda rows: DiagonalMoments(rows.mean(axis=0), rows.var(axis=0, ddof=1)),
        lambda moments: moments.mean,
    )


def count_held_out(n):
    sizes = []

    def compute_moments(rows):
        sizes.append(len(rows))
        return DiagonalMoments(rows.mean(axis=0), rows.var(axis=0))

    _mean_attacks.hold_out(np.arange(n)[:, None] * 1.0, compute_moments, lambda moments: [1.0])
    return sizes


def estimate_law(held):
    X = array([[1.0, 2.0], [3.0, 4.0], [2.0, 0.0], [2.0, 6.0]])
    return _mean_attacks.estimate_law(X, array([1.0, 2.0]), held, array([0.5, 0.25]))


def estimate_distances(from_mean=3.0, variance=6.5, held=HELD):
    law = _mean_attacks.ProjectionLaw(0.0, variance, 0.25, 3.0)
    return _mean_attacks.estimate_distances(from_mean, held, law, 2.0, 4, 10)


QUADRATIC = (10 / 3) ** 0.5
CURVED = 2 * (((QUADRATIC + 1) / 10) ** 2 + (QUADRATIC / 4) ** 2)


def in_chunks(module, size, call):
    """Return the answer of a call where arrays have at most so many numbers at once."""
    before, module._CHUNK = module._CHUNK, size
    try:
        return call()
    finally:
        module._CHUNK = before


def compare_kernels(size):
    """Return whether the density of product kernels is a mean of normal ones."""
    rows = array([[0.0, 5.0], [1.0, 9.0], [4.0, 6.0], [2.0, 1.0], [7.0, 3.0]])
    asked = array([[1.0, 5.0], [3.0, -2.0], [40.0, 0.0]])
    kernels = _witness._ProductKernels(rows, array([1e-9, 1e-9]), 1.5)
    widths = 1.5 * (4 / (4 * 5)) ** (1 / 6) * _witness.measure_robust_spread(rows)
    expected = np.log(norm.pdf(asked[:, None], rows, widths).prod(axis=2).mean(axis=1))
    found = in_chunks(_witness, size, lambda: kernels.log_density(asked))
    return np.allclose(kernels.bandwidths, widths) and np.allclose(found, expected)


def weigh(witness):
    """Return the sum of the weights of an integral, and the total variation that it gives."""
    X, members = array([0.0, 1.0, 3.0, 4.0, 6.0, 9.0])[:, None], np.arange(6) % 2 > 0
    weights, ratios = witness.weigh(X, members, np.random.default_rng(0))
    return round(weights.sum(), 6), round(weights @ np.tanh(np.abs(ratios) / 2), 1), len(weights)


PLUGIN = array([0.0, 0.0, 1.0, 1.0, 2.0])[:, None], array([1, 1, 1, 0, 0]) > 0


def learn_plugin(asked):
    return _witness.PluginWitness().learn(*PLUGIN, None).posterior(array(asked)[:, None])


def choose_method(column, members=None, groups=None):
    X = np.column_stack([column]) if np.ndim(column[0]) == 0 else array(column)
    members = np.arange(len(X)) % 2 if members is None else array(members)
    groups = np.zeros(len(X), int) if groups is None else array(groups)
    return _witness.choose_method(X, members > 0, groups)


GROUPS = [0, 0, 0, 0, 1, 1, 1]


def refuse_spread(X):
    members = array([True, True, False, False])
    told = tell_refusal(lambda: _witness.check_side_spread(array(X), members)) or ""
    return told.partition("differ, and ")[2].partition(";")[0]


def vote(kind, weights):
    distances, neighbors = array([[0.0, 1.0], [1.0, 3.0]]), array([[0, 1], [1, 0]])
    y = array([0, 1]) if kind is KNeighborsClassifier else array([10.0, 20.0])
    return _refits._vote(kind(weights=weights), distances, neighbors, y)


MATRIX = array([[1.0, 2.0, 3.0], [4.0, 5.0, nan]])


def drop_column(column, X=MATRIX):
    try:
        rest, values = _worst_case.drop_column(X, column, "group_column")
    except ValueError as error:
        return str(error)
    return rest.to_numpy(), values


# Of each module: calls and answers. Whatever may be equal differs, and each branch decides once.
ANSWERS = {
    _gaussian: [
        (
            lambda: np.abs(
                _gaussian._compute_whitening(array([[2.0, 0.0], [0.0, 0.0], [0.0, 4.0]]))
            ),
            [[0.0, 0.5], [0.25, 0.0]],
        ),
        (lambda: _gaussian._compute_whitening(array([[1.0, 1.0], [1.0, 1.0]])).shape, (2, 1)),
        (
            lambda: _gaussian._log_likelihood_ratio(array([0.5, 1.0]), 2.0, array([1.0, 0.0]), 2.0),
            [0.25 - np.log(0.5) / 2, 0.5 - np.log(1e-12) / 2],
        ),
        # Of weights 2/3 and 1/3.
        (
            lambda: _gaussian._mix(
                np.log(array([[1.0, 4.0]])), array([[0.0, np.sqrt(8 * np.log(2))]]), 2.0
            ),
            [np.log(2.0)],
        ),
    ],
    _mahalanobis: [
        # Shifts of 2, of 2 in the wrong direction, and none of an assumed target that is the mean.
        (lambda: describe_target([4.0, 4.0, 4.0], [4.0, 1.0, 0.0], [4.0, -2.0, 0.0]), TARGETS),
        # The shift 2 * 2 of a mean of a quarter of the rows, and of the true target 4 * 2.
        (
            lambda: describe_target([16.0], [4.0], [4.0], 0.25, 4.0),
            (
                [4.0],
                [0.25 * (2 * norm.cdf(2) - 1)],
                [0.5 * (norm.cdf(4) - norm.cdf(2))],
                [0.25 * (norm.cdf(2) - norm.cdf(-2))],
            ),
        ),
    ],
    _mean_attacks: [
        # A quartile of Student's law with 1 degree of freedom is 1.
        (lambda: _mean_attacks.ProjectionLaw(1.0, 4.0, 0.75, 1.0).threshold(0.25, 16), 2.0),
        (lambda: _mean_attacks.ProjectionLaw(1.0, 4.0).threshold(0.1, 16), 1.64077578),
        (lambda: _mean_attacks.DistanceLaw(0.0, 0.0, 5.0, 4.0, 1.0).threshold(0.25), 3.0),
        (hold_out, ([-9.0, -3.75, 2.25], [0.75, 0.12, 27.0], -7 / 3)),
        (lambda: count_held_out(12), [10, 10, *[11] * 8]),
        (lambda: count_held_out(4), [3, 3, 3, 3]),
        (lambda: estimate_law(HELD), (8.5, 10 / 3 + 1.5, (10 / 3 + 0.5) / 4, 3.0)),
        (lambda: estimate_law(PULLED), (7.5, 10 / 3 + 1.5, 10 / 3 / 4, 3.0)),
        (estimate_distances, (3.25, 7.0, 3.95, 4 * (0.6 + 0.25) + CURVED, 3.0)),
        (
            lambda: estimate_distances(0.0, 0.25, HELD._replace(pull=2.0)),
            (0.0, 7.0, -2.75 + 0.7, 4 * 0.25 + CURVED, 3.0),
        ),
    ],
    _worst_case: [
        (lambda: describe_worst_case(), SUMMARY),
        (
            lambda: describe_worst_case(
                null_=[],
                threshold_advantage_=None,
                signed_gap_=None,
                group_vulnerability_=None,
                method_="kde",
            ),
            [
                "Worst-case vulnerability by kernel densities: 1,200 members, 800 non-members",
                "  vulnerability    0.250",
                "  lower bound      0.125 at 90% confidence",
            ],
        ),
        (lambda: drop_column(0), ([[2.0, 3.0], [5.0, nan]], [1.0, 4.0])),
        (lambda: drop_column(-2), ([[1.0, 3.0], [4.0, nan]], [2.0, 5.0])),
        (lambda: drop_column(-3), ([[2.0, 3.0], [5.0, nan]], [1.0, 4.0])),
        (
            lambda: drop_column(2),
            "The column group_column=2 lacks 1 of 2 values, first at position 1.",
        ),
        (lambda: drop_column(3), "group_column=3 is not a column of X, which has 3 columns."),
        (lambda: drop_column(-4), "group_column=-4 is not a column of X, which has 3 columns."),
        (
            lambda: drop_column("age"),
            "group_column='age' is not a column of X; its columns are 0, 1, 2.",
        ),
        (
            lambda: drop_column(0, MATRIX[:, :1]),
            "X has no feature other than the column group_column=0.",
        ),
    ],
    _mean_glir: [
        (lambda: _mean_glir._saddlepoint(3.0, 4.0, 2.0), (-0.920058195, -0.744852194)),
        (lambda: _mean_glir._saddlepoint(0.5, 4.0, 2.0), (-2.56417524, -1.3188468)),
        (lambda: _mean_glir._log_tail(1.5, 2.0), -3.09619513),
    ],
    _refits: [
        (lambda: _refits.sides_of_log_odds(0.0, np.log(3.0)), ((0.5, 0.75), (0.0, 1.09861229))),
        (
            lambda: _refits.sides_of_proba(array([0.0, 0.5]), array([1.0, 0.75]), 0.1),
            (([0.0, 0.5], [1.0, 0.75]), ([-2.19722458, 0.0], [2.19722458, 1.09861229])),
        ),
        (
            lambda: _refits.sides_of_residuals(array([1.0, -2.0]), array([0.5, 4.0])),
            (([-1.0, -2.0], [-0.5, -4.0]), ([-0.0, -0.693147181], [0.693147181, -1.38629436])),
        ),
        (
            lambda: _refits.why_not_bags(NS(bootstrap=False), 3),
            "bootstrap=False, so that each of its estimators may have seen every record",
        ),
        (
            lambda: _refits.why_not_bags(
                NS(bootstrap=True, max_samples=None, estimators_samples_=[array([0, 2, 1])]), 3
            ),
            None,
        ),
        (
            lambda: _refits.why_not_bags(
                NS(bootstrap=True, max_samples=1.0, estimators_samples_=[array([0, 2])]), 3
            ),
            "it was fitted on another number of records than 3",
        ),
        (
            lambda: _refits.why_not_bags(
                NS(bootstrap=True, max_samples=0.5, estimators_samples_=[array([0, 2])]), 3
            ),
            None,
        ),
        (
            lambda: _refits.why_not_bags(
                NS(bootstrap=True, max_samples=0.5, estimators_samples_=[array([0, 3])]), 3
            ),
            "it was fitted on another number of records than 3",
        ),
        (
            lambda: _refits.why_not_discriminant(
                NS(shrinkage=None, covariance_estimator=None, priors=None), 3
            ),
            None,
        ),
        (
            lambda: _refits.why_not_discriminant(
                NS(shrinkage=0.1, covariance_estimator=None, priors=None), 3
            ),
            "its covariance is shrunk or estimated by another estimator",
        ),
        (
            lambda: _refits.why_not_discriminant(
                NS(shrinkage=None, covariance_estimator=1, priors=None), 3
            ),
            "its covariance is shrunk or estimated by another estimator",
        ),
        (
            lambda: _refits.why_not_discriminant(
                NS(shrinkage=None, covariance_estimator=None, priors=[1]), 3
            ),
            "its priors are given",
        ),
        (
            lambda: _refits.why_not_neighbors(NS(n_samples_fit_=4, n_neighbors=1, weights=None), 3),
            "it was fitted on 4 records, not 3",
        ),
        (
            lambda: _refits.why_not_neighbors(NS(n_samples_fit_=3, n_neighbors=3, weights=None), 3),
            "it has n_neighbors=3, and n_samples=3 has fewer others",
        ),
        (
            lambda: _refits.why_not_neighbors(
                NS(n_samples_fit_=3, n_neighbors=2, weights="uniform"), 3
            ),
            None,
        ),
        (
            lambda: _refits.why_not_neighbors(NS(n_samples_fit_=3, n_neighbors=2, weights=len), 3),
            "its weights are a function of its own",
        ),
        (
            lambda: _refits.why_not_process(NS(X_train_=[1, 2], alpha_=array([1.0])), 3),
            "it was fitted on 2 records, not 3",
        ),
        (lambda: _refits.why_not_process(NS(X_train_=[1, 2], alpha_=array([1.0])), 2), None),
        (
            lambda: _refits.why_not_process(NS(X_train_=[1, 2], alpha_=array([[1.0]])), 2),
            "it has several outputs",
        ),
        (
            lambda: _refits._invert_scatter(array([[4.0, 0.0], [0.0, 0.25]])),
            [[0.25, 0.0], [0.0, 4.0]],
        ),
        (
            lambda: _refits._invert_scatter(array([[4.0, 4.0], [4.0, 4.0]])),
            [[0.0625, 0.0625], [0.0625, 0.0625]],
        ),
        (lambda: vote(KNeighborsRegressor, "distance"), [10.0, 17.5]),
        (lambda: vote(KNeighborsRegressor, "uniform"), [15.0, 15.0]),
        (lambda: vote(KNeighborsClassifier, "distance"), [1.0, 0.75]),
        (lambda: vote(KNeighborsClassifier, None), [0.5, 0.5]),
        (lambda: _refits._log_odds(np.log(array([[1.0, 2.0, 5.0]])), array([2])), [0.510825624]),
    ],
    _total_variation: [
        (lambda: _total_variation.summarize_null(0.5, array([])), (nan, nan)),
        (lambda: _total_variation.summarize_null(nan, array([0.5])), (nan, nan)),
        (lambda: _total_variation.summarize_null(0.5, array([0.5, 0.25, 0.75])), (0.5, 0.75)),
    ],
    _witness: [
        (
            lambda: _witness.log_ratio(array([0.0, 1.0, 0.0, 2.0]), array([0.0, 0.0, 1.0, 1.0])),
            [0.0, inf, -inf, 0.693147181],
        ),
        *(
            (lambda scale=scale: learn_on_a_grid(scale), [1.0, 0.5, 0.5, 0.0, 0.5, 0.5])
            for scale in (1e-6, 1.0, 1e6)
        ),
        (
            lambda: _witness.measure_robust_spread(
                np.column_stack([np.arange(5.0), [0, 0, 0, 0, 10.0], np.full(5, 7.1)])
            ),
            [2 / 1.34, 20**0.5, 0.0],
        ),
        (lambda: _witness.measure_robust_spread(array([0.0, 1.0, 2.0, 3.0, 40.0])), 2 / 1.34),
        (lambda: _witness.measure_robust_spread(array([[3.0, 4.0]])), [0.0, 0.0]),
        (lambda: _witness._bandwidth(np.arange(5.0), 0.1, 2.0), 1.8 * 2 / 1.34 * 5**-0.2),
        (lambda: _witness.split_classes(["b", "a", "b"]), (["a", "b"], [1, 0, 1])),
        (
            lambda: tell_refusal(lambda: _witness.split_classes([1, 1])),
            "Membership holds one class only: y must hold two values, one for members and one for "
            "non-members; got 1 class.",
        ),
        (
            lambda: tell_refusal(lambda: _witness.split_classes([1, 2, 3])),
            "Only binary classification is supported: y must hold two values, one for members and "
            "one for non-members; got 3 classes.",
        ),
        (lambda: refuse_spread([[1.0], [2.0], [1.0], [2.0]]), ""),
        (
            lambda: refuse_spread([[1.0, 3.0], [2.0, 3.0], [3.0, 3.0], [4.0, 5.0]]),
            "feature 1 has one value for all 2 members",
        ),
        (
            lambda: refuse_spread([[1.0], [2.0], [3.0], [3.0]]),
            "feature 0 has one value for all 2 non-members",
        ),
        (
            lambda: _witness.number_distinct_rows(array([[2, 1], [1, 5], [2, 1], [1, 3], [0, 9]])),
            [3, 2, 3, 1, 0],
        ),
        (lambda: learn_plugin([0.0, 1.0, 2.0, 7.0, -1.0]), [1.0, 0.4, 0.0, 0.5, 0.5]),
        (
            lambda: _witness.PluginWitness().weigh(*PLUGIN, None),
            ([1 / 3, 5 / 12, 0.25], [inf, np.log(2 / 3), -inf]),
        ),
        (
            lambda: _witness.PluginWitness().estimate(
                PLUGIN[0], array([[1, 1, 1, 0, 0], [1, 0, 1, 0, 1]]) > 0, None
            ),
            [2 / 3, 1 / 3],
        ),
        (lambda: weigh(_witness.GridKernelWitness(1.0)), (1.0, 0.2, 2048)),
        (lambda: weigh(_witness.ExactKernelWitness()), (1.0, 0.2, 256)),
        (lambda: weigh(_witness.SampledKernelWitness(2000)), (1.0, 0.2, 4000)),
        (lambda: compare_kernels(2**22), True),
        (lambda: compare_kernels(1), True),
        (lambda: compare_kernels(10), True),
        # Few values are counted, up to two or the square root of the number of rows.
        (lambda: choose_method([0.0, 1.0, 1.0]), "plugin"),
        (lambda: choose_method([0.0, 1.0, 2.0] * 3), "plugin"),
        (lambda: choose_method([0.0, 1.0, 2.0, 3.0] + [0.0] * 5), "kde"),
        (lambda: choose_method([0.0, 5.0, 0.0, 6.0, 0.0, 7.0]), "neighbors"),
        (lambda: choose_method([5.0, 0.0, 6.0, 0.0, 7.0, 0.0]), "neighbors"),
        (lambda: choose_method([[float(k), 1.0 - k] for k in range(4)]), "neighbors"),
        # A group of members alone needs no spread, and one with both sides does.
        (lambda: choose_method(range(7), [1, 0, 1, 0, 1, 1, 1], GROUPS), "kde"),
        (lambda: choose_method(range(7), [1, 0, 1, 0, 1, 1, 0], GROUPS), "neighbors"),
        (
            lambda: _witness.GroupedWitness._list_parts(
                array([1, 0, 1, 1, 0, 0, 1]) > 0, array([0, 0, 1, 1, 2, 3, 3])
            ),
            {0: [0, 1], 3: [5, 6]},
        ),
        *(
            (
                lambda size=size: in_chunks(_witness, size, lambda: compare_neighbors(20, 3, 2)),
                (True, True),
            )
            for size in (2**22, 1, 9)
        ),
        (lambda: compare_neighbors(21, None, 1), (True, True)),
        (lambda: compare_neighbors(20, 5, 7), (True, True)),
        (lambda: compare_votes_beside(1.0), True),
        (lambda: compare_votes_beside(0.1), True),
        (lambda: count_neighbors(16), (5, 5)),
        (lambda: count_neighbors(35), (5, 5)),
        (lambda: count_neighbors(36), (7, 7)),
        (lambda: count_neighbors(4, 9), (4, 3)),
        (lambda: _witness.balanced_posterior(array([1.0, 0.0]), array([3.0, 0.0])), [0.25, 0.5]),
        (
            lambda: _witness.advantage_of_guesses(
                array([1.0, 0.0, 1.0]), array([True, True, False])
            ),
            -0.5,
        ),
        (lambda: _witness._bandwidth(array([2.0, 2.0]), 0.25, 2.0), 0.25),
        (
            lambda: _witness._log_sum_exp(np.log(array([[1.0, 3.0], [2.0, 2.0]]))),
            [1.38629436, 1.38629436],
        ),
        (lambda: type(_witness.make_kernels(1, 5)).__name__, "GridKernelWitness"),
        (lambda: type(_witness.make_kernels(2, 5)).__name__, "SampledKernelWitness"),
    ],
    bounds: [
        (lambda: bounds.like_input(array(0.5)), 0.5),
        (lambda: bounds.like_input(array([0.5])), [0.5]),
        (
            lambda: bounds._success_from_variation(
                array([0.0, 0.5, 1.0]), array([0.25, 0.75, 0.75]), "a"
            ),
            [0.75, 0.75, 1.0],
        ),
    ],
    gaps: [
        (lambda: gaps._variation(array([0.0, 2 * np.arctanh(0.5)])), [0.0, 0.5]),
        (lambda: gaps._squared_hellinger(array([0.0, 2.0])), [0.0, 0.351945726]),
        (lambda: gaps._shannon(array([0.0, np.log(3.0)])), [0.0, 0.130812036]),
        (lambda: gaps._kullback_leibler(array([0.0, np.log(3.0), -inf])), [0.0, 1.64791843, 0.0]),
        (lambda: gaps._energy(array([[0.0], [2.0]]), array([[1.0], [5.0]])), 1.41421356),
        (
            lambda: gaps._energy(array([[0.0, 0.0], [2.0, 0.0]]), array([[1.0, 0.0], [5.0, 0.0]])),
            1.41421356,
        ),
        (
            lambda: gaps._energy(array([[0.0, 0.0], [2.0, 0.0]]), array([[0.0, 0.0], [2.0, 0.0]])),
            0.0,
        ),
        *(
            (
                lambda size=size: in_chunks(
                    gaps,
                    size,
                    lambda: gaps._mean_distance(
                        array([[0.0], [2.0], [4.0]]), array([[1.0], [5.0]])
                    ),
                ),
                2.33333333,
            )
            for size in (2**22, 1, 4)
        ),
    ],
}


@pytest.mark.parametrize("module", ANSWERS, ids=lambda module: module.__name__)
def test_answers_by_hand(module):
    expect_answers(ANSWERS[module])


def test_defaults_are_those_of_the_docstrings():
    from skmia import leakage
    from skmia.leakage import bounds, gaps

    found, n_compared = compare_defaults_of(leakage, bounds, gaps)
    assert not found
    assert n_compared >= 100
