"""Solvers of equations, lists of words and tables of weights, against closed forms and by hand."""

from collections import Counter
from types import SimpleNamespace as NS

import numpy as np
import pytest
from by_hand import expect_answers, tell_refusal
from numpy import array
from scipy import sparse
from scipy.stats import binom, multivariate_normal, norm, t
from sklearn.feature_extraction.text import CountVectorizer

from skmia.attacks import _bit_solver, _lira, _stored_values, _vulnerable_records, diversity
from skmia.synthetic import _generator_attack

D, TARGETS, PRIOR = array([1.0, 2.0, 3.0]), array([0.9, 0.2, 5.0]), array([0.25, 0.5, 0.4])
PULLS = array([0.5, -0.25, 0.1])


def solve_apart(prior, pulls):
    """Solve equations of one bit each, bit by bit, around the prior."""
    spread = np.sqrt(prior * (1 - prior))
    own, moved = D * spread, spread * pulls
    away = moved + own * (TARGETS - D * prior - own * moved) / (own**2 + 1)
    known = np.mean(own**2 / (own**2 + 1))
    return [away / (spread * (1 - known)), known, TARGETS - D * prior - own * away]


def bound_apart(prior, pulls):
    """Minimize the same with each bit between 0 and 1."""
    variance, known = prior * (1 - prior), solve_apart(prior, pulls)[1]
    center = prior + variance * pulls
    bits = np.clip((D * TARGETS + center / variance) / (D**2 + 1 / variance), 0, 1)
    slope = D * (D * bits - TARGETS) + (bits - center) / variance
    beyond = np.where(bits == 1, np.maximum(-slope, 0), 0) - np.where(
        bits == 0, np.maximum(slope, 0), 0
    )
    return [((bits - prior) / variance + beyond) / (1 - known), known, TARGETS - D * bits]


@pytest.mark.parametrize("pulls", [0.0, PULLS], ids=["alone", "pulled"])
def test_ridge_of_one_bit_in_each_equation(pulls):
    rows = sparse.csr_array(np.diag(D))
    found = _bit_solver.solve_ridge(rows, TARGETS, PRIOR, 0, pulls)
    for one, wanted in zip(found, solve_apart(PRIOR, pulls), strict=False):
        np.testing.assert_allclose(one, wanted, rtol=1e-5)
    found = _bit_solver.solve_bounded_ridge(rows, TARGETS, PRIOR, 0, pulls)
    for one, wanted in zip(found, bound_apart(PRIOR, pulls), strict=False):
        np.testing.assert_allclose(one, wanted, rtol=1e-3, atol=1e-4)
    assert found.ratios[2] > solve_apart(PRIOR, pulls)[0][2] / 2  # which is pushed beyond one


def test_a_scalar_prior_is_that_of_each_bit():
    rows = sparse.csr_array(np.diag(D))
    found = _bit_solver.solve_ridge(rows, TARGETS, 0.25, 0)
    wanted = solve_apart(np.full(3, 0.25), 0.0)
    np.testing.assert_allclose(found.ratios, wanted[0], rtol=1e-5)
    found = _bit_solver.solve_bounded_ridge(rows, TARGETS, 0.25, 0)
    np.testing.assert_allclose(
        found.ratios, bound_apart(np.full(3, 0.25), 0.0)[0], rtol=1e-3, atol=1e-4
    )


def measure_dense():
    rng = np.random.default_rng(0)
    scaled, away = rng.normal(size=(6, 4)), rng.normal(size=6)
    found = _bit_solver._measure_scaled_length(scaled, away)
    wanted = away @ np.linalg.solve(np.eye(6) + scaled @ scaled.T, away)
    return round(float(found - wanted), 6)


def probe(n, d=2.0):
    """Probe equations of one bit each, in which all candidates have the same length."""
    pairs = [*_bit_solver._draw_probes(n, np.random.default_rng(0))(d * np.eye(n))]
    return [tuple(np.round(pair, 6).tolist()) for pair in pairs]


