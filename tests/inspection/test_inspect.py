"""What an inspection of a model file says is true of the model."""

import json
import pickle
import re

import numpy as np
import pandas as pd
import pytest
from refusals import check_refusal, parametrize_refusals
from sklearn.base import is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import DBSCAN, AgglomerativeClustering, FeatureAgglomeration, KMeans
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomTreesEmbedding,
    VotingClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.feature_selection import RFE, SelectKBest
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import (
    HuberRegressor,
    LogisticRegression,
    QuantileRegressor,
    Ridge,
    RidgeCV,
    SGDClassifier,
)
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier, OutputCodeClassifier
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.neighbors import KernelDensity, KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    LabelBinarizer,
    LabelEncoder,
    MinMaxScaler,
    MultiLabelBinarizer,
    OneHotEncoder,
    QuantileTransformer,
    StandardScaler,
)
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skmia import Records
from skmia.attacks import (
    ReleasedModelAttack,
    SplitThresholdAttack,
    StationarityAttack,
    StoredValuesAttack,
)
from skmia.defenses import strip_state
from skmia.inspection import inspect_model
from skmia.victims import CallableVictim

N = 120
RNG = np.random.default_rng(0)
X = RNG.gamma(2, size=(2 * N, 4))
LABELS = (X[:, 0] > 1.5).astype(int)
TARGETS = X[:, 0] + RNG.gamma(2, size=2 * N)
MEMBERS = slice(0, N)

# Level, and the number of training rows that is stated.
TOLD = {
    "neighbors": (KNeighborsClassifier(), "rows", N),
    "density": (KernelDensity(), "rows", N),
    "imputer of neighbors": (KNNImputer(), "rows", N),
    "process": (GaussianProcessRegressor(), "rows", N),
    "support vectors": (SVC(), "rows", N),
    "components": (Nystroem(n_components=20), "rows", None),
    "core samples": (DBSCAN(eps=1.0), "rows", N),
    "no core samples": (DBSCAN(eps=1e-6), "per-record", N),
    "search": (GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [3]}, cv=2), "rows", N),
    "categories": (OneHotEncoder(), "values", None),
    "quantiles": (QuantileTransformer(n_quantiles=20), "values", None),
    "extremes": (MinMaxScaler(), "values", N),
    "medians": (SimpleImputer(strategy="median"), "values", None),
    "edges": (HistGradientBoostingClassifier(max_iter=3), "values", N),
    "targets": (DecisionTreeRegressor(), "values", N),
    "targets of forests": (RandomForestRegressor(3), "values", N),
    "labels": (AgglomerativeClustering(), "per-record", N),
    "labels of means": (KMeans(2, n_init=1), "per-record", N),
    "outliers": (HuberRegressor(), "per-record", None),
    "errors of each record": (RidgeCV(store_cv_results=True), "per-record", None),
    "constant": (QuantileRegressor(), "values", None),
    "quantiles by weights": (QuantileRegressor(alpha=0), "summaries", None),
    "tree": (DecisionTreeClassifier(), "counts", N),
    "large leaves": (DecisionTreeRegressor(min_samples_leaf=5), "counts", N),
    "forest": (RandomForestClassifier(3), "counts", N),
    "extra trees": (ExtraTreesClassifier(3), "counts", N),
    "residuals": (GradientBoostingRegressor(n_estimators=3), "counts", N),
    "isolation": (IsolationForest(n_estimators=3), "counts", N),
    "random targets": (RandomTreesEmbedding(3), "counts", N),
    "calibration": (CalibratedClassifierCV(DecisionTreeClassifier(), cv=2), "counts", N // 2),
    "naive Bayes of counts": (BernoulliNB(), "counts", N),
    "naive Bayes": (GaussianNB(), "summaries", N),
    "logistic": (LogisticRegression(), "summaries", None),
    "stochastic gradients": (SGDClassifier(), "summaries", N),
    "perceptron": (MLPClassifier((3,), max_iter=2), "summaries", N),
    "components of variance": (PCA(), "summaries", N),
    "selection": (RFE(LinearSVC()), "summaries", None),
    "clusters of features": (FeatureAgglomeration(), None, None),
    "random directions": (RBFSampler(), None, None),
    "function": (FunctionTransformer(), None, None),
}


