"""Private parts of scikit-learn that skmia uses: a new version that moves one fails by its name."""

import inspect

import numpy as np
import pytest
from moved import moved
from sklearn import config_context
from sklearn.base import clone
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    StackingClassifier,
    StackingRegressor,
)
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.metaestimators import available_if

from skmia._core.sklearn import (
    HasMethods,
    InvalidParameterError,
    at_least,
    continue_shuffles,
    copy_configuration,
    encode_for_boosting,
    export_training,
    fit_to_first_epoch,
    give_optimizer,
    has_stalled,
    import_training,
    load_tree_types,
    make_adam,
    make_sgd,
    note_loss,
    read_baseline,
    read_categorical_columns,
    read_edges_of_boosting,
    read_initial_margins,
    read_known_categories_of_boosting,
    read_leaves_of_boosting,
    read_sampling,
    read_support_vectors,
    read_trees_of_boosting,
    replace_available_method,
    returns_pandas,
    validate_params_of,
)

pytestmark = [
    pytest.mark.contract,
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]

X = np.random.default_rng(0).normal(size=(30, 3))
Y = np.arange(30) % 3
PERCEPTRONS = pytest.mark.parametrize(
    "model",
    [
        MLPClassifier(hidden_layer_sizes=(4,), max_iter=3, batch_size=10, random_state=0),
        MLPRegressor(
            hidden_layer_sizes=(4,), max_iter=3, batch_size=10, solver="sgd", random_state=0
        ),
    ],
    ids=["adam", "sgd"],
)


def test_at_least_takes_the_integers_that_numpy_holds():
    count = at_least(1)
    assert count.is_satisfied_by(1) and count.is_satisfied_by(2**31 - 1)
    for value in (0, 2**31, 1.0, "1"):
        assert not count.is_satisfied_by(value)


def start(model):
    model = clone(model)
    return model, *fit_to_first_epoch(model, lambda: model.fit(X, Y))


def test_constraints_of_parameters():
    model = DecisionTreeClassifier(max_depth=0)
    with moved("scikit-learn's estimators no longer declare _parameter_constraints."):
        with pytest.raises(InvalidParameterError, match="max_depth"):
            validate_params_of(model)


@PERCEPTRONS
def test_loop_over_the_epochs(model):
    with moved("scikit-learn's perceptrons no longer train in _fit_stochastic(X, y, ...)."):
        one, inputs, targets = start(model)
        assert np.array_equal(inputs, X) and len(targets) == 30
        assert len(one.coefs_) == 2 and not hasattr(one, "loss_")
        assert "_fit_stochastic" not in vars(one)


@PERCEPTRONS
def test_order_of_records(model):
    with moved("scikit-learn's perceptrons no longer draw the order of records from _random_state"):
        one, _, _ = start(model)
        drawn, state = np.arange(30), one._random_state.get_state(legacy=False)
        continue_shuffles(one, drawn)
        again = np.random.RandomState()
        again.set_state(state)
        expected = np.arange(30)
        again.shuffle(expected)
        assert np.array_equal(drawn, expected) and not np.array_equal(drawn, np.arange(30))


@PERCEPTRONS
def test_epochs_without_improvement(model):
    with moved("scikit-learn's perceptrons no longer count bad epochs in _no_improvement_count."):
        trained = clone(model).set_params(max_iter=60, tol=1e9, n_iter_no_change=2).fit(X, Y)
        assert trained.n_iter_ == 4 and has_stalled(trained)
        one, _, _ = start(trained)
        for loss, stalled in ((2.0, False), (2.0, False), (1.0, False), (3.0, True)):
            note_loss(one, loss)
            assert has_stalled(one) == stalled
        assert one.loss_curve_ == [2, 2, 1, 3] and one.best_loss_ == 1 and one.loss_ == 3
        assert sorted(export_training(one)) == sorted(
            ["random", "n_iter_", "t_", "loss_", "best_loss_", "loss_curve_"]
            + ["_no_improvement_count"]
        )


@PERCEPTRONS
def test_a_loss_that_stays_the_same_is_not_worse_without_a_tolerance(model):
    with moved("scikit-learn's perceptrons no longer compare losses by >."):
        settings = {"tol": 0.0, "n_iter_no_change": 1, "max_iter": 6, "shuffle": False}
        still = clone(model).set_params(learning_rate_init=1e-30, **settings)
        trained = clone(still).fit(X, Y)
        assert trained.n_iter_ == 6 and len(set(trained.loss_curve_)) == 1
        one, _, _ = start(still)
        for _ in range(6):
            note_loss(one, 2.0)
            assert not has_stalled(one)


@PERCEPTRONS
def test_state_that_is_put_back(model):
    with moved("scikit-learn's perceptrons no longer keep the state of an epoch in attributes."):
        one, _, _ = start(model)
        note_loss(one, 2.0)
        facts, first, second = export_training(one), np.arange(30), np.arange(30)
        continue_shuffles(one, first)
        other, _, _ = start(clone(model).set_params(random_state=1))
        import_training(other, facts)
        continue_shuffles(other, second)
        assert np.array_equal(first, second) and other.loss_curve_ == [2.0]