def find_outsiders(share):
    """Outsiders per candidate from a length that is the one of so many, by the equation."""
    rate, own, others = 0.5, 3.0, 4.0
    inside = rate - share
    return _bit_solver._solve(inside * (1 - inside) * own + share * others, own, others, rate)


def match(ratio, evidence, prior):
    found = _bit_solver._match_moments(array([ratio]), array([evidence]), array([prior]))
    return [float(found[0][0]), *found[1].ravel().tolist()]


# Of 9 candidates, half of whom are members, so many have each word.
WORDS = _stored_values._TextWords(
    "a.vocabulary_", frozenset("abc"), Counter(a=1, b=3, d=3, e=1), (1, 9), 9, True
)
FEW = WORDS._replace(limits=(2, 3))


def between(others, low, high):
    return sum(binom.pmf(k, others, 0.5) for k in range(low, high + 1))


def count_words(path="", min_df=1, max_df=1.0, texts=("a b", "b c", "b")):
    model = CountVectorizer(token_pattern="[a-z]", min_df=min_df, max_df=max_df)
    model.vocabulary_ = {"a": 0, "b": 1}
    inner = NS(model=model, path=path, X=array(texts, dtype=object))
    return _stored_values._count_stored_words(inner, _stored_values._split_text_words(inner), 10)


def list_names(model, texts=("a b", "b c", "b b")):
    return len([*_stored_values._iter_lists(model.fit(texts), array(texts, dtype=object))])


def letters(**settings):
    return CountVectorizer(token_pattern="[a-z]", **settings)


LOG = np.log
OUT = array([[1.0], [4.0], [2.0], [99.0]])  # one record, and a model that has it


def smooth(target):
    """Return the p-value of a record beside OUT models at 1, 2 and 4."""
    outside = array([[True], [True], [True], [False]])
    found = _vulnerable_records.smooth_pvalues(array([[target]]), OUT[None], outside, array([0.5]))
    return float(np.exp(found[0, 0]))


def beyond(target, nearest, tail):
    """Return how much smaller a tail of one more model is beyond a target."""
    squares = ((OUT[:3] - OUT[:3].mean()) ** 2).sum()
    dof = 4 + 3 - 1
    scale = np.sqrt((squares + 4 * 0.5) / dof * (1 + 1 / 3))
    law = t(dof, OUT[:3].mean(), scale)
    return getattr(law, tail)(target) / getattr(law, tail)(nearest)


def pool_variance(*blocks):
    """Pool the variances of OUT models, given with which of them have a record."""
    given = [(None, array(signals)[None], array(inside)) for signals, inside in blocks]
    return _vulnerable_records.estimate_pooled_variance(given)


def estimate_variance(kind):
    moments = NS(mean=array([1.0, 2.0]), variance=array([3.0, 4.0]))
    moments.squares, moments.count = array([6.0, 12.0]), array([3, 4])
    attack = NS(variance=kind)
    return _lira.PrintedLaws._estimate_variance(attack, moments, array(0.5))


def pool_sides(less):
    """Pool two blocks of one query: counts and squares of IN models, and of OUT models."""
    sides = [
        (array([3, 1]), None, array([[6.0, 0.0]])),
        (array([2, 2]), None, array([[4.0, 8.0]])),
    ]
    more = [(array([4]), None, array([[9.0]])), (array([1]), None, array([[0.0]]))]
    return _lira._pool_variances([(*sides, "rest"), (*more, "rest")], less)


def copula_of_two():
    """Compare with a Gaussian density of normal scores, relative to that of independent ones."""
    rng = np.random.default_rng(0)
    rows, points = rng.normal(size=(30, 2)), rng.normal(size=(3, 2))
    rows[:, 1] += rows[:, 0]
    table = _generator_attack._TableCopula(rows, [0.5, 0.7])
    scores = table._as_normal(rows)
    share = 0.95 * np.corrcoef(scores.T)[0, 1]
    normal = table._as_normal(points)
    joint = multivariate_normal([0, 0], [[1, share], [share, 1]]).logpdf(normal)
    wanted = joint - norm.logpdf(normal).sum(axis=1)
    for column, width in ((0, 0.5), (1, 0.7)):
        wanted = wanted + measure_copula(points[:, column], rows[:, column], width)
    return (table.log_density(points) - wanted).round(9).tolist()