def fit(model):
    y = TARGETS if is_regressor(model) else LABELS
    return model.fit(X[MEMBERS], y[MEMBERS])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", TOLD)
def test_it_says_how_much_is_stored_and_of_how_many_rows(name):
    model, level, n_rows = TOLD[name]
    inspection = inspect_model(fit(model))
    assert (inspection.level, inspection.n_rows) == (level, n_rows)
    assert inspection.unread == ()
    assert level in ("None", *(one.level for one in inspection.findings), None)


WEIGHTED = {"sample_weight": np.full(N, 3.0)}


def fit_twice(model):
    for _ in range(2):
        if isinstance(model, StandardScaler):
            model.partial_fit(X[MEMBERS])
        else:
            model.partial_fit(X[MEMBERS], LABELS[MEMBERS], classes=[0, 1])
    return model


# Numbers in which a row counts as often as its weight or as it was given, and others.
@pytest.mark.parametrize(
    "model, n_rows, may_repeat",
    [
        (GaussianNB().fit(X[MEMBERS], LABELS[MEMBERS], **WEIGHTED), 3 * N, True),
        (BernoulliNB().fit(X[MEMBERS], LABELS[MEMBERS], **WEIGHTED), 3 * N, True),
        (StandardScaler().fit(X[MEMBERS], **WEIGHTED), 3 * N, True),
        (fit_twice(GaussianNB()), 2 * N, True),
        (fit_twice(StandardScaler()), 2 * N, True),
        (fit_twice(SGDClassifier()), 2 * N, True),
        (fit_twice(MLPClassifier((3,))), N, False),
        (DecisionTreeClassifier().fit(X[MEMBERS], LABELS[MEMBERS], **WEIGHTED), N, False),
        (BaggingClassifier(KNeighborsClassifier(), 3).fit(X[MEMBERS], LABELS[MEMBERS]), N, False),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "fit") else None,
)
def test_sums_of_weights_are_not_called_a_number_of_rows(model, n_rows, may_repeat):
    inspection = inspect_model(model)
    assert (inspection.n_rows, inspection.n_rows_may_repeat) == (n_rows, may_repeat)
    text = " ".join(str(inspection).split())
    stated = f"at least {n_rows} training rows, as the file states"
    assert stated in text
    assert ("if none was weighted or repeated" in text) == may_repeat
    # Neither may the sentence on its structure.
    assert not (may_repeat and f"{n_rows} training rows." in text)


def test_parts_of_no_interest_are_not_accused():
    selector = fit(SelectKBest(k=2))
    assert inspect_model(selector).findings == ()
    # A code that has one class for all records.
    codes = fit(OutputCodeClassifier(LogisticRegression(), random_state=0))
    assert {one.level for one in inspect_model(codes).findings} <= {"summaries"}


WORDS = [f"word{k}" for k in range(20)]


@pytest.mark.parametrize(
    "model, data",
    [
        (CountVectorizer(), WORDS),
        (TfidfVectorizer(), WORDS),
        (DictVectorizer(), [{word: 1} for word in WORDS]),
        (LabelBinarizer(), WORDS),
        (LabelEncoder(), WORDS),
        (MultiLabelBinarizer(), [[word] for word in WORDS]),
    ],
    ids=lambda one: type(one).__name__,
)
def test_words_in_the_bytes_of_a_file_are_read_and_told(model, data):
    inspection = inspect_model(model.fit(data))
    stored = pickle.dumps(model)  # arrays of text are in UTF-32
    assert all(word.encode() in stored or word.encode("utf-32-le") in stored for word in WORDS)
    assert inspection.level == "values"
    assert [one.level for one in inspection.findings] == ["values"]


def test_names_of_classes_are_not_taken_for_values():
    model = OneVsRestClassifier(LogisticRegression()).fit(X[MEMBERS], LABELS[MEMBERS].astype(str))
    assert inspect_model(model).level == "summaries"


