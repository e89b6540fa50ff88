"""The audits as estimators, and on classifiers whose epsilon is known."""

import itertools
import pickle
import warnings
from functools import partial

import joblib
import numpy as np
import pytest
import training
from cells import slow_but
from refusals import check_refusal, parametrize_refusals
from scipy.spatial.distance import cdist
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, load_iris
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import BaggingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import check_random_state

from skmia.attacks import ThresholdAttack
from skmia.defenses import StudentDefense, TemperatureDefense
from skmia.epsilon import (
    Canaries,
    EpsilonAudit,
    LabelAudit,
    OneRunAudit,
    one_run_epsilon_lower_bound,
)
from skmia.epsilon._base import read_claim
from skmia.epsilon.bounds import epsilon_lower_bound, gaussian_epsilon
from skmia.epsilon.canaries import trace_scores
from skmia.exceptions import PrivacyWarning

one_run_gaussian_bound = partial(one_run_epsilon_lower_bound, bound="gdp")
gaussian_bound = partial(epsilon_lower_bound, method="gaussian")

X, y = load_iris(return_X_y=True)
TREE = DecisionTreeClassifier()


class NoisyCount(ClassifierMixin, BaseEstimator):
    """Releases how often a row was in the training data, with Laplace noise: epsilon-private."""

    def __init__(self, row=(0.0,), epsilon=1.0, random_state=None):
        self.row = row
        self.epsilon = epsilon
        self.random_state = random_state

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        rng = check_random_state(self.random_state)
        self.n_seen_ = len(X)
        self.count_ = (X == np.asarray(self.row)).all(axis=1).sum() + rng.laplace(
            scale=1 / self.epsilon
        )
        return self

    def predict_proba(self, X):
        known = (X == np.asarray(self.row)).all(axis=1)
        first = expit(np.where(known, self.count_, 0.0))
        rest = (1 - first) / (len(self.classes_) - 1)
        return np.stack([first, *[rest] * (len(self.classes_) - 1)], axis=1)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def make_noisy_count(epsilon):
    return NoisyCount(tuple(X[0]), epsilon)  # the first row occurs once and has the first label


@pytest.mark.parametrize(
    ("epsilon", "neighbors", "n_trials"), [(2.0, "add", 80), (3.0, "replace", 60)]
)
def test_an_audit_of_laplace_noise_comes_close_from_below(epsilon, neighbors, n_trials):
    # The loss falls with the count, here up to a threshold between none and one.
    audit = EpsilonAudit(
        make_noisy_count(epsilon),
        0,
        n_trials=n_trials,
        neighbors=neighbors,
        delta=0.0,
        threshold=float(np.log(expit(0.5))),
        random_state=0,
    ).fit(X, y)
    assert 0.3 * epsilon < audit.epsilon_ < epsilon


def test_copies_are_accounted_for():
    audit = EpsilonAudit(make_noisy_count(1.0), 0, n_copies=3, n_trials=130, random_state=0)
    audit.fit(X, y)
    assert audit.result_.counts["n_copies"] == 3
    assert 0.3 < audit.epsilon_ < 1


def test_a_training_that_ignores_the_canary_shows_nothing():
    audit = EpsilonAudit(make_noisy_count(1.0), 7, n_trials=50, random_state=0).fit(X, y)
    assert audit.epsilon_ == 0
    ignorant = OneRunAudit(make_noisy_count(1.0), "natural", n_canaries=60, random_state=0)
    assert ignorant.fit(X, y).epsilon_ == 0


def test_the_result_is_that_of_the_bound():
    settings = {"n_trials": 30, "delta": 1e-3, "threshold": -0.5, "random_state": 0}
    audit = EpsilonAudit(TREE, "random_label", **settings).fit(X, y)
    bound = epsilon_lower_bound(audit.membership_, audit.scores_, delta=1e-3, threshold=-0.5)
    assert audit.result_ == bound
    assert audit.score() == audit.score(X, y) == audit.epsilon_ == bound.epsilon > 1
    assert audit.membership_.sum() == 30 and audit.scores_.shape == (60,)


