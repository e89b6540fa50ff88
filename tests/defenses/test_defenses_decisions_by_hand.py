"""Plans, coins, soft labels and schemas of defenses, each decision with an answer by hand."""

import warnings
from decimal import Decimal
from functools import partial
from types import SimpleNamespace as NS

import numpy as np
import pandas as pd
import pytest
from by_hand import expect_answers, tell_refusal
from numpy import array, inf, nan
from scipy.special import log_ndtr, ndtr
from scipy.stats import norm
from sklearn.linear_model import LinearRegression, LogisticRegression

from skmia import Records
from skmia._core.accountant import ORDERS
from skmia.defenses import (
    PATEDefense,
    PrivateSearchCV,
    _evaluation,
    _exact_noise,
    _meta,
    _noisy_votes,
    _output,
    _pate,
    _private_search,
    _released,
    _repeated_fits,
    _soft_labels,
    _student,
    _trial_laws,
    mechanisms,
    schema,
    soft_targets,
)

LOG = np.log


def check_candidates(candidates=None, n_estimators=4, n_targets=2):
    candidates = {"a": LogisticRegression()} if candidates is None else candidates
    records = Records(array([[0.0], [1.0]]), [0, 1])
    call = lambda: _evaluation._check_candidates(candidates, records, n_estimators, n_targets)  # noqa: E731
    return (tell_refusal(call) or "")[:36]


def estimate_exposure(values, inside):
    values, inside = array(values), array(inside, dtype=bool)
    pool = NS(values=lambda records, name: values[None], membership=lambda records: inside.T)
    pool.stored_ = ["loss"]
    return _evaluation._estimate_exposure(pool, None)


def play_series(*wins):
    """Play rounds that the rows win so often before they lose; return heads and the rounds."""
    asked = []

    def succeeds(rows, k):
        asked.append((rows.tolist(), k))
        return array([wins[row] >= k for row in rows])

    return _exact_noise._series(succeeds, len(wins)), asked


def count_heads(counts, coins):
    """Show coins in order for each row; return whether all are heads, and how many were shown."""
    shown = [0] * len(counts)

    def show(words, numerators, denominators):
        found = [coins[int(row)][shown[int(row)]] for row in numerators]
        for row in numerators:
            shown[int(row)] += 1
        return array(found, dtype=bool)

    before, _exact_noise.exp_coins = _exact_noise.exp_coins, show
    try:
        rows = np.arange(len(counts), dtype=np.uint64)
        found = _exact_noise._all_heads(None, array(counts, dtype=np.uint64), rows, rows)
    finally:
        _exact_noise.exp_coins = before
    return found, shown


def upper_tail(value, scale):
    return float(_exact_noise._upper_tail(Decimal(value), Decimal(scale), 30))


def round_exactly(value, scale=1.0):
    """Round the normal number with the first digits of its tail."""
    tail = int(norm.sf(value / scale) * 2**64)
    return _exact_noise._round_exactly(tail, scale, lambda n: array([2**63], dtype=np.uint64))


def add_on_grid(X, noise, exponents):
    return _exact_noise.add_on_grid(array(X), array(noise), array(exponents))


def bound_votes(counts, threshold, most, answers, n_checks, of_checks=2.0, of_answers=3.0):
    noise = _noisy_votes.VotingNoise(of_checks=of_checks, of_answers=of_answers)
    found = noise.bound_divergences(array(counts), threshold, most, array(answers))
    wanted = np.zeros(len(ORDERS))
    answered = [k for k, answer in enumerate(answers) if answer >= 0]
    if of_checks < inf:
        margins = [abs(max(one) - threshold) / of_checks for one in counts[:n_checks]]
        wanted += _noisy_votes._bound_each(
            -array([-log_ndtr(-m) for m in margins]), of_checks * 2**0.5
        )
    logs = _noisy_votes._log_other_classes(array(counts, dtype=float)[answered], of_answers)
    return np.abs(found - wanted - _noisy_votes._bound_each(logs, of_answers)).max() < 1e-12


def log_others(counts, deviation):
    """Return the bound on that not the largest count wins, by sums over the other classes."""
    total = sum(ndtr((one - max(counts)) / (2**0.5 * deviation)) for one in sorted(counts)[:-1])
    return [min(LOG(total), LOG(1 - 1 / len(counts)))]