def test_attacks_are_those_that_read_the_part():
    model = make_pipeline(StandardScaler(), VotingClassifier([("svm", SVC()), ("l", LinearSVC())]))
    told = {one.estimator: one.attacks for one in inspect_model(fit(model)).findings}
    assert told == {
        "SVC": ("StationarityAttack", "StoredValuesAttack"),
        "LinearSVC": ("StationarityAttack",),
        "StandardScaler": ("MomentsAttack",),
    }
    (boosting,) = inspect_model(fit(HistGradientBoostingClassifier(max_iter=2))).findings
    assert boosting.attacks == ("NodeEquationsAttack", "SplitThresholdAttack")
    (forest,) = inspect_model(fit(RandomForestClassifier(2))).findings
    assert forest.attacks == ("NodeEquationsAttack", "SplitThresholdAttack")
    (extra,) = inspect_model(fit(ExtraTreesClassifier(2))).findings
    assert extra.attacks == ("NodeEquationsAttack",)
    (logistic,) = inspect_model(fit(LogisticRegression())).findings
    assert logistic.attacks == ("StationarityAttack", "WhiteBoxAttack")


def test_an_ensemble_is_one_place_and_a_step_another():
    inner = BaggingClassifier(SVC(), n_estimators=4)
    inspection = inspect_model(fit(make_pipeline(StandardScaler(), StandardScaler(), inner)))
    places = inspection.to_frame().set_index("path")
    assert places.loc["steps[2].estimators_[*].support_vectors_", "n_arrays"] == 4
    assert places.loc["steps[0].mean_", "shape"] == (4,)
    told = [(one.path, one.estimator, one.n_estimators) for one in inspection.findings]
    assert told[0] == ("steps[2].estimators_[*]", "SVC", 4)
    assert {one[0] for one in told[1:]} == {"steps[0]", "steps[1]", "steps[2]"}


def test_unfitted_parameters_are_not_described():
    table = pd.DataFrame({"age": range(20)})
    inner = RandomForestClassifier(2, random_state=0)  # whose seed is an array of the state
    model = make_pipeline(StandardScaler(), BaggingClassifier(inner, n_estimators=2))
    model.fit(table[["age"]], table["age"] > 9)
    told = {one.path for one in inspect_model(model).findings}
    assert told == {"steps[0]", "steps[1]", "steps[1].estimators_[*]"}


def test_values_that_were_given_are_not_taken_for_training_data():
    table = pd.DataFrame({"city": ["a", "b"] * 10})
    given = OneHotEncoder(categories=[["a", "b", "c"]]).fit(table)
    words = CountVectorizer(vocabulary=["ann"]).fit(["ann", "bob"])
    computed = inspect_model(SimpleImputer(strategy=np.max).fit(X))  # not given, but learned
    assert computed.level == "values" and "Of a function it depends" in computed.summary()
    constant = SimpleImputer(strategy="constant", fill_value=0).fit(X)
    assert {inspect_model(one).level for one in (given, words, constant)} == {None}
    assert inspect_model(SimpleImputer(strategy="mean").fit(X)).level == "summaries"
    assert inspect_model(OneHotEncoder().fit(table)).level == "values"


RECORDS = Records(X, LABELS)


def test_candidates_whose_rows_are_stored_are_counted():
    found = inspect_model(fit(KNeighborsClassifier()), RECORDS).candidates
    assert (found.n_candidates, found.n_rows, found.n_values) == (2 * N, N, 0)
    assert found.equations is None


def test_equations_are_told_with_their_strength():
    found = inspect_model(fit(ExtraTreesClassifier(20, random_state=0)), RECORDS).candidates
    assert found.equations["n_rows"] == N
    assert found.equations["expected_auc"] > 0.9
    assert found.thresholds is None
    assert found.n_rows == 0
    found = inspect_model(fit(RandomForestClassifier(5, random_state=0)), RECORDS).candidates
    assert found.thresholds["explained"] == 1
    assert found.thresholds["expected_auc"] > 0.5


def test_the_strength_of_the_optimum_is_told():
    inspection = inspect_model(fit(LogisticRegression(tol=1e-8)), RECORDS)
    found = inspection.candidates.optimum
    assert (found["n_equations"], 0.5 < found["expected_auc"] < 0.7) == (6, True)
    assert "expected AUC" in " ".join(inspection.summary().split())


