"""An overfitted tree, its records, and an audit of it."""

from functools import partial

import numpy as np
import pytest
from quick_audits import count_few, permute_less, shrink_models
from sklearn.tree import DecisionTreeClassifier

from skmia import Records, audit
from skmia.disparity import DisparityTest
from skmia.report.checks import BaselineCheck, DriftCheck, FormatsCheck
from skmia.report.checks._base import NOT_RUN


@pytest.fixture(autouse=True, scope="module")
def quick_audits():
    """Before the audits that a module shares."""
    with pytest.MonkeyPatch.context() as patch:
        shrink(patch)
        yield


def count_fewer(confidence_level):
    """Return 99 at 95%, with which a p-value can fall to 1%; it is one-sided at 2.5%."""
    return 99 if confidence_level <= 0.95 else count_few(confidence_level)


def shrink(patch, n_trees=5):
    """Use small models, and few trees to tell the sides apart without the model."""
    shrink_models(patch)
    permute_less(patch)
    for place in ("_examine", "checks._control", "checks._permutation"):
        patch.setattr(f"skmia.report.{place}.count_permutations", count_fewer)
    sizes = {0: {"n_estimators": n_trees, "min_samples_leaf": 5}}
    patch.setattr("skmia._core.blind._SIZES_OF_TREES", sizes)
    patch.setattr("skmia.report.checks._record_rates._N_DRAWS", 99)
    patch.setattr("skmia.report._run._N_TARGETS", 4)
    comparison = partial(DisparityTest, n_permutations=99)
    patch.setattr("skmia.report._examine.DisparityTest", comparison)


@pytest.fixture(scope="module")
def sharp_baseline():
    """More trees, for a small difference between the sides, or for none."""
    with pytest.MonkeyPatch.context() as patch:
        shrink(patch, n_trees=20)
        yield


@pytest.fixture(scope="module")
def attacks_alone():
    """Audits that train nothing for checks of the table and compare no groups.

    For tests of attacks, whose evidence no such check decides.
    """

    def ask(check, case, run, findings):
        return check.answer(NOT_RUN, "Not asked in this test.")

    with pytest.MonkeyPatch.context() as patch:
        for check in (BaselineCheck, DriftCheck, FormatsCheck):
            patch.setattr(check, "ask", ask)
        patch.setattr("skmia.report._examine.compare_groups", lambda *given: [])
        yield


@pytest.fixture(scope="session")
def problem():
    """Victim, records, membership."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5))
    y = (X[:, 0] + rng.normal(size=400) > 0).astype(int)
    records = Records(X, y, group=rng.choice(["a", "b"], 400))
    membership = rng.permutation(400) % 2
    members = records[membership == 1]
    victim = DecisionTreeClassifier(min_samples_leaf=2, random_state=0)
    return victim.fit(members.X, members.y), records, membership


@pytest.fixture(scope="session")
def result(problem):
    """Eight shadow models; a rate of 1% is too low for 200 non-members."""
    with pytest.MonkeyPatch.context() as patch:
        shrink(patch)
        return audit(*problem, shadows=8, group="group", fprs=(0.2, 0.01), random_state=0)
