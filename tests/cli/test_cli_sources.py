"""Ways to say what is audited: two tables, values of members, names of labels, stored answers."""

import json

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from skmia.attacks import LiRA
from skmia.cli import _audit

pytestmark = pytest.mark.usefixtures("no_process")

QUICK = ["--estimator", "logistic", "--shadows", "4", "--jobs", "1", "--verbose"]


class Asked(Exception):
    """Ends the command where the audit would begin."""


@pytest.fixture
def asked(monkeypatch):
    """What the audit was asked for."""
    given = {}

    def audit(victim, records, membership, **settings):
        given.update(victim=victim, records=records, membership=membership, **settings)
        raise Asked

    monkeypatch.setattr(_audit, "audit", audit)
    return given


def test_two_tables_are_members_and_others(run, asked, table, tmp_path):
    members = table["trained"] == 1
    table[members].to_csv(tmp_path / "train.csv", index=False)
    others = table.loc[~members, table.columns[::-1]]  # in another order
    others.to_csv(tmp_path / "test.csv", index=False)
    halves = ["--train", tmp_path / "train.csv", "--held-out", tmp_path / "test.csv"]
    assert run(*halves, "--target", "income", *QUICK)[0] == 3  # Asked is no known error
    n = members.sum()
    assert asked["membership"].tolist() == [True] * n + [False] * (len(table) - n)
    expected = pd.concat([table[members], table[~members]])
    np.testing.assert_array_equal(asked["records"].y, expected["income"])
    np.testing.assert_array_equal(asked["records"].X["noise"], expected["noise"])


@pytest.mark.parametrize("source", ["column", "file", "file with a header"])
def test_two_values_other_than_bits_name_the_members(run, asked, table, tmp_path, source):
    split = np.where(table["trained"] == 1, "fit", "later")
    if source == "column":
        table = table.assign(split=split)
    else:
        pd.Series(split).to_csv(tmp_path / "split.txt", index=False, header=source != "file")
    table.to_csv(tmp_path / "t.csv", index=False)
    members = "split" if source == "column" else tmp_path / "split.txt"
    given = ["--data", tmp_path / "t.csv", "--members", members, "--member-value", "fit"]
    run(*given, "--target", "income", "--drop", "trained", *QUICK)
    np.testing.assert_array_equal(asked["membership"], table["trained"] == 1)
    assert "split" not in asked["records"].X


def make_model(table, path, labels):
    X = table[["age", "noise"]].fillna(0)
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    joblib.dump(tree.fit(X, table["income"].map(labels)), path)
    return ["--model", path, "--trust-pickle", "--members", "trained"]


def test_labels_have_the_names_of_the_model(run, asked, table, data, tmp_path):
    model = make_model(table, tmp_path / "m.joblib", {"<=50K": 0, ">50K": 1})
    run("--data", data, "--target", "income", *model, "--label-map", "<=50K=0", ">50K=1")
    y = asked["records"].y
    assert y.dtype.kind == "i"
    np.testing.assert_array_equal(y, table["income"] == ">50K")


@pytest.mark.parametrize(
    ("answers", "kind"), [("probabilities", "proba"), ("labels", "label"), ("mlp", "proba")]
)
def test_answers_take_the_place_of_a_model(run, asked, table, data, tmp_path, answers, kind):
    shares = np.linspace(0, 1, len(table))
    columns = {">50K": shares, "<=50K": 1 - shares}  # in another order than the classes
    if answers == "labels":
        columns = {"answer": np.where(shares > 0.5, ">50K", "<=50K")}
    pd.DataFrame(columns).to_csv(tmp_path / "answers.csv", index=False)
    quick = ["--estimator", "mlp", *QUICK[2:]] if answers == "mlp" else QUICK
    if answers == "mlp":
        pytest.importorskip("skorch")
    given = ["--members", "trained", "--answers", tmp_path / "answers.csv"]
    run("--data", data, "--target", "income", *given, *quick)
    outputs = asked["records"].fields["outputs"]
    assert outputs.kind == kind
    if kind == "label":
        np.testing.assert_array_equal(outputs.values, columns["answer"])
    else:
        np.testing.assert_allclose(outputs.values[:, 1], shares)
        assert outputs.classes.tolist() == ([0, 1] if answers == "mlp" else ["<=50K", ">50K"])