@PERCEPTRONS
def test_optimizer_with_which_training_goes_on(model):
    trained = clone(model).fit(X, Y)
    with moved("scikit-learn's perceptrons no longer go on with their _optimizer."):
        own = trained._optimizer
        if model.solver == "adam":
            betas, moments = (own.beta_1, own.beta_2), (own.ms, own.vs)
            given = make_adam(own.learning_rate_init, betas, own.epsilon, moments, own.t)
        else:
            settings = own.learning_rate_init, own.momentum, own.nesterov, own.power_t
            given = make_sgd(*settings, own.velocities)
        assert type(given) is type(own) and set(vars(given)) == set(vars(own))
        assert given.learning_rate == own.learning_rate
        give_optimizer(trained, given)
        assert trained._optimizer is given and trained.partial_fit(X, Y)._optimizer is given


def test_compiled_trees():
    with moved("scikit-learn's compiled trees are no longer Tree and TreePredictor."):
        tree, predictor = load_tree_types()
        for kind in (DecisionTreeClassifier, DecisionTreeRegressor):
            assert type(kind().fit(X, Y).tree_) is tree
        boosted = HistGradientBoostingClassifier(max_iter=1).fit(X, Y)
        assert {type(one) for one in read_trees_of_boosting(boosted)} == {predictor}


@pytest.mark.parametrize("kind", [HistGradientBoostingClassifier, HistGradientBoostingRegressor])
def test_trees_of_boosting(kind):
    model = kind(max_iter=4).fit(X, Y)
    with moved("scikit-learn's histogram boosting no longer keeps its trees in _predictors."):
        n_trees = 4 * (3 if kind is HistGradientBoostingClassifier else 1)
        assert len(read_trees_of_boosting(model)) == n_trees


@pytest.mark.parametrize("kind", [HistGradientBoostingClassifier, HistGradientBoostingRegressor])
def test_leaves_of_boosting(kind):
    model = kind(max_iter=2, min_samples_leaf=5).fit(X, Y)
    with moved("scikit-learn's histogram boosting no longer predicts with its compiled trees."):
        for tree, leaves in zip(
            read_trees_of_boosting(model), read_leaves_of_boosting(model, X), strict=True
        ):
            assert tree.nodes["is_leaf"][leaves].all()
            occupied, counts = np.unique(leaves, return_counts=True)
            np.testing.assert_array_equal(tree.nodes["count"][occupied], counts)


@pytest.mark.parametrize("kind", [HistGradientBoostingClassifier, HistGradientBoostingRegressor])
def test_edges_of_boosting(kind):
    model = kind(max_iter=1).fit(X, Y)
    with moved("scikit-learn's histogram boosting no longer keeps its edges in _bin_mapper."):
        edges = read_edges_of_boosting(model)
        assert len(edges) == X.shape[1]
        distinct = np.unique(X[:, 0])
        np.testing.assert_allclose(edges[0], (distinct[1:] + distinct[:-1]) / 2)


@pytest.mark.parametrize("kind", [HistGradientBoostingClassifier, HistGradientBoostingRegressor])
def test_baseline_of_boosting(kind):
    y = Y % 2 if kind is HistGradientBoostingClassifier else Y
    model = kind(max_iter=1, min_samples_leaf=5).fit(X, y)
    with moved(
        "scikit-learn's histogram boosting no longer keeps its start in _baseline_prediction."
    ):
        raw = model.decision_function(X) if hasattr(model, "classes_") else model.predict(X)
        (tree,) = read_trees_of_boosting(model)
        values = tree.nodes["value"][tree.nodes["is_leaf"] == 1]
        leaves = raw - read_baseline(model)[0, 0]
        assert np.isclose(leaves[:, None], values, atol=1e-12).any(axis=1).all()


@pytest.mark.parametrize("kind", [GradientBoostingClassifier, GradientBoostingRegressor])
def test_start_of_gradient_boosting(kind):
    y = Y % 2 if kind is GradientBoostingClassifier else Y
    model = kind(n_estimators=1, max_depth=1, learning_rate=1.0).fit(X, y)
    with moved("scikit-learn's gradient boosting no longer makes its start in _raw_predict_init."):
        raw = model.decision_function(X) if hasattr(model, "classes_") else model.predict(X)
        tree = model.estimators_[0, 0].tree_
        start = raw - tree.value[tree.apply(X.astype(np.float32)), 0, 0]
        np.testing.assert_allclose(read_initial_margins(model, X)[:, 0], start)


