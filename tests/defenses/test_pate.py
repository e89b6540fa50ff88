"""A training row moves one vote of PATE, the noise covers it, and the accounting is exact."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp
from scipy.stats import binom, norm
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skmia._core.accountant import ORDERS
from skmia._core.tradeoff import privacy_profile
from skmia.defenses import PATEDefense, PrivacyLedger, PrivateSearchCV
from skmia.defenses._exact_noise import PrivateRandomness
from skmia.defenses._noisy_votes import VotingNoise, _bound_each, _log_other_classes
from skmia.defenses._pate import _vote
from skmia.epsilon._base import read_claim
from skmia.exceptions import PrivacyWarning

X, Y = make_classification(700, 5, class_sep=1.5, flip_y=0.05, random_state=0)
TRAIN, PUBLIC, TEST = slice(0, 400), X[400:560], slice(560, None)
SETTINGS = {"n_teachers": 20, "classes": [0, 1], "random_state": 0}


def make_private(teacher=None, **settings):
    teacher = LogisticRegression() if teacher is None else teacher
    return PATEDefense(teacher, PUBLIC, **{**SETTINGS, **settings})


def count_by_hand(y=Y[TRAIN]):
    """Votes of teachers whose rows are dealt as the defense deals them."""
    order = np.random.RandomState(0).permutation(400)
    teachers = [LogisticRegression().fit(X[part], y[part]) for part in np.array_split(order, 20)]
    votes = np.array([teacher.predict(PUBLIC) for teacher in teachers])
    return np.column_stack([(votes == 0).sum(axis=0), (votes == 1).sum(axis=0)])


def test_without_noise_the_student_learns_the_plurality_of_the_teachers():
    private = make_private(noise_multiplier=0, student=KNeighborsClassifier(1))
    private.fit(X[TRAIN], Y[TRAIN])
    np.testing.assert_array_equal(private.predict(PUBLIC), count_by_hand().argmax(axis=1))
    assert private.epsilon_ == private.data_dependent_epsilon_ == math.inf
    assert private.n_answers_ == 160


def test_a_changed_row_moves_one_vote_of_each_public_row():
    moved = Y[TRAIN].copy()
    moved[7] = 1 - moved[7]
    private = make_private(noise_multiplier=0)
    counts = [
        private._count_votes(
            X[TRAIN],
            y,
            np.array_split(np.random.RandomState(0).permutation(400), 20),
            np.random.SeedSequence(0).spawn(20),
            PUBLIC,
            np.array([0, 1]),
        )
        for y in (Y[TRAIN], moved)
    ]
    distance = np.linalg.norm(counts[0] - counts[1], axis=1)
    assert set(np.round(distance, 9)) <= {0.0, round(math.sqrt(2), 9)}
    assert 0 < distance.max()


@pytest.mark.parametrize(
    "teacher",
    [
        DecisionTreeClassifier(max_features=1),
        DecisionTreeClassifier(max_features=1, random_state=3),
    ],
)
def test_what_one_teacher_draws_does_not_depend_on_the_rows_of_others(teacher):
    """A stream that teachers share would carry a row of one into the votes of all."""
    parts = np.array_split(np.random.RandomState(0).permutation(400), 20)
    seeds = np.random.SeedSequence(0).spawn(20)
    votes = []
    for first in (parts[0], parts[0][:5]):
        some = [first, *parts[1:]]
        rows = zip(some, seeds, strict=True)
        classes = np.array([0, 1])
        votes.append([_vote(teacher, X[p], Y[p], PUBLIC, classes, seed)[0] for p, seed in rows])
    np.testing.assert_array_equal(votes[0][1:], votes[1][1:])
    assert (votes[0][0] != votes[1][0]).any()


def test_epsilon_is_that_of_normal_noise_on_all_answers_together():
    private = make_private(noise_multiplier=1.7, target_delta=1e-4).fit(X[TRAIN], Y[TRAIN])
    assert privacy_profile(private.epsilon_, 1 / 1.7) == pytest.approx(1e-4, rel=1e-3)
    noise = VotingNoise.spread(1.7, 160, 0)
    assert noise.of_answers == pytest.approx(1.7 * math.sqrt(2 * 160))
    both = VotingNoise.spread(1.7, 30, 160)
    squares = 30 * 2 / both.of_answers**2 + 160 / both.of_checks**2
    assert squares == pytest.approx(1 / 1.7**2)


def test_a_target_is_met_from_below():
    private = make_private(target_epsilon=3.0, target_delta=1e-3).fit(X[TRAIN], Y[TRAIN])
    assert private.epsilon_ == 3.0
    spent = PATEDefense(LogisticRegression(), PUBLIC, **SETTINGS)
    spent.set_params(noise_multiplier=private.noise_multiplier_, target_delta=1e-3)
    assert spent.fit(X[TRAIN], Y[TRAIN]).epsilon_ == pytest.approx(3.0, rel=1e-9)
    assert 0 < private.data_dependent_epsilon_ <= private.epsilon_
    # One vote is moved by a replaced row, so that an audit of those asks for the same epsilon.
    assert read_claim(private, replaces=True) == (private.epsilon_, private.delta_)
    assert private.delta_ == 1e-3
    assert private.score(X[TEST], Y[TEST]) > 0.5


def test_noisy_winners_have_the_probability_of_the_normal_law():
    counts = np.tile([[30.0, 24.0]], (20_000, 1))
    noise = VotingNoise(6.0)
    answers = noise.answer(counts, 0, len(counts), PrivateRandomness(0))
    expected = norm.cdf(6 / (6 * math.sqrt(2)))
    assert abs((answers == 0).mean() - expected) < 4 * math.sqrt(0.25 / 20_000)


def test_checks_pass_with_the_probability_of_the_normal_law_and_stop_after_enough_answers():
    counts = np.tile([[30.0, 24.0]], (20_000, 1))
    noise = VotingNoise(6.0, 4.0)
    answers = noise.answer(counts, 33, len(counts), PrivateRandomness(1))
    expected = norm.sf(3 / 4)
    assert abs((answers >= 0).mean() - expected) < 4 * math.sqrt(0.25 / 20_000)
    few = noise.answer(counts, 33, 100, PrivateRandomness(1))
    assert (few >= 0).sum() == 100
    assert (few[np.flatnonzero(few >= 0)[-1] + 1 :] == -1).all()


def exact_divergence(counts, moved, deviation, order):
    """Rényi divergence of the winners of two classes."""
    gaps = [row[0] - row[1] for row in (counts, moved)]
    (p, q), (p_other, q_other) = (
        [law(gap / (deviation * math.sqrt(2))) for gap in gaps] for law in (norm.logcdf, norm.logsf)
    )
    terms = [order * p + (1 - order) * q, order * p_other + (1 - order) * q_other]
    return np.logaddexp(*terms) / (order - 1)


@pytest.mark.parametrize("gap", [0, 4, 10, 30, 60])
@pytest.mark.parametrize("deviation", [3.0, 8.0])
def test_data_dependent_divergences_are_above_the_exact_ones_and_below_those_of_any_votes(
    gap, deviation
):
    counts = np.array([[50.0 + gap / 2, 50.0 - gap / 2]])
    bound = VotingNoise(deviation).bound_divergences(counts, 0, 1, np.array([0]))
    assert (bound <= ORDERS / deviation**2 * (1 + 1e-12)).all()
    for step in (-1, 1):
        moved = counts[0] + [step, -step]
        for order in (1.5, 2.0, 4.0, 8.0):
            place = int(np.flatnonzero(ORDERS == order)[0])
            assert bound[place] >= exact_divergence(counts[0], moved, deviation, order) - 1e-12
    if gap == 60:
        assert bound[ORDERS == 2.0] < 0.05 * 2.0 / deviation**2


def test_withheld_questions_cost_their_checks_by_the_exact_law_of_how_many_pass():
    # One question is answered, and 199 whose largest count is at the threshold are withheld.
    counts = np.tile([[35.0, 65.0]], (200, 1))
    counts[0] = [0, 100]
    answers = np.r_[1, np.full(199, -1)]
    noise = VotingNoise.spread(2.0, 200, 200)
    bound = noise.bound_divergences(counts, 66, 200, answers)
    k = np.arange(200)
    p, q = (binom.logpmf(k, 199, norm.sf(gap / noise.of_checks)) for gap in (1, 2))
    for order in (1.5, 2.0, 4.0, 8.0):
        exact = logsumexp(order * p + (1 - order) * q) / (order - 1)
        assert bound[order == ORDERS] > exact
    # Nobody asks after the last answer of one.
    one = noise.bound_divergences(counts[:1], 66, 1, answers[:1])
    np.testing.assert_array_equal(noise.bound_divergences(counts, 66, 1, answers), one)


def test_the_probability_of_another_class_is_bounded_from_above():
    counts = np.array([[10.0, 7.0, 6.0], [5.0, 5.0, 5.0], [400.0, 1.0, 0.0]])
    draws = np.random.default_rng(0).normal(size=(100_000, 1, 3)) * 2.0 + counts
    wins = (draws.argmax(axis=2) != counts.argmax(axis=1)).mean(axis=0)
    found = np.exp(_log_other_classes(counts, 2.0))
    assert (found >= wins - 0.005).all()
    assert found[1] == pytest.approx(2 / 3)
    assert found[2] < 1e-300


def test_without_agreement_the_divergences_are_those_of_normal_noise():
    np.testing.assert_allclose(_bound_each(np.log([0.5, 0.5]), 3.0), 2 * ORDERS / 9)


def test_a_threshold_leaves_public_rows_without_a_label():
    private = make_private(
        noise_multiplier=1.0, threshold=0.9, n_answers=40, noise_seed=0, student=GaussianNB()
    )
    private.fit(X[TRAIN], Y[TRAIN])
    assert 2 <= private.n_answers_ <= 40
    assert private.epsilon_ == math.inf  # the seed
    aimed = make_private(target_epsilon=2.0, noise_seed=0, student=GaussianNB())
    assert aimed.fit(X[TRAIN], Y[TRAIN]).epsilon_ == math.inf


def test_a_threshold_that_no_public_row_reaches_is_named():
    labels = np.random.default_rng(0).integers(0, 2, 400)  # on which teachers disagree
    private = make_private(GaussianNB(), threshold=1.0, noise_multiplier=0.01)
    words = "^0 public rows got a label, of 0 of 2 classes, .* more public rows, a lower threshold,"
    with pytest.raises(ValueError, match=words):
        private.fit(X[TRAIN], labels)


@pytest.mark.parametrize("labels", ["ab", "missing"])
def test_labels_that_are_not_declared_do_not_vote(labels):
    y = np.array(["a", "b"])[Y[TRAIN]].astype(object)
    if labels == "missing":
        y[:50] = "c"
    private = make_private(noise_multiplier=0, classes=["a", "b"]).fit(X[TRAIN], y)
    assert set(private.classes_) == {"a", "b"}
    assert private.score(X[TEST], np.array(["a", "b"])[Y[TEST]]) > 0.8


def test_classes_that_are_read_off_the_rows_are_told():
    with pytest.warns(PrivacyWarning, match="classes were read off y") as caught:
        make_private(noise_multiplier=0, classes=None).fit(X[TRAIN], Y[TRAIN])
    assert caught[0].filename == __file__


def test_a_class_that_never_wins_has_probability_0():
    private = make_private(noise_multiplier=0, classes=[0, 1, 2]).fit(X[TRAIN], Y[TRAIN])
    proba = private.predict_proba(X[TEST])
    assert proba.shape == (140, 3)
    assert (proba[:, 2] == 0).all()
    with pytest.raises(ValueError, match=r"labeled no row of the student as \[2\]"):
        private.decision_function(X[TEST])


def test_frames_and_pipelines_are_taken_as_they_are():
    frame = pd.DataFrame(X, columns=list("abcde"))
    teacher = make_pipeline(StandardScaler(), LogisticRegression())
    private = PATEDefense(teacher, frame[400:560], noise_multiplier=0, **SETTINGS)
    private.fit(frame[TRAIN], Y[TRAIN])
    assert list(private.feature_names_in_) == list("abcde")
    assert private.score(frame[TEST], Y[TEST]) > 0.8


def test_the_ledger_knows_a_fit_before_its_first_vote(tmp_path):
    ledger = PrivacyLedger(tmp_path / "votes.jsonl", max_epsilon=2.5, delta=1e-4)
    private = make_private(target_epsilon=2.0, target_delta=1e-4, ledger=ledger)
    private.fit(X[TRAIN], Y[TRAIN])
    assert ledger.epsilon(1e-4) == pytest.approx(private.epsilon_, rel=1e-6)
    with pytest.raises(ValueError, match="max_epsilon"):
        clone(private).fit(X[TRAIN], Y[TRAIN])
    assert len(ledger.read()) == 1


def test_several_fits_cost_what_one_with_less_noise_costs():
    for settings in ({"noise_multiplier": 1.7}, {"target_epsilon": 2.0}):
        private = make_private(target_delta=1e-4, **settings).fit(X[TRAIN], Y[TRAIN])
        assert (private.n_fits_, private.total_epsilon_) == (1, private.epsilon_)
        with pytest.warns(PrivacyWarning, match="2 fits of PATEDefense"):
            private.fit(X[TRAIN], Y[TRAIN])
        shift = math.sqrt(2) / private.noise_multiplier_
        assert privacy_profile(private.total_epsilon_, shift) == pytest.approx(1e-4, rel=1e-3)


def test_a_private_search_knows_what_a_fit_costs():
    search = PrivateSearchCV(
        make_private(noise_multiplier=2.0, target_delta=1e-4),
        {"n_answers": [50, 150]},
        mean_trials=2,
        noise_seed=0,
        random_state=0,
    )
    search.fit(X[TRAIN], Y[TRAIN])
    assert search.best_params_["n_answers"] in (50, 150)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "Give one of target_epsilon and noise_multiplier; got neither."),
        ({"target_epsilon": 1.0, "noise_multiplier": 1.0}, "got both"),
        (
            {"noise_multiplier": 1.0, "n_teachers": 401},
            "401 teachers need a row each; got n_samples",
        ),
        ({"noise_multiplier": 1.0, "threshold": 1.2}, "threshold"),
        ({"target_epsilon": np.inf}, "set noise_multiplier=0"),
        ({"noise_multiplier": 0, "classes": ["a", "b"]}, "both be numbers or both be strings"),
        ({"noise_multiplier": 0, "classes": [1, 2]}, "of 1 of 2 classes, and the student"),
        ({"noise_multiplier": 0, "classes": [1]}, "must hold two labels or more"),
    ],
)
def test_settings_that_do_not_fit_are_refused(settings, words):
    with pytest.raises(ValueError, match=words):
        make_private(**settings).fit(X[TRAIN], Y[TRAIN])


@pytest.mark.parametrize("part", ["teacher", "student", "nested"])
def test_what_was_trained_before_is_refused(part):
    frozen = FrozenEstimator(LogisticRegression().fit(X[TRAIN], Y[TRAIN]))
    settings = {"noise_multiplier": 1.0}
    if part == "student":
        settings["student"] = frozen
    teacher = frozen if part == "teacher" else None
    if part == "nested":
        teacher = make_pipeline(
            FrozenEstimator(StandardScaler().fit(X[TRAIN])), LogisticRegression()
        )
    with pytest.raises(ValueError, match="begin anew"):
        make_private(teacher, **settings).fit(X[TRAIN], Y[TRAIN])


class FailsOnOddRows(LogisticRegression):
    """Teacher that cannot be fitted if the first feature of its first row is above 0, and warns."""

    def fit(self, X, y):
        if X[0, 0] > 0:
            raise RuntimeError("no such row")
        warnings.warn("The first row is at most 0.", stacklevel=2)
        return super().fit(X, y)


def test_a_teacher_that_cannot_be_fitted_does_not_vote_and_says_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        private = make_private(FailsOnOddRows(), noise_multiplier=0, student=GaussianNB())
        private.fit(X[TRAIN], Y[TRAIN])
    assert private.score(X[TEST], Y[TEST]) > 0.8
    order = np.random.RandomState(0).permutation(400)
    failing = [X[part[0], 0] > 0 for part in np.array_split(order, 20)]
    assert 0 < sum(failing) < 20
    with pytest.raises(ValueError, match="None of 20 teachers could be fitted and asked; one says"):
        make_private(DummyClassifier(strategy="nothing"), noise_multiplier=0).fit(
            X[TRAIN], Y[TRAIN]
        )


def test_the_guarantee_holds_for_a_label_that_only_one_row_carries():
    """Votes of two tables that differ by one row, as an audit of the law of the winner."""
    counts = np.array([[10.0, 10.0]])
    moved = np.array([[11.0, 9.0]])
    noise = VotingNoise.spread(1.0, 1, 0)
    wins = [
        (noise.answer(np.tile(c, (50_000, 1)), 0, 50_000, PrivateRandomness(s)) == 0).mean()
        for s, c in enumerate((counts, moved))
    ]
    # A Gaussian test of shift 1 has this largest difference between its two rates.
    assert wins[1] - wins[0] < 2 * norm.cdf(0.5) - 1 + 0.01
    assert wins[1] - wins[0] == pytest.approx(2 * norm.cdf(0.5) - 1, abs=0.15)
