"""Singling out, linkability and inference: by hand, for copies, under the null, and bad input."""

import warnings

import numpy as np
import pandas as pd
import pytest
from cells import slow_but
from draws import few_and_many
from refusals import check_refusal, parametrize_refusals
from scipy.stats import binom, hypergeom
from sklearn.base import clone

from skmia.synthetic import (
    CopyTest,
    InferenceRisk,
    LinkabilityRisk,
    PrivacyLoss,
    SinglingOutRisk,
    excess_risk,
)
from skmia.synthetic._cells import NearRows
from skmia.synthetic._risks import compute_linkability

ESTIMATORS = [
    SinglingOutRisk(random_state=0),
    SinglingOutRisk("univariate", random_state=0),
    LinkabilityRisk(random_state=0),
    InferenceRisk(random_state=0),
]
# Its predicates take most of the seconds, and those of one column the same steps.
QUICK = slow_but(ESTIMATORS, *ESTIMATORS[1:])


def name_of(estimator):
    return type(estimator).__name__ + getattr(estimator, "mode", "")


def make_table(rng, n):
    x = rng.normal(size=(n, 4))
    work = rng.choice(["office", "O'Neill's \"field\"", None], n)
    missing = np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n))
    return pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "work": work, "c": x[:, 2], "lab": missing})


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ((100, 500, 50, 500), (0.1111, 0.0636, 0.1579)),
        ((300, 500, 100, 500), (0.5, 0.4396, 0.5556)),
        ((5, 100, 20, 100), (-0.1875, -0.3405, -0.0696)),
        ((5, 500, 0, 500), (0.0100, 0.0005, 0.0232)),
        ((100, 100, 100, 100), (np.nan, np.nan, np.nan)),
        ((0, 0, 3, 10), (np.nan, np.nan, np.nan)),
    ],
)
def test_known_answers(counts, expected):
    np.testing.assert_allclose(excess_risk(*counts), expected, atol=6e-5)


@pytest.mark.parametrize(
    ("n", "m", "p", "p0", "expected"),
    [
        (500, 50, 0.95, 0.95, 0.963),
        (100, 100, 0.95, 0.95, 0.982),
        (100, 100, 0.99, 0.9, 0.972),
        (30, 30, 0.1, 0.1, 0.974),
    ],
)
def test_exact_coverage(n, m, p, p0, expected):
    weights, weights0 = binom.pmf(range(n + 1), n, p), binom.pmf(range(m + 1), m, p0)
    covered, truth = 0.0, (p - p0) / (1 - p0)
    for s in np.flatnonzero(weights > 1e-6):
        for c in np.flatnonzero(weights0 > 1e-6):
            found = excess_risk(int(s), n, int(c), m)
            inside = np.isnan(found.risk) or (found.low <= truth + 1e-12 and truth <= found.high)
            covered += weights[s] * weights0[c] * inside
    assert covered == pytest.approx(expected, abs=0.002) and covered > 0.95


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name_of)
def test_copies_are_found_and_fresh_rows_are_not(estimator):
    rng = np.random.default_rng(0)
    train, test, fresh = (make_table(rng, n) for n in (150, 120, 200))
    found = clone(estimator).fit(train, test, train).result_
    assert (found["low"] > 0.3).all() and (found["pvalue"] == 0.001).all()
    assert (found["attack_low"] > found["naive"]).all()
    again = clone(estimator).fit(train, test, train).result_
    pd.testing.assert_frame_equal(found, again, check_exact=True)
    fitted = clone(estimator).fit(train, test, fresh)
    # At most six p-values, each at its smallest value with a probability of 0.001.
    assert (fitted.result_["pvalue"] > 0.001).all() and "risk" in fitted.summary()


@few_and_many(60)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name_of)
def test_pvalues_of_fresh_rows_hold(estimator, n_draws):
    rng = np.random.default_rng(1)
    made = clone(estimator).set_params(n_attacks=40, n_permutations=19)
    if "secrets" in made.get_params():
        made.set_params(secrets="a")
    small = sum(
        made.fit(*(make_table(rng, 40) for _ in range(3))).result_["pvalue"].iloc[0] <= 0.05
        for _ in range(n_draws)
    )
    assert small <= binom.ppf(0.999, n_draws, 0.05)


