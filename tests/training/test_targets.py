"""y reaches each clone in the form in which the loss compares it record by record."""

import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import BaggingRegressor, RandomForestClassifier
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmia import Records, ShadowPool, audit
from skmia._core.records import has_column
from skmia._core.targets import FLAT, TargetForm, choose_form
from skmia.attacks import LiRA
from skmia.exceptions import TrainingError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 4)).astype(np.float32)
VALUES = (X[:, 0] - X[:, 1] + RNG.normal(0, 0.3, 120)).astype(np.float32)
CLASSES = (VALUES > 0).astype(np.int64)


class Shape(RegressorMixin, BaseEstimator):
    """Regressor of a user that keeps the shape of y."""

    def fit(self, X, y):
        self.shape_ = y.shape
        self.mean_ = y.mean()
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


def test_records_remember_a_column():
    records = Records(X, VALUES[:, None], group=CLASSES)
    assert records.y.shape == (120,) and has_column(records)
    others = Records(X, VALUES, group=CLASSES)
    assert not has_column(others)
    assert has_column(Records(X, list(map(list, VALUES[:, None]))))
    for made in (
        records[::2],
        records[[3, 1]],
        records.with_fields(other=CLASSES),
        pickle.loads(pickle.dumps(records)),
        Records.concat([records[:5], others[:5]]),
        Records.from_sides((X, VALUES[:, None]), (X, VALUES[:, None]))[0],
    ):
        assert has_column(made) and made.y.ndim == 1


@pytest.mark.parametrize("is_column", [False, True])
def test_an_estimator_of_a_user_gets_y_as_it_was_given(is_column):
    y = VALUES[:, None] if is_column else VALUES
    pool = ShadowPool(Shape(), n_estimators=2, random_state=0, store="models").fit(Records(X, y))
    assert {model.shape_ for model in pool.estimators_} == {(60, 1) if is_column else (60,)}
    assert pool.notes_ == (
        ["The shadow models are fitted on y of shape (n, 1)."] if is_column else []
    )


@pytest.mark.parametrize("estimator", [LinearRegression(), RandomForestClassifier(2)])
def test_scikit_learn_takes_a_column_for_a_flat_y(estimator):
    y = CLASSES if hasattr(estimator, "predict_proba") else VALUES
    pools = [
        ShadowPool(estimator, n_estimators=2, random_state=0).fit(Records(X, labels))
        for labels in (y, y[:, None])
    ]
    np.testing.assert_array_equal(pools[0].signals_, pools[1].signals_)


def test_an_estimator_of_several_outputs_gets_a_column():
    assert choose_form(MultiOutputRegressor(Ridge()), X, VALUES, False) == TargetForm(column=True)
    pool = ShadowPool(MultiOutputRegressor(Ridge()), n_estimators=2, random_state=0)
    alone = ShadowPool(Ridge(), n_estimators=2, random_state=0, batched=False)
    signals = [one.fit(Records(X, VALUES)).signals_ for one in (pool, alone)]
    np.testing.assert_allclose(*signals, rtol=1e-5)


def test_labels_of_several_columns_are_left_alone():
    assert choose_form(Ridge(), X, np.column_stack([VALUES, VALUES]), False) == FLAT


torch = pytest.importorskip("torch")
skorch = pytest.importorskip("skorch")


class Net(torch.nn.Module):
    def __init__(self, n_units=1):
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, n_units)
        )

    def forward(self, x):
        return self.layers(x)


class Flat(Net):
    def forward(self, x):
        return self.layers(x).squeeze(-1)


class Spread(torch.nn.Module):
    """Squared error without a warning of shapes that differ."""

    def forward(self, outputs, y):
        return ((outputs - y) ** 2).mean()


class Total(torch.nn.Module):
    def forward(self, outputs, y):
        return (outputs - y).abs().sum()


class SpreadFlat(torch.nn.Module):
    def forward(self, outputs, y):
        return ((outputs.squeeze(-1) - y) ** 2).mean()


