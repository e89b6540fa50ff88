"""Whether a model knows the table that it is audited on."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from skmia import Outputs, Records, audit
from skmia.attacks import ThresholdAttack
from skmia.cli._gate import judge, list_findings
from skmia.report import recommend_release
from skmia.report._document import check_document
from skmia.report.agreement import check_agreement
from skmia.victims import CallableVictim

FOREST = RandomForestClassifier(15, random_state=0)
TREE = DecisionTreeClassifier(min_samples_leaf=5, random_state=0)
LINE = make_pipeline(StandardScaler(), LogisticRegression())
N = 600
MEMBERS = np.arange(N) < N // 2


def make_table(n_classes=2, seed=0):
    """Columns in units of their own, and classes or a target that follow from them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 5))
    score = X @ [1.5, -1.0, 0.8, 0.5, 0.0] + 0.5 * rng.logistic(size=N)
    cuts = np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1])
    units, centers = np.array([12.0, 0.1, 4.0, 300.0, 1.0]), np.array([50.0, 1.0, 20.0, 5000.0, 0])
    return centers + X * units, np.digitize(score, cuts), score


def fit(model, X, y, **settings):
    return clone(model).fit(X[MEMBERS], y[MEMBERS], **settings)


def ask(victim, X, y, outputs=None, members=MEMBERS, **fields):
    if outputs is not None:
        fields["outputs"] = outputs
    return check_agreement(victim, Records(X, y, **fields), members, random_state=0)


def answer(model, X):
    if hasattr(model, "predict_proba"):
        return Outputs(model.predict_proba(X), model.classes_)
    return Outputs(model.predict(X), kind="value")


# -- sound audits


class NoisyWeights(ClassifierMixin, BaseEstimator):
    """A logistic regression with noise in its weights, as after private training."""

    def fit(self, X, y):
        rng = np.random.default_rng(0)
        self.model_ = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
        self.classes_ = self.model_.classes_
        self.model_[-1].coef_ += 0.5 * rng.normal(size=self.model_[-1].coef_.shape)
        return self

    def predict_proba(self, X):
        return self.model_.predict_proba(X)

    def predict(self, X):
        return self.model_.predict(X)


SOUND = {
    "forest": FOREST,
    "boosting": HistGradientBoostingClassifier(max_iter=10),
    "behind a scaler": make_pipeline(StandardScaler(), KNeighborsClassifier()),
    "machine": make_pipeline(StandardScaler(), SVC()),
    "regularized": DecisionTreeClassifier(max_depth=1),
    "leaves too large for clones": DecisionTreeClassifier(min_samples_leaf=100),
    "calibrated": CalibratedClassifierCV(DecisionTreeClassifier(max_depth=4), cv=3),
    "private": NoisyWeights(),
}