def test_negative_guesses_are_not_right():
    # Guess -1 for the secrets 5 and -50, in a column from -50 to 5.
    synthetic = pd.DataFrame({"key": [0.0, 1, 2], "secret": [-1.0, 5, -50]})
    real = pd.DataFrame({"key": [0.0, 0], "secret": [5.0, -50]})
    found = InferenceRisk("secret", random_state=0).fit(real, real, synthetic)
    assert found.result_.loc["secret", "attack"] == 0


@pytest.mark.parametrize("tolerance", [0.05, 0.1, 0.15])
def test_a_guess_at_the_end_of_the_tolerance_is_right_in_any_unit(tolerance):
    drawn = np.random.default_rng(6).integers(0, 21, size=(3, 100, 2)).astype(float)
    drawn[2, :2, 0] = 0, 20
    settings = {"secrets": 0, "tolerance": tolerance, "n_permutations": 0, "random_state": 0}
    found = [
        InferenceRisk(**settings).fit(*tables).result_[["attack", "control", "naive"]]
        for scale in (1, 0.1, 0.3, 0.01)
        for tables in (drawn * scale, np.round(drawn * scale, 6))
    ]
    for other in found[1:]:
        pd.testing.assert_frame_equal(other, found[0], check_exact=True)
    near = np.abs(drawn[0, :, :1] - drawn[2, :, 0]) <= round(20 * tolerance)
    assert found[0]["naive"].iloc[0] == pytest.approx(near.mean(), abs=1e-12)


def test_the_number_of_attacks_is_the_number_of_predicates():
    rng = np.random.default_rng(2)
    train, test = rng.normal(size=(2, 15, 1))
    risk = SinglingOutRisk("univariate", random_state=0).fit(train, test, train)
    # Fifteen values, the smallest, and the largest.
    assert risk.result_.loc["univariate", "n_attacks"] == 17 == len(risk.predicates_)
    assert risk.result_.loc["univariate", "attack"] == 1
    equal = np.ones((15, 1))
    none = SinglingOutRisk(n_columns=1, random_state=0).fit(equal, equal, equal)
    assert none.result_["n_attacks"].item() == 0 and "no attack could be made" in none.summary()


def test_a_column_named_as_the_mode_has_a_row_of_its_own():
    rng, names = np.random.default_rng(0), ["univariate", "univariate (column)", "c"]
    train, test = (pd.DataFrame(rng.normal(size=(20, 3)), columns=names) for _ in range(2))
    plain = [table.set_axis(["a", "b", "c"], axis=1) for table in (train, test, train)]
    risk = SinglingOutRisk("univariate", random_state=0)
    expected = risk.fit(*plain).result_
    found, score = risk.fit(train, test, train).result_, risk.score()
    np.testing.assert_array_equal(found, expected)
    assert found.index.tolist() == [names[0], "univariate (column) (column)", *names[1:]]
    assert score == risk.fit(*plain).score() > 0.5


def test_equal_rows_are_counted():
    synthetic = pd.DataFrame({"a": ["x", "y", "y"]})
    twice, once = pd.DataFrame({"a": ["x", "x", "y"]}), pd.DataFrame({"a": ["x", "y", "y"]})
    risk = SinglingOutRisk("univariate", random_state=0).fit(twice, once, synthetic)
    assert risk.predicates_ == ["a == x"]
    assert risk.result_.loc["a", ["attack", "control"]].tolist() == [0, 1]
    # Control records are drawn to the size of the training table: all three x, and no single one.
    more = pd.DataFrame({"a": ["x"] * 30})
    assert SinglingOutRisk("univariate").fit(twice, more, synthetic).result_["control"].max() == 0