@pytest.mark.parametrize("kind", [SVC, NuSVC, SVR, NuSVR, OneClassSVM])
def test_support_vectors(kind):
    model = kind().fit(X, Y)
    with moved(
        "scikit-learn's support vector machines no longer predict from _dual_coef_, _intercept_, "
        "_n_support, _probA and _probB."
    ):
        found = read_support_vectors(model)
        assert found.coefficients.shape == model.dual_coef_.shape
        assert found.intercepts.shape == model.intercept_.shape
        assert len(found.calibrations) == 2 and not sum(map(len, found.calibrations))
        assert (found.counts[: len(model.n_support_)] == model.n_support_).all()
        # What is changed is what the machine predicts from.
        before = model.decision_function(X) if kind is SVC else model.predict(X)
        found.coefficients[:] = 0
        found.intercepts[:] = 0
        after = model.decision_function(X) if kind is SVC else model.predict(X)
        assert not np.array_equal(before, after)


def test_categories_of_histogram_boosting():
    with moved("histogram boosting no longer keeps _preprocess_X and _is_categorical_remapped."):
        table = np.column_stack([np.arange(30) % 3 + 5, X[:, 0]])
        model = HistGradientBoostingClassifier(max_iter=2, categorical_features=[0]).fit(table, Y)
        np.testing.assert_array_equal(read_categorical_columns(model), [True, False])
        codes = encode_for_boosting(model, np.array([[5.0, 0.5], [7, 1.5], [9, 2]]))
        np.testing.assert_array_equal(codes[:, 0], [0, 2, np.nan])
        np.testing.assert_array_equal(codes[:, 1], [0.5, 1.5, 2])
        plain = HistGradientBoostingClassifier(max_iter=2).fit(table, Y)
        assert not read_categorical_columns(plain).any()


def test_known_categories_of_histogram_boosting():
    with moved("the preprocessor of histogram boosting no longer has its encoder."):
        table = np.column_stack([X[:, 0], np.arange(30) % 3 + 5])
        model = HistGradientBoostingClassifier(max_iter=2, categorical_features=[1]).fit(table, Y)
        ((column, values),) = read_known_categories_of_boosting(model)
        assert column == 1 and values.tolist() == [5, 6, 7]
        plain = HistGradientBoostingClassifier(max_iter=2).fit(table, Y)
        assert read_known_categories_of_boosting(plain) == []


def test_draws_of_a_forest():
    with moved("forests no longer keep _n_samples and _n_samples_bootstrap."):
        forest = RandomForestClassifier(2, max_samples=7).fit(X, Y)
        assert read_sampling(forest) == (7, 30, None)


def test_what_clone_copies_beside_the_parameters():
    with moved("clone no longer copies _metadata_request and _sklearn_output_config."):
        with config_context(enable_metadata_routing=True):
            model = DecisionTreeClassifier().set_fit_request(sample_weight=True)
        expected, made = clone(model), DecisionTreeClassifier()
        copy_configuration(model, made)
        assert repr(made._metadata_request) == repr(expected._metadata_request)
        scaler, copied = StandardScaler().set_output(transform="pandas"), StandardScaler()
        copy_configuration(scaler, copied)
        assert copied._sklearn_output_config == clone(scaler)._sklearn_output_config


def test_the_method_of_an_available_one_can_be_replaced():
    def method(self):
        return 1

    class Holder:
        def __init__(self, has_it):
            self.has_it = has_it

        both = available_if(lambda self: self.has_it)(method)

    with moved("available_if no longer keeps its method as fn."):
        found = inspect.getattr_static(Holder, "both")
        Holder.both = replace_available_method(found, lambda one: lambda self: 10 * one(self))
        assert Holder(True).both() == 10
        assert not hasattr(Holder(False), "both")
    assert replace_available_method(found, lambda one: one) is found
    assert replace_available_method(method, lambda one: None) is method


def test_the_setting_of_a_transformer_goes_before_the_global_one():
    scaler = StandardScaler()
    with moved("scikit-learn's _get_output_config no longer tells what a transformer returns."):
        assert not returns_pandas(scaler)
        with config_context(transform_output="pandas"):
            assert returns_pandas(scaler)
            assert not returns_pandas(scaler.set_output(transform="default"))
    assert returns_pandas(scaler.set_output(transform="pandas"))


def test_every_fence_is_tried_here():
    from skmia._core import sklearn as fence

    functions = [name for name, one in inspect.getmembers(fence, inspect.isfunction)]
    public = {name for name in functions if name in fence.__all__}
    assert public - {"validate_parameter_constraints"} <= set(globals())


@pytest.mark.parametrize(
    "value, is_accepted",
    [
        (StackingClassifier([("tree", DecisionTreeClassifier())]), True),
        (StackingRegressor([("tree", DecisionTreeRegressor())]), True),
        (DecisionTreeClassifier(), True),
        (StandardScaler(), False),
        (make_pipeline(StandardScaler()), False),
        ("tree", False),
    ],
    ids=str,
)
def test_constraints_know_estimators_that_predict_after_fit_alone(value, is_accepted):
    assert HasMethods(["fit", "predict"]).is_satisfied_by(value) is is_accepted
