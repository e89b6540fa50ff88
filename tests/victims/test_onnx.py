"""Models in ONNX files answer as the models that they were made from."""

import pickle
from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skmia import Records, audit
from skmia.attacks import LiRA
from skmia.victims import OnnxClassifier, OnnxRegressor, read_onnx_file
from skmia.victims._onnx import _as_input_type

skl2onnx = pytest.importorskip("skl2onnx")
pytest.importorskip("onnxruntime")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 4)).astype(np.float32)
Y = (X[:, 0] + RNG.normal(size=120) > 0) * 2 + (X[:, 1] > 0)


def save(model, example, path, **options):
    converted = skl2onnx.to_onnx(model, example, **options)
    path.write_bytes(converted.SerializeToString())
    return path


@pytest.mark.parametrize("zipmap", [True, False])
@pytest.mark.parametrize("labels", [[0, 1, 2, 3], ["d", "a", "c", "b"]])
def test_probabilities_and_classes(tmp_path, zipmap, labels):
    model = LogisticRegression(max_iter=500).fit(X, np.array(labels)[Y])
    options = {id(model): {"zipmap": zipmap}}
    path = save(model, X[:1], tmp_path / "m.onnx", options=options)
    victim = read_onnx_file(path)
    assert not victim.classes_are_given
    np.testing.assert_array_equal(victim.classes_, model.classes_)
    np.testing.assert_allclose(victim.predict_proba(X), model.predict_proba(X), atol=1e-5)
    np.testing.assert_array_equal(victim.predict(X), model.predict(X))
    assert victim.n_features_in_ == 4
    assert victim.predict_proba(X[:0]).shape == (0, 4)
    again = pickle.loads(pickle.dumps(victim))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert clone(victim).path == path


def hide_labels(path):
    """Compute the labels of a file by nodes from which their order cannot be told."""
    onnx = pytest.importorskip("onnx")
    model = onnx.load(path)
    for output, dtype in zip(model.graph.output, (np.int64, np.float32), strict=True):
        hidden, zero = f"hidden {output.name}", f"zero {output.name}"
        for node in model.graph.node:
            node.output[:] = [hidden if name == output.name else name for name in node.output]
        model.graph.initializer.append(onnx.numpy_helper.from_array(np.zeros(1, dtype), zero))
        model.graph.node.append(onnx.helper.make_node("Add", [hidden, zero], [output.name]))
    path.write_bytes(model.SerializeToString())


def list_converted():
    """Models whose converters store the labels in each of the ways that there are."""
    yield LogisticRegression(max_iter=500)
    yield RandomForestClassifier(3, random_state=0)
    yield make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
    yield GaussianNB()
    yield KNeighborsClassifier()
    yield AdaBoostClassifier(n_estimators=2, random_state=0)
    yield CalibratedClassifierCV(LogisticRegression(), cv=2)


@pytest.mark.parametrize("labels", [[3, 7, 11, 5], ["d", "a", "c", "b"]])
@pytest.mark.parametrize("model", list_converted(), ids=lambda model: type(model).__name__)
def test_the_file_states_the_order_of_the_labels(tmp_path, model, labels):
    model.fit(X, np.array(labels)[Y])
    last = model[-1] if hasattr(model, "steps") else model
    path = save(model, X[:1], tmp_path / "m.onnx", options={id(last): {"zipmap": False}})
    victim = read_onnx_file(path)
    assert victim.classes_.tolist() == sorted(labels)
    assert not victim.classes_are_given
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(victim.predict_proba(X), model.predict_proba(X), atol=1e-5)


def test_labels_that_are_renamed_behind_the_model(tmp_path):
    onnx = pytest.importorskip("onnx")
    model = LogisticRegression(max_iter=500).fit(X, np.array(["a", "b", "c", "d"])[Y])
    path = save(model, X[:1], tmp_path / "m.onnx", options={id(model): {"zipmap": False}})
    file = onnx.load(path)
    for entry in file.opset_import:
        entry.version = max(entry.version, 2)
    order = {"keys_strings": ["a", "b", "c", "d"], "values_strings": ["w", "z", "x", "y"]}
    label = file.graph.output[0].name
    for node in file.graph.node:
        node.output[:] = ["known" if name == label else name for name in node.output]
    make = partial(onnx.helper.make_node, "LabelEncoder", domain="ai.onnx.ml")
    file.graph.node.append(make(["known"], [label], **order))
    path.write_bytes(file.SerializeToString())
    victim, names = read_onnx_file(path), np.array(["w", "z", "x", "y"])
    assert victim.classes_.tolist() == names.tolist()
    known = np.searchsorted(model.classes_, model.predict(X))
    np.testing.assert_array_equal(victim.predict(X), names[known])