def test_the_columns_of_candidates_are_known_by_their_names():
    table = pd.DataFrame(X, columns=[f"c{k}" for k in range(X.shape[1])])
    model = KNeighborsClassifier().fit(table[:N], LABELS[:N])
    mixed = table[table.columns[::-1]]
    assert inspect_model(model, Records(mixed, LABELS)).candidates.n_rows == N
    with pytest.raises(ValueError, match="X lacks 'c0' and the model was fitted without 'a'"):
        inspect_model(model, Records(mixed.rename(columns={"c0": "a"}), LABELS))


def test_candidates_that_a_model_does_not_know_have_no_strength():
    rng = np.random.default_rng(0)
    features, weights = rng.normal(size=(600, 60)), rng.normal(size=60) / 8
    y = features @ weights + rng.normal(size=600)
    victim = Ridge().fit(features[400:], y[400:])
    inspection = inspect_model(victim, Records(features[:400], y[:400]))
    assert inspection.candidates.optimum is None
    assert "StationarityAttack: how much it tells" in " ".join(inspection.candidates.notes)
    assert "expected AUC" not in " ".join(inspection.summary().split())


def test_why_the_equations_were_not_solved_is_told():
    model = fit(GradientBoostingClassifier(n_estimators=2, loss="exponential"))
    assert "loss='exponential'" in inspect_model(model, RECORDS).candidates.notes[0]
    plain = fit(DecisionTreeClassifier())
    assert "needs the labels" in inspect_model(plain, Records(X)).candidates.notes[0]


