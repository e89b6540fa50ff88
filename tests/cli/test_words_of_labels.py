"""The words of the table for its labels, where the model has others: everywhere, and alone."""

import json
import re

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from skmia import Records, audit
from skmia.attacks import ThresholdAttack
from skmia.cli import main

WORDS = ["<=50K", ">50K"]


@pytest.fixture(scope="module")
def audited(tmp_path_factory, one_attack_in_module):
    """The folder of an audit of a model of numbers, on a table with words, and what it printed."""
    folder, rng, n = tmp_path_factory.mktemp("words"), np.random.default_rng(0), 160
    X = pd.DataFrame(rng.normal(size=(n, 3)).round(3), columns=["a", "b", "c"])
    number = (X["a"] + rng.normal(0, 1.0, n) > 0).astype(int)
    members = np.arange(n) % 2 == 0
    model = RandomForestClassifier(5, random_state=0).fit(X[members], number[members])
    joblib.dump(model, folder / "model.joblib")
    table = X.assign(income=np.array(WORDS)[number])
    table[members].to_csv(folder / "train.csv", index=False)
    table[~members].to_csv(folder / "held_out.csv", index=False)
    call = ["audit", *(str(folder / name) for name in ("model.joblib", "train.csv"))]
    call += [str(folder / "held_out.csv"), "--trust-pickle", "--quick", "--jobs", "1"]
    call += ["--target", "income", "--fpr", "0.1", "--show-values", "--policy", "cautious"]
    call += ["--label-map", "<=50K=0", ">50K=1", "--out", str(folder / "out")]
    call += ["--fail-above", "group:class=>50K:auc=0.999"]
    code = main(call)
    assert code in (0, 1, 4)
    return folder / "out"


def test_the_document_has_them(audited):
    document = json.loads((audited / "audit.json").read_text())
    classes = {row["group"] for row in document["results"] if row["scope"] == "class"}
    assert classes == set(WORDS)
    limits = {row["group"] for row in document["recommendation"]["limits"]}
    assert {f"class={word}" for word in WORDS} <= limits
    assert "class: 1" not in json.dumps(document)


def test_page_and_sheet_have_them(audited):
    pytest.importorskip("jinja2")
    for name in ("report.html", "decision.html"):
        page = (audited / name).read_text()
        assert "class: &gt;50K" in re.sub("<[^>]+>", "", page)
        assert not re.search(r"class: [01]\b", page)


def test_records_of_python_have_them_as_well():
    X = np.random.default_rng(0).normal(size=(120, 2))
    y = (X[:, 0] > 0).astype(int)
    records = Records(X, y, class_name=np.array(WORDS)[y])
    members = np.arange(120) % 2 == 0
    model = RandomForestClassifier(5, random_state=0).fit(X[members], y[members])
    attacks = {"threshold (loss)": ThresholdAttack()}
    report = audit(model, records, members, attacks=attacks, fprs=[0.1], file=False, random_state=0)
    frame = report.results
    assert set(frame.loc[frame["scope"] == "class", "group"]) == set(WORDS)
