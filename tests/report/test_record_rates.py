"""How often single records are mistaken for members."""

import json
import re

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from skmia import Records, audit
from skmia.attacks import RMIA, LiRA
from skmia.report.checks._record_rates import flag_by_model, share_frequent_alarms


def draw_sides(rng, n_models, n):
    """Non-members of each model, those of a pair being the others."""
    half = rng.random((n_models // 2, n)) < 0.5
    return np.stack([half, ~half], axis=1).reshape(n_models, n)


def test_a_threshold_flags_the_share_of_the_non_members_of_each_model():
    rng = np.random.default_rng(0)
    is_out = draw_sides(rng, 4, 100)
    flagged = flag_by_model(rng.normal(size=is_out.shape), is_out, 0.1)
    n_out = is_out.sum(axis=1)
    np.testing.assert_array_equal((flagged & is_out).sum(axis=1), (0.1 * n_out).astype(int))
    assert not flag_by_model(np.zeros((4, 100)), is_out, 0.1).any()


@pytest.mark.parametrize("n_models", [8, 32])
def test_the_share_of_a_known_law_is_found(n_models):
    rng = np.random.default_rng(1)
    is_out, law = draw_sides(rng, n_models, 4000), stats.beta(0.5, 9.5)
    alarms = rng.random(is_out.shape) < law.rvs(4000, random_state=2)
    found = share_frequent_alarms(alarms, is_out, 2, 0.95, rng)
    assert found.low < law.sf(0.1) < found.high and found.high - found.low < 0.1


def test_nothing_is_said_of_equal_rates():
    rng = np.random.default_rng(2)
    found = []
    for _ in range(40):
        is_out = draw_sides(rng, 8, 300)
        alarms = flag_by_model(rng.normal(size=is_out.shape), is_out, 0.1)
        found.append(share_frequent_alarms(alarms, is_out, 2, 0.95, rng) is not None)
    assert sum(found) <= 4  # of a rate of 2.5% more come in one of 300 cases


def make_audit(model):
    X, y = make_classification(400, 20, n_informative=6, n_redundant=0, flip_y=0.15, random_state=0)
    attacks = {"LiRA": LiRA(), "RMIA": RMIA()}
    settings = {"attacks": attacks, "shadows": 16, "fprs": (0.1,), "file": False}
    model, membership = model.fit(X[:200], y[:200]), np.arange(400) < 200
    return audit(model, Records(X, y), membership, random_state=0, **settings)


def test_the_audit_tells_the_share_and_the_document_has_it():
    report = make_audit(DecisionTreeClassifier(min_samples_leaf=5, random_state=0))
    check = report.checks["rates of single records"]
    assert check.status == "stated"
    share, low, high = check.finding
    assert 0.01 <= low < share < high < 0.4
    told = re.search(r"about ([\d.]+)% of the records \[([\d.]+)%, ([\d.]+)%\]", check.text)
    assert [float(one) for one in told.groups()] == pytest.approx(
        [float(f"{100 * one:.2g}") for one in (share, low, high)]
    )
    (row,) = (one for one in json.loads(report.to_json())["checks"] if one["name"] == check.name)
    assert row["finding"] == pytest.approx([share, low, high])
    assert "on average" in report.to_html()


def test_no_line_where_the_records_are_alike():
    forest = RandomForestClassifier(10, min_samples_leaf=2, random_state=0)
    assert "rates of single records" not in make_audit(forest).checks
