"""Files that people bring and that are not what the command takes: each is named, with the cure."""

import gzip
import json
import pickle
import re
import sys
from types import ModuleType
from zipfile import ZipFile

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import OneClassSVM

from skmia.cli import main
from skmia.cli._other_objects import describe_unpickling

# Words of packages that no message holds, in lower case; a torch net is named as what it is.
FOREIGN = (
    "numpy ndarray dtype ufunc tensor( pandas dataframe.iloc traceback 0x .cpp .cc: .hpp sklearn. "
    "np. stack trace"
).split(" ")

TRUST = "--trust-pickle --quick --jobs 1"
OF = "tr.csv ho.csv --target state"
LOGIT = f"audit logit.joblib %s --target state {TRUST}"
NETS = "in Python, through skorch"
ANSWERS = "--answers"
CALLS = [
    # Models of other kinds, by their names.
    *((f"audit model.{kind} tr.csv ho.csv", ANSWERS) for kind in "keras h5 hdf5 pmml".split()),
    *((f"audit model.{kind} tr.csv ho.csv", ANSWERS) for kind in "rds RData mlmodel pb".split()),
    *((f"audit model.{kind} tr.csv ho.csv", NETS) for kind in "pt pth ckpt safetensors".split()),
    ("audit model.gguf tr.csv ho.csv", "Language models"),
    ("audit model.tflite tr.csv ho.csv", "a TensorFlow Lite model"),
    ("audit model.zip tr.csv", "is an archive. skmia opens .skops"),
    ("audit model.tar.gz tr.csv", "Unpack it"),
    ("audit model.foo tr.csv ho.csv", "of a kind that is not known. skmia opens .skops"),
    ("audit model.h5 --train tr.csv --held-out ho.csv", "an HDF5 file"),
    ("inspect model.pt", NETS),
    ("inspect model.keras", "skmia audit --answers FILE"),
    ("inspect m.onnx", "which skmia audit opens and skmia inspect does not"),
    # By what is in them.
    ("audit net.pkl tr.csv ho.csv --trust-pickle", NETS),
    ("audit hdf.skops tr.csv ho.csv", "an HDF5 file"),
    ("audit pickle.skops tr.csv ho.csv", "is a pickle: rename it to pickle.pkl"),
    ("audit skops.pkl tr.csv ho.csv --trust-pickle", "a skops file: rename it to skops.skops"),
    ("audit pickle.sav tr.csv ho.csv", "is a pickle: rename it to pickle.pkl"),
    ("audit finalized tr.csv", "is a pickle: rename it to finalized.pkl"),
    ("audit tr.csv ho.csv model.h5", "--model: model.h5 is an HDF5 file"),
    ("audit params.json tr.csv ho.csv --estimator logistic --target state", ANSWERS),
    ("audit text.txt tr.csv ho.csv --estimator logistic --target state", "not a model of LightGBM"),
    # Folders.
    ("audit mlflow tr.csv ho.csv", "an MLflow model. skmia opens .skops"),
    ("audit mlflow tr.csv ho.csv", "such as mlflow/model.pkl in this folder"),
    ("audit hugging tr.csv ho.csv", "a model of Hugging Face"),
    ("audit saved tr.csv ho.csv", "a TensorFlow model"),
    ("audit plain tr.csv ho.csv", "a folder and not a file"),
    ("inspect hugging", "a model of Hugging Face"),
    # Tables of other kinds, and files in another order.
    *(
        (f"audit --data table.{kind} --target state", "save it as .csv or .parquet")
        for kind in ("xlsx", "sav", "dta", "sas7bdat")
    ),
    ("audit model.xlsx tr.csv ho.csv", "an Excel table"),
    (LOGIT % "tr.csv model.h5", "an HDF5 file, as of a Keras model, and a table is needed"),
    ("audit tr.csv logit.joblib ho.csv", "The model comes first: logit.joblib tr.csv ho.csv"),
    ("audit tr.csv logit.joblib", "The model comes first: logit.joblib tr.csv"),
    ("table tr.csv model.h5", "REAL: model.h5 is an HDF5 file"),
    # What a pickle holds.
    (f"audit isolation.joblib {OF} {TRUST}", "an IsolationForest, which detects outliers"),
    (f"audit one_class.joblib {OF} {TRUST}", "OneClassSVM, which detects outliers"),
    (f"audit clusters.joblib {OF} {TRUST}", "a KMeans, which finds clusters"),
    (f"audit pca.joblib {OF} {TRUST}", "a PCA, which transforms"),
    (f"audit steps.joblib {OF} {TRUST}", "a Pipeline that ends in PCA"),
    (f"audit tuple.joblib {OF} {TRUST}", "joblib.dump(saved[0], 'model.joblib'), or a Pipeline of"),
    (f"audit bundle.joblib {OF} {TRUST}", "joblib.dump(saved['model'], 'model.joblib')"),
    (f"audit list.joblib {OF} {TRUST}", "a list (int and int)"),
    (f"audit none.joblib {OF} {TRUST}", "nothing (None)"),
    (f"audit array.joblib {OF} {TRUST}", "an array, not a model"),
    (f"audit frame.joblib {OF} {TRUST}", "a table, not a model"),
    (f"audit function.joblib {OF} {TRUST}", "a function (len)"),
    (f"audit class.joblib {OF} {TRUST}", "the class LogisticRegression"),
    (f"audit no_refit.joblib {OF} {TRUST}", "save one with refit=True"),
    (f"audit unfitted.joblib {OF} {TRUST}", "the LogisticRegression in the file is not fitted"),
    (f"audit no_module.joblib {OF} {TRUST}", "PYTHONPATH=FOLDER skmia"),
    (f"audit package.joblib {OF} {TRUST}", "pip install category-encoders"),
    (f"audit script.joblib {OF} {TRUST}", "defined in a script or notebook"),
    (f"audit no_name.joblib {OF} {TRUST}", "install the version with which the model was saved"),
    (f"audit damaged.joblib {OF} {TRUST}", "no attribute 'coef_'. It is damaged, or was saved"),
    (f"audit several.joblib {OF} {TRUST}", "has several outputs for each record"),
    (f"audit targets.joblib tr.csv ho.csv --target pay {TRUST}", "answers with 2 numbers"),
    (f"inspect bundle.joblib {TRUST.split()[0]}", "the file holds a dict"),
    # What a table holds.
    (LOGIT % "empty.csv ho.csv", "empty.csv cannot be read"),
    (LOGIT % "head.csv ho.csv", "head.csv has no rows"),
    (LOGIT % "same_state.csv same_state_too.csv", "'state' holds one value only, 'ill'"),
    (LOGIT % "tr.csv no_bmi.csv", "no_bmi.csv lacks the other's columns 'bmi'"),
    (LOGIT % "no_bmi.csv no_bmi_too.csv", "lacks 1 of the model's 2 features: bmi"),
    (LOGIT % "no_state.csv no_state_too.csv", "column 'state' not found"),
    (
        f"audit logit.joblib no_state.csv no_state_too.csv {TRUST}",
        "none holds its classes 'ill' and",
    ),
    (LOGIT % "tr.csv no_state.csv", "no_state.csv lacks the other's columns 'state'"),
    (LOGIT % "gap.csv ho.csv", "column 'bmi'"),
    (LOGIT % "all_gap.csv all_gap_too.csv", "column 'bmi'"),
    (LOGIT % "infinite.csv ho.csv", "column 'bmi' holds an infinite number in 1 of 160 rows"),
    (LOGIT % "dates.csv dates_too.csv", "2020-01-01"),
    (LOGIT % "question.csv ho.csv", "column 'bmi'"),
    (LOGIT % "other_state.csv ho.csv", "only one row of the class 'other'"),
    (LOGIT % "no_label.csv ho.csv", "no value in 1 of 160 rows, first in row 4"),
    (LOGIT % "broken.csv.gz ho.csv", "Compressed file ended before"),
    (LOGIT % "no.csv.gz ho.csv", "Not a gzipped file"),
    (LOGIT % "no.parquet ho.csv", "no.parquet cannot be read"),
    (LOGIT % "one.csv ho.csv", "too few members or non-members"),
    (f"audit numbers.joblib tr.csv ho.csv --target smoker {TRUST}", "'smoker' holds text"),
    (f"audit numbered.joblib tr.csv ho.csv --target code {TRUST}", "'code' is a feature of the"),
    (f"audit nameless.joblib {OF} {TRUST}", "the model takes 2 features and the table has 5"),
    (f"audit encoded.joblib maybe.csv maybe_too.csv --target state {TRUST}", "'maybe'"),
]
BOOSTERS = [
    (f"audit xgb.joblib maybe.csv maybe_too.csv --target code {TRUST}", "XGBClassifier"),
    (f"audit booster.joblib {OF} {TRUST}", "a Booster of xgboost without its estimator"),
    (f"audit quantiles.joblib tr.csv ho.csv --target pay {TRUST}", "answers with 3 numbers"),
    ("audit model.ubj tr.csv ho.csv --estimator logistic --target code", "model.ubj cannot be"),
]
STATSMODELS = [
    (f"audit logit.pkl {OF} {TRUST}", "a result of statsmodels (BinaryResults)"),
    (f"audit ols.pkl tr.csv ho.csv --target pay {TRUST}", "a result of statsmodels (Regression"),
]


