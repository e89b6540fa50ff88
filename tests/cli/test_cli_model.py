"""Victims from a file: read without running code, or refused."""

import inspect
import pickle
import shutil
import sys
from datetime import datetime
from types import SimpleNamespace

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skmia._core import provenance
from skmia.attacks import LiRA
from skmia.cli import _audit, _model
from skmia.cli._model_input import as_model_input

# The process of a model is that of one test below, which switches it on.
pytestmark = pytest.mark.usefixtures("no_process")

N = 240
QUICK = ["--estimator", "logistic", "--shadows", "4", "--jobs", "1", "--verbose"]


def numeric(table):
    X = table[["noise", "works"]].astype(float)
    return X, (table["income"] == ">50K").astype(int)


@pytest.fixture
def numeric_data(table, tmp_path):
    X, y = numeric(table)
    path = tmp_path / "numeric.csv"
    X.assign(label=y, trained=table["trained"]).to_csv(path, index=False)
    return path


def save_skops(model, path):
    skops = pytest.importorskip("skops.io")
    skops.dump(model, path)
    return path


def model_options(path, numeric_data):
    data = ["--data", numeric_data, "--target", "label", "--members", "trained"]
    return [*data, "--model", path, "--shadows", "4", "--jobs", "1"]


@pytest.mark.parametrize(
    ("model", "named"),
    [
        (RandomForestClassifier(5, random_state=0), True),
        (HistGradientBoostingClassifier(max_iter=5), False),
    ],
)
def test_skops_model(run, table, numeric_data, tmp_path, handed_over, model, named):
    X, y = numeric(table)
    members = table["trained"] == 1
    X = X[members] if named else X[members].to_numpy()
    path = save_skops(model.fit(X, y[members]), tmp_path / "model.skops")
    code, _, err = run(*model_options(path, numeric_data))
    assert (code, err) == (0, "")
    assert isinstance(handed_over[0].victim, type(model))


def test_xgboost_model(refuse, table, numeric_data, tmp_path, monkeypatch):
    def stop(victim, records, membership, **_):  # in a process of its own
        right = np.mean(victim.predict(records.X) == records.y)
        raise ValueError(f"{type(victim).__name__} of {membership.sum()} members: {right:.0%}")

    monkeypatch.setattr(_audit, "audit", stop)
    xgboost = pytest.importorskip("xgboost")
    X, y = numeric(table)
    members = table["trained"].to_numpy() == 1
    model = xgboost.XGBClassifier(n_estimators=5, n_jobs=1).fit(X[members], y[members])
    path = save_skops(model, tmp_path / "model.skops")
    told = refuse(*model_options(path, numeric_data))
    assert told == f"XGBClassifier of {members.sum()} members: {np.mean(model.predict(X) == y):.0%}"


def test_unsafe_version_of_skops_is_refused(refuse, numeric_data, tmp_path, monkeypatch):
    pytest.importorskip("skops")
    monkeypatch.setattr(_model, "version", lambda _: "0.11.0")
    (tmp_path / "model.skops").write_bytes(b"")
    line = refuse(*model_options(tmp_path / "model.skops", numeric_data))
    assert "skops 0.11.0 can be made to run code" in line


def test_skops_model_with_code_of_its_own_is_refused(refuse, table, numeric_data, tmp_path):
    from sklearn.pipeline import make_pipeline

    X, y = numeric(table)
    hidden = FunctionTransformer(np.testing.assert_array_less)
    model = make_pipeline(FunctionTransformer(), DecisionTreeClassifier(random_state=0)).fit(X, y)
    model.steps[0] = ("functiontransformer", hidden)
    path = save_skops(model, tmp_path / "model.skops")
    line = refuse(*model_options(path, numeric_data))
    assert "not known to be safe" in line
    assert "assert_array_less" in line
    assert "sklearn.tree" not in line


def test_a_cache_that_a_model_names_is_neither_read_nor_written(
    run, table, numeric_data, tmp_path, one_attack
):
    one_attack["attacks"] = {"LiRA": LiRA()}
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, y = numeric(table)
    members = table["trained"] == 1
    model = make_pipeline(StandardScaler(), DecisionTreeClassifier(random_state=0)).fit(
        X[members], y[members]
    )
    cache = tmp_path / "cache"
    path = save_skops(model.set_params(memory=str(cache)), tmp_path / "model.skops")
    assert run(*model_options(path, numeric_data))[0] in (0, 4)
    assert not cache.exists()


