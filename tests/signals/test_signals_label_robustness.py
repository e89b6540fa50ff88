"""How often the label survives: counted by loops, and known for a linear classifier."""

import numpy as np
import pandas as pd
import pytest
from refusals import check_refusal, parametrize_refusals
from scipy import sparse
from scipy.stats import norm
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_digits
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from skmia import Records
from skmia.attacks import ThresholdAttack
from skmia.defenses import LabelOnlyDefense
from skmia.metrics import auc_interval
from skmia.signals import Correctness, LabelRobustness

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(80, 4)), RNG.integers(2, size=80)
VICTIM = FrozenEstimator(LabelOnlyDefense(LogisticRegression()).fit(X, Y))
BITS = RNG.integers(2, size=(80, 6))


def make_table(n=300, seed=0):
    rng = np.random.default_rng(seed)
    city = pd.Categorical(rng.choice(["a", "b", "c"], n))
    table = pd.DataFrame(
        {"age": rng.normal(size=n), "city": city, "sex": rng.choice(["f", "m"], n)}
    )
    return table, rng.integers(2, size=n)


def test_noise_on_a_linear_classifier_has_a_known_share():
    # A margin of m survives noise of standard deviation s with probability Phi(m / s).
    model = LogisticRegression().fit(X, Y)
    scale = np.array([1.0, 2.0, 0.5, 1.0])
    margin = model.decision_function(X) * np.where(Y == 1, 1, -1)
    n = 10_000
    for magnitude in (0.3, 2.0):
        signal = LabelRobustness(magnitudes=(magnitude,), n_changes=n, scale=tuple(scale))
        share = signal.of(VICTIM, Records(X, Y))
        expected = norm.cdf(margin / np.linalg.norm(magnitude * scale * model.coef_))
        error = np.sqrt(expected * (1 - expected) / n)
        right = margin > 0
        assert (np.abs(share - expected) < 5 * error + 1 / n)[right].all()
        np.testing.assert_array_equal(share[~right], 0)


def test_flips_are_those_of_a_loop():
    victim = DecisionTreeClassifier(max_depth=4, random_state=0).fit(BITS[:40], Y[:40])
    signal = LabelRobustness("flip", (0.1, 0.4), n_changes=3, random_state=5)
    rng, right = np.random.RandomState(5), (victim.predict(BITS) == Y).astype(int)
    for magnitude in (0.1, 0.4):
        for flipped in rng.uniform(size=(3, 6)) < magnitude:
            right += victim.predict(np.where(flipped, 1 - BITS, BITS)) == Y
    own = victim.predict(BITS) == Y
    np.testing.assert_array_equal(signal.of(victim, Records(BITS, Y)), own * right / 7)


def test_swaps_are_those_of_a_loop():
    table, y = make_table()
    encoder = make_column_transformer((OneHotEncoder(), ["city", "sex"]), remainder="passthrough")
    victim = make_pipeline(encoder, DecisionTreeClassifier(random_state=0)).fit(table, y)
    donors, _ = make_table(50, seed=1)
    donors["city"] = donors["city"].astype(table["city"].dtype)
    signal = LabelRobustness(
        "swap", (0.5,), n_changes=4, population=Records(donors, np.zeros(50)), random_state=5
    )
    rng = np.random.RandomState(5)
    donor, swapped = rng.randint(50, size=(4, 3)), rng.uniform(size=(4, 3)) < 0.5
    right = (victim.predict(table) == y).astype(int)
    for k in range(4):
        changed = table.copy()
        for j in np.flatnonzero(swapped[k]):
            changed[table.columns[j]] = donors.iloc[donor[k, j], j]
        right += victim.predict(changed) == y
    own = victim.predict(table) == y
    np.testing.assert_array_equal(signal.of(victim, Records(table, y)), own * right / 5)
    assert 0 < right.sum() < 5 * len(y)


def test_swaps_keep_the_types_of_the_columns():
    table, y = make_table(30)
    seen = []

    class Victim(DummyClassifier):
        def predict(self, X):
            seen.append(X.dtypes)
            return super().predict(X)

    victim = LabelOnlyDefense(Victim()).fit(table, y)
    LabelRobustness("swap", population=Records(table, y), n_changes=2).of(victim, Records(table, y))
    assert len(seen) == 5
    assert all(types.equals(table.dtypes) for types in seen)


@pytest.mark.parametrize("dtype", ["category", "str"])
def test_swapped_categories_are_those_of_the_records(dtype):
    cities = pd.Series(list("abca"), dtype="category")
    table, seen = pd.DataFrame({"city": cities, "age": [30, 40, 50, 60]}), []

    class Victim(DummyClassifier):
        def predict(self, X):
            seen.append(X["city"].cat.categories.tolist())
            return super().predict(X)

    victim = LabelOnlyDefense(Victim()).fit(table, [1, 1, 1, 0])
    donors = Records(pd.DataFrame({"city": list("ba"), "age": [1, 2]}).astype({"city": dtype}))
    LabelRobustness("swap", population=donors).of(victim, Records(table, [1, 1, 1, 0]))
    assert len(seen) == 5
    assert all(categories == ["a", "b", "c"] for categories in seen)