@pytest.mark.usefixtures("no_drawing")
def test_an_audit_of_labels_has_shadow_models(run, table, tmp_path):
    X, members = table[["age", "noise"]].fillna(0), table["trained"] == 1
    model = LogisticRegression().fit(X[members], table.loc[members, "income"])
    pd.DataFrame({"answer": model.predict(X)}).to_csv(tmp_path / "answers.csv", index=False)
    X.assign(income=table["income"], trained=table["trained"]).to_csv(
        tmp_path / "t.csv", index=False
    )
    given = ["--members", "trained", "--answers", tmp_path / "answers.csv", "--format", "json"]
    code, text, err = run("--data", tmp_path / "t.csv", "--target", "income", *given, *QUICK)
    assert (code, err) == (0, "")
    assert list(json.loads(text)["settings"]["attacks"]) == ["threshold (correctness)", "LiRA"]


@pytest.mark.usefixtures("no_drawing", "one_attack")
def test_an_audit_of_answers(run, table, tmp_path):
    X = table[["age", "noise"]].fillna(0)
    members = table["trained"] == 1
    model = LogisticRegression().fit(X[members], table.loc[members, "income"])
    frame = pd.DataFrame(model.predict_proba(X), columns=model.classes_)
    frame.to_csv(tmp_path / "answers.csv", index=False)
    X.assign(income=table["income"], trained=table["trained"]).to_csv(
        tmp_path / "t.csv", index=False
    )
    given = ["--members", "trained", "--answers", tmp_path / "answers.csv", "--format", "json"]
    code, text, err = run("--data", tmp_path / "t.csv", "--target", "income", *given, *QUICK)
    assert (code, err) == (0, "")
    document = json.loads(text)
    assert "stored with the records" in " ".join(document["notes"])
    assert document["file"] is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--train", "a.csv"], "--train and --held-out go together"),
        (["--held-out", "a.csv"], "--train and --held-out go together"),
        (["--train", "a.csv", "--held-out", "a.csv"], "--data goes without --train"),
        (["--member-value", "x"], "--member-value goes with --members"),
        (["--members", "city", "--member-value", "Paris"], "has no value 'Paris'; it has"),
        (["--members", "city", "--member-value", "Rome"], "must hold two values"),
        (["--members", "city"], "if there are two, of which --member-value names one"),
        (["--label-map", "a=b"], "--label-map goes with --model or --answers"),
        (["--label-map", "a"], "must be LABEL=CLASS"),
        (["--answers", "a.csv"], "--answers needs --members"),
        (["--members", "trained", "--answers", "a.csv"], "--answers: file not found: a.csv"),
    ],
)
def test_wrong_sources_are_refused(refuse, data, options, message):
    assert message in refuse("--data", data, "--target", "income", *QUICK, *options)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({">50K": [0.5]}, "has 1 rows and the table 240 rows"),
        ({">50K": 0.5, "yes": 0.5}, "must be the classes '<=50K' and '>50K', or one column"),
        ({">50K": 0.5, "<=50K": np.nan}, "lacks a value in row 1"),
        ({">50K": 0.9, "<=50K": 0.5}, "the probabilities in row 1 of answers.csv add to 1.4"),
        (
            {">50K": 2.0, "<=50K": -1.0},
            "row 1 of answers.csv holds -1, 2, which are not",
        ),
        ({"answer": "yes"}, "'yes' in answers.csv is not a label of the table"),
    ],
)
def test_wrong_answers_are_refused(refuse, table, data, tmp_path, columns, message):
    index = None if isinstance(columns[next(iter(columns))], list) else table.index
    path = tmp_path / "answers.csv"
    pd.DataFrame(columns, index=index).to_csv(path, index=False)
    given = ["--members", "trained", "--answers", path]
    assert message in refuse("--data", data, "--target", "income", *QUICK, *given)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (["<=50K=0", "rich=1"], "has no label 'rich'; it has '<=50K' and '>50K'"),
        (["<=50K=0", ">50K=2"], "'2' is not a class of the model, which has '0' and '1'"),
        (["<=50K=0"], "'>50K' is not a class of the model"),
    ],
)
def test_wrong_names_of_labels_are_refused(refuse, table, data, tmp_path, pairs, message):
    model = make_model(table, tmp_path / "m.joblib", {"<=50K": 0, ">50K": 1})
    given = [*model, "--label-map", *pairs]
    assert message in refuse("--data", data, "--target", "income", *given)


