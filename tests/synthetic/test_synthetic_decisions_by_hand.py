"""Neighbors, guesses and predicates of the attacks on tables, each decision by hand."""

import re
import warnings
from types import SimpleNamespace as NS
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from by_hand import expect_answers, tell_refusal
from numpy import array, nan
from scipy import sparse
from scipy.stats import multivariate_normal, norm
from sklearn.linear_model import LinearRegression
from sklearn.metrics.pairwise import manhattan_distances

from skmia.defenses.schema import NumberColumn, ValuesColumn
from skmia.synthetic import (
    GowerEncoder,
    _adversarial_accuracy,
    _cells,
    _collapse,
    _copy_test,
    _dp_wgan,
    _generator_attack,
    _neighbors,
    _risks,
    _singling_out,
    critic_bounds,
)

# Numbers with a range of 8 in the last table, words of which one is not there, and what is missing.
first = pd.DataFrame({"n": [1.0, nan, 3.0, 9.0], "w": ["a", "b", None, "z"]})
second = pd.DataFrame({"n": [2.0, 5.0], "w": ["b", "b"]})
last = pd.DataFrame({"n": [0.0, 8.0, nan, 3.0, 3.0], "w": ["a", "b", None, "a", "c"]})
cells = _cells.TableCells([first, second, last], ["first", "second", "last"])
A, B = (cells.kinds[1].index(word) for word in "ab")

OWN, CROSS = array([2.0, 2.0, 2.0]), array([[3.0, 1.0], [1.0, 3.0], [2.0, 2.0]])


def estimate_error(shares, *edges):
    edges = [tuple(map(array, edge)) for edge in edges]
    return _adversarial_accuracy.estimate_standard_error(array(shares), edges) ** 2


def find_first(chosen, k, n_first=2):
    """Find the first chosen ones of four neighbors of two rows."""
    distances = array([[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]])
    places = array([[0, 1, 2, 3], [3, 2, 1, 0]])
    return _adversarial_accuracy._find_first(distances, places, array(chosen), k, array([0, 1]))


def estimate_loss(n_rows, of_deals=(0.0, 4.0), confidence_level=0.9):
    """Estimate the privacy loss of two halves, and read the table of intervals."""
    train, test = (
        NS(shares=array(shares), edges=[(array([0]), array([1]))], mean=mean)
        for shares, mean in (([0.0, 0.0], 0.6), ([0.3, 0.4], 0.9))
    )
    halves = NS(
        compare=lambda chosen: train if chosen[0] else test,
        compare_deals=lambda deals: array(of_deals),
    )
    test_of = NS(n_rows_=n_rows, confidence_level=confidence_level)
    summarize = _adversarial_accuracy.summarize_terms
    _adversarial_accuracy.summarize_terms = lambda terms, least: NS(
        mean=terms.mean, standard_error=least
    )
    try:
        _adversarial_accuracy.PrivacyLoss._estimate(
            test_of, halves, array([True, False]), (0.01, 0.02)
        )
    finally:
        _adversarial_accuracy.summarize_terms = summarize
    return test_of.result_, test_of.interval_


REACH = norm.ppf(0.95)


def expect_loss(error):
    rows = [(0.3, error), (0.1, 0.01), (0.4, 0.02)]
    return {
        "estimate": [one for one, _ in rows],
        "low": [one - REACH * spread for one, spread in rows],
        "high": [one + REACH * spread for one, spread in rows],
    }, (0.3 - REACH * error, 0.3 + REACH * error)


def guess_blindly(secret, values, tolerance=0.25):
    attack = NS(tolerance=tolerance)
    return _risks.InferenceRisk._guess_blindly(attack, cells, secret, array(values))


def guess(known, tolerance=0.25):
    attack = NS(tolerance=tolerance)
    return _risks.InferenceRisk._guess(attack, cells, known, cells.tables[0])


def choose(secrets=None, known=None, columns=("n", "w", "x")):
    attack = NS(secrets=secrets, known=known)
    return _risks.InferenceRisk._choose(attack, NS(columns=list(columns)))


def find_columns(wanted):
    try:
        return _risks.find_columns(wanted, ["a", "b", "c"], "known")
    except ValueError as error:
        return str(error)


def split_columns(halves=None, columns=("n", "w", "x")):
    attack, table = NS(columns=halves), NS(columns=list(columns))
    try:
        return [[*part] for part in _risks.LinkabilityRisk._split(attack, table)]
    except ValueError as error:
        return str(error)


def determine(*columns, known=None):
    """List the pairs that are warned of; if not said, each column infers all later ones."""
    table = NS(columns=["n", "w", "x"], tables=[None, [array(one) for one in columns]])
    known = known or {place: [*range(place)] for place in range(1, len(columns))}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        _risks._warn_of_determined(table, known)
    told = [str(one.message).partition(": ") for one in caught]
    told = [words.removeprefix("In the synthetic table, ") for words, _, _ in told]
    return re.split(", (?=')", told[0]) if told else []


def split_sides(y, needed=(1, 0, -1)):
    X = pd.DataFrame({"n": [10, 11, 12, 13]})
    try:
        return [side.n.tolist() for side in _risks.split_sides(X, y, needed)]
    except ValueError as error:
        return str(error)[:40]


def join_unseen(table, rows):
    return _risks.join_unseen(pd.DataFrame(table), pd.DataFrame(rows))


def list_conditions(found):
    return sorted(tuple((one.column, one.operation, one.value) for one in some) for some in found)


def make_cell_condition(column, row):
    return tuple(_singling_out._make_cell_condition(cells, column, row, {0: 3.0, 1: nan}))


def exchange(matches, n=3, n_permutations=150, most=None):
    """Exchange the sides of six records; return means and the values that occur."""
    matches = [array(one, dtype=int) for one in matches]
    drawn = _singling_out._exchange_sides(matches, n, n_permutations, np.random.RandomState(0))
    return drawn.shape, [sorted({*one.tolist()}) for one in drawn]


def draw_single(n_columns, n_predicates=30):
    found = _singling_out.draw_single_rows(cells, n_columns, n_predicates, np.random.RandomState(0))
    return {len(one) for one in found}, len(found) == len({*found}), list_conditions(found)[:1]


def draw_blindly(n_columns):
    found = _singling_out.draw_blindly(cells, n_columns, 40, np.random.RandomState(0))
    operations = {(one.column, one.operation) for some in found for one in some}
    return len(found), {len({one.column for one in some}) for some in found}, operations