def test_swaps_of_arrays_and_tables_are_the_same():
    expected = LabelRobustness("swap", population=Records(X, Y)).of(VICTIM, Records(X, Y))
    table = Records(pd.DataFrame(X), Y)
    victim = LabelOnlyDefense(LogisticRegression()).fit(table.X, Y)
    signal = LabelRobustness("swap", population=table)
    np.testing.assert_array_equal(signal.of(victim, table), expected)
    turned = LabelRobustness("swap", population=Records(table.X[[2, 0, 3, 1]], Y))
    np.testing.assert_array_equal(turned.of(victim, table), expected)


def test_a_victim_that_always_says_the_same_keeps_its_label():
    victim = DummyClassifier(strategy="constant", constant=1).fit(X, Y)
    np.testing.assert_array_equal(LabelRobustness().of(victim, Records(X, Y)), Y)


@pytest.mark.parametrize(
    "signal",
    [LabelRobustness(), LabelRobustness("swap", population=Records(X, Y))],
    ids=["noise", "swap"],
)
def test_company_and_batches_change_nothing(signal, monkeypatch):
    together = signal.of(VICTIM, Records(X, Y))
    np.testing.assert_array_equal(signal.of(VICTIM, Records(X, Y)[7]), together[[7]])
    monkeypatch.setattr("skmia.signals._perturbation.CHUNK", 200)
    np.testing.assert_array_equal(signal.of(VICTIM, Records(X, Y)), together)


def test_images_are_changed_pixel_by_pixel():
    flat = FunctionTransformer(lambda rows: rows.reshape(len(rows), -1))
    model = make_pipeline(flat, LogisticRegression()).fit(X.reshape(-1, 2, 2), Y)
    victim = FrozenEstimator(model)
    expected = LabelRobustness().of(VICTIM, Records(X, Y))
    images = Records(X.reshape(-1, 2, 2), Y)
    np.testing.assert_array_equal(LabelRobustness().of(victim, images), expected)


def test_labels_of_an_overfit_forest_tell_more_than_the_gap():
    digits = load_digits()
    records = Records(digits.data[:600] / 16, digits.target[:600])
    members = records[:300]
    victim = LabelOnlyDefense(RandomForestClassifier(20, random_state=0))
    victim = FrozenEstimator(victim.fit(members.X, members.y))
    membership = np.arange(600) < 300
    gap, share = (
        auc_interval(membership, signal.of(victim, records))
        for signal in (Correctness(), LabelRobustness("swap", population=records))
    )
    assert share.low > gap.high


@pytest.mark.parametrize(
    "signal, rows, message",
    [
        (LabelRobustness(), sparse.csr_matrix(X), "must not be sparse"),
        (LabelRobustness(), np.full((80, 4), "text"), "X holds no numbers"),
        (LabelRobustness("flip"), X, "needs features of 0 and 1"),
        (LabelRobustness(scale=(1.0, 2.0)), X, "each of 4 features; got 2"),
        (LabelRobustness("swap", population=Records(X, Y)), sparse.csr_matrix(X), "array or a tab"),
        (LabelRobustness("swap", population=Records(BITS, Y)), X, "must have the features of the"),
        (
            LabelRobustness("swap", population=Records(X, Y)),
            pd.DataFrame(X),
            "must have the features",
        ),
        (
            LabelRobustness("swap", population=Records(pd.DataFrame(X, columns=list("abcd")), Y)),
            pd.DataFrame(X, columns=list("abce")),
            "must have the features",
        ),
    ],
)
def test_records_must_suit_the_change(signal, rows, message):
    with pytest.raises(ValueError, match=message):
        signal.of(FrozenEstimator(DummyClassifier().fit(X, Y)), Records(rows, Y))


def test_victims_that_have_no_labels_are_refused():
    regressor = LinearRegression().fit(X, X[:, 0])
    with pytest.raises(ValueError, match="'label_robustness' needs a classifier; got a regressor"):
        LabelRobustness().of(regressor, Records(X, X[:, 0]))
    with pytest.raises(ValueError, match="needs the victim itself"):
        ThresholdAttack(signal="label_robustness").fit(Records(X, Y).with_outputs(VICTIM))


@parametrize_refusals(
    (lambda: LabelRobustness(change="shift"), "change must be"),
    (lambda: LabelRobustness(n_changes=0), "n_changes must be"),
    (lambda: LabelRobustness(scale=-1.0), "scale must be"),
    (lambda: LabelRobustness(magnitudes=()), "magnitudes must be"),
    (lambda: LabelRobustness(magnitudes=[[0.1]]), r"magnitudes must be .* got \[\[0.1\]\]"),
    (lambda: LabelRobustness(magnitudes=(0.5, 0.0)), "magnitudes must be"),
    (lambda: LabelRobustness(change="flip", magnitudes=(1.5,)), "magnitudes must be"),
    (lambda: LabelRobustness(magnitudes=(np.nan,)), "magnitudes must be"),
    (lambda: LabelRobustness(random_state=-1), "random_state must be"),
    (lambda: LabelRobustness(change="swap"), "population must be"),
    (lambda: LabelRobustness(change="flip", population=Records(X, Y)), "population must be"),
    (lambda: LabelRobustness(population=Records(X, Y)), "population must be"),
)
def test_settings_are_checked(call, words, error):
    check_refusal(call, words, error)


def test_settings_at_the_ends_of_their_ranges_are_taken():
    assert LabelRobustness(n_changes=1, magnitudes=(1e-9, 50.0)).n_changes == 1
    assert LabelRobustness(change="flip", magnitudes=[1]).magnitudes == (1,)
