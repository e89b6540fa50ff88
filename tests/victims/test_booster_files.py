"""Models from files of XGBoost, LightGBM and CatBoost, which hold no code and no settings."""

import json

import numpy as np
import pytest
from cells import slow_but
from sklearn.base import is_classifier
from sklearn.datasets import load_diabetes, load_wine
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import roc_auc_score

from skmia import Records
from skmia.attacks import NodeEquationsAttack, ReleasedModelAttack
from skmia.cli import main
from skmia.inspection import inspect_model, reconstruct_values
from skmia.victims import read_booster_file
from skmia.victims._node_equations.read import read_node_equations

DATA = {"classes": load_wine(return_X_y=True), "regression": load_diabetes(return_X_y=True)}
# LightGBM 4.6 makes names for columns of arrays and misses them later.
pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")
FORMATS = ["xgboost.json", "xgboost.ubj", "lightgbm.txt", "catboost.cbm", "catboost.json"]


def make(package, kind):
    """A small model with settings that are not the defaults of its package."""
    module = pytest.importorskip(package)
    end = "Classifier" if kind == "classes" else "Regressor"
    if package == "xgboost":
        settings = {"n_estimators": 10, "learning_rate": 0.1, "reg_lambda": 3.0, "n_jobs": 1}
        return getattr(module, f"XGB{end}")(**settings)
    if package == "lightgbm":
        settings = {"n_estimators": 10, "learning_rate": 0.2, "reg_lambda": 0.5, "n_jobs": 1}
        return getattr(module, f"LGBM{end}")(verbose=-1, **settings)
    quiet = {"verbose": 0, "allow_writing_files": False, "thread_count": 1}
    return getattr(module, f"CatBoost{end}")(iterations=10, depth=3, **quiet)


def save(model, path):
    if path.name.startswith("catboost"):
        model.save_model(str(path), format=path.suffix[1:])
    else:
        getattr(model, "booster_", model).save_model(str(path))


def load_half(name, kind, tmp_path):
    """A model that went through a file, the model itself, all records and who is a member."""
    X, y = DATA[kind]
    member = np.random.default_rng(0).permutation(len(y)) < len(y) // 2
    model = make(name.partition(".")[0], kind).fit(X[member], y[member])
    save(model, tmp_path / name)
    return read_booster_file(tmp_path / name), model, Records(X, y), member


@pytest.mark.parametrize("kind", DATA)
@pytest.mark.parametrize("name", FORMATS)
def test_equations_hold_for_what_a_file_keeps(name, kind, tmp_path):
    found, model, records, member = load_half(name, kind, tmp_path)
    assert is_classifier(found) == (kind == "classes")
    answers = [np.ravel(one.predict(records.X)) for one in (found, model)]
    np.testing.assert_allclose(*answers)
    equations = read_node_equations(FrozenEstimator(found), records)
    np.testing.assert_allclose(equations.n_rows, member.sum(), rtol=1e-5)
    norms = np.sqrt(np.asarray((equations.rows**2).sum(axis=1)).ravel())
    errors = np.abs(equations.rows @ member - equations.targets) / norms
    assert errors.max() < 1e-4
    assert inspect_model(found).findings[0].level in ("counts", "values")


def test_probabilities_of_a_text_are_those_of_the_model(tmp_path):
    X, y = DATA["classes"]
    for n_classes in (2, 3):
        some = y < n_classes
        model = make("lightgbm", "classes").fit(X[some], y[some])
        save(model, tmp_path / "lightgbm.txt")
        found = read_booster_file(tmp_path / "lightgbm.txt")
        np.testing.assert_allclose(found.predict_proba(X), model.predict_proba(X))
        assert found.classes_.tolist() == list(range(n_classes))
    with pytest.raises(TypeError, match="cannot be trained"):
        found.fit(X, y)


def test_a_text_gives_the_extremes_of_named_columns(tmp_path):
    data = load_diabetes(as_frame=True)
    model = make("lightgbm", "regression").fit(data.data, data.target)
    save(model, tmp_path / "lightgbm.txt")
    frame = reconstruct_values(read_booster_file(tmp_path / "lightgbm.txt")).to_frame()
    ages = frame.loc[frame["column"] == "age", "value"].tolist()
    assert ages == [data.data["age"].min(), data.data["age"].max()]


