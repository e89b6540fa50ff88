"""What a newcomer types first: bare files, no target, labels as text, a file of options."""

import subprocess
import sys

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier

from skmia.cli import main
from skmia.cli._model import _MODELS
from skmia.cli._options import ESTIMATORS, read_config

FEATURES = ["noise", "works"]
N_MEMBERS = 120


@pytest.fixture
def files(table, tmp_path):
    """A model of numbered labels, and its rows in one file and in two, with labels as text."""
    part = table[[*FEATURES, "trained", "income"]]
    members = part["trained"] == 1
    y = (part["income"] == ">50K").astype(int)
    model = DecisionTreeClassifier(random_state=0).fit(part.loc[members, FEATURES], y[members])
    joblib.dump(model, tmp_path / "model.joblib")
    part.to_csv(tmp_path / "people.csv", index=False)
    part.assign(income=y).to_csv(tmp_path / "numbered.csv", index=False)
    for name, rows in (("train", members), ("other", ~members)):
        table = part[rows].drop(columns="trained").assign(income=y[rows])
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    return tmp_path


QUICK = ["--trust-pickle", "--quick", "--jobs", "1"]
MAP = ["--label-map", "<=50K=0", ">50K=1"]


@pytest.mark.parametrize(
    ("names", "options"),
    [
        (["model.joblib", "train.csv", "other.csv"], []),
        (["model.joblib", "numbered.csv"], ["--members", "trained"]),
        (["model.joblib", "people.csv"], ["--members", "trained", *MAP]),
    ],
)
def test_files_without_options(run, files, handed_over, names, options):
    code, text, err = run(*(files / name for name in names), *options, *QUICK)
    assert (code, err) == (0, "")
    victim, records, membership, _ = handed_over[0]
    np.testing.assert_array_equal(victim.predict(records.X)[membership], records.y[membership])
    assert membership.sum() == N_MEMBERS and set(records.X) == set(FEATURES)
    assert "The target is the column 'income' (--target overrides)." in text


def test_one_table_without_a_model(run, files):
    code, _, err = run(files / "people.csv")
    assert code == 2
    assert "a table needs --target, the column that the model predicts" in err


WRONG = [
    (["train.csv", "model.joblib"], "files are a model and one table, or a model and two"),
    (["model.joblib", "train.csv", "other.csv", "people.csv"], "files are a model and one table"),
    (["model.joblib", "people.csv", "--model", "model.joblib"], "--model: given twice"),
    (["model.joblib", "people.csv"], "--model needs --members, or a second table of rows that"),
    (["model.joblib", "gone.csv", "--members", "trained"], "--data: file not found: "),
    (["model.joblib", "people.csv", "--members", "trained"], "Give --label-map '<=50K=0' '>50K=1'"),
    (
        ["model.joblib", "numbered.csv", "--members", "trained", "--drop", "income"],
        "--target is needed, as no column is what the model predicts",
    ),
]


@pytest.mark.parametrize(("words", "message"), WRONG)
def test_a_wrong_guess_is_one_sentence(run, files, monkeypatch, words, message):
    monkeypatch.chdir(files)
    code, text, err = run(*words, *QUICK)
    assert (code, text) == (2, "")
    assert message in err and err.count("\n") == 1


def test_a_column_that_may_be_the_target_too(run, files):
    frame = pd.read_csv(files / "numbered.csv").assign(owns=1)
    frame.loc[::2, "owns"] = 0
    frame.to_csv(files / "two.csv", index=False)
    words = files / "model.joblib", files / "two.csv", "--members", "trained", *QUICK
    code, _, err = run(*words)
    assert code == 2
    assert "what the model predicts: --target income or --target owns" in err


def test_the_target_of_a_regression(run, files, handed_over):
    frame = pd.read_csv(files / "numbered.csv")
    frame["spent"] = frame["noise"] * 2 + 0.5
    frame["income"] = frame["income"].map({0: "low", 1: "high"})
    frame.to_csv(files / "spent.csv", index=False)
    joblib.dump(LinearRegression().fit(frame[FEATURES], frame["spent"]), files / "line.joblib")
    code, text, err = run(
        files / "line.joblib", files / "spent.csv", "--members", "trained", *QUICK
    )
    assert code in (0, 4), err
    np.testing.assert_allclose(handed_over[0].records.y, frame["spent"])
    assert "The target is the column 'spent' (--target overrides)." in text


