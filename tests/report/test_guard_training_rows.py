"""The number of training rows that a file states, beside the members that are listed."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from skmia import Records, audit
from skmia.attacks import LiRA, ThresholdAttack
from skmia.inspection import inspect_model
from skmia.report import recommend_release
from skmia.report._row_count import ELSEWHERE, compare_training_rows
from skmia.report.checks import TrainingRowsCheck

pytestmark = pytest.mark.usefixtures("attacks_alone")

X, Y = make_classification(1200, 8, n_informative=5, flip_y=0.1, random_state=0)
N, N_HIDDEN = 600, 200
MEMBERSHIP = np.arange(1200) < N

KINDS = {
    "forest": RandomForestClassifier(10),
    "forest on samples": RandomForestClassifier(10, max_samples=0.4),
    "forest of weighted classes": RandomForestClassifier(10, class_weight="balanced_subsample"),
    "extra trees": ExtraTreesClassifier(10),
    "bagging": BaggingClassifier(n_estimators=5),
    "bagging of a part": BaggingClassifier(n_estimators=5, max_samples=0.5, bootstrap=False),
    "tree": DecisionTreeClassifier(class_weight={0: 3, 1: 1}),
    "boosting on samples": GradientBoostingClassifier(n_estimators=10, subsample=0.5),
    "boosting that stops early": GradientBoostingClassifier(n_estimators=20, n_iter_no_change=3),
    "histogram boosting": HistGradientBoostingClassifier(max_iter=10),
    "one that stops early": HistGradientBoostingClassifier(max_iter=20, early_stopping=True),
    "neighbors": KNeighborsClassifier(),
    "support vectors": SVC(),
    "naive Bayes": GaussianNB(),
    "stochastic gradients": SGDClassifier(),
    "net that stops early": MLPClassifier((5,), max_iter=20, early_stopping=True),
    "pipeline": make_pipeline(StandardScaler(), LogisticRegression()),
}


# Their numbers are read as those of another one are.
LIKE_ANOTHER = {
    "forest of weighted classes",
    "extra trees",
    "boosting that stops early",
    "net that stops early",
}


def make_case(model):
    request = SimpleNamespace(victim=model, fit_params=None)
    records = Records(X, Y)
    return SimpleNamespace(
        victim=model,
        request=request,
        records=records,
        membership=MEMBERSHIP,
        seeds={"checks": 0},
        n_listed=int(MEMBERSHIP.sum()),
        inspection=inspect_model(model),
    )


def count(model):
    return compare_training_rows(make_case(model))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "name",
    [pytest.param(one, marks=[pytest.mark.slow] * (one in LIKE_ANOTHER)) for one in KINDS],
)
def test_what_a_file_counts_is_compared_with_what_a_model_of_the_members_counts(name):
    assert count(clone(KINDS[name]).fit(X[:N], Y[:N])).n_unlisted == 0
    hidden = N + N_HIDDEN
    assert count(clone(KINDS[name]).fit(X[:hidden], Y[:hidden])).n_unlisted == pytest.approx(
        N_HIDDEN, rel=0.2
    )


@pytest.mark.parametrize("model", [GaussianNB(), DecisionTreeClassifier()])
def test_a_sum_of_weights_is_not_called_a_number_of_rows(model):
    weights = np.r_[np.full(N, 2.0), np.ones(N_HIDDEN)]
    model.fit(X[: len(weights)], Y[: len(weights)], sample_weight=weights)
    told = TrainingRowsCheck().ask(make_case(model), SimpleNamespace(file_scores=None), None)
    begin, n_rows = "The file was", "800"
    if isinstance(model, GaussianNB):
        begin, n_rows = "Unless rows were weighted or repeated, the file was", "1,400"
    assert told.text.startswith(f"{begin} trained on {n_rows} rows, and 600 are listed")


@pytest.mark.parametrize(("n_rows", "is_told"), [(N, False), (N - 50, True)])
def test_listed_rows_that_the_file_does_not_count_are_told(n_rows, is_told):
    model = DecisionTreeClassifier(max_depth=3).fit(X[:n_rows], Y[:n_rows])
    told = TrainingRowsCheck().ask(make_case(model), SimpleNamespace(file_scores=None), None)
    assert told.status == "passed"
    assert told.text.startswith(f"The file states {n_rows} training rows, and {N} are listed.")
    assert ("Members that the model was not trained on, if" in told.text) == is_told


def test_a_file_without_a_number_says_nothing():
    assert count(LogisticRegression().fit(X[:N], Y[:N])) is None


@pytest.fixture(scope="module")
def hidden():
    rows = N + N_HIDDEN
    model = RandomForestClassifier(12, min_samples_leaf=3, random_state=0).fit(X[:rows], Y[:rows])
    settings = {"attacks": {"loss": ThresholdAttack()}, "fprs": [0.02], "random_state": 0}
    return model, audit(model, Records(X, Y), MEMBERSHIP, **settings)


def test_hidden_members_are_counted_in_the_check(hidden):
    check = hidden[1].checks["training rows"]
    assert check.is_warning
    assert "trained on 800 rows, and 600 are listed as members: 200 rows" in check.text
    n_alike = check.finding.n_alike
    # Those that it is sure of: most of the hidden members, and hardly any other row.
    assert 0.7 * N_HIDDEN < n_alike < 1.05 * N_HIDDEN
    assert f"{n_alike} of 600 held-out rows look" in check.text


def test_held_out_rows_are_not_taken_for_training_rows_that_are_outside_of_the_audit():
    model = RandomForestClassifier(10, random_state=0).fit(X[:1000], Y[:1000])
    rows = np.r_[:200, 1000:1200]
    settings = {"attacks": {"LiRA": LiRA()}, "shadows": 4, "fprs": [0.1], "random_state": 0}
    settings["file"] = False
    report = audit(model, Records(X, Y)[rows], np.arange(400) < 200, **settings)
    assert report.checks["training rows"].finding == (800, 1000, 0)
    assert report.checks["sides"].status == "passed"
    assert report.evidence == "leak"


@pytest.mark.parametrize("policy", ["cautious", "research"])
@pytest.mark.parametrize("release", ["service", "file"])
def test_no_policy_releases_a_model_with_hidden_members(hidden, policy, release):
    model, report = hidden
    stated = {ELSEWHERE: "all in the archive, J. Doe"}
    found = recommend_release(
        report, model, Records(X, Y), policy=policy, release=release, provenance=stated
    )
    unmet = [one.text for one in found.requirements if not one.is_met]
    assert any("The policy asks for all training rows among the members." in text for text in unmet)
    assert found.result in ("do not release", "cannot be said")


def test_a_statement_is_the_condition_for_rows_outside_of_the_audit():
    model = GaussianNB().fit(X[:1000], Y[:1000])
    records, membership = Records(X, Y)[np.r_[:300, 1000:1200]], np.arange(500) < 300
    settings = {"attacks": {"LiRA": LiRA()}, "shadows": 8, "fprs": [0.1], "file": False}
    report = audit(model, records, membership, random_state=0, **settings)
    assert (
        "700 rows of the training set are not in this audit" in report.checks["training rows"].text
    )
    for stated, is_met in (({}, False), ({ELSEWHERE: "in the archive, J. Doe"}, True)):
        found = recommend_release(report, model, records, policy="research", provenance=stated)
        judged = {one.name: one.is_met for one in found.requirements}
        assert judged["all training rows"] == is_met
        assert found.provenance.get(ELSEWHERE, "") == stated.get(ELSEWHERE, "")