def make_table(n=160):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "age": rng.normal(40, 10, n).round(1),
            "bmi": rng.normal(27, 5, n).round(1),
            "smoker": rng.choice(["yes", "no"], n),
            "state": np.where(rng.random(n) < 0.5, "ill", "well"),
            "pay": rng.normal(size=n).round(3),
        }
    )
    return table.assign(code=(table["state"] == "ill").astype(int))


def save_tables(folder, table):
    train, held_out = table[:80], table[80:]
    fourth = np.arange(80) == 3
    tables = {
        "tr": train,
        "ho": held_out,
        "head": train[:0],
        "one": train[:1],
        "same_state": train.assign(state="ill"),
        "no_bmi": train.drop(columns="bmi"),
        "no_state": train.drop(columns=["state", "code"]),
        "gap": train.assign(bmi=train["bmi"].mask(fourth)),
        "all_gap": train.assign(bmi=np.nan),
        "infinite": train.assign(bmi=train["bmi"].mask(fourth, np.inf)),
        "dates": train.assign(bmi="2020-01-01"),
        "question": train.assign(bmi=train["bmi"].astype(str).mask(fourth, "?")),
        "other_state": train.assign(state=train["state"].mask(fourth, "other")),
        "no_label": train.assign(state=train["state"].mask(fourth)),
        "maybe": train.assign(smoker="maybe"),
    }
    for name, frame in tables.items():
        for file in (name, f"{name}_too"):
            frame.to_csv(folder / f"{file}.csv", index=False)
    whole = train.to_csv(index=False).encode()
    (folder / "broken.csv.gz").write_bytes(gzip.compress(whole)[:300])
    (folder / "no.csv.gz").write_bytes(whole)