@pytest.mark.parametrize("method", ["clopper_pearson", "gaussian", "bayesian"])
def test_the_threshold_is_chosen_on_half_of_the_runs_or_averaged_over_splits(method):
    audit = EpsilonAudit(TREE, "random_label", n_trials=6, method=method, random_state=0).fit(X, y)
    assert audit.result_.counts["n_members"] == (6 if method == "bayesian" else 3)
    assert (audit.result_.threshold is None) == (method == "bayesian")
    assert method == "bayesian" or audit.result_.method.endswith("chosen on half of the runs")


@pytest.mark.parametrize(
    "settings, without, with_canary",
    [
        ({"canary": "clip_bkd"}, 150, 151),
        ({"canary": "clip_bkd", "n_copies": 3}, 150, 153),
        ({"canary": "clip_bkd", "n_copies": 3, "neighbors": "replace"}, 150, 150),
        ({"canary": 0}, 149, 150),
        ({"canary": "random_label", "n_copies": 2}, 149, 151),
        ({"canary": "exposed", "neighbors": "replace"}, 149, 149),
    ],
)
def test_neighboring_data_sets(settings, without, with_canary):
    audit = EpsilonAudit(make_noisy_count(1.0), n_trials=4, random_state=0, **settings)
    audit.canary_ = audit.fit(X, y).canary_
    records, (others, inside) = audit._design(X, y)
    assert (others.sum(), inside.sum()) == (without, with_canary)
    canary = audit.canary_.X[0]
    n_copies = settings.get("n_copies", 1)
    known = (X[np.delete(np.arange(150), audit.canary_.rows)] == canary).all(axis=1).sum()
    assert (records.X[others] == canary).all(axis=1).sum() == known
    assert (records.X[inside] == canary).all(axis=1).sum() == known + n_copies