def read_labels(y, takes_outputs=False):
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        try:
            found = _output.OutputDefense._read_labels(NS(_takes_outputs=takes_outputs), y)
        except ValueError as error:
            return str(error)[:52]
    return np.shape(found)


def vote(y, classes=(0, 1, 2), estimator=None):
    X, public = array([[0.0], [1.0], [2.0], [3.0]]), array([[0.1], [2.9]])
    estimator = LogisticRegression(C=1e6) if estimator is None else estimator
    seeds = np.random.SeedSequence(0)
    return _pate._vote(estimator, X, array(y), public, array(classes), seeds)


def plan_noise(n_answers, threshold, n_public=50):
    pate = NS(n_answers=n_answers, threshold=threshold, delta_=0.1)
    pate._choose_multiplier = lambda delta: 2.0 + delta
    found = PATEDefense._plan_noise(pate, n_public)
    wanted = _noisy_votes.VotingNoise.spread(
        2.1, pate.n_answers_, 0 if threshold is None else n_public
    )
    return found == wanted, pate.n_answers_


def account(multiplier, noise_seed=None, target=None, has_ledger=False):
    """Return epsilon, and how the ledger or the count of fits was told of it."""
    told = []
    pate = NS(noise_multiplier_=multiplier, noise_seed=noise_seed, target_epsilon=target)
    pate.delta_, pate.ledger = 0.1, None
    if has_ledger:
        pate.ledger = NS(record=lambda **given: told.append(given))
    pate._count_fit = lambda *given: told.append(given) or (1, 2.0)
    PATEDefense._account(pate, 7)
    return pate.epsilon_ if pate.epsilon_ in (inf, target) else pate.epsilon_ > 0, told


def count_votes(votes, n_public=2):
    """Count the votes of teachers, of whom some fail."""
    asked = iter(votes)
    before, _pate._vote = _pate._vote, lambda *given: next(asked)
    try:
        pate = NS(n_jobs=None, estimator=None)
        X, y = np.zeros((4, 1)), np.zeros(4)
        return PATEDefense._count_votes(
            pate,
            X,
            y,
            [[0]] * len(votes),
            [0] * len(votes),
            np.zeros((n_public, 1)),
            array([0, 1, 2]),
        )
    finally:
        _pate._vote = before


class Drawn:
    def rvs(self, random_state=None):
        return 0.5


def list_candidates(given, n_candidates=3):
    search = NS(param_distributions=given, n_candidates=n_candidates, random_state=0)
    found = PrivateSearchCV._list_candidates(search)
    return len(found), found[0]


def check_scoring(public=None, scoring=None, estimator=None):
    search = NS(public=public, scoring=scoring, estimator=estimator or LogisticRegression())
    return (tell_refusal(lambda: PrivateSearchCV._check_scoring(search)) or "")[:40]


def list_inside(value):
    return [*_released._iter_inside(value)]


def move_thresholds(rows, threshold=2.0, drawn=0.5):
    """Move the only threshold of a tree by rows that lie beside it."""
    X = array([[one] for one in rows])
    tree = NS(
        node_count=3,
        feature=array([0, -2, -2]),
        threshold=array([threshold, -2.0, -2.0]),
        apply=lambda X: array([1 if one <= threshold else 2 for one in X[:, 0]]),
    )
    before = _released.climb_tree
    _released.climb_tree = lambda tree, leaves: (np.zeros(len(X), dtype=int), np.arange(len(X)))
    try:
        rng = NS(uniform=lambda low, high: low + drawn * (high - low))
        _released._move_tree_thresholds(tree, X, rng)
    finally:
        _released.climb_tree = before
    return tree.threshold


class Fits(list):
    n_sent, is_told = 0, False


def count_fit(n_before=0, n_sent=0, is_told=False):
    fits = Fits([(1.0, 1.0, 1)] * n_before)
    fits.n_sent, fits.is_told = n_sent, is_told
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kind = _repeated_fits.BudgetedFits
        one = NS(_get_fits=lambda: fits, _add_up_fits=partial(kind._add_up_fits, None))
        n, total = kind._count_fit(one, (1.0, 1.0, 1), 0.1, "rdp")
    one = _repeated_fits.spent_epsilon([(1.0, 1.0, n)], 0.1, "rdp")
    return n, total == one, fits.is_told, [str(one.message)[:31] for one in caught]


def read_all_classes(classes, y, known=None):
    defense = NS() if known is None else NS(classes_=array(known))
    try:
        return _soft_labels.LabelSmoothingDefense._read_all_classes(defense, classes, array(y))
    except ValueError as error:
        return str(error)