def save_models(folder, table):
    train = table[:80]
    X, y = train[["age", "bmi"]], train["state"]
    logit, mixed = LogisticRegression().fit(X, y), train[["age", "smoker"]]
    encoder = make_column_transformer((OneHotEncoder(), ["smoker"]), remainder="passthrough")
    search = GridSearchCV(LogisticRegression(), {"C": [1, 2]}, refit=False, cv=2)
    damaged = LogisticRegression().fit(X, y)
    del damaged.coef_
    two = np.column_stack([train["code"], 1 - train["code"]])
    models = {
        "logit": logit,
        "unfitted": LogisticRegression(),
        "isolation": IsolationForest(n_estimators=3).fit(X),
        "one_class": OneClassSVM().fit(X),
        "clusters": KMeans(2, n_init=1).fit(X),
        "pca": PCA(1).fit(X),
        "steps": make_pipeline(StandardScaler(), PCA(1)).fit(X),
        "tuple": (logit, StandardScaler().fit(X)),
        "bundle": {"model": logit, "features": ["age", "bmi"]},
        "list": [1, 2],
        "none": None,
        "array": np.eye(3),
        "frame": train,
        "function": len,
        "class": LogisticRegression,
        "no_refit": search.fit(X, y),
        "damaged": damaged,
        "several": MultiOutputClassifier(LogisticRegression()).fit(X, two),
        "targets": LinearRegression().fit(X, train[["pay", "age"]]),
        "numbers": LinearRegression().fit(X, train["pay"]),
        "numbered": LogisticRegression().fit(train[["age", "code"]], train["code"]),
        "nameless": LogisticRegression().fit(X.to_numpy(), y),
        "encoded": make_pipeline(encoder, LogisticRegression()).fit(mixed, y),
    }
    for name, model in models.items():
        joblib.dump(model, folder / f"{name}.joblib")
    for name, place in {
        "no_module": "my_module",
        "package": "category_encoders",
        "script": "my_script",
        "no_name": "my_string",
    }.items():
        (folder / f"{name}.joblib").write_bytes(pickle_elsewhere(place, logit))
    text = (folder / "logit.joblib").read_bytes()
    (folder / "pickle.skops").write_bytes(text)
    (folder / "pickle.sav").write_bytes(text)
    (folder / "finalized").write_bytes(text)


# Modules of the same length in a pickle, which cannot be imported or lack the class.
_ELSEWHERE = {"my_script": "__main__", "my_string": "string"}


def pickle_elsewhere(name, model):
    """A pickle of a class in a module that is gone when the pickle is opened."""
    name = _ELSEWHERE.get(name, name)
    kept = sys.modules.get(name)
    module = ModuleType(name)
    module.Mine = type("Mine", (LogisticRegression,), {"__module__": name, "__qualname__": "Mine"})
    sys.modules[name] = module
    try:
        mine = module.Mine()
        vars(mine).update(vars(model))
        return pickle.dumps(mine)
    finally:
        sys.modules.pop(name)
        if kept is not None:
            sys.modules[name] = kept


