"""An estimator that is interrupted in ``fit`` is as it was, and so are the user's objects."""

import copy
import importlib.util
import inspect
import pickle
import random
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from public import PUBLIC
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.validation import check_is_fitted

import skmia
from skmia import ShadowPool
from skmia._core.transactions import TransactionMixin
from skmia.attacks import AttributeInferenceAttack, LabelInferenceAttack
from skmia.disparity import DisparityTest
from skmia.epsilon import EpsilonAudit, LabelAudit, OneRunAudit
from skmia.memorization import CanaryFormat, Exposure, FunctionSequenceVictim, NGramModel
from skmia.metrics import RankingTest
from skmia.model_selection import RememberTraining
from skmia.shadow import MarginalSynthesizer, ModelBasedSynthesizer, NoisyRecords
from skmia.signals import GradientStatistics, Signals, Trajectories
from skmia.synthetic import CopyTest, InferenceRisk, LinkabilityRisk, PrivacyLoss, SinglingOutRisk
from skmia.victims import FunctionClassifier

pytestmark = pytest.mark.contract

# How the estimators of the common tests are made.
_SPEC = importlib.util.spec_from_file_location("common", Path(__file__).parent / "test_common.py")
common = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(common)
CLASSIFIER, NET, TREE = common.CLASSIFIER, common.NET, common.TREE

PACKAGE = str(Path(skmia.__file__).parent)
ANSWERS = ("score_samples", "transform", "predict_proba", "predict")


def run_to_line(call, stop=None):
    """Run a call, interrupt it at a line of the package, and count the lines up to there."""
    n_lines = 0

    def trace(frame, event, argument):
        if frame.f_code.co_filename.startswith(PACKAGE):
            return count

    def count(frame, event, argument):
        nonlocal n_lines
        if event == "line":
            n_lines += 1
            if n_lines == stop:
                raise KeyboardInterrupt
        return count

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return n_lines


def interrupt(call, stop):
    """Whether a call was interrupted; one that takes fewer lines than the last time is not."""
    try:
        run_to_line(call, stop)
    except KeyboardInterrupt:
        return True
    return False


def freeze(value):
    """Return the whole content of a value as bytes."""
    return pickle.dumps(value)


def answer(estimator, X):
    """Return all answers of a copy of a fitted estimator about X."""
    fitted, found = copy.deepcopy(estimator), {}
    for name in ANSWERS:
        if hasattr(fitted, name):
            try:
                found[name] = np.asarray(getattr(fitted, name)(X))
            except (TypeError, ValueError) as error:
                found[name] = np.array(str(error))
    return found


def assert_same_answers(found, expected):
    assert found.keys() == expected.keys()
    for name in found:
        np.testing.assert_array_equal(found[name], expected[name])


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


def make_rounds(seed):
    rng = np.random.default_rng(seed)
    return (pd.DataFrame(rng.uniform(size=(6, 3)), columns=["a", "b", "c"]),)


def train_sequences(sequences, seed):
    return NGramModel(2, n_tokens=10).fit(sequences)


def make_numbers(seed):
    return (np.random.default_rng(seed).normal(size=(12, 3)),)


def train(X, y, seed):
    return GaussianNB().fit(X, y)


def find_fits():
    """How each public estimator is fitted: by its name, with the data of two fits."""
    victim = CLASSIFIER.victim
    by_hand = [
        (ShadowPool(TREE, 4, random_state=0), PAIRS),
        (ShadowPool(TREE, 4, warm_start=True, random_state=0), PAIRS[:1] * 2),
        (Signals(victim, ["loss", "entropy"]), PAIRS),
        (GradientStatistics(NET.victim), [(records,) for records, _ in split(NET)]),
        (Trajectories(victim, ("outputs", victim)), PAIRS),
        (MarginalSynthesizer(random_state=0), PAIRS),
        (ModelBasedSynthesizer(victim, random_state=0), PAIRS),
        (NoisyRecords(random_state=0), PAIRS),
        (AttributeInferenceAttack(victim, 0, random_state=0), PAIRS),
        (LabelInferenceAttack(victim), PAIRS),
        (CopyTest(random_state=0), THREE),
        (InferenceRisk(n_permutations=0, random_state=0), THREE),
        (LinkabilityRisk(n_permutations=0, random_state=0), THREE),
        (SinglingOutRisk(n_attacks=9, n_permutations=0, random_state=0), THREE),
        (PrivacyLoss(n_permutations=0, random_state=0), THREE),
        (DisparityTest(), [make_rounds(0), make_rounds(1)]),
        (RankingTest(), [make_numbers(0), make_numbers(1)]),
        (Exposure(train_sequences(*TOKENS[0], 0), SECRETS, method="skew_normal"), TOKENS),
        (NGramModel(2, n_tokens=10), TOKENS),
        (FunctionSequenceVictim(train_sequences), TOKENS),
        (FunctionClassifier(train), MATRICES),
        (EpsilonAudit(TREE, n_trials=4, random_state=0), MATRICES),
        (LabelAudit(TREE, n_canaries=20, random_state=0), MATRICES),
        (OneRunAudit(TREE, n_canaries=20, random_state=0), MATRICES),
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
    *("DensityAttack", "GaussianRegressionAttacker", "GeneratorAttack"),
}


def test_every_public_estimator_is_interrupted():
    found = {
        name.rpartition(".")[2]: one
        for name, one in PUBLIC.items()
        if inspect.isclass(one) and hasattr(one, "fit") and not inspect.isabstract(one)
    }
    assert all(issubclass(one, TransactionMixin) for one in found.values())
    assert found.keys() - OTHERS == {type(one).__name__ for one, _ in FITS}


@each
def test_an_interruption_leaves_the_fit_before(estimator, fits, random_seed):
    rng = random.Random(random_seed)
    estimator, (first, second) = clone(estimator).fit(*fits[0]), fits
    answer(estimator, first[0])  # fills what is stored on first use
    state, expected = freeze(vars(estimator)), answer(estimator, first[0])
    given = freeze((estimator.get_params(deep=False), second))
    n_lines = run_to_line(lambda: copy.deepcopy(estimator).fit(*second))
    places = [*(rng.randint(1, n_lines) for _ in range(9)), n_lines]
    stopped = [interrupt(lambda: estimator.fit(*second), place) for place in places]
    print(n_lines, stopped)
    if all(stopped):
        assert freeze(vars(estimator)) == state
        assert_same_answers(answer(estimator, first[0]), expected)
    assert freeze((estimator.get_params(deep=False), second)) == given


@each
def test_an_interrupted_first_fit_leaves_nothing(estimator, fits, random_seed):
    rng, unfitted = random.Random(random_seed), clone(estimator)
    clone(estimator).fit(*fits[0])  # fills what parameters store on first use
    before = freeze(vars(unfitted))
    n_lines = run_to_line(lambda: clone(estimator).fit(*fits[0]))
    if interrupt(lambda: unfitted.fit(*fits[0]), rng.randint(1, n_lines)):
        assert freeze(vars(unfitted)) == before
        with pytest.raises(NotFittedError):
            check_is_fitted(unfitted)