def test_skops_is_named_where_it_is_missing(refuse, numeric_data, tmp_path, monkeypatch):
    path = tmp_path / "model.skops"
    path.write_bytes(b"")
    monkeypatch.setitem(sys.modules, "skops", None)
    monkeypatch.setitem(sys.modules, "skops.io", None)
    assert 'pip install "skmia[skops]"' in refuse(*model_options(path, numeric_data))


@pytest.mark.parametrize("suffix", [".pkl", ".joblib"])
def test_pickle_needs_trust(run, refuse, table, numeric_data, tmp_path, handed_over, suffix):
    X, y = numeric(table)
    path = tmp_path / f"model{suffix}"
    members = table["trained"] == 1
    joblib.dump(LogisticRegression().fit(X[members], y[members]), path)
    line = refuse(*model_options(path, numeric_data))
    assert "run any code" in line
    assert "--trust-pickle" in line
    code, *_ = run(*model_options(path, numeric_data), "--trust-pickle")
    assert code == 0 and isinstance(handed_over[0].victim, LogisticRegression)


class Bomb:
    def __reduce__(self):
        return pytest.fail, ("code of the pickle was run",)


def test_pickle_without_trust_is_not_opened(refuse, numeric_data, tmp_path):
    path = tmp_path / "model.pkl"
    path.write_bytes(pickle.dumps(Bomb()))
    assert "--trust-pickle" in refuse(*model_options(path, numeric_data))


@pytest.mark.usefixtures("one_attack")
def test_regressor_from_a_file(run, table, numeric_data, tmp_path):
    X, _ = numeric(table)
    path = tmp_path / "model.pkl"
    members = table["trained"] == 1
    joblib.dump(
        DecisionTreeRegressor(random_state=0).fit(X[["works"]][members], X["noise"][members]), path
    )
    options = model_options(path, numeric_data)
    options[3] = "noise"
    code, text, _ = run(*options, "--trust-pickle", "--verbose")
    assert code == 0
    assert "R2" in text


@pytest.mark.parametrize(
    "columns, message",
    [
        (["noise", "height"], "lacks 1 of the model's 2 features: height"),
        (3, "takes 3 features and the table has 2"),
    ],
)
def test_model_of_other_features(refuse, numeric_data, tmp_path, columns, message):
    names = ["a", "b", "c"] if columns == 3 else columns
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(20, len(names))), columns=names)
    X = X.to_numpy() if columns == 3 else X
    path = tmp_path / "model.pkl"
    joblib.dump(LogisticRegression().fit(X, [0, 1] * 10), path)
    line = refuse(*model_options(path, numeric_data), "--trust-pickle")
    assert message in line


@pytest.mark.parametrize(
    "name, content, message",
    [
        ("none.skops", None, "file not found"),
        ("bad.skops", b"nothing", "is not whole: it was cut off or changed"),
        ("bad.pkl", b"nothing", "cannot be read"),
        (
            "model.h5",
            b"nothing",
            "an HDF5 file, as of a Keras model. skmia opens .skops",
        ),
    ],
)
def test_model_file_that_cannot_be_used(refuse, numeric_data, tmp_path, name, content, message):
    if name == "bad.skops":
        pytest.importorskip("skops")
    if content is not None:
        (tmp_path / name).write_bytes(content)
    options = model_options(tmp_path / name, numeric_data)
    assert message in refuse(*options, "--trust-pickle")


FORMATS = {
    "skops": ["--verbose"],
    "json": [
        "--verbose",
        "--estimator",
        "logistic",
        "--policy",
        "research",
        "--measure-conditions",
    ],
    "onnx": ["--estimator", "logistic", "--format", "json", "--fail-above", "auc=0.5"],
}


class NoTime(datetime):
    """A clock that stands still."""

    @classmethod
    def now(cls, zone):
        return cls(2000, 1, 1, tzinfo=zone)


