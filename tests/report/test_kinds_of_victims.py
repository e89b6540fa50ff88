"""Every kind of victim with the strongest attacks that it allows: models, services, answers."""

from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skmia import Records
from skmia._core.provenance import PartClock
from skmia.defenses import LabelOnlyDefense
from skmia.report._case import make_plan, open_case
from skmia.report._run import run_attacks
from skmia.victims import CallableVictim, JointOutputs, OneOutput

N = 80
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 4)).astype(np.float32)
Y = (X[:, 0] + RNG.normal(size=N) > 0).astype(int)
VALUES = X[:, 0] + RNG.normal(size=N)
CITY = RNG.choice(["Oslo", "Rome"], N)
MEMBERS = RNG.permutation(N) < N // 2

# The strongest attacks by the kind of the answers; the last ones compare shadow models.
PROBA = {"threshold (loss)", "LiRA", "RMIA", "StackedAttack"}
LINEAR = PROBA | {"AnalyticLiRA"}
VALUE = PROBA
DECISION = {"threshold (hinge)", "LiRA", "RMIA", "StackedAttack"}
LABEL = {"threshold (correctness)", "LiRA"}
ALONE = {"threshold (loss)"}  # answers of a model that cannot be trained again

SEED = {"random_state": 0}
FEW = {"n_estimators": 4, **SEED}
TREE = DecisionTreeClassifier(**SEED)
LINE = LogisticRegression()
COLUMNS = ColumnTransformer([("text", OneHotEncoder(), ["city"])], remainder=StandardScaler())


class Kind(NamedTuple):
    """A model with the attacks on it and the task that it learns."""

    model: object
    attacks: set
    y: np.ndarray = Y


KINDS = {
    "tree": Kind(TREE, PROBA),
    "forest": Kind(RandomForestClassifier(**FEW), PROBA),
    "extra trees": Kind(ExtraTreesClassifier(**FEW), PROBA),
    "adaptive boosting": Kind(AdaBoostClassifier(**FEW), PROBA),
    "gradient boosting": Kind(GradientBoostingClassifier(**FEW), PROBA),
    "histogram boosting": Kind(HistGradientBoostingClassifier(max_iter=4, **SEED), PROBA),
    "bagging": Kind(BaggingClassifier(**FEW), PROBA),
    "logistic regression": Kind(LINE, LINEAR),
    "discriminant analysis": Kind(LinearDiscriminantAnalysis(), PROBA),
    "naive Bayes": Kind(GaussianNB(), PROBA | {"JointAnswersAttack"}),
    "neighbors": Kind(KNeighborsClassifier(3), PROBA),
    "Gaussian process": Kind(GaussianProcessClassifier(), PROBA),
    "perceptron": Kind(
        MLPClassifier(hidden_layer_sizes=(4,), solver="lbfgs", max_iter=2000, **SEED), PROBA
    ),
    "calibrated": Kind(CalibratedClassifierCV(LinearSVC(**SEED), cv=2), PROBA),
    "soft vote": Kind(VotingClassifier([("a", TREE), ("b", LINE)], voting="soft"), PROBA),
    "stack": Kind(StackingClassifier([("a", TREE), ("b", LINE)], cv=2), PROBA),
    "search": Kind(GridSearchCV(TREE, {"max_depth": [2, 4]}, cv=2), PROBA),
    "mixed columns": Kind(make_pipeline(COLUMNS, TREE), PROBA),
    "one of several outputs": Kind(OneOutput(TREE, 1), PROBA),
    "all of several outputs": Kind(JointOutputs(TREE, [[0, 1], [1, 0]]), PROBA),
    "linear support vectors": Kind(LinearSVC(**SEED), DECISION),
    "support vectors": Kind(SVC(), DECISION),
    "ridge classifier": Kind(RidgeClassifier(), DECISION),
    "hinge by gradients": Kind(SGDClassifier(**SEED), DECISION),
    "hard vote": Kind(VotingClassifier([("a", TREE), ("b", LINE)]), LABEL),
    "labels alone": Kind(LabelOnlyDefense(TREE), LABEL),
    "tree of regression": Kind(DecisionTreeRegressor(**SEED), VALUE, VALUES),
    "forest of regression": Kind(RandomForestRegressor(**FEW), VALUE, VALUES),
    "ridge": Kind(Ridge(), LINEAR, VALUES),
    "neighbors of regression": Kind(KNeighborsRegressor(3), VALUE, VALUES),
    "support vectors of regression": Kind(SVR(), VALUE, VALUES),
    "perceptron of regression": Kind(
        MLPRegressor(hidden_layer_sizes=(4,), solver="lbfgs", max_iter=2000, **SEED), VALUE, VALUES
    ),
}


def attack(victim, records, estimator=None):
    """The attacks of an audit without its checks: those that ran, and what was left out."""
    case = open_case(
        victim,
        records,
        MEMBERS,
        PartClock(),
        attacks="default",
        shadows=4,
        time_budget=None,
        estimator=estimator,
        group=None,
        fprs=[0.1],
        confidence_level=0.95,
        controls=False,
        file=False,
        batched="auto",
        checkpoint=None,
        n_jobs=1,
        random_state=0,
        verbose=0,
    )
    plan = make_plan(case.attacks, case.request, case.records)
    run = run_attacks(case, plan, PartClock())
    assert all(np.isfinite(scores).all() for scores in run.scores.values())
    return set(run.scores), run.notes


