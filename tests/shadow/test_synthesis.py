"""Records made for shadow models: searches by asking the victim, marginals, and noise."""

import math
import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import stats
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from skmia import Records, ShadowPool
from skmia.attacks import ShadowAttack
from skmia.datasets import make_membership_problem
from skmia.shadow import MarginalSynthesizer, ModelBasedSynthesizer, NoisyRecords
from skmia.shadow._synthesis import TableCodes, choose_features
from skmia.victims import CallableVictim

N_FEATURES = 20


class Linear(ClassifierMixin, BaseEstimator):
    """Three classes, each of which likes some of the bits; remembers how it was asked."""

    classes_ = np.array(["a", "b", "c"])

    def __init__(self, offset=0.0, sharpness=1.5):
        self.offset, self.sharpness = offset, sharpness

    def __sklearn_is_fitted__(self):
        return True

    def fit(self, X, y):
        return self

    def predict_proba(self, X):
        self.sizes = [*getattr(self, "sizes", []), len(X)]
        weights = np.random.default_rng(0).normal(size=(N_FEATURES, 3))
        logits = self.sharpness * (X - 0.5) @ weights + [0, 0, self.offset]
        proba = np.exp(logits - logits.max(axis=1, keepdims=True))
        return proba / proba.sum(axis=1, keepdims=True)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


BITS = Records(np.array([[0] * N_FEATURES, [1] * N_FEATURES], dtype=np.uint8))


def search_one(victim, label, k_max, k_min, conf_min, rej_max, iter_max, rng):
    """Algorithm 1 of Shokri et al., one record and one query at a time."""
    x = rng.integers(2, size=N_FEATURES)
    best, rejections, k, found_at = 0.0, 0, k_max, x
    for n_queries in range(1, iter_max + 1):
        proba = victim.predict_proba(x[None])[0]
        if proba[label] >= best:
            if proba[label] > conf_min and proba.argmax() == label and rng.random() < proba[label]:
                return x, n_queries
            found_at, best, rejections = x, proba[label], 0
        else:
            rejections += 1
            if rejections > rej_max:
                k, rejections = max(k_min, math.ceil(k / 2)), 0
        x = found_at.copy()
        changed = rng.choice(N_FEATURES, k, replace=False)
        x[changed] = rng.integers(2, size=k)
    return None, iter_max


def test_searches_side_by_side_are_the_algorithm_one_by_one():
    settings = {"k_max": 8, "k_min": 2, "conf_min": 0.6, "rej_max": 3, "iter_max": 12}
    rng, victim, n = np.random.default_rng(0), Linear(offset=-3.0), 450
    one_by_one = {
        label: [search_one(victim, label, **settings, rng=rng) for _ in range(n)]
        for label in (0, 2)
    }
    synthesizer = ModelBasedSynthesizer(
        FrozenEstimator(victim),
        min_confidence=0.6,
        max_changes=8,
        min_changes=2,
        max_rejections=3,
        max_iter=12,
        max_failures=1000,
        class_prior=[0.5, 0, 0.5],
        random_state=0,
    ).fit(BITS)
    made = synthesizer.sample(2 * n)
    for label, searches in one_by_one.items():
        name = "abc"[label]
        row = synthesizer.report_.loc[name]
        failed = sum(record is None for record, _ in searches)
        # The share of searches that fail, the queries of a search, and how sure the victim is.
        tests = [
            stats.fisher_exact([[failed, n - failed], [row.n_failed, row.n_made]]).pvalue,
            stats.ttest_ind(
                victim.predict_proba(np.array([x for x, _ in searches if x is not None]))[:, label],
                victim.predict_proba(made.X[made.y == name])[:, label],
            ).pvalue,
        ]
        assert min(tests) > 1e-3
        queries = [n_queries for _, n_queries in searches]
        error = np.std(queries) * math.sqrt(1 / n + 1 / (row.n_made + row.n_failed))
        assert abs(row.n_queries / (row.n_made + row.n_failed) - np.mean(queries)) < 3.5 * error


