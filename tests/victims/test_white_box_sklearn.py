"""White boxes of scikit-learn models against finite differences, autograd and hand examples."""

import copy
import warnings

import numpy as np
import pandas as pd
import pytest
from asking import answers_of
from refusals import check_refusal, parametrize_refusals
from scipy import sparse
from scipy.special import expit
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from skmia import Records
from skmia.signals import Loss, SquaredError
from skmia.victims import CallableVictim, WhiteBox, open_white_box

N, D = 12, 3
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, D))
LABELS = {2: np.array(["no", "yes"])[np.arange(N) % 2], 3: np.arange(N) % 3 + 5}
TARGET = X @ [1.0, -2.0, 0.5] + RNG.normal(size=N)
MLP = {
    "hidden_layer_sizes": (4, 3),
    "max_iter": 10,
    "alpha": 1.0,
    "solver": "lbfgs",
    "random_state": 0,
}
ACTIVATIONS = ["identity", "logistic", "tanh", "relu"]


def fit_quietly(model, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y)


def make_victims():
    """Models of all families, by name, with their labels."""
    found = {}
    for k, y in LABELS.items():
        found[f"logistic-{k}"] = LogisticRegression(C=3).fit(X, y), y
        found[f"logistic-{k}-no-intercept"] = LogisticRegression(fit_intercept=False).fit(X, y), y
        for activation in ACTIVATIONS:
            mlp = MLPClassifier(activation=activation, **MLP)
            found[f"mlp-{k}-{activation}"] = fit_quietly(mlp, y), y
    found["linear"] = LinearRegression().fit(X, TARGET), TARGET
    found["ridge"] = Ridge(fit_intercept=False).fit(X, TARGET), TARGET
    found["ridge-column"] = Ridge().fit(X, TARGET[:, None]), TARGET
    for activation in ACTIVATIONS:
        mlp = MLPRegressor(activation=activation, **MLP)
        found[f"mlp-regressor-{activation}"] = fit_quietly(mlp, TARGET), TARGET
    return found


VICTIMS = make_victims()
each_victim = pytest.mark.parametrize("name", VICTIMS)


def collect(chunks, n):
    gradients = None
    for rows, values in chunks:
        if gradients is None:
            gradients = np.full((n, values.shape[1]), np.nan)
        gradients[rows] = values
    return gradients


def own_loss(model, X, y):
    """Loss by what scikit-learn answers."""
    outputs = answers_of(model, X)
    return -(SquaredError() if outputs.kind == "value" else Loss())(outputs, y)


def parameters_of(model):
    """The arrays of a model, in the order of the white box, as (array, whether transposed)."""
    if hasattr(model, "coefs_"):
        for W, b in zip(model.coefs_, model.intercepts_):
            yield W, True
            yield b, False
    else:
        yield model.coef_, False
        if model.fit_intercept:
            yield model.intercept_, False


@each_victim
def test_loss_is_the_one_of_the_signals(name):
    model, y = VICTIMS[name]
    found = open_white_box(model).loss(X, y)
    np.testing.assert_allclose(found, own_loss(model, X, y), rtol=1e-9, atol=1e-14)


@each_victim
def test_gradients_of_parameters_are_finite_differences(name):
    model, y = copy.deepcopy(VICTIMS[name])
    if "intercept_" in vars(model):
        model.intercept_ = np.atleast_1d(model.intercept_)  # so that it can be changed in place
    white_box = open_white_box(model)
    found = collect(white_box.loss_gradients(X, y), N)
    assert found.shape == (N, white_box.n_parameters)
    expected, step = [], 1e-6
    for array, transposed in parameters_of(model):
        columns = []
        for index in np.ndindex(array.T.shape if transposed else array.shape):
            place = index[::-1] if transposed else index
            losses = []
            for sign in (1, -1):
                array[place] += sign * step
                losses.append(own_loss(model, X, y))
                array[place] -= sign * step
            columns.append((losses[0] - losses[1]) / (2 * step))
        expected.append(np.column_stack(columns))
    np.testing.assert_allclose(found, np.hstack(expected), atol=1e-6 * max(1, abs(found).max()))


