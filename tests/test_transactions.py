"""An estimator that is interrupted in ``fit`` is as it was, and so are the user's objects."""

import importlib.util
import inspect
import random
from numbers import Real

import numpy as np
import pandas as pd
import pytest
from interruptions import (
    assert_interruptions_leave,
    assert_last_interruption_leaves,
    freeze,
    interrupt,
    run_to_line,
)
from public import PUBLIC
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KernelDensity
from sklearn.utils.validation import check_is_fitted

from skmia import Records, ShadowPool
from skmia._core.transactions import TransactionMixin, _running, get_original
from skmia.attacks import AttributeInferenceAttack, LabelInferenceAttack, LiRA, ThresholdAttack
from skmia.base import BaseAttack
from skmia.defenses.mechanisms import (
    GaussianMechanism,
    LaplaceMechanism,
    NonSphericalGaussianMechanism,
)
from skmia.disparity import DisparityTest, GroupGuesses
from skmia.epsilon import EpsilonAudit, LabelAudit, OneRunAudit
from skmia.games import DensityAttack
from skmia.leakage import GaussianRegressionAttacker
from skmia.memorization import CanaryFormat, Exposure, FunctionSequenceVictim, NGramModel
from skmia.metrics import RankingTest
from skmia.model_selection import RememberTraining
from skmia.shadow import MarginalSynthesizer, ModelBasedSynthesizer, NoisyRecords
from skmia.signals import GradientStatistics, Signals, Trajectories
from skmia.synthetic import (
    CopyTest,
    GeneratorAttack,
    InferenceRisk,
    LinkabilityRisk,
    PrivacyLoss,
    SinglingOutRisk,
)
from skmia.victims import FunctionClassifier
from tests import test_common as common

pytestmark = [
    pytest.mark.contract,
    # A private estimator says what its guarantee does not cover.
    pytest.mark.filterwarnings("ignore::skmia.exceptions.PrivacyWarning"),
]

# How the estimators of the common tests are made, and with how few trees and queries.
few_trees = common.few_trees
CLASSIFIER, NET, TREE = common.CLASSIFIER, common.NET, common.TREE

# How each estimator is fitted: arguments of a first fit and of a second one on other data.


def make_rows(seed):
    X, y = make_classification(60, 5, n_informative=4, n_redundant=0, random_state=seed)
    return X - X.min() + 0.1, y


def split(problem):
    """Two tables of a problem, each with its membership."""
    order = np.random.default_rng(0).permutation(len(problem.records))
    first, second = order[::2], order[1::2]
    return [(problem.records[rows], problem.membership[rows]) for rows in (first, second)]


MATRICES = make_rows(0), make_rows(1)
TABLES = split(CLASSIFIER)
PAIRS = [(records,) for records, _ in TABLES]
SECRETS = CanaryFormat("##", "0123456789", alphabet="0123456789")
TOKENS = [(SECRETS.sample(30, random_state=seed),) for seed in (0, 1)]


def make_three_tables(seed):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(90, 3)).round(1)
    rows[60:75] = rows[:15]
    return rows, np.repeat([1, 0, -1], 30)


THREE = make_three_tables(0), make_three_tables(1)


def make_guesses(seed):
    rng = np.random.default_rng(seed)
    membership = rng.integers(2, size=(6, 40))
    guesses = np.where(rng.random((6, 40)) < 0.7, membership, 1 - membership)
    return (GroupGuesses(guesses, membership, np.repeat(["a", "b"], 20)),)


def train_sequences(sequences, seed):
    return NGramModel(2, n_tokens=10).fit(sequences)


def make_numbers(seed):
    return (np.random.default_rng(seed).normal(size=(12, 3)),)


GENERATOR = FrozenEstimator(KernelDensity().fit(MATRICES[0][0]))
LINE = LinearRegression(fit_intercept=False).fit(*MATRICES[0])
NUMBERS = [(Records(X, y.astype(float)),) for X, y in MATRICES]
MODEL = train_sequences(*TOKENS[0], 0)
SIGNS = [(Records(np.sign(records.X), records.y),) for records, _ in TABLES]


def train(X, y, seed):
    return GaussianNB().fit(X, y).predict_proba