class Space(_generator_attack.RowSpace):
    def __init__(self, reference, metric="cityblock"):
        self.reference, self._metric, self._bandwidth = array(reference), metric, None


LINE = [[0.0], [1.0], [3.0], [7.0]]


def find_offset(sizes, scores):
    attack = NS(
        _space=NS(tables=[range(n) for n in sizes]),
        _thinned=("thin", "other"),
        _compare=lambda points, one, other: points * 2,
    )

    class Scorer(_generator_attack.DistanceDifference):
        def __init__(self):
            vars(self).update(vars(attack))

        def __call__(self, points):
            return points * 5

    return Scorer().find_offset(array(scores))


def compare_densities(own):
    """Compare two synthetic rows with three others, of which one may be the record itself."""
    points, made, known = (
        array([[0.0, 0.0]]),
        array([[3.0, 0], [5, 0]]),
        array([own, [2, 0], [9, 0]]),
    )
    attack = NS(
        _as_points=lambda records, X: ((points, made, known), "manhattan"),
        _reference=NS(X=None),
        n_neighbors=1,
    )
    return _generator_attack.GeneratorAttack._compare_densities(attack, None)


def find_nearest(metric, others=((0.0, 0.0), (3.0, 4.0), (1.0, 0.0)), k=2):
    others = None if others is None else array(others)
    return _neighbors.find_nearest(array([[0.0, 0.0], [3.0, 3.0]]), others, k, metric)


def as_points(metric, *tables):
    points, metric = _neighbors.as_points(
        [array(one, dtype=float) for one in tables], metric, ["X", "other"]
    )
    return [one.tolist() for one in points], metric


def rare(y, made, **settings):
    found = _collapse.rare_class_rate(y, made, **settings)
    return found.label, found.real, found.synthetic, found.low < found.synthetic < found.high


def whole(dtype, lower, upper, names=None):
    layout = NS(_names=names, _dtypes=dtype if names is None else [np.dtype(float), dtype])
    found = _dp_wgan.GeneratedColumns._whole(layout, 1, array([-9.0, lower]), array([9.0, upper]))
    return None if found is None else (found[0], found[-1], len(found))


def restore(dtype, names=None):
    values = [None, pd.Index([5.0, 7.0, 9.0]), pd.Index([4.0])]
    layout = NS(
        lower=array([10.0, 0, 0]),
        span=array([4.0, 1, 1]),
        values=values,
        _names=names,
        _dtypes=dtype,
    )
    rows = array([[0.25, 1.4, 0.0], [0.9, 1.6, 0.0]])
    return _dp_wgan.GeneratedColumns.restore(layout, rows)


def bound_critic(weights, biases, slope=0.5, sizes=None):
    """Bound the gradient of a critic by intervals, beside those of all corners of the rows."""
    weights, biases = [array(one) for one in weights], [array(one) for one in biases]
    found = critic_bounds.gradient_bounds(weights, biases, slope, sizes)
    return [tuple(np.round(end, 6) + 0.0 for end in one) for one in found]


def make_terms():
    """Make the terms of two real rows among four, and of two synthetic ones."""
    return _adversarial_accuracy.AccuracyTerms(
        rows=array([0, 2]),
        made=array([3, 4]),
        real=array([1.0, 0.5]),
        synthetic=array([0.0, 0.5]),
        edges=[(array([0]), array([2]))],
    )


def permute(losses, statistic, n_permutations=3):
    halves, losses = (
        NS(compare_deals=lambda first: array([losses.pop(0) for _ in first])),
        [*losses],
    )
    test_of = NS(n_permutations=n_permutations, statistic_=statistic)
    kind = _adversarial_accuracy.PrivacyLoss
    return kind._permute(test_of, halves, array([True, False]), np.random.RandomState(0))


def check_metric(metric):
    return (tell_refusal(lambda: _neighbors._check_metric(metric, array([1.0]))) or "")[:38]


def hash_rows():
    """Tell which of four rows equal one of two others, with all columns and without the second."""
    one = _copy_test._RowHashes([array([1.0, 2.0, 1.0, 3.0]), array([5.0, 6.0, 7.0, 5.0])])
    other = _copy_test._RowHashes([array([1.0, 2.0]), array([5.0, 9.0])])
    near = _copy_test._are_among_hashed(one.without(1), other.without(1))
    return one.are_in(other), near


def count_unchanged(holdout=None):
    real = pd.DataFrame({"a": [1, 2, 2, 3], "b": list("xyyz")})
    made = pd.DataFrame({"a": [1, 2, 9], "b": list("xyz")})
    held = None if holdout is None else pd.DataFrame(holdout)
    return _copy_test.count_unchanged(real, made, held)


def choose_cut(expected, is_copied):
    return float(_copy_test.choose_cut(array(expected), array(is_copied)))


def measure_nearest(persons=None, given=None):
    """Measure distances from the nearest other real row, in one column of a range of 8."""
    real = [cells.join_first(2)[0][[0, 2, 3]]]
    table = NS(
        columns=["n"],
        sum_distances=lambda columns, own, others: np.abs(own[0][:, None] - others[0]) / 8,
    )
    near = _copy_test._NearestReal(table, real, given, None, persons)
    return near.measure(array([0, 2]))


def draw_targets(n_attacks):
    table = [np.arange(5.0), np.arange(5) * 10]
    found, persons = _risks.draw_targets(
        table, np.arange(5) + 7, n_attacks, np.random.RandomState(0)
    )
    same = bool((found[0] * 10 == found[1]).all() and (persons == found[0] + 7).all())
    return len({*found[0].tolist()}), same


def summarize_risk(**given):
    row = {"risk": 0.25, "low": 0.125, "high": 0.5, "attack": 0.5, "control": 0.25, "naive": 0.125}
    row |= {"attack_low": 0.375, "n_attacks": 3} | given
    risk = NS(_fitted_level=0.9, result_=pd.DataFrame([row], index=["name"]), fitted_=True)
    before, _risks.check_is_fitted = _risks.check_is_fitted, lambda risk: None
    try:
        return _risks.TableRisk.summary(risk).splitlines()
    finally:
        _risks.check_is_fitted = before


def share_near(points):
    """Compare shares of rows within the median distance of references from synthetic rows."""
    space = Space([[0.0], [4.0], [9.0]])
    space.synthetic = array([[1.0], [2.0]])
    space.nearest = lambda points, rows: np.abs(points - rows[:, 0]).min(axis=1)
    space.__dict__["tables"] = (space.synthetic, space.reference)
    share = _generator_attack.NeighborhoodShare(space)
    return share(array(points))