def test_whole_numbers_that_are_not_those_of_the_columns_are_refused(tmp_path):
    model = LogisticRegression(max_iter=500).fit(X, Y + 1)
    path = save(model, X[:1], tmp_path / "m.onnx", options={id(model): {"zipmap": False}})
    hide_labels(path)
    with pytest.raises(ValueError, match="labels such as ., but not their order"):
        read_onnx_file(path).predict_proba(X)
    victim = read_onnx_file(path, classes=model.classes_)
    np.testing.assert_array_equal(victim.predict_proba(X).argmax(axis=1), model.predict(X) - 1)


def test_one_input_for_each_column(tmp_path):
    from skl2onnx.common.data_types import FloatTensorType, StringTensorType

    frame = pd.DataFrame({"age": X[:, 0], "city": RNG.choice(["Rome", "Oslo"], 120)})
    columns = ColumnTransformer(
        [("age", StandardScaler(), ["age"]), ("city", OneHotEncoder(), ["city"])]
    )
    model = make_pipeline(columns, LogisticRegression()).fit(frame, Y)
    types = [("age", FloatTensorType([None, 1])), ("city", StringTensorType([None, 1]))]
    path = tmp_path / "m.onnx"
    path.write_bytes(skl2onnx.to_onnx(model, initial_types=types).SerializeToString())
    victim = read_onnx_file(path)
    assert victim.feature_names_in_.tolist() == ["age", "city"]
    expected = model.predict_proba(frame)
    as_categories = frame.astype({"city": "category"})
    for table in (frame, frame[["city", "age"]], as_categories, frame.to_numpy(dtype=object)):
        np.testing.assert_allclose(victim.predict_proba(table), expected, atol=1e-5)
    with pytest.raises(ValueError, match="takes 2 features; got 1"):
        victim.predict_proba(frame[["age"]])
    with pytest.raises(ValueError, match="has a feature 'city', which X lacks"):
        victim.predict_proba(frame.rename(columns={"city": "town"}))


def test_numbers_that_the_type_of_an_input_cannot_hold_are_refused(tmp_path):
    whole = RNG.integers(18, 80, (60, 2))
    model = Ridge().fit(whole, whole[:, 0])
    victim = read_onnx_file(save(model, whole[:1], tmp_path / "m.onnx"))
    np.testing.assert_allclose(victim.predict(whole.astype(float)), model.predict(whole), rtol=1e-4)
    for value in (np.nan, 30.7, np.inf):
        rows = whole.astype(float)
        rows[3, 1] = value
        told = rf"has the type tensor\(int64\), which cannot hold {value} \(row 3, column 1\)\."
        with pytest.raises(ValueError, match=told):
            victim.predict(rows)
        with pytest.raises(ValueError, match=told):
            victim.predict(rows.astype(object))


@pytest.mark.parametrize(
    ("kind", "values", "told"),
    [
        ("int32", [1, 2**31], r"cannot hold 2147483648 \(row 1\)"),
        ("bool", [[True], [2]], r"cannot hold 2 \(row 1\)"),
        ("bool", ["True", "False"], "takes numbers: could not convert string"),
        ("int64", np.array([[1, None]], dtype=object), "cannot hold nan"),
        ("float16", [1.0, 1e6], "cannot hold 1000000.0"),
        ("float", [-1e300], "cannot hold -1e"),
    ],
)
def test_each_type_refuses_what_it_cannot_hold(kind, values, told):
    entry = SimpleNamespace(name="age", type=f"tensor({kind})")
    with pytest.raises(ValueError, match=f"^Input 'age' of the model .*{told}"):
        _as_input_type(values, entry)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("int64", ["30", "40"]),
        ("int64", np.array([[2**60 + 1]], dtype=object)),
        ("float", np.array([[2**70, -1]], dtype=object)),
        ("int32", [30.0, -2.0]),
        ("bool", np.array([[True, 0.0]], dtype=object)),
        ("float", [0.1, np.nan, np.inf]),
    ],
)
def test_each_type_takes_what_it_can_hold(kind, values):
    found = _as_input_type(values, SimpleNamespace(name="age", type=f"tensor({kind})"))
    if kind == "int64":  # also numbers that a float cannot hold
        assert found.tolist() == np.asarray(values).astype(np.int64).tolist()
    np.testing.assert_allclose(found, np.asarray(values).astype(float), rtol=1e-6)


