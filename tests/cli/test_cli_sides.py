"""Two files that are equal, overlap or are swapped, and rows that a model file counts."""

import json
import re
import shlex

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

N = 200
QUICK = ["--target", "y", "--shadows", "4", "--jobs", "1", "--fpr", "0.1", "--seed", "0"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two files, a forest of the first one, and a table of both with two codings of members."""
    place = tmp_path_factory.mktemp("sides")
    X, y = make_classification(2 * N, 6, n_informative=4, flip_y=0.2, random_state=0)
    table = pd.DataFrame(X, columns=list("abcdef")).assign(y=y)
    train, others = table[:N], table[N:]
    train.to_csv(place / "train.csv", index=False)
    others.to_csv(place / "others.csv", index=False)
    train[::-1][list("yfedcba")].to_csv(place / "same.csv", index=False)
    train[:80].to_csv(place / "part.csv", index=False)
    pd.concat([train[:120], others[120:]]).to_csv(place / "mixed.csv", index=False)
    bits = np.arange(2 * N) >= N  # 1 is for others
    table.assign(bit=bits.astype(int), word=np.where(bits, "mine", "theirs")).to_csv(
        place / "all.csv", index=False
    )
    forest = RandomForestClassifier(20, random_state=0).fit(train.drop(columns="y"), train["y"])
    joblib.dump(forest, place / "forest.joblib")
    return place


def call(run, folder, *words):
    model = ["--model", folder / "forest.joblib", "--trust-pickle"]
    return run(*model, *QUICK, *words)


@pytest.mark.parametrize(
    "name, told",
    [
        ("same", "train.csv and same.csv hold the same 200 rows, so none of them is held out"),
        ("part", "all 80 rows of part.csv are also among the 200 of train.csv"),
        ("mixed", "120 of the 200 rows of mixed.csv are also among the 200 of train.csv"),
    ],
)
def test_files_of_the_same_rows_are_refused(run, folder, name, told):
    halves = ["--train", folder / "train.csv", "--held-out", folder / f"{name}.csv"]
    code, _, error = call(run, folder, *halves)
    assert code == 2 and f"--train, --held-out: {told}; give as --held-out" in error


@pytest.mark.usefixtures("no_drawing", "one_attack")
@pytest.mark.parametrize(
    "given, swapped",
    [
        (
            ["--train", "others.csv", "--held-out", "train.csv"],
            "--train train.csv --held-out others.csv",
        ),
        (["--data", "all.csv", "--members", "bit", "--drop", "word"], "--member-value 0"),
    ],
)
def test_swapped_sides_are_told_with_the_command_that_swaps_them(run, folder, given, swapped):
    given = [folder / word if word.endswith(".csv") else word for word in given]
    out = folder / f"out{len(given)}{len(swapped)}"
    code, text, error = call(run, folder, *given, "--out", out)
    assert code == 4
    assert f"Were the two {'files' if '--train' in given else 'sides'} swapped?" in error
    flat = " ".join(text.split())
    if "--train" in given:
        assert "Were the two files swapped? The model is right on" in flat
        assert re.search(r"right on \d+% of others.csv and on 100% of train.csv", flat)
    else:
        assert "Were the two sides swapped? The model is right on" in flat
    assert f"Swap the two sides. skmia audit {shlex.join(shlex.split(swapped))}" in flat or (
        swapped in flat
    )
    document = json.loads((out / "audit.json").read_text())
    assert document["evidence"] == "reversed"
    assert swapped in document["settings"]["command"]["swapped"]
    assert swapped in (out / "report.html").read_text()


@pytest.mark.usefixtures("handed_over", "no_drawing")
def test_the_command_that_swaps_them_names_the_other_word(run, folder, tmp_path):
    given = ["--data", folder / "all.csv", "--members", "word", "--member-value", "mine"]
    call(run, folder, *given, "--drop", "bit", "--out", tmp_path)
    command = json.loads((tmp_path / "audit.json").read_text())["settings"]["command"]
    assert "--member-value theirs" in command["swapped"]