class Column(skorch.NeuralNetRegressor):
    """What a user does by hand."""

    def fit(self, X, y, **fit_params):
        return super().fit(X, np.asarray(y).reshape(-1, 1), **fit_params)


SETTINGS = {"max_epochs": 3, "lr": 0.05, "batch_size": 16, "train_split": None, "verbose": 0}


def make_regressor(kind=skorch.NeuralNetRegressor, module=Net, **settings):
    return kind(module, **{**SETTINGS, **settings})


def make_classifier(kind=skorch.NeuralNetClassifier, n_units=2, **settings):
    return kind(Net, module__n_units=n_units, **{**SETTINGS, **settings})


def make_binary():
    return make_classifier(skorch.NeuralNetBinaryClassifier, n_units=1)


def make_logistic():
    return make_classifier(n_units=1, criterion=torch.nn.BCEWithLogitsLoss)


def make_softmax():
    return make_classifier(criterion=torch.nn.CrossEntropyLoss)


pytestmark = pytest.mark.filterwarnings("ignore:.*not writable")


def train(estimator, y, batched=False, **settings):
    records = Records(X.copy(), y)
    return ShadowPool(estimator, n_estimators=2, random_state=0, batched=batched, **settings).fit(
        records
    )


@pytest.mark.parametrize(
    "y, batched",
    [
        (VALUES, False),
        pytest.param(VALUES, True, marks=pytest.mark.slow),
        pytest.param(VALUES[:, None], False, marks=pytest.mark.slow),
        (VALUES[:, None], True),
    ],
    ids=["flat, alone", "flat, together", "column, alone", "column, together"],
)
def test_a_net_of_one_output_learns_as_from_a_column(y, batched):
    expected = train(make_regressor(Column), VALUES).signals_
    pool = train(make_regressor(), y, batched)
    np.testing.assert_allclose(pool.signals_, expected, rtol=1e-4, atol=1e-5)
    assert pool.notes_ == ["The shadow models are fitted on y of shape (n, 1)."]


@pytest.mark.parametrize(
    ("settings", "column"),
    [
        ({}, True),
        ({"criterion": Spread}, True),
        ({"criterion": Total}, True),
        ({"criterion": torch.nn.HuberLoss}, True),
        ({"criterion": SpreadFlat}, False),
        ({"module": Flat}, False),
    ],
    ids=["mse", "own", "sum", "huber", "own flat", "flat output"],
)
@pytest.mark.parametrize("given", [False, True])
def test_the_loss_decides_whatever_was_given(settings, column, given):
    assert choose_form(make_regressor(**settings), X, VALUES, given) == TargetForm(column)


@pytest.mark.parametrize(
    "around",
    [
        lambda net: make_pipeline(StandardScaler(), net),
        lambda net: TransformedTargetRegressor(net, transformer=StandardScaler()),
        lambda net: TransformedTargetRegressor(
            make_pipeline(StandardScaler(), net), transformer=StandardScaler()
        ),
    ],
    ids=["pipeline", "target", "both"],
)
def test_a_net_within_another_estimator(around):
    assert choose_form(around(make_regressor()), X, VALUES, False) == TargetForm(column=True)
    by_hand = train(around(make_regressor(Column)), VALUES)
    pool = train(around(make_regressor()), VALUES)
    np.testing.assert_array_equal(pool.signals_, by_hand.signals_)


def test_an_estimator_that_flattens_y_is_an_error_and_not_a_warning():
    with pytest.raises(TrainingError, match=r"every output with every label.*squeeze\(-1\)"):
        train(BaggingRegressor(make_regressor(), n_estimators=2), VALUES)