def compute_alpha(alpha):
    defense = NS(alpha=alpha)
    data = NS(X=None, y=array([1.0, 2.0]))
    try:
        return _soft_labels.SoftLabelDefense._compute_alpha(defense, data)
    except ValueError as error:
        return str(error)[:46]


class Generator(LogisticRegression):
    """Draws what it is asked for."""

    def fit(self, X):
        self.n_rows_ = len(X)
        return self

    def sample(self, n_samples):
        return np.full((n_samples, 2), self.n_rows_)


def get_public(public, X, n_samples=None):
    student = NS(public=public)
    return _student.StudentDefense._get_public(student, X, n_samples, np.random.RandomState(0))


def split_private_rows(fraction, n_rows):
    search = NS(public=None, noise_seed=0, validation_fraction=fraction)
    return tuple(map(len, _private_search.PrivateSearchCV._split(search, n_rows)))


def mean_trials(eta, mean):
    """Return the mean of the law by its terms, at the parameter that was found."""
    law = _trial_laws.NegativeBinomialTrials(mean, eta)
    k, stay = np.arange(1, 20_000), -np.expm1(law.log_gamma)
    if eta == 0:
        terms = stay**k / k
    else:
        terms = np.cumprod(np.r_[1.0, (k[1:] - 1 + eta) / k[1:]]) * stay**k
    return float((k * terms).sum() / terms.sum())


def validate(X, y=None):
    given = (X,) if y is None else (X, y)
    try:
        return mechanisms.validate_rows(LinearRegression(), *given)
    except (TypeError, ValueError) as error:
        return str(error)[:44]


def check_values(values):
    try:
        return schema._check_values(values, "values")
    except ValueError as error:
        return str(error)[:60]


def take_column(names, name):
    X = pd.DataFrame([range(len(names))], columns=names)
    return [*schema._take_column(X, name)]


NUMBERS = schema.DeclaredSchema(
    {"a": schema.NumberColumn(0, 1), "b": schema.ValuesColumn(["x", "y"])}, classes=["no", "yes"]
)

ONE = array([[[0.6, 0.4, 0.0]], [[0.8, 0.0, 0.2]]])
MEAN, LABEL = array([[0.7, 0.2, 0.1]]), array([[0.0, 1.0, 0.0]])


def soften(alpha, spread):
    return soft_targets.soften(ONE, [1], alpha, spread=spread)


def refuse_soft(*given, values=False):
    call = soft_targets.soften_values if values else soft_targets.soften
    return tell_refusal(lambda: call(*given)) is None