def find_fits():
    """How each public estimator is fitted: by its name, with the data of two fits."""
    victim = CLASSIFIER.victim
    by_hand = [
        (ShadowPool(TREE, 4, random_state=0), PAIRS),
        (ShadowPool(TREE, 4, warm_start=True, random_state=0), PAIRS[:1] * 2),
        (Signals(victim, ["loss", "entropy"]), PAIRS),
        (GradientStatistics(NET.victim), [(records,) for records, _ in split(NET)]),
        (Trajectories(victim, (victim, victim)), PAIRS),
        (MarginalSynthesizer(random_state=0), PAIRS),
        (ModelBasedSynthesizer(victim, random_state=0), PAIRS),
        (NoisyRecords(random_state=0), PAIRS),
        (AttributeInferenceAttack(victim, 0, random_state=0), SIGNS),
        (LabelInferenceAttack(victim), PAIRS),
        (CopyTest(random_state=0), THREE),
        (InferenceRisk(n_permutations=0, random_state=0), THREE),
        (LinkabilityRisk(n_permutations=0, random_state=0), THREE),
        (SinglingOutRisk(n_attacks=9, n_permutations=0, random_state=0), THREE),
        (PrivacyLoss(n_permutations=0, random_state=0), THREE),
        (DisparityTest(n_permutations=9, random_state=0), [make_guesses(0), make_guesses(1)]),
        (DensityAttack(victim, shadows=ShadowPool(TREE, 4, random_state=0)), PAIRS),
        (GeneratorAttack(GENERATOR, random_state=0), PAIRS),
        (GaussianRegressionAttacker(LINE, coef=LINE.coef_), NUMBERS),
        (RankingTest(), [make_numbers(0), make_numbers(1)]),
        (Exposure(FrozenEstimator(MODEL), SECRETS, method="skew_normal", random_state=0), TOKENS),
        (NGramModel(2, n_tokens=10), TOKENS),
        (FunctionSequenceVictim(train_sequences), TOKENS),
        (FunctionClassifier(train), MATRICES),
        (EpsilonAudit(TREE, n_trials=4, random_state=0), MATRICES),
        (LabelAudit(TREE, n_canaries=20, random_state=0), MATRICES),
        (OneRunAudit(TREE, n_canaries=20, random_state=0), MATRICES),
        (LaplaceMechanism(random_state=0), MATRICES),
        (GaussianMechanism(random_state=0), MATRICES),
        (NonSphericalGaussianMechanism(widths=1.0, random_state=0), MATRICES),
        (RememberTraining(SGDClassifier(random_state=0)), MATRICES),
        *(
            (one, split(NET))
            for one in common.make_white_box_attacks()
            if type(one) in common.WHITE_BOX
        ),
        *((recipe(CLASSIFIER)[0], TABLES) for recipe in common.RECIPES.values()),
    ]
    met = {type(one) for one, _ in by_hand}
    return by_hand + [
        (one, MATRICES) for one in common.find_estimators_of_matrices() if type(one) not in met
    ]


FITS = find_fits()
each = pytest.mark.parametrize(
    "estimator, fits", FITS, ids=[type(estimator).__name__ for estimator, _ in FITS]
)

# Their ``fit`` learns nothing, or they have tests of their own below or elsewhere.
OTHERS = {
    *("CallableVictim", "OnnxClassifier", "OnnxRegressor", "SequenceVictim"),
    *("DPSGDClassifier", "DPWassersteinGAN", "PrivateSearchCV", "SDVGenerator", "SmoteGenerator"),
}
if importlib.util.find_spec("torch") is None:
    OTHERS.add("WhiteBoxAttack")


def test_every_public_estimator_is_interrupted():
    found = {
        name.rpartition(".")[2]: one
        for name, one in PUBLIC.items()
        if inspect.isclass(one) and hasattr(one, "fit") and not inspect.isabstract(one)
    }
    assert all(issubclass(one, TransactionMixin) for one in found.values())
    assert found.keys() - OTHERS == {type(one).__name__ for one, _ in FITS}


@pytest.mark.usefixtures("quick_tables")
@each
def test_an_interruption_leaves_the_fit_before(estimator, fits):
    (first, second), fitted = fits, clone(estimator).fit(*fits[0])
    given = freeze(second)
    assert_last_interruption_leaves(fitted, lambda one: one.fit(*second), first[0])
    assert freeze(second) == given


