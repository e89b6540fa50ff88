"""Wrong calls, as people make them: each ends with its documented code and one sentence."""

import os

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skmia.cli import main

USER = 2  # the code of a mistake in the command or in its input

DATA = "audit --data t.csv --target income"
MODEL = f"{DATA} --members trained --trust-pickle --model"
# A call, and words of its sentence.
CALLS = [
    # No command, or none that exists.
    ("--quick", "the following arguments are required: COMMAND"),
    ("adit", "invalid choice: 'adit'"),
    ("audit t.csv", "a table needs --target, the column that the model predicts"),
    (f"{DATA} --loud", "unrecognized arguments: --loud"),
    # The table.
    ("audit --data none.csv --target income", "--data: file not found: none.csv"),
    ("audit --data folder --target income", "--data: folder has no rows"),
    (
        "audit --data file --target income",
        "file is neither .csv, .csv.gz, .tsv, .tsv.gz, .parquet, .arrow, .feather nor a folder of "
        "parquet",
    ),
    ("audit --data empty.csv --target income", "empty.csv cannot be read"),
    ("audit --data head.csv --target income", "head.csv has no rows"),
    ("audit --data open.csv --target income", "a quotation mark in row 2 has no second one"),
    ("audit --data long.csv --target income", "has 3 fields in row 2 and 2 names of columns"),
    ("audit --data dots.csv --target income", "which can be 1234 or 1.234: --read decimal=,,thou"),
    (f"{DATA} --read sepp=;", "must be WORD=VALUE with a word of pandas.read_csv, as 'sep=;'"),
    (f"{DATA} --read answers.sep=;", "--read: no file is given as answers; the files are data"),
    (f"{DATA} --read dtype.ctiy=str", "--read dtype: column 'ctiy' not found; did you mean 'city"),
    ("audit --data twice.csv --target income", "twice.csv has two columns 'income'"),
    ("audit --data three.csv --target income", "only one row of the class 'high'"),
    # Its columns.
    ("audit --data t.csv", "a table needs --target"),
    ("audit --target income", "--target goes with --data"),
    ("audit --data t.csv --target", "argument --target: expected one argument"),
    ("audit --data t.csv --target Income", "column 'Income' not found; did you mean 'income'"),
    ("audit --data t.csv --target same", "holds one value only, '1'"),
    ("audit --data gap.csv --target income", "has no value in 1 of 60 rows, first in row 1"),
    ("audit --data t.csv --target pay --task classification", "'pay' holds fractions"),
    ("audit --data t.csv --target pay --estimator logistic", "logistic is a classifier"),
    (f"{DATA} --task regression", "'income' holds text, but a regression needs numbers"),
    (f"{DATA} --drop income", "column 'income' is the target and never a feature"),
    (f"{DATA} --drop age noise city same trained pay", "no features left"),
    (f"{DATA} --group town", "--group: column 'town' not found"),
    (f"{DATA} --group-by town", "--group-by: column 'town' not found"),
    (f"{DATA} --group-by same", "All records belong together"),
    # Who was a member.
    (f"{DATA} --members traind", "column 'traind' not found; did you mean 'trained'"),
    (f"{DATA} --members city", "city must hold 0/1 or true/false; got 'Oslo' in row 1"),
    (f"{DATA} --members same", "same names no non-member; the audit needs both"),
    (f"{DATA} --members short.txt", "short.txt has 2 values and the table 60 rows"),
    (f"{DATA} --member-value 1", "--member-value goes with --members"),
    (f"{DATA} --members city --member-value Paris", "city has no value 'Paris'"),
    ("audit --train t.csv --target income", "--train and --held-out go together"),
    ("audit --train t.csv --held-out head.csv --target income", "--held-out: head.csv has no rows"),
    # The model, or its answers.
    (f"{DATA} --model m.joblib", "--model needs --members"),
    (f"{MODEL} none.joblib", "--model: file not found: none.joblib"),
    (f"{DATA} --members trained --model m.joblib", "m.joblib is a pickle, and loading it would"),
    (f"{MODEL} t.csv", "t.csv is a table. skmia opens .skops"),
    (f"{MODEL} text.joblib", "text.joblib cannot be read"),
    (f"{MODEL} unfitted.joblib", "the LogisticRegression in the file is not fitted"),
    (f"{MODEL} scaler.joblib", "a classifier or a regressor is needed, and the file holds a Stan"),
    (f"{MODEL} clusters.joblib", "and the file holds a KMeans"),
    (f"{MODEL} settings.joblib", "and the file holds a dict"),
    (f"{MODEL} array.joblib", "the model takes 2 features and the table has 5"),
    (f"{MODEL} other.joblib", "the table lacks 1 of the model's 2 features: height"),
    (f"{MODEL} numbers.joblib", "'income' holds text, but a regression needs numbers"),
    (f"{MODEL} bits.joblib", "the model does not know 'high' and 'low'; its classes are"),
    (f"{MODEL} several.joblib", "DecisionTreeClassifier has several outputs for each record"),
    (f"{MODEL} m.joblib --estimator logistic", "--estimator goes with a model that is trained"),
    (f"{MODEL} m.joblib --label-map rich=high", "column 'income' has no label 'rich'"),
    (
        f"{DATA} --members trained --answers copy.csv",
        "the columns of copy.csv must be",
    ),
    (f"{DATA} --members trained --answers t.csv", "--data and --answers are the same file, t.csv"),
    (f"{DATA} --answers three.csv", "--answers needs --members"),
    (f"{DATA} --recipe mine --estimator logistic", "--recipe goes with --policy, --estimator"),
    # Numbers and choices.
    (f"{DATA} --shadows 3", "--shadows: must be even and at least 4; got 3"),
    (f"{DATA} --shadows 1e3", "--shadows: must be auto or a whole number; got '1e3'"),
    (f"{DATA} --fpr 1%", "--fpr: must be a fraction between 0 and 1; got '1%'"),
    (f"{DATA} --jobs 0", "--jobs: must be at least 1"),
    (f"{DATA} --seed -1", "--seed: must lie between 0 and 2**32 - 1; got -1"),
    (f"{DATA} --estimator svm", "--estimator: invalid choice: 'svm'"),
    (f"{DATA} --format yaml", "--format: invalid choice: 'yaml'"),
    (f"{DATA} --quick --shadows 8", "--quick goes without --shadows"),
    # Limits, policies and folders.
    (f"{DATA} --fail-above auc>0.6", "must be NAME=LIMIT"),
    (f"{DATA} --fail-above auc=60", "must have a limit between 0 and 1; got 'auc=60'"),
    (f"{DATA} --fail-above tpr@0.05=0.1", "tpr@0.05 is not reported; available rates: 0.01"),
    (f"{DATA} --fail-above group:city=Rome:auc=0.6", "'city' is not reported; see --group"),
    (f"{DATA} --policy strict", "there is no file 'strict'"),
    (f"{DATA} --policy bad.toml", "'bad.toml' is not valid TOML"),
    (f"{DATA} --policy own.toml", "own has no limits for a service (see --release)"),
    (f"{DATA} --release table", "--release: invalid choice: 'table'"),
    (f"{DATA} --decimals 2", "--decimals goes with --policy"),
    (f"{DATA} --measure-conditions", "--measure-conditions goes with --policy"),
    (f"{DATA} --out file", "--out: cannot write into file"),
    (f"{DATA} --checkpoint file", "--checkpoint: cannot write into file"),
    # The other commands.
    ("inspect", "the following arguments are required: MODEL"),
    ("inspect none.joblib", "MODEL: file not found: none.joblib"),
    ("inspect m.joblib", "m.joblib is a pickle"),
    (
        "inspect settings.joblib --trust-pickle",
        "is needed, and the file holds a dict",
    ),
    ("inspect unfitted.joblib --trust-pickle", "this LogisticRegression is not"),
    ("inspect m.joblib --trust-pickle --target income", "--target goes with --data"),
    ("inspect m.joblib --trust-pickle --data t.csv --target town", "column 'town' not found"),
    ("inspect numbers.joblib --trust-pickle --data t.csv", "--data needs --target for a regressor"),
    ("report none.json", "none.json: No such file"),
    ("report t.csv", "t.csv is not valid JSON"),
    ("report other.json", "other.json was not written by skmia audit"),
    ("compare other.json", "the following arguments are required: B"),
    ("compare other.json other.json", "other.json was not written by skmia audit"),
    ("policy", "the following arguments are required: action"),
    ("policy list cautious", "invalid choice: 'list'"),
    ("policy show strict", "there is no file 'strict'"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Tables, models and other files, right ones and wrong ones."""
    folder, n, rng = tmp_path_factory.mktemp("calls"), 60, np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "age": rng.normal(40, 10, n).round(1),
            "noise": rng.normal(size=n),
            "city": ["Oslo", "Rome"] * (n // 2),
            "same": 1,
            "trained": [0, 1] * (n // 2),
            "pay": rng.normal(size=n),
            "income": ["high", "low", "low"] * (n // 3),
        }
    )
    table.to_csv(folder / "t.csv", index=False)
    table.to_csv(folder / "copy.csv", index=False)
    table.head(3).to_csv(folder / "three.csv", index=False)
    table.assign(income=[None, *table["income"][1:]]).to_csv(folder / "gap.csv", index=False)
    X = table[["age", "noise"]]
    models = {
        "m": LogisticRegression().fit(X, table["income"]),
        "array": LogisticRegression().fit(X.to_numpy(), table["income"]),
        "bits": LogisticRegression().fit(X, table["trained"]),
        "other": LogisticRegression().fit(X.rename(columns={"age": "height"}), table["income"]),
        "several": DecisionTreeClassifier().fit(X, table[["trained", "same"]]),
        "numbers": LinearRegression().fit(X, table["pay"]),
        "unfitted": LogisticRegression(),
        "scaler": StandardScaler().fit(X),
        "clusters": KMeans(2, n_init=1, random_state=0).fit(X),
        "settings": {"C": 1.0},
    }
    for name, model in models.items():
        joblib.dump(model, folder / f"{name}.joblib")
    texts = {
        "empty.csv": "",
        "head.csv": "age,income\n",
        "twice.csv": "income,income\n1,high\n2,low\n3,high\n4,low\n",
        "open.csv": 'name,income\nJosé,high\n"Ana,low\n',
        "long.csv": "name,income\nJosé,high\nAna,low,x\nEva,high\n",
        "dots.csv": "pay;income\n1.234;high\n2.345;low\n",
        "short.txt": "0\n1\n",
        "text.joblib": "no model",
        "bad.toml": "limits = [",
        "own.toml": 'name = "own"\nversion = 1\n[limits.file]\nauc = 0.6\n',
        "other.json": '{"schema": "of another program"}',
        "file": "",
    }
    for name, text in texts.items():
        (folder / name).write_text(text, "utf-8")
    (folder / "folder").mkdir()
    return folder


def test_there_are_forty_of_them():
    assert len({call for call, _ in CALLS}) == len(CALLS) >= 40


@pytest.mark.parametrize(("call", "words"), CALLS, ids=[call or "nothing" for call, _ in CALLS])
def test_a_wrong_call(folder, monkeypatch, capsys, call, words):
    monkeypatch.chdir(folder)
    before = sorted(os.listdir())
    assert main(call.split()) == USER
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith("skmia")
    assert words in err
    assert "Traceback" not in err
    assert sorted(os.listdir()) == before  # found before anything is written