def test_every_record_is_what_was_asked_for():
    victim = Linear()
    synthesizer = ModelBasedSynthesizer(FrozenEstimator(victim), min_confidence=0.7, random_state=0)
    made = synthesizer.fit(BITS).sample(100)
    assert made.X.dtype == np.uint8 and set(np.unique(made.X)) == {0, 1}
    assert_array_equal(np.unique(made.y, return_counts=True)[1], [33, 34, 33])
    proba = victim.predict_proba(made.X)
    assert_array_equal(victim.classes_[proba.argmax(axis=1)], made.y)
    assert proba.max(axis=1).min() > 0.7


def test_queries_are_counted_and_come_in_batches():
    victim = Linear()
    synthesizer = ModelBasedSynthesizer(FrozenEstimator(victim), batch_size=50, random_state=0)
    synthesizer.fit(BITS).sample(300)
    assert synthesizer.n_queries_ == sum(victim.sizes)
    assert synthesizer.report_["n_queries"].sum() == sum(victim.sizes) - 1  # one asked by fit
    assert max(victim.sizes) == 50
    assert len(victim.sizes) < sum(victim.sizes) / 10
    synthesizer.sample(30)
    assert synthesizer.n_queries_ == sum(victim.sizes)


def test_a_class_out_of_reach_is_reported_at_little_cost():
    synthesizer = ModelBasedSynthesizer(
        FrozenEstimator(Linear(offset=-80.0)), max_iter=30, max_failures=4, random_state=0
    ).fit(BITS)
    with pytest.warns(
        UserWarning, match=r"1 of 3 classes have fewer records .*: 'c'; see report_"
    ) as said:
        made = synthesizer.sample(300)
    assert said[0].filename == __file__
    assert set(made.y) == {"a", "b"} and len(made) == 200
    row = synthesizer.report_.loc["c"]
    assert (row.n_wanted, row.n_made, row.n_failed, row.n_queries) == (100, 0, 4, 120)


def test_no_class_within_reach_is_an_error():
    flat = CallableVictim(lambda X: np.full((len(X), 2), 0.5), ["no", "yes"])
    synthesizer = ModelBasedSynthesizer(flat, min_confidence=0.9, max_iter=5, random_state=0)
    with pytest.raises(ValueError, match="No record was found for any of 2 classes"):
        synthesizer.fit(BITS).sample(10)
    assert synthesizer.report_["n_made"].sum() == 0


def test_class_shares_are_kept():
    synthesizer = ModelBasedSynthesizer(
        FrozenEstimator(Linear()), class_prior=[0.2, 0.0, 0.8], random_state=0
    ).fit(BITS)
    made = synthesizer.sample(50)
    assert dict(zip(*np.unique(made.y, return_counts=True), strict=True)) == {"a": 10, "c": 40}


def make_table(n=200):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": rng.integers(17, 91, n),
            "hours": rng.uniform(0, 80, n),
            "job": rng.choice(["cook", "clerk", None], n),
            "sex": pd.Categorical(rng.choice(["f", "m"], n), categories=["m", "f", "unused"]),
            "citizen": rng.random(n) < 0.9,
        },
        index=np.arange(n)[::-1],
    )


def fit_table_victim(table):
    text = make_column_selector(dtype_include=["object", "category", "string"])
    encoder = make_column_transformer((OneHotEncoder(), text), remainder="passthrough")
    y = np.where(table["age"] > 50, "old", "young")
    return make_pipeline(encoder, DecisionTreeClassifier(max_depth=4)).fit(table, y), y