@pytest.mark.slow  # the quick tests interrupt it at its end, and a first fit anywhere
@pytest.mark.usefixtures("quick_tables")
@each
def test_an_interruption_anywhere_leaves_the_fit_before(estimator, fits):
    (first, second), fitted = fits, clone(estimator).fit(*fits[0])
    assert_interruptions_leave(fitted, lambda one: one.fit(*second), first[0])


@pytest.mark.usefixtures("quick_tables")
@each
def test_a_fit_changes_no_parameter_and_leaves_nothing_of_the_fit_before(estimator, fits):
    (first, second), fitted = fits, clone(estimator)
    parameters = fitted.get_params(deep=False)
    if isinstance(parameters.get("shadows"), FrozenEstimator):
        clone(estimator).fit(*first)  # a fitted pool keeps what it has looked up once
    given = freeze((parameters, first))
    fitted.fit(*first)
    assert all(fitted.get_params(deep=False)[name] is parameters[name] for name in parameters)
    assert freeze((parameters, first)) == given
    names = [*vars(fitted)]
    fitted.left_ = "of the fit before"
    assert vars(fitted.fit(*second)).keys() == set(names)


def is_like_others(estimator):
    """Whether a fit begins as that of LiRA, in the base class of all attacks."""
    return isinstance(estimator, BaseAttack) and not isinstance(estimator, LiRA)


@pytest.mark.usefixtures("quick_tables")
@pytest.mark.parametrize(
    "estimator, fits",
    [
        pytest.param(
            *one, id=type(one[0]).__name__, marks=[pytest.mark.slow] * is_like_others(one[0])
        )
        for one in FITS
    ],
)
def test_an_interrupted_first_fit_leaves_nothing(estimator, fits):
    counted = clone(estimator)  # whose fit fills what records and parameters store on first use
    n_lines = run_to_line(lambda: counted.fit(*fits[0]))
    unfitted = clone(estimator)
    before = freeze(vars(unfitted))
    if interrupt(lambda: unfitted.fit(*fits[0]), random.randint(1, n_lines)):
        assert freeze(vars(unfitted)) == before
        with pytest.raises(NotFittedError):
            check_is_fitted(unfitted)


# Further ways to learn


def test_an_interrupted_fit_transform_leaves_the_fit_before():
    def learn(pool):  # on a new table, which knows no pool
        pool.fit_transform(Records(PAIRS[1][0].X, PAIRS[1][0].y))

    fitted = ShadowPool(TREE, 4, random_state=0).fit(*PAIRS[0])
    assert_interruptions_leave(fitted, learn, PAIRS[0][0])


def test_an_interrupted_partial_fit_leaves_the_fit_before():
    fitted = RememberTraining(SGDClassifier(random_state=0)).fit(*MATRICES[0])
    assert_interruptions_leave(fitted, lambda one: one.partial_fit(*MATRICES[1]), MATRICES[0][0])


def test_a_model_that_is_trained_further_is_not_changed_by_a_failure(monkeypatch):
    X, y = MATRICES[0]
    model = RememberTraining(SGDClassifier(random_state=0)).fit(X, y)
    coef, state = model.estimator_.coef_, freeze(vars(model))
    before, original = coef.copy(), SGDClassifier.partial_fit

    def fail(self, X, y):
        original(self, X, y)
        raise RuntimeError("after learning")

    with monkeypatch.context() as patch:
        patch.setattr(SGDClassifier, "partial_fit", fail)
        with pytest.raises(RuntimeError, match="after learning"):
            model.partial_fit(*MATRICES[1])
    assert freeze(vars(model)) == state
    model.partial_fit(*MATRICES[1])
    np.testing.assert_array_equal(coef, before)  # it learned on a copy
    assert not np.array_equal(model.estimator_.coef_, before)


# Estimators of users


class MeanAttack(BaseAttack):
    """An attack with a constructor that sets more, and a fit of its own around that of the base."""

    def __init__(self, victim=None, *, lambda_=1.0, warm_start=False):
        self.victim = victim
        self.lambda_ = lambda_
        self.warm_start = warm_start
        self._notes = []

    def fit(self, X, y=None):
        self.n_fits_ = getattr(self, "n_fits_", 0) + 1
        self._private = len(X)
        super().fit(X, y)
        if self.lambda_ < 0:
            self.means_[:] = np.nan
            raise ValueError("after all attributes")
        return self

    def _fit(self, records, membership):
        if not hasattr(self, "means_"):
            self.means_ = np.zeros(records.X.shape[1])
        self.means_ += records.X.mean(axis=0)

    def _score_samples(self, records):
        return records.X @ self.means_

    def _natural_offset(self, records):
        return 0.0


