"""Files that were forged or damaged: each ends in one sentence and exit code 2, and writes nothing.

The table of faults is made by code, and so are the mutations of bytes of valid files. With FUZZ,
the number of mutations of each format is FUZZ (``make fuzz``).
"""

import copy
import ctypes
import gzip
import io
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import zipfile
from contextlib import nullcontext, suppress
from functools import cache

import numpy as np
import pandas as pd
import pytest
from landlock import LANDLOCK
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, SplineTransformer, StandardScaler
from sklearn.svm import SVC, NuSVC
from sklearn.tree import DecisionTreeClassifier

from skmia import Records, audit
from skmia.attacks import ReleasedModelAttack, ThresholdAttack
from skmia.cli import _audit, _inspect, _model, main
from skmia.report import as_audit_document

N = 80
BIG = 2**30
SECONDS = 1.0  # of computing, after which a model counts as hanging


@pytest.fixture(autouse=True)
def little_time(monkeypatch):
    monkeypatch.setenv("SKMIA_MODEL_SECONDS", str(SECONDS))


def make_table():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(N, 4)).round(3), columns=list("abcd"))
    table["a"] = np.arange(N) % 5
    return table.assign(label=np.arange(N) % 2, trained=np.arange(N) // 2 % 2)


TABLE = make_table()
X, Y = TABLE[list("abcd")].to_numpy(), TABLE["label"].to_numpy()
WORDS = pd.DataFrame({"word": np.where(Y == 1, "red blue", "green")})


# Faults of models of scikit-learn: each function changes a fitted model.


def find_tree(model):
    """The first lone tree within a model."""
    waiting, seen = [model], set()
    while waiting:
        part = waiting.pop(0)
        if id(part) in seen:
            continue
        seen.add(id(part))
        if hasattr(part, "tree_"):
            return part
        if isinstance(part, list | tuple):
            waiting += part
        elif isinstance(part, np.ndarray) and part.dtype == object:
            waiting += part.ravel().tolist()
        elif isinstance(part, dict):
            waiting += part.values()
        elif hasattr(part, "__dict__"):
            waiting += vars(part).values()
    raise AssertionError("no tree")


def widen(model):
    """A tree that reads column 10**6 of records of 4 columns."""
    owner = find_tree(model)
    tree = owner.tree_
    state = copy.deepcopy(tree.__getstate__())
    state["nodes"]["feature"][0] = 10**6 - 1
    owner.tree_ = type(tree)(10**6, tree.n_classes, tree.n_outputs)
    owner.tree_.__setstate__(state)


def set_node(**changes):
    def forge(model):
        tree = find_tree(model).tree_
        state = copy.deepcopy(tree.__getstate__())
        for name, value in changes.items():
            state["nodes"][name][0] = value
        tree.__setstate__(state)

    return forge


def set_predictor(**changes):
    def forge(model):
        predictor = model._predictors[0][0]
        predictor.nodes = predictor.nodes.copy()
        for name, value in changes.items():
            predictor.nodes[name][0] = value

    return forge


def forget_categories(model):
    model._bin_mapper.is_categorical_ = np.zeros(4, dtype=np.uint8)


def repeat_stages(model):
    model.estimators_ = np.resize(model.estimators_, (1, 20))


def two_outputs(model):
    model.estimators_ = np.resize(model.estimators_, (len(model.estimators_), 2))


def far_vectors(model):
    model.support_ = np.full_like(model.support_, BIG)


def more_vectors(model):
    model._n_support = model._n_support * 1000


def far_words(number):
    def forge(model):
        vocabulary = model[0].named_transformers_["words"].vocabulary_
        vocabulary[next(iter(vocabulary))] = number

    return forge


def far_categories(model):
    model[0]._default_to_infrequent_mappings[0][:] = BIG


def bend_spline(**changes):
    def forge(model):
        for name, value in changes.items():
            setattr(model[0].bsplines_[0], name, value)

    return forge


def far_neighbors(model):
    state = list(model._tree.__getstate__())
    state[1] = np.full_like(np.asarray(state[1]), 10**6)
    model._tree.__setstate__(tuple(state))


def far_labels(model):
    model._y = np.full_like(model._y, 10**6)


def far_columns(model):
    model._fit_X.indices[:] = 10**6


def many_trees(model):
    model.n_estimators = 10**7


def lose(name):
    return lambda model: delattr(model, name)


TREE, FOREST = DecisionTreeClassifier(random_state=0), RandomForestClassifier(2, random_state=0)
WORD_MODEL = {
    kind: make_pipeline(ColumnTransformer([("words", kind(), "word")]), LogisticRegression())
    for kind in (CountVectorizer, TfidfVectorizer)
}
RARE = OneHotEncoder(max_categories=2, handle_unknown="infrequent_if_exist")
SPLINES = make_pipeline(SplineTransformer(), LogisticRegression())
HIST = HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=5)
BOOSTING = GradientBoostingClassifier(n_estimators=3)
KERNEL = {"kernel": "precomputed"}
SKLEARN = {
    "a lone tree that is wider": (TREE, widen),
    "wider in a pipeline": (make_pipeline(StandardScaler(), TREE), widen),
    "wider in a vote": (VotingClassifier([("t", TREE)]), widen),
    "wider in a stack": (StackingClassifier([("t", TREE)], cv=2), widen),
    "wider in a calibration": (CalibratedClassifierCV(TREE, cv=2), widen),
    "wider in one against the rest": (OneVsRestClassifier(TREE), widen),
    "wider in AdaBoost": (AdaBoostClassifier(TREE, n_estimators=2), widen),
    "wider in bagging": (BaggingClassifier(TREE, n_estimators=2), widen),
    "wider in a forest": (FOREST, widen),
    "a node that is its own child": (TREE, set_node(left_child=0)),
    "a child outside": (FOREST, set_node(right_child=BIG)),
    "a child before the first": (ExtraTreesClassifier(2), set_node(left_child=-7)),
    "a column outside": (TREE, set_node(feature=BIG)),
    "a column before the first": (FOREST, set_node(feature=-9)),
    "ten million trees": (FOREST, many_trees),
    "no trees": (FOREST, lose("estimators_")),
    "rows of a kernel outside": (SVC(**KERNEL), far_vectors),
    "rows of a nu kernel outside": (NuSVC(**KERNEL), far_vectors),
    "more support vectors than there are": (SVC(), more_vectors),
    "20 outputs in one stage": (BOOSTING, repeat_stages),
    "two outputs for two classes": (BOOSTING, two_outputs),
    "a stage that is wider": (BOOSTING, widen),
    "a word outside": (WORD_MODEL[CountVectorizer], far_words(2**31)),
    "a word before the first": (WORD_MODEL[TfidfVectorizer], far_words(-5)),
    "rare categories outside": (make_pipeline(RARE, LogisticRegression()), far_categories),
    "a spline of degree -5": (SPLINES, bend_spline(k=-5)),
    "a spline of degree 2**30": (SPLINES, bend_spline(k=BIG)),
    "neighbors outside": (KNeighborsClassifier(algorithm="kd_tree"), far_neighbors),
    "labels of neighbors outside": (KNeighborsClassifier(algorithm="brute"), far_labels),
    "sparse columns outside": (KNeighborsClassifier(algorithm="brute"), far_columns),
    "histogram: its own child": (HIST, set_predictor(left=0)),
    "histogram: a child outside": (HIST, set_predictor(right=BIG)),
    "histogram: a column outside": (HIST, set_predictor(feature_idx=BIG)),
    "histogram: unknown categories": (
        copy.deepcopy(HIST).set_params(categorical_features=[0, 1, 2, 3], max_bins=255),
        forget_categories,
    ),
}