@pytest.mark.skipif(sys.platform != "linux", reason="the process is a copy of this one on Linux")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("no_drawing")
# Skops alone in every run: what a process is kept from does not depend on the kind of the file.
@pytest.mark.parametrize(
    "suffix", ["skops", *(pytest.param(one, marks=pytest.mark.slow) for one in [*FORMATS][1:])]
)
def test_the_process_of_a_model_changes_no_byte(
    run, table, numeric_data, tmp_path, monkeypatch, one_attack, suffix
):
    """Files and output are those of an audit in the program itself."""
    n_jobs = 1 + (suffix == "skops")
    if n_jobs == 2:
        one_attack["attacks"] = {"LiRA": LiRA()}
    else:
        one_attack.clear()  # an audit as by default
    for package in ("jinja2", "matplotlib"):
        pytest.importorskip(package)
    (X, y), members, path = numeric(table), table["trained"] == 1, tmp_path / f"m.{suffix}"
    X, y = X[members].to_numpy(), y[members].to_numpy()
    model = RandomForestClassifier(5, random_state=0).fit(X, y)
    if suffix == "skops":
        save_skops(model, path)
    elif suffix == "json":
        xgboost = pytest.importorskip("xgboost")
        xgboost.XGBClassifier(n_estimators=5, n_jobs=1).fit(X, y).save_model(path)
    else:
        pytest.importorskip("onnxruntime")
        convert = pytest.importorskip("skl2onnx").to_onnx
        path.write_bytes(convert(model, X[:1].astype(np.float32)).SerializeToString())
    monkeypatch.setattr(provenance, "time", SimpleNamespace(perf_counter=float, process_time=float))
    monkeypatch.setattr(provenance, "datetime", NoTime)
    options = [*model_options(path, numeric_data)[:-1], n_jobs, *FORMATS[suffix], "--show-values"]
    found = []
    for is_apart in (True, False):
        monkeypatch.setattr(_audit, "is_of_strangers", lambda _, found=is_apart: found)
        with joblib.parallel_config("threading"):  # in the process of the model, copies of it
            printed = run(*options, "--out", tmp_path / "out")[:2]
        files = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
        shutil.rmtree(tmp_path / "out")
        found.append((printed, files))
    assert found[0] == found[1]
    (code, text), files = found[0]
    assert code in (0, 1, 4) and "LiRA" in text
    sheet = ["decision.html"] if "--policy" in options else []
    assert sorted(files) == ["audit.json", *sheet, "report.html", "roc.png"]


@pytest.mark.slow  # test_cli_model_input.py has such columns in a table that is handed over
@pytest.mark.usefixtures("no_drawing", "one_attack")
def test_columns_chosen_by_their_type(run, table, data, tmp_path):
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, SplineTransformer

    X = table[["city", "works", "noise"]].fillna({"city": "?"})
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude=np.number)),
        (SplineTransformer(n_knots=3), make_column_selector(dtype_include=np.number)),
    )
    members = table["trained"] == 1
    model = make_pipeline(columns, LogisticRegression())
    path = save_skops(model.fit(X[members], table.loc[members, "income"]), tmp_path / "m.skops")
    given = ["--data", data, "--target", "income", "--members", "trained", "--model", path]
    code, text, err = run(*given, "--shadows", "4", "--jobs", "1")
    assert (code, err) == (0, "")
    assert " at 0x" not in text


@pytest.mark.parametrize("share", [0.5, 0.99])
def test_a_file_that_was_cut_off_says_so(refuse, numeric_data, tmp_path, share):
    path = save_skops(
        RandomForestClassifier(2, random_state=0).fit([[0.0], [1.0]], [0, 1]), tmp_path / "m.skops"
    )
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    told = refuse(*model_options(path, numeric_data))
    assert told.startswith("--model: m.skops is not whole: it was cut off or changed")
    assert "zip" not in told.lower()


@pytest.mark.parametrize("of_table", [["a", "b", "c"], ["c", "b"]])
def test_columns_that_only_catboost_names(of_table):
    class Boosted:
        feature_names_ = ["b", "a"] if "a" in of_table else ["0", "1"]

    frame = pd.DataFrame(np.arange(2.0 * len(of_table)).reshape(2, -1), columns=of_table)
    found = as_model_input(Boosted(), frame, ["b", "c"]).X
    if "a" in of_table:
        assert found.columns.tolist() == ["b", "a"]
    else:  # numbers are no names: the features of the table, in their order
        np.testing.assert_array_equal(found, frame[["b", "c"]])


@pytest.fixture
def fits(monkeypatch):
    """Record the rows and the parameters of every fit of a class."""

    def record(kind):
        found, fit = [], kind.fit

        def recorded(self, X, y, **given):
            fit(self, X, y, **given)
            found.append((self, np.asarray(X), given))
            return self

        monkeypatch.setattr(kind, "fit", recorded)
        # XGBoost asks which parameters fit takes.
        recorded.__signature__ = inspect.signature(fit)
        return found

    return record


@pytest.fixture
def weighted_data(table, tmp_path):
    X, y = numeric(table)
    path = tmp_path / "weighted.csv"
    X.assign(label=y, trained=table["trained"], weight=X["noise"] ** 2).to_csv(path, index=False)
    return path


