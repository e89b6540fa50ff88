import numpy as np
import pandas as pd
import pytest
from asking import answers_of
from scipy import sparse
from scipy.special import log_softmax
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC

from skmia import Records, ShadowPool
from skmia._core.query import get_last_step, open_steps
from skmia.attacks import CalibratedAttack, LiRA, ThresholdAttack
from skmia.signals import Signals
from skmia.victims import get_kind, open_white_box, query_stages, read_booster_file

N_CLASSES = 3


@pytest.fixture(scope="module")
def problem():
    return make_classification(
        n_samples=90, n_features=6, n_informative=4, n_classes=N_CLASSES, random_state=0
    )


@pytest.fixture(scope="module")
def regression():
    return make_regression(n_samples=60, n_features=5, noise=1.0, random_state=0)


def some_net(kind, **settings):
    """A small skorch net of a stock module, which worker processes can import."""
    pytest.importorskip("torch")
    skorch = pytest.importorskip("skorch")
    from skorch.toy import MLPModule

    return getattr(skorch, kind)(
        MLPModule, max_epochs=2, verbose=0, train_split=None, module__input_units=6, **settings
    )


def logits_net():
    import torch

    return some_net(
        "NeuralNetClassifier",
        criterion=torch.nn.CrossEntropyLoss,
        module__output_units=N_CLASSES,
        module__dropout=0.5,
    )


NAMES = [[0, 1, 2], ["b", "c", "a"], [40, -7, 3], [2.0, 0.0, 7.0]]


class LabelOnly(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.model_ = LogisticRegression().fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X):
        return self.model_.predict(X)


@pytest.mark.parametrize(
    "names, model",
    [
        *((names, LogisticRegression()) for names in NAMES),
        (NAMES[1], MLPClassifier((4,), tol=1.0, random_state=0)),
        (NAMES[1], RandomForestClassifier(5)),
    ],
)
def test_classifier_is_asked_for_its_probabilities(problem, names, model):
    X, y = problem
    labels = np.array(names)[y]
    victim = clone(model).fit(X, labels)
    outputs = answers_of(victim, X)
    assert outputs.kind == "proba"
    np.testing.assert_array_equal(outputs.values, victim.predict_proba(X))
    own = [victim.predict_proba(X)[i, list(victim.classes_).index(labels[i])] for i in range(90)]
    rows = np.arange(len(X))
    np.testing.assert_array_equal(outputs.values[rows, outputs.label_index(labels)], own)


def test_boolean_labels_are_classes(problem):
    X, y = problem
    outputs = answers_of(LogisticRegression().fit(X, y == 1), X)
    assert outputs.label_index(y == 1).tolist() == (y == 1).astype(int).tolist()


def test_two_classes_of_a_decision_function_become_two_columns(problem):
    X, y = problem
    victim = LinearSVC().fit(X, y == 1)
    outputs = answers_of(victim, X)
    value = victim.decision_function(X)
    assert outputs.kind == "decision"
    np.testing.assert_allclose(outputs.margin(np.ones(90, bool)), value)
    np.testing.assert_allclose(outputs.margin(np.zeros(90, bool)), -value)
    np.testing.assert_array_equal(outputs.is_correct(y == 1), victim.predict(X) == (y == 1))


def test_a_single_class_of_a_decision_function_is_one_column(problem):
    X, _ = problem
    outputs = answers_of(RidgeClassifier().fit(X, np.full(len(X), "a")), X)
    np.testing.assert_array_equal(outputs.values, np.zeros((len(X), 1)))
    assert outputs.aligned_to(np.array(["a", "b"])).values[0].tolist() == [0, -np.inf]


@pytest.mark.parametrize("model", [LinearSVC(), SVC(), RidgeClassifier()])
def test_more_classes_of_a_decision_function_are_columns(problem, model):
    X, y = problem
    victim = clone(model).fit(X, y)
    outputs = answers_of(victim, X)
    assert outputs.kind == "decision"
    np.testing.assert_array_equal(outputs.values, victim.decision_function(X))