def test_options_from_a_file(run, files, handed_over, monkeypatch):
    monkeypatch.chdir(files)
    words = ["model.joblib", "people.csv", "--members", "trained", *MAP, *QUICK, "--fpr", "0.1"]
    whole = run(*words, "--fail-above", "auc=0.99", "--save-config", "audit.toml")
    assert whole[0] in (0, 1)
    again = run("--config", "audit.toml")
    assert again[0] == whole[0]
    assert again[1] == whole[1]
    first, second = handed_over
    assert first.settings == second.settings and first.settings["fprs"] == [0.1]
    np.testing.assert_array_equal(first.records.y, second.records.y)
    np.testing.assert_array_equal(first.membership, second.membership)
    saved = (files / "audit.toml").read_text()
    assert 'fail-above = ["auc=0.99"]\n' in saved and 'model = "model.joblib"\n' in saved
    assert read_config(["audit", "--config=audit.toml", "--fpr", "0.2"]).count("--fpr=0.1") == 0


def test_of_several_files_of_options_the_later_ones_win(tmp_path):
    texts = "seed = 1\nshadows = 4\nread = ['sep=;']\n", "seed = 2\nfpr = [0.1]\nread = ['sep=,']\n"
    for name, text in zip("ab", texts):
        (tmp_path / name).write_text(text)
    words = [f"--config={tmp_path / 'a'}", "--config", str(tmp_path / "b")]
    read = ["audit", "--shadows=4", "--read=sep=;", "--seed=2", "--fpr=0.1", "--read=sep=,"]
    assert read_config(["audit", *words, "--data", "d"]) == [*read, "--data", "d"]
    assert read_config(["audit", "--fpr", "1", *words]).count("--fpr=0.1") == 0
    (tmp_path / "a").write_text("no-page = true\ndrop = ['id']\nfpr = [0.1]\n")
    (tmp_path / "b").write_text("no-page = false\ndrop = []\n")
    assert read_config(["audit", *words]) == ["audit", "--fpr=0.1"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('config = "audit.toml"', "--config: a file names no other one; give --config for each"),
        ("shadows = ", "--config: audit.toml cannot be read: "),
        ("[shadows]\nn = 4", "--config: shadows must be the value of an option; got a table"),
        ("shadow = 4", "unrecognized arguments: --shadow=4"),
        ("shadows = 3", "argument --shadows: must be even and at least 4; got 3"),
    ],
)
def test_a_file_of_options_that_cannot_be_followed(run, tmp_path, monkeypatch, text, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "audit.toml").write_text(text)
    code, _, err = run("--config", "audit.toml")
    assert code == 2 and message in err
    assert run("--config", "gone.toml")[2].endswith("file not found: gone.toml\n")


def test_a_bare_command_prints_its_help(capsys):
    assert main([]) == 0
    assert capsys.readouterr().out.startswith("usage: skmia [-h]")


LOOK = """
import sys
from skmia.cli import main
for words in sys.argv[1:]:
    try:
        main(words.split())
    except SystemExit:
        pass
    loaded = sorted({"sklearn", "scipy", "pandas", "torch"} & set(sys.modules))
    print(f"{words} has loaded {loaded}", file=sys.stderr)
"""


def test_help_and_refusals_load_no_package():
    # One after the other in one process, which starts for longer than they take.
    calls = (
        "--help",
        "audit --help",
        "audit gone.skops gone.csv --quick",
        "compare gone.json b.json",
    )
    done = subprocess.run(
        [sys.executable, "-c", LOOK, *calls], capture_output=True, text=True, check=True
    )
    told = [line for line in done.stderr.splitlines() if " has loaded " in line]
    assert told == [f"{words} has loaded []" for words in calls]


def test_completion(capsys):
    pytest.importorskip("shtab")
    with pytest.raises(SystemExit):
        main(["--print-completion", "bash"])
    script = capsys.readouterr().out
    assert "--label-map" in script and "_shtab_compgen_files" in script


def test_names_of_the_estimators_are_those_that_can_be_made():
    assert set(ESTIMATORS) == {*_MODELS, "mlp"}