def test_warnings_of_the_attacks_are_notes():
    model = fit(HistGradientBoostingClassifier(min_samples_leaf=2))
    notes = inspect_model(model, RECORDS[N // 2 :]).candidates.notes
    assert any("contradict each other" in note for note in notes)


def test_an_attack_without_memory_is_a_note(monkeypatch):
    def hold_too_much(attack, records, membership):
        raise MemoryError("Unable to allocate 9.00 GiB for an array with shape (3,)")

    monkeypatch.setattr(SplitThresholdAttack, "_fit", hold_too_much)
    found = inspect_model(fit(DecisionTreeClassifier()), RECORDS).candidates
    said = "memory did not suffice: 9.7 GB could not be had at once."
    assert f"SplitThresholdAttack was not run: {said}" in found.notes
    assert found.thresholds is None and found.equations is not None
    monkeypatch.setattr(SplitThresholdAttack, "_fit", lambda *given: [].pop())
    with pytest.raises(IndexError):
        inspect_model(fit(DecisionTreeClassifier()), RECORDS)


@pytest.mark.parametrize("columns", [[0, 1, 2], [0, 1, 2, 3, 0]])
@pytest.mark.parametrize(
    "model",
    [
        KNeighborsClassifier(),
        DecisionTreeClassifier(),
        LogisticRegression(),
        make_pipeline(StandardScaler(), SVC()),
    ],
)
def test_candidates_with_another_number_of_features_are_refused(model, columns):
    victim = FrozenEstimator(fit(model))
    records, kind = Records(X[:, columns], LABELS), type(model).__name__
    said = f"X has {len(columns)} features, but {kind} was fitted with 4 features"
    with pytest.raises(ValueError, match=said):
        inspect_model(victim, records)
    for attack in (StoredValuesAttack(victim), ReleasedModelAttack(victim)):
        with pytest.raises(ValueError, match=said):
            attack.fit(records)


def test_a_further_column_is_not_counted_if_a_model_takes_columns_by_their_names():
    table = pd.DataFrame(X, columns=[*"abcd"])
    columns = make_column_transformer((StandardScaler(), ["a", "b"]), (MinMaxScaler(), ["d"]))
    model = make_pipeline(columns, KNeighborsClassifier()).fit(table[MEMBERS], LABELS[MEMBERS])
    found = inspect_model(model, Records(table.assign(e=1.0), LABELS)).candidates
    assert found.n_rows == N


def test_transformers_take_records_without_labels_and_regressors_do_not():
    assert inspect_model(fit(KNNImputer()), Records(X)).candidates.n_rows == N
    with pytest.raises(ValueError, match="pass their y"):
        inspect_model(fit(DecisionTreeRegressor()), Records(X))


def test_targets_of_a_regressor_are_found():
    found = inspect_model(fit(DecisionTreeRegressor()), Records(X, TARGETS)).candidates
    assert found.n_values == N


@parametrize_refusals(
    (lambda: inspect_model(SVC()), "must be fitted; this SVC is not", NotFittedError),
    (lambda: inspect_model([1, 2]), "must be a fitted estimator; got list", TypeError),
    (
        lambda: inspect_model(CallableVictim(lambda X: X, [0, 1])),
        "CallableVictim has none",
        TypeError,
    ),
)
def test_what_has_no_file_is_refused(call, words, error):
    check_refusal(call, words, error)


def test_the_document_is_plain_and_says_what_the_frame_says():
    inspection = inspect_model(FrozenEstimator(fit(SVC())), RECORDS)
    document = json.loads(json.dumps(inspection.to_dict(), default=lambda one: one.item()))
    assert document["model"] == "SVC"
    assert [one["path"] for one in document["stored"]] == inspection.to_frame()["path"].tolist()
    assert document["candidates"]["n_rows"] == inspection.candidates.n_rows


def test_the_summary_says_it_in_words():
    model = make_pipeline(MinMaxScaler(), RandomForestClassifier(3, random_state=0))
    inspection = inspect_model(fit(model), RECORDS)
    text = str(inspection)
    assert text == inspection.summary()
    lines = text.split("\n")
    answer = "REVEALS LITTLE ABOUT ITS TRAINING ROWS, EXPECTED: SLIGHT"
    assert re.match(rf"  [^ ]{{3}}  {answer}   only read$", lines[0])
    assert max(map(len, lines)) <= 80
    assert f"Pipeline(MinMaxScaler, RandomForestClassifier) · at least {N} training" in text
    order = ["What the file holds", "Among the candidates", "What would change it", "Next    1  "]
    places = [text.index(f"\n  {title}") for title in order]
    assert places == sorted(places)
    assert re.search(r"expected\s+AUC\s+0\.\d{3}", text)
    details = inspection.summary(verbose=True)
    assert re.search(r"\nsteps\[1\]: RandomForestClassifier: counts\n", details)
    assert "weighted_n_node_samples" in details and "weighted_n_node_samples" not in text
    assert " of them)" not in details


def test_the_summary_counts_estimators_that_are_stored_more_than_once():
    model = OneVsRestClassifier(KNeighborsClassifier()).fit(X, np.arange(len(X)) % 3)
    text = inspect_model(model).summary(verbose=True)
    assert "\nestimators_[*]: KNeighborsClassifier (3 of them): rows\n" in text


class Foreign:
    """An estimator of another package, with a name that forges a line."""

    def fit(self, X, y=None):
        self.rows_ = X
        self.__dict__["X_\nNo leakage\x1b[2J"] = X[:3] + 1
        return self


def test_names_of_others_stay_on_their_line():
    inspection = inspect_model(Foreign().fit(X))
    assert "other" in inspection.to_frame()["kind"].to_list()
    assert "\nNo leakage" not in str(inspection)
    assert "\x1b" not in str(inspection)


def test_a_stripped_model_is_inspected_with_candidates():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    y = (X[:, 0] > 0).astype(int)
    model = HistGradientBoostingClassifier(max_iter=5).fit(X[::2], y[::2])
    with pytest.warns(UserWarning, match="leaf values"):
        model = strip_state(model)
    inspection = inspect_model(model, Records(X, y))
    assert inspection.candidates.equations["n_rows"] is None
    assert "if all training rows are among the candidates" in " ".join(str(inspection).split())


def test_candidates_of_constant_columns_are_looked_for():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(24, 3)), np.arange(24) % 2
    model = Ridge().fit(X, y)
    assert inspect_model(model, Records(np.zeros((24, 3)), y)).candidates is not None
    attack = StationarityAttack(FrozenEstimator(model)).fit(Records(np.zeros((24, 3)), y))
    assert np.isfinite(attack.score_samples(Records(X, y))).all()


def test_weights_that_bags_store_are_one_number_for_each_row():
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 2
    model = BaggingClassifier(random_state=0).fit(X, y, sample_weight=np.arange(1.0, 61))
    if getattr(model, "_sample_weight", None) is None:
        pytest.skip("this version of scikit-learn does not store them")
    assert inspect_model(model).level == "per-record"
    assert inspect_model(model.fit(X, y)).level == "counts"