def test_a_net_that_answers_with_logits(tmp_path):
    onnx = pytest.importorskip("onnx")
    from onnx import TensorProto, helper, numpy_helper

    weights = RNG.normal(size=(4, 3)).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["z"])],
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 4])],
        [helper.make_tensor_value_info("z", TensorProto.FLOAT, [None, 3])],
        [numpy_helper.from_array(weights, "w")],
    )
    opset = helper.make_opsetid("", 17)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=9), tmp_path / "m.onnx")
    with pytest.raises(ValueError, match=r'do not add to 1.*give kind="logits"'):
        read_onnx_file(tmp_path / "m.onnx").predict_proba(X)
    proba = read_onnx_file(tmp_path / "m.onnx", kind="logits").predict_proba(X)
    expected = np.exp(X @ weights)
    np.testing.assert_allclose(proba, expected / expected.sum(axis=1, keepdims=True), atol=1e-5)
    with pytest.raises(ValueError, match="answers with 3 classes; classes has 2"):
        read_onnx_file(tmp_path / "m.onnx", classes=[0, 1], kind="logits").predict_proba(X)


def test_one_column_with_classes_is_of_a_classifier(tmp_path):
    path = save(Ridge().fit(X, X[:, 0]), X[:1], tmp_path / "m.onnx")
    assert isinstance(read_onnx_file(path), OnnxRegressor)
    assert isinstance(read_onnx_file(path, classes=[0, 1]), OnnxClassifier)
    assert isinstance(read_onnx_file(path, kind="logits"), OnnxClassifier)
    with pytest.raises(ValueError, match="The 'kind' parameter of OnnxClassifier"):
        read_onnx_file(path, kind="odds")


def test_regressor(tmp_path):
    model = Ridge().fit(X, X[:, 0] + X[:, 1])
    victim = read_onnx_file(save(model, X[:1], tmp_path / "m.onnx"))
    assert isinstance(victim, OnnxRegressor)
    np.testing.assert_allclose(victim.predict(X), model.predict(X), atol=1e-5)
    assert victim.predict(X[:0]).shape == (0,)


@pytest.mark.usefixtures("quick_audits")
def test_audit_with_an_estimator_for_shadow_models(tmp_path):
    y = (Y > 1).astype(int)
    membership = np.arange(120) % 2 == 0
    forest = RandomForestClassifier(5, random_state=0)
    model = clone(forest).fit(X[membership], y[membership])
    victim = read_onnx_file(save(model, X[:1], tmp_path / "m.onnx"))
    settings = {"estimator": forest, "shadows": 4, "random_state": 0, "file": False}
    settings["attacks"] = {"lira": LiRA()}
    report, same = (audit(one, Records(X, y), membership, **settings) for one in (victim, model))
    auc = "metric == 'auc' and scope == 'overall'"
    found, expected = (r.to_frame().query(auc)["estimate"] for r in (report, same))
    np.testing.assert_allclose(found, expected, atol=0.01)
    assert report.evidence == "leak"


def test_what_is_no_model_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"There is no file .*none\.onnx"):
        read_onnx_file(tmp_path / "none.onnx")
    (tmp_path / "bad.onnx").write_bytes(b"hello")
    with pytest.raises(ValueError, match=r"bad\.onnx is not a model that onnxruntime reads"):
        read_onnx_file(tmp_path / "bad.onnx")
    model = Ridge().fit(X, X[:, 0])
    path = save(model, X[:1], tmp_path / "m.onnx")
    with pytest.raises(ValueError, match="The model refuses the records"):
        read_onnx_file(path).predict(X[:, :2])