@pytest.mark.parametrize("n_classes", [2, pytest.param(4, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", SOUND)
def test_models_on_their_own_table_are_not_stopped(name, n_classes):
    X, y, _ = make_table(n_classes)
    found = ask(fit(SOUND[name], X, y), X, y)
    assert found.status in ("pass", "cannot tell"), found.text
    if name == "forest":
        assert found.text.startswith("The model is right on ")
        assert (
            " of the rows it was trained on; a clone that has not seen these rows on " in found.text
        )
        assert found.n_models == 1 and found.cause is None


CHANGED = {
    "labels alone": lambda outputs: outputs.as_labels(),
    "rounded": lambda outputs: Outputs(outputs.values.round(1), outputs.classes),
    "sharpened": lambda outputs: Outputs((outputs.values > 0.5).astype(float), outputs.classes),
}


@pytest.mark.parametrize("name", CHANGED)
@pytest.mark.parametrize("victim", [FOREST, None], ids=["recipe known", "unknown"])
def test_defended_answers_are_not_stopped(name, victim):
    X, y, _ = make_table()
    outputs = CHANGED[name](answer(fit(FOREST, X, y), X))
    found = ask(victim, X, y, outputs)
    assert found.status == "pass" and found.n_models == (2 if victim is None else 1)


def test_models_of_more_rows_of_noisy_labels_and_of_people_are_not_stopped():
    X, y, _ = make_table()
    more = clone(FOREST).fit(
        *(np.concatenate([part, some]) for part, some in zip((X, y), make_more()))
    )
    assert ask(more, X, y).status == "pass"
    noisy = np.where(np.random.default_rng(1).random(N) < 0.3, 1 - y, y)
    assert ask(fit(FOREST, X, noisy), X, noisy).status == "pass"
    people, first = np.arange(N) // 6, np.arange(N) // 6 * 6
    assert ask(fit(FOREST, X[first], y[first]), X[first], y[first], group_by=people).status in (
        "pass",
        "cannot tell",
    )
    rare = (make_table()[2] > np.quantile(make_table()[2], 0.98)).astype(int)
    assert ask(fit(FOREST, X, rare), X, rare).status in ("pass", "cannot tell")


def make_more():
    X, y, _ = make_table(seed=9)
    return X, y


def test_rare_categories_in_a_sparse_matrix_are_not_out_of_range():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({name: rng.choice(list("abcdefghijkl"), N) for name in "pqr"})
    y = (table.p < "g").to_numpy() ^ (rng.random(N) < 0.2)
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), FOREST)
    assert ask(fit(model, table, y), table, y).status == "pass"


def test_a_column_in_which_a_model_is_out_of_range_only_warns_if_the_model_knows_its_rows():
    X, y, _ = make_table()
    wide = np.column_stack([X, np.where(np.arange(N) == 0, 1e6, 1e-6 * X[:, 0])])
    model = make_pipeline(StandardScaler(), DecisionTreeClassifier(random_state=0))
    victim = fit(model, wide, y)
    victim[0].mean_[5] = -1e9  # of a column that the tree does not split
    victim[0].var_[5] = 1.0
    found = ask(victim, wide, y)
    assert (found.status, found.cause, found.cure) == ("warn", "own numbers", "")


def test_others_of_another_population_are_not_a_reason():
    X, y, _ = make_table()
    moved = X + 3 * X.std(axis=0) * ~MEMBERS[:, None]
    assert ask(fit(FOREST, X, y), moved, y).status == "pass"


def test_regressors_on_their_own_table_are_not_stopped():
    X, _, target = make_table()
    for model in (RandomForestRegressor(15), make_pipeline(StandardScaler(), Ridge())):
        found = ask(fit(model, X, target), X, target)
        assert found.status == "pass" and found.text.startswith(
            "The mean absolute error of the model"
        )


# -- what does not belong together


def reverse_sides(order):
    return np.concatenate([order[: N // 2][::-1], order[N // 2 :][::-1]])


ORDERS = {
    "shuffled": lambda order, rng: rng.permutation(order),
    "members shuffled": lambda order, rng: np.r_[rng.permutation(N // 2), order[N // 2 :]],
    "shuffled within each side": lambda order, rng: np.r_[
        rng.permutation(N // 2), N // 2 + rng.permutation(N // 2)
    ],
    "moved by a row": lambda order, rng: np.roll(order, 1),
    "reversed": lambda order, rng: order[::-1],
    "reversed within each side": lambda order, rng: reverse_sides(order),
}


# Without the recipe each order of one kind of answers, and one order of the others.
KNOWN = [(name, kind, FOREST) for name in ORDERS for kind in ("probabilities", "labels", "values")]
UNKNOWN = [(name, "probabilities", None) for name in ORDERS]
UNKNOWN += [("members shuffled", "labels", None), ("moved by a row", "values", None)]
# In each run each order once, each kind of answers once, and without the recipe each kind once.
IN_EACH_RUN = {*KNOWN[::7], *UNKNOWN[4:5], *UNKNOWN[-2:]}
ANSWERS = [
    pytest.param(*case, marks=[] if case in IN_EACH_RUN else pytest.mark.slow)
    for case in KNOWN + UNKNOWN
]


@pytest.mark.parametrize("name, kind, victim", ANSWERS)
def test_answers_in_another_order_stop_an_audit(name, kind, victim):
    X, y, target = make_table()
    model = FOREST
    if kind == "values":
        model, y = RandomForestRegressor(6, random_state=0), target
    order = ORDERS[name](np.arange(N), np.random.default_rng(3))
    outputs = answer(fit(model, X, y), X)[order]
    outputs = outputs.as_labels() if kind == "labels" else outputs
    found = ask(None if victim is None else model, X, y, outputs)
    assert found.status == "stop", found.text
    if "moved" in name or "reversed" in name:
        assert found.cause == "repairs"
        assert "the answers are not in the order of the rows. Give the answers in" in found.text
    elif "within" not in name:
        assert found.cause == "rows"
        assert (
            "another table. Give the answers for these rows, in the order of the rows."
            in found.text
        )


def test_sorted_answers_and_answers_of_another_file_stop_an_audit():
    X, y, _ = make_table()
    outputs = answer(fit(FOREST, X, y), X)
    other = answer(fit(FOREST, X, y), make_table(seed=5)[0])
    for wrong in (outputs[np.argsort(outputs.values[:, 1])], other):
        found = ask(FOREST, X, y, wrong)
        assert (found.status, found.cause) == ("stop", "rows")


SCALED = [
    (model, columns)
    for columns in (slice(None), slice(0, 3))
    for model in (FOREST, LogisticRegression(), KNeighborsClassifier(), SVC())
]


# In each run trees and a line of all columns, and a machine of some.
@pytest.mark.parametrize(
    "model, columns",
    [
        pytest.param(*case, marks=[] if k in (0, 1, 7) else pytest.mark.slow)
        for k, case in enumerate(SCALED)
    ],
)
def test_a_forgotten_scaler_is_named(model, columns):
    X, y, _ = make_table()
    scaled = StandardScaler().fit(X[MEMBERS]).transform(X)
    seen = X.copy()
    seen[:, columns] = scaled[:, columns]
    if columns != slice(None):
        seen[:, 3] = scaled[:, 3]
    victim = fit(model, seen, y)
    found = ask(victim, X, y)
    assert found.status == "stop", found.text
    if found.cause == "own numbers":
        assert "In column number 1, the " in found.text
    if columns == slice(None):
        assert "With the columns standardized, the model is right on" in found.text
        assert found.text.endswith(
            "it was trained behind a scaler. Give the pipeline, or the scaled table."
        )
    # Of a function nothing but the answers is known.
    if hasattr(victim, "predict_proba") and columns == slice(None):
        found = ask(CallableVictim(victim.predict_proba, [0, 1]), X, y)
        assert (found.status, found.cause) == ("stop", "repairs")


def test_columns_in_reverse_order_are_named():
    X, y, _ = make_table()
    X = (X - X.mean(axis=0)) / X.std(axis=0)  # in one unit
    found = ask(fit(FOREST, X, y), X[:, ::-1], y)
    assert found.cause == "repairs" and found.cure == "Give the columns in the order of training."


def test_one_column_in_another_unit_is_named_by_a_scaler_and_by_trees():
    X, y, _ = make_table()
    table = pd.DataFrame(X, columns=list("abcde"))
    for model in (make_pipeline(StandardScaler(), SVC()), FOREST):
        victim = fit(model, table, y)
        found = ask(victim, table.assign(c=100 * table["c"]), y)
        assert (found.status, found.cause) == ("stop", "own numbers")
        assert "column 'c'" in found.text and "number" not in found.text


@pytest.mark.parametrize("n_classes", [pytest.param(2, marks=pytest.mark.slow), 4])
def test_labels_that_are_coded_otherwise_are_named(n_classes):
    X, y, _ = make_table(n_classes)
    found = ask(fit(FOREST, X, y), X, (y + 1) % n_classes)
    assert found.cause == "labels"
    assert "Of the members with label 0, " in found.text and "% are predicted as " in found.text
    assert found.cure.startswith("Check the coding of the labels (--label-map ")


def test_targets_in_other_units_are_named():
    X, _, score = make_table()
    target = np.exp(0.5 * score + 4)
    model = RandomForestRegressor(6, random_state=0)
    turned = {
        "exp(answer)": np.log(target),
        "the answers taken as standardized": (target - target.mean()) / target.std(),
    }
    for name, learned in turned.items():
        found = ask(fit(model, X, learned), X, target)
        assert (found.status, found.cause) == ("stop", "repairs")
        assert f"With {name}, the mean absolute error is" in found.text
    found = ask(fit(model, X, 1000 * target), X, target)
    assert (found.status, found.cause) == ("stop", "units")
    found = ask(fit(model, X, -target), X, target)
    assert (found.status, found.cause) == ("stop", "labels")


@pytest.mark.filterwarnings("error")
def test_large_targets_are_turned_without_a_warning():
    X, y = np.random.default_rng(0).normal(size=(120, 3)), np.arange(120) * 10.0
    X[:, 0] = y
    model = RandomForestRegressor(5, random_state=0).fit(X[:60], y[:60])
    found = check_agreement(model, Records(X, -y), [1] * 60 + [0] * 60, random_state=0)
    assert (found.status, found.cause, found.notes) == ("stop", "labels", ())


def test_constant_answers_are_named_unless_that_is_the_recipe():
    X, y, _ = make_table()
    outputs = Outputs(np.full((N, 2), 0.5), [0, 1])
    found = ask(FOREST, X, y, outputs)
    assert (found.status, found.cause) == ("stop", "constant answers")
    assert "The model gives the same answer to all rows." in found.text
    assert ask(fit(DummyClassifier(), X, y), X, y).status == "cannot tell"
    # Penalized so that it learns nothing; its clones neither.
    assert ask(fit(DecisionTreeClassifier(min_samples_leaf=200), X, y), X, y).status == "warn"


# -- what a model knows of its columns


def make_people(n=N):
    rng = np.random.default_rng(2)
    table = pd.DataFrame(
        {"smoker": rng.choice(["yes", "no"], n), "age": rng.integers(18, 90, n).astype(float)}
    )
    return table, np.where((table.smoker == "yes") ^ (rng.random(n) < 0.1), "ill", "well")


def test_values_that_an_encoder_does_not_know_are_named():
    table, y = make_people()
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["smoker"]), remainder="passthrough"
    )
    victim = fit(make_pipeline(columns, TREE), table, y)
    assert ask(victim, table, y).status == "pass"
    found = ask(victim, table.assign(smoker=" " + table.smoker), y)
    assert (found.status, found.cause) == ("stop", "known values")
    assert (
        "In column 'smoker', 100% of the members' values are unknown to the model, such as ' "
    ) in found.text
    assert "; it knows 'no' and 'yes'." in found.text
    some = table.copy()
    some.loc[:4, "smoker"] = "often"
    found = ask(victim, some, y)
    assert found.status == "warn"
    assert (
        "5 members have values in column 'smoker' that the model has never seen, such as "
        "'often', so the model was not trained on these rows as given."
    ) in found.text
    some.loc[:4, "smoker"] = np.nan
    found = ask(victim, some, y)
    assert found.status == "warn"
    assert (
        "5 members have no value in column 'smoker', where the model has never seen a missing "
        "value, so it was not trained on these rows as given."
    ) in found.text


@pytest.mark.parametrize("value", ["often", np.nan])
def test_values_that_an_encoder_was_told_to_ignore_may_have_been_seen(value):
    table, y = make_people()
    table.loc[:4, "smoker"] = value
    encoder = OneHotEncoder(categories=[["no", "yes"]], handle_unknown="ignore")
    columns = make_column_transformer((encoder, ["smoker"]), remainder="passthrough")
    assert ask(fit(make_pipeline(columns, TREE), table, y), table, y).status == "pass"


def test_missing_values_that_are_filled_before_the_encoder_are_known():
    table, y = make_people()
    filled = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder())
    columns = make_column_transformer((filled, ["smoker"]), remainder="passthrough")
    victim = fit(make_pipeline(columns, TREE), table, y)
    table.loc[:4, "smoker"] = np.nan
    assert ask(victim, table, y).status == "pass"


def test_texts_in_another_language_are_named():
    rng = np.random.default_rng(0)
    words = np.array("fever cough pain rash nausea throat ear chest sweat chills".split())
    texts = np.array([" ".join(rng.choice(words, 6)) for _ in range(200)])
    y = np.array(["chest" in text for text in texts]).astype(int)
    members = np.arange(200) < 100
    model = make_pipeline(TfidfVectorizer(), LogisticRegression())
    victim = model.fit(pd.Series(texts[:100]), y[:100])
    other = pd.Series([text[::-1] for text in texts])
    found = ask(victim, other, y, members=members)
    assert found.status == "stop" and found.cause == "known values"


def test_clones_that_select_other_columns_stop_an_audit():
    table, y = make_people()
    typed = table.astype({"smoker": "category"})
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_include="category")),
        (SimpleImputer(), make_column_selector(dtype_include="number")),
    )
    victim = fit(make_pipeline(columns, TREE), typed, y)
    assert ask(victim, typed, y).status == "pass"
    found = ask(victim, table, y)
    assert (found.status, found.cause) == ("stop", "recipe")
    assert "onehotencoder lacks 'smoker'" in found.text
    assert found.cure == "Give the columns with the types that they had in training."


class LearnsOnce(ClassifierMixin, BaseEstimator):
    """A tree that learns with a parameter of fit alone, and is constant without it."""

    def fit(self, X, y, works=False):
        self.classes_ = np.unique(y)
        depth = None if works else 1
        model = DecisionTreeClassifier(max_depth=depth, min_samples_leaf=1 if works else len(X))
        self.model_ = model.fit(X, y)
        return self

    def predict_proba(self, X):
        return self.model_.predict_proba(X)

    def predict(self, X):
        return self.model_.predict(X)


def test_clones_that_do_not_learn_stop_an_audit_before_its_pool():
    X, y, _ = make_table()
    victim = fit(LearnsOnce(), X, y, works=True)
    report = audit(victim, Records(X, y), MEMBERS, shadows=4, random_state=0)
    assert report.evidence == "unknown" and report.settings["n_shadows"] == 0
    text = report.checks["model and table"].text
    assert "not better on them than a constant answer, so clones do not learn" in text
    found = check_agreement(
        victim, Records(X, y), MEMBERS, fit_params={"works": True}, random_state=0
    )
    assert found.status == "pass"


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_answers_with_more_than_half_of_the_skill_are_not_stopped(kind):
    # As of a model that is regularized or defended: a part of the answers says nothing of its row.
    X, y, score = make_table()
    target = y if kind == "classes" else score
    recipe = make_pipeline(StandardScaler(), LogisticRegression() if kind == "classes" else Ridge())
    answers = answer(fit(recipe, X, target), X)
    rng, statuses = np.random.default_rng(0), {}
    for share in (0.0, 0.3, 0.95):
        rows, some = np.arange(N), np.flatnonzero(rng.random(N) < share)
        rows[some] = rng.permutation(some)
        statuses[share] = ask(clone(recipe), X, target, answers[rows]).status
    assert statuses[0.0] == "pass" and statuses[0.3] != "stop" and statuses[0.95] == "stop"


# -- noise, failures, small tables


class Noisy(ClassifierMixin, BaseEstimator):
    """Answers that have nothing to do with the rows, and differ each time."""

    is_trainable = False

    def __init__(self, seed=None):
        self.seed = seed

    def fit(self, X, y):
        raise TypeError("It cannot be trained.")

    def __sklearn_is_fitted__(self):
        return True

    classes_ = np.arange(2)

    def predict_proba(self, X):
        p = np.random.default_rng().random(len(X))
        if self.seed is not None:
            p = 1e5 * X[:, 1] % 1
        return np.column_stack([1 - p, p])

    def predict(self, X):
        return self.predict_proba(X).argmax(axis=1)


def test_answers_that_differ_when_asked_twice_only_warn():
    X, y, _ = make_table()
    found = ask(Noisy(), X, y)
    assert found.status == "warn"
    assert "different answers when it is queried again" in found.text
    assert ask(Noisy(seed=0), X, y).status == "stop"


class CannotBeCloned(DecisionTreeClassifier):
    def fit(self, X, y, sample_weight=None):
        if getattr(self, "times_", 0) or len(X) < N // 2:
            raise RuntimeError("the license allows one model")
        return super().fit(X, y)


def test_a_clone_that_cannot_be_trained_is_said_and_the_rest_is_asked():
    X, y, _ = make_table()
    victim = fit(CannotBeCloned(random_state=0), X, y)
    found = ask(victim, X, y)
    assert found.status == "pass" and found.n_models == 0 and "own numbers" in found.asked
    assert found.notes == (
        "No clone could be trained on half of the members: CannotBeCloned cannot take these "
        "records: RuntimeError: the license allows one model.",
    )
    assert ask(victim, X * 100, y).cause == "own numbers"


@pytest.mark.parametrize("n", [4, 20])
def test_tiny_tables_go_on(n):
    X, y, _ = make_table()
    some = np.r_[np.arange(n // 2), N // 2 + np.arange(n // 2)]
    y = np.arange(N) % 2
    model = DecisionTreeClassifier(random_state=0).fit(X[some[: n // 2]], y[some[: n // 2]])
    found = ask(model, X[some], y[some], members=np.arange(n) < n // 2)
    assert found.status in ("cannot tell", "pass")
    assert ask(None, X[some], y[some], answer(model, X[some]), np.arange(n) < n // 2).status != (
        "stop"
    )


def test_log_odds_of_labels_are_not_judged():
    X, y, _ = make_table()
    found = ask(None, X, y, Outputs(np.zeros(N), kind="log_odds"))
    assert found.status == "cannot tell" and found.n_models == 0


# -- the audit


@pytest.fixture(scope="module")
def stopped():
    X, y, _ = make_table()
    scaled = StandardScaler().fit(X[MEMBERS]).transform(X)
    victim = fit(LogisticRegression(), scaled, y)
    records = Records(X, y)
    return victim, records, audit(victim, records, MEMBERS, random_state=0)


def test_an_audit_ends_before_its_first_shadow_model(stopped):
    _, _, report = stopped
    assert report.evidence == "unknown" and report.file is None and report.scores == {}
    assert report.settings["n_shadows"] == 0 and report.results.empty
    first, *others = report.checks.values()
    assert (first.name, first.status, first.finding) == ("model and table", "warning", "stop")
    assert {other.status for other in others} == {"not run"}
    code, reasons = judge(list_findings(report, []))
    assert code == 4 and len(reasons) == 1
    assert reasons[0].startswith("No verdict. Model and table do not agree. The model is right on ")
    assert report.verdict.startswith(
        "Inconclusive: model and table do not agree. The model is right on "
    )
    assert report.verdict.endswith("Give the pipeline, or the scaled table.")
    assert report.level.name == "unknown"


def test_a_report_of_it_can_be_read_in_each_form(stopped, tmp_path):
    pytest.importorskip("jinja2")
    victim, records, report = stopped
    document = json.loads(report.to_json())
    checked = check_document(document)
    assert (checked["evidence"], checked["verdict"]) == (report.evidence, report.verdict)
    page = report.to_html()
    assert "<h1>No verdict</h1>" in page
    assert "<b>Model and table do not agree.</b> The model is right on" in page
    summary = " ".join(report.summary(verbose=True).split())
    assert "Model and table do not agree. The model is right on" in summary
    assert "No shadow model was trained, and no attack was run." in summary
    assert "Model and table do not agree" in report.to_markdown()
    found = recommend_release(report, victim, records, policy="research")
    assert found.result == "cannot be said" and found.reasons == (report.verdict,)
    assert "audit.json" in {path.name for path in report.save(tmp_path)}


def test_documents_without_numbers_need_the_reason(stopped):
    document = json.loads(stopped[2].to_json())
    first, *others = document["checks"]
    passed = first | {"status": "passed", "finding": "pass"}
    with pytest.raises(ValueError, match="results must have numbers unless"):
        check_document(document | {"checks": [passed, *others]})


def test_an_audit_that_is_not_stopped_says_what_it_found():
    X, y, _ = make_table()
    settings = {"attacks": {"loss": ThresholdAttack()}, "random_state": 0, "file": False}
    report = audit(fit(FOREST, X, y), Records(X, y), MEMBERS, **settings)
    first = next(iter(report.checks.values()))
    assert (first.name, first.status, first.finding) == ("model and table", "passed", "pass")
    assert "a clone that has not seen these rows on" in first.text
    assert report.seconds["model and table"] > 0


def test_a_regularized_model_whose_clones_decide_at_another_point_is_sound():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(500, 4))
    y = (X[:, 0] + rng.normal(size=500) > 0).astype(int)
    model = LogisticRegression(C=1e-4).fit(X[:250], y[:250])
    # Of slightly unequal classes, clones of halves call every record the same class.
    model.intercept_ = np.zeros(1)
    found = check_agreement(model, Records(X, y), [1] * 250 + [0] * 250, random_state=0)
    assert found.status in ("pass", "warn")


def test_a_model_that_is_wrong_by_itself_is_not_repaired_by_chance():
    # Labels of pure noise, and a model that is wrong on most members: any other order is better.
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 4)), rng.integers(0, 2, 400)
    wrong = np.where(rng.random(400) < 0.75, 1 - y, y)
    model = KNeighborsClassifier(1).fit(X, wrong)
    found = check_agreement(model, Records(X, y), [1] * 200 + [0] * 200, random_state=0)
    assert found.cause != "repairs"


@pytest.mark.parametrize("hidden", [False, True])
def test_calibrations_that_turn_the_answers_round_are_sound(hidden):
    # From 40 rows the machine learns less than chance, so that the calibration reverses it.
    rng = np.random.default_rng(18)
    X = rng.normal(size=(80, 8))
    y = ((X[:, 0] > 0) ^ (X[:, 1] > 0)).astype(int)
    model = CalibratedClassifierCV(SVC(), cv=3).fit(X[:40], y[:40])
    assert model.score(X[:40], y[:40]) < 0.2
    given = CallableVictim(model.predict_proba, model.classes_) if hidden else model
    found = check_agreement(given, Records(X, y), [1] * 40 + [0] * 40, random_state=0)
    assert found.status == "warn"
    assert ("gives the same answers" in found.text) == (not hidden)


@pytest.mark.parametrize("seed", [13, *(pytest.param(k, marks=pytest.mark.slow) for k in (14, 17))])
def test_a_forgotten_scaler_is_named_where_more_than_half_of_the_skill_is_left(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(800, 8))
    y = (X[:, :4] @ [6.0, -4.0, 3.2, 2.4] + rng.logistic(size=800) > 0).astype(int)
    raw = X * np.exp(rng.normal(1, 1.5, 8)) + rng.normal(0, 10, 8)
    model = LogisticRegression().fit(StandardScaler().fit_transform(raw[:400]), y[:400])
    assert model.score(raw[:400], y[:400]) > 0.75
    found = check_agreement(model, Records(raw, y), [1] * 400 + [0] * 400, random_state=0)
    assert (found.status, found.cause) == ("stop", "repairs")
    assert "trained behind a scaler" in found.text


def test_one_clone_suffices_where_it_leaves_no_doubt():
    X, y, _ = make_table()
    noisy = np.where(np.random.default_rng(0).random(N) < 0.3, 1 - y, y)
    found = ask(fit(FOREST, X, noisy), X, noisy)
    assert (found.status, found.n_models) == ("pass", 1)
    assert "; a clone that has not seen these rows on " in found.text
    # A model that knows its rows no better than others, and one of which a clone learns nothing.
    assert ask(fit(LINE, X, y), X, y).n_models == 2
    shuffled = np.random.default_rng(0).permutation(y)
    assert ask(fit(FOREST, X, shuffled), X, shuffled).n_models == 2