def make_skops(name):
    io_ = pytest.importorskip("skops.io")
    model, forge = SKLEARN[name]
    model = copy.deepcopy(model)
    features = X
    if "word" in name:
        features = WORDS
    elif getattr(model, "kernel", None) == "precomputed":
        features = X @ X.T
    elif name == "sparse columns outside":
        features = sparse.csr_matrix(X)
    elif name == "histogram: unknown categories":
        features = np.column_stack([np.arange(N) % 4] * 4)
    model.fit(features, Y)
    forge(model)
    return "model.skops", io_.dumps(model), features


# Faults of whole files.


@cache
def valid(kind):
    """The bytes of a valid file, and its name."""
    if kind == "skops":
        return "model.skops", pytest.importorskip("skops.io").dumps(copy.deepcopy(FOREST).fit(X, Y))
    if kind in ("xgboost.json", "xgboost.ubj"):
        xgboost = pytest.importorskip("xgboost")
        model = xgboost.XGBClassifier(n_estimators=2, max_depth=2, n_jobs=1).fit(X, Y)
        suffix = kind.partition(".")[2]
        return f"model.{suffix}", bytes(model.get_booster().save_raw(suffix))
    if kind == "lightgbm":
        lightgbm = pytest.importorskip("lightgbm")
        settings = {"n_estimators": 2, "min_child_samples": 5, "verbose": -1, "n_jobs": 1}
        model = lightgbm.LGBMClassifier(**settings).fit(X, Y)
        return "model.txt", model.booster_.model_to_string().encode()
    if kind in ("catboost.cbm", "catboost.json"):
        return f"model.{kind.partition('.')[2]}", _save_catboost(kind.partition(".")[2])
    if kind == "onnx":
        to_onnx = pytest.importorskip("skl2onnx").to_onnx
        model = RandomForestClassifier(2, random_state=0).fit(X, Y)
        return "model.onnx", to_onnx(model, X[:1].astype(np.float32)).SerializeToString()
    if kind == "policy":
        from importlib.resources import files

        policies = files("skmia.disclosure").joinpath("policies/cautious.toml")
        return "policy.toml", policies.read_bytes()
    if kind == "csv":
        return "table.csv", TABLE.to_csv(index=False).encode()
    if kind == "csv.gz":
        return "table.csv.gz", gzip.compress(valid("csv")[1], mtime=0)
    raise AssertionError(kind)


