"""Rows of classes that the model does not know, in files."""

import json

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import GaussianNB

FEATURES = [f"x{k}" for k in range(6)]
QUICK = ["--trust-pickle", "--quick", "--jobs", "1"]
N_CLASSES, N_EACH = 30, 6


@pytest.fixture(scope="module")
def rare():
    """Thirty classes of six rows, of which one has no member, and the rows of that class."""
    rng = np.random.default_rng(14)
    label = np.repeat(np.arange(N_CLASSES), N_EACH)
    frame = pd.DataFrame(rng.normal(size=(N_CLASSES, 6))[label], columns=FEATURES)
    frame += rng.normal(size=frame.shape)
    frame["number"], frame["name"] = label, [f"class {k}" for k in label]
    inside = (rng.permutation(len(label)) < len(label) // 2) & (label != 7)
    frame["trained"] = inside.astype(int)
    assert set(label) - set(label[inside]) == {7}
    return frame


def say_lost(frame):
    n = int((frame["trained"] == 0).sum())
    return f"{N_EACH} of {n} non-members have a label that the model does not know"


def write_model(frame, target, folder):
    members = frame[frame["trained"] == 1]
    model = GaussianNB().fit(members[FEATURES], members[target])
    joblib.dump(model, folder / "model.joblib")
    return model


@pytest.mark.usefixtures("no_drawing", "one_attack")
@pytest.mark.parametrize(("target", "two"), [("number", False), ("name", True)])
def test_a_model_and_tables_with_a_class_that_it_does_not_know(rare, tmp_path, run, target, two):
    write_model(rare, target, tmp_path)
    frame, inside = rare[[*FEATURES, target, "trained"]], rare["trained"] == 1
    if two:
        for name, rows in (("train", inside), ("other", ~inside)):
            frame[rows].drop(columns="trained").to_csv(tmp_path / f"{name}.csv", index=False)
        tables = [tmp_path / "train.csv", tmp_path / "other.csv"]
    else:
        frame.to_csv(tmp_path / "all.csv", index=False)
        tables = [tmp_path / "all.csv", "--members", "trained"]
    out = tmp_path / "report"
    show = ["--show-values", "--out", out]
    code, text, err = run(tmp_path / "model.joblib", *tables, *QUICK, *show)
    assert (code, err) == (0, "")
    told = say_lost(rare)
    assert told in " ".join(text.split())
    assert f"The target is the column {target!r}" in text
    document = json.loads((out / "audit.json").read_text())
    assert document["data"]["unknown_classes"]["unknown_nonmembers"] == N_EACH
    assert any(told in note for note in document["notes"])
    assert (out / "report.html").exists()


@pytest.mark.usefixtures("one_attack")
def test_answers_without_a_column_for_a_class(rare, tmp_path, run):
    model = write_model(rare, "name", tmp_path)
    rare[[*FEATURES, "name", "trained"]].to_csv(tmp_path / "all.csv", index=False)
    answers = pd.DataFrame(model.predict_proba(rare[FEATURES]), columns=model.classes_)
    answers.to_csv(tmp_path / "answers.csv", index=False)
    options = ["--target", "name", "--members", "trained", "--answers", tmp_path / "answers.csv"]
    code, text, err = run("--data", tmp_path / "all.csv", *options, "--quick", "--jobs", "1")
    assert (code, err) == (0, "")
    told = say_lost(rare)
    assert told in " ".join(text.split())


def test_many_unknown_labels_are_refused_with_the_cure(rare, tmp_path, run):
    write_model(rare, "number", tmp_path)
    frame = rare[[*FEATURES, "number", "trained"]].copy()
    is_other = frame["number"] % 3 == 0
    frame.loc[is_other, "number"] += 100
    frame.to_csv(tmp_path / "all.csv", index=False)
    tables = [tmp_path / "all.csv", "--members", "trained", "--target", "number"]
    code, _, err = run(tmp_path / "model.joblib", *tables, *QUICK)
    assert code == 2
    assert "--target: the model does not know '7', '100', '103'" in err and "--label-map" in err