def test_members_are_found_after_a_file(tmp_path):
    found, _, records, member = load_half("xgboost.json", "regression", tmp_path)
    attack = ReleasedModelAttack(FrozenEstimator(found)).fit(records)
    assert roc_auc_score(member, attack.score_samples(records)) > 0.9


@pytest.mark.parametrize(
    "settings", [{"reg_alpha": 1.0}, {"max_delta_step": 0.2}, {"monotone_constraints": "(1,-1)"}]
)
def test_weights_that_no_settings_explain_are_refused(settings, tmp_path):
    X, y = DATA["regression"]
    model = make("xgboost", "regression").set_params(**settings).fit(X, y)
    save(model, tmp_path / "model.json")
    found = FrozenEstimator(read_booster_file(tmp_path / "model.json"))
    with pytest.raises(ValueError, match="no learning rate and penalty explain its weights"):
        NodeEquationsAttack(found).fit(Records(X, y))


@pytest.mark.parametrize(
    "name, text, message",
    [
        ("model.bin", "", "must end in one of .cbm, .json, .txt, .ubj; got model.bin"),
        ("model.json", "{", "model.json is not valid JSON"),
        ("model.json", "[1]", "model.json is neither a model of XGBoost nor of CatBoost"),
        ("model.txt", "hello", "model.txt is not the text of a LightGBM model"),
    ],
)
def test_other_files_are_named(name, text, message, tmp_path):
    if name.endswith(".txt"):
        pytest.importorskip("lightgbm")
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=message):
        read_booster_file(tmp_path / name)
    with pytest.raises(FileNotFoundError, match="There is no file"):
        read_booster_file(tmp_path / "none.json")


def test_the_focal_loss_is_one_of_classes(tmp_path):
    catboost = pytest.importorskip("catboost")
    X, y = DATA["classes"]
    settings = {"iterations": 2, "verbose": 0, "allow_writing_files": False}
    loss = "Focal:focal_alpha=0.5;focal_gamma=1"
    model = catboost.CatBoostClassifier(loss_function=loss, **settings).fit(X, y == 0)
    model.save_model(str(tmp_path / "model.cbm"))
    found = read_booster_file(tmp_path / "model.cbm")
    np.testing.assert_array_equal(found.predict_proba(X), model.predict_proba(X))


def test_models_that_rank_are_refused(tmp_path):
    xgboost = pytest.importorskip("xgboost")
    X, y = DATA["classes"]
    ranker = xgboost.XGBRanker(n_estimators=2).fit(X, y, qid=np.zeros(len(y), dtype=int))
    ranker.save_model(tmp_path / "model.json")
    with pytest.raises(ValueError, match="model.json ranks"):
        read_booster_file(tmp_path / "model.json")


@pytest.mark.parametrize(
    "name",
    slow_but(FORMATS, "xgboost.json"),
)
def test_inspect_reads_files_of_boosters(name, tmp_path, capsys):
    data = load_diabetes(as_frame=True)
    table = tmp_path / "table.csv"
    data.frame.to_csv(table, index=False)
    package = name.partition(".")[0]
    model = make(package, "regression").fit(data.data[:200], data.target[:200])
    save(model, tmp_path / name)
    options = ["--data", str(table), "--target", "target", "--json"]
    assert main(["inspect", str(tmp_path / name), *options]) == 0
    found = json.loads(capsys.readouterr().out)
    np.testing.assert_allclose(found["candidates"]["equations"]["n_rows"], 200, rtol=1e-5)


@pytest.mark.parametrize("name", ["model.cbm", "model.json", "model.txt", "model.ubj"])
def test_damaged_files_end_in_one_line(name, tmp_path, capsys):
    for package in ("xgboost", "lightgbm", "catboost"):
        pytest.importorskip(package)
    (tmp_path / name).write_text("tree\nversion=v4\n" if name.endswith("txt") else "{}")
    assert main(["inspect", str(tmp_path / name)]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1 and name in lines[0]