def save_others(folder):
    names = "keras h5 hdf5 pmml rds RData mlmodel pb pt pth ckpt safetensors gguf tflite zip tar.gz"
    for kind in f"{names} foo xlsx".split():
        (folder / f"model.{kind}").write_bytes(b"x")
    for name in ("table.xlsx", "table.sav", "table.dta", "table.sas7bdat", "m.onnx", "model.ubj"):
        (folder / name).write_bytes(b"x")
    (folder / "hdf.skops").write_bytes(b"\x89HDF\r\n\x1a\nrest")
    for name, member in {"net.pkl": "net/data.pkl", "skops.pkl": "schema.json"}.items():
        with ZipFile(folder / name, "w") as archive:
            archive.writestr(member, "{}")
    (folder / "params.json").write_text('{"C": 1}')
    (folder / "text.txt").write_text("hello")
    (folder / "empty.csv").write_text("")
    (folder / "no.parquet").write_bytes(b"abc")
    for place in ("mlflow/MLmodel", "mlflow/model.pkl", "hugging/config.json", "plain/a.txt"):
        (folder / place).parent.mkdir(exist_ok=True)
        (folder / place).write_text("{}")
    (folder / "saved").mkdir()
    (folder / "saved" / "saved_model.pb").write_bytes(b"x")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inputs")
    table = make_table()
    save_tables(folder, table)
    save_models(folder, table)
    save_others(folder)
    return folder


def check_refusal(call, words, capsys):
    """One line with the words and none of other packages, and a code that is the user's."""
    code = main(call.split())
    out, err = capsys.readouterr()
    assert code in (2, 4), err
    assert err.count("\n") == 1
    assert words in err
    assert not [word for word in FOREIGN if word in err.lower()]
    assert not re.search(r"\b__\w+__\b", err)
    return out


def test_there_are_more_than_thirty():
    assert len({call for call, _ in CALLS}) > 30


@pytest.mark.usefixtures("one_attack")
@pytest.mark.parametrize(("call", "words"), CALLS, ids=[f"{c[6:40]}-{w[:20]}" for c, w in CALLS])
def test_a_wrong_input(folder, monkeypatch, capsys, call, words):
    monkeypatch.chdir(folder)
    check_refusal(call, words, capsys)


@pytest.mark.parametrize(("call", "words"), BOOSTERS, ids=[call.split()[1] for call, _ in BOOSTERS])
def test_a_booster(folder, monkeypatch, capsys, call, words):
    xgboost = pytest.importorskip("xgboost")
    train = make_table()[:80]
    mixed = train[["age"]].assign(smoker=train["smoker"].astype("category"))
    name = call.split()[1]
    if name == "quantiles.joblib":
        several = {"objective": "reg:quantileerror", "quantile_alpha": np.array([0.1, 0.5, 0.9])}
        model = xgboost.XGBRegressor(n_estimators=2, n_jobs=1, **several)
        joblib.dump(model.fit(train[["age", "bmi"]], train["pay"]), folder / name)
    elif name.endswith(".joblib"):
        model = xgboost.XGBClassifier(n_estimators=2, n_jobs=1, enable_categorical=True)
        model.fit(mixed, train["code"])
        joblib.dump(model.get_booster() if name[0] == "b" else model, folder / name)
    monkeypatch.chdir(folder)
    check_refusal(call, words, capsys)


@pytest.mark.parametrize(("call", "words"), STATSMODELS, ids=["logit", "ols"])
def test_a_result_of_statsmodels(folder, monkeypatch, capsys, call, words):
    api = pytest.importorskip("statsmodels.api")
    train = make_table()[:80]
    X = train[["age", "bmi"]]
    if "logit" in call:
        api.Logit(train["code"], X).fit(disp=0).save(folder / "logit.pkl")
    else:
        api.OLS(train["pay"], X).fit().save(folder / "ols.pkl")
    monkeypatch.chdir(folder)
    check_refusal(call, words, capsys)


def write_pickle(path, state):
    path.write_bytes(pickle.dumps(state))


def write_archive(path, state):
    with ZipFile(path, "w") as archive:
        part = {name: {"__loader__": "JsonNode", "content": f'"{text}"'} for name, text in state}
        archive.writestr("schema.json", json.dumps(part))


@pytest.mark.parametrize(
    ("write", "state", "words"),
    [
        (write_pickle, {"_sklearn_version": "1.1.2"}, ("version 1.1.2 of", "scikit-learn==1.1.2")),
        (write_archive, [("_sklearn_version", "1.0")], ("version 1.0 of", "scikit-learn==1.0")),
        (write_pickle, {}, ("another version of scikit-learn", "pip install that version")),
    ],
)
def test_trees_of_another_version_are_named_with_the_version(tmp_path, write, state, words):
    path = tmp_path / "model.file"
    write(path, state)
    found = describe_unpickling(path, ValueError("node array has an incompatible dtype: ..."))
    assert all(word in found for word in words)