@pytest.mark.parametrize(
    "wrap", [lambda model: model, make_pipeline, lambda model: make_pipeline(make_pipeline(model))]
)
def test_decision_values_of_pairs_of_classes_are_refused(problem, wrap):
    X, y = problem
    victim = wrap(SVC(decision_function_shape="ovo")).fit(X, y)
    with pytest.raises(ValueError, match='set decision_function_shape="ovr"'):
        answers_of(victim, X)
    two = wrap(SVC(decision_function_shape="ovo")).fit(X, y == 1)
    assert answers_of(two, X).values.shape == (90, 2)


def test_last_resort_is_the_predicted_label(problem):
    X, y = problem
    labels = np.array(["u", "v", "w"])[y]
    victim = LabelOnly().fit(X, labels)
    outputs = answers_of(victim, X)
    assert outputs.kind == "label"
    np.testing.assert_array_equal(outputs.is_correct(labels), victim.predict(X) == labels)


def test_pipeline_takes_a_table_of_mixed_columns(problem):
    X, y = problem
    table = pd.DataFrame({"x": X[:, 0], "z": X[:, 1], "color": np.where(X[:, 2] > 0, "r", "g")})
    labels = pd.Series(np.array(["yes", "no"])[y % 2])
    pre = make_column_transformer((OneHotEncoder(), ["color"]), remainder=StandardScaler())
    victim = make_pipeline(pre, LogisticRegression()).fit(table, labels)
    outputs = answers_of(victim, table)
    np.testing.assert_array_equal(outputs.values, victim.predict_proba(table))
    records = Records(table, labels)
    scores = ThresholdAttack(FrozenEstimator(victim)).fit(records).score_samples(records)
    column = (labels == "yes").to_numpy().astype(int)
    np.testing.assert_allclose(scores, np.log(outputs.values[np.arange(90), column]))


def test_sparse_rows_reach_the_victim(problem):
    X, y = problem
    rows = sparse.csr_matrix(np.where(X > 0, X, 0))
    victim = LogisticRegression().fit(rows, y)
    records = Records(rows, y)
    np.testing.assert_array_equal(
        records.with_outputs(victim)["outputs"].values, victim.predict_proba(rows)
    )


def test_search_is_a_victim(problem):
    X, y = problem
    victim = GridSearchCV(LogisticRegression(), {"C": [0.1, 1]}, cv=3).fit(X, y)
    np.testing.assert_array_equal(answers_of(victim, X).values, victim.predict_proba(X))


def test_frozen_victims_are_asked_through_any_number_of_layers(problem):
    X, y = problem
    model = LogisticRegression().fit(X, y)
    nested = FrozenEstimator(FrozenEstimator(FrozenEstimator(model)))
    np.testing.assert_array_equal(answers_of(nested, X).values, model.predict_proba(X))


@pytest.mark.parametrize("model", [LinearRegression(), RandomForestRegressor(5)])
def test_regressor_is_asked_for_its_value(regression, model):
    X, y = regression
    victim = clone(model).fit(X, y)
    outputs = answers_of(FrozenEstimator(victim), X)
    assert outputs.kind == "value"
    np.testing.assert_array_equal(outputs.values, victim.predict(X))


def test_regressor_at_the_end_of_a_pipeline(regression):
    X, y = regression
    victim = make_pipeline(StandardScaler(), LinearRegression()).fit(X, y)
    outputs = answers_of(victim, X)
    assert outputs.kind == "value"
    np.testing.assert_array_equal(outputs.values, victim.predict(X))


def test_xgboost_classifier(problem):
    xgboost = pytest.importorskip("xgboost")
    X, y = problem
    victim = xgboost.XGBClassifier(n_estimators=3, max_depth=2, n_jobs=1).fit(X, y)
    outputs = answers_of(victim, X)
    assert outputs.kind == "proba"
    np.testing.assert_array_equal(outputs.values, victim.predict_proba(X))


def test_xgboost_regressor(regression):
    xgboost = pytest.importorskip("xgboost")
    X, y = regression
    victim = xgboost.XGBRegressor(n_estimators=3, max_depth=2, n_jobs=1).fit(X, y)
    outputs = answers_of(victim, X)
    assert outputs.kind == "value"
    np.testing.assert_allclose(outputs.values, victim.predict(X))


