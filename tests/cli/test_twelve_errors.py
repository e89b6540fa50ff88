"""Twelve errors of users: each is named first, with the command or the change that cures it."""

import html
import re
from typing import NamedTuple

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

N = 150  # rows of each side
NAMES = ["age", "income", "bmi", "dose"]
TWO = "model.joblib train.csv held_out.csv"


class Error(NamedTuple):
    """A command, what is said of it first, and what cures it."""

    words: str
    named: str
    cure: str
    code: int = 4


ERRORS = {
    "swapped files": Error(
        "tree.joblib held_out.csv train.csv",
        "Were the two files swapped? The model is right on",
        "--train train.csv --held-out held_out.csv",
    ),
    "equal files": Error(
        "model.joblib train.csv copy.csv",
        f"train.csv and copy.csv hold the same {N} rows",
        "give as --held-out",
        2,
    ),
    "the table of another model": Error(
        "another.joblib train.csv held_out.csv",
        "The model does not know these rows.",
        "Give the columns as they were in training",
    ),
    "columns reversed": Error(
        "plain.joblib reversed.csv reversed_out.csv",
        "With the columns in reverse order, the model is right",
        "in the order of training",
    ),
    "unscaled rows": Error(
        "scaled.joblib train.csv held_out.csv",
        "trained behind a scaler",
        "Give the pipeline, or the scaled table",
    ),
    "labels recoded": Error(
        "model.joblib recoded.csv recoded_out.csv",
        "are predicted as 1, and of those with label 1",
        "--label-map 0=1 1=0",
    ),
    "answers in another order": Error(
        "--data all.csv --members member --answers answers.csv",
        "they are in another order, or they belong to another table",
        "Give the answers for these rows, in the order of the rows",
    ),
    "held-out rows that are in the model": Error(
        "whole.joblib train.csv held_out.csv", "The held-out rows are in the model", "Give held-out"
    ),
    "a side of one class": Error(
        "model.joblib train.csv ones.csv",
        "all non-members are of the class 1",
        "Give rows of all classes on both sides. Set a random part",
    ),
    "texts for codes": Error(
        "model.joblib texts.csv texts_out.csv", "the model does not know", "--label-map", 2
    ),
    "a wrong column of groups": Error(
        f"{TWO} --group agegroup", "--group: column 'agegroup' not found", "did you mean", 2
    ),
    "a table with other columns": Error(
        "model.joblib other.csv other_out.csv", "the table lacks 1 of the model's 4", "dose", 2
    ),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two sides of a table with all that may be wrong with them, and models of them."""
    place, rng = tmp_path_factory.mktemp("twelve"), np.random.default_rng(0)
    X = rng.normal(size=(2 * N, 4))
    X[:, 3] = X[:, 0] + 0.3 * X[:, 3]
    table = pd.DataFrame(X * [12, 900, 4, 0.1] + [50, 3000, 27, 2], columns=NAMES)
    score = X @ [1.5, -1.0, 0.8, 0.5] + 0.4 * rng.logistic(size=2 * N)
    table["ill"] = (score > 0).astype(int)
    table["age_group"] = np.where(table["age"] > 50, "old", "young")
    for name, change in {
        "{}": lambda one: one,
        "reversed{}": lambda one: one[[*NAMES[::-1], "age_group", "ill"]],
        "recoded{}": lambda one: one.assign(ill=1 - one["ill"]),
        "texts{}": lambda one: one.assign(ill=one["ill"].map({0: "well", 1: "sick"})),
        "other{}": lambda one: one.rename(columns={"dose": "amount"}),
    }.items():
        for rows, end, whole in ((table[:N], "", "train"), (table[N:], "_out", "held_out")):
            path = name.format(end) if name != "{}" else whole
            change(rows).to_csv(place / f"{path}.csv", index=False)
    table[:N].to_csv(place / "copy.csv", index=False)
    table[N:][table["ill"][N:] == 1].to_csv(place / "ones.csv", index=False)
    table.assign(member=np.arange(2 * N) < N).to_csv(place / "all.csv", index=False)
    _write_models(place, table)
    return place


def _write_models(place, table):
    train, y = table[NAMES][:N], table["ill"][:N]
    scaler, linear = StandardScaler().fit(train), LogisticRegression(max_iter=5000)
    models = {
        "model": linear.fit(train, y),
        "tree": DecisionTreeClassifier(random_state=0).fit(train, y),
        "whole": DecisionTreeClassifier(random_state=0).fit(table[NAMES], table["ill"]),
        "plain": DecisionTreeClassifier(random_state=0).fit(train.to_numpy(), y),
        "scaled": LogisticRegression().fit(scaler.transform(train), y),
        "another": DecisionTreeClassifier(random_state=0).fit(train[::-1].set_axis(train.index), y),
    }
    for name, model in models.items():
        joblib.dump(model, place / f"{name}.joblib")
    answers = pd.DataFrame(models["tree"].predict_proba(table[NAMES]), columns=["0", "1"])
    answers.sample(frac=1, random_state=0).to_csv(place / "answers.csv", index=False)


@pytest.mark.usefixtures("no_drawing", "one_attack_and_clones")
@pytest.mark.parametrize("name", ERRORS)
def test_an_error_is_named_first_with_its_cure(name, folder, tmp_path, run, monkeypatch):
    error, out = ERRORS[name], tmp_path / "out"
    monkeypatch.chdir(folder)
    given = [*error.words.split(), "--target", "ill"]
    given += ["--trust-pickle"] if ".joblib" in error.words else []
    given += ["--drop", "age_group"] if "--group" not in error.words else []
    settings = ["--shadows", "4", "--jobs", "1", "--fpr", "0.1", "--seed", "0"]
    code, text, told = run(*given, *settings, "--out", out)
    print(code, text, told)
    assert code == error.code
    if error.code == 2:
        assert error.named in told and error.cure in told
        return
    flat = " ".join(text.split())
    sentence, steps = " ".join(text.split("\n\n")[1].split()), flat[flat.index("Next 1") :]
    assert error.named in sentence
    assert error.cure in sentence + steps
    page = (out / "report.html").read_text(encoding="utf-8")
    lead = html.unescape(re.sub(r"<[^>]+>", "", re.search(r'class="lead">(.*?)</p>', page)[1]))
    assert " ".join(lead.split()) == sentence