@pytest.mark.parametrize("kind", ["model-based", "marginal", "by class", "noisy"])
def test_tables_keep_their_columns_types_and_domains(kind):
    table = make_table()
    model, y = fit_table_victim(table)
    victim = FrozenEstimator(model)
    synthesizer = {
        "model-based": ModelBasedSynthesizer(victim, random_state=0),
        "marginal": MarginalSynthesizer(victim, random_state=0),
        "by class": MarginalSynthesizer(random_state=0),
        "noisy": NoisyRecords(0.4, random_state=0),
    }[kind].fit(Records(table, y))
    made = synthesizer.sample(150)
    assert len(made) == 150
    pd.testing.assert_series_equal(made.X.dtypes, table.dtypes)
    assert made.X["age"].between(table["age"].min(), table["age"].max()).all()
    assert made.X["hours"].between(table["hours"].min(), table["hours"].max()).all()
    assert set(made.X["sex"]) == {"f", "m"}
    assert set(made.X["job"].dropna()) == {"cook", "clerk"}
    assert made.X["job"].isna().any()
    assert set(made.y) == {"old", "young"}
    if kind in ("model-based", "marginal"):
        assert_array_equal(model.predict(made.X), made.y)


def test_the_domain_is_uniform_over_what_a_feature_can_be():
    X = np.array([[0, -1, 2, 0.5, 7], [1, 1, 5, 2.25, 7], [1, 1, 3, 1.0, 7]])
    drawn = TableCodes(X).draw(6_000, np.random.default_rng(0))
    for column, values in zip(drawn.T[:3], ([0, 1], [-1, 1], [2, 3, 4, 5]), strict=True):
        found, counts = np.unique(column, return_counts=True)
        assert_array_equal(found, values)
        assert stats.chisquare(counts).pvalue > 1e-3
    assert stats.kstest(drawn[:, 3], stats.uniform(0.5, 1.75).cdf).pvalue > 1e-3
    assert set(drawn[:, 4]) == {7}


@pytest.mark.parametrize("dtype", ["int64", "uint64", "Int64"])
def test_whole_numbers_that_floats_do_not_hold_are_not_rounded(dtype):
    numbers = np.arange(2**60 + 1, 2**60 + 7).reshape(3, 2)
    X = pd.DataFrame(numbers, columns=["a", "b"], dtype=dtype)
    tables = [X] if dtype == "Int64" else [X, X.to_numpy()]
    for table in tables:
        records = Records(table, [0, 0, 1])
        same = NoisyRecords(0.0, random_state=0).fit(records).sample()
        assert_array_equal(np.asarray(same.X), numbers)
        made = MarginalSynthesizer(random_state=0).fit(records).sample(9)
        assert set(np.asarray(made.X).ravel().tolist()) <= set(numbers.ravel().tolist())
    X = X.astype("Int64")
    X.iloc[0, 0] = pd.NA
    assert NoisyRecords(0.0).fit(Records(X, [0, 0, 1])).sample().X.equals(X)
    # Rounded to a whole number of features, and to one rather than none.
    few = Records(np.eye(4), [0, 0, 1, 1])
    changed = [NoisyRecords(noise).fit(few).n_changes_ for noise in (0.0, 0.1, 0.4, 0.8)]
    assert changed == [0, 1, 2, 3]


def test_features_to_change_are_different_and_uniform():
    rng = np.random.default_rng(0)
    chosen = choose_features(np.repeat([0, 1, 3, 9], 3_000), 5, rng)
    assert_array_equal(chosen.sum(axis=1), np.repeat([0, 1, 3, 5], 3_000))
    for part in (chosen[3_000:6_000], chosen[6_000:9_000]):
        assert stats.chisquare(part.sum(axis=0)).pvalue > 1e-3


def test_images_keep_their_shape():
    images = Records(
        np.random.default_rng(0).integers(256, size=(6, 4, 4), dtype=np.uint8), [0] * 6
    )
    made = NoisyRecords(0.5, random_state=0).fit(images).sample()
    assert made.X.shape == (6, 4, 4) and made.X.dtype == np.uint8


