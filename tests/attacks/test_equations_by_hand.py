"""Decisions between solutions of equations, and searches of arrays, with answers by hand."""

import warnings
from collections import namedtuple
from types import SimpleNamespace as NS

import numpy as np
import pandas as pd
import pytest
from by_hand import expect_answers, tell_refusal
from numpy import array, nan
from scipy import sparse
from scipy.stats import norm
from sklearn.linear_model import LinearRegression, Ridge

from skmia import Records
from skmia._core.linear_influence import expect_influence
from skmia.attacks import (
    AnalyticLiRA,
    _analytic_lira,
    _array_search,
    _bit_solver,
    _vulnerable_records,
)
from skmia.attacks._bit_solver import BitSolution, EquationsAttack

LOG = np.log


def solution(name, settled=True, known=0.5):
    """Make a solution whose only ratio tells it from others."""
    return BitSolution(array([float(name)]), known, array([1.0]), is_settled=settled)


class Solver:
    """Solves nothing: it writes down what it is asked for, and answers what it was given."""

    outsiders_, outsiders, prior, solver = 0.0, 0.0, 0.5, "auto"
    _n_steps, _noises, _n_candidates, _method = 15, (0.01, 0.1, 0.3), 20, "propagation"
    _allowed_seconds, _n_usual, _propagates_outsiders, _seed = np.inf, 15, False, 7

    def __init__(self, **given):
        self.asked = []
        vars(self).update(given)

    def __getattr__(self, name):
        found = getattr(EquationsAttack, name)
        return found.__get__(self) if callable(found) else found


class Asked(Solver):
    def _solve_with(self, noise, is_contradicting, start=None, n_steps=None):
        self._noise = noise
        from_it = None if start is None else (start.ratios[0], start.inverter)
        self.asked.append((noise, is_contradicting, from_it, n_steps))
        return self.of_noise[noise].pop(0) if isinstance(self.of_noise, dict) else self.of_noise

    def _whiten(self, noise):
        self.asked.append(noise)

    def _learn_pulls(self, solution):
        self.asked.append(("pulls", solution.ratios[0]))


class First(Asked):
    """Solves once, and tells which way it goes on."""

    def _find_surprise(self):
        return "surprised"

    def _is_taken(self, solution, noise):
        return self.takes and noise == 0.01

    def _raise_noise(self, first, is_contradicting):
        return "raised", first.ratios[0], is_contradicting

    def _lower_noise(self, is_contradicting):
        return solution(2, known=0.75)


def solve(n=2, hessian=None, contradicting=False, takes=True, **given):
    given |= {"_equations": NS(rows=np.zeros((n, 1)), hessian=hessian), "takes": takes}
    solver = First(of_noise=solution(1, known=0.25), _is_surprised=None, **given)
    found = EquationsAttack._solve(solver, is_contradicting=contradicting)
    found = (found.ratios[0], found.known) if isinstance(found, BitSolution) else found
    (asked,) = solver.asked
    return found, asked[1:], solver._is_surprised, solver._disagreement


def raise_noise(first, of_noise, settled=True, noise=0.01):
    """Raise the noise until solution 9 comes."""
    taken = lambda one, noise: one.ratios[0] == 9  # noqa: E731
    alike = lambda one, other: abs(one[0] - other[0]) / 100  # noqa: E731
    solver = Asked(
        of_noise={k: [one] for k, one in of_noise.items()},
        _noise=noise,
        _is_taken=taken,
        _compare_ratios=alike,
    )
    found = EquationsAttack._raise_noise(solver, solution(first, settled), True)
    return found.ratios[0], solver.asked


def lower_noise(of_noise, misfits=None, determined=(), noises=(0.001, 0.01, 0.1, 0.3)):
    """Lower the noise, with solutions of each noise in their order."""
    misfits = {} if misfits is None else misfits
    solver = Asked(
        of_noise={k: list(some) for k, some in of_noise.items()},
        _noises=noises,
        _is_taken=lambda one, noise: one.is_settled,
        _compare_misfit=lambda one: misfits.get(one.ratios[0], 0.5),
        _is_determined=lambda one: one.ratios[0] in determined,
        _sharpen=lambda one: one.ratios * 2,
        _compare_ratios=lambda one, other: one[0] * 100 + other[0],
    )
    found = EquationsAttack._lower_noise(solver, False)
    asked = [
        one[0] if isinstance(one, tuple) and one[0] != "pulls" else one for one in solver.asked
    ]
    starts = [one[2] for one in solver.asked if isinstance(one, tuple) and one[0] != "pulls"]
    return found.ratios[0], getattr(solver, "_disagreement", None), asked, starts


def choose_solver(n_equations, n, **given):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rows = NS(shape=(n_equations, n))
        is_contradicting = given.pop("contradicting", False)
        return EquationsAttack._choose_solver(
            Solver(_rows=rows, **given), is_contradicting
        ), " ".join(str(one.message) for one in caught)