# Of each module: calls and answers. Whatever may be equal differs, and each branch decides once.
ANSWERS = {
    _evaluation: [
        (check_candidates, ""),
        (lambda: check_candidates({}), "candidates must be a dict of names t"),
        (lambda: check_candidates([1]), "candidates must be a dict of names t"),
        (lambda: check_candidates({"a": 5}), "Candidate 'a' must be a classifier; "),
        (lambda: check_candidates(n_estimators=2), "n_estimators must be even and at lea"),
        (lambda: check_candidates(n_estimators=5), "n_estimators must be even and at lea"),
        (lambda: check_candidates(n_targets=0), "n_targets must be from 1 to n_estima"),
        (lambda: check_candidates(n_targets=5), "n_targets must be from 1 to n_estima"),
        (lambda: check_candidates(n_targets=4), ""),
        (lambda: check_candidates(n_targets=1), ""),
        # Means 3 and 1, and variances 1 and 4.
        (
            lambda: estimate_exposure(
                [[2.0], [4.0], [-1.0], [3.0]], [[True], [True], [False], [False]]
            ),
            [2 * ndtr(2 / 2.5**0.5 / 2) - 1],
        ),
    ],
    _exact_noise: [
        # A run that ends after an even number of successes shows heads.
        (
            lambda: play_series(0, 2, 1),
            ([True, True, False], [([0, 1, 2], 1), ([1, 2], 2), ([1], 3)]),
        ),
        (
            lambda: count_heads([0, 1, 2, 2], ["", [1], [1, 0], [1, 1]]),
            ([True, True, False, True], [0, 1, 2, 2]),
        ),
        (lambda: count_heads([2], [[0, 1]]), ([False], [1])),
        (lambda: upper_tail(3, 2), norm.sf(1.5)),
        (lambda: upper_tail(-1, 4), norm.sf(-0.25)),
        (lambda: upper_tail(0, 1), 0.5),
        (lambda: round_exactly(0.4), 0),
        (lambda: round_exactly(0.6), 1),
        (lambda: round_exactly(-1.6, 2.0), -2),
        (lambda: round_exactly(5.2, 3.0), 5),
        (
            lambda: add_on_grid([[1.3, 5.0]], [[2, -1]], [-1, 2]),
            [[(3 + 2) * 0.5, (1 - 1) * 4.0]],
        ),
        (lambda: add_on_grid([[2.0**70, 1.0]], [[3, 0]], [0, 0]), [[2.0**70, 1.0]]),
        (lambda: add_on_grid([[1e308]], [[0]], [-100]), [[1e308]]),
        (lambda: add_on_grid([[2.0**60]], [[2**60]], [0]), [[2.0**61]]),
        (lambda: _exact_noise.choose_grids([1.0, 0.75, 0.0]), [2.0**-29, 2.0**-30, 1.0]),
        (lambda: _exact_noise.choose_grids([1.5, 2.0]), [2.0**-29, 2.0**-28]),
        (lambda: tell_refusal(lambda: _exact_noise.choose_grids([-1.0]))[-8:], " got -1."),
    ],
    _noisy_votes: [
        (lambda: bound_votes([[9, 1], [3, 7], [5, 5]], 6.0, 2, [0, -1, 1], 3), True),
        # After two answers of two, the third question is not checked; after two of three, it is.
        (lambda: bound_votes([[9, 1], [3, 7], [50, 1]], 6.0, 2, [0, 1, -1], 2), True),
        (lambda: bound_votes([[9, 1], [3, 7], [50, 1]], 6.0, 3, [0, 1, -1], 3), True),
        (lambda: bound_votes([[9, 1], [3, 7]], 6.0, 2, [-1, -1], 2), True),
        (lambda: bound_votes([[9, 1], [3, 7]], None, 2, [0, 1], 0, of_checks=inf), True),
        (
            lambda: _noisy_votes._log_other_classes(array([[9.0, 5, 3]]), 2.0),
            log_others([9, 5, 3], 2),
        ),
        (lambda: _noisy_votes._log_other_classes(array([[5.0, 5, 5]]), 2.0), [LOG(2 / 3)]),
        (
            lambda: _noisy_votes._bound_each(array([LOG(0.4)]), 0.5),
            ORDERS / 0.25,
        ),
        (
            lambda: bool(
                (_noisy_votes._bound_each(array([-50.0]), 5.0)[:20] < ORDERS[:20] / 25).all()
            ),
            True,
        ),
    ],
    _output: [
        (lambda: read_labels([0, 1]), (2,)),
        (lambda: read_labels([[0], [1]]), (2,)),
        (
            lambda: read_labels([[0, 1], [1, 0]])[:37],
            "SimpleNamespace changes the probabilities"[:37],
        ),
        (lambda: read_labels([[0, 1], [1, 0]], True), (2, 2)),
        (lambda: read_labels([[0], [1]], True), (2, 1)),
    ],
    _pate: [
        (lambda: vote([0, 0, 1, 1]), ([0, 1], None)),
        (lambda: vote([0, 0, 2, 2]), ([0, 2], None)),
        (lambda: vote([2, 2, 2, 9]), ([2, 2], None)),
        (lambda: vote([0, 0, 1, 1], (0, 2))[0], [0, 0]),
        (lambda: vote([0, 0, 1, 1], estimator=LogisticRegression(C=-1))[0], None),
        (
            lambda: vote([0, 0, 1, 1], estimator=LogisticRegression(C=-1))[1][:25],
            "InvalidParameterError: Th",
        ),
        (lambda: plan_noise(None, None), (True, 50)),
        (lambda: plan_noise(20, 3.0), (True, 20)),
        (lambda: plan_noise(99, None), (True, 50)),
        (lambda: account(2.0), (True, [((2.0, 1.0, 1), 0.1, "rdp")])),
        (lambda: account(2.0, target=0.25)[0], 0.25),
        (lambda: account(2.0, noise_seed=0), (inf, [])),
        (lambda: account(0.0), (inf, [])),
        (lambda: account(0.5), (True, [((0.5, 1.0, 1), 0.1, "rdp")])),
        (lambda: account(0.5, has_ledger=True)[1][0]["kind"], "normal"),
        (
            lambda: account(2.0, has_ledger=True)[1],
            [dict(noise_multiplier=2.0, sample_rate=1.0, n_steps=1, n_rows=7, kind="normal")],
        ),
        (lambda: account(2.0, noise_seed=0, has_ledger=True)[1][0]["kind"], "fit"),
        (
            lambda: count_votes([(array([0, 2]), None), (None, "e"), (array([0, 1]), None)]),
            [[2, 0, 0], [0, 1, 1]],
        ),
        (
            lambda: tell_refusal(lambda: count_votes([(None, "first"), (None, "second")])),
            "None of 2 teachers could be fitted and asked; one says: first",
        ),
    ],
    _private_search: [
        # 0.07 * 100 is above 7 in double precision.
        (lambda: split_private_rows(0.07, 100), (93, 7)),
        (lambda: split_private_rows(0.2, 11), (8, 3)),
        (lambda: list_candidates({"C": [1, 2], "tol": [3, 4]}), (4, {"C": 1, "tol": 3})),
        (lambda: list_candidates([{"C": [1]}, {"C": [2, 3]}]), (3, {"C": 1})),
        (lambda: list_candidates({"C": Drawn()})[0], 3),
        (lambda: list_candidates([{"C": [1]}, {"C": Drawn()}])[0], 3),
        (lambda: list_candidates({"C": range(_private_search._MOST_CANDIDATES + 1)})[0], 3),
        (
            lambda: list_candidates({"C": range(_private_search._MOST_CANDIDATES)})[0],
            _private_search._MOST_CANDIDATES,
        ),
        (check_scoring, ""),
        (lambda: check_scoring(scoring="accuracy"), ""),
        (lambda: check_scoring(scoring="roc_auc"), "Without public rows trials are compared "),
        (lambda: check_scoring(estimator=LinearRegression())[:19], "Without public rows"),
        (
            lambda: check_scoring(Records([[1.0]]), "roc_auc"),
            "public must hold labels: public=Records(",
        ),
        (lambda: check_scoring(Records([[1.0]], [1]), "roc_auc"), ""),
        (
            lambda: _private_search._cover_score(np.full(len(ORDERS), inf), 0.1)[1],
            0.0,
        ),
        (
            lambda: bool((_private_search._cover_score(ORDERS / 8, 0.1)[0] >= ORDERS / 8).all()),
            True,
        ),
        (lambda: _private_search._draw_noise(0.0, 0), 0.0),
        (lambda: _private_search._draw_noise(2.0, 0) * 2.0**28 % 1, 0.0),
        (lambda: _private_search._as_parameter_cell((1, 2))[0], (1, 2)),
    ],
    _released: [
        (lambda: list_inside({"a": 1, "b": 2}), [1, 2]),
        (lambda: list_inside((1, 2)), [1, 2]),
        (lambda: list_inside(array([1, None], dtype=object)), [1, None]),
        (lambda: list_inside(array([1.0])), []),
        (lambda: list_inside(NS(a=5)), [5]),
        (lambda: list_inside(3), []),
        # Between the rows 1 and 5, at a half of the way.
        (lambda: move_thresholds([0.0, 1.0, 5.0, 9.0]), [3.0, -2.0, -2.0]),
        (lambda: move_thresholds([0.0, 2.0, 5.0], drawn=0.0), [2.0, -2.0, -2.0]),
        (lambda: move_thresholds([1.0, 5.0], drawn=1.0), [2.0, -2.0, -2.0]),
        (lambda: move_thresholds([0.0, 1.0]), [2.0, -2.0, -2.0]),
        (lambda: move_thresholds([5.0, 9.0]), [2.0, -2.0, -2.0]),
        (lambda: move_thresholds([1.0, nan, 5.0]), [3.0, -2.0, -2.0]),
        (lambda: move_thresholds([1.0, 5.0], threshold=inf), [inf, -2.0, -2.0]),
    ],
    _repeated_fits: [
        (count_fit, (1, True, False, [])),
        (lambda: count_fit(1)[:3], (2, True, True)),
        (lambda: count_fit(1)[3][0][:9], "2 fits of"),
        (lambda: count_fit(1, is_told=True), (2, True, True, [])),
        (lambda: count_fit(0, 2)[:3], (3, True, True)),
    ],
    _soft_labels: [
        (
            lambda: _soft_labels.LabelSmoothingDefense._smooth(
                NS(smoothing=0.3), array([5, 9]), array([5, 7, 9])
            ),
            [[0.8, 0.1, 0.1], [0.1, 0.1, 0.8]],
        ),
        (lambda: read_all_classes([2, 0, 1], [0, 2]), [0, 1, 2]),
        (lambda: read_all_classes(None, [0], [0, 1]), [0, 1]),
        (lambda: read_all_classes(None, [0])[:24], "classes must be passed o"),
        (
            lambda: read_all_classes([0, 1, 2], [0], [0, 1])[:52],
            "classes must be those of the first call, [0, 1]; got",
        ),
        (
            lambda: read_all_classes([0, 1], [7, 0, 5]),
            "y must hold labels of classes, [0, 1]; got 5.",
        ),
        (lambda: compute_alpha(0.5), 0.5),
        (lambda: compute_alpha(lambda X, y: [0.0, 3.0]), [0.0, 3.0]),
        (
            lambda: compute_alpha(lambda X, y: [0.0, -1.0]),
            "alpha(X, y) must return 2 numbers of 0 or more",
        ),
        (
            lambda: compute_alpha(lambda X, y: [0.0, nan]),
            "alpha(X, y) must return 2 numbers of 0 or more",
        ),
        (lambda: compute_alpha(lambda X, y: 1.0), "alpha(X, y) must return 2 numbers of 0 or more"),
        (lambda: _soft_labels._read_targets([[1.0], [2.0]], [3, 4]).y, [3.0, 4.0]),
        (
            lambda: tell_refusal(lambda: _soft_labels._read_targets([[1.0]], [1j])),
            "Complex data not supported: y must hold real numbers.",
        ),
        (
            lambda: tell_refusal(lambda: _soft_labels._read_targets([[1.0]], None)),
            "This estimator requires y to be passed, but the target y is None.",
        ),
    ],
    _student: [
        (lambda: get_public("given", None), "given"),
        (lambda: get_public(Generator(), np.zeros((3, 2))), np.full((3, 2), 3)),
        (lambda: get_public(Generator(), np.zeros((3, 2)), 1), [[3, 3]]),
        (
            lambda: get_public(Generator(), pd.DataFrame({"a": [1, 2], "b": [3, 4]}), 1),
            {"a": [2], "b": [2]},
        ),
    ],
    _trial_laws: [
        (lambda: mean_trials(0.0, 3.0), 3.0),
        (lambda: mean_trials(1.0, 5.0), 5.0),
        (lambda: mean_trials(0.5, 2.0), 2.0),
    ],
    _meta: [
        (lambda: _meta.one_hot(array([5, 9]), array([5, 7, 9])), [[1, 0, 0], [0, 0, 1]]),
        (
            lambda: tell_refusal(lambda: _meta.check_rows(np.zeros((0, 1)), array([]))),
            "Expected at least 1 row; got 0.",
        ),
        (lambda: _meta.check_rows(np.zeros((1, 1)), array([2.0])), [[0.0]]),
        (
            lambda: tell_refusal(lambda: _meta.check_rows(np.zeros((1, 1)), array([nan]))) is None,
            False,
        ),
    ],
    mechanisms: [
        (lambda: validate([[1, 2.5]]), [[1.0, 2.5]]),
        (lambda: validate([[1], [2]], [3, 4]), ([[1], [2]], [3, 4])),
        (lambda: validate([["a"]]), "X must hold numbers; it has strings, which n"),
        (lambda: validate([[10**400]]), "X must hold numbers; some are too large for "),
        (lambda: validate([[nan]])[:10], "Input X co"),
        (lambda: mechanisms.column_values("lower", 2, 3), [2.0, 2.0, 2.0]),
        (lambda: mechanisms.column_values("lower", [1, 2], 2), [1.0, 2.0]),
        (
            lambda: tell_refusal(lambda: mechanisms.column_values("lower", [1], 2))[:52],
            "lower must be a number or one for each of 2 columns;",
        ),
    ],
    schema: [
        (lambda: check_values(["a", 1, None]), ("a", 1, None)),
        (lambda: check_values(array([1, 2])), (1, 2)),
        (lambda: check_values([nan]), (None,)),
        (lambda: check_values("ab"), "values must be a list of values; got 'ab'."),
        (lambda: check_values([]), "values must be a list of values; got []."),
        (lambda: check_values({1, 2})[:31], "values must be a list of values"),
        (lambda: check_values(3), "values must be a list of values; got 3."),
        (lambda: check_values([1, 1.0])[:41], "values must hold each value once; 1 and 1"),
        (lambda: check_values([1, [2]])[:40], "values must hold numbers, texts, truth v"),
        (lambda: take_column(["a", "b"], "b"), [1]),
        (lambda: take_column([1, "1"], "1"), [1]),
        (
            lambda: tell_refusal(lambda: take_column(["a"], "b")),
            "The schema declares the column 'b'; X has no such column.",
        ),
        (
            lambda: tell_refusal(lambda: take_column(["a", "a"], "a")),
            "The schema declares the column 'a'; X has 2 of them.",
        ),
        (
            lambda: NUMBERS.count_misfits(
                pd.DataFrame({"a": [0.5, "x", 9.0], "b": ["x", "z", "y"]}), ["no", "maybe", "yes"]
            ),
            [1, 1, 1],
        ),
        (
            lambda: [*NUMBERS.count_misfits(pd.DataFrame({"a": [0.5], "b": ["z"]})).index],
            ["a", "b"],
        ),
        (lambda: NUMBERS.read_labels(["yes", "x", "no"], NUMBERS.find_classes()), [1, -1, 0]),
        (lambda: NUMBERS.read_labels(array([["yes"], ["no"]]), NUMBERS.find_classes()), [1, 0]),
        (
            lambda: tell_refusal(lambda: NUMBERS.read_labels(np.zeros((2, 2)), array([0, 1]))),
            "y must have one label for each row; got shape (2, 2).",
        ),
        (
            lambda: schema.DeclaredSchema(
                {"a": schema.NumberColumn(0, 1)}, classes=[3, 1]
            ).find_classes(),
            [1, 3],
        ),
    ],
    soft_targets: [
        # The label has .4 and 0, and so a spread of .2; the whole way is .8.
        (lambda: soften(1.0, "label"), MEAN + 0.25 * (LABEL - MEAN)),
        (lambda: soften(0.0, "label"), MEAN),
        (lambda: soften(inf, "label"), LABEL),
        (lambda: soften(9.0, "label"), LABEL),
        # Projections of the answers on the way (-.7, .8, -.1), divided by its length.
        (
            lambda: soften(1.0, "direction"),
            MEAN + abs(-0.07 * 2 - 0.32 - 0.02 + 0.0) / 2 / 1.14 * (LABEL - MEAN),
        ),
        (
            lambda: soften(1.0, "coordinate"),
            array([[0.6, 0.4, 0.0]]),
        ),
        (lambda: soft_targets.soften_values([[1.0, 4.0], [3.0, 4.0]], [9.0, 0.0], 2.0), [4.0, 4.0]),
        (lambda: soft_targets.soften_values([[1.0], [3.0]], [-9.0], 0.5), [1.5]),
        (lambda: soft_targets.soften_values([[1.0], [3.0]], [3.0], 1.0), [3.0]),
        (lambda: soft_targets.soften_values([[1.0], [3.0]], [9.0], inf), [9.0]),
        (
            lambda: soft_targets.soften_values([[1.0, 1.0], [3.0, 3.0]], [9.0, 9.0], [0, 1]),
            [2.0, 3.0],
        ),
        (lambda: refuse_soft(ONE, [1]), True),
        (lambda: refuse_soft(ONE[:1], [1]), False),
        (lambda: refuse_soft(ONE[0], [1]), False),
        (lambda: refuse_soft(ONE, [3]), False),
        (lambda: refuse_soft(ONE, [-1]), False),
        (lambda: refuse_soft(ONE, [0.5]), False),
        (lambda: refuse_soft(ONE, [1, 1]), False),
        (lambda: refuse_soft(ONE, [1], [1.0, 2.0]), False),
        (lambda: refuse_soft(ONE, [1], -0.5), False),
        (lambda: refuse_soft([[1.0], [2.0]], [1.0], values=True), True),
        (lambda: refuse_soft([[1.0]], [1.0], values=True), False),
        (lambda: refuse_soft([1.0, 2.0], [1.0], values=True), False),
        (lambda: refuse_soft([[1.0], [2.0]], [1.0, 2.0], values=True), False),
    ],
}


@pytest.mark.parametrize("module", ANSWERS, ids=lambda module: module.__name__)
def test_answers_by_hand(module):
    expect_answers(ANSWERS[module])