def test_marginals_keep_frequencies_and_lose_what_goes_together():
    rng = np.random.default_rng(0)
    first = rng.random(2_000) < 0.3
    X = np.column_stack([first, first, rng.random(2_000) < 0.7]).astype(float)
    records = Records(X, first.astype(int))
    made = MarginalSynthesizer(random_state=0).fit(records).sample(20_000)
    both = MarginalSynthesizer(FrozenEstimator(DecisionTreeClassifier().fit(X, first.astype(int))))
    pooled = both.set_params(random_state=0).fit(records).sample(20_000)
    error = 4 * math.sqrt(0.25 / 20_000)
    for some in (made, pooled):
        assert np.abs(some.X.mean(axis=0) - X.mean(axis=0)).max() < error
    assert_array_equal(made.X[:, 0], made.X[:, 1])  # constant within a class
    assert abs(np.corrcoef(pooled.X[:, 0], pooled.X[:, 1])[0, 1]) < 4 / math.sqrt(20_000)
    assert abs(made.y.mean() - first.mean()) < error


def test_a_class_that_marginals_do_not_reach_is_reported():
    victim = Linear(offset=-80.0)
    synthesizer = MarginalSynthesizer(FrozenEstimator(victim), random_state=0).fit(BITS)
    with pytest.warns(UserWarning, match="1 of 3 classes .*'c'") as said:
        made = synthesizer.sample(100)
    assert said[0].filename == __file__
    assert synthesizer.n_queries_ == 100 == sum(victim.sizes)
    assert synthesizer.report_.loc["c", "n_made"] == 0
    assert synthesizer.report_["n_made"].sum() == len(made) == 100
    assert_array_equal(synthesizer.report_["n_queries"], synthesizer.report_["n_made"])


def test_a_regressor_gives_values_as_labels():
    X = np.random.default_rng(0).normal(size=(50, 3))
    victim = FrozenEstimator(LinearRegression().fit(X, X.sum(axis=1)))
    synthesizer = MarginalSynthesizer(victim, random_state=0).fit(Records(X))
    made = synthesizer.sample(20)
    assert made.y == pytest.approx(made.X.sum(axis=1))
    assert synthesizer.report_ is None
    with pytest.raises(ValueError, match="y holds real values"):
        MarginalSynthesizer().fit(Records(X, X.sum(axis=1)))


def test_noise_flips_the_rounded_number_of_bits():
    X = np.random.default_rng(0).integers(2, size=(300, 25))
    records = Records(X, X[:, 0])
    for noise, expected in ((0.0, 0), (0.1, 2), (0.2, 5), (1.0, 25)):
        synthesizer = NoisyRecords(noise, random_state=0).fit(records)
        made = synthesizer.sample()
        assert set((made.X != X).sum(axis=1)) == {expected} == {synthesizer.n_changes_}
        assert_array_equal(made.y, records.y)
    assert synthesizer.n_queries_ == 0


def test_noisy_records_are_drawn_without_replacement_as_far_as_they_go():
    records = Records(np.arange(40.0)[:, None], np.zeros(40, dtype=int))
    synthesizer = NoisyRecords(0.0, random_state=0).fit(records)
    assert len(np.unique(synthesizer.sample(30).X)) == 30
    assert len(np.unique(synthesizer.sample(40).X)) == 40
    assert len(synthesizer.sample(100)) == 100


SYNTHESIZERS = [
    ModelBasedSynthesizer(FrozenEstimator(Linear()), random_state=0),
    MarginalSynthesizer(random_state=0),
    NoisyRecords(0.2, random_state=0),
]
Labeled = Records(np.random.default_rng(0).integers(2, size=(30, N_FEATURES)), ["a", "b", "c"] * 10)