def answer_evidence(evidence):
    """Return an inverter that says so much evidence about each bit, and what it was asked."""
    asked = []

    def invert(*given):
        asked.append(given)
        return None, array(evidence), None

    return invert, asked


def expect_misfit(ratios, evidence, n_residuals, prior=0.5):
    invert, asked = answer_evidence(evidence)
    given = BitSolution(array(ratios), 0.5, np.ones(n_residuals), inverter=invert)
    return _bit_solver.expect_misfit(given, prior), [list(one) for one in asked[0]]


def tell_of_a_bit(misfit, evidence=16.0):
    """Return a solution of a bit at odds of three to one, whose squared misfit should be 1/4."""
    invert = answer_evidence([evidence])[0]
    return BitSolution(array([LOG(3)]), 0.5, array([misfit]), inverter=invert)


def sharpen(misfit, noise):
    """Return by what the ratio is divided; the equations have a mean square of 2.5."""
    rows = sparse.csr_array(array([[2.0, 0.0], [0.0, 1.0]]))
    solver = NS(prior=0.5, _noise=noise, _rows=rows)
    return float(LOG(3) / EquationsAttack._sharpen(solver, tell_of_a_bit(misfit))[0])


def is_taken(settled, noise, misfit=0.0):
    solver = NS(_compare_misfit=lambda one: misfit)
    return EquationsAttack._is_taken(solver, solution(1, settled), noise)


def judge_again(misfits, method="propagation"):
    """Solve again, from a solution with the first misfit to one with the second."""
    old, new = (solution(k)._replace(residuals=array([m])) for k, m in enumerate(misfits))
    asked, kept = [], []

    def solve_around(prior, start):
        asked.append(prior.tolist())
        return new

    attack = EquationsAttack.__new__(NamedEquations)
    vars(attack).update(
        _sort_by_content=lambda candidates, ratios: ratios,
        _solve_around=solve_around,
        _solution=old,
        _method=method,
        _keep=kept.append,
        prior=0.5,
        fitted_=True,
    )
    found = attack.solve_again(None, array([LOG(3), 50.0, -50.0]))
    return found, attack._solution is new, [float(one[0]) for one in kept], asked[0]


class NamedEquations(EquationsAttack):
    def _read(self, records):
        raise NotImplementedError

    def _read_further(self, records):
        raise NotImplementedError


def contradict(outsiders=0.0, method="propagation", solver="auto", is_assumed=True, misfit=4.0):
    """Return what becomes of contradicting equations, and the warning."""
    attack = Solver(
        outsiders=outsiders,
        outsiders_=0.0 if outsiders == "auto" else outsiders,
        _method=method,
        solver=solver,
        _equations=NS(is_assumed=is_assumed),
        misfit_=misfit,
        victim=Ridge(),
        _solution="first",
        _solve=lambda is_contradicting: ("again", is_contradicting),
    )
    with pytest.warns(UserWarning) as caught:
        found = EquationsAttack._solve_contradicting(attack)
    return found, attack.outsiders_, str(caught[0].message)


def find_surprise(scale, n_totals=1):
    """Return whether two equations of a bit each are surprising, beside totals that are."""
    attack = NS(
        _rows=sparse.csr_array(array([[1e-9, 0.0], [0.0, 1e-9], [1.0, 1.0]])),
        _targets=scale * array([0.6, 0.8, 1e6]),
        _equations=NS(n_totals=n_totals),
        prior=0.5,
        _n_candidates=2,
    )
    return EquationsAttack._find_surprise(attack)


EQUATIONS = NS(
    rows=sparse.csr_array(array([[1.0, 2.0], [0.0, 3.0]])),
    targets=array([5.0, 7.0]),
    variances=array([0.5, 0.25]),
    n_rows=3,
    blur=array([[1.0, 0.0], [2.0, 4.0]]),
    pulls=array([0.5, 0.25]),
)
# The outsiders are 0.2 * 3 of two candidates: 0.3 for each.
NOISE_OF_TWO = np.sqrt(array([0.5, 0.25]) + (0.3 + 0.01) * array([5.0, 9.0]))


def whiten():
    rows, targets, weights, pulls = _bit_solver.whiten_equations(EQUATIONS, 0.2, 2, 0.1)
    return rows.toarray(), targets, weights, pulls


def judge_one_more(inverse):
    """Judge two further records by two equations of two candidates."""
    rows = sparse.csr_array(array([[1.0, 2.0], [0.0, 3.0]]))
    columns = sparse.csr_array(array([[2.0, 1.0], [1.0, 0.0]]))
    given = BitSolution(None, 0.75, array([3.0, 5.0]), inverse)
    return given.judge(rows, columns)


