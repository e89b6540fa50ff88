"""Soft labels between what others say and the label."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits
from sklearn.dummy import DummyClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from skmia import Records, ShadowPool
from skmia.defenses import SoftLabelDefense
from skmia.defenses import _cross_fit as cross_fit
from skmia.defenses.soft_targets import soften

X, Y = load_digits(return_X_y=True)
X, Y = X[:300] / 16, Y[:300]
SPREADS = ("label", "direction", "coordinate")


# Two models and three classes by hand: the mean is (.2, .5, .3), the deviations are (.1, .2, .1),
# as the divisor is 2 and not 1, and the label is the first class.
HAND = np.array([[[0.1, 0.7, 0.2]], [[0.3, 0.3, 0.4]]])


@pytest.mark.parametrize(
    "spread, wanted",
    [
        ("label", [0.4, 0.375, 0.225]),  # from .2 by 2 * .1 towards 1: a quarter of the way
        # The way (.8, -.5, -.3) is .98 ** .5 long. The answers lie (.1, -.2, .1) to either side of
        # the mean, which projects to (.08 + .1 - .03) / .98 ** .5 = .15 / .98 ** .5.
        ("direction", np.array([0.2, 0.5, 0.3]) + 0.3 / 0.98 * np.array([0.8, -0.5, -0.3])),
        ("coordinate", np.array([0.4, 0.1, 0.1]) / 0.6),
    ],
)
def test_soft_labels_by_hand(spread, wanted):
    np.testing.assert_allclose(soften(HAND, np.array([0]), 2.0, spread=spread)[0], wanted)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"proba": HAND[:1]}, "two models or more"),
        ({"proba": HAND[:, 0]}, "proba must be of shape"),
        ({"proba": 2 * HAND}, "proba must be probabilities"),
        ({"y": [3]}, "y must be columns from 0 to 2; got 3"),
        ({"y": [0.5]}, "y must be 1 columns"),
        ({"y": [0, 1]}, "y must be 1 columns"),
        ({"alpha": -1}, "alpha must be numbers of at least 0"),
        ({"alpha": [1, 2]}, "alpha must be a number or 1 of them"),
        ({"spread": "row"}, "spread must be one of"),
    ],
)
def test_wrong_answers_labels_and_numbers_get_a_sentence(change, words):
    with pytest.raises(ValueError, match=words):
        soften(**{"proba": HAND, "y": [0], **change})


@st.composite
def answers(draw):
    shape = draw(st.tuples(st.integers(2, 5), st.integers(1, 6), st.integers(2, 4)))
    share = st.floats(0, 1, width=32).map(lambda p: p if p > 1e-3 else 0.0)
    weights = draw(arrays(np.float64, shape, elements=share))
    weights[weights.sum(axis=2) == 0, 0] = 1
    codes = draw(arrays(np.intp, shape[1], elements=st.integers(0, shape[2] - 1)))
    return weights / weights.sum(axis=2, keepdims=True), codes


@settings(max_examples=25)
@given(answers(), st.floats(0, 1e6), st.sampled_from(SPREADS))
def test_what_holds_for_all_answers(given, alpha, spread):
    proba, codes = given
    rows, mean, label = np.arange(len(codes)), proba.mean(axis=0), np.eye(proba.shape[2])[codes]
    targets = soften(proba, codes, alpha, spread=spread)
    assert targets.min() >= 0
    np.testing.assert_allclose(targets.sum(axis=1), 1, rtol=1e-12)
    assert (targets[rows, codes] >= mean[rows, codes] - 1e-12).all()
    np.testing.assert_allclose(soften(proba, codes, 0.0, spread=spread), mean, atol=1e-12)
    np.testing.assert_array_equal(soften(proba, codes, np.inf, spread=spread), label)
    sure = np.repeat(label[None], 3, axis=0)
    np.testing.assert_array_equal(soften(sure, codes, alpha, spread=spread), label)


@settings(max_examples=25)
@given(answers(), st.floats(0, 100))
def test_the_label_rises_by_alpha_deviations_on_the_line_to_it(given, alpha):
    proba, codes = given
    rows, mean, label = np.arange(len(codes)), proba.mean(axis=0), np.eye(proba.shape[2])[codes]
    own = proba[:, rows, codes]
    targets = soften(proba, codes, alpha, spread="label")
    wanted = np.minimum(own.mean(axis=0) + alpha * own.std(axis=0), 1)
    np.testing.assert_allclose(targets[rows, codes], wanted, atol=1e-12)
    cross = (targets - mean)[:, :, None] * (label - mean)[:, None, :]
    np.testing.assert_allclose(cross, cross.swapaxes(1, 2), atol=1e-12)


def test_a_large_alpha_gives_the_label_where_models_differ():
    proba = np.random.default_rng(0).dirichlet(np.ones(4), (5, 20))
    codes = np.arange(20) % 4
    for spread in SPREADS:
        np.testing.assert_allclose(
            soften(proba, codes, 1e9, spread=spread), np.eye(4)[codes], atol=1e-8
        )


def test_each_row_may_have_an_alpha_of_its_own():
    proba = np.random.default_rng(0).dirichlet(np.ones(3), (4, 3))
    codes = np.array([0, 1, 2])
    for spread in SPREADS:
        together = soften(proba, codes, np.array([0.0, 0.5, np.inf]), spread=spread)
        for row, alpha in enumerate([0.0, 0.5, np.inf]):
            alone = soften(proba[:, [row]], codes[[row]], alpha, spread=spread)
            np.testing.assert_allclose(together[row], alone[0])


SMALL = {"n_estimators": 4, "n_left_out": 2, "random_state": 0, "store_targets": True}


def test_infinite_alpha_is_the_undefended_classifier():
    defended = SoftLabelDefense(LogisticRegression(), alpha=np.inf, **SMALL).fit(X, Y)
    np.testing.assert_array_equal(defended.targets_, np.eye(10)[Y])
    plain = LogisticRegression().fit(X, Y)
    np.testing.assert_allclose(defended.predict_proba(X), plain.predict_proba(X), rtol=1e-9)


def test_targets_come_from_the_models_that_a_row_is_left_out_of(monkeypatch):
    drawn = []
    draw = cross_fit.draw_left_out
    monkeypatch.setattr(
        cross_fit, "draw_left_out", lambda *given: drawn.append(draw(*given)) or drawn[-1]
    )
    defended = SoftLabelDefense(LogisticRegression(), **SMALL).fit(X, Y)
    models = [LogisticRegression().fit(X[~out], Y[~out]) for out in drawn[0]]
    for row in range(0, 300, 23):
        others = [m for m, out in zip(models, drawn[0], strict=True) if out[row]]
        assert len(others) == 2
        wanted = np.mean([model.predict_proba(X[[row]])[0] for model in others], axis=0)
        np.testing.assert_allclose(defended.targets_[row], wanted, rtol=1e-6)


def test_further_rounds_train_on_the_soft_labels_of_the_round_before(monkeypatch):
    # A classifier that answers the shares of the classes makes a round a matter of means.
    drawn = []
    draw = cross_fit.draw_left_out
    monkeypatch.setattr(
        cross_fit, "draw_left_out", lambda *given: drawn.append(draw(*given)) or drawn[-1]
    )
    weight = np.random.default_rng(0).uniform(0.5, 2, len(Y))
    for sample_weight in (None, weight):
        defended = SoftLabelDefense(DummyClassifier(strategy="prior"), n_iterations=3, **SMALL)
        defended.fit(X, Y, sample_weight=sample_weight)
        left_out = drawn.pop()
        targets = np.eye(10)[Y]
        for _ in range(3):
            kept = ~left_out * (1 if sample_weight is None else sample_weight)
            shares = kept @ targets / kept.sum(axis=1, keepdims=True)
            targets = left_out.T @ shares / 2
        np.testing.assert_allclose(defended.targets_, targets, rtol=1e-9)


def test_wrong_labels_are_corrected_and_alpha_brings_them_back():
    y = Y.copy()
    wrong = np.random.default_rng(0).random(len(y)) < 0.2
    y[wrong] = (y[wrong] + 1) % 10
    kept = []
    for alpha in (0.0, 1.0, np.inf):
        model = DecisionTreeClassifier(min_samples_leaf=2)
        defended = SoftLabelDefense(model, alpha=alpha, **SMALL).fit(X, y)
        kept.append(defended.targets_[wrong, y[wrong]].mean())
    assert kept[0] < kept[1] < kept[2] == 1
    assert kept[0] < 0.2


def test_alpha_of_each_row_by_a_function():
    defended = SoftLabelDefense(
        LogisticRegression(), alpha=lambda X, y: np.where(y < 5, np.inf, 0), **SMALL
    )
    weight = np.ones(len(Y))
    weight[:7] = 0
    clone(defended).fit(X, Y)
    targets = defended.fit(X, Y, sample_weight=weight).targets_
    assert targets.shape == (len(Y) - 7, 10)
    hard = targets.max(axis=1) == 1
    np.testing.assert_array_equal(hard, Y[7:] < 5)


class CountingModel(DecisionTreeClassifier):
    """Counts how many of its kind were fitted."""

    n_fits = 0

    def fit(self, X, y, sample_weight=None):
        CountingModel.n_fits += 1
        return super().fit(X, y, sample_weight)


def test_a_search_over_alpha_trains_sub_models_once(tmp_path):
    grid = {"alpha": [0.0, 1.0, np.inf]}
    fits, searches = [], []
    for memory in (None, str(tmp_path)):
        CountingModel.n_fits = 0
        defense = SoftLabelDefense(CountingModel(), memory=memory, **SMALL)
        searches.append(GridSearchCV(defense, grid, cv=2).fit(X[:100], Y[:100]))
        fits.append(CountingModel.n_fits)
    # Two folds with three settings, and the refit: each with four sub-models and a final fit.
    assert fits == [7 * 5, 3 * 4 + 7]
    for name in ("mean_test_score", "std_test_score"):
        np.testing.assert_array_equal(*(one.cv_results_[name] for one in searches))


@pytest.mark.usefixtures("copied_workers")
def test_the_same_numbers_for_every_number_of_jobs():
    model = DecisionTreeClassifier(max_features=4)  # draws random numbers
    defense = SoftLabelDefense(model, alpha=1.0, n_jobs=1, **SMALL).fit(X, Y)
    other = clone(defense).set_params(n_jobs=2).fit(X, Y)
    np.testing.assert_array_equal(defense.targets_, other.targets_)
    np.testing.assert_array_equal(defense.predict_proba(X), other.predict_proba(X))
    another = clone(defense).set_params(random_state=1).fit(X, Y)
    assert (another.targets_ != defense.targets_).any()


def test_the_global_generator_decides_where_no_seed_is_given():
    state = np.random.get_state()  # noqa: NPY002
    defense = SoftLabelDefense(DecisionTreeClassifier(max_features=4), random_state=3)
    defense.fit(X, Y)
    assert np.array_equal(np.random.get_state()[1], state[1])  # noqa: NPY002


def test_it_copies_pickles_and_sets_nested_parameters():
    model = make_pipeline(StandardScaler(), LogisticRegression())
    defense = SoftLabelDefense(model, **SMALL).set_params(
        alpha=0.5, estimator__logisticregression__C=0.1
    )
    defense.fit(X, Y)
    assert defense.estimator_[-1].C == 0.1
    copy = pickle.loads(pickle.dumps(defense))
    np.testing.assert_array_equal(copy.predict_proba(X), defense.predict_proba(X))
    assert not hasattr(clone(defense), "estimator_")


def test_no_targets_are_kept_unless_asked_for():
    defended = SoftLabelDefense(DecisionTreeClassifier(), **SMALL).fit(X, Y)
    assert defended.targets_.shape == (300, 10)
    assert defended.set_params(store_targets=False).fit(X, Y).targets_ is None


def test_shadow_models_are_trained_with_the_defense():
    model = DecisionTreeClassifier(max_features=4)  # draws random numbers
    pool = ShadowPool(SoftLabelDefense(model, **SMALL), 4, random_state=0)
    signals = [pool.fit(Records(X, Y)).signals_ for _ in range(2)]
    np.testing.assert_array_equal(*signals)


class Wavering(ClassifierMixin, BaseEstimator):
    """Knows one class only, so that no target gives anything to the other."""

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.repeat(self.classes_[0], len(X))

    def predict_proba(self, X):
        return np.eye(len(self.classes_))[np.zeros(len(X), dtype=int)]


def test_a_class_without_any_share_has_probability_0():
    defended = SoftLabelDefense(Wavering(), **SMALL).fit(X, Y)
    np.testing.assert_array_equal(defended.estimator_.classes_, [0])
    np.testing.assert_array_equal(defended.classes_, np.arange(10))
    np.testing.assert_array_equal(defended.predict_proba(X), np.eye(10)[np.zeros(300, dtype=int)])


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"alpha": -1}, "'alpha' parameter of SoftLabelDefense"),
        ({"alpha": np.nan}, "'alpha' parameter"),
        ({"n_left_out": 1}, "'n_left_out' parameter"),
        ({"n_left_out": 10}, "n_left_out must be below n_estimators=10"),
        ({"spread": "classes"}, "'spread' parameter"),
        ({"estimator": LinearSVC()}, "needs predict_proba .* LinearSVC does not have"),
        # Sub-models that are all the same fitted one would leave no row out.
        (
            {"estimator": CalibratedClassifierCV(FrozenEstimator(GaussianNB()))},
            "is trained from the beginning; a FrozenEstimator in it keeps what it has learned",
        ),
        ({"alpha": lambda X, y: [1.0]}, r"alpha\(X, y\) must return 300 numbers of 0 or more"),
        ({"alpha": lambda X, y: -np.ones(len(y))}, r"alpha\(X, y\) must return 300"),
    ],
)
def test_settings_are_checked(settings, message):
    with pytest.raises(ValueError, match=message):
        SoftLabelDefense(**{"estimator": GaussianNB(), **settings}).fit(X, Y)


def test_rows_that_are_all_equal_cannot_be_left_out():
    with pytest.raises(ValueError, match="needs at least 2 different ones; got n_samples = 9, all"):
        SoftLabelDefense(LogisticRegression()).fit(np.ones((9, 2)), np.ones(9))


@pytest.mark.parametrize(
    "weight, message",
    [
        (np.ones(3), r"must have the shape \(300,\), one number for each row; got \(3,\)"),
        (-np.ones(300), "not negative"),
        (np.full(300, np.inf), "must be finite"),
        (np.zeros(300), "zero for every row"),
    ],
)
def test_sample_weights_are_checked(weight, message):
    with pytest.raises(ValueError, match=f"sample_weight .*{message}"):
        SoftLabelDefense(LogisticRegression()).fit(X, Y, sample_weight=weight)