def test_of_the_larger_side_as_many_persons_are_drawn_at_random():
    train, test = (
        pd.DataFrame({"a": [f"{side}{k}" for k in range(n)]}) for side, n in (("t", 4), ("c", 8))
    )
    for last, name in ((train, "attack"), (test, "control")):
        made = pd.concat([last[-1:], pd.DataFrame({"a": ["x", "x"]})])
        risks = [SinglingOutRisk("univariate", n_permutations=0, random_state=k) for k in range(5)]
        found = [one.fit(train, test, made).result_.loc["a"] for one in risks]
        assert {(row["n_attacks"], row["n_controls"]) for row in found} == {(1, 1)}
        # Of the smaller side all take part; of the larger one half, whichever that is.
        assert {row[name] for row in found} == ({1.0} if name == "attack" else {0.0, 1.0})
        assert {row["attack"] + row["control"] for row in found} == {row[name] for row in found}


def test_shared_columns_are_refused_and_determined_ones_named():
    rng = np.random.default_rng(3)
    table = make_table(rng, 30)
    with pytest.raises(ValueError, match="known has the secret 'a'"):
        InferenceRisk("a", known=["a", "b"]).fit(table, table, table)
    with pytest.raises(ValueError, match="two parts of columns share 'b'"):
        LinkabilityRisk([["a", "b"], ["b", "c"]]).fit(table, table, table)
    table["code"] = table["work"].map({"office": 1}).fillna(2)
    with pytest.warns(UserWarning, match="'work' determines 'code'"):
        InferenceRisk("code").fit(table, table, table)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        InferenceRisk("code", known=["a", "b"]).fit(table, table, table)


def link_all(one, other, k):
    """The probability from all distances, of shape (n, m), of both parts."""
    parts = []
    for distances in (one, other):
        pairs = NearRows(*np.indices(distances.shape).reshape(2, -1), distances.ravel())
        parts.append((pairs, np.sort(distances, axis=1)[:, k - 1]))
    return compute_linkability(*parts, k)


def test_ties_of_linked_rows():
    rng = np.random.default_rng(4)
    one, other = rng.integers(0, 4, size=(2, 200, 9)).astype(float)
    tied, tied_other = (part == part.min(axis=1, keepdims=True) for part in (one, other))
    expected = (tied & tied_other).sum(axis=1) / tied.sum(axis=1) / tied_other.sum(axis=1)
    np.testing.assert_allclose(link_all(one, other, 1), expected, atol=1e-12)
    # All rows are tied: two random choices of k rows.
    for k in (1, 2, 5, 9):
        missed = hypergeom.pmf(0, 9, k, k)
        np.testing.assert_allclose(link_all(np.zeros((1, 9)), np.ones((1, 9)), k), 1 - missed)
    # By simulation, ties broken at random.
    one, other = one[0], other[0]
    met = 0
    for _ in range(2000):
        orders = [np.lexsort((rng.random(9), part))[:3] for part in (one, other)]
        met += bool(set(orders[0]) & set(orders[1]))
    low, high = binom.ppf([0.001, 0.999], 2000, link_all(one[None], other[None], 3)[0])
    assert low <= met <= high