def test_numbers_are_the_same_for_every_number_of_jobs():
    audit = EpsilonAudit(TREE, "random_label", n_trials=12, random_state=0)
    expected = audit.fit(X, y).scores_
    with joblib.parallel_config("threading"):
        again = clone(audit).set_params(n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(again.scores_, expected)
    assert again.result_ == audit.result_


def test_nets_trained_together_score_as_nets_trained_alone(monkeypatch):
    net = MLPClassifier((4,), max_iter=8, early_stopping=False, tol=0, n_iter_no_change=100)
    audit = EpsilonAudit(net, "random_label", n_trials=5, random_state=0)
    with pytest.warns(UserWarning, match="trainings"):
        together = audit.fit(X, y).scores_
    training.train_one_by_one(monkeypatch)
    with pytest.warns(UserWarning, match="trainings"):
        alone = clone(audit).fit(X, y).scores_
    np.testing.assert_allclose(together, alone, rtol=1e-4)


def test_the_attack_is_a_parameter():
    attack = ThresholdAttack(signal="correctness")
    audit = EpsilonAudit(TREE, "random_label", n_trials=10, attack=attack, random_state=0)
    assert set(audit.fit(X, y).scores_) <= {0.0, 1.0}
    given = OneRunAudit(TREE, attack=ThresholdAttack(), random_state=0).fit(X, y)
    default = OneRunAudit(TREE, random_state=0).fit(X, y)
    np.testing.assert_array_equal(given.scores_, default.scores_)
    with pytest.raises(TypeError, match="as its parameter victim"):
        OneRunAudit(TREE, attack=make_attack_without_victim()).fit(X, y)


def make_attack_without_victim():
    class Attack(BaseEstimator):
        def fit(self, records, membership=None):
            return self

        def score_samples(self, records):
            return np.zeros(len(records))

    return Attack()


class Losses(ThresholdAttack):
    """Scores that are losses: lower for what the model was trained on."""

    def score_samples(self, X):
        return -super().score_samples(X)


@pytest.mark.parametrize(
    "audit",
    [
        EpsilonAudit(TREE, "random_label", n_trials=20),
        pytest.param(
            EpsilonAudit(TREE, "random_label", n_trials=20, method="bayesian", threshold="split"),
            marks=pytest.mark.slow,
        ),
        OneRunAudit(TREE, n_canaries=60),
        LabelAudit(TREE, n_canaries=60),
    ],
    ids=["many runs", "bayesian", "one run", "labels"],
)
def test_an_attack_that_is_the_wrong_way_round_is_said(audit):
    audit = clone(audit).set_params(attack=Losses(), random_state=0)
    with pytest.warns(UserWarning, match="the wrong way round, they are lower"):
        wrong = audit.fit(X, y).epsilon_
    right = clone(audit).set_params(attack=ThresholdAttack()).fit(X, y).epsilon_
    assert wrong < 0.2 < 0.4 < right


def test_bets_learn_the_direction_of_the_scores():
    settings = {"n_trials": 30, "sequential": True, "claimed_epsilon": 0.5, "random_state": 0}
    for attack in (Losses(), ThresholdAttack()):
        audit = EpsilonAudit(TREE, "random_label", attack=attack, **settings).fit(X, y)
        assert audit.stopped_ == "refuted"


def test_canaries_may_be_made_by_a_function():
    def make(X, y, n_canaries, random_state):
        return Canaries(X[:n_canaries] + 10, y[:n_canaries], np.arange(n_canaries))

    one = EpsilonAudit(TREE, make, n_trials=4, random_state=0).fit(X, y)
    np.testing.assert_array_equal(one.canary_.X, X[:1] + 10)
    many = OneRunAudit(TREE, make, n_canaries=20, random_state=0).fit(X, y)
    np.testing.assert_array_equal(many.canaries_.X, X[:20] + 10)


# One run


def test_trees_learn_wrong_labels_by_heart():
    data = load_digits(return_X_y=True)
    audit = OneRunAudit(TREE, n_canaries=300, n_guesses=100, random_state=0).fit(*data)
    bound = one_run_epsilon_lower_bound(audit.membership_, audit.scores_, delta=1e-5, n_guesses=100)
    assert audit.result_ == bound
    assert audit.epsilon_ == audit.score() > 2
    assert audit.result_.counts["n_canaries"] == 300


def test_the_one_training_has_the_canaries_that_the_coins_chose():
    audit = OneRunAudit(make_noisy_count(1.0), n_canaries=40, random_state=0).fit(X, y)
    assert audit.estimator_.n_seen_ == 110 + audit.membership_.sum()
    assert 8 < audit.membership_.sum() < 32
    assert len(np.unique(audit.canaries_.rows)) == 40


def test_a_share_of_the_rows_may_be_canaries():
    audit = OneRunAudit(TREE, n_canaries=0.2, random_state=0).fit(X, y)
    assert len(audit.scores_) == 30


@pytest.mark.parametrize("audit", [OneRunAudit(TREE), EpsilonAudit(TREE, n_trials=6)])
def test_the_seed_decides(audit):
    first = clone(audit).set_params(random_state=0).fit(X, y)
    again = clone(audit).set_params(random_state=0).fit(X, y)
    np.testing.assert_array_equal(first.scores_, again.scores_)
    assert pickle.loads(pickle.dumps(first)).result_ == first.result_ == again.result_


@pytest.mark.parametrize(
    "audit", [OneRunAudit(TREE), LabelAudit(TREE), EpsilonAudit(TREE, n_trials=6)]
)
def test_a_frozen_classifier_is_trained(audit):
    first = clone(audit).set_params(random_state=0).fit(X, y)
    audit.set_params(estimator=FrozenEstimator(clone(TREE).fit(X, y)), random_state=0)
    np.testing.assert_array_equal(first.scores_, audit.fit(X, y).scores_)


def test_parts_that_are_not_trained_are_told():
    tree = FrozenEstimator(clone(TREE).fit(X, y))
    audit = OneRunAudit(CalibratedClassifierCV(tree), n_canaries=20)
    with pytest.warns(PrivacyWarning, match=r"Fitted parts .* \(estimator\) are the same in all"):
        audit.fit(X, y)


# Errors


class Untrainable(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        pytest.fail("was trained")


@pytest.mark.parametrize(
    "audit, message",
    [
        (EpsilonAudit(canary=150), "from 0 to 149; got 150"),
        (EpsilonAudit(method="gaussian", delta=0.0), "no finite epsilon at delta=0"),
        (EpsilonAudit(method="bayesian", threshold="bonferroni"), "threshold must be a number"),
        (EpsilonAudit(neighbors="replace", n_copies=150), "150 records that can be replaced"),
        (EpsilonAudit(canary="backdoor"), "The 'canary' parameter"),
        (OneRunAudit(n_canaries=200), "from 1 to 150"),
        (OneRunAudit(n_canaries=20, n_guesses=21), "number of canaries, 20; got 21"),
        (OneRunAudit(n_canaries=100, delta=0.1), "delta must be at most"),
        (OneRunAudit("tree"), "The 'estimator' parameter"),
        (EpsilonAudit(canary=lambda X, y, n, random_state: (X[:2], y[:2], [])), "must be 1 rows"),
        (EpsilonAudit(canary=lambda X, y, n, random_state: (X[:1], [9], [])), "must occur in y"),
    ],
)
def test_bad_settings_are_refused_before_anything_is_trained(audit, message):
    if audit.estimator is None:
        audit = clone(audit).set_params(estimator=Untrainable())
    with pytest.raises(ValueError, match=message):
        audit.fit(X, y)


@parametrize_refusals(
    (lambda: with_canary(X[:1]), "must be a tuple of X, y and rows; got"),
    (lambda: with_canary((X[:1], y[:1])), "must be a tuple of X, y and rows; got"),
    (lambda: with_canary("abc"), "must be a tuple of X, y and rows; got 'abc'"),
    (lambda: with_canary((X[:1, :2], y[:1], [])), r"labels; got shapes \(1, 2\) and \(1,\)"),
    (lambda: with_canary((X[:1], y[:2], [])), r"labels; got shapes \(1, 4\) and \(2,\)"),
    (lambda: with_canary((X[:1], [np.nan], [])), "must occur in y; got others"),
    (lambda: with_canary((X[:1], y[:1], [0.0])), r"numbers of rows of X; got \[0.0\]"),
    (lambda: with_canary((X[:1], y[:1], [-1])), r"numbers of rows of X; got \[-1\]"),
    (lambda: with_canary((X[:1], y[:1], [150])), r"numbers of rows of X; got \[150\]"),
)
def test_wrong_canaries_of_a_function_are_refused(call, words, error):
    check_refusal(call, words, error)


def with_canary(made):
    def make(X, y, n_canaries, random_state):
        return made

    return EpsilonAudit(Untrainable(), make, n_trials=4).fit(X, y)


@pytest.mark.parametrize("audit", [EpsilonAudit(), LabelAudit(), OneRunAudit()])
def test_one_class_and_numbers_for_classes_are_refused(audit):
    with pytest.raises(ValueError, match="y must hold two classes or more; got 1 class"):
        audit.fit(X, np.zeros(150, dtype=int))
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        clone(audit).set_params(estimator=Untrainable()).fit(X, np.linspace(0, 1, 150))


def test_a_private_net_is_audited_below_its_epsilon():
    pytest.importorskip("opacus")
    pytest.importorskip("skorch")
    from functools import partial

    from small_net import make_small_net

    from skmia.defenses import DPSGDClassifier

    net = partial(make_small_net, batch_size=50, max_epochs=5, lr=0.2)
    private = DPSGDClassifier(net, noise_multiplier=6.0, target_delta=1e-5, classes=np.unique(y))
    audit = OneRunAudit(private, n_canaries=60, random_state=0).fit(X.astype(np.float32), y)
    assert audit.epsilon_ <= audit.estimator_.epsilon_ < 3


def test_the_steps_of_a_private_net_show_more_and_stay_below_its_epsilon():
    pytest.importorskip("opacus")
    skorch = pytest.importorskip("skorch")
    import torch

    from skmia.defenses import DPSGDClassifier

    # Each canary has a feature of its own, so that its clipped gradient is known and overlaps none.
    m, rng = 400, np.random.default_rng(0)
    coins = rng.integers(2, size=m).astype(bool)
    records = 10 * np.eye(m, dtype=np.float32)
    labels = np.arange(m) % 2
    net = skorch.NeuralNetClassifier(
        torch.nn.Linear,
        module__in_features=m,
        module__out_features=2,
        criterion=torch.nn.CrossEntropyLoss,
        train_split=None,
        batch_size=-1,
        max_epochs=10,
        lr=0.0,
        verbose=0,
    )
    trace = []
    private = DPSGDClassifier(
        net, noise_multiplier=2.0, classes=[0, 1], target_delta=1e-5, noise_seed=0, random_state=0
    )
    private.set_params(on_step=lambda step, noisy, weights: trace.append(noisy))
    private.fit(records[coins], labels[coins])
    errors = np.stack([2 * labels - 1, 1 - 2 * labels], axis=1) / np.sqrt(2)  # of the two outputs
    weights = errors[:, :, None] * records[:, None] / np.sqrt(101)
    canaries = np.hstack([weights.reshape(m, -1), errors / np.sqrt(101)])
    n_rows = int(coins.sum())
    seen = trace_scores(np.array(trace), canaries, batch_size=n_rows, noise_multiplier=2.0)
    bound = one_run_gaussian_bound(coins, seen, delta=1e-5, n_guesses=80)
    # Ten steps on all rows are one Gaussian mechanism; the model's own is infinite with a seed.
    spent = gaussian_epsilon(np.sqrt(10) / 2.0, 1e-5)
    assert 0.25 * spent < bound.epsilon < spent
    assert one_run_epsilon_lower_bound(coins, seen, delta=1e-5).epsilon < bound.epsilon


# What an audit can find, and at which delta


@pytest.mark.parametrize(
    "n_trials, largest", [(100, 2.57), (400, 3.98), (1000, 4.91), (4000, 6.29), (10_000, 7.21)]
)
def test_the_most_that_halves_of_the_runs_can_show(n_trials, largest):
    coins = np.repeat([1, 0], n_trials)
    scores = np.random.default_rng(0).normal(size=2 * n_trials)
    bound = epsilon_lower_bound(coins, scores, delta=1e-5, threshold="split", random_state=0)
    assert bound.largest == pytest.approx(largest, abs=0.01)
    assert bound.epsilon < bound.largest
    assert f"At most {bound.largest:.3g} could have been found" in bound.summary()


def test_the_most_that_a_fixed_threshold_can_show():
    coins = np.repeat([1, 0], 100)
    bound = epsilon_lower_bound(coins, coins, delta=1e-5, threshold=0.5)
    assert bound.epsilon == bound.largest == pytest.approx(3.28, abs=0.01)
    assert bound.summary().endswith("with these counts; it was.")


class Ignorant(ClassifierMixin, BaseEstimator):
    """Learns nothing, and claims an epsilon."""

    def __init__(self, claim=0.0, target_delta=None):
        self.claim = claim
        self.target_delta = target_delta

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.epsilon_ = self.claim
        self.delta_ = 0.1 / len(X) if self.target_delta is None else self.target_delta
        return self

    def predict_proba(self, X):
        return np.full((len(X), len(self.classes_)), 1 / len(self.classes_))

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


@pytest.mark.parametrize(
    "bound",
    [
        gaussian_bound,
        one_run_epsilon_lower_bound,
        one_run_gaussian_bound,
    ],
)
def test_other_bounds_say_what_they_could_have_found(bound):
    coins = np.repeat([1, 0], 100)
    rng = np.random.default_rng(0)
    nothing = bound(coins, rng.normal(size=200), delta=1e-5)
    everything = bound(coins, coins + 1e-3 * rng.normal(size=200), delta=1e-5)
    assert nothing.epsilon < nothing.largest < np.inf
    assert everything.epsilon == pytest.approx(nothing.largest, rel=0.01)
    assert f"At most {nothing.largest:.3g} could have been found" in nothing.summary()


def test_so_few_runs_that_nothing_could_be_found_do_not_count_as_found():
    bound = epsilon_lower_bound([1, 1, 0, 0], [1.0, 2.0, -1.0, -2.0])
    assert bound.epsilon == bound.largest == 0
    assert bound.summary().endswith("Nothing could have been found with so few of them.")


def test_the_default_audit_prints_its_cap():
    audit = EpsilonAudit(Ignorant(), n_trials=100, random_state=0).fit(X, y)
    assert "At most 2.57" in audit.result_.summary()
    assert audit.epsilon_ == 0


@pytest.mark.parametrize(
    "audit",
    [EpsilonAudit(n_trials=4, canary="natural"), OneRunAudit(n_canaries=20)],
    ids=["many", "one"],
)
def test_a_bound_is_at_the_delta_of_the_estimator(audit):
    audit = clone(audit).set_params(random_state=0)
    given = clone(audit).set_params(estimator=Ignorant(target_delta=1e-3)).fit(X, y)
    assert given.result_.delta == 1e-3
    own = clone(audit).set_params(estimator=Ignorant()).fit(X, y)
    # What the estimator takes for the larger of the two tables, in every training.
    n_rows = len(X) + (20 if isinstance(audit, OneRunAudit) else 0)
    assert own.result_.delta in (0.1 / n_rows, 0.1 / len(X))
    assert clone(audit).set_params(estimator=GaussianNB()).fit(X, y).result_.delta == 1e-5


def test_a_claim_beyond_what_can_be_found_is_warned_of():
    audit = EpsilonAudit(Ignorant(claim=8.0), canary="natural", n_trials=20, random_state=0)
    with pytest.warns(
        PrivacyWarning, match="epsilon=8 is claimed, and these runs cannot show"
    ) as c:
        audit.fit(X, y)
    assert c[0].filename == __file__
    with pytest.warns(PrivacyWarning, match="epsilon=9 is claimed"):
        audit.set_params(claimed_epsilon=9.0).fit(X, y)


class Copying(ClassifierMixin, BaseEstimator):
    """Remembers its training rows; whose answers a claim can be made about."""

    def __init__(self, claim=None, delta=1e-5):
        self.claim = claim
        self.delta = delta

    def fit(self, X, y):
        self.rows_ = X  # of a tenth of the time of a KNeighborsClassifier
        self.classes_, self.codes_ = np.unique(y, return_inverse=True)
        if self.claim is not None:
            self.epsilon_, self.delta_ = self.claim, self.delta
        return self

    def predict_proba(self, X):
        nearest = self.codes_[cdist(X, self.rows_).argmin(axis=1)]
        return np.eye(len(self.classes_))[nearest]

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


@pytest.mark.parametrize("audit", [EpsilonAudit, OneRunAudit, LabelAudit])
def test_predictions_say_for_each_row_whether_the_claim_is_refuted(audit):
    size = (
        {"n_trials": 20, "canary": "random_label"} if audit is EpsilonAudit else {"n_canaries": 60}
    )

    def fit(**settings):
        return audit(**{"estimator": Copying(), **size, "random_state": 0, **settings}).fit(X, y)

    # Without a claim the question is whether the training leaks at all.
    found = fit()
    assert found.claimed_epsilon_ == 0.0 and found.score() == found.epsilon_ > 0.5
    assert found.predict(X[:3]).tolist() == [1, 1, 1]
    assert fit(claimed_epsilon=found.epsilon_).predict(X[:2]).tolist() == [0, 0]
    assert fit(claimed_epsilon=found.epsilon_ - 0.01).predict(X[:2]).tolist() == [1, 1]
    claiming = fit(estimator=Copying(claim=0.3))
    assert claiming.claimed_epsilon_ == (0.6 if audit is LabelAudit else 0.3)
    assert claiming.predict(X[:1]).tolist() == [1]
    with pytest.raises(ValueError, match="features"):
        found.predict(X[:, :2])


class CopyingAtDelta(Copying):
    """The same with a delta that can be set, or follows from the data if it is None."""

    def __init__(self, claim=None, target_delta=None):
        super().__init__(claim)
        self.target_delta = target_delta

    def fit(self, X, y):
        self.delta = 1e-3 if self.target_delta is None else self.target_delta
        return super().fit(X, y)


CLAIMING = {
    "fixed": Copying(0.3, 1e-3),
    "set": CopyingAtDelta(0.3, 1e-3),
    "from data": CopyingAtDelta(0.3),
}
AUDITS = {
    "many": EpsilonAudit(n_trials=20, canary="random_label"),
    "sequential": EpsilonAudit(n_trials=20, canary="random_label", sequential=True),
    "one": OneRunAudit(n_canaries=60),
    "labels": LabelAudit(n_canaries=60),
}
EACH_TIME = [(audit, "from data") for audit in AUDITS] + [("one", name) for name in CLAIMING]


@pytest.mark.parametrize(
    "audit, estimator", slow_but(itertools.product(AUDITS, CLAIMING), *EACH_TIME)
)
def test_a_claim_is_not_compared_with_a_bound_at_a_smaller_delta(audit, estimator):
    audit = clone(AUDITS[audit]).set_params(estimator=CLAIMING[estimator], random_state=0)
    larger = 0.00234986 if isinstance(audit, LabelAudit) else 0.001
    told = f"bound is at delta=1e-06 and the claim of the model at the larger delta={larger}"
    with pytest.warns(PrivacyWarning, match=told) as caught:
        audit.set_params(delta=1e-6).fit(X, y)
    assert caught[0].filename == __file__ and len(caught) == 1
    assert audit.epsilon_ > 0.3 and audit.claimed_epsilon_ == np.inf
    assert audit.predict(X[:2]).tolist() == [0, 0]
    # At a larger delta the claim promises the same epsilon, and twice that where a label changes.
    audit.set_params(delta=3e-3).fit(X, y)
    assert audit.claimed_epsilon_ == (0.6 if isinstance(audit, LabelAudit) else 0.3)
    assert audit.epsilon_ > audit.claimed_epsilon_ and audit.predict(X[:1]).tolist() == [1]
    # The user states an epsilon at the delta of the bound.
    audit.set_params(delta=1e-6, claimed_epsilon=0.2).fit(X, y)
    assert audit.claimed_epsilon_ == 0.2 and audit.predict(X[:1]).tolist() == [1]


WRAPPED = [
    lambda model: make_pipeline(StandardScaler(), model),
    lambda model: TemperatureDefense(model),
    lambda model: make_pipeline("passthrough", TemperatureDefense(model)),
]


@pytest.mark.parametrize("wrap", WRAPPED, ids=["pipeline", "defense", "both"])
@pytest.mark.parametrize("delta", [1e-3, None])
def test_the_claim_and_the_delta_of_a_private_model_are_found_behind_other_steps(wrap, delta):
    private = CopyingAtDelta(0.3, delta)
    audit = OneRunAudit(wrap(private), n_canaries=60, random_state=0).fit(X, y)
    assert (audit.claimed_epsilon_, audit.result_.delta) == (0.3, 1e-3)
    assert read_claim(wrap(LogisticRegression()).fit(X[:100], y[:100])) is None


SEVERAL = [
    lambda model: GridSearchCV(model, {"target_delta": [1e-3]}, cv=2),
    lambda model: BaggingClassifier(model, n_estimators=2),
    lambda model: StudentDefense(GaussianNB(), X[:20], student=model),
]


@pytest.mark.parametrize("wrap", SEVERAL, ids=["search", "bagging", "student"])
def test_what_one_of_several_fits_claims_is_no_claim_of_the_model(wrap):
    rows, labels = X[:100], y[:100]
    audit = OneRunAudit(wrap(CopyingAtDelta(0.3, None)), n_canaries=20, random_state=0)
    audit.fit(rows, labels)
    assert (audit.claimed_epsilon_, audit.result_.delta) == (0, 1e-5)


@pytest.mark.parametrize("audit", [OneRunAudit, LabelAudit])
def test_what_a_model_cannot_be_trained_on_is_named_with_its_cure(audit):
    xgboost = pytest.importorskip("xgboost")
    model = xgboost.XGBClassifier(n_estimators=2, early_stopping_rounds=1)
    with pytest.raises(ValueError, match="lacks the parameter eval_set of fit"):
        audit(model, n_canaries=20).fit(X[:100], y[:100])
    with pytest.raises(ValueError, match="lacks the parameter eval_set of fit"):
        audit(model, n_canaries=20, random_state=0).fit(X[:100], y[:100])


class SaysNeighbors(Copying):
    """The same, whose epsilon is about a record that is replaced."""

    def fit(self, X, y):
        self.neighbors_ = "replace"
        return super().fit(X, y)


@pytest.mark.parametrize(
    "audit, replaces",
    [
        (EpsilonAudit(n_trials=4, canary="random_label"), False),
        (EpsilonAudit(n_trials=4, canary="random_label", neighbors="replace"), True),
        (EpsilonAudit(n_trials=4, sequential=True, neighbors="replace"), True),
        (OneRunAudit(n_canaries=20), False),
        (LabelAudit(n_canaries=20), True),
    ],
    ids=["added", "replaced", "sequential", "one run", "labels"],
)
def test_a_claim_about_removed_records_is_applied_twice_where_one_is_replaced(audit, replaces):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)  # so few trainings cannot refute it
        twice = clone(audit).set_params(estimator=Copying(1.5, 1e-3), random_state=0).fit(X, y)
        once = clone(audit).set_params(estimator=SaysNeighbors(1.5, 1e-3), random_state=0).fit(X, y)
    assert (once.claimed_epsilon_, once.result_.delta) == (1.5, 1e-3)
    assert twice.claimed_epsilon_ == (3.0 if replaces else 1.5)
    assert twice.result_.delta == pytest.approx(1e-3 * (1 + np.exp(1.5)) if replaces else 1e-3)


@pytest.mark.parametrize("given", [(None, 1e-5), (0.3, None)], ids=["epsilon", "delta"])
def test_a_model_whose_epsilon_or_delta_is_none_claims_nothing(given):
    assert read_claim(NoClaim(*given)) is None
    assert read_claim(NoClaim(0.3, 1e-5)) == (0.3, 1e-5)


class NoClaim:
    def __init__(self, epsilon, delta):
        self.epsilon_, self.delta_ = epsilon, delta


def test_a_claim_that_says_nothing_about_a_replaced_record_is_not_compared():
    audit = LabelAudit(Copying(9.0, 1e-3), n_canaries=20, random_state=0)
    with pytest.warns(PrivacyWarning, match="claim of the model at the larger delta=1, so"):
        audit.fit(X, y)
    assert (audit.claimed_epsilon_, audit.result_.delta) == (np.inf, 1e-5)
    # A stated one is at the usual delta, whatever the model says.
    stated = audit.set_params(estimator=Copying(1.5, 1e-3), claimed_epsilon=0.1).fit(X, y)
    assert (stated.claimed_epsilon_, stated.result_.delta) == (0.1, 1e-5)


def test_laplace_noise_of_an_added_record_is_not_refuted_by_replaced_ones():
    # A record adds 1 or -1 to a sum, so that replacing one may change it by 2.
    bits = np.tile([1, 0], 20)  # the canary has the label 1, and the record that it replaces has 0
    audit = EpsilonAudit(NoisySum(), 0, n_trials=200, delta=0.0, random_state=0)
    added = clone(audit).set_params(threshold=np.log(expit(0.0))).fit(X[:40], bits)
    replaced = audit.set_params(threshold=np.log(expit(1.0)), neighbors="replace").fit(X[:40], bits)
    assert 0.3 < added.epsilon_ < 1.0 < replaced.epsilon_ < 2.0
    assert (added.claimed_epsilon_, replaced.claimed_epsilon_) == (1.0, 2.0)
    assert replaced.predict(X[:1]).tolist() == [0]


class NoisySum(ClassifierMixin, BaseEstimator):
    """The sum of signs of labels with Laplace noise of scale 1."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y):
        noise = np.random.default_rng(self.random_state).laplace()
        self.sum_, self.classes_ = 2 * np.sum(y) - len(y) + noise, np.array([0, 1])
        self.epsilon_, self.delta_ = 1.0, 0.0
        return self

    def predict_proba(self, X):
        return np.tile([expit(-self.sum_), expit(self.sum_)], (len(X), 1))

    def predict(self, X):
        return np.full(len(X), int(self.sum_ > 0))


def test_a_sequential_audit_predicts_what_it_stopped_for():
    settings = {"canary": "random_label", "sequential": True, "random_state": 0}
    refuted = EpsilonAudit(Copying(), claimed_epsilon=0.5, **settings).fit(X, y)
    assert refuted.stopped_ == "refuted"
    assert refuted.predict(X[:2]).tolist() == [1, 1]
    budget = EpsilonAudit(DummyClassifier(), claimed_epsilon=2.0, n_trials=6, **settings).fit(X, y)
    assert budget.stopped_ == "budget"
    assert budget.predict(X[:2]).tolist() == [0, 0] and budget.claimed_epsilon_ == 2.0