@pytest.mark.parametrize("synthesizer", SYNTHESIZERS, ids=lambda one: type(one).__name__)
def test_they_are_ordinary_estimators(synthesizer):
    with pytest.raises(NotFittedError):
        synthesizer.sample(3)
    one, two = (clone(synthesizer).fit(Labeled) for _ in range(2))
    first, second = one.sample(12), one.sample(12)
    assert_array_equal(first.X, two.sample(12).X)
    assert (first.X != second.X).any()  # further records, not the same again
    assert_array_equal(second.X, pickle.loads(pickle.dumps(two)).sample(12).X)
    assert_array_equal(one.fit(Labeled).sample(12).X, first.X)
    assert not synthesizer.__sklearn_tags__().input_tags.two_d_array
    with pytest.raises(TypeError, match=r"Expected skmia.Records"):
        one.fit(Labeled.X)
    with pytest.raises(ValueError, match="n_samples"):
        one.sample(0)


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: ModelBasedSynthesizer(Linear(), min_confidence=1.0), "'min_confidence' parameter"),
        (lambda: ModelBasedSynthesizer(Linear(), max_changes=21), "max_changes must be between"),
        (lambda: ModelBasedSynthesizer(Linear(), class_prior=[0.5, 0.5]), "a share for each of 3"),
        (lambda: ModelBasedSynthesizer(Linear(), class_prior=[1, 1, -1]), "a share for each of 3"),
        (lambda: NoisyRecords(1.5), "'noise' parameter"),
        (lambda: NoisyRecords(0.1), "carry no task labels"),
        (lambda: MarginalSynthesizer(), "carry no task labels"),
    ],
)
def test_bad_parameters_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make().fit(BITS)


def test_a_search_needs_probabilities():
    X = np.random.default_rng(0).integers(2, size=(50, N_FEATURES))
    with pytest.raises(ValueError, match="needs a victim with probabilities"):
        ModelBasedSynthesizer(LinearSVC().fit(X, X[:, 0])).fit(BITS)
    with pytest.raises(NotFittedError, match="FrozenEstimator"):
        ModelBasedSynthesizer(LogisticRegression()).fit(BITS)


def test_other_containers_are_refused():
    words = Records(np.array([["a", "b"]]), [0])
    with pytest.raises(TypeError, match="from a DataFrame or an array of numbers"):
        NoisyRecords().fit(words)
    with pytest.raises(ValueError, match="no value in any record"):
        NoisyRecords().fit(Records(np.array([[np.nan, 1.0]]), [0]))


def test_a_table_of_another_library_is_refused_with_the_way_to_pandas():
    table = pytest.importorskip("polars").DataFrame({"a": [1.0, 2.0]})
    with pytest.raises(ValueError, match=r"Synthesis changes values.*Records\(X.to_pandas\(\), y"):
        NoisyRecords().fit(Records(table, [0, 1]))


def test_an_attack_without_any_real_record_finds_members():
    records, membership = make_membership_problem(
        1_200, n_features=60, n_classes=3, kind="baskets", memorization=0.7, random_state=0
    )
    model = DecisionTreeClassifier(min_samples_leaf=3, random_state=0)
    members = records[membership == 1]
    victim = FrozenEstimator(clone(model).fit(members.X, members.y))
    limits = Records(np.array([[0] * 60, [1] * 60], dtype=np.float32))
    made = ModelBasedSynthesizer(victim, random_state=0).fit(limits).sample(600)
    pool = ShadowPool(model, 4, store="outputs", random_state=0).fit(made)
    attack = ShadowAttack(
        victim,
        FrozenEstimator(pool),
        attack_estimator=LogisticRegression(),
        features=("loss",),
        per_class=False,
    )
    assert roc_auc_score(membership, attack.fit(made).score_samples(records)) > 0.55


def test_noise_changes_a_feature_of_small_tables():
    bits = np.random.default_rng(0).integers(2, size=(20, 4))
    records = Records(bits, bits[:, 0])
    noisy = NoisyRecords(random_state=0).fit(records).sample()
    assert ((noisy.X != bits).sum(axis=1) == 1).all()
    assert NoisyRecords(noise=0).fit(records).n_changes_ == 0


def test_a_feature_without_values_is_named():
    X = np.array([[1.0, np.nan], [2.0, np.nan]])
    with pytest.raises(ValueError, match="Feature 1 has no value in any record.*leave it out"):
        NoisyRecords().fit(Records(X, [0, 1]))
