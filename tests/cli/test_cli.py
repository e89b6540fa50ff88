"""The command line: what it audits, prints and writes."""

import json
import os
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from forked import FORKS, run_forked
from sklearn.ensemble import RandomForestClassifier

from skmia.attacks import LiRA
from skmia.cli import _audit, _inputs, _model
from skmia.cli._features_and_target import as_features, read_members, read_target
from skmia.cli._model import make_estimator
from skmia.exceptions import TrainingError

N = 240
QUICK = ["--estimator", "logistic", "--shadows", "4", "--jobs", "1", "--verbose"]


@pytest.mark.contract
@pytest.mark.usefixtures("no_drawing", "one_attack")
def test_table_with_groups(run, data, table, tmp_path):
    out = tmp_path / "new" / "audit"
    code, text, err = run(
        "--data", data, "--target", "income", "--group", "city", *QUICK, "--out", out
    )
    assert (code, err) == (0, "")
    assert max(map(len, text.splitlines())) <= 100
    for title in ("all records (120", "city = (missing) (", "city = ? (", "city = Rome ("):
        assert title in text
    document = json.loads((out / "audit.json").read_text())
    groups = pd.DataFrame(document["results"]).query("metric == 'auc'")
    sizes = groups.set_index("group")[["n_members", "n_nonmembers"]].sum(axis=1)
    expected = table["city"].fillna("(missing)").value_counts()
    assert sizes[expected.index].to_dict() == expected.to_dict()
    assert "class = " not in text  # which nobody asked for; the page has it
    assert document["settings"]["command"]["target"] == "income"
    assert "Task: classification of 'income' (--task overrides)." in document["notes"]
    assert f"written: {out / 'audit.json'}" in text


@pytest.mark.parametrize("estimator", ["random-forest", "logistic", "gradient-boosting"])
def test_estimators(data, table, estimator):
    X = as_features(table.drop(columns=["income", "trained"]))
    y = read_target(table, "income", "classification")
    model = make_estimator(estimator, X, "classification", 0)
    if estimator == "gradient-boosting":
        model[-1].set_params(max_iter=10)
    assert model.fit(X, y).score(X, y) > 0.6


@pytest.mark.parametrize("estimator", ["random-forest", "gradient-boosting", "mlp"])
def test_estimators_for_regression(table, estimator):
    X = as_features(table[["age", "city", "works"]])
    model = make_estimator(estimator, X, "regression", 0)
    assert type(model[-1]).__name__.endswith("Regressor")


@pytest.mark.usefixtures("one_attack")
def test_regression(run, data):
    code, text, _ = run(
        "--data", data, "--target", "noise", "--estimator", "random-forest", *QUICK[2:]
    )
    assert code == 0
    assert "Task: regression" in text
    assert "R2" in text


@pytest.mark.parametrize(
    "options, expected",
    [
        ([], ("auto", None, True)),
        (["--time-limit", "60"], ("auto", 60.0, True)),
        (["--quick"], (8, None, False)),
        (["--shadows", "6"], (6, None, True)),
    ],
)
def test_number_of_shadow_models(run, data, handed_over, options, expected):
    assert run("--data", data, "--target", "income", *QUICK[:2], *options)[0] in (0, 4)
    settings = handed_over[0].settings
    assert tuple(settings[name] for name in ("shadows", "time_budget", "file")) == expected


@pytest.mark.usefixtures("no_drawing")
def test_pool_grows_within_the_time_limit(run, data, one_attack, tmp_path):
    one_attack["attacks"] = {"LiRA": LiRA()}
    options = ["--data", data, "--target", "income", *QUICK[:2], *QUICK[4:], "--out", tmp_path]
    code, text, _ = run(*options, "--time-limit", "1e-6")
    document = json.loads((tmp_path / "audit.json").read_text())
    assert code == 0
    assert document["settings"]["n_shadows"] == 4
    assert document["growth"] is not None
    assert "beyond the time budget of 1e-06 seconds" in text.replace("\n  ", " ")


def test_seed_decides_and_jobs_do_not(run, data, handed_over):
    for jobs, seed in (("1", "0"), ("2", "0"), ("1", "1")):
        options = ["--estimator", "random-forest", "--shadows", "4", "--jobs", jobs, "--seed", seed]
        run("--data", data, "--target", "income", *options)
    one, two, other = handed_over
    answers = [each.victim.predict_proba(one.records.X) for each in handed_over]
    np.testing.assert_array_equal(one.membership, two.membership)
    np.testing.assert_array_equal(answers[0], answers[1])
    assert one.settings | {"n_jobs": 2} == two.settings
    assert (one.membership != other.membership).any() and (answers[0] != answers[2]).any()
    assert [each.settings["random_state"] for each in handed_over] == [0, 0, 1]