def test_skorch_net_with_logits_is_asked_for_them(problem):
    X, y = problem[0].astype(np.float32), problem[1]
    net = logits_net().fit(X, y)
    outputs = answers_of(FrozenEstimator(net), X)
    assert outputs.kind == "logits"
    np.testing.assert_array_equal(outputs.values, net.forward(X).numpy())
    # Dropout is off, and the logits are those of the net's own probabilities.
    expected = log_softmax(outputs.values, axis=1)
    np.testing.assert_allclose(np.log(net.predict_proba(X)), expected, atol=1e-5)


def test_skorch_net_with_softmax_is_asked_for_probabilities(problem):
    torch = pytest.importorskip("torch")
    X, y = problem[0].astype(np.float32), problem[1]
    net = some_net(
        "NeuralNetClassifier",
        module__output_units=N_CLASSES,
        module__output_nonlin=torch.nn.Softmax(dim=-1),
    ).fit(X, y)
    outputs = answers_of(net, X)
    assert outputs.kind == "proba"
    np.testing.assert_array_equal(outputs.values, net.predict_proba(X))


@pytest.mark.parametrize("squeeze", [True, False])
def test_binary_skorch_net_has_one_logit(problem, squeeze):
    X, y = problem[0].astype(np.float32), (problem[1] == 1).astype(np.float32)
    net = some_net(
        "NeuralNetBinaryClassifier", module__output_units=1, module__squeeze_output=squeeze
    )
    net.fit(X, y)
    outputs = answers_of(net, X)
    assert outputs.kind == "logits"
    logit = net.forward(X).numpy().ravel()
    np.testing.assert_allclose(outputs.scaled_logit(np.ones(90)), logit, rtol=1e-6)
    np.testing.assert_allclose(outputs.scaled_logit(np.zeros(90)), -logit, rtol=1e-6)
    one = answers_of(net, X[:1])
    np.testing.assert_allclose(one.values, outputs.values[:1], rtol=1e-5)


def test_skorch_regressor(problem):
    X, y = problem[0].astype(np.float32), problem[1].astype(np.float32)[:, None]
    net = some_net("NeuralNetRegressor", module__output_units=1).fit(X, y)
    outputs = answers_of(net, X)
    assert outputs.kind == "value"
    np.testing.assert_array_equal(outputs.values, net.predict(X).ravel().astype(float))


def test_class_absent_from_the_training_rows_keeps_its_output_unit(problem):
    X, y = problem[0].astype(np.float32), problem[1]
    net = logits_net().fit(X[y != 1], y[y != 1])
    outputs = answers_of(net, X)
    assert outputs.classes.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(outputs.values, net.forward(X).numpy())


@pytest.mark.parametrize("freeze", [lambda step: step, FrozenEstimator])
def test_skorch_net_after_transformers_is_asked_for_its_logits(problem, freeze):
    X, y = problem[0].astype(np.float32), problem[1]
    net = logits_net()
    fitted = make_pipeline(StandardScaler(), net).fit(X, y)
    expected = fitted[1].forward(fitted[0].transform(X)).numpy()
    for last in (fitted[1], make_pipeline(fitted[1])):
        victim = FrozenEstimator(make_pipeline(freeze(fitted[0]), freeze(last)))
        outputs = answers_of(victim, X)
        assert outputs.kind == get_kind(victim) == "logits"
        np.testing.assert_array_equal(outputs.values, expected)


def test_search_over_skorch_nets_is_a_victim(problem):
    X, y = problem[0].astype(np.float32), problem[1]
    victim = GridSearchCV(logits_net(), {"lr": [0.01]}, cv=2).fit(X, y)
    outputs = answers_of(victim, X)
    np.testing.assert_array_equal(outputs.values, victim.predict_proba(X))