def balance():
    """Draw two of each side of five records, each of the first side in some of many draws."""
    membership, rng = array([1, 0, 0, 1, 0], dtype=bool), np.random.RandomState(0)
    drawn = [diversity._balance(membership, rng) for _ in range(40)]
    first = {int(one[0]) for one in drawn}
    return {int(membership[one].sum()) for one in drawn}, {len({*one}) for one in drawn}, first


def measure_copula(points, rows, width):
    """Density of one column by its kernel, with the normal scores of mid-ranks."""
    rows = array(rows)
    kernel = [LOG(np.mean(np.exp(-(((point - rows) / width) ** 2) / 2))) for point in points]
    return array(kernel)


ROWS = [
    # Of three OUT models, with a fall between the nearest two, and ties for the upper end.
    (lambda: smooth(3.0), 1.5 / 4),
    (lambda: smooth(2.5), 1.75 / 4),
    (lambda: smooth(1.5), 2.5 / 4),
    (lambda: smooth(2.0), 3 / 4),
    (lambda: smooth(4.0), 2 / 4),
    (lambda: smooth(1.0), 4 / 4),
    (lambda: smooth(5.0), beyond(5.0, 4.0, "sf") / 4),
    (lambda: smooth(0.0), (3 + 1 - beyond(0.0, 1.0, "cdf")) / 4),
    # Squares 2, 0 and 18 of records with two, one and three OUT models: 20 of 1 + 0 + 2.
    (
        lambda: pool_variance(
            ([[1.0, 5.0], [3.0, 9.0]], [[False, False], [False, True]]),
            ([[0.0], [3.0], [6.0]], [[False], [False], [False]]),
        ),
        [20 / 3],
    ),
    (lambda: pool_variance(([[1.0]], [[False]]))[0] > 0, True),
    (lambda: estimate_variance("example"), [3.0, 4.0]),
    (lambda: estimate_variance("pooled"), [0.5]),
    (
        lambda: estimate_variance("conjugate"),
        [(6 + 4 * 0.5) * (1 + 1 / 3) / 6, (12 + 4 * 0.5) * (1 + 1 / 4) / 7],
    ),
    # A single model has no spread, and less models count where some leave.
    (lambda: pool_sides(1), [[15 / 5], [12 / 2]]),
    (lambda: pool_sides(2), [[15 / 3], [_lira.SMALLEST_SPREAD**2 + 12.0]]),
    (balance, ({2}, {4}, {0, 1, 2, 3, 4})),
    (
        lambda: diversity.diversity_matrix([[1.0, 0.0], [0.5, 0.5]], [[0.5, 0.5]]),
        [[1.0, 0.0], [0.0, 0.0]],
    ),
    (lambda: diversity.diversity_coefficient([0.25, 0.75], [[1.0, 2.0], [0.0, 4.0]]), 2.6875),
    (
        lambda: [
            tell_refusal(call) is None
            for call in (
                lambda: diversity.diversity_matrix([[1.0, 0.0]], [[0.5, 0.5]]),
                lambda: diversity.diversity_matrix([1.0, 0.0], [[0.5, 0.5]]),
                lambda: diversity.diversity_matrix([[1.0, 0.0]], np.zeros((0, 2))),
                lambda: diversity.diversity_matrix([[1.0, 0.0]], [[0.5, 0.25, 0.25]]),
                lambda: diversity.diversity_matrix([[1.5, 0.0]], [[0.5, 0.5]]),
                lambda: diversity.diversity_coefficient([0.5, 0.5], [[1.0, 0.0]]),
                lambda: diversity.diversity_coefficient(0.5, [[1.0]]),
            )
        ],
        [True, False, False, False, False, False, False],
    ),
    (
        lambda: diversity.DiversityAttack._judge(
            None,
            {7: array([[1.0, 2.0], [0.0, 4.0]]), 8: np.eye(2)},
            (array([[0.25, 0.75], [0.5, 0.5], [1.0, 0.0]]), array([7, 8, 7])),
        ),
        [2.6875, 0.5, 1.0],
    ),
    # A copula of one column is its kernel; of two, the normal scores of ranks depend.
    (
        lambda: _generator_attack._TableCopula(array([[0.0], [1.0], [3.0]]), [0.5]).log_density(
            array([[0.5], [2.0]])
        ),
        measure_copula([0.5, 2.0], [0.0, 1.0, 3.0], 0.5),
    ),
    (
        lambda: _generator_attack._TableCopula(array([[0.0], [1.0], [1.0]]), [1.0])._as_normal(
            array([[-1.0], [0.0], [1.0], [2.0]])
        ),
        norm.ppf(array([[0.5], [1.0], [2.5], [3.5]]) / 4),
    ),
    (lambda: copula_of_two(), [0.0, 0.0, 0.0]),
    (measure_dense, 0.0),
    # Each of n columns has the length 4 / 5, or 4 for a candidate that is left out.
    (lambda: probe(40), [(32.0, 160.0)] * 2),
    (lambda: probe(3), [(2.4, 12.0)] * 2),
    (lambda: find_outsiders(0.1), 0.1),
    (lambda: find_outsiders(0.3), 0.3),
    (lambda: find_outsiders(0.499), 0.475),
    (lambda: _bit_solver._solve(0.75, 3.0, 4.0, 0.5), 0.0),
    (lambda: _bit_solver._solve(0.76, 3.0, 4.0, 0.5) > 0, True),
    # A bit with even odds has the variance 1/4, and the equations have 1 of its precision 4.
    (lambda: match(0.0, 1.0, 0.5), [0.5, 3.0, 1.5]),
    (
        lambda: match(LOG(3), 1.0, 0.5),
        [0.75, 16 / 3 - 1, 0.75 * 16 / 3 - LOG(3) - 0.5],
    ),
    (lambda: match(0.0, 1.0, 0.75)[:2], [0.75, 16 / 3 - 1]),
    (lambda: match(0.0, 9.0, 0.5)[1], _bit_solver.LEAST_PRECISION),
    (lambda: _bit_solver.is_propagated(3200, 5000), True),
    (lambda: _bit_solver.is_propagated(3201, 5000), False),
    (lambda: _bit_solver.is_propagated(5000, 4000), True),
    (lambda: _bit_solver.is_propagated(5000, 4001), False),
    (lambda: _bit_solver.expect_step(10, 19), 19**3 / 3 / 2e10),
    (lambda: _bit_solver.expect_step(10, 20), 20**3 / 3 / 2e10),
    (lambda: _bit_solver.expect_step(10, 21), (100 * 21 + 1000 / 3) / 2e10),
    # A word that is listed in any case, by how many others have it; or one that is not.
    (lambda: WORDS.weigh("a"), -LOG(_stored_values.compute_chance(0.0, 1, 9))),
    (lambda: WORDS.weigh("b"), -LOG(_stored_values.compute_chance(0.0, 3, 9))),
    (lambda: WORDS.weigh("c"), -LOG(_stored_values.compute_chance(0.0, 1, 9))),
    (lambda: WORDS.weigh("d"), -LOG(10)),
    (lambda: WORDS.weigh("e"), -LOG(10)),
    # With limits: of two others, a member's word needs one or two, and that of another one two.
    (lambda: FEW.weigh("b"), LOG(between(2, 1, 2)) - LOG(between(2, 2, 3))),
    (lambda: FEW.weigh("d"), LOG(1 - between(2, 1, 2)) - LOG(1 - between(2, 2, 3))),
    (lambda: FEW.weigh("a"), -LOG(10)),
    (lambda: WORDS._replace(limits=(1, 2)).weigh("b"), LOG(0.75) - LOG(0.75)),
    (lambda: FEW._compare(0.9, 0.0), LOG(9.0)),
    (lambda: FEW._compare(0.9, 0.3), LOG(3.0)),
    (lambda: FEW._compare(1.0, 0.0), LOG(10.0)),
    (lambda: FEW._compare(0.0, 0.5), -LOG(10.0)),
    (lambda: FEW.expect("b"), between(2, 2, 3)),
    (lambda: FEW.expect("a"), 0.1),
    (lambda: WORDS.expect("b"), 0.75),
    (lambda: _stored_values._between(4, 1, 2), between(4, 1, 2)),
    (
        lambda: count_words(),
        ("vocabulary_", frozenset("ab"), Counter(a=1, b=3, c=1), (1, 10), 10, True),
    ),
    (lambda: count_words("x", 2, 3)[::3], ("x.vocabulary_", (2, 3))),
    (
        lambda: [count_words(min_df=least).lists_rare for least in (1, 2, 0.0, 1.0)],
        [True, False, True, False],
    ),
    (lambda: WORDS.find_absent({"a", "d"}), {"d"}),
    (lambda: WORDS._replace(lists_rare=False).find_absent({"a", "d"}), set()),
    (lambda: count_words(min_df=0.25, max_df=0.5).limits, (2, 2)),
    (lambda: count_words(min_df=0.01, max_df=0.999).limits, (1, 4)),
    (
        lambda: _stored_values._count_hits(WORDS, [{"a", "d"}, {"b"}, {"b"}, {"b", "x"}]),
        (
            "a.vocabulary_",
            "words",
            4,
            sum(n * WORDS.expect(word) for word, n in WORDS.counts.items()),
            0,
            0.0,
        ),
    ),
    (
        lambda: [
            *_stored_values._describe_words(
                WORDS,
                [{"c", "a", "d"}, {"b"}, {"d"}],
                {"a": 2.0, "b": _stored_values.LEAST, "c": 2.5, "d": 9.0},
            )
        ],
        [
            (0, "a.vocabulary_", "words", "c, a", False, 4.5),
            (1, "a.vocabulary_", "words", "b", False, _stored_values.LEAST),
        ],
    ),
    # Lists that are complete.
    (lambda: list_names(letters()), 1),
    (lambda: list_names(letters(max_features=4)), 1),
    (lambda: list_names(letters(max_features=3)), 0),
    (lambda: list_names(letters(vocabulary=["a", "b"])), 0),
]


