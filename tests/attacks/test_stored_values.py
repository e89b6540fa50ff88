"""Candidates are found in models that store them, and in no others."""

import pickle
import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
from refusals import check_refusal, parametrize_refusals
from scipy import sparse
from sklearn.base import is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.decomposition import PCA
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import KNNImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import MultinomialNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, NearestNeighbors
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    QuantileTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.svm import SVC
from sklearn.utils import all_estimators
from sklearn.utils.validation import check_is_fitted

from skmia import Records
from skmia.attacks import ReleasedModelAttack, StoredValuesAttack
from skmia.inspection import inspect_model
from skmia.victims import CallableVictim, read_state
from tests.helpers.generic import make_generically
from tests.helpers.planted import find_in_arrays, find_in_bytes

pytestmark = pytest.mark.contract

N = 150
RNG = np.random.default_rng(0)
X = RNG.gamma(2, size=(N, 4))
MEMBERSHIP = np.arange(N) % 2
LABELS = (X[:, 0] > 1.5).astype(int)
TARGETS = X[:, 0] + RNG.gamma(2, size=N)

ALL_ROWS = {
    *("GaussianProcessClassifier", "GaussianProcessRegressor", "HDBSCAN", "Isomap", "KNNImputer"),
    *("KNeighborsClassifier", "KNeighborsRegressor", "KNeighborsTransformer", "KernelDensity"),
    *("KernelPCA", "KernelRidge", "LabelPropagation", "LabelSpreading", "LocalOutlierFactor"),
    *("LocallyLinearEmbedding", "NearestNeighbors", "RadiusNeighborsClassifier"),
    *("RadiusNeighborsRegressor", "RadiusNeighborsTransformer"),
}
MANY_ROWS = {
    *("AffinityPropagation", "Birch", "MeanShift", "NuSVC", "NuSVR", "Nystroem", "OneClassSVM"),
    *("SVC", "SVR"),
}
# By column, or the target.
ALL_VALUES = {
    *("DecisionTreeRegressor", "ExtraTreeRegressor", "ExtraTreesRegressor", "OneHotEncoder"),
    *("OrdinalEncoder", "QuantileTransformer", "TargetEncoder"),
}
SOME_VALUES = {
    *("BaggingRegressor", "IsotonicRegression", "KBinsDiscretizer", "MaxAbsScaler"),
    *("MinMaxScaler", "QuantileRegressor", "RandomForestRegressor", "RobustScaler"),
    "SplineTransformer",
}
# Estimators of another kind, or of a state that depends on the version, of which nothing is said.
UNTOLD = {"AdaBoostRegressor", "DummyRegressor", "GradientBoostingRegressor", "RANSACRegressor"}
# Where a cluster has one record, its center is that record.
UNTOLD |= {"BisectingKMeans", "KMeans", "MiniBatchKMeans"}
# Take longer than all others together.
SLOW = {"DictionaryLearning", "TSNE"}
# Met in each run beside those above and those below, but for some that take a tenth of a second.
OFTEN = {
    *(
        "AdaBoostClassifier",
        "CalibratedClassifierCV",
        "ExtraTreesClassifier",
        "GaussianNB",
        "Lasso",
    ),
    *("GradientBoostingClassifier", "LinearRegression", "LogisticRegression", "MLPClassifier"),
    *("PCA", "RandomForestClassifier", "Ridge", "SGDClassifier", "SimpleImputer", "StandardScaler"),
}
OFTEN |= ALL_ROWS | MANY_ROWS | ALL_VALUES | SOME_VALUES | UNTOLD
OFTEN -= {"Isomap", "MeanShift"}
QUICK = {"max_iter": 5, "n_estimators": 5, "cv": 3, "n_init": 1, "n_iter": 1}
QUICK |= {"n_components": 1, "n_best": 1}
# Halfway between values of columns with few of them, from which the values follow.
HALFWAY = {"HistGradientBoostingClassifier", "HistGradientBoostingRegressor"}
SEED = {"random_state": 0}


def make_problem(estimator, name):
    """Records with the features and targets that a kind of estimator takes."""
    y = TARGETS if is_regressor(estimator) else LABELS
    return Records(X[:, :1] if name == "IsotonicRegression" else X, y)