@pytest.mark.parametrize("warm_start", [False, True])
def test_a_fit_of_a_user_is_a_transaction(warm_start):
    (first, membership), _ = TABLES
    attack = MeanAttack(warm_start=warm_start)
    notes, attack.note = attack._notes, "of the user"
    assert attack.fit(first, membership) is attack
    means, expected = attack.means_, attack.means_.copy()
    state = freeze(vars(attack))
    with pytest.raises(ValueError, match="after all attributes"):
        attack.set_params(lambda_=-1.0).fit(first)
    attack.set_params(lambda_=1.0)
    assert freeze(vars(attack)) == state
    assert attack.means_ is means
    attack.fit(first)
    np.testing.assert_array_equal(attack.means_, expected * (2 if warm_start else 1))
    np.testing.assert_array_equal(means, expected)
    assert attack.n_fits_ == 1 + warm_start
    assert attack._notes is notes
    assert attack.note == "of the user"
    assert clone(attack).fit(first).n_fits_ == 1


def test_the_estimator_is_of_one_fit_while_another_one_runs():
    seen = []

    class Looking(LogisticRegression):
        def fit(self, X, y):
            seen.append(defense.predict(MATRICES[0][0]).tolist())
            return super().fit(X, y)

    defense = clone(common.EXAMPLES["TopKDefense"]).fit(*MATRICES[0])
    expected = defense.predict(MATRICES[0][0]).tolist()
    defense.set_params(estimator=Looking()).fit(*MATRICES[1])
    assert seen == [expected]


def test_what_scikit_learn_reads_of_fit_is_there():
    assert list(inspect.signature(LiRA.fit).parameters) == ["self", "X", "y"]
    assert LiRA.fit.__doc__ == BaseAttack.fit.__doc__
    assert "sample_weight" in inspect.signature(ThresholdAttack.set_score_request).parameters
    assert not hasattr(RememberTraining(LogisticRegression()), "partial_fit")
    pool = ShadowPool(TREE, 4, random_state=0).set_output(transform="pandas")
    assert isinstance(pool.fit_transform(*PAIRS[0]), pd.DataFrame)


def test_a_fit_that_ends_or_fails_is_noted_no_longer():
    class Remembering(TransactionMixin, GaussianNB):
        def fit(self, X, y):
            met.append((self, get_original(self)))
            return super().fit(X, y)

    met, before = [], _running.get()  # fits that other tests have interrupted
    estimator = Remembering()
    estimator.fit(*MATRICES[0])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        estimator.fit(MATRICES[0][0], [0, 1])
    for copied, original in met:
        assert original is estimator and copied is not estimator
        assert get_original(copied) is copied
    assert _running.get() == before


class Threshold(TransactionMixin, BaseEstimator):
    _parameter_constraints = {"low": [Real], "high": [Real]}

    def __init__(self, low=0.0, high=1.0):
        self.low = low
        self.high = high

    def _list_conflicting_parameters(self):
        if self.low > self.high:
            yield f"low must not be above high; got {self.low} and {self.high}."

    def fit(self, X, y=None):
        self.low_ = X[0]
        return self

    def partial_fit(self, X, y=None):
        return self.fit(X)


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize(
    "parameters, message",
    [
        ({"low": "a"}, "'low' parameter of Threshold must be an instance of 'float'"),
        ({"low": True}, "'low' parameter of Threshold must not be a boolean"),
        ({"low": 2.0}, "low must not be above high; got 2.0 and 1.0"),
        ({"low": 2.0, "high": None}, "'high' parameter of Threshold must be"),
    ],
)
def test_parameters_are_checked_before_an_estimator_learns(method, parameters, message):
    model = Threshold(**parameters)
    with pytest.raises(ValueError, match=message):
        getattr(model, method)(None)  # of which no row is read
    assert not hasattr(model, "low_")


def test_parameters_are_checked_once_and_not_by_the_copy_that_is_fitted():
    class Counting(Threshold):
        n_checks = 0

        def _validate_parameters(self):
            type(self).n_checks += 1
            super()._validate_parameters()

    assert Counting().partial_fit([3.0]).low_ == 3.0 and Counting.n_checks == 1