def make_records(name):
    rows = X
    if name == "mixed columns":
        rows = pd.DataFrame(X, columns=list("abcd")).assign(city=CITY)
    return Records(rows, KINDS[name].y)


def fit(name):
    records, model = make_records(name), clone(KINDS[name].model)
    members = records[MEMBERS]
    if isinstance(model, OneOutput):
        both = np.column_stack([1 - members.y, members.y])
        return OneOutput(model.estimator.fit(members.X, both), 1)
    if isinstance(model, JointOutputs):
        both = np.array(model.labels)[members.y]
        return JointOutputs(model.estimator.fit(members.X, both), model.labels)
    return model.fit(members.X, members.y)


def test_there_are_more_than_25_of_them():
    assert len(KINDS) >= 25


# Models whose answers, and what is done with them, are those of another one.
LIKE_ANOTHER = {
    "perceptron",
    "search",
    "extra trees",
    "adaptive boosting",
    "gradient boosting",
    "bagging",
    "discriminant analysis",
    "Gaussian process",
    "soft vote",
    "stack",
    "support vectors",
    "ridge classifier",
    "hinge by gradients",
    "forest of regression",
    "neighbors of regression",
    "support vectors of regression",
    "perceptron of regression",
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(one, marks=[pytest.mark.slow] * (one in LIKE_ANOTHER)) for one in KINDS],
)
def test_a_model(name):
    kind = KINDS[name]
    recipe = TREE if isinstance(kind.model, OneOutput) else None
    assert attack(fit(name), make_records(name), recipe) == (kind.attacks, [])


def test_a_net():
    pytest.importorskip("skorch")
    from small_net import make_small_net

    net = make_small_net(X.shape[1], max_epochs=2).fit(X[MEMBERS], Y[MEMBERS])
    assert attack(net, Records(X, Y)) == (PROBA, [])


@pytest.mark.parametrize(
    ("package", "model", "settings", "y", "attacks"),
    [
        ("xgboost", "XGBClassifier", {}, Y, PROBA),
        ("xgboost", "XGBRegressor", {}, VALUES, VALUE),
        ("lightgbm", "LGBMClassifier", {"min_child_samples": 2, "verbose": -1}, Y, PROBA),
        pytest.param(
            *("lightgbm", "LGBMRegressor", {"min_child_samples": 2, "verbose": -1}, VALUES, VALUE),
            marks=pytest.mark.slow,
        ),
        ("catboost", "CatBoostClassifier", {"verbose": 0, "allow_writing_files": False}, Y, PROBA),
    ],
)
def test_a_booster(package, model, settings, y, attacks):
    kind = getattr(pytest.importorskip(package), model)
    booster = kind(n_estimators=4, random_state=0, **settings).fit(X[MEMBERS], y[MEMBERS])
    assert attack(booster, Records(X, y)) == (attacks, [])


@pytest.mark.parametrize(
    "name", ["forest", pytest.param("forest of regression", marks=pytest.mark.slow)]
)
def test_a_model_in_an_onnx_file(name, tmp_path):
    to_onnx = pytest.importorskip("skl2onnx").to_onnx
    pytest.importorskip("onnxruntime")
    from skmia.victims import OnnxClassifier, OnnxRegressor

    model, records = fit(name), make_records(name)
    options = {"zipmap": False} if name == "forest" else {}
    path = tmp_path / "model.onnx"
    path.write_bytes(to_onnx(model, X[:1], options={id(model): options}).SerializeToString())
    victim = (OnnxClassifier if name == "forest" else OnnxRegressor)(path)
    assert attack(victim, records, model) == (PROBA, [])
    found, notes = attack(victim, records)
    assert found == ALONE
    assert all("cannot be trained" in note for note in notes)


@pytest.mark.parametrize("kind", ["proba", "label"])
def test_a_service(kind):
    model, records = fit("tree"), make_records("tree")
    ask = model.predict_proba if kind == "proba" else model.predict
    service = CallableVictim(ask, classes=[0, 1], kind=kind)
    assert attack(service, records, model) == (PROBA if kind == "proba" else LABEL, [])
    alone = ALONE if kind == "proba" else {"threshold (correctness)"}
    assert attack(service, records)[0] == alone


@pytest.mark.parametrize(
    ("name", "attacks"),
    [("tree", PROBA), ("support vectors", DECISION), ("hard vote", LABEL), ("ridge", LINEAR)],
)
def test_answers_in_a_file(name, attacks):
    records = make_records(name).with_outputs(fit(name))
    assert attack(KINDS[name].model, records) == (attacks, [])


def test_labels_of_a_model_that_gives_more():
    records = make_records("tree").with_outputs(fit("tree"))
    records = records.with_fields(outputs=records["outputs"].as_labels())
    assert attack(TREE, records) == (LABEL, [])