def rare_copies(points, scale=1.0):
    space = NS(synthetic=scale * array([[1.0], [-2.0]]), reference=scale * array([[0.0], [4.0]]))
    space.tables = space.synthetic, space.reference
    space.nearest = lambda points, rows: np.abs(points - rows[:, 0]).min(axis=1)
    return _generator_attack.RareCopies(space)(scale * array(points))


def score_by_classifier(shares, n_made=2, n_known=6):
    """Score points in which a share of the trees says synthetic, and what the trees learned."""
    learned = []

    class Forest(NS):
        def fit(self, rows, made):
            learned.extend([rows.tolist(), made.tolist()])
            return self

        def predict_proba(self, points):
            return np.column_stack([1 - array(points), points])

    space = NS(
        synthetic=np.arange(n_made)[:, None],
        reference=10 + np.arange(n_known)[:, None],
        random_state=NS(randint=lambda most: 7),
    )
    make = lambda n_trees, **given: Forest()  # noqa: E731
    with mock.patch.object(_generator_attack, "RandomForestClassifier", make):
        return _generator_attack.ClassifierScore(space)(array(shares)), *learned


def list_values(column):
    found = _dp_wgan._list_values(column)
    return None if found is None else (found[0], found[-1], len(found))


def bound_penalty(*weights, **settings):
    try:
        return critic_bounds.gradient_penalty_bounds([array(one) for one in weights], **settings)
    except ValueError as error:
        return str(error)


def score_by_copula(made, known, points, is_categorical=False):
    tables = array(made, dtype=float), array(known, dtype=float)
    space = NS(is_categorical=is_categorical, tables=tables, reference=tables[1])
    return _generator_attack.CopulaScore(space)(array(points, dtype=float))


def log_copula(rows, points, widths):
    """Return the log density of a Gaussian copula and of normal kernels, by what scipy has."""
    rows, points = array(rows, dtype=float), array(points, dtype=float)
    ranks = lambda values, column: norm.ppf(  # noqa: E731
        [((column < v).sum() + (column <= v).sum() + 1) / 2 / (len(column) + 1) for v in values]
    )
    columns = list(zip(rows.T, points.T, strict=True))
    own = array([ranks(column, column) for column, _ in columns])
    given = array([ranks(values, column) for column, values in columns]).T
    correlation = 0.95 * np.corrcoef(own) + 0.05 * np.eye(len(own))
    joint = multivariate_normal(np.zeros(len(own)), correlation).logpdf(given)
    copula = joint - norm.logpdf(given).sum(axis=1)
    kernels = [
        [norm.pdf((v - column) / width).mean() for v in values]
        for (column, values), width in zip(columns, widths, strict=True)
    ]
    return copula + np.log(kernels).sum(axis=0)


def compare_copula():
    rng = np.random.default_rng(0)
    made, known, points = rng.normal(size=(9, 2)), rng.normal(size=(7, 2)), rng.normal(size=(4, 2))
    made[:, 1] += made[:, 0]
    made[3] = made[4]
    widths = [_generator_attack._choose_width(column) for column in known.T]
    expected = log_copula(made, points, widths) - log_copula(known, points, widths)
    return score_by_copula(made, known, points) - expected


def validate_generated(X, named=()):
    call = lambda: _dp_wgan._validate(LinearRegression(), X, named)  # noqa: E731
    return (tell_refusal(call) or "")[:59]


def number_persons(first, other):
    try:
        return _risks.number_persons((array(first), array(other)), (len(first), len(other)))
    except ValueError as error:
        return str(error)[:40]


def as_frame(table):
    try:
        return _neighbors.as_frame(table, "it").to_dict("list")
    except (ValueError, TypeError) as error:
        return str(error)[:29]


def read_categorical(chosen, names=("a", "b", "c")):
    encoder = NS(categorical_features=chosen)
    if names:
        encoder.feature_names_in_ = array(names, dtype=object)
    table = pd.DataFrame({"a": [1.0], "b": ["x"], "c": [2]})
    try:
        return GowerEncoder._read_categorical(encoder, table)
    except ValueError as error:
        return str(error)[:28]


def check_numbers(*columns, names=None):
    """Check three columns, of which the second one is of categories."""
    encoder = NS(is_categorical_=array([False, True, False]))
    if names is not None:
        encoder.feature_names_in_ = array(names, dtype=object)
    table = pd.DataFrame({k: one for k, one in enumerate(columns)})
    return tell_refusal(lambda: GowerEncoder._check_numbers(encoder, table))


def read_named(columns, names=("a", "b")):
    try:
        found = _dp_wgan._read_named(None, columns, names)
    except ValueError as error:
        return str(error)[:40]
    return {place: None if one is None else list(one) for place, one in found.items()}


def infer_categories(may_look=True, named=(), **columns):
    X = pd.DataFrame(columns)
    try:
        found = _dp_wgan._infer_categories(X, named, may_look)
    except ValueError as error:
        return str(error)[:36]
    return {place: list(values) for place, values in found.items()}


def read_ends(ends, names=("a", "b", "c")):
    try:
        return _dp_wgan._ends("lower", ends, [True, False, True], list(names))
    except ValueError as error:
        return str(error)[:25]


def check_ranges(X, lower, upper):
    call = lambda: _dp_wgan._check_ranges(array(X), array(lower), array(upper))  # noqa: E731
    return (tell_refusal(call) or "")[:44]


def bound_gradient(**given):
    settings = {"weights": [[[1.0, -2.0]], [[3.0]]], "biases": [[1.0]]} | given
    weights, biases = settings.pop("weights"), settings.pop("biases")
    return (
        tell_refusal(lambda: critic_bounds.critic_gradient_bounds(weights, biases, **settings))
        is None
    )


INT = np.dtype(np.int64)