@each_victim
def test_gradients_of_inputs_are_finite_differences(name):
    model, y = VICTIMS[name]
    white_box, step = open_white_box(model), 1e-6
    shifts = step * np.eye(D)
    expected = np.column_stack(
        [(own_loss(model, X + s, y) - own_loss(model, X - s, y)) / (2 * step) for s in shifts]
    )
    loss, gradient = white_box.input_gradient(X, y)
    tolerance = 1e-6 * max(1, abs(expected).max())
    np.testing.assert_allclose(gradient, expected, atol=tolerance)
    np.testing.assert_allclose(loss, white_box.loss(X, y))
    np.testing.assert_array_equal(collect(white_box.loss_gradients(X, y, "inputs"), N), gradient)


@each_victim
@pytest.mark.parametrize("wrt", ["parameters", "inputs"])
@pytest.mark.parametrize("chunk_size", [1, 5, pytest.param(100, marks=pytest.mark.slow), None])
def test_norms_and_statistics_are_those_of_the_gradients(name, wrt, chunk_size):
    model, y = VICTIMS[name]
    white_box = open_white_box(model, chunk_size=chunk_size)
    gradients = collect(open_white_box(model).loss_gradients(X, y, wrt), N)
    norms = white_box.gradient_norms(X, y, wrt)
    statistics = white_box.gradient_statistics(X, y, wrt)
    np.testing.assert_allclose(norms, np.linalg.norm(gradients, axis=1), rtol=1e-10)
    assert statistics.shape == (N, 7)
    named = dict(zip(WhiteBox.statistics, statistics.T))
    np.testing.assert_allclose(named["l1"], abs(gradients).sum(1), rtol=1e-10)
    np.testing.assert_allclose(named["l2"], norms, rtol=1e-10)
    np.testing.assert_allclose(named["linf"], abs(gradients).max(1), rtol=1e-10)
    np.testing.assert_allclose(named["mean"], gradients.mean(1), rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(named["min_abs"], abs(gradients).min(1), rtol=1e-10)
    np.testing.assert_allclose(
        collect(white_box.loss_gradients(X, y, wrt), N), gradients, rtol=1e-12, atol=1e-15
    )


def test_logistic_regression_by_hand():
    # w = 2, b = -1 at x = 1: z = 1, p = e / (1 + e); for the label 1 the gradient of the loss is
    # (p - 1) (x, 1) for the parameters and (p - 1) w for the input.
    model = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    model.coef_, model.intercept_ = np.array([[2.0]]), np.array([-1.0])
    white_box, residual = open_white_box(model), expit(1) - 1
    ((rows, gradients),) = white_box.loss_gradients([[1.0]], [1])
    assert rows == slice(0, 1)
    np.testing.assert_allclose(gradients, [[residual, residual]])
    np.testing.assert_allclose(white_box.gradient_norms([[1.0]], [1]), -residual * 2**0.5)
    np.testing.assert_allclose(white_box.input_gradient([[1.0]], [1])[1], [[2 * residual]])
    np.testing.assert_allclose(white_box.logits([[1.0]]), [[0, 1]])


def test_linear_regression_by_hand():
    model = LinearRegression().fit([[0.0], [1.0]], [1.0, 3.0])  # f(x) = 1 + 2 x
    white_box = open_white_box(model)
    ((_, gradients),) = white_box.loss_gradients([[3.0]], [5.0])  # residual 2
    np.testing.assert_allclose(gradients, [[12, 4]])
    np.testing.assert_allclose(white_box.outputs([[3.0]]).values, [7])


def test_confident_answers_keep_their_gradient():
    model = LogisticRegression().fit([[-1.0], [1.0]], [0, 1])
    model.coef_, model.intercept_ = np.array([[1.0]]), np.array([0.0])
    norms = open_white_box(model).gradient_norms([[50.0], [60.0], [800.0]], [1, 1, 1])
    # The residual of the label is exp(-z) up to a factor 1 + exp(-z).
    expected = np.exp([-50.0, -60.0, -800.0]) * np.hypot([50, 60, 800], 1)
    np.testing.assert_allclose(norms, expected, rtol=1e-12)


@pytest.mark.parametrize("name", ["mlp-3-tanh", "mlp-2-relu", "logistic-3", "logistic-2"])
def test_gradients_are_those_of_autograd(name):
    torch = pytest.importorskip("torch")
    model, y = VICTIMS[name]
    arrays = [array.T if turned else array for array, turned in parameters_of(model)]
    tensors = [torch.tensor(array, requires_grad=True) for array in arrays]
    label = torch.tensor(np.searchsorted(model.classes_, y))
    activate = torch.relu if name.endswith("relu") else torch.tanh
    z = torch.tensor(X)
    for W, b in zip(tensors[::2], tensors[1::2]):
        z = torch.nn.functional.linear(z, W, b)
        z = activate(z) if W is not tensors[-2] else z
    if z.shape[1] == 1:
        z = torch.cat([torch.zeros_like(z), z], 1)
    losses = torch.nn.functional.cross_entropy(z, label, reduction="none")
    expected = [
        torch.cat([g.ravel() for g in torch.autograd.grad(loss, tensors, retain_graph=True)])
        for loss in losses
    ]
    found = collect(open_white_box(model).loss_gradients(X, y), N)
    np.testing.assert_allclose(found, torch.stack(expected).numpy(), rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("name", ["logistic-2", "logistic-3", "mlp-3-relu"])
def test_gradient_of_weighted_logits_is_a_finite_difference(name):
    model, _ = VICTIMS[name]
    white_box, step = open_white_box(model, chunk_size=5), 1e-6
    weights = np.random.default_rng(1).normal(size=(N, len(model.classes_)))

    def weighted(X):
        return (white_box.logits(X) * weights).sum(axis=1)

    shifts = step * np.eye(D)
    expected = np.column_stack([(weighted(X + s) - weighted(X - s)) / (2 * step) for s in shifts])
    np.testing.assert_allclose(white_box.logit_gradient(X, weights), expected, atol=1e-6)


def test_logits_give_the_probabilities():
    for name in ("logistic-2", "logistic-3", "mlp-2-relu", "mlp-3-tanh"):
        model, _ = VICTIMS[name]
        outputs = open_white_box(model).outputs(X)
        assert outputs.kind == "logits"
        assert outputs.classes.tolist() == model.classes_.tolist()
        np.testing.assert_allclose(np.exp(outputs.log_proba()), model.predict_proba(X), rtol=1e-9)


def test_layers_of_a_perceptron_and_of_a_linear_model():
    model, _ = VICTIMS["mlp-3-relu"]
    white_box = open_white_box(model, chunk_size=5)
    assert white_box.layer_names(X) == ["hidden_1", "hidden_2", "output"]
    first, second, output = white_box.layer_outputs(X)
    np.testing.assert_allclose(first, np.maximum(X @ model.coefs_[0] + model.intercepts_[0], 0))
    assert second.shape == (N, 3)
    np.testing.assert_allclose(output, white_box.logits(X))
    chosen = white_box.layer_outputs(X, [-1, "hidden_1"])
    np.testing.assert_array_equal(chosen[0], output)
    np.testing.assert_array_equal(chosen[1], first)
    linear = open_white_box(VICTIMS["linear"][0])
    assert linear.layer_names(X) == ["output"]
    np.testing.assert_allclose(linear.layer_outputs(X)[0][:, 0], linear.model.predict(X))


def test_gradients_of_one_layer_have_one_row_for_each_unit():
    model, y = VICTIMS["mlp-3-relu"]
    white_box = open_white_box(model, chunk_size=5)
    assert white_box.parameter_shapes == {
        "coefs_[0]": (4, 3),
        "intercepts_[0]": (4,),
        "coefs_[1]": (3, 4),
        "intercepts_[1]": (3,),
        "coefs_[2]": (3, 3),
        "intercepts_[2]": (3,),
    }
    whole = collect(white_box.loss_gradients(X, y), N)
    for rows, found in white_box.layer_gradients(X, y):
        assert list(found) == ["coefs_[2]"]
        np.testing.assert_array_equal(found["coefs_[2]"].reshape(-1, 9), whole[rows, -12:-3])
    for rows, found in white_box.layer_gradients(X, y, ["intercepts_[0]", "coefs_[0]"]):
        np.testing.assert_array_equal(found["intercepts_[0]"], whole[rows, 12:16])
        np.testing.assert_array_equal(found["coefs_[0]"], whole[rows, :12].reshape(-1, 4, 3))


def test_inputs_are_what_the_last_step_of_a_pipeline_receives():
    y = LABELS[2]
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    nested = make_pipeline(model[0], make_pipeline(FrozenEstimator(model[1])))
    for victim in (model, FrozenEstimator(model), FrozenEstimator(nested)):
        white_box = open_white_box(victim)
        inputs = white_box.encode(X)
        np.testing.assert_array_equal(inputs, model[0].transform(X))
        np.testing.assert_allclose(white_box.loss(inputs, y), own_loss(model, X, y))
        assert white_box.model is model[1]


@pytest.mark.parametrize("around", [FrozenEstimator, lambda model: make_pipeline(model)])
def test_columns_of_a_table_are_encoded_by_their_names(around):
    table = pd.DataFrame(X, columns=["b", "c", "a"])
    white_box = open_white_box(around(LinearRegression().fit(table, TARGET)))
    np.testing.assert_array_equal(white_box.encode(table[["a", "b", "c"]]), X)
    with pytest.raises(ValueError, match="X lacks 'b'"):
        white_box.encode(table[["a", "c"]])
    steps = around(make_pipeline(StandardScaler(), LinearRegression()).fit(table, TARGET))
    inputs = open_white_box(steps).encode(table[["a", "b", "c"]])
    np.testing.assert_array_equal(inputs, StandardScaler().fit_transform(X))


def test_tables_and_sparse_rows_are_encoded_as_arrays():
    table = pd.DataFrame({"city": list("ABCABCABCABC")})
    model = make_pipeline(OneHotEncoder(), LogisticRegression()).fit(table, LABELS[2])
    inputs = open_white_box(model).encode(Records(table).X)
    np.testing.assert_array_equal(inputs, np.eye(3)[[0, 1, 2] * 4])
    plain = LogisticRegression().fit(pd.DataFrame(X, columns=list("abc")), LABELS[2])
    white_box = open_white_box(plain)
    np.testing.assert_array_equal(white_box.encode(pd.DataFrame(X, columns=list("abc"))), X)
    np.testing.assert_array_equal(white_box.encode(sparse.csr_array(X)), X)
    mixed = pd.DataFrame(X, columns=list("abc")).assign(b=X[:, 1] > 0)
    white_box = open_white_box(LogisticRegression().fit(mixed, LABELS[2]))
    np.testing.assert_array_equal(white_box.encode(mixed), mixed.astype(float))


def test_sparse_coefficients_are_read():
    model = LogisticRegression().fit(X, LABELS[3])
    expected = open_white_box(model).gradient_norms(X, LABELS[3])
    found = open_white_box(model.sparsify()).gradient_norms(X, LABELS[3])
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize(
    "victim, name",
    [
        (RandomForestClassifier(3).fit(X, LABELS[2]), "RandomForestClassifier"),
        (make_pipeline(StandardScaler(), SVC()).fit(X, LABELS[2]), "SVC"),
        (CallableVictim(len, classes=[0, 1]), "CallableVictim"),
    ],
)
def test_victim_without_gradients_is_refused(victim, name):
    message = f"needs gradients, which skmia has of skorch nets, .*; got {name}. Signals that need"
    with pytest.raises(TypeError, match=message):
        open_white_box(victim)


def test_victim_that_is_not_fitted_is_refused():
    with pytest.raises(NotFittedError, match="LogisticRegression is not fitted"):
        open_white_box(LogisticRegression())


@pytest.mark.parametrize(
    "victim",
    [
        LinearRegression().fit(X, np.column_stack([TARGET, TARGET])),
        fit_quietly(MLPRegressor(**MLP), np.column_stack([TARGET, TARGET])),
    ],
)
def test_several_targets_are_refused(victim):
    with pytest.raises(ValueError, match="one target"):
        open_white_box(victim)


def test_another_loss_of_a_perceptron_is_refused():
    victim = fit_quietly(MLPRegressor(**MLP), TARGET)
    victim.loss = "poisson"  # a parameter of scikit-learn from 1.7
    with pytest.raises(ValueError, match="the model has 1 and loss='poisson'"):
        open_white_box(victim)


def test_several_labels_a_record_are_refused():
    victim = fit_quietly(MLPClassifier(**MLP), np.column_stack([X[:, 0] > 0, X[:, 1] > 0]))
    with pytest.raises(ValueError, match="one label per record"):
        open_white_box(victim)


def test_other_models_under_the_name_of_logistic_regression_are_refused():
    model = LogisticRegression().fit(X, LABELS[3])
    model.multi_class = "ovr"  # a parameter of scikit-learn before 1.8
    with pytest.raises(ValueError, match="fitted one-vs-rest"):
        open_white_box(model)
    model = LogisticRegression().fit(X, LABELS[3])
    model.solver = "liblinear"
    with pytest.raises(ValueError, match="fitted one-vs-rest"):
        open_white_box(model)
    model = LogisticRegression().fit(X, LABELS[2])
    model.multi_class = "multinomial"
    with pytest.raises(ValueError, match="two classes needs one logit"):
        open_white_box(model)


@parametrize_refusals(
    (lambda box, y: box.gradient_norms(X, y, "weights"), "got 'weights'"),
    (lambda box, y: box.loss(X[:, :2], y), r"inputs of 3 features; got shape \(12, 2\)"),
    (lambda box, y: box.loss(X[0], y), r"got an array of float64 of shape \(3,\)"),
    (lambda box, y: box.loss(X[:0], y[:0]), r"one or more records.* shape \(0, 3\)"),
    (lambda box, y: box.loss(X.astype(str), y), "array of numbers"),
    (lambda box, y: box.loss(X, y[:-1]), "one label for each of 12"),
    (lambda box, y: box.loss(X, np.where(y == 5, 9, y)), "4 of 12 .* position 0: 9 is none"),
    (lambda box, y: box.logit_gradient(X, np.ones((N, 2))), r"the shape \(12, 3\); got"),
    (
        lambda box, y: box.layer_outputs(X, ["relu"]),
        "Unknown layer 'relu'; the 3 layers are hidden_1,",
    ),
    (lambda box, y: box.layer_outputs(X, [3]), "Unknown layer 3; the 3 layers"),
    (lambda box, y: box.layer_outputs(X, "output"), "sequence of names or positions"),
    (lambda box, y: box.layer_outputs(X, 3), "sequence of names or positions; got 3"),
    (lambda box, y: box.layer_gradients(X, y, 3), "parameters must be a sequence of names; got 3"),
    (lambda box, y: box.layer_gradients(X, y, [3]), "Unknown parameter 3; the parameters are"),
    (
        lambda box, y: box.layer_gradients(X, y, ["W"]),
        "Unknown parameter 'W'; the parameters are coefs_",
    ),
    (lambda box, y: box.layer_gradients(X, y, "coefs_[0]"), "sequence of names; got 'coefs_"),
    (
        lambda box, y: open_white_box(box.model, chunk_size=0),
        "chunk_size must be an integer from 1",
    ),
)
def test_errors_name_what_was_got(call, words, error):
    model, y = VICTIMS["mlp-3-relu"]
    check_refusal(call, words, error, open_white_box(model), y)


def test_regressors_have_no_logits():
    white_box = open_white_box(VICTIMS["ridge"][0])
    assert white_box.classes is None
    for ask in (white_box.logits, lambda inputs: white_box.logit_gradient(inputs, [[1.0]])):
        with pytest.raises(ValueError, match="A regressor has no logits"):
            ask(X)
    for y in (LABELS[2], TARGET[:, None]):
        with pytest.raises(ValueError, match="one number for each of 12 records"):
            white_box.loss(X, y)


def test_model_is_left_as_it_was():
    model, y = VICTIMS["mlp-3-relu"]
    before = copy.deepcopy(vars(model))
    white_box = open_white_box(model)
    white_box.gradient_statistics(X, y)
    white_box.layer_outputs(X)
    assert before.keys() == vars(model).keys()
    for name in ("coefs_", "intercepts_"):
        for one, other in zip(before[name], vars(model)[name]):
            np.testing.assert_array_equal(one, other)