def _save_catboost(suffix):
    import tempfile
    from pathlib import Path

    catboost = pytest.importorskip("catboost")
    settings = {"iterations": 3, "depth": 2, "verbose": 0, "thread_count": 1}
    model = catboost.CatBoostClassifier(**settings, allow_writing_files=False).fit(X, Y)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"model.{suffix}")
        model.save_model(str(path), format=suffix)
        return path.read_bytes()


def edit_json(change):
    def forge(content):
        document = json.loads(content)
        change(document)
        return json.dumps(document).encode()

    return forge


def xgboost_tree(name, value):
    def change(document):
        tree = document["learner"]["gradient_booster"]["model"]["trees"][0]
        tree[name][0] = value

    return edit_json(change)


def patch_ubj(name, value):
    """Set the first number of an array of 32 bits."""

    def forge(content):
        start = content.index(name.encode() + b"[$l#L") + len(name) + 5 + 8
        return content[:start] + value.to_bytes(4, "big", signed=True) + content[start + 4 :]

    return forge


def lightgbm_line(name, value):
    def forge(content):
        pattern = rb"(?m)^" + name.encode() + rb"=\S+"
        return re.sub(pattern, f"{name}={value}".encode(), content, count=1)

    return forge


def set_outputs(document):
    document["learner"]["gradient_booster"]["model"]["tree_info"][0] = 10**6


def far_split(document):
    document["oblivious_trees"][0]["splits"][0]["split_index"] = BIG


def few_leaves(document):
    document["oblivious_trees"][0]["leaf_values"] = [0.5]


def set_onnx(attribute, value):
    def forge(content):
        onnx = pytest.importorskip("onnx")
        model = onnx.load_from_string(content)
        for node in model.graph.node:
            for one in node.attribute:
                if one.name == attribute:
                    one.ints[0] = value
        return model.SerializeToString()

    return forge


