import warnings

import numpy as np
import pytest
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmia import Records, ShadowPool, audit
from skmia.attacks import LiRA, ThresholdAttack
from skmia.games import membership_game

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(60, 3)), RNG.integers(2, size=60)
RECORDS = Records(X, Y)
WEIGHTED = RECORDS.with_fields(sample_weight=RNG.random(60))
MODEL = KNeighborsClassifier()  # its fit takes no weights
OF_FIELD = "trained without weights: the field 'sample_weight' of the records is not used"


def test_weights_of_records_are_not_dropped_without_a_word():
    with pytest.warns(UserWarning, match=f"shadow models are {OF_FIELD}"):
        pool = ShadowPool(MODEL, 4, random_state=0).fit(WEIGHTED)
    (note,) = pool.notes_
    assert OF_FIELD in note
    plain = ShadowPool(MODEL, 4, random_state=0).fit(RECORDS)
    assert plain.notes_ == []
    np.testing.assert_array_equal(pool.signals_, plain.signals_)


@pytest.mark.usefixtures("quick_audits")
def test_audits_note_that_weights_are_not_used():
    with pytest.warns(UserWarning, match=OF_FIELD):
        attacks = {"LiRA": LiRA()}
        report = audit(MODEL, WEIGHTED, shadows=4, attacks=attacks, file=False, random_state=0)
    assert any(OF_FIELD in note for note in report.notes)


def test_games_warn_that_weights_are_not_used():
    attack = ThresholdAttack(signal="correctness")
    with pytest.warns(UserWarning, match=f"victims are {OF_FIELD}"):
        membership_game(MODEL, attack, WEIGHTED, n_rounds=2, random_state=0)


@pytest.mark.parametrize("in_pipeline", [False, True])
def test_weights_that_the_estimator_requests_are_not_dropped_without_a_word(in_pipeline):
    with sklearn.config_context(enable_metadata_routing=True):
        model = LogisticRegression().set_fit_request(sample_weight=True)
        estimator = make_pipeline(StandardScaler(), model) if in_pipeline else model
        with pytest.warns(UserWarning, match="estimator requests sample_weight for fit"):
            pool = ShadowPool(estimator, 4, random_state=0).fit(RECORDS)
        assert len(pool.notes_) == 1
        model.set_fit_request(sample_weight=False)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ShadowPool(estimator, 4, random_state=0).fit(RECORDS)