def test_tables_of_other_columns_are_refused(refuse, table, tmp_path):
    table.to_csv(tmp_path / "a.csv", index=False)
    table.drop(columns="age").to_csv(tmp_path / "b.csv", index=False)
    halves = ["--train", tmp_path / "a.csv", "--held-out", tmp_path / "b.csv"]
    told = refuse(*halves, "--target", "income", *QUICK)
    assert told.endswith("b.csv lacks the other's columns 'age'")


def test_an_onnx_file_with_the_estimator_of_its_shadow_models(
    run, refuse, table, tmp_path, handed_over
):
    skl2onnx = pytest.importorskip("skl2onnx")
    pytest.importorskip("onnxruntime")
    columns = ["age", "noise"]
    X = table[columns].fillna(0)
    members = table["trained"] == 1
    model = LogisticRegression().fit(X.to_numpy()[members], table.loc[members, "income"])
    converted = skl2onnx.to_onnx(model, X.to_numpy(np.float32)[:1])
    (tmp_path / "m.onnx").write_bytes(converted.SerializeToString())
    X.assign(income=table["income"], trained=table["trained"]).to_csv(
        tmp_path / "t.csv", index=False
    )
    given = ["--data", tmp_path / "t.csv", "--target", "income", "--members", "trained"]
    given += ["--model", tmp_path / "m.onnx"]
    told = refuse(*given)
    assert "name the kind of the shadow models with --estimator" in told
    code, _, err = run(*given, *QUICK)
    assert (code, err) == (0, "")
    settings = handed_over[0].settings
    assert settings["shadows"] == 4
    assert isinstance(settings["estimator"][-1], LogisticRegression)


def test_a_booster_with_the_estimator_of_its_shadow_models(refuse, monkeypatch, table, tmp_path):
    xgboost = pytest.importorskip("xgboost")
    X, y = table[["age", "noise"]], (table["income"] == ">50K").astype(int)
    xgboost.XGBClassifier(n_estimators=3).fit(X, y).save_model(tmp_path / "m.json")
    X.assign(rich=y, trained=table["trained"]).to_csv(tmp_path / "t.csv", index=False)
    given = ["--data", tmp_path / "t.csv", "--target", "rich", "--members", "trained"]

    def audit(victim, *_, estimator, **__):  # in a process of its own
        raise ValueError(f"{type(victim).__name__}, {type(estimator[-1]).__name__}")

    monkeypatch.setattr(_audit, "audit", audit)
    told = refuse(*given, "--model", tmp_path / "m.json", *QUICK)
    assert told == "XGBClassifier, LogisticRegression"


@pytest.mark.usefixtures("no_drawing")
def test_answers_without_a_recipe_have_a_stand_in(run, table, tmp_path, one_attack):
    one_attack["attacks"] = {"LiRA": LiRA()}
    X, members = table[["age", "noise"]].fillna(0), table["trained"] == 1
    model = LogisticRegression().fit(X[members], table.loc[members, "income"])
    frame = pd.DataFrame(model.predict_proba(X), columns=model.classes_)
    frame.to_csv(tmp_path / "answers.csv", index=False)
    X.assign(income=table["income"], trained=table["trained"]).to_csv(
        tmp_path / "t.csv", index=False
    )
    strict = 'name = "own"\nversion = 1\n[limits.service]\nauc = 1.0\n'
    (tmp_path / "own.toml").write_text(strict)
    given = ["--data", tmp_path / "t.csv", "--target", "income", "--members", "trained"]
    given += ["--answers", tmp_path / "answers.csv", "--policy", tmp_path / "own.toml"]
    given += ["--shadows", "8", "--format", "json", "--seed", "0", "--jobs", "1"]
    code, text, err = run(*given)
    document = json.loads(text)
    # Where ten seconds pass, a line says so before.
    assert code == 4 and err.endswith("the policy own says: cannot be said\n")
    assert document["reference"]["recipe"] == "chosen"
    assert len(document["reference"]["distances"]) == 7
    assert "stand_in = false" in document["recommendation"]["reasons"][0]
    # A recipe that is named and stated is none.
    code, text, err = run(*given, "--estimator", "logistic", "--recipe", "J. Doe")
    document = json.loads(text)
    assert (code, document["reference"]["recipe"]) == (0, "given")
    assert document["recommendation"]["result"] == "release"
    assert document["recommendation"]["provenance"]["recipe of the model"] == "J. Doe"
