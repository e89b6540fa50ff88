"""Wishes that cannot be met are refused before anything is drawn or trained."""

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.tree import DecisionTreeClassifier

from skmia import Records, ShadowPool, audit
from skmia._core import splits as _sampling
from skmia.attacks import ThresholdAttack
from skmia.disparity import DisparityTest
from skmia.games import membership_game

RECORDS = Records(np.arange(40.0)[:, None], np.arange(40) % 2, group=np.arange(40) // 20)
MODEL = DecisionTreeClassifier()
ATTACK = ThresholdAttack(signal="correctness")


@pytest.mark.parametrize("n_estimators", [10**9, 10**6])
def test_numbers_of_models_that_nobody_can_train(n_estimators):
    message = "'n_estimators' parameter of ShadowPool must be an int in the range"
    with pytest.raises(ValueError, match=message):
        ShadowPool(MODEL, n_estimators).fit(RECORDS)
    with pytest.raises(ValueError, match=message):
        audit(MODEL, RECORDS, shadows=n_estimators)


def test_signals_that_fit_no_memory(monkeypatch):
    monkeypatch.setattr(_sampling, "_count_bytes_of_memory", lambda: 40 * 10 * 9 - 1)
    message = r"n_estimators=10 shadow models on 40 records take 0 GB, more than the memory"
    with pytest.raises(ValueError, match=message):
        ShadowPool(DummyClassifier(), 10).fit(RECORDS)
    ShadowPool(DummyClassifier(), 8).fit(RECORDS)


DOORS = {
    "ShadowPool": lambda n_jobs: ShadowPool(MODEL, 4, n_jobs=n_jobs).fit(RECORDS),
    "audit": lambda n_jobs: audit(MODEL, RECORDS, shadows=4, n_jobs=n_jobs),
    "membership_game": lambda n_jobs: membership_game(MODEL, ATTACK, RECORDS, n_jobs=n_jobs),
    "DisparityTest": lambda n_jobs: DisparityTest(MODEL, ATTACK, n_jobs=n_jobs).fit(RECORDS),
}


@pytest.mark.parametrize("door", DOORS)
def test_no_jobs_are_refused_by_name(door):
    message = r"'n_jobs' parameter of \w+ must be an int in the range .* Got 0"
    with pytest.raises(ValueError, match=message):
        DOORS[door](0)


def test_seeds_below_zero_are_refused_by_name():
    with pytest.raises(ValueError, match="random_state must be an int from 0 .* got -1"):
        audit(MODEL, RECORDS, shadows=4, random_state=-1)


@pytest.mark.parametrize("scores", [np.full((4, 40), "a"), np.full((4, 40), None)])
def test_scores_that_are_not_numbers(scores):
    with pytest.raises(ValueError, match="scores must hold numbers; got an array of"):
        ShadowPool.from_scores(scores, np.ones((4, 40)), RECORDS)