@pytest.mark.parametrize(
    ("make", "y", "form"),
    [
        (make_binary, CLASSES, TargetForm(False, "float32")),
        (make_binary, CLASSES == 1, TargetForm(False, "float32")),
        (make_binary, CLASSES.astype(np.float32), FLAT),
        (make_logistic, CLASSES.astype(np.float32), TargetForm(True)),
        (make_logistic, CLASSES, TargetForm(True, "float32")),
        (make_softmax, CLASSES, FLAT),
        (make_softmax, CLASSES.astype(np.int32), TargetForm(False, "int64")),
        (make_softmax, CLASSES.astype(float), TargetForm(False, "int64")),
        (make_regressor, VALUES.astype(float), TargetForm(True)),
    ],
)
@pytest.mark.parametrize("given", [False, True])
def test_labels_get_the_type_that_the_loss_needs(make, y, form, given):
    assert choose_form(make(), X, y, given) == form


class Floats(skorch.NeuralNetBinaryClassifier):
    """What a user does by hand."""

    def fit(self, X, y, **fit_params):
        return super().fit(X, np.asarray(y, dtype=np.float32), **fit_params)


class FloatColumn(skorch.NeuralNetClassifier):
    def fit(self, X, y, **fit_params):
        return super().fit(X, np.asarray(y, dtype=np.float32).reshape(-1, 1), **fit_params)


@pytest.mark.parametrize(
    ("make", "kind", "settings"),
    [
        (make_binary, Floats, {}),
        (make_logistic, FloatColumn, {"criterion": torch.nn.BCEWithLogitsLoss}),
    ],
)
def test_binary_nets_learn_from_whole_numbers_as_from_floats(make, kind, settings):
    by_hand = train(make_classifier(kind, n_units=1, **settings), CLASSES)
    pool = train(make(), CLASSES)
    np.testing.assert_array_equal(pool.signals_, by_hand.signals_)
    assert "as float32" in pool.notes_[0]
    together = train(make(), CLASSES, batched=True)
    np.testing.assert_allclose(together.signals_, pool.signals_, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize(
    ("make", "y", "reason"),
    [
        (make_binary, 2 * CLASSES - 1, r"takes the labels 0 and 1; got labels from -1 to 1"),
        (make_logistic, CLASSES + 1, r"got labels from 1 to 2. Recode"),
        (make_softmax, 2 * CLASSES - 1, r"2 output units.*0 to 1; got labels from -1 to 1"),
        (make_softmax, CLASSES + 1, r"2 output units.*LabelEncoder"),
        (make_softmax, np.where(CLASSES, "ill", "well"), r"y holds text, such as 'ill'"),
        (make_binary, np.where(CLASSES, "ill", "well"), r"LabelEncoder"),
    ],
)
def test_labels_that_a_net_cannot_take_are_refused_with_the_cure(make, y, reason):
    with pytest.raises(ValueError, match=reason) as caught:
        train(make(), y)
    assert not set("torch dtype tensor expected target".split()) & set(str(caught.value).split())


def test_a_net_that_takes_its_number_of_inputs_from_the_rows():
    class Open(torch.nn.Linear):
        def __init__(self, input_dim=2):
            super().__init__(input_dim, 1)

    setter = skorch.callbacks.InputShapeSetter()
    net = skorch.NeuralNetRegressor(Open, callbacks=[setter], **SETTINGS)
    assert choose_form(net, X, VALUES, False) == TargetForm(column=True)


def test_the_choice_draws_no_number_and_changes_no_net():
    net = make_regressor().fit(X, VALUES[:, None])
    weights = net.module_.layers[0].weight.detach().clone()
    state = torch.get_rng_state()
    choose_form(net, X, VALUES, False)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(net.module_.layers[0].weight, weights)


@pytest.mark.usefixtures("quick_audits")
def test_an_audit_trains_and_repeats_a_net_of_one_output():
    settings = {"attacks": {"LiRA": LiRA()}, "shadows": 4, "random_state": 0}
    report = audit(make_regressor(), Records(X.copy(), VALUES), **settings)
    assert "The shadow models are fitted on y of shape (n, 1)." in report.notes
