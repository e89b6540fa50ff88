"""Shadow models of an audit that was interrupted are not trained again."""

from functools import partial

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import skmia
from skmia import ShadowPool
from skmia.attacks import LiRA
from skmia.datasets import make_membership_problem

# What audits say of a released file is in test_file.py.
audit = partial(skmia.audit, file=False)

RECORDS, MEMBERSHIP = make_membership_problem(120, random_state=0)
TREE = DecisionTreeClassifier(random_state=0)


def run(checkpoint=None, **settings):
    settings = {"shadows": 6, "fprs": (0.5,), "random_state": 0, **settings}
    settings = {"attacks": {"LiRA": LiRA()}, **settings}
    return audit(TREE, RECORDS, MEMBERSHIP, checkpoint=checkpoint, **settings)


def count_fits(monkeypatch, stop_at=None):
    """Note each tree that is fitted; the fit of this number is interrupted."""
    fit, fitted = DecisionTreeClassifier.fit, []

    def fit_or_stop(self, *arguments, **settings):
        fitted.append(self)
        if len(fitted) == stop_at:
            raise KeyboardInterrupt
        return fit(self, *arguments, **settings)

    monkeypatch.setattr(DecisionTreeClassifier, "fit", fit_or_stop)
    return fitted


def test_an_interrupted_audit_goes_on(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        # The victim, its two clones, two shadow models, and the next one.
        count_fits(patch, stop_at=6)
        with pytest.raises(KeyboardInterrupt) as stop:
            run(tmp_path)
    assert stop.value.__notes__ == [
        f"2 of 6 shadow models are kept in {tmp_path}; running it again continues from there."
    ]
    scores, expected = run(tmp_path).scores, run().scores
    assert scores.keys() == expected.keys()
    assert all(np.array_equal(scores[name], expected[name]) for name in scores)


def test_no_model_of_a_finished_audit_is_trained_again(tmp_path, monkeypatch):
    fitted = count_fits(monkeypatch)
    run(tmp_path)
    n_first = len(fitted)
    run(tmp_path)
    assert len(fitted) - n_first == n_first - 6


def test_a_pool_has_a_checkpoint_of_its_own(tmp_path):
    with pytest.raises(ValueError, match="shadows is a pool"):
        run(tmp_path, shadows=ShadowPool(TREE, 6))


def test_a_pool_in_memory_claims_to_keep_nothing(monkeypatch):
    pool = ShadowPool(TREE, 4, warm_start=True, random_state=0)
    count_fits(monkeypatch, stop_at=3)
    with pytest.raises(KeyboardInterrupt) as stop:
        pool.fit(RECORDS)
    assert not hasattr(stop.value, "__notes__")
    assert vars(pool) == vars(ShadowPool(TREE, 4, warm_start=True, random_state=0))