@cache
def fit_generically(name, kind):
    """An estimator fitted on the members, and all records."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            settings = SEED if name in MANY_ROWS else SEED | QUICK
            estimator = make_generically(kind, settings)
            records = make_problem(estimator, name)
            members = records[MEMBERSHIP == 1]
            several = name.startswith("Multi") or name.endswith("Chain")
            y = members.y[:, None] if several else members.y
            check_is_fitted(estimator.fit(members.X, y))
            return estimator, records
        except Exception as error:
            pytest.skip(f"cannot be fitted on a matrix: {str(error).splitlines()[0]}")


of_each_estimator = pytest.mark.parametrize(
    "name, kind",
    [
        pytest.param(*one, id=one[0], marks=[pytest.mark.slow] * (one[0] not in OFTEN | HALFWAY))
        for one in all_estimators()
    ],
)


@of_each_estimator
def test_estimators_that_store_training_data_are_found_and_no_others(name, kind):
    if name in SLOW | UNTOLD:
        pytest.skip("is slow or stores what depends on the draw")
    model, records = fit_generically(name, kind)
    try:
        attack = StoredValuesAttack(FrozenEstimator(model)).fit(records)
    except ValueError as error:
        assert "stores no array" in str(error)
        return
    scores, places = attack.score_samples(records), attack.places_
    n_rows = attack.found_["whole_row"].sum()
    auc = roc_auc_score(MEMBERSHIP, scores)
    if name in ALL_ROWS | ALL_VALUES:
        assert auc == 1
        assert (n_rows == MEMBERSHIP.sum()) == (name in ALL_ROWS)
    elif name in MANY_ROWS | SOME_VALUES:
        assert (scores[MEMBERSHIP == 0] == 0).all()
        assert auc == pytest.approx(0.5 + (scores > 0).sum() / N)
        assert auc > 0.5
        assert (n_rows > 0) == (name in MANY_ROWS)
    else:
        assert n_rows == 0
        # What an arbitrary number of its precision hits.
        assert places["n_values"].sum() <= places["expected_values"].sum() + 1
        assert attack.predict(records).sum() == 0


@of_each_estimator
def test_every_training_value_in_the_bytes_of_a_file_is_read_and_told(name, kind):
    """No two of the values are alike, and none is there by chance."""
    if name in SLOW:
        pytest.skip("is slow")
    model, _ = fit_generically(name, kind)
    planted = np.append(X[MEMBERSHIP == 1], TARGETS[MEMBERSHIP == 1])
    in_bytes = find_in_bytes(pickle.dumps(model), planted)
    assert find_in_arrays(read_state(model), planted) == in_bytes
    is_told = inspect_model(model).level in ("rows", "values")
    assert is_told == bool(in_bytes) or name in HALFWAY


def test_the_lists_of_estimators_are_up_to_date():
    known = {name for name, _ in all_estimators()}
    assert HALFWAY | ALL_ROWS | MANY_ROWS | ALL_VALUES | SOME_VALUES | UNTOLD | SLOW <= known


def attack_model(model, records, membership=MEMBERSHIP):
    members = records[membership == 1]
    model.fit(members.X, members.y)
    return StoredValuesAttack(FrozenEstimator(model)).fit(records)


RECORDS = Records(X, LABELS)


@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame])
def test_a_row_is_found_whatever_sign_its_zeros_have(kind):
    low, members = X < 5, MEMBERSHIP == 1
    model = KNeighborsClassifier().fit(np.where(low, X, 0.0)[members], LABELS[members])
    candidates = Records(kind(np.where(low, X, -0.0)), LABELS)
    attack = StoredValuesAttack(FrozenEstimator(model)).fit(candidates)
    assert attack.found_["whole_row"].sum() == members.sum()


@pytest.mark.parametrize(
    "model, view",
    [
        (make_pipeline(StandardScaler(), KNeighborsClassifier()), "after standardscaler"),
        (
            make_pipeline(StandardScaler(), PCA(2), KNeighborsClassifier()),
            "after standardscaler, pca",
        ),
        (
            GridSearchCV(
                make_pipeline(StandardScaler(), KNeighborsClassifier()),
                {"kneighborsclassifier__n_neighbors": [3, 5]},
            ),
            "after standardscaler",
        ),
        (
            CalibratedClassifierCV(make_pipeline(StandardScaler(), KNeighborsClassifier()), cv=2),
            "after standardscaler",
        ),
    ],
    ids=["pipeline", "two steps", "search", "calibration"],
)
def test_rows_are_found_after_the_steps_before_them(model, view):
    attack = attack_model(model, RECORDS)
    if "Calibrated" not in type(model).__name__:  # each of its halves has a scaler of its own
        assert attack.score(RECORDS, MEMBERSHIP) == 1
    assert attack.score(RECORDS, MEMBERSHIP) >= 0.99
    assert set(attack.found_["view"]) == {view}
    assert attack.found_["whole_row"].all()


def make_table():
    rng = np.random.default_rng(1)
    table = pd.DataFrame(X, columns=list("abcd"))
    return table.assign(city=rng.permutation([f"city {k}" for k in range(N)]))


def test_text_and_numbers_are_found_by_column():
    records = Records(make_table(), LABELS)
    columns = ColumnTransformer(
        [
            ("numbers", QuantileTransformer(n_quantiles=N // 2), ["a", "b"]),
            ("text", OneHotEncoder(handle_unknown="ignore"), ["city"]),
        ]
    )
    attack = attack_model(make_pipeline(columns, LogisticRegression()), records)
    assert attack.score(records, MEMBERSHIP) == 1
    # Quantiles between two values are rounded, so that a few are missed.
    assert set(attack.found_["columns"]) <= {"a, b, city", "a, city", "b, city", "city"}
    place = attack.found_["place"][attack.found_["columns"] == "a, b, city"].iloc[0]
    assert "transformers_[0].quantiles_" in place
    assert "transformers_[1].categories_[0]" in place
    assert not attack.found_["whole_row"].any()


def test_rows_of_a_float32_model_are_found_by_candidates_in_float64():
    single = KNeighborsClassifier().fit(X[::2].astype(np.float32), LABELS[::2])
    attack = StoredValuesAttack(FrozenEstimator(single)).fit(RECORDS)
    assert attack.score(RECORDS, 1 - MEMBERSHIP) == 1


def test_a_machine_with_a_kernel_of_ones_own_keeps_all_rows():
    records = Records(X, LABELS)
    model = SVC(kernel=lambda one, other: one @ other.T)
    model.fit(X[MEMBERSHIP == 1], LABELS[MEMBERSHIP == 1])
    attack = ReleasedModelAttack(FrozenEstimator(model)).fit(records)
    assert attack.score(records, MEMBERSHIP) == 1
    assert read_state(model).to_frame().set_index("path")["kind"]["_BaseLibSVM__Xfit"] == "rows"


def test_sparse_rows_and_targets_are_found():
    records = Records(sparse.csr_matrix(np.where(X > 1, X, 0)), LABELS)
    assert attack_model(KNeighborsClassifier(), records).score(records, MEMBERSHIP) > 0.9
    records = Records(X, TARGETS)
    attack = attack_model(KNeighborsRegressor(), records)
    assert "_y" in set(attack.places_["place"])


def test_a_whole_row_counts_more_than_any_values():
    """A non-member that has a value of a member in each column is below every member."""
    mixed = np.column_stack([X[1::2, 0], *(np.roll(X[1::2, k], k) for k in range(1, 4))])
    records = Records(np.r_[X[1::2], mixed], np.r_[LABELS[1::2], LABELS[1::2]])
    membership = np.repeat([1, 0], N // 2)
    attack = attack_model(NearestNeighbors(), records, membership)
    scores = attack.score_samples(records)
    assert scores[membership == 0].min() > 0
    assert scores[membership == 1].min() > scores[membership == 0].max()


def test_categories_are_compared_with_their_own_column():
    rng = np.random.default_rng(0)
    table = rng.integers(0, 10**6, size=(N, 2)) * 1.0
    table[:, 1] = table[::-1, 0]  # each value of a non-member is one of a member's other column
    records = Records(table, LABELS)
    attack = attack_model(OneHotEncoder(), records)
    assert attack.score(records, MEMBERSHIP) == 1
    # Both of their values are unknown to their own columns.
    scores = attack.score_samples(records)[MEMBERSHIP == 0]
    np.testing.assert_allclose(scores, -2 * np.log(N + 1))
    assert attack.absent_.index.tolist() == np.flatnonzero(MEMBERSHIP == 0).tolist()


def test_evidence_is_that_of_the_formula():
    column = np.array([0.1234567, 0.1234567, 0.7654321, 0.55555555, 0.9876543])[:, None]
    records = Records(column, np.zeros(5))
    model = OrdinalEncoder().fit(column[[0, 2]])
    scores = StoredValuesAttack(FrozenEstimator(model)).fit(records).score_samples(records)
    # Two candidates share the first value; the third alone has its own.
    np.testing.assert_allclose(scores, [np.log(2), np.log(2), np.log(6), *[-np.log(6)] * 2])


def test_columns_of_integers_are_weak_evidence():
    """Each age is stored, whoever was a member: hits are as many as expected."""
    rng = np.random.default_rng(0)
    records = Records(rng.integers(20, 60, size=(400, 2)), np.zeros(400))
    membership = np.arange(400) % 2
    attack = attack_model(OneHotEncoder(), records, membership)
    assert attack.places_["n_values"].sum() <= attack.places_["expected_values"].sum() * 1.01
    assert attack.predict(records).sum() == 0


def test_rows_of_quantiles_are_not_taken_for_records():
    """Common values of each column, side by side, are a record that somebody has."""
    rng = np.random.default_rng(0)
    records = Records(rng.poisson(0.5, size=(2000, 3)) * 1.0, np.zeros(2000))
    attack = attack_model(QuantileTransformer(n_quantiles=20), records, np.arange(2000) % 2)
    assert attack.places_["n_values"].sum() > 0
    assert not attack.places_["n_rows"].any()


def test_missing_values_are_part_of_a_row():
    gaps = np.where(np.random.default_rng(0).random(X.shape) < 0.2, np.nan, X)
    records = Records(gaps, np.zeros(N))
    attack = attack_model(KNNImputer(), records)
    assert attack.score(records, MEMBERSHIP) == 1


def test_records_that_were_no_candidates_are_found():
    attack = attack_model(KNeighborsClassifier(), RECORDS)
    few = StoredValuesAttack(attack.victim).fit(RECORDS[:20])
    assert few.score(RECORDS[20:], MEMBERSHIP[20:]) == 1


@parametrize_refusals(
    (
        lambda: StoredValuesAttack(
            CallableVictim(lambda rows: np.full((len(rows), 2), 0.5), [0, 1])
        ).fit(RECORDS),
        "CallableVictim, which has none",
        TypeError,
    ),
    (lambda: StoredValuesAttack().fit(RECORDS), "needs the fitted model itself"),
    (lambda: StoredValuesAttack(SVC()).fit(RECORDS), "FrozenEstimator", NotFittedError),
    (
        lambda: StoredValuesAttack(X).fit(RECORDS),
        "estimator with a method fit; got ndarray",
        TypeError,
    ),
    (
        lambda: StoredValuesAttack(FrozenEstimator(PolynomialFeatures().fit(X))).fit(RECORDS),
        "stores no array that can be read",
    ),
)
def test_a_victim_without_a_file_is_refused(call, words, error):
    check_refusal(call, words, error)


def test_other_columns_than_those_of_the_candidates_are_refused():
    rows = np.random.default_rng(0).normal(size=(20, 3))
    model = KNeighborsClassifier().fit(rows, np.arange(20) % 2)
    attack = StoredValuesAttack(FrozenEstimator(model)).fit(Records(rows, np.arange(20) % 2))
    with pytest.raises(ValueError, match="X has 2 features, but .* is expecting 3"):
        attack.score_samples(Records(rows[:, :2], np.arange(20) % 2))
    with pytest.raises(ValueError, match="A column holds text, and numbers in the candidates"):
        attack.score_samples(Records(np.full((20, 3), "a"), np.arange(20) % 2))


def test_sizes_and_numbers_of_versions_are_not_evidence_of_values():
    rng = np.random.default_rng(0)
    X = rng.poisson(3, size=(300, 4)).astype(float)
    X[:, 0] = rng.integers(500, size=300)
    X[7, 1] = 1.0  # one record has the value 1 in a column of 100, 101, ...
    X[np.arange(300) != 7, 1] = rng.integers(100, 200, size=299)
    y = (X[:, 0] + rng.normal(size=300) > 250).astype(int)
    model = GradientBoostingClassifier(n_estimators=5, random_state=0).fit(X[:150], y[:150])
    records = Records(X, y)
    attack = StoredValuesAttack(FrozenEstimator(model)).fit(records)
    assert attack.places_["n_values"].sum() > 0  # the number of classes is 1
    assert attack.score_samples(records).max() < np.log(2)


def make_texts(seed=0, n=160):
    """Texts with common and rare words, of two classes, and who is a member."""
    rng = np.random.default_rng(seed)
    chances = 1 / np.arange(1, 5001)
    words = rng.choice(5000, size=(n, 30), p=chances / chances.sum())
    texts = np.array([" ".join(f"w{word}" for word in row) for row in words], dtype=object)
    return texts, words[:, 0] % 2, rng.permutation(n) < n // 2


@pytest.mark.parametrize("least, auc", [(1, 0.99), (2, 0.9), (np.int64(2), 0.9)])
def test_words_that_are_not_in_a_vocabulary_were_in_no_training_text(least, auc):
    texts, y, member = make_texts()
    model = make_pipeline(CountVectorizer(min_df=least), MultinomialNB())
    model.fit(texts[member], y[member])
    attack = StoredValuesAttack(FrozenEstimator(model)).fit(Records(texts, y))
    scores = attack.score_samples(Records(texts, y))
    found = roc_auc_score(member, scores)
    # A text that comes later has the evidence of the candidate with the same words.
    later = attack.score_samples(Records(texts + np.array([" "], dtype=object), y))
    np.testing.assert_allclose(later, scores, atol=1e-9)
    # By hand: the number of words of a text that are missing.
    analyze, known = model[0].build_analyzer(), set(model[0].vocabulary_)
    absent = np.array([len(set(analyze(text)) - known) for text in texts])
    assert found > max(auc, roc_auc_score(member, -absent) - 0.01)
    # Words of a single training text, which may be that of a member, are missing with min_df=2.
    known = absent[absent > 0] if least == 1 else []
    np.testing.assert_array_equal(attack.absent_.to_numpy(), known)
    assert not member[attack.absent_.index].any()
    assert attack.places_["place"].tolist() == ["steps[0].vocabulary_"]
    assert attack.found_["view"].eq("words").all()
    assert attack.found_["columns"].str.split(", ").str.len().max() == 5  # words that tell most
    if least == 1:
        assert set(attack.found_.index) >= set(np.flatnonzero(member))
        assert attack.places_["n_values"].item() > attack.places_["expected_values"].item()


def test_a_vocabulary_of_other_texts_tells_nothing():
    texts, y, member = make_texts()
    others, labels, _ = make_texts(1)
    model = make_pipeline(CountVectorizer(), MultinomialNB()).fit(others, labels)
    scores = StoredValuesAttack(FrozenEstimator(model)).fit(Records(texts, y))
    scores = scores.score_samples(Records(texts, y))
    assert abs(roc_auc_score(member, scores) - 0.5) < 3 * np.sqrt(161 / (12 * 80 * 80))


def test_a_text_that_two_lists_have_is_found_once():
    texts = np.array(["one two", "one three", "four five", "six seven"], dtype=object)
    both = make_union(CountVectorizer(), CountVectorizer(ngram_range=(1, 2)))
    model = make_pipeline(both, MultinomialNB()).fit(texts[:2], [0, 1])
    attack = StoredValuesAttack(FrozenEstimator(model)).fit(Records(texts, [0, 1, 0, 1]))
    assert attack.found_.index.tolist() == [0, 1]


@pytest.mark.parametrize("settings", [{"max_features": 50}, {"vocabulary": ["w1", "w2"]}])
def test_a_list_that_leaves_words_out_is_no_evidence(settings):
    texts, y, member = make_texts()
    model = make_pipeline(CountVectorizer(**settings), MultinomialNB())
    model.fit(texts[member], y[member])
    attack = StoredValuesAttack(FrozenEstimator(model)).fit(Records(texts, y))
    assert np.ptp(attack.score_samples(Records(texts, y))) == 0


def test_an_encoder_of_targets_lists_the_categories_of_the_training_rows():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"city": rng.integers(200, size=N).astype(str), "x": X[:, 0]})
    member = MEMBERSHIP == 1
    model = make_pipeline(
        ColumnTransformer([("a", TargetEncoder(cv=2), ["city"])]), LogisticRegression()
    )
    model.fit(frame[member], LABELS[member])
    records = Records(frame, LABELS)
    attack = StoredValuesAttack(FrozenEstimator(model)).fit(records)
    unknown = ~frame["city"].isin(frame["city"][member])
    often = frame["city"].map(frame["city"].value_counts())
    by_hand = roc_auc_score(member, np.where(unknown, -1, 1 / often))
    assert roc_auc_score(member, attack.score_samples(records)) > max(by_hand - 0.01, 0.8)
    # The encodings of all records are numbers of the encoder: they are not searched for in it.
    assert not attack.places_["place"].str.contains("encodings_").any()
    # Training rows were encoded by folds, so their columns are not known.
    whole = ReleasedModelAttack(FrozenEstimator(model)).fit(records)
    assert "encodes training rows by folds" in whole.left_out_["conditions at the optimum"]


def test_scores_before_a_calibration_are_found_in_its_knots():
    X, y = np.random.default_rng(0).normal(size=(400, 5)), np.arange(400) % 2
    y = np.where(X[:, 0] > 0, y, 0)
    member = np.random.default_rng(1).permutation(400) < 200
    model = CalibratedClassifierCV(LogisticRegression(), method="isotonic", cv=3)
    model.fit(X[member], y[member])
    attack = StoredValuesAttack(FrozenEstimator(model)).fit(Records(X, y))
    found = attack.found_[attack.found_["view"].str.startswith("scores of ")]
    assert member[found.index].all()
    assert 10 < len(found) < 100
    knots = sum(len(one.calibrators[0].X_thresholds_) for one in model.calibrated_classifiers_)
    assert len(found) <= knots
    assert found["place"].str.contains("X_thresholds_").any()
    fresh = np.random.default_rng(2).normal(size=(400, 5))
    other = StoredValuesAttack(FrozenEstimator(model)).fit(Records(fresh, y))
    assert other.found_.empty


def test_targets_are_found_as_they_were_transformed():
    y = np.exp(np.random.default_rng(0).normal(size=N))
    member = MEMBERSHIP == 1
    model = TransformedTargetRegressor(
        KNeighborsRegressor(weights="distance"), func=np.log, inverse_func=np.exp
    )
    model.fit(np.zeros((N, 2))[member], y[member])
    attack = StoredValuesAttack(FrozenEstimator(model)).fit(Records(np.zeros((N, 2)), y))
    assert attack.found_["view"].eq("raw, transformed target").all()
    assert set(attack.found_.index) == set(np.flatnonzero(member))


def test_the_score_of_a_record_does_not_depend_on_the_others_that_are_scored():
    """Rows are rarer among the candidates than among few records that are all stored."""
    rows = np.round(np.concatenate([X, X[:60], X[:30]]), 1)
    model = KNeighborsClassifier().fit(rows[::2], (rows[::2, 0] > 1.5).astype(int))
    records = Records(rows, (rows[:, 0] > 1.5).astype(int))
    attack = StoredValuesAttack(model).fit(records)
    together = attack.score_samples(records)
    np.testing.assert_allclose(attack.score_samples(records[::2]), together[::2])
    alone = [attack.score_samples(records[[k]]).item() for k in range(0, 80, 3)]
    np.testing.assert_allclose(alone, together[:80:3])