INVERSE = array([[0.5, 0.1], [0.1, 0.25]])
SHARED = array([[1.0, 2.0], [0.0, 3.0]]).T @ array([[2.0, 1.0], [1.0, 0.0]])
SQUARED = _bit_solver.SquaredMatrix(array([[1.0, 2.0], [0.0, 3.0]]), array([0, 2]))


def invert_low_rank():
    rng = np.random.default_rng(0)
    spread, rows = array([0.5, 2.0, 0.25]), rng.normal(size=(2, 3))
    factor = np.linalg.cholesky(np.eye(2) + (rows * spread) @ rows.T)
    right = rng.normal(size=3)
    found = _bit_solver.LowRank(spread, rows, factor) @ right
    return found - np.linalg.solve(rows.T @ rows + np.diag(1 / spread), right)


def invert(kind):
    """Compare mean, evidence and covariance of three bits with those of a Gaussian."""
    rng = np.random.default_rng(0)
    rows, precision, field = rng.normal(size=(2, 3)), array([1.0, 3.0, 0.5]), array([1.0, -2, 3])
    found = kind(sparse.csr_array(rows))(precision, field, array([0.5, 0.25, 0.75]), np.arange(3))
    covariance = np.linalg.inv(rows.T @ rows + np.diag(precision))
    wanted = covariance @ field, 1 / np.diag(covariance) - precision, covariance
    given = found[0], found[1], found[2] @ np.eye(3)
    return [np.abs(one - other).max() < 1e-5 for one, other in zip(given, wanted, strict=True)]


def invert_some():
    """The same where the second bit is known to be a half."""
    rng = np.random.default_rng(0)
    rows, precision, field = rng.normal(size=(2, 3)), array([1.0, 3.0, 0.5]), array([1.0, -2, 3])
    unsure, some = array([0, 2]), rows[:, [0, 2]]
    inverter = _bit_solver.DenseInverter(sparse.csr_array(rows))
    mean, own, inverse = inverter(precision, field, array([0.1, 0.5, 0.2]), unsure)
    covariance = np.linalg.inv(some.T @ some + np.diag(precision[unsure]))
    wanted = covariance @ (field[unsure] - some.T @ (rows[:, 1] * 0.5))
    known = rows[:, 1]
    left = known @ known - known @ some @ covariance @ some.T @ known
    return [
        np.abs(mean[unsure] - wanted).max() < 1e-5 and mean[1] == 0.5,
        np.abs(own - 1 / np.diag(covariance) + precision[unsure]).max() < 1e-5,
        np.abs(inverter.judge_sure(inverse, array([1])) - left).max() < 1e-5,
    ]


def invert_none():
    inverter = _bit_solver.DenseInverter(sparse.csr_array(array([[2.0, 1.0], [1.0, 0.0]])))
    mean, own, inverse = inverter(np.ones(2), np.ones(2), array([0.0, 1.0]), np.empty(0, dtype=int))
    return mean, own, inverter.judge_sure(inverse, array([1, 0]))


def pool_variance(*blocks):
    given = [(None, array(signals)[None], array(inside)) for signals, inside in blocks]
    return _vulnerable_records.estimate_pooled_variance(given)


class Linear:
    penalty = np.zeros(3)


def expect_linear(X, n_records=10):
    return AnalyticLiRA()._expect(Linear, X, 2, n_records)


def expect_of(n_stored, n_records=10, is_sparse=False):
    wanted = expect_influence(n_records, n_stored, np.zeros(3), 2, 4, is_sparse=is_sparse)
    return wanted._replace(n_fits=1)


def refuse_large(n_bytes, max_bytes):
    attack = AnalyticLiRA(max_bytes=max_bytes)
    cost = expect_of(30)._replace(n_bytes=n_bytes)
    records = Records(np.zeros((2, 3)), [0, 1])
    return tell_refusal(lambda: attack._refuse_large(cost, records)) is None


def score_analytic():
    attack = NS(
        _describe=lambda records: (array([0.5]), array([1.0]), array([4.0]), "y"),
        _ask=lambda records: array([2.0]),
        _pull=lambda signal, y: (array([3.0]), array([4.0])),
    )
    return AnalyticLiRA._score_samples(attack, None)


def weigh(held, prior):
    """Return what is wrong with the weight of a record by its own equation."""
    weight = float(AnalyticLiRA._weigh(NS(prior=prior), held))
    return weight - prior / (1 + (1 - prior) * held / (1 - weight * held)), weight > prior / 2


def pull(is_quadratic):
    attack = NS(_model=NS(loss=NS(is_quadratic=is_quadratic)))
    return AnalyticLiRA._pull(attack, array([LOG(3), 0.0]), array([5.0, 1.0]))


class Searched:
    """A search of the best model, as scikit-learn's."""

    def __init__(self, model):
        self.best_estimator_ = model