def test_net_on_a_gpu_answers_on_the_cpu(problem):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    X, y = problem[0].astype(np.float32), problem[1]
    net = logits_net().set_params(device="cuda").fit(X, y)
    outputs = answers_of(net, X)
    assert isinstance(outputs.values, np.ndarray)
    np.testing.assert_allclose(outputs.values, net.forward(X).cpu().numpy(), rtol=1e-5)


def test_asking_moves_no_global_random_generator(problem):
    torch = pytest.importorskip("torch")
    X, y = problem[0].astype(np.float32), problem[1]
    net = logits_net().fit(X, y)
    before = torch.random.get_rng_state()
    answers_of(net, X)
    assert torch.equal(torch.random.get_rng_state(), before)


@pytest.mark.parametrize(
    "victim",
    [
        LogisticRegression(),
        FrozenEstimator(LogisticRegression()),
        make_pipeline(StandardScaler(), LogisticRegression()),
        GridSearchCV(LogisticRegression(), {"C": [1]}),
    ],
    ids=lambda victim: type(victim).__name__,
)
def test_unfitted_victim_is_told_about_frozen_estimator(problem, victim):
    records = Records(*problem)
    for ask in (ThresholdAttack(victim).fit, Signals(victim).fit, CalibratedAttack(victim).fit):
        with pytest.raises(NotFittedError, match=r"wrap it in sklearn\.frozen\.FrozenEstimator"):
            ask(records)


def test_clone_of_an_attack_keeps_a_victim_that_is_not_frozen(problem):
    X, y = problem
    model, records = LogisticRegression().fit(X, y), Records(X, y)
    scores = clone(ThresholdAttack(model)).fit(records).score_samples(records)
    np.testing.assert_array_equal(
        scores, ThresholdAttack(model).fit(records).score_samples(records)
    )
    with pytest.raises(NotFittedError, match="LogisticRegression is not fitted: fit it"):
        clone(ThresholdAttack(clone(model))).fit(records)


@pytest.mark.parametrize("victim", [np.zeros(3), "model", StandardScaler()])
def test_victim_must_predict(problem, victim):
    for wrap in (lambda model: model, FrozenEstimator):
        message = f"a fitted classifier or regressor .* got {type(victim).__name__}"
        with pytest.raises(TypeError, match=message):
            ThresholdAttack(wrap(victim)).fit(Records(*problem))


def test_answer_of_the_wrong_length_is_refused(problem):
    class Short(LabelOnly):
        def predict(self, X):
            return self.model_.predict(X)[:-1]

    X, y = problem
    with pytest.raises(ValueError, match="returned 89 outputs for 90 records"):
        answers_of(Short().fit(X, y), X)


def test_answers_to_many_rows_are_put_together(problem, monkeypatch):
    X, y = problem
    victim = LogisticRegression().fit(X, y)
    whole = answers_of(victim, X)
    monkeypatch.setattr("skmia._core.query.CHUNK", 7)
    np.testing.assert_allclose(answers_of(victim, X).values, whole.values, rtol=1e-12)
    frame = pd.DataFrame(X)
    named = LogisticRegression().fit(frame, y)
    np.testing.assert_allclose(answers_of(named, frame).values, whole.values, rtol=1e-12)


@pytest.mark.parametrize(
    "signal, victim, message",
    [
        ("loss", LabelOnly(), "'loss' needs predict_proba or .*; the victim has only predict"),
        ("entropy", LinearSVC(), "'entropy' needs predict_proba; .* only decision_function"),
        ("hinge", LabelOnly(), "'hinge' needs predict_proba or decision_function; .* only predict"),
        ("squared_error", LogisticRegression(), "needs a regressor's predict; .* predict_proba"),
        ("correctness", LinearRegression(), "the victim has only a regressor's predict"),
    ],
)
def test_signal_says_what_the_victim_lacks(problem, signal, victim, message):
    X, y = problem
    attack = ThresholdAttack(FrozenEstimator(clone(victim).fit(X, y)), signal=signal)
    with pytest.raises(ValueError, match=message):
        attack.fit(Records(X, y))


