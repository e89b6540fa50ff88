"""Shadow models of an audit that was interrupted are not trained again."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from skmia import ShadowPool, audit
from skmia._training.checkpoint import FolderCheckpoint
from skmia.datasets import make_membership_problem

RECORDS, MEMBERSHIP = make_membership_problem(120, random_state=0)
TREE = DecisionTreeClassifier(random_state=0)


def run(checkpoint=None, **settings):
    settings = {"shadows": 6, "fprs": (0.5,), "random_state": 0, **settings}
    return audit(TREE, RECORDS, MEMBERSHIP, checkpoint=checkpoint, **settings)


def test_an_interrupted_audit_goes_on(tmp_path, monkeypatch):
    save, saved = FolderCheckpoint.save, []

    def save_or_stop(self, k, *arguments):
        if len(saved) == 2:
            raise KeyboardInterrupt
        saved.append(k)
        save(self, k, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(FolderCheckpoint, "save", save_or_stop)
        with pytest.raises(KeyboardInterrupt) as stop:
            run(tmp_path)
    assert stop.value.__notes__ == [
        f"2 of 6 shadow models are kept in {tmp_path}; running it again continues from there."
    ]
    scores, expected = run(tmp_path).scores, run().scores
    assert scores.keys() == expected.keys()
    assert all(np.array_equal(scores[name], expected[name]) for name in scores)


def test_no_model_of_a_finished_audit_is_trained_again(tmp_path, monkeypatch):
    run(tmp_path)
    monkeypatch.setattr(FolderCheckpoint, "save", lambda *arguments: pytest.fail("trained again"))
    run(tmp_path)


def test_a_pool_has_a_checkpoint_of_its_own(tmp_path):
    with pytest.raises(ValueError, match="shadows is a pool"):
        run(tmp_path, shadows=ShadowPool(TREE, 6))


def test_a_pool_in_memory_says_what_it_keeps(monkeypatch):
    pool = ShadowPool(TREE, 4, warm_start=True, random_state=0)
    monkeypatch.setattr("skmia.shadow._pool.gather", _stop)
    with pytest.raises(KeyboardInterrupt) as stop:
        pool.fit(RECORDS)
    assert stop.value.__notes__ == ["0 of 4 shadow models are kept in memory."]


def _stop(*arguments):
    raise KeyboardInterrupt