def expect_searched():
    rng = np.random.default_rng(0)
    X = sparse.csr_array(np.where(np.arange(250)[:, None] < 200, 1.0, [[0.0, 0.0, 2.0]]))
    y = rng.normal(size=250)
    model = Ridge().fit(X, y)
    records = Records(X, y)
    found = AnalyticLiRA(Searched(Searched(model))).expect_cost(records)
    return found, AnalyticLiRA(model).expect_cost(records)


def describe_column(values, stored=()):
    stats = _array_search.ColumnStats(array(values), array(stored, dtype=np.float32))
    return stats.decimals, stats.n_points, stats.n_missing, stats.values, stats.counts


COLUMN = _array_search.ColumnStats(array([1.5, nan, 4.0, 1.5, nan, np.inf]), array([]))
KEYS = _array_search.as_keys(array([[1.0, 2.0]]), False)
SINGLE = array([[1.0, 2.0]], dtype=np.float32)
MISSING = _array_search.ColumnStats(array([nan, nan]), array([]))
TEXTS = _array_search.ColumnStats(array(["a", "b", "a"]), array([]))
COUNTED = _array_search.ColumnStats(array([1.0, 3.0, 3.0]), array([]))
SPECK = _array_search.ColumnStats(array([0.0, 1 / 3]), array([0.0], dtype=np.float32))
THIRD = float(np.float32(1 / 3))

PLACE = _array_search.PreparedArray(
    "p", array([[3.0, nan], [1.0, 5.0], [3.0, 4.0]]), array([9.0]), array(["t"]), False, False, None
)
Stored = namedtuple("Stored", "path array kind note")


def list_places(*stored):
    places = _array_search.make_places(NS(arrays=[Stored(*one, None) for one in stored]))
    return [(one.path, one.only_target, one.is_known, one.position) for one in places]


def split(values):
    return [one.tolist() for one in _array_search._split_array(values)]


def view(name, path="p[0]", y=(1, 2)):
    inner = NS(view=name, y=y, X=array([[1.0, 2.0]]), n_source=3, path=path, passed=("q",))
    found = _array_search._view(inner)
    target = None if found.target is None else found.target.tolist()
    return found.name, [*found.columns], found.n_source, target, found.place, found.passed


def make_views(model, X, y):
    views = _array_search.make_views(model.fit(X, y), Records(X, y))
    return views[0].name, None if views[0].target is None else views[0].target.tolist()


def trust(stored, values, n_found=2, known=False):
    """Trust an array beside a column of one decimal place."""
    place = PLACE._replace(is_known=known)
    stats = NS(decimals=1, values=array(values))
    return _array_search._estimate_trust(place, stats, n_found, array(stored))


def search(columns, places, target=None, name="raw", place="", passed=()):
    """Search columns in places, which are a name and a table, by what is known of them."""
    columns = {str(k): array(one) for k, one in enumerate(columns)}
    target = None if target is None else array(target)
    given = _array_search.CandidateView(name, columns, len(columns), target, place, passed)
    prepared = []
    for path, table, only_target, known in places:
        table = array(table)
        text = np.unique(table) if table.dtype.kind == "U" else array([], dtype=str)
        table = array([]) if table.dtype.kind == "U" else table
        distinct = np.unique(table[np.isfinite(table)])
        prepared.append(
            _array_search.PreparedArray(path, table, distinct, text, only_target, known, None)
        )
    everything = np.sort(np.concatenate([one.distinct for one in prepared])).astype(np.float32)
    stats = _array_search.ViewStats(given, everything)
    hits = _array_search.ViewHits(given, prepared, stats, is_fit=True)
    columns = [(k, *(one.tolist() for one in some)) for k, *some in hits.columns]
    return hits.sums, columns, hits.numbers, hits.rows, hits.row_places


HALVES = [1.5, 2.5, 4.0, 1.5]  # of 26 tenths from 1.5 to 4

SEARCHED = expect_influence(250, 250 * 4.0, np.ones(4), 1, 4, is_sparse=True)
COLD = {0.1: [solution(1), solution(2)], 0.01: [solution(3)], 0.001: [solution(4)]}
HOT = {0.1: [solution(1, False), solution(4)], 0.3: [solution(2), solution(3)]}
HOT[0.01] = [solution(5, False)]

