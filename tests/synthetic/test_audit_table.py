"""The audit of a synthetic table: copies, fresh rows, a mirror, and what cannot be said."""

import numpy as np
import pandas as pd
import pytest

from skmia.synthetic import audit_table


def draw(rng, n):
    table = pd.DataFrame(rng.normal(size=(n, 3)), columns=list("abc"))
    table["c"] = np.where(rng.random(n) < 0.1, np.nan, table["c"])
    return table.assign(work=rng.choice(["x", "y", None], n))


def test_a_table_with_copies_leaks_and_fresh_ones_do_not():
    rng = np.random.default_rng(0)
    real, holdout, made = (draw(rng, 120) for _ in range(3))
    copied = pd.concat([real[:30], made[30:]])
    report = audit_table(real, copied, holdout, random_state=0)
    assert report.evidence == "leak" and "evidence: leak" in report.summary()
    assert report.result.loc["rare copies", "leak"]
    again = audit_table(real, copied, holdout, random_state=0)
    pd.testing.assert_frame_equal(report.to_frame(), again.result)
    assert audit_table(real, made, holdout, random_state=0).evidence == "none"


def test_a_mirror_is_not_seen():
    real, holdout = np.random.default_rng(1).normal(size=(2, 100, 4))
    report = audit_table(real, -real, holdout, random_state=0)
    assert report.evidence == "none" and "other attacks may succeed" in report.summary()


def test_what_cannot_be_said():
    X = np.random.default_rng(2).normal(size=(30, 2))
    report = audit_table(X, X)
    assert report.evidence == "unknown" and "Without a holdout" in report.summary()
    assert report.to_frame().empty
    few = audit_table(X[:15], X[:15], X[15:], random_state=0)
    assert few.evidence == "unknown" and not few.result["leak"].any()
    with pytest.raises(ValueError, match=r"confidence_level must be a number in \(0, 1\)"):
        audit_table(X, X, X, confidence_level=2)
