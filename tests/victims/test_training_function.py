"""Classifiers that are trained by a function."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skmia import Records, ShadowPool, audit
from skmia.attacks import LiRA
from skmia.datasets import make_membership_problem
from skmia.victims import FunctionClassifier, open_white_box

RECORDS, MEMBERSHIP = make_membership_problem(300, n_features=20, random_state=0)
MEMBERS = RECORDS[MEMBERSHIP == 1]


def train_tree(X, y, seed):
    return DecisionTreeClassifier(random_state=seed).fit(X, y)


def ask_tree(model, X):
    return model.predict_proba(X)


def train_net(X, y, seed):
    import torch

    torch.manual_seed(seed)
    net = torch.nn.Sequential(
        torch.nn.Linear(X.shape[1], 64),
        torch.nn.Tanh(),
        torch.nn.Dropout(0.1),
        torch.nn.Linear(64, 2),
    )
    X, y = torch.tensor(X), torch.tensor(y)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.02)
    for _ in range(60):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(net(X), y).backward()
        optimizer.step()
    return net


@pytest.fixture(scope="module")
def net():
    pytest.importorskip("torch")
    return FunctionClassifier(train_net, random_state=0).fit(MEMBERS.X, MEMBERS.y)


def test_a_training_loop_is_attacked_through_its_logits(net):
    assert net.query(RECORDS.X).kind == "logits"
    pool = ShadowPool(net, n_estimators=8, random_state=0).fit(RECORDS)
    assert pool.output_kind_ == "logits" and pool.backend_ == "joblib"
    scores = LiRA(FrozenEstimator(net), pool).fit(RECORDS).score_samples(RECORDS)
    error = np.sqrt((len(RECORDS) + 1) / (12 * len(MEMBERS) * (len(RECORDS) - len(MEMBERS))))
    assert roc_auc_score(MEMBERSHIP, scores) > 0.5 + 4 * error


def test_asking_changes_neither_the_module_nor_random_numbers(net):
    import torch

    net.model_.train()
    torch.manual_seed(0)
    first, second = net.predict_proba(RECORDS.X), net.predict_proba(RECORDS.X)
    drawn = torch.rand(1)
    torch.manual_seed(0)
    assert drawn == torch.rand(1) and net.model_.training
    np.testing.assert_array_equal(first, second)  # without dropout


def test_gradients_of_the_module(net):
    import torch

    white_box = open_white_box(net)
    norms = white_box.gradient_norms(white_box.encode(RECORDS.X[:5]), RECORDS.y[:5])
    net.model_.eval()
    for i in range(5):
        net.model_.zero_grad()
        logits = net.model_(torch.tensor(RECORDS.X[i : i + 1]))
        torch.nn.functional.cross_entropy(logits, torch.tensor(RECORDS.y[i : i + 1])).backward()
        squares = sum(float((p.grad.double() ** 2).sum()) for p in net.model_.parameters())
        assert norms[i] == pytest.approx(np.sqrt(squares), rel=1e-4)


def test_a_function_of_another_library_gives_its_answers():
    model = FunctionClassifier(train_tree, ask_tree, kind="proba", random_state=3)
    labels = np.array(["no", "yes"])[MEMBERS.y]
    model.fit(MEMBERS.X, labels)
    same = clone(model.model_).fit(MEMBERS.X, labels)
    np.testing.assert_array_equal(model.predict_proba(RECORDS.X), same.predict_proba(RECORDS.X))
    assert model.predict(RECORDS.X).tolist() == same.predict(RECORDS.X).tolist()
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(RECORDS.X), model.predict_proba(RECORDS.X))
    assert clone(model).fit(MEMBERS.X, labels).model_.random_state == model.model_.random_state


@pytest.mark.usefixtures("quick_audits")
def test_frames_pipelines_and_batches():
    seen = []

    def forward(model, X):
        seen.append(X)
        return model.predict_proba(X)

    frame = pd.DataFrame(RECORDS.X).add_prefix("x")
    model = FunctionClassifier(train_tree, forward, kind="proba", batch_size=128)
    model.fit(frame, RECORDS.y).predict(frame)
    assert [len(X) for X in seen] == [128, 128, 44] and list(seen[0].columns) == list(frame.columns)
    piped = make_pipeline(StandardScaler(), FunctionClassifier(train_tree, ask_tree, kind="proba"))
    assert piped.fit(RECORDS.X, RECORDS.y).score(RECORDS.X, RECORDS.y) == 1
    settings = {"attacks": {"lira": LiRA()}, "shadows": 4, "file": False, "random_state": 0}
    report = audit(clone(piped), RECORDS, **settings)
    assert report.scores["lira"].shape == (300,)


@pytest.mark.usefixtures("copied_workers")
def test_processes_and_interruptions_do_not_change_shadow_models(tmp_path):
    model = FunctionClassifier(train_tree, ask_tree, kind="proba")

    def fit(**settings):
        return ShadowPool(model, 4, random_state=0, **settings).fit(RECORDS).signals_

    alone = fit()
    assert len({row.tobytes() for row in alone[0, 0]}) == 4
    np.testing.assert_array_equal(fit(n_jobs=2), alone)
    fit(checkpoint=tmp_path)
    next(tmp_path.glob("*2*.npz")).unlink()
    np.testing.assert_array_equal(fit(checkpoint=tmp_path), alone)
    model = FunctionClassifier(lambda X, y, seed: train_tree(X, y, 0), ask_tree, kind="proba")
    with pytest.raises(ValueError, match="differs in the parameter train"):
        fit(checkpoint=tmp_path)


def test_a_class_that_is_missing_has_its_place():
    y = np.array([0, 2, 2, 0])
    table = {"classes": [2, 1, 0], "kind": "proba"}
    asked = []

    def train(X, y, seed):
        asked.append((y.tolist(), y.dtype))
        return lambda X: np.tile([0.2, 0.3, 0.5], (len(X), 1))

    model = FunctionClassifier(train, **table).fit(np.zeros((4, 1)), y)
    assert asked == [([2, 0, 0, 2], np.int64)]
    assert model.predict(np.zeros((2, 1))).tolist() == [0, 0]
    assert model.query(np.zeros((0, 1))).shape == (0, 3)
    with pytest.raises(ValueError, match="holds the label 7, which is not among the classes"):
        model.fit(np.zeros((4, 1)), [7, 0, 1, 2])
    with pytest.raises(ValueError, match="holds the label 'a', which is not among the classes"):
        model.fit(np.zeros((4, 1)), np.array(list("aabb"), dtype=object))
    narrow = FunctionClassifier(train, kind="proba").fit(np.zeros((4, 1)), y)
    with pytest.raises(ValueError, match=r"shape \(2, 2\); got \(2, 3\). If a class is missing"):
        narrow.predict(np.zeros((2, 1)))


def test_one_column_of_logits():
    def train(X, y, seed):
        return lambda X: X[:, :1]

    model = FunctionClassifier(train).fit([[-1.0], [2.0]], ["a", "b"])
    assert model.query([[-1.0], [2.0]]).values.tolist() == [[0, -1], [0, 2]]
    np.testing.assert_allclose(model.predict_proba([[2.0]])[0, 1], 1 / (1 + np.exp(-2.0)))


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: FunctionClassifier(train_tree).predict([[1.0]]), "is not fitted"),
        (lambda: FunctionClassifier(3).fit([[1.0]], [0]), "'train' parameter"),
        (lambda: FunctionClassifier(train_tree).fit([[1.0]], [0, 1]), "X has 1 rows and y has"),
        (lambda: FunctionClassifier(train_tree).fit([[1.0]], [0.5]), "Unknown label type"),
        (
            lambda: FunctionClassifier(lambda X, y, seed: None).fit([[1.0]], [0]),
            "train must return a torch module or a function of rows, or set forward; got None",
        ),
        (
            lambda: (
                FunctionClassifier(train_tree, lambda model, X: "?")
                .fit(RECORDS.X, RECORDS.y)
                .predict(RECORDS.X)
            ),
            r"got \(\)",
        ),
        (
            lambda: Records(RECORDS.X, RECORDS.y).with_outputs(
                FunctionClassifier(train_tree, lambda m, X: np.full((len(X), 2), np.nan)).fit(
                    RECORDS.X, RECORDS.y
                )
            ),
            "NaN for 300 of 300",
        ),
    ],
)
def test_one_sentence_for_what_cannot_work(call, message):
    with pytest.raises((ValueError, TypeError, NotFittedError), match=message):
        call()