# Of each module: calls and answers. Whatever may be equal differs, and each branch decides once.
ANSWERS = {
    _bit_solver: [
        # Few equations, or without a matrix of second derivatives, are solved at once.
        (lambda: solve(), ((1.0, 0.25), (False, None, 15), "surprised", 0.0)),
        (lambda: solve(_method="ridge")[2], None),
        (
            lambda: solve(_noises=(0.01,), hessian=1, takes=False)[:3],
            ((1.0, 0.25), (False, None, 15), None),
        ),
        (lambda: solve(contradicting=True)[:3], ((1.0, 0.25), (True, None, 15), None)),
        (lambda: solve(takes=False)[0], ("raised", 1.0, False)),
        (lambda: solve(takes=False, contradicting=True)[0], ("raised", 1.0, True)),
        (lambda: solve(1, hessian=1)[:2], ((1.0, 0.25), (False, None, 15))),
        (lambda: solve(1, hessian=1, takes=False)[0], (2.0, 0.25)),
        (lambda: solve(2, hessian=1)[:2], ((2.0, 0.25), (False, None, 1))),
        (lambda: solve(5)[1], (False, None, 15)),
        # With more noise, until one is taken; and back to one that says the same.
        (lambda: raise_noise(1, {0.1: solution(9)}), (9.0, [(0.1, True, None, None)])),
        (lambda: raise_noise(4, {0.1: solution(9)}), (4.0, [(0.1, True, None, None), 0.01])),
        (lambda: raise_noise(3, {0.1: solution(9)})[0], 9.0),
        (lambda: raise_noise(4, {0.1: solution(9)}, settled=False)[0], 9.0),
        (
            lambda: raise_noise(4, {0.1: solution(5), 0.3: solution(9)}),
            (4.0, [(0.1, True, None, None), (0.3, True, None, None), 0.01]),
        ),
        (
            lambda: raise_noise(1, {0.1: solution(5), 0.3: solution(9)}),
            (5.0, [(0.1, True, None, None), (0.3, True, None, None), 0.1]),
        ),
        (lambda: raise_noise(0, {0.1: solution(4), 0.3: solution(9)})[0], 4.0),
        (lambda: raise_noise(0, {0.1: solution(3), 0.3: solution(9)})[0], 9.0),
        # Less noise, from the least one of much that is taken, with the mean over the noises.
        (
            lambda: lower_noise(COLD),
            (
                (2 * 2 + 3) / 2,
                4 * 100 + 3.0,
                [0.1, ("pulls", 1.0), 0.1, ("pulls", 2.0), 0.01, 0.01],
                [None, (1.0, None), (2.0, None)],
            ),
        ),
        (lambda: lower_noise(COLD, determined=(3,))[:2], ((4 + 3 + 4) / 3, 404.0)),
        (lambda: lower_noise(COLD, determined=(3, 4))[:2], (4.0, None)),
        (lambda: lower_noise(COLD, determined=(2, 4))[:2], (3.5, 403.0)),
        (lambda: lower_noise(COLD, {3: 0.6})[0], 3.5),
        (lambda: lower_noise(COLD, {3: 0.61})[0], 4.0),
        (lambda: lower_noise(COLD, {2: 2.0, 3: 2.1})[0], 3.5),
        (lambda: lower_noise(COLD, {2: 2.0, 3: 2.11}, determined=(2,))[0], 4.0),
        (lambda: lower_noise(COLD | {0.1: [solution(1), solution(2, False)]})[0], 2.5),
        (
            lambda: lower_noise(HOT),
            (
                (6 + 4) / 2,
                604.0,
                [0.1, 0.3, ("pulls", 2.0), 0.3, ("pulls", 3.0), 0.1, ("pulls", 4.0), 0.01, 0.1],
                [None, None, (2.0, None), (3.0, None), (4.0, None)],
            ),
        ),
        (lambda: lower_noise(HOT, determined=(3, 4))[0], 5.0),
        # Which solver: each reason decides once.
        (lambda: choose_solver(9, 9, solver="bounded"), ("bounded", "")),
        (lambda: choose_solver(9, 9), ("propagation", "")),
        (lambda: choose_solver(9, 9, contradicting=True), ("ridge", "")),
        (lambda: choose_solver(9, 9, outsiders_=0.1), ("ridge", "")),
        (lambda: choose_solver(9, 9, outsiders_=0.1, _propagates_outsiders=True)[0], "propagation"),
        (lambda: choose_solver(9, 9, _propagates_outsiders=True)[0], "propagation"),
        (lambda: choose_solver(4000, 20_000), ("bounded", "")),
        (lambda: choose_solver(4000, 20_001), ("ridge", "")),
        (lambda: choose_solver(30, 30, _allowed_seconds=15 * 9000 / 2e10)[0], "propagation"),
        (
            lambda: choose_solver(3000, 3000, _allowed_seconds=6.7),
            (
                "bounded",
                "3,000 equations of 3,000 candidates were solved with bounds, which is weaker: "
                "their propagation takes about 6.8 s, and 6.7 s are allowed; max_seconds of "
                "ReleasedModelAttack allows more.",
            ),
        ),
        (lambda: choose_solver(3000, 3000, _allowed_seconds=6.75), ("propagation", "")),
        # 4 / (4 + 4) + 12 / (12 + 4) of five equations; a sure bit keeps a variance of 1e-6.
        (
            lambda: expect_misfit([0.0, 0.0], [4.0, 12.0], 5),
            (0.75**0.5, [[4.0, 4.0], [0.0, 0.0], [0.5, 0.5], [0, 1]]),
        ),
        (lambda: expect_misfit([0.0, 0.0], [4.0, 12.0], 1)[0], 0.0),
        (lambda: expect_misfit([99.0], [1e6], 1)[0], 0.5**0.5),
        (lambda: expect_misfit([0.0], [16.0], 1, prior=0.75)[0], 0.5),
        (lambda: _bit_solver.measure_misfit(NS(residuals=array([3.0, 1.0]))), 5**0.5),
        (
            lambda: EquationsAttack._compare_misfit(NS(prior=0.5), tell_of_a_bit(0.75)),
            1.5,
        ),
        (
            lambda: EquationsAttack._compare_misfit(NS(prior=0.5), tell_of_a_bit(0.5, 1e30)),
            0.5e9,
        ),
        # What is assumed of the noise is left out, unless it is there, and at most half of all.
        (lambda: sharpen(0.25, 0.5), 1 - 0.25 * 0.25 * 2.5),
        (lambda: sharpen(0.25, 2.0), 0.5),
        (lambda: sharpen(0.375, 1.0), 0.5625),
        (lambda: sharpen(0.75, 1.0), 1.0),
        (lambda: is_taken(True, 0.01, 0.9), True),
        (lambda: is_taken(True, 0.01, 0.91), False),
        (lambda: is_taken(False, 0.01), False),
        (lambda: is_taken(True, 0.1, 5.0), True),
        (lambda: is_taken(False, 0.1), False),
        (lambda: is_taken(True, 0.09, 5.0), False),
        (lambda: EquationsAttack._is_determined(NS(prior=0.5), tell_of_a_bit(1.0)), True),
        (lambda: EquationsAttack._is_determined(NS(prior=0.5), tell_of_a_bit(1.0, 17.0)), False),
        (
            lambda: EquationsAttack._compare_ratios(
                NS(prior=0.5), array([0.0, LOG(3)]), array([LOG(3), LOG(3)])
            ),
            0.25 / 2**0.5,
        ),
        # Other evidence is kept if what it leaves is no more than before, or than noise leaves.
        (lambda: judge_again([2.0, 2.0]), (True, True, [1.0], [0.75, 1 - 1e-4, 1e-4])),
        (lambda: judge_again([2.0, 2.1])[:3], (False, False, [])),
        (lambda: judge_again([0.5, 1.0])[0], True),
        (lambda: judge_again([0.5, 1.1])[0], False),
        (lambda: judge_again([0.5, nan])[0], False),
        (lambda: judge_again([2.0, 2.0], "ridge")[3], [0.75, 0.9, 0.1]),
        # Squared distances beside the quantile 9.21 of two equations; totals are left out.
        (lambda: find_surprise(3.04), True),
        (lambda: find_surprise(3.03), False),
        (lambda: find_surprise(1.0, n_totals=0), True),
        (
            whiten,
            (
                array([[1.0, 2.0], [0.0, 3.0]]) / NOISE_OF_TWO[:, None],
                (array([5.0, 7.0]) - 0.3 * array([3.0, 3.0])) / NOISE_OF_TWO,
                1 / NOISE_OF_TWO,
                array([[1.0, 2.0], [0.0, 4.0]]) @ NOISE_OF_TWO**-2 + array([0.5, 0.25]),
            ),
        ),
        # A column of squared length 5 or 1: the part that is left beside the candidates.
        (lambda: judge_one_more(None), [11 - 0.25 * 5 / 2, 3 - 0.25 * 1 / 2]),
        (
            lambda: judge_one_more(INVERSE),
            array([11.0, 3.0]) - (array([5.0, 1.0]) - np.diag(SHARED.T @ INVERSE @ SHARED)) / 2,
        ),
        (lambda: SQUARED @ array([1.0, 5.0, 2.0]), [5.0, 0.0, 28.0]),
        (invert_low_rank, [0.0] * 3),
        (lambda: invert(_bit_solver.DenseInverter), [True] * 3),
        (lambda: invert(_bit_solver.LowRankInverter), [True] * 3),
        (invert_some, [True] * 3),
        (invert_none, ([0.0, 1.0], [], [1.0, 5.0])),
        (lambda: _bit_solver._as_share(-0.5), 0.0),
        (lambda: _bit_solver._as_share(0.5), 0.5),
        (lambda: 1e9 * (1 - _bit_solver._as_share(1.0)), 0.9999999717180685),
    ],
    _vulnerable_records: [
        # Without two OUT models there is no spread; of two, the square is that of one.
        (lambda: pool_variance(([[1.0]], [[False]])), [1e-24]),
        (lambda: pool_variance(([[1.0], [5.0]], [[False], [False]])), [8.0]),
        (
            lambda: pool_variance(
                ([[1.0, 9.0], [5.0, 9.0]], [[False, True], [False, True]]),
                ([[0.0], [3.0]], [[False], [False]]),
            ),
            [(8 + 4.5) / 2],
        ),
    ],
    _analytic_lira: [
        (lambda: expect_linear(np.zeros((2, 3))), expect_of(30.0)),
        (lambda: expect_linear(np.zeros((1, 3)), 7), expect_of(21.0, 7)),
        (lambda: expect_linear(np.zeros((0, 3))), expect_of(0.0)),
        (
            lambda: expect_linear(sparse.csr_array(array([[1.0, 0.0, 2.0], [0.0, 0.0, 3.0]]))),
            expect_of(15.0, is_sparse=True),
        ),
        # Of the first 200 of 250 rows, each of which has three numbers and a one.
        (lambda: expect_searched()[0], expect_searched()[1]),
        (lambda: expect_searched()[0].seconds, SEARCHED.seconds),
        (lambda: refuse_large(501e6, "auto"), False),
        (lambda: refuse_large(500e6, "auto"), True),
        (lambda: refuse_large(1e3, 999), False),
        (lambda: refuse_large(1e3, 1000), True),
        (
            score_analytic,
            [norm.logpdf(0.5, 1, 2) + LOG(3) - norm.logpdf(2, 1, 2)],
        ),
        (lambda: weigh(0.5, 0.25), (0.0, True)),
        (lambda: weigh(0.125, 0.75), (0.0, True)),
        (lambda: pull(False), ([0.25, 0.5], [0.1875, 0.25])),
        (lambda: pull(True), ([5 - LOG(3), 1.0], [1.0, 1.0])),
        (
            lambda: AnalyticLiRA._draw(NS(prior=0.2), 3.0, 0.5, 0.25),
            2 * 0.5 * 3 / (1 - 0.125),
        ),
        (lambda: float(AnalyticLiRA._natural_offset(NS(prior=0.25), None)), LOG(3)),
    ],
    _array_search: [
        # Decimal places of all values, not of the first 99 alone; at most six.
        (lambda: _array_search.count_decimals(np.r_[np.zeros(99), 0.5]), 1),
        (lambda: _array_search.count_decimals(array([1e-6])), 6),
        (lambda: _array_search.count_decimals(array([1e-7])), None),
        (lambda: describe_column([1.5, nan, 4.0, 1.5, np.inf]), (1, 26.0, 1, [1.5, 4.0], [2, 1])),
        (lambda: describe_column([0.0, 2.0**60])[:2], (0, 2.0**53)),
        (lambda: describe_column([nan, nan]), (None, np.inf, 2, [], [])),
        (lambda: describe_column(["a", "b", "a"]), (None, np.inf, 0, ["a", "b"], [2, 1])),
        (
            lambda: describe_column([1 / 3, 2 / 3, 0.5], [0.5, 2 / 3]),
            (None, 2.0**53, 0, [0.5, 2 / 3], [1, 1]),
        ),
        (lambda: describe_column([THIRD, 0.5]), (None, 2.0**24, 0, [], [])),
        (lambda: COLUMN.count(array([1.5, 4.0, 9.0, nan, 0.0])), [2, 1, 1, 2, 1]),
        (lambda: COUNTED.count(array([3.0, 1.0, 2.0, 9.0, nan])), [2, 1, 1, 1, 1]),
        (lambda: TEXTS.count(array(["a", "b", "c"])), [2, 1, 1]),
        (lambda: MISSING.count(array([3.0, nan])), [1, 2]),
        (lambda: COLUMN.share(array([0.0, 1.5, 2.0, 2.05, 4.0, 5.0])), 3 / 26),
        (lambda: COLUMN.share(np.full(99, 2.0)), 1.0),
        (lambda: TEXTS.share(array([1.0])), 0.0),
        (lambda: SPECK.share(array([0.0, 0.25, 1.0])) * 2.0**53, 2.0),
        (lambda: SPECK.share(array([0.0, 0.25, 1.0]), single=True) * 2.0**24, 2.0),
        (lambda: COLUMN.share(array([1.5, 4.0]), single=True), 2 / 26),
        (lambda: view("scaled"), ("scaled", ["0", "1"], 3, None, "", ("q",))),
        (lambda: view("scaled transformed target")[3], [1.0, 2.0]),
        (lambda: view("scaled transformed target", y=None)[3], None),
        (lambda: view("scores of a")[3:5], (None, "p[0]")),
        (
            lambda: make_views(LinearRegression(), array([[1.0], [2.0]]), array([3.0, 5.0])),
            ("raw", [3.0, 5.0]),
        ),
        (
            lambda: [*_array_search.make_columns([[[1, 2], [3, 4]]]).items()],
            [("0", [1.0]), ("1", [2.0]), ("2", [3.0]), ("3", [4.0])],
        ),
        (
            lambda: [*_array_search.make_columns(pd.DataFrame({7: [1], "a": ["x"]})).items()],
            [("7", [1.0]), ("a", ["x"])],
        ),
        (
            lambda: tell_refusal(
                lambda: _array_search.make_columns(sparse.csr_array((1, 50_000_001)))
            )[:72],
            "Rows of a sparse matrix of shape (1, 50000001) cannot be searched: it ha",
        ),
        (lambda: PLACE.suits(1, 2), True),
        (lambda: PLACE._replace(only_target=True).suits(1, 2), False),
        (lambda: PLACE._replace(only_target=True).suits(2, 2), True),
        (lambda: PLACE._replace(position=(0, 2)).suits(0, 2), True),
        (lambda: PLACE._replace(position=(0, 2)).suits(1, 2), False),
        (lambda: PLACE._replace(position=(0, 2)).suits(1, 3), True),
        (lambda: PLACE.numbers(0, 2), [1.0, 3.0]),
        (lambda: PLACE.numbers(1, 2), [4.0, 5.0]),
        (lambda: PLACE.numbers(2, 2), [9.0]),
        (lambda: PLACE.numbers(0, 3), [9.0]),
        (lambda: PLACE._replace(table=array([1.0, 2.0])).numbers(0, 2), [9.0]),
        (
            lambda: list_places(
                ("a[0]", array([1.0]), "values"),
                ("a[10]", array([1]), "rows"),
                ("b", array(["x"]), "leaf values"),
                ("c[x]", array([1.0]), "other"),
                ("d[0)", array([1.0]), "edges"),
                ("e", array([1.0]), "counts"),
                ("f", array([True]), "values"),
            ),
            [
                ("a[0]", False, True, (0, 2)),
                ("a[10]", False, True, (10, 2)),
                ("b", True, True, None),
                ("c[x]", False, False, None),
                ("d[0)", False, True, None),
            ],
        ),
        (
            lambda: split(array([1, "a", 2.5, None, "a", np.int64(7)], dtype=object)),
            [[1.0, 2.5, 7.0], [1.0, 2.5, 7.0], ["a"]],
        ),
        (lambda: split(array(7)), [[7.0], [7.0], []]),
        (
            lambda: split(array([[[1.0, nan], [3.0, 1.0]]])),
            [[[1.0, nan], [3.0, 1.0]], [1.0, 3.0], []],
        ),
        (lambda: split(sparse.csr_array(array([[0, 2]]))), [[[0.0, 2.0]], [0.0, 2.0], []]),
        (lambda: split(sparse.csc_array(([5.0], [0], [0, 1]), shape=(1_000_011, 1)))[1], [5.0]),
        (
            lambda: split(sparse.csc_array(([5.0], [0], [0, 1]), shape=(1_000_010, 1)))[1],
            [0.0, 5.0],
        ),
        (
            lambda: len(
                {*_array_search.as_keys(array([[1, nan], [1, -nan], [2, nan]]), False).tolist()}
            ),
            2,
        ),
        (lambda: _array_search.as_keys(SINGLE, False) == KEYS, [True]),
        (lambda: _array_search.as_keys(array([[2, 1]]), False) == KEYS, [False]),
        (lambda: len({*_array_search.as_keys(array([[1 / 3], [THIRD]]), True).tolist()}), 1),
        (lambda: len({*_array_search.as_keys(array([[1 / 3], [THIRD]]), False).tolist()}), 2),
        # Two stored tenths of the 11 from 1 to 2, of which a tenth of those inside is a value.
        (lambda: trust([1.0, 2.0], [0.5, 1.5, 2.5]), 1 - (1 + 2 / 11) / 2),
        (lambda: trust([1.0, 2.0], [1.0, 2.0, 2.5], 4), 1 - (1 + 4 / 11) / 4),
        (lambda: trust([1.0, 2.0, 2.05], [1.0, 2.0, 2.5], 4), 1 - (1 + 4 / 11) / 4),
        (lambda: trust([1.0, 2.0], [0.5, 1.5], 1), 0.0),
        (lambda: trust([1.0, 2.0], [0.5, 1.5], 1, known=True), 1.0),
        (lambda: trust([1.05], [0.5, 1.5], 1), 1.0),
        (lambda: _array_search._are_quantiles(array([[1, 1], [1, 2], [3, 4], [3, 4]])), True),
        (lambda: _array_search._are_quantiles(array([[1, 1], [1, 2], [3, 4]])), False),
        (lambda: _array_search._are_quantiles(array([[1, 1], [1, 2], [3, 4], [3, 3]])), False),
    ],
}


@pytest.mark.parametrize("module", ANSWERS, ids=lambda module: module.__name__)
def test_answers_by_hand(module):
    expect_answers(ANSWERS[module])