def test_shadow_models_are_trained_with_weights(
    run, fits, table, weighted_data, tmp_path, one_attack
):
    one_attack["attacks"] = {"LiRA": LiRA()}
    X, y = numeric(table)
    joblib.dump(LogisticRegression().fit(X, y, X["noise"] ** 2), tmp_path / "model.joblib")
    options = [*model_options(tmp_path / "model.joblib", weighted_data), "--trust-pickle"]
    found = fits(LogisticRegression)
    code, text, _ = run(*options, "--weights", "weight", "--verbose")
    assert code in (0, 4)
    assert "trained with the weights" in " ".join(text.split())
    halves = [(rows, given) for _, rows, given in found if len(rows) == N // 2]
    weighted = [(rows, given["sample_weight"]) for rows, given in halves if given]
    assert len(weighted) >= 4
    for rows, weights in weighted:
        np.testing.assert_allclose(weights, rows[:, 0] ** 2)


@pytest.mark.usefixtures("handed_over")
def test_the_model_that_is_trained_here_is_trained_with_weights(run, fits, weighted_data):
    found = fits(LogisticRegression)
    data = ["--data", weighted_data, "--target", "label", "--drop", "trained"]
    assert run(*data, *QUICK, "--weights", "weight")[0] in (0, 4)
    _, rows, given = found[0]
    assert rows.shape[1] == 2  # without the weights
    assert len(set(given["sample_weight"])) == N // 2


def test_shadow_models_stop_early_by_the_validation_rows(
    run, fits, table, numeric_data, tmp_path, one_attack
):
    one_attack["attacks"] = {"LiRA": LiRA()}
    xgboost = pytest.importorskip("xgboost")
    X, y = numeric(table)
    rows = np.random.default_rng(1).normal(size=(30, 2)).round(3)
    validation = pd.DataFrame(rows, columns=X.columns).assign(label=np.arange(30) % 2)
    validation.to_csv(tmp_path / "validation.csv", index=False)
    model = xgboost.XGBClassifier(n_estimators=50, early_stopping_rounds=2, n_jobs=1)
    stops = [(validation[X.columns], validation["label"])]
    model.fit(X[:120], y[:120], eval_set=stops, verbose=False)
    joblib.dump(model, tmp_path / "model.joblib")
    options = [*model_options(tmp_path / "model.joblib", numeric_data), "--trust-pickle"]
    found = fits(xgboost.XGBClassifier)
    code, text, _ = run(*options, "--verbose", "--validation", tmp_path / "validation.csv")
    assert code in (0, 4)
    assert "LiRA" in text
    assert len(found) > 4  # the check of drift trains models as well
    for fitted, _, given in found:
        ((seen, labels),) = given["eval_set"]
        np.testing.assert_allclose(seen, rows)
        np.testing.assert_array_equal(labels, np.arange(30) % 2)
        assert fitted.get_booster().num_boosted_rounds() < 50


def test_wrong_weights_and_validation_rows_are_refused(refuse, table, weighted_data, tmp_path):
    X, y = numeric(table)
    joblib.dump(LogisticRegression().fit(X, y), tmp_path / "line.joblib")
    model = [*model_options(tmp_path / "line.joblib", weighted_data), "--trust-pickle"]
    data = ["--data", weighted_data, "--target", "label"]
    more = {"validation": tmp_path / "validation.csv"}
    X.to_csv(more["validation"], index=False)
    assert refuse(*data, "--weights", "noise").endswith(
        "--weights: column 'noise' must hold a finite number of 0 or more in each row"
    )
    assert "column 'wait' not found" in refuse(*data, "--weights", "wait")
    assert "--weights goes with --data" in refuse("--weights", "weight")
    line = refuse(*data, "--estimator", "mlp", "--weights", "weight")
    assert "takes no sample weights" in line
    line = refuse(*data, "--validation", more["validation"])
    assert "--validation goes with a --model that is trained again" in line
    assert "fit of LogisticRegression takes no eval_set" in refuse(
        *model, "--validation", more["validation"]
    )
    xgboost = pytest.importorskip("xgboost")
    joblib.dump(xgboost.XGBClassifier(n_estimators=2).fit(X, y), tmp_path / "line.joblib")
    line = refuse(*model, "--validation", more["validation"])
    assert line.startswith("--validation: column 'label' not found")
    X.assign(label=3).to_csv(more["validation"], index=False)
    line = refuse(*model, "--validation", more["validation"])
    assert line.startswith("--validation: --target: column 'label' holds one value only")