def edit_schema(change):
    def forge(content):
        with zipfile.ZipFile(io.BytesIO(content)) as parts:
            members = {name: parts.read(name) for name in parts.namelist()}
        members = change(members)
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as parts:
            for name, member in members.items():
                parts.writestr(name, member)
        return buffer.getvalue()

    return forge


def cut(content):
    return content[: len(content) // 2]


FILES = {
    "skops: cut": ("skops", cut),
    "skops: no schema": ("skops", edit_schema(lambda m: {"a": b""})),
    "skops: no arrays": ("skops", edit_schema(lambda m: {"schema.json": m["schema.json"]})),
    "skops: brackets": ("skops", edit_schema(lambda m: m | {"schema.json": b"[" * 10**5})),
    "skops: code": (
        "skops",
        edit_schema(
            lambda m: (
                m
                | {
                    "schema.json": m["schema.json"]
                    .replace(b'"RandomForestClassifier"', b'"system"')
                    .replace(b'"sklearn.ensemble._forest"', b'"os"')
                }
            )
        ),
    ),
    "xgboost.json: its own child": ("xgboost.json", xgboost_tree("left_children", 0)),
    "xgboost.json: a child outside": ("xgboost.json", xgboost_tree("right_children", BIG)),
    "xgboost.json: a column outside": ("xgboost.json", xgboost_tree("split_indices", BIG)),
    "xgboost.json: an output outside": ("xgboost.json", edit_json(set_outputs)),
    "xgboost.json: cut": ("xgboost.json", cut),
    "xgboost.json: brackets": ("xgboost.json", lambda content: b'{"learner":' + b"[" * 10**5),
    "xgboost.ubj: its own child": ("xgboost.ubj", patch_ubj("left_children", 0)),
    "xgboost.ubj: a child outside": ("xgboost.ubj", patch_ubj("right_children", BIG)),
    "xgboost.ubj: a column outside": ("xgboost.ubj", patch_ubj("split_indices", BIG)),
    "xgboost.ubj: cut": ("xgboost.ubj", cut),
    "lightgbm: its own child": ("lightgbm", lightgbm_line("left_child", 0)),
    "lightgbm: a child outside": ("lightgbm", lightgbm_line("right_child", BIG)),
    "lightgbm: a column outside": ("lightgbm", lightgbm_line("split_feature", BIG)),
    "lightgbm: a billion leaves": ("lightgbm", lightgbm_line("num_leaves", 10**9)),
    "lightgbm: cut": ("lightgbm", lambda content: content[: len(content) // 6]),
    "catboost.cbm: cut": ("catboost.cbm", cut),
    "catboost.cbm: a size": ("catboost.cbm", lambda c: c[:4] + b"\xff\xff\xff\x7f" + c[8:]),
    "catboost.json: a column outside": ("catboost.json", edit_json(far_split)),
    "catboost.json: few leaves": ("catboost.json", edit_json(few_leaves)),
    "catboost.json: cut": ("catboost.json", cut),
    "onnx: cut": ("onnx", cut),
    "onnx: a child outside": ("onnx", set_onnx("nodes_truenodeids", BIG)),
    "onnx: its own child": ("onnx", set_onnx("nodes_truenodeids", 0)),
    "policy: brackets": ("policy", lambda content: b"a = " + b"[" * 5000 + b"]" * 5000),
    "policy: a name of many parts": ("policy", lambda content: b".".join([b"a"] * 10**5) + b" = 1"),
    "policy: no text": ("policy", lambda content: b"\xff\xfe\x00"),
    "policy: large": ("policy", lambda content: b"#\n" * 10**6),
    "csv: one row": ("csv", lambda content: content.splitlines()[0] + b"\n"),
    "csv: no text": ("csv", lambda content: b"\xff\xfe" + content),
    "csv: 20,001 columns": (
        "csv",
        lambda content: b",".join(b"x%d" % k for k in range(19_999)) + b",label,trained\n",
    ),
    "csv.gz: cut": ("csv.gz", cut),
}


def write_columns(columns):
    """The text of a table of columns, with the labels and the members."""
    if sparse.issparse(columns):
        columns = columns.toarray()
    frame = pd.DataFrame(columns)
    frame.columns = [f"x{name}" if isinstance(name, int) else name for name in frame.columns]
    return frame.assign(label=Y, trained=TABLE["trained"]).to_csv(index=False)


USUAL_TEXT = write_columns(X)


def list_options(folder, name, content, features=X):
    """The command that opens a file."""
    path = folder / name
    path.write_bytes(content)
    if name == "policy.toml":
        return ["policy", "show", path]
    table = path
    if not name.startswith("table"):
        table = folder / "table.csv"
        table.write_text(USUAL_TEXT if features is X else write_columns(features))
    options = ["audit", "--data", table, "--target", "label", "--members", "trained", "--quick"]
    if table != path:
        options += ["--model", path]
        options += [] if name.endswith("skops") else ["--estimator", "logistic"]
    return [*options, "--jobs", "1"]


def list_files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def check_refused(options, folder, capsys):
    before = list_files(folder)
    start = time.process_time()
    code = main([*map(str, options)])
    out, err = capsys.readouterr()
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert len(err) < 2000 and "stopped here" not in err
    assert list_files(folder) == before
    assert time.process_time() - start < 60


# What ends the process or an audit, and what would run without end if no check refused it.
OPENED_APART = [
    "no trees",
    *(f"lightgbm: a {end}" for end in ("child outside", "column outside", "billion leaves")),
    *(name for name in (*SKLEARN, *FILES) if name.endswith("its own child")),
]


@pytest.fixture(params=[False, pytest.param(True, marks=pytest.mark.slow)], ids=["here", "apart"])
def place(request, monkeypatch):
    """Open files in this process, so that a check has to refuse them: a copy of it takes longer."""
    if not request.param and request.getfixturevalue("name") not in OPENED_APART:
        monkeypatch.setattr(_audit, "audit", stop)
        for module in (_audit, _inspect):
            monkeypatch.setattr(module, "is_of_strangers", lambda path: False)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("place")
@pytest.mark.parametrize("name", SKLEARN)
def test_forged_models(name, tmp_path, capsys):
    check_refused(list_options(tmp_path, *make_skops(name)), tmp_path, capsys)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("place")
@pytest.mark.parametrize("name", FILES)
def test_forged_files(name, tmp_path, capsys):
    kind, forge = FILES[name]
    file, content = valid(kind)
    options = list_options(tmp_path, file, forge(content))
    check_refused(options, tmp_path, capsys)
    # It opens files as an audit does.
    if kind == "skops" or (name.endswith("cut") and kind not in ("onnx", "csv.gz")):
        check_refused(["inspect", options[options.index("--model") + 1]], tmp_path, capsys)


# Mutations of bytes of valid files.

KINDS = ("skops", "xgboost.json", "xgboost.ubj", "lightgbm", "catboost.cbm", "catboost.json")
KINDS += ("onnx", "policy", "csv", "csv.gz")
MUTATIONS = int(os.environ.get("FUZZ", 2))
ENDINGS = (0, 1, 2, 4)


def mutate(content, rng):
    """Change some bytes, or cut, repeat or exchange parts."""
    data = bytearray(content)
    for _ in range(int(rng.integers(1, 4))):
        start, length = int(rng.integers(len(data))), int(rng.integers(1, 9))
        way = rng.choice([0, 0, 0, 1, 1, 2, 2, 3, 4, 5, 5])
        if way == 0:
            data[start] ^= 1 << int(rng.integers(8))
        elif way == 1:
            data[start : start + length] = rng.integers(0, 256, length, dtype=np.uint8).tobytes()
        elif way == 2:
            data[start : start + 4] = int(rng.choice(ODD)).to_bytes(4, "little", signed=True)
        elif way == 3:
            del data[start : start + int(rng.integers(1, 200))]
        elif way == 4:
            other = int(rng.integers(len(data)))
            data[start:start] = data[other : other + int(rng.integers(1, 200))]
        else:
            numbers = list(re.finditer(rb"-?\d+", bytes(data)))
            if numbers:
                found = numbers[int(rng.integers(len(numbers)))]
                data[found.start() : found.end()] = str(rng.choice(ODD)).encode()
        if not data:
            data = bytearray(b"\0")
    return bytes(data)


ODD = (-(2**31), -1, 0, 1, 7, 255, 65536, 2**30, 2**31 - 1)


def zip_again(content, rng):
    """Change a member of an archive, which its checksum would otherwise give away."""

    def change(members):
        name = sorted(members)[int(rng.integers(len(members)))]
        return members | {name: mutate(members[name], rng)}

    return edit_schema(change)(content)


# One format of each library, and the others slowly.
each_library = pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=[pytest.mark.slow] * (kind in ("xgboost.json", "catboost.json")))
        for kind in KINDS
    ],
)