# Of each module: calls and answers. Whatever may be equal differs, and each branch decides once.
ANSWERS = {
    _adversarial_accuracy: [
        (lambda: _adversarial_accuracy.count_farther(OWN, CROSS, "original"), [1.0, 0.0, 0.0]),
        (
            lambda: _adversarial_accuracy.count_farther(OWN, CROSS, "unbiased"),
            [2 / 3, 1 / 3, 0.0],
        ),
        (
            lambda: _adversarial_accuracy.count_farther(OWN, CROSS, "tie_corrected", 4),
            [3 / 4, 1 / 4, 0.5],
        ),
        # Squares, and products of neighbors and of rows with a neighbor in common.
        (lambda: estimate_error([1.0, 2.0, 4.0], ([0], [1])), 1.0 + 4 + 16 + 2 * 2),
        (
            lambda: estimate_error([1.0, 2.0, 4.0, 8.0], ([0, 1], [2, 2])),
            1.0 + 4 + 16 + 64 + 2 * (4 + 8 + 2),
        ),
        (
            lambda: estimate_error([1.0, 2.0, 4.0, 8.0], ([0, 2], [1, 3]), ([2], [3])),
            85.0 + 2 * (2 + 32),
        ),
        (lambda: estimate_error([1.0, -2.0], ([0], [1])), 5.0),
        (lambda: _adversarial_accuracy.deal_rows(3).shape, (199, 6)),
        (lambda: {*_adversarial_accuracy.deal_rows(3).sum(axis=1).tolist()}, {3}),
        (lambda: _adversarial_accuracy.deal_rows(3).flags.writeable, False),
        (
            lambda: _adversarial_accuracy.estimate_least_error(
                np.zeros((100, 1)), None, None, None, None
            ),
            0.0,
        ),
        (
            lambda: _adversarial_accuracy.draw_or_keep_rows(np.arange(3), 3, None),
            [0, 1, 2],
        ),
        (
            lambda: len(
                {
                    *_adversarial_accuracy.draw_or_keep_rows(
                        np.arange(9), 8, np.random.RandomState(0)
                    ).tolist()
                }
            ),
            8,
        ),
        (
            lambda: find_first([False, True, True, False], 1),
            ([[2.0], [6.0]], [[1], [2]]),
        ),
        (
            lambda: find_first([True, False, False, True], 2),
            ([[1.0, 4.0], [5.0, 8.0]], [[0, 3], [3, 0]]),
        ),
        (
            lambda: find_first([False, False, True, False], 2),
            ([[3.0, 4.0], [6.0, 8.0]], [[2, 3], [2, 0]]),
        ),
        (lambda: estimate_loss(100), expect_loss((0.25 + 2 * 0.12) ** 0.5)),
        (lambda: estimate_loss(99), expect_loss(8**0.5)),
        (lambda: estimate_loss(99, (0.0, 0.1)), expect_loss(0.7)),
    ],
    _risks: [
        (lambda: find_columns("b"), [1]),
        (lambda: find_columns(2), [2]),
        (lambda: find_columns(["c", 0]), [2, 0]),
        (lambda: find_columns(np.int64(0)), [0]),
        (lambda: find_columns(3), "known has 3, which is not a column of the tables."),
        (lambda: find_columns(-1), "known has -1, which is not a column of the tables."),
        (lambda: find_columns([True]), "known has True, which is not a column of the tables."),
        (lambda: find_columns("d"), "known has 'd', which is not a column of the tables."),
        (lambda: find_columns([])[:41], "known must name columns, each of them onc"),
        (lambda: find_columns(["a", 0])[:41], "known must name columns, each of them onc"),
        (lambda: split_sides([1, -1, 0, 1]), [[10, 13], [12], [11]]),
        (lambda: split_sides([1, -1, 1, 1], (1, -1)), [[10, 12, 13], [], [11]]),
        (lambda: split_sides([1, -1, 1, 1]), "X has no held-out rows, which have 0 in "),
        (lambda: split_sides([1, -1, 2, 1]), "y must hold 1 for training rows, 0 for h"),
        (lambda: split_sides([1, -1]), "y must hold a number for each of the 4 r"),
        (lambda: split_sides(None), "y must say of each row of X what it is: "),
        (lambda: split_sides(np.ones((4, 1))), "A table in the place of y needs the synt"),
        (
            lambda: join_unseen(
                {"a": [1, 2], "b": [3.0, nan]}, {"b": [nan, 3.0, 9.0], "a": [2, 2, 1]}
            ),
            {"a": [1, 2, 2, 1], "b": [3.0, nan, 3.0, 9.0]},
        ),
        (lambda: join_unseen({0: [1]}, {"x": [1, 5]}), {0: [1, 5]}),
        (lambda: join_unseen({"a": [1]}, {"a": []}), {"a": [1]}),
        (lambda: _risks.average_by_person(array([0.0, 1.0]), array([7, 5])), [0.0, 1.0]),
        (lambda: _risks.average_by_person(array([0.0, 1.0, 1.0]), array([7, 5, 7])), [1.0, 0.5]),
        (lambda: choose(), {0: [1, 2], 1: [0, 2], 2: [0, 1]}),
        (lambda: choose(["w"]), {1: [0, 2]}),
        (lambda: choose(["w"], ["x"]), {1: [2]}),
        (lambda: tell_refusal(lambda: choose(["w"], ["x", "w"]))[:24], "known has the secret 'w'"),
        # The first half has one more of an odd number of columns.
        (lambda: split_columns(), [[0, 1], [2]]),
        (lambda: split_columns([["x"], ["w", "n"]]), [[2], [1, 0]]),
        (lambda: split_columns(columns=["n"]), "Linkability needs at least 2 columns; got 1."),
        (lambda: split_columns(["n"])[:28], "columns must be a pair; got "),
        (lambda: split_columns(["n", "w", "x"])[:28], "columns must be a pair; got "),
        (lambda: split_columns(["w", "w"])[:36], "The two parts of columns share 'w', "),
        # One value of a secret follows from anything; a column with a value a row, from itself.
        (lambda: determine([0, 0, 1, 1], [5, 5, 6, 6]), ["'n' determines 'w'"]),
        (lambda: determine([0, 0, 1, 1], [5, 5, 6, 7]), []),
        (lambda: determine([0, 0, 1, 1], [5, 5, 5, 5]), []),
        (lambda: determine([0, 0, 1, 2], [5, 5, 6, 6]), []),
        (lambda: determine([0, 0, 1, 1], [5, 5, 5, 5], [7, 7, 8, 8]), ["'n' determines 'x'"]),
        (
            lambda: determine(*[[0, 0, 1, 1]] * 3, known={0: [1, 2], 1: [0, 2]}),
            ["'w' determines 'n'", "'x' determines 'n'", "'n' determines 'w', and 1 more pair"],
        ),
        (
            lambda: tell_refusal(lambda: choose(columns=["n"])),
            "Inference needs at least 2 columns; got 1.",
        ),
        # Of five synthetic words two are a; numbers within 2 are of 0, 8, 3 and 3, and one lacks.
        (lambda: guess_blindly(1, [A, B, -1]), (2 + 1 + 0) / 3 / 5),
        (lambda: guess_blindly(0, [1.0, nan, 3.0, 10.0]), (3 + 1 + 2 + 1) / 4 / 5),
        (lambda: guess_blindly(0, [1.0, 10.1]), 3 / 2 / 5),
        # Known words find rows 0 and 3 for the first record, and all for one that is unknown.
        (lambda: guess({0: [1]}), {0: [1.0, 0.0, 0.0, 1 / 5]}),
        (lambda: guess({0: [1]}, 0.2499), {0: [0.5, 0.0, 0.0, 1 / 5]}),
        (lambda: guess({1: [0]}), {1: [1.0, 0.0, 0.0, 0.0]}),
    ],
    _singling_out: [
        (
            lambda: list_conditions(_singling_out.list_single_values(cells)),
            sorted(
                [
                    ((0, "is missing", 0.0),),
                    ((0, "==", 0.0),),
                    ((0, "==", 8.0),),
                    ((0, "<=", 0.0),),
                    ((0, ">=", 8.0),),
                    *(
                        ((1, "==", code),)
                        for code in range(len(cells.kinds[1]))
                        if code != A and code in cells.tables[-1][1].tolist()
                    ),
                ]
            ),
        ),
        (lambda: make_cell_condition(0, 1), (0, ">=", 8.0)),
        (lambda: make_cell_condition(0, 0), (0, "<=", 0.0)),
        (lambda: make_cell_condition(0, 3), (0, ">=", 3.0)),
        (lambda: make_cell_condition(0, 2), (0, "is missing", 0.0)),
        (lambda: make_cell_condition(1, 1), (1, "==", B)),
        (
            lambda: [
                _singling_out.holds_once(
                    (_singling_out.CellCondition(0, *given),), cells.tables[-1:]
                )
                for given in (("==", 8.0), ("==", 3.0), ("==", 7.0), ("is missing", 0.0))
            ],
            [True, False, False, True],
        ),
        (
            lambda: [
                _singling_out.holds_once(
                    (_singling_out.CellCondition(0, "<=", limit),),
                    [[array(some)], cells.tables[-1]],
                )
                for limit, some in ((0.0, [0.0, 1.0]), (0.0, [0.0, -1.0]), (0.0, [5.0]))
            ],
            [True, False, True],
        ),
        # Of three records of which one or two are trained on, none isolates one side alone.
        (lambda: exchange([[0], [0, 1], [0, 1, 2]])[1], [[-1, 1], [0], [-1, 0, 1]]),
        (lambda: exchange([[0], []]), ((2, 150), [[-1, 1], [0]])),
        (lambda: exchange([range(41), range(40)], 41)[1], [[0], [0]]),
        (lambda: exchange([]), ((0, 150), [])),
        (lambda: draw_single(1)[:2], ({1}, True)),
        (lambda: draw_single(9)[:2], ({2}, True)),
        (
            lambda: draw_blindly(1),
            (
                40,
                {1},
                {(0, ">="), (0, "<="), (0, "is missing"), (1, "==")},
            ),
        ),
        (lambda: draw_blindly(5)[:2], (40, {2})),
    ],
    _generator_attack: [
        # The median of the distances 7, 6, 4 and 7 of the last one, or of those of the tenth.
        (lambda: Space(LINE).bandwidth, (6 + 7) / 2),
        (lambda: Space([[0.0]]).bandwidth, 1.0),
        (lambda: Space([[0.0]] * 3).bandwidth, 1.0),
        (lambda: Space(np.arange(21.0)[:, None]).bandwidth, 5.0),
        (lambda: [len(one) for one in Space(LINE).iter_from(array(LINE))], [4]),
        (lambda: next(Space(LINE).iter_from(array([[2.0]]))), [[2.0, 1.0, 1.0, 5.0]]),
        (lambda: next(Space(LINE).iter_from(array([[2.0]]), array([[9.0]]))), [[7.0]]),
        (lambda: find_offset([3, 3], [1.0, 2.0, 9.0]), 0.0),
        (lambda: find_offset([3, 4], [1.0, 2.0, 9.0]), 6.0),
        # Two columns: squares of the distances 3 and 2, or 3 and 2 without the record itself.
        (
            lambda: compare_densities([0.0, 0.0]),
            [2 * (np.log(2) - np.log(3)) + np.log(2) - np.log(2)],
        ),
        (
            lambda: compare_densities([0.0, 1.0]),
            [2 * (np.log(1) - np.log(3)) + np.log(3) - np.log(2)],
        ),
    ],
    _neighbors: [
        (
            lambda: find_nearest("euclidean"),
            ([[0.0, 1.0], [1.0, 13**0.5]], [[0, 2], [1, 2]]),
        ),
        (
            lambda: find_nearest("manhattan"),
            ([[0.0, 1.0], [1.0, 5.0]], [[0, 2], [1, 2]]),
        ),
        (lambda: find_nearest("euclidean", None, 1), ([[18**0.5], [18**0.5]], [[1], [0]])),
        # The nearest of the middle, 3, is taken off.
        (
            lambda: as_points("euclidean", [[1.0], [3.0], [9.0]], [[4.0]]),
            ([[[-2.0], [0.0], [6.0]], [[1.0]]], "euclidean"),
        ),
        (
            lambda: as_points("manhattan", [[1.0], [3.0]], [[4.0]]),
            ([[[1.0], [3.0]], [[4.0]]], "manhattan"),
        ),
        (
            lambda: (tell_refusal(lambda: as_points("euclidean", [[0.0]], [[1e200]])) or "")[:27],
            "Values that lie 1e+200 apar",
        ),
        (
            lambda: manhattan_distances(
                GowerEncoder().fit_transform(
                    pd.DataFrame({"n": [0.0, 4.0, 1.0], "w": ["a", "b", "a"]})
                )
            ),
            [[0, 1, 0.125], [1, 0, 0.875], [0.125, 0.875, 0]],
        ),
    ],
    _collapse: [
        (lambda: rare([0, 0, 1, 2, 2], [0, 1, 1, 2]), (1, 0.2, 0.5, True)),
        (lambda: rare([0, 0, 1, 2, 2], [0, 1, 1, 2], label=2), (2, 0.4, 0.25, True)),
        (lambda: rare(["b", "a"], ["b", "a", "a"]), ("a", 0.5, 2 / 3, True)),
        (
            lambda: tell_refusal(lambda: rare([0, 1], [0], label=5)),
            "label must be a class of y; got 5.",
        ),
        (lambda: tell_refusal(lambda: rare([], [0])) is None, False),
    ],
    _copy_test: [
        (
            lambda: _cells._find_largest_gap(cells, 0, cells.tables[0], cells.tables[-1]),
            [1.0, 1.0, 1.0, 9 / 8],
        ),
        (
            lambda: _cells._find_largest_gap(cells, 1, cells.tables[0], cells.tables[-1]),
            [1.0] * 4,
        ),
        (
            lambda: cells._count_words([0, 1], cells.tables[0], cells.tables[-1])[0],
            [0, 1, 1, 0, 1],
        ),
        (
            lambda: [len(one[0]) for one in _cells.iter_blocks(cells.tables[-1], 10**6)],
            [2, 2, 1],
        ),
        (
            lambda: [len(one[0]) for one in _cells.iter_blocks(cells.tables[-1], 10**7)],
            [1] * 5,
        ),
        (
            lambda: [len(one[0]) for one in _cells.iter_blocks([np.arange(70)], 5)],
            [64, 6],
        ),
    ],
    _dp_wgan: [
        (lambda: whole(INT, 0.5, 3.5, ["a", "b"]), (1.0, 3.0, 3)),
        (lambda: whole(INT, -2.0, 2.0), (-2.0, 2.0, 5)),
        (lambda: whole(INT, 0.25, 0.75), None),
        (lambda: whole(INT, 0.0, _dp_wgan.MOST_VALUES - 1.0)[2], _dp_wgan.MOST_VALUES),
        (lambda: whole(INT, 0.0, float(_dp_wgan.MOST_VALUES)), None),
        (lambda: whole(INT, 2.0**52, 2.0**52)[2], 1),
        (lambda: whole(INT, 2.0**52, 2.0**52 + 1), None),
        (lambda: whole(INT, -(2.0**52) - 1, -(2.0**52)), None),
        (lambda: whole(np.dtype(float), 0.0, 3.0), None),
        (lambda: whole(None, 0.0, 3.0), None),
        (lambda: restore(None), [[11.0, 7.0, 4.0], [13.6, 9.0, 4.0]]),
        (lambda: restore(INT), [[11, 7, 4], [14, 9, 4]]),
        (lambda: restore(np.dtype(np.float32)), array([[11.0, 7, 4], [13.6, 9, 4]])),
    ],
    critic_bounds: [
        # One layer: 2 * max(product - 1, 1) times the norms of the others.
        (
            lambda: critic_bounds.penalty_bounds([array([[3.0, 4.0]]), array([[2.0]])], "spectral"),
            [2 * 9 * 2.0, 2 * 9 * 5.0],
        ),
        (
            lambda: critic_bounds.penalty_bounds(
                [array([[3.0, 4.0], [0.0, 0.0]]), array([[0.1, 0.0]])], "frobenius"
            ),
            [2 * 0.1 * 2**0.5, 2 * 5.0 * 2**0.5],
        ),
        # The first sum lies in [-1, 2], so that its slope may be 1/2.
        (
            lambda: bound_critic([[[1.0, -2.0]], [[3.0]]], [[1.0]]),
            [
                ([[0.0, 0.0]], [[3.0, 3.0]]),
                ([1.5], [3.0]),
                ([[-0.5]], [[2.0]]),
            ],
        ),
    ],
    _adversarial_accuracy.AccuracyTerms: [
        # Deviations from the means 3/4 and 1/4, of two rows of each side.
        (lambda: make_terms().shares, [0.0625, 0.0, -0.0625, -0.0625, 0.0625]),
        (lambda: _adversarial_accuracy.check_sizes([range(3), range(2)], ["a", "b"]), 2),
        (lambda: _adversarial_accuracy.check_sizes([range(3), range(4)], ["a", "b"]), 3),
        (
            lambda: tell_refusal(
                lambda: _adversarial_accuracy.check_sizes([range(3), range(1)], ["a", "b"])
            ),
            "b needs at least 2 rows; got 1.",
        ),
        (lambda: permute([0.1, 0.3, 0.2], 0.2), (3 / 4, 3 / 4)),
        (lambda: permute([0.1, 0.3, 0.2 - 1e-13], 0.2), (3 / 4, 3 / 4)),
        (lambda: permute([0.1, 0.1, 0.1], 0.2), (1 / 4, 1.0)),
    ],
    _neighbors.draw_places: [
        (lambda: _neighbors.draw_places(3, 3, None), [0, 1, 2]),
        (lambda: len({*_neighbors.draw_places(9, 4, np.random.RandomState(0)).tolist()}), 4),
        (
            lambda: bool(
                (np.diff(_neighbors.draw_places(99, 40, np.random.RandomState(0))) > 0).all()
            ),
            True,
        ),
        (lambda: check_metric(lambda one, other: 0.0), ""),
        (lambda: check_metric(lambda one, other: nan), "A distance of metric must be a finite "),
        (lambda: check_metric(lambda one, other: "a"), "A distance of metric must be a finite "),
        (lambda: check_metric(lambda one, other: 1 / 0), "metric cannot compare two rows: ZeroDi"),
        (
            lambda: tell_refusal(
                lambda: _neighbors.validate_frame(LinearRegression(), pd.DataFrame({"a": []}))
            ),
            "Expected a table with at least 1 row; got 0.",
        ),
    ],
    _copy_test.count_unchanged: [
        (hash_rows, ([True, False, False, False], [True, True, True, False])),
        (
            lambda: count_unchanged(),
            {"train": 3, "n_train": 4, "alone": 1, "test": None, "n_test": None},
        ),
        (
            lambda: count_unchanged({"a": [1, 9], "b": ["x", "z"]}),
            {"train": 3, "n_train": 4, "alone": 0, "test": 2, "n_test": 2},
        ),
        (lambda: choose_cut([], []), -np.inf),
        # Of 1, 2, 4 and 8 rows, the share of which shows best beside the root of the copies.
        (lambda: choose_cut([1, 2, 3, 4, 5, 6, 7, 8.0], [0] * 8), 8.0),
        (lambda: choose_cut([1, 2, 3, 4, 5, 6, 7, 8.0], [0] * 4 + [9] * 4), 4.0),
        (lambda: choose_cut([4, 3, 2, 1.0], [90, 90, 0, 0]), 2.0),
        (lambda: choose_cut([1, 1, 1, 4.0], [0, 0, 0, 99]), 1.0),
        # The real rows 1, 3 and 9.
        (lambda: measure_nearest(), [2 / 8, 6 / 8]),
        (lambda: measure_nearest(array([0, 0, 1])), [1.0, 6 / 8]),
        (lambda: measure_nearest(given=[array([1.5, 8.0])]), [0.5 / 8, 1 / 8]),
    ],
    _risks.draw_targets: [
        (lambda: draw_targets(5), (5, True)),
        (lambda: draw_targets(9), (5, True)),
        (lambda: draw_targets(3), (3, True)),
        (
            lambda: summarize_risk(),
            [
                "intervals at 90%",
                "name: risk  0.250 [0.125, 0.500]; attack 0.500, control 0.250, naive 0.125",
            ],
        ),
        (lambda: summarize_risk(naive=0.375)[1][-26:], "(not better than guessing)"),
        (
            lambda: summarize_risk(risk=nan)[1][:62],
            "name: risk cannot be said: no attack on a control record fails"[:62],
        ),
        (
            lambda: summarize_risk(risk=nan, n_attacks=0, attack=nan)[1],
            "name: risk cannot be said: no attack could be made",
        ),
    ],
    _dp_wgan._list_values: [
        (lambda: list_values(NumberColumn(-1, 126, whole=True)), (-1, 126, 128)),
        (lambda: list_values(NumberColumn(-1, 127, whole=True)), None),
        (lambda: list_values(NumberColumn(0, 1)), None),
        (lambda: list_values(ValuesColumn(["b", "a"])), ("b", "a", 2)),
    ],
    critic_bounds.gradient_penalty_bounds: [
        # Twice the top less 1, or 1, times the norms of the other layers.
        (lambda: bound_penalty([[2.0]], [[3.0]]), [30.0, 20.0]),
        (lambda: bound_penalty([[0.5]], [[3.0]]), [6.0, 1.0]),
        (lambda: bound_penalty([[4.0]]), [6.0]),
        (lambda: bound_penalty([[3.0], [4.0]], [[1.0, 0.0]]), [8.0, 40.0]),
        (
            lambda: bound_penalty([[3.0], [4.0]], [[1.0, 0.0]], norm="frobenius"),
            [2 * (5 * 2**0.5 - 1) * 2**0.5, 2 * (5 * 2**0.5 - 1) * 5 * 2**0.5],
        ),
        (
            lambda: bound_penalty([[1.0, 2.0]], [[1.0, 2.0]])[:35],
            "weights must be matrices of shape (",
        ),
        (lambda: bound_penalty([[1.0], [2.0]])[:35], "weights must be matrices of shape ("),
        (lambda: bound_penalty([1.0])[:35], "weights must be matrices of shape ("),
        (lambda: bound_penalty()[:35], "weights must be matrices of shape ("),
        (lambda: bound_penalty([[1.0]], norm="other")[:21], "norm must be one of '"),
    ],
    _generator_attack.ClassifierScore: [
        # Of a hundred trees, with half a tree more on either side, less the log of 2 / 6 rows.
        (
            lambda: score_by_classifier([0.0, 0.25, 1.0]),
            (
                [np.log(odds) + np.log(3) for odds in (0.5 / 100.5, 25.5 / 75.5, 100.5 / 0.5)],
                [[0], [1], [10], [11], [12], [13], [14], [15]],
                [True, True] + [False] * 6,
            ),
        ),
        (lambda: score_by_classifier([0.5], 3, 3)[0], [0.0]),
        (lambda: compare_copula(), np.zeros(4)),
        (
            lambda: (tell_refusal(lambda: score_by_copula([[1]], [[1]], [[1]], True)) or "")[:43],
            "statistic='copula' needs columns of numbers",
        ),
    ],
    _generator_attack.RareCopies: [
        # The median distance 2, of 1, 2 and 7: both synthetic rows of 2, and references of 3.
        (lambda: share_near([[1.0], [3.0], [9.0]]), [1.0 - 1 / 3, 1.0 - 1 / 3, -1 / 3]),
        (lambda: rare_copies([[1.0], [-2.0], [3.0], [1.0 + 1e-9]]), [1.0, 2.0, 0.0, 1.0]),
        (lambda: rare_copies([[1.0 + 3e-9]]), [0.0]),
        (lambda: rare_copies([[1.0], [1.0 + 3e-9]], 1e6), [1e6, 0.0]),
    ],
    _dp_wgan._validate: [
        (lambda: validate_generated(pd.DataFrame({"a": [1.0]})), ""),
        (
            lambda: validate_generated(pd.DataFrame({"a": ["x"]})),
            "X must hold numbers; it has strings or categories in a colu",
        ),
        (
            lambda: validate_generated([["x"]]),
            "X must hold numbers; it has strings, which need an encoding",
        ),
        (lambda: validate_generated(pd.DataFrame({"a": [nan]}))[:20], "Input X contains NaN"),
    ],
    _risks.number_persons: [
        (lambda: number_persons(["b", "a", "b"], ["d", "c"]), [1, 0, 1, 3, 2]),
        (
            lambda: number_persons(["b", "a"], ["a", "c"]),
            "1 persons are in train and in test, such",
        ),
        (
            lambda: tell_refusal(lambda: _risks.number_persons(array([1]), (1, 1)))[:21],
            "groups must be a pair",
        ),
        (
            lambda: tell_refusal(lambda: _risks.number_persons(([1],), (1, 1)))[:21],
            "groups must be a pair",
        ),
    ],
    _neighbors.as_frame: [
        (lambda: as_frame([[1, 2]]), {0: [1], 1: [2]}),
        (lambda: as_frame(pd.DataFrame({"a": [1]})), {"a": [1]}),
        (lambda: as_frame([1, 2]), "it must be a DataFrame or a d"),
        (lambda: as_frame(sparse.csr_array(np.eye(2))), "it must be a DataFrame or a d"),
        (lambda: read_categorical("from_dtype"), [False, True, False]),
        (lambda: read_categorical(["a", 2]), [True, False, True]),
        (lambda: read_categorical([-1]), [False, False, True]),
        (lambda: read_categorical([]), [False, False, False]),
        # Truth values are a mask, as in scikit-learn, and no positions.
        (lambda: read_categorical([False, False, True]), [False, False, True]),
        (lambda: read_categorical(array([True, False, False])), [True, False, False]),
        (lambda: read_categorical([True, False])[:27], "categorical_features must h"),
        (lambda: read_categorical([True, 2, "a"])[:25], "categorical_features has "),
        (lambda: read_categorical([3]), "categorical_features has 3, "),
        (lambda: read_categorical([-4]), "categorical_features has -4,"),
        (lambda: read_categorical(["d"]), "categorical_features has 'd'"),
        (lambda: read_categorical(["a"], ()), "categorical_features has 'a'"),
        (lambda: read_categorical(5), "categorical_features must be"),
        (lambda: check_numbers([1.0, 2.0], ["x", None], [3.0, 4.0]), None),
        (
            lambda: check_numbers([1.0, 2.0], ["x", "y"], [nan, 4.0]),
            "The column of numbers 2 lacks 1 of 2 values; impute them, or name the column in "
            "categorical_features.",
        ),
        (
            lambda: check_numbers([nan, 1.0], ["x", "y"], [nan, nan], names=["u", "v", "w"])[:46],
            "The column of numbers 'w' lacks 2 of 2 values;",
        ),
        (
            lambda: check_numbers([nan, 1.0], [None, None], [2.0, 3.0])[:36],
            "The column of numbers 0 lacks 1 of 2",
        ),
        (
            lambda: tell_refusal(
                lambda: _neighbors.check_table_widths(
                    [np.zeros((1, 2)), np.zeros((1, 3))], ["a", "b"]
                )
            ),
            "b has 3 columns and a has 2; they must be the same.",
        ),
    ],
    _dp_wgan._read_named: [
        (lambda: read_named("infer"), {}),
        (lambda: read_named({"b": ["x", "y"], 0: "number"}), {1: ["x", "y"], 0: None}),
        (lambda: read_named({2: "number"}), "columns has 2, which is not a column of "),
        (lambda: read_named({-1: "number"}), "columns has -1, which is not a column of"),
        (lambda: read_named({True: "number"}), "columns has True, which is not a column "),
        (lambda: read_named({"c": "number"}), "columns has 'c', which is not a column o"),
        (lambda: read_named({7: "number"}, ()), {7: None}),
        (lambda: read_named({"a": "numbers"}), "columns['a'] must be 'number' or the val"),
        (lambda: read_named({"a": ["x", "x"]}), "columns['a'] must be 'number' or the val"),
        (lambda: read_named({"a": []}), "columns['a'] must be 'number' or the val"),
        (lambda: read_named({"a": {"x", "y"}}), "columns['a'] must be 'number' or the val"),
        (lambda: read_named({"a": frozenset("xy")}), "columns['a'] must be 'number' or the val"),
        (lambda: read_named({"a": 5}), "columns['a'] must be 'number' or the val"),
        (
            lambda: infer_categories(a=[1.0, 2.0], b=["y", "x"], c=[True, False]),
            {1: ["x", "y"], 2: [False, True]},
        ),
        (lambda: infer_categories(named={0}, b=["y", "x"], c=["u", None]), {1: ["u", nan]}),
        (lambda: infer_categories(False, b=["y", "x"], c=[True, False]), {}),
        (
            lambda: infer_categories(b=pd.Categorical(["y"], ["z", "y"])),
            {0: ["z", "y"]},
        ),
        (
            lambda: infer_categories(b=pd.to_datetime(["2020-01-01"])),
            "Column 'b' has dates; turn them into",
        ),
        (
            lambda: infer_categories(False, b=pd.to_datetime(["2020-01-01"]))[:21],
            "Column 'b' has dates;",
        ),
        (
            lambda: infer_categories(b=[str(k) for k in range(_dp_wgan.MOST_VALUES + 1)])[:14],
            "Column 'b' has",
        ),
        (
            lambda: len(infer_categories(b=[str(k) for k in range(_dp_wgan.MOST_VALUES)])[0]),
            _dp_wgan.MOST_VALUES,
        ),
        (lambda: read_ends(2.0), [2.0, 2.0, 2.0]),
        (lambda: read_ends({"a": 1.0, "c": 3.0}), [1.0, 0.0, 3.0]),
        (lambda: read_ends({0: 1.0, "c": 3.0, "b": 7.0}), [1.0, 7.0, 3.0]),
        (lambda: read_ends({"a": 1.0}), "lower lacks column 'c'."),
        (lambda: read_ends({0: 1.0}, ()), "lower lacks column 2."),
        (lambda: check_ranges([[1.0, 5.0]], [1.0, 2.0], [3.0, 5.0]), ""),
        (
            lambda: check_ranges([[1.0, 5.1]], [1.0, 2.0], [3.0, 5.0]),
            "Column 1 has values outside its range [2.0, ",
        ),
        (
            lambda: check_ranges([[0.9, 5.0]], [1.0, 2.0], [3.0, 5.0]),
            "Column 0 has values outside its range [1.0, ",
        ),
        (
            lambda: check_ranges([[1.0, 5.0]], [1.0, -1e308], [3.0, 1e308]),
            "upper - lower must be finite in double preci",
        ),
    ],
    critic_bounds.critic_gradient_bounds: [
        (lambda: bound_gradient(), True),
        (lambda: bound_gradient(biases=[[1.0, 2.0]]), False),
        (lambda: bound_gradient(biases=[]), False),
        (lambda: bound_gradient(biases=[[1.0], [1.0]]), False),
        (lambda: bound_gradient(negative_slope=1.0), True),
        (lambda: bound_gradient(negative_slope=0.0), True),
        (lambda: bound_gradient(negative_slope=1.1), False),
        (lambda: bound_gradient(sizes=[1, 1]), True),
        (lambda: bound_gradient(sizes=[2]), True),
        (lambda: bound_gradient(sizes=[1]), False),
        (lambda: bound_gradient(sizes=[0, 2]), False),
        (lambda: bound_gradient(sizes=[0.5, 1.5]), False),
        (lambda: bound_gradient(sizes=[[1, 1]]), False),
        (lambda: bound_gradient(weights=[[[1.0, -2.0]], [[3.0, 1.0]]]), False),
        (lambda: bound_gradient(weights=[[[1.0, -2.0]], [[3.0], [1.0]]]), False),
        (lambda: bound_gradient(weights=[], biases=[]), False),
        (lambda: bound_gradient(weights=[[1.0, 2.0], [[3.0]]]), False),
        (
            lambda: critic_bounds._multiply_interval(
                array([[1.0, -2.0]]), (array([1.0, 3.0]), array([2.0, 5.0]))
            ),
            ([1.0 - 10.0], [2.0 - 6.0]),
        ),
        (
            lambda: critic_bounds._multiply(
                (array([-1.0]), array([2.0])), (array([-3.0]), array([5.0]))
            ),
            ([-6.0], [10.0]),
        ),
    ],
}


@pytest.mark.parametrize("module", ANSWERS, ids=lambda module: module.__name__)
def test_answers_by_hand(module):
    expect_answers(ANSWERS[module])