def test_pool_attack_needs_more_than_labels(problem):
    X, y = problem
    pool = ShadowPool(LogisticRegression(), n_estimators=2, random_state=0).fit(Records(X, y))
    attack = LiRA(FrozenEstimator(LabelOnly().fit(X, y)), FrozenEstimator(pool))
    with pytest.raises(ValueError, match="answers 'label'; .* must return 'proba' or 'logits'"):
        attack.fit(Records(X, y)).score_samples(Records(X, y))


def test_what_is_nearly_a_victim_is_told_what_makes_it_one():
    with pytest.raises(TypeError, match="got function, which skmia.victims.CallableVictim makes"):
        answers_of(lambda X: X, np.zeros((2, 1)))
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match="got Linear, which skorch.NeuralNetClassifier makes"):
        answers_of(torch.nn.Linear(1, 2), np.zeros((2, 1)))


def test_lightgbm_gets_named_columns_in_its_order(problem, tmp_path):
    """It would take them by their places: as it is, in others, and from a file."""
    lightgbm = pytest.importorskip("lightgbm")
    names = ["a b", "c", "d", "e", "f", "g"]
    table, y = pd.DataFrame(problem[0], columns=names), problem[1] == 1
    model = lightgbm.LGBMClassifier(n_estimators=3, verbose=-1, n_jobs=1)
    search = GridSearchCV(model, {"max_depth": [2]}, cv=2).fit(table, y)
    search.best_estimator_.booster_.save_model(tmp_path / "model.txt")
    expected = answers_of(search, table).values
    turned = table[names[::-1]]
    frozen = FrozenEstimator(search.best_estimator_)
    for holder in (Pipeline([("model", model)]), CalibratedClassifierCV(frozen, cv=2)):
        by_name = answers_of(holder.fit(table, y), table).values
        np.testing.assert_array_equal(answers_of(holder, turned).values, by_name)
    for victim in (search, search.best_estimator_, read_booster_file(tmp_path / "model.txt")):
        np.testing.assert_array_equal(answers_of(FrozenEstimator(victim), turned).values, expected)
        np.testing.assert_array_equal(query_stages(victim, turned, 2)[-1].values, expected)
        other = turned.set_axis(list("uvwxyz"), axis=1)  # by their places
        assert (answers_of(FrozenEstimator(victim), other).values != expected).any()


def test_the_last_step_is_behind_pipelines_and_frozen_estimators():
    last = LogisticRegression()
    inner = FrozenEstimator(make_pipeline(last))
    assert get_last_step(FrozenEstimator(make_pipeline(StandardScaler(), inner))) is last
    assert get_last_step(FrozenEstimator(last)) is last
    assert type(get_last_step(Pipeline([]))) is Pipeline


def test_a_model_that_a_search_has_chosen_is_opened_with_its_steps(problem):
    X, y = problem
    grid = {"C": [0.1, 1.0]}
    inside = make_pipeline(
        StandardScaler(), MinMaxScaler(), GridSearchCV(LogisticRegression(), grid, cv=2)
    ).fit(X, y)
    steps, model = open_steps(inside)
    np.testing.assert_array_equal(steps[0].transform(X), inside[:-1].transform(X))
    assert model is inside[-1].best_estimator_
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    outside = GridSearchCV(pipeline, {"logisticregression__C": [0.1]}, cv=2).fit(X, y)
    for victim in (inside, FrozenEstimator(outside)):
        white_box = open_white_box(victim)
        expected = answers_of(victim, X).log_proba()[np.arange(len(y)), y]
        np.testing.assert_allclose(-white_box.loss(white_box.encode(X), y), expected)


def test_a_query_leaves_a_frame_as_it_is_also_if_a_step_works_in_place():
    X = np.random.default_rng(0).normal(3, 2, size=(20, 2))
    frame, y = pd.DataFrame(X, columns=["a", "b"]), X[:, 0] > 3
    model = make_pipeline(StandardScaler(copy=False), LogisticRegression()).fit(frame.copy(), y)
    expected = model.predict_proba(frame.copy())
    for _ in range(2):
        np.testing.assert_array_equal(answers_of(model, frame).values, expected)
    assert frame.to_numpy().tolist() == X.tolist()
