"""``skmia inspect``: what a model file holds, under the rules for files of others."""

import copy
import json
import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
from forked import FORKS, run_program
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skmia.cli import main
from skmia.victims import read_state

# What holds of the process of a model is in test_forged_files.py and test_cli_model.py.
pytestmark = pytest.mark.usefixtures("no_process")

N = 80
LABELS = np.arange(N) % 2


@pytest.fixture(scope="module")
def people():
    """Half of them are members."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.normal(40, 10, 2 * N), "height": rng.normal(170, 8, 2 * N)})
    city = rng.choice(["Rome", "Oslo"], 2 * N)
    return frame.assign(city=city, ill=np.where(frame["age"] > 42, "yes", "no"))


@pytest.fixture
def data(people, tmp_path):
    path = tmp_path / "people.csv"
    people.to_csv(path, index=False)
    return path


def make_model(people, last):
    """Text encoded and numbers scaled, fitted on the first half."""
    columns = [("text", OneHotEncoder(), ["city"]), ("numbers", StandardScaler(), ["age"])]
    model = make_pipeline(ColumnTransformer(columns), last)
    return model.fit(people.drop(columns="ill")[:N], people["ill"][:N])


def save(model, path):
    if path.suffix == ".skops":
        pytest.importorskip("skops.io").dump(model, path)
    else:
        joblib.dump(model, path)
    return path


@pytest.fixture
def run(capsys):
    """Run ``skmia inspect`` and return the exit code and what it printed."""

    def run(*arguments):
        code = main(["inspect", *map(str, arguments)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.fixture
def refuse(run):
    """Run ``skmia inspect`` on bad input and return the one line on the standard error."""

    def refuse(*arguments):
        code, out, err = run(*arguments)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert err.startswith("skmia inspect: ")
        return err.removeprefix("skmia inspect: ").rstrip()

    return refuse


@pytest.mark.parametrize("name", ["model.skops", "model.joblib"])
def test_what_a_file_holds_is_printed(run, people, data, tmp_path, name):
    path = save(make_model(people, KNeighborsClassifier()), tmp_path / name)
    options = ["--trust-pickle"] if path.suffix == ".joblib" else []
    code, out, err = run(path, "--data", data, "--target", "ill", *options)
    assert (code, err) == (0, "")
    head, text = out.split("\n")[0], " ".join(out.split())
    assert head.endswith("  REVEALS ITS TRAINING ROWS, EXPECTED: SEVERE   only read")
    assert "The file holds training rows." in text
    stated = f"at least {N} training rows, as the file states"
    assert f"Pipeline(ColumnTransformer, KNeighborsClassifier) · {stated}" in text
    assert f"Whole rows {N} of {len(people)} candidates are stored as whole rows." in text


@pytest.mark.parametrize(
    ("last", "heading"),
    [
        (KNeighborsClassifier(), "Reveals its training rows, expected: severe"),
        (
            ExtraTreesClassifier(9, random_state=0),
            "Reveals its training rows, expected: severe",
        ),
    ],
)
def test_a_page_begins_with_whether_rows_are_stored(run, people, data, tmp_path, last, heading):
    pytest.importorskip("jinja2")
    path, page = save(make_model(people, last), tmp_path / "model.skops"), tmp_path / "page.html"
    code, out, _ = run(path, "--data", data, "--target", "ill", "--out", page)
    text = page.read_text()
    assert code == 0 and out.endswith(f"written: {page}\n")
    assert f"<h1>{heading}</h1>" in text
    assert "<script" not in text and "style=" not in text.partition("</head>")[2]
    order = [text.index(f'id="{name}"') for name in ("result", "parts", "candidates", "changes")]
    assert order == sorted(order)


def test_a_page_without_a_suffix_gets_that_of_browsers(run, people, tmp_path):
    pytest.importorskip("jinja2")
    path = save(make_model(people, KNeighborsClassifier()), tmp_path / "model.skops")
    _, out, _ = run(path, "--out", tmp_path / "page")
    assert out.endswith(f"written: {tmp_path / 'page.html'}\n")
    assert (tmp_path / "page.html").exists() and not (tmp_path / "page").exists()


def test_a_page_is_not_written_over_the_model(refuse, people, tmp_path):
    path = save(make_model(people, KNeighborsClassifier()), tmp_path / "model.skops")
    assert "written over its source" in refuse(path, "--out", path)


def test_a_table_is_not_needed(run, people, tmp_path):
    model = make_model(people, HistGradientBoostingClassifier(max_iter=3))
    code, out, _ = run(save(model, tmp_path / "model.skops"), "--verbose")
    assert code == 0
    assert "_bin_mapper.bin_thresholds_[*]" in out
    assert "No candidate records were given" in out and "Whole rows" not in out


def test_equations_of_trees_are_counted(run, people, data, tmp_path):
    model = make_model(people, ExtraTreesClassifier(6, random_state=0))
    path = save(model, tmp_path / "model.skops")
    _, out, _ = run(path, "--data", data, "--target", "ill")
    assert "expected AUC" in out
    _, out, _ = run(path, "--data", data)
    assert "needs the labels" in " ".join(out.split())


@pytest.mark.parametrize(
    ("classes", "labels"),
    [(["0", "1"], [0.0, 1.0]), ([0, 1], [False, True]), (["no", "yes"], ["No", "Yes"])],
)
def test_labels_are_matched_with_the_classes_by_their_values(
    run, people, tmp_path, classes, labels
):
    model, ill = ExtraTreesClassifier(6, random_state=0), (people["ill"] == "yes").astype(int)
    rows, number = people[["age", "height"]], ill.to_numpy()
    path = save(model.fit(rows[:N], np.array(classes)[number[:N]]), tmp_path / "m.skops")
    outs = []
    for name, given in (("same", classes), ("others", labels)):
        table = tmp_path / f"{name}.csv"
        rows.assign(ill=np.array(given, dtype=object)[number]).to_csv(table, index=False)
        code, out, err = run(path, "--data", table, "--target", "ill", "--json")
        assert code == 0
        outs.append(json.loads(out))
    assert "Labels of 'ill' are read by their values: " in err
    assert outs[0]["candidates"]["equations"]["n_rows"] == N
    assert outs[0] == outs[1]


def test_json_says_the_same(run, people, data, tmp_path):
    path = save(make_model(people, ExtraTreesClassifier(6, random_state=0)), tmp_path / "m.skops")
    code, out, _ = run(path, "--data", data, "--target", "ill", "--json")
    document = json.loads(out)
    assert (code, document["n_rows"], document["level"]) == (0, N, "values")
    assert document["candidates"]["equations"]["n_rows"] == N
    assert {"path", "kind", "n_arrays", "shape", "n_values", "bytes"} == set(document["stored"][0])


def test_a_transformer_needs_no_target(run, people, data, tmp_path):
    X = people[["age", "height"]].to_numpy()
    path = save(NearestNeighbors().fit(X[:N]), tmp_path / "model.skops")
    _, out, _ = run(path, "--data", data, "--drop", "city", "ill")
    assert f"  {N} of {len(people)} candidates are stored as whole rows." in out


def test_a_regressor_needs_its_target(run, refuse, people, data, tmp_path):
    model = KNeighborsRegressor().fit(people[["age"]][:N], people["height"][:N])
    path = save(model, tmp_path / "model.skops")
    assert "needs --target for a regressor" in refuse(path, "--data", data)
    assert "needs numbers" in refuse(path, "--data", data, "--target", "ill")
    _, out, _ = run(path, "--data", data, "--target", "height", "--verbose")
    (line,) = [line for line in out.splitlines() if line.endswith(" _y (raw)")]
    assert int(line.split()[2]) == N


def test_a_class_of_the_model_is_no_missing_label(run, refuse, people, tmp_path):
    labels = people["ill"].replace("yes", "NA")
    model = ExtraTreesClassifier(2, random_state=0).fit(people[["age"]][:N], labels[:N])
    path, table = save(model, tmp_path / "m.skops"), tmp_path / "t.csv"
    people[["age"]].assign(ill=labels).to_csv(table, index=False)
    assert run(path, "--data", table, "--target", "ill")[0] == 0
    people[["age"]].assign(ill=labels.replace("no", "null")).to_csv(table, index=False)
    assert "has no value in" in refuse(path, "--data", table, "--target", "ill")


class Bomb:
    def __reduce__(self):
        return pytest.fail, ("code of the pickle was run",)


def test_a_pickle_without_trust_is_not_opened(refuse, tmp_path):
    path = tmp_path / "model.pkl"
    path.write_bytes(pickle.dumps(Bomb()))
    assert "--trust-pickle" in refuse(path)


def test_a_forged_model_is_refused(refuse, people, tmp_path):
    model = make_model(people, KNeighborsClassifier(algorithm="kd_tree"))
    state = list(model[-1]._tree.__getstate__())
    state[1] = np.full_like(state[1], 10**9)
    model[-1]._tree.__setstate__(tuple(state))
    path = save(model, tmp_path / "model.skops")
    assert "damaged or forged" in refuse(path)


def test_forged_sparse_rows_are_refused(refuse, people, tmp_path):
    rows = sparse.csr_matrix(people[["age", "height"]][:N])
    model = KNeighborsClassifier().fit(rows, people["ill"][:N])
    model._fit_X.indices[3] = 10**6
    assert refuse(save(model, tmp_path / "model.skops"))


def test_a_model_that_lacks_a_part_ends_in_a_sentence(refuse, people, data, tmp_path):
    model = make_model(people, ExtraTreesClassifier(3, random_state=0))
    del model[-1].estimators_[1].tree_
    path = save(model, tmp_path / "model.skops")
    assert refuse(path, "--data", data, "--target", "ill")


@pytest.mark.parametrize(
    "last",
    [
        KNeighborsClassifier(),
        pytest.param(ExtraTreesClassifier(1, random_state=0), marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_a_model_that_lacks_any_part_is_described_or_refused(run, people, data, tmp_path, last):
    whole = make_pipeline(StandardScaler(), last).fit(people[["age", "height"]][:N], LABELS)
    holders = [one.estimator for one in read_state(whole).estimators]
    parts = [(k, name) for k, one in enumerate(holders) for name in vars(one) if name[-1] == "_"]
    for k, name in parts:
        model = copy.deepcopy(whole)
        delattr(read_state(model).estimators[k].estimator, name)
        path = save(model, tmp_path / "model.joblib")
        found = run(path, "--trust-pickle", "--data", data, "--drop", "city", "ill")
        assert (found[0], found[2].count("\n")) in ((0, 0), (0, 1), (2, 1)), (k, name, found[2])


@pytest.mark.parametrize(
    "options, message",
    [
        (["none.skops"], "MODEL: file not found"),
        (["m.skops", "--target", "ill"], "--target goes with --data"),
        (["m.skops", "--drop", "age"], "--drop goes with --data"),
        (["m.skops", "--data", "people.csv", "--target", "sick"], "--target: column 'sick' not"),
        (["m.skops", "--data", "people.csv", "--drop", "cty"], "--drop: column 'cty' not found"),
        (["m.skops", "--data", "people.csv", "--target", "age"], "table lacks 1 of the model's"),
        ([], "required: MODEL"),
    ],
    ids=["file", "target", "drop", "no target", "no column", "feature", "nothing"],
)
def test_input_that_cannot_be_used(refuse, people, data, tmp_path, options, message):
    save(make_model(people, KNeighborsClassifier()), tmp_path / "m.skops")
    named = [tmp_path / one if one.endswith((".skops", ".csv")) else one for one in options]
    assert message in refuse(*named)


def test_names_of_others_stay_on_their_line(run, people, data, tmp_path):
    model = make_model(people, KNeighborsClassifier())
    model[-1].__dict__["X_\nNo leakage\x1b[2J"] = np.zeros((3, 3))
    path = save(model, tmp_path / "model.joblib")
    _, out, _ = run(path, "--trust-pickle", "--data", data, "--target", "ill")
    assert "\x1b" not in out
    assert "\nNo leakage" not in out


# A copy of a process that has scikit-learn, which forgets the package and what it must not load.
_LOAD = """
import json, sys
for name in [*sys.modules]:
    if name.partition(".")[0] in ("skmia", "torch", "matplotlib", "statsmodels", "jinja2"):
        del sys.modules[name]
before = set(sys.modules)
from skmia.cli import main
code = main(["inspect", "--trust-pickle", sys.argv[1]])
print(json.dumps([code, sorted(set(sys.modules) - before)]))
"""


@FORKS
def test_a_small_file_loads_little_beside_scikit_learn(tmp_path):
    path = tmp_path / "model.pkl"
    path.write_bytes(pickle.dumps(LinearRegression().fit([[0.0], [1.0]], [0.0, 1.0])))
    ended, out, err = run_program(_LOAD, path)
    assert ended == 0, err
    code, loaded = json.loads(out.splitlines()[-1])
    rooms = {"report", "attacks", "shadow", "signals", "disclosure", "synthetic", "defenses"}
    assert code == 0
    assert not {f"skmia.{room}" for room in rooms} & set(loaded)
    assert not {"torch", "matplotlib", "statsmodels", "jinja2"} & set(loaded)
    assert "skmia.inspection" in loaded
    # It was 302 when the command loaded the report of audits.
    assert sum(name.startswith("skmia.") for name in loaded) < 120