@pytest.mark.contract
def test_shadow_models_that_cannot_be_trained_are_no_fault_of_the_program(run, data, monkeypatch):
    def fail(*arguments, **settings):
        raise TrainingError("A shadow model could not be trained on its 3 of 6 records.")

    monkeypatch.setattr(_audit, "audit", fail)
    code, text, err = run("--data", data, "--target", "income", *QUICK)
    assert (code, text) == (2, "")
    assert err == "skmia audit: A shadow model could not be trained on its 3 of 6 records.\n"


def test_rows_of_one_person_are_on_one_side(run, data, table, handed_over):
    run("--data", data, "--target", "income", "--group-by", "person", *QUICK)
    _, records, membership, _ = handed_over[0]
    sides = pd.Series(membership).groupby(table["person"]).nunique()
    assert (sides == 1).all()
    assert membership.sum() == N // 2
    assert "person" not in records.X.columns


def test_random_half_is_stratified(table):
    from skmia import Records

    records = Records(np.arange(N)[:, None], table["income"])
    membership = _inputs._draw_members(records, True, 0)
    counts = pd.crosstab(table["income"], membership)
    assert (counts[False] - counts[True]).abs().max() <= 1


@pytest.mark.parametrize("bits", ["column", "words", "header", "bare"])
def test_members_that_are_given(run, data, table, tmp_path, handed_over, bits):
    trained = table["trained"]
    source = tmp_path / "members.csv"
    if bits == "column":
        source = "trained"
    elif bits == "words":
        source.write_text("\n".join(trained.map({0: "False", 1: "TRUE"})))
    elif bits == "header":
        trained.to_csv(source, index=False)
    else:
        trained.to_csv(source, index=False, header=False)
    assert np.array_equal(read_members(table, str(source)), trained == 1)
    if bits == "column":
        _, text, _ = run("--data", data, "--target", "income", "--members", "trained", *QUICK)
        np.testing.assert_array_equal(handed_over[0].membership, trained == 1)
        assert "random half" not in text


@pytest.mark.usefixtures("no_drawing")
def test_digits_without_any_option(run, tmp_path, monkeypatch, handed_over):
    from skmia import Records

    X = np.random.default_rng(0).normal(size=(220, 3))
    toy = Records(X, (X[:, 0] > 0).astype(int))
    monkeypatch.setattr(_inputs, "load_sklearn", lambda name: toy)
    code, text, err = run("--out", tmp_path, "--shadows", "4", "--jobs", "1", "--verbose")
    assert (code, err) == (0, "")
    assert isinstance(handed_over[0].victim, RandomForestClassifier)
    assert 0.1 in handed_over[0].settings["fprs"]
    assert "recognized" in text
    assert (tmp_path / "audit.json").exists()


def test_warnings_of_the_models_become_notes(run, data, one_attack, monkeypatch):
    one_attack["attacks"] = {"LiRA": LiRA()}
    monkeypatch.setitem(_model._SETTINGS, "logistic", {"max_iter": 1})
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        code, text, err = run("--data", data, "--target", "income", *QUICK)
    assert (code, err) == (0, "")
    assert "4 of 4 shadow models" in " ".join(text.split())


@FORKS
def test_process_prints_no_progress_into_a_pipe_even_if_its_reader_has_gone(table, tmp_path):
    # What is printed for a reader, the tests in this process show.
    reader, gone = os.pipe()
    os.close(reader)
    data = tmp_path / "table.csv"
    table.loc[:59, ["age", "noise", "income"]].fillna(0).to_csv(data, index=False)
    given = ["--data", data, "--target", "income", *QUICK]
    with open(tmp_path / "err", "w") as err:
        streams = {1: gone, 2: err.fileno()}
        assert run_forked("audit", *given, outputs=streams, folder=tmp_path) == 0
    assert (tmp_path / "err").read_text() == ""
    os.close(gone)


def test_a_program_whose_reader_has_gone():
    command = [sys.executable, "-W", "error", "-m", "skmia.cli"]  # which prints its help
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


@pytest.mark.usefixtures("audit_once", "one_attack", "no_drawing")
def test_values_are_on_the_page_only_when_asked_for(run, refuse, data, tmp_path):
    pytest.importorskip("jinja2")
    page = tmp_path / "report.html"
    # A forest reveals records, which the page lists.
    options = ["--data", data, "--target", "income", "--estimator", "random-forest", *QUICK[2:]]
    options += ["--out", tmp_path]
    run(*options)
    assert ">trained</bdi></th>" not in page.read_text()
    run(*options, "--show-values")
    assert ">trained</bdi></th>" in page.read_text()
    assert "--show-values goes with --data" in refuse("--show-values")


@pytest.mark.usefixtures("no_drawing", "one_attack")
def test_two_columns_of_groups_and_controls(run, data, tmp_path):
    options = ["--data", data, "--target", "income", "--group", "city", "trained", *QUICK]
    code, text, error = run(*options, "--controls", "--out", tmp_path)
    assert error == ""
    assert code == 0
    assert "city = Rome (" in text and "trained = " in text
    checks = json.loads((tmp_path / "audit.json").read_text())["checks"]
    assert [check["status"] for check in checks if "control" in check["name"]] == ["passed"] * 2