def test_answers_by_hand():
    expect_answers(ROWS)


def test_parts_of_a_white_box_net_have_their_sizes():
    torch = pytest.importorskip("torch")
    from skmia.attacks._white_box_net import WhiteBoxModel, WhiteBoxNet

    net = WhiteBoxNet([(3, 5), (7,)])
    layers = [one for one in net.modules() if hasattr(one, "weight")]
    sizes = [(type(one).__name__, tuple(one.weight.shape)) for one in layers]
    part = [("Linear", (64, 128))]
    assert sizes == [
        ("Conv2d", (4, 1, 1, 5)),
        ("Linear", (128, 12)),
        *part,
        ("Linear", (128, 7)),
        *part,
        ("Linear", (256, 128)),
        ("Linear", (128, 256)),
        ("Linear", (64, 128)),
        ("Linear", (1, 64)),
    ]
    assert [one.p for one in net.modules() if isinstance(one, torch.nn.Dropout)] == [0.2] * 4
    assert net([torch.zeros(6, 3, 5), torch.zeros(6, 7)]).shape == (6,)
    collected = [array([[1.0, 5.0, 2.0], [3.0, 5.0, 6.0]])]
    model = WhiteBoxModel("cpu").fit(collected, array([1, 0]), 0.01, 1, 2)
    assert not model.net.training
    np.testing.assert_allclose(model._scale(collected)[0], [[-1, 0, -1], [1, 0, 1]])
    one_by_one = model.log_odds(collected, batch_size=1)
    np.testing.assert_allclose(one_by_one, model.log_odds(collected), rtol=1e-5)
    assert one_by_one.dtype == float and one_by_one.shape == (2,)