@pytest.mark.filterwarnings("ignore")
@each_library
def test_mutated_files(kind, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("skmia.cli._audit.audit", stop)
    file, content = valid(kind)
    counts = dict.fromkeys(("answer", "sentence", "ended"), 0)
    for seed in range(MUTATIONS):
        rng = np.random.default_rng([seed, KINDS.index(kind)])
        change = zip_again if kind == "skops" and seed % 4 else mutate
        options = list_options(tmp_path, file, change(content, rng))
        before, start = list_files(tmp_path), time.process_time()
        commands = [options]
        # It opens files as an audit does.
        if seed % 5 == 0 and kind not in ("onnx", "policy", "csv", "csv.gz"):
            commands.append(["inspect", options[options.index("--model") + 1]])
        for command in commands:
            code = main([*map(str, command)])
            _, err = capsys.readouterr()
            assert code in ENDINGS and err.count("\n") == (code != 0), (kind, seed, code, err)
            assert "Traceback" not in err and len(err) < 10**4, (kind, seed, err)
            ending = "ended" if "ended the process" in err else "sentence"
            counts["answer" if code == 0 or "stopped here" in err else ending] += 1
        assert list_files(tmp_path) == before, (kind, seed)
        assert time.process_time() - start < 60, (kind, seed)
    print(kind, counts)
    assert counts["sentence"] + counts["ended"] > 0


@pytest.mark.filterwarnings("ignore")
@each_library
def test_valid_files(kind, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("skmia.cli._audit.audit", stop)
    if sys.platform == "linux":
        refuse_to_open(monkeypatch)
    file, content = valid(kind)
    options = list_options(tmp_path, file, content)
    code = main([*map(str, options)])
    assert code == 0 or "stopped here" in capsys.readouterr().err


def refuse_to_open(monkeypatch):
    """Fail where the program itself opens the file of a model."""
    program, load = os.getpid(), _model._load_model_file

    def load_elsewhere(*arguments):
        if os.getpid() == program:
            pytest.fail("the program opened the file")
        return load(*arguments)

    monkeypatch.setattr(_model, "_load_model_file", load_elsewhere)


def crash(*arguments, **settings):
    """What a forgery does that no check knows."""
    ctypes.string_at(0)


LINUX = pytest.mark.skipif(
    sys.platform != "linux", reason="the process is a copy of this one on Linux"
)
ENDED = "The model ended the process that asked it (signal 11); it may be damaged or forged."


def crash_later(n_calls):
    """A method of a forest that crashes after some calls."""
    ask, calls = RandomForestClassifier.predict_proba, []

    def predict_proba(self, X):
        calls.append(len(X))
        return crash() if len(calls) > n_calls else ask(self, X)

    return predict_proba


# Where a forged model may crash: the names that are replaced, and by what.
PLACES = {
    "open": (_model, "_load_skops", crash),
    "query": (RandomForestClassifier, "predict_proba", crash),
    "query later": (RandomForestClassifier, "predict_proba", crash_later(1)),
    "train": (RandomForestClassifier, "fit", crash),
    "file": (ReleasedModelAttack, "fit", crash),
}


# While the file is opened, during the audit, and in a process of the process: each a way to end.
ENDS = [("open", "1"), ("query later", "1"), ("train", "1"), ("train", "2")]
OTHERS = [("query", "1"), ("file", "1"), ("query later", "2")]


@LINUX
@pytest.mark.parametrize(
    ("place", "jobs"), [*ENDS, *(pytest.param(*one, marks=pytest.mark.slow) for one in OTHERS)]
)
def test_a_crash_is_one_sentence(place, jobs, tmp_path, capsys, monkeypatch):
    options = list_options(tmp_path, *valid("skops"))
    options = [word for word in options if word != "--quick"][:-1] + [jobs, "--out", tmp_path / "o"]
    monkeypatch.setattr(*PLACES[place])
    assert main([*map(str, options), "--shadows", "4"]) == 2
    assert capsys.readouterr() == ("", f"skmia audit: {ENDED}\n")
    assert list_files(tmp_path / "o") == []


@LINUX
@pytest.mark.parametrize("module, name", [(_model, "_load_skops"), (_inspect, "inspect_model")])
def test_a_crash_of_an_inspection_is_one_sentence(module, name, tmp_path, capsys, monkeypatch):
    list_options(tmp_path, *valid("skops"))
    monkeypatch.setattr(module, name, crash)
    assert main(["inspect", str(tmp_path / "model.skops")]) == 2
    assert capsys.readouterr() == ("", f"skmia inspect: {ENDED}\n")


def attempt(folder, port):
    """The names of what succeeds of all that a forged model may try."""
    attempts = {
        "file": lambda: (folder / "written").write_text("forged"),
        "removal": lambda: os.remove(folder / "table.csv"),
        "program": lambda: subprocess.run(["/bin/true"], check=True),
        "connection": lambda: socket.create_connection(("127.0.0.1", port), timeout=5),
    }
    succeeded = []
    for name, act in attempts.items():
        with suppress(OSError):
            act()
            succeeded.append(name)
    return succeeded


@LANDLOCK
@pytest.mark.parametrize(
    ("method", "jobs"),
    [
        ("predict_proba", "1"),
        ("fit", "2"),
        pytest.param("predict_proba", "2", marks=pytest.mark.slow),
        pytest.param("fit", "1", marks=pytest.mark.slow),
    ],
)
def test_what_a_model_tries_during_an_audit_fails(method, jobs, tmp_path, capsys, monkeypatch):
    options = list_options(tmp_path, *valid("skops"))[:-1] + [jobs]
    act, program = getattr(RandomForestClassifier, method), os.getpid()
    folder, calls = tmp_path / "kept", []
    before = list_files(tmp_path)

    def act_badly(self, *arguments, **settings):
        calls.append(method)
        if method == "predict_proba" and len(calls) == 1:  # the first question
            return act(self, *arguments, **settings)
        assert os.getpid() != program
        (folder / "mark").write_text("here it may write")
        raise ValueError(f"It succeeded in {attempt(tmp_path, port)}")

    monkeypatch.setattr(RandomForestClassifier, method, act_badly)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code = main([*map(str, options), "--checkpoint", str(folder)])
    err = capsys.readouterr().err
    assert (code, err.count("\n")) == (2, 1) and "It succeeded in []" in err
    assert (folder / "mark").exists()
    shutil.rmtree(folder)
    assert list_files(tmp_path) == before


@cache
def make_document():
    model = DecisionTreeClassifier(random_state=0).fit(X[:40], Y[:40])
    settings = {"attacks": {"loss": ThresholdAttack()}, "fprs": [0.1], "file": False}
    membership = np.arange(N) < 40
    return as_audit_document(audit(model, Records(X, Y), membership, random_state=0, **settings))


class Replying:
    """A process whose audit replies this."""

    def __init__(self, reply):
        self.reply, self.open_doors = reply, []

    def ask(self, step, **_):
        return self.reply if step == "audit" else None


def reply_with(reply, tmp_path, monkeypatch):
    """The exit code of an audit whose process replies this."""
    options = list_options(tmp_path, "model.skops", b"")
    process = nullcontext(Replying(reply))
    monkeypatch.setattr(_audit, "start_sandbox", lambda *arguments: process)
    return main([*map(str, options)])


@pytest.mark.parametrize(
    "reply",
    [
        lambda document: None,
        lambda document: [{}, "text", 0, []],
        lambda document: [{"schema": "skmia.audit"}, "text", 0, []],
        lambda document: [document, 3, 0, []],
        lambda document: [document, "text", 256, []],
        lambda document: [document, "text", 0, [1]],
        lambda document: "abcd",
    ],
)
def test_a_forged_reply_is_refused(reply, tmp_path, capsys, monkeypatch):
    assert reply_with(reply(make_document()), tmp_path, monkeypatch) == 2
    told = ENDED.replace("signal 11", "a reply that cannot be read")
    assert capsys.readouterr() == ("", f"skmia audit: {told}\n")


def test_an_honest_reply_is_taken(tmp_path, capsys, monkeypatch):
    assert reply_with([make_document(), "text", 0, []], tmp_path, monkeypatch) == 0
    assert "text" in capsys.readouterr().out


@LINUX
@pytest.mark.usefixtures("handed_over")
def test_the_program_itself_opens_nothing_in_an_audit(tmp_path, monkeypatch):
    options = list_options(tmp_path, *valid("skops"))
    refuse_to_open(monkeypatch)
    assert main([*map(str, options)]) in (0, 4)


@LINUX
@pytest.mark.parametrize("kind", ["skops", "xgboost.json", "onnx"])
def test_the_program_itself_opens_nothing_in_an_inspection(kind, tmp_path, capsys, monkeypatch):
    file, content = valid(kind)
    (tmp_path / file).write_bytes(content)
    refuse_to_open(monkeypatch)
    code = main(["inspect", str(tmp_path / file)])
    assert code == 0 or (kind == "onnx" and "skmia inspect does not" in capsys.readouterr().err)


HONEST = {
    "categories": HistGradientBoostingClassifier(max_iter=2, categorical_features=[0]),
    "kernel": SVC(**KERNEL),
    "nu kernel": NuSVC(**KERNEL),
    "word": WORD_MODEL[TfidfVectorizer],
    "rare": make_pipeline(RARE, LogisticRegression()),
    "splines": SPLINES,
    "unfitted parts": VotingClassifier([("s", SVC()), ("n", KNeighborsClassifier())]),
    "stages": BOOSTING,
    "early stop": GradientBoostingClassifier(n_estimators=50, n_iter_no_change=2),
    "brute": KNeighborsClassifier(algorithm="brute"),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("no_process")
@pytest.mark.parametrize("name", HONEST)
def test_honest_models_are_taken(name, tmp_path, capsys, monkeypatch):
    skops = pytest.importorskip("skops.io")
    monkeypatch.setattr("skmia.cli._audit.audit", stop)
    features = WORDS if name == "word" else X @ X.T if "kernel" in name else X
    model = copy.deepcopy(HONEST[name]).fit(features, Y)
    options = list_options(tmp_path, "model.skops", skops.dumps(model), features)
    assert main([*map(str, options)]) == 2
    assert capsys.readouterr().err == "skmia audit: stopped here\n"
    if name in ("categories", "word", "unfitted parts"):  # it opens files as an audit does
        assert main(["inspect", str(tmp_path / "model.skops")]) == 0


def stop(*arguments, **settings):
    """What comes after a model was opened and asked is not of strangers."""
    raise ValueError("stopped here")