def test_the_order_of_synthetic_rows_does_not_matter():
    rng = np.random.default_rng(5)
    train, test, made = (pd.DataFrame(rng.integers(0, 3, size=(60, 4))) for _ in range(3))
    for estimator in (LinkabilityRisk(random_state=0), InferenceRisk(random_state=0)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            first = clone(estimator).fit(train, test, made).result_
            shuffled = clone(estimator).fit(train, test, made.sample(frac=1, random_state=0))
        np.testing.assert_allclose(first, shuffled.result_)


def test_naive_guesses_do_not_depend_on_the_index():
    rng = np.random.default_rng(6)
    income = pd.DataFrame({"income": rng.choice(["low", "high"], 300, p=[0.76, 0.24])})
    income["age"] = rng.integers(20, 60, 300)
    made = income.set_axis(range(1000, 1300))
    naive = InferenceRisk("income", random_state=0).fit(income, income, made).result_["naive"]
    share = (income["income"] == "low").mean()
    assert naive.item() == pytest.approx(share**2 + (1 - share) ** 2)


def test_missing_values_and_quotes():
    quoted = pd.DataFrame({"a": ["O'N", 'x"', "y", "y"], "b": [1.0, np.nan, 2.0, 3.0]})
    risk = SinglingOutRisk("univariate", random_state=0).fit(quoted, quoted, quoted)
    assert {"a == O'N", "b is missing"} <= set(risk.predicates_)
    assert risk.result_.loc["univariate", "attack"] == 1
    # Missing in both rows is no distance, so that each row finds itself.
    linked = LinkabilityRisk([["a"], ["b"]]).fit(quoted, quoted, quoted).result_
    assert linked["attack"].item() == pytest.approx((1 + 1 + 0.5 + 0.5) / 4)
    # A missing guess is right where the secret is missing, too.
    made = quoted.assign(b=[np.nan, np.nan, 50.0, 50.0])
    inferred = InferenceRisk("b", random_state=0).fit(quoted, quoted, made).result_
    assert inferred["attack"].item() == 0.25
    dates = quoted.assign(c=pd.date_range("2020-01-01", periods=4))
    found = SinglingOutRisk("univariate").fit(dates, dates, dates).predicates_
    assert len(found) == 14 and "c <= 2020-01-01T00:00:00" in found


@parametrize_refusals(
    (
        lambda X, table: LinkabilityRisk().fit(X, np.ones((4, 3)), X),
        "test has 3 columns and train has 2",
    ),
    (
        lambda X, table: LinkabilityRisk().fit(table, table.rename(columns={"b": "c"}), table),
        "test lacks the column 'b' of synthetic",
    ),
    (lambda X, table: InferenceRisk().fit(X, X, X[:0]), "synthetic needs at least 1 row"),
    (
        lambda X, table: InferenceRisk("wage").fit(table, table, table),
        "secrets has 'wage', which is not a column",
    ),
    (lambda X, table: LinkabilityRisk(n_neighbors=9).fit(X, X, X), "n_neighbors=9 needs that many"),
    *(
        (lambda X, table, given=given: excess_risk(*given), f"{name} must be .*got {bad}")
        for given, name, bad in (
            ((11, 10, 0, 10), "successes", 11),
            ((-1, 10, 0, 10), "successes", -1),
            ((1, 10, 10.5, 10), "control_successes", 10.5),
            ((1, 10, -0.5, 10), "control_successes", -0.5),
            ((1, -1, 0, 10), "n_attacks", -1),
            ((1, 10, 0, -1), "n_controls", -1),
        )
    ),
    *(
        (
            lambda X, table, level=level: excess_risk(1, 10, 0, 10, confidence_level=level),
            r"confidence_level must be a number in \(0, 1\); got",
        )
        for level in (0, 1, -0.5, 1.5)
    ),
)
def test_tables_that_cannot_be_compared(call, words, error):
    X = np.ones((4, 2))
    table = pd.DataFrame(X, columns=["a", "b"])
    check_refusal(call, words, error, X, table)


def stack(*tables):
    """Rows of three tables, and which of them each is from."""
    sizes = list(map(len, tables))
    return pd.concat(tables, ignore_index=True), np.repeat([1, 0, -1][: len(sizes)], sizes)


@pytest.mark.parametrize("risk", QUICK, ids=name_of)
def test_one_table_and_its_sides_stand_for_three_tables(risk):
    rng = np.random.default_rng(3)
    tables = [make_table(rng, n) for n in (60, 50, 40)]
    risk = clone(risk).set_params(n_permutations=19)
    found = clone(risk).fit(*stack(*tables))
    pd.testing.assert_frame_equal(found.result_, clone(risk).fit(*tables).result_, check_exact=True)


@pytest.mark.parametrize("risk", QUICK, ids=name_of)
def test_copies_have_a_score_and_are_predicted_and_fresh_rows_are_not(risk):
    rng = np.random.default_rng(4)
    train, test = make_table(rng, 60), make_table(rng, 60)
    leaks = clone(risk).set_params(n_permutations=0, n_attacks=200).fit(train, test, train)
    gap = leaks.result_["attack"] - leaks.result_["control"]
    expected = gap[risk.mode] if hasattr(risk, "mode") else gap.mean()
    assert leaks.score() == pytest.approx(expected)
    assert leaks.score() > 0.2
    assert leaks.predict(train).mean() > leaks.predict(test).mean() + 0.15
    rows, sides = stack(train, test)
    assert leaks.score(rows, sides) == pytest.approx(leaks.score())
    # Synthetic rows of the fold of a search join the others, unless they are among them.
    assert leaks.score(*stack(train, test, train[:9])) == pytest.approx(leaks.score())
    half = clone(leaks).fit(train, test, train[:30])
    joined = clone(leaks).fit(train, test, train.sample(frac=1, random_state=0)).score()
    if not hasattr(risk, "mode"):  # its predicates are drawn in the order of the rows
        assert half.score(*stack(train, test, train[30:])) == pytest.approx(joined)
    # A search by a score cannot be won by exchanging the sides.
    assert leaks.score(rows, 1 - sides) < 0


def test_predictions_by_hand():
    table = pd.DataFrame({"a": [1, 2, 3, 4], "b": list("wxyz")})
    linked = LinkabilityRisk([["a"], ["b"]], n_permutations=0).fit(table, table, table)
    other = pd.DataFrame({"a": [1, 2, 3], "b": list("wyx")})
    assert linked.predict(other).tolist() == [1, 0, 0]
    inferred = InferenceRisk("b", n_permutations=0).fit(table, table, table)
    assert inferred.predict(other).tolist() == [1, 0, 0]
    isolated = SinglingOutRisk("univariate", n_permutations=0, random_state=0)
    isolated.fit(table, table, table)
    # 1 is the only one of up to 1, and y the only y; of 4 or more, and z, there is none.
    more = pd.DataFrame({"a": [1, 2, 2], "b": list("qqy")})
    assert isolated.predict(more).tolist() == [1, 0, 1]


def test_two_secrets_are_inferred_where_both_are():
    table = pd.DataFrame({"a": [0.0, 10.0], "b": list("xy"), "c": list("uv")})
    risk = InferenceRisk(["b", "c"], known=["a"], n_permutations=0).fit(table, table, table)
    rows = pd.DataFrame({"a": [0.0, 0.0, 0.0], "b": list("xxy"), "c": list("uvv")})
    assert risk.predict(rows).tolist() == [1, 0, 0]


@pytest.mark.parametrize("estimator", [*QUICK, CopyTest(), PrivacyLoss()], ids=name_of)
def test_sides_that_are_not_said_are_asked_for(estimator):
    X = np.arange(24.0).reshape(12, 2)
    sides = np.repeat([1, 0, -1], 4)
    for y, message in [
        (None, "y must say of each row of X what it is: 1 for training rows, 0 for held-out"),
        (X, r"needs the synthetic table beside it: fit\(train, test, synthetic\)"),
        (sides[:7], "a number for each of the 12 rows of X"),
        (sides + 1, "y must hold 1 for training rows, .*; got 2"),
        (np.repeat([1, 0], 6), "X has no synthetic rows, which have -1 in y"),
        (np.repeat([1, -1], 6), "X has no held-out rows"),
    ]:
        with pytest.raises(ValueError, match=message):
            clone(estimator).fit(X, y)
    fitted = clone(estimator).fit(X, sides)
    with pytest.raises(ValueError, match="X has no training rows"):
        fitted.score(X, np.zeros(12))
    with pytest.raises(ValueError, match="y must say"):
        fitted.score(X)


@pytest.mark.parametrize("estimator", [*QUICK, CopyTest(), PrivacyLoss()], ids=name_of)
def test_tables_that_are_changed_after_fit_change_no_answer(estimator):
    rng = np.random.default_rng(5)
    tables = rng.normal(size=(3, 30, 3)).round(1)
    tables[2, :15] = tables[0, :15]
    fitted = clone(estimator).set_params(random_state=0).fit(*tables)
    rows = tables[0].copy()
    found = fitted.predict(rows)
    tables[:] = 99.0
    np.testing.assert_array_equal(fitted.predict(rows), found)


def test_no_attack_has_a_score_of_zero():
    equal = np.zeros((4, 2))
    risk = SinglingOutRisk(n_columns=1, random_state=0).fit(equal, equal, equal)
    assert risk.result_["n_attacks"].tolist() == [0]
    assert risk.score() == 0.0 and risk.predict(equal).tolist() == [0, 0, 0, 0]
