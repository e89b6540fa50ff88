"""Every audit ends: what is too large is left out with a sentence, and counts as not said."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from textwrap import dedent

import numpy as np
import pytest
from joblib import parallel_config
from joblib.externals.loky.process_executor import TerminatedWorkerError
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from skmia import Records, ShadowPool, audit
from skmia._core.budget import Cost
from skmia.attacks import RMIA, AnalyticLiRA, LiRA, ThresholdAttack
from skmia.attacks.recovered import RecoveredModelAttack
from skmia.base import BaseAttack, Needs
from skmia.disclosure import load_policy
from skmia.report import _budget, _examine, _pace, _run, as_audit_document, recommend_release
from skmia.report._budget import AuditBudget, TableSize, expect_check, why_costly, why_long
from skmia.report._case import ALONE
from skmia.report._document import check_document
from skmia.report._run import GrowingPool
from skmia.report.checks._baseline import BaselineCheck
from skmia.report.checks._drift import DriftCheck
from skmia.report.checks._permutation import PermutationCheck

_LIMITED = """
import json, os, resource, warnings
warnings.simplefilter("ignore")
import numpy as np
from sklearn.tree import DecisionTreeClassifier
from sklearn.linear_model import LogisticRegression
from skmia import Records, audit
from skmia.attacks import *
from skmia.base import BaseAttack, Needs
from quick_audits import permute_less, shrink_models
import pytest

shrink_models(pytest.MonkeyPatch())
permute_less(pytest.MonkeyPatch())


def limit(n_bytes):
    pages = int(open("/proc/self/statm").read().split()[0])
    most = pages * resource.getpagesize() + n_bytes
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


class Greedy(DecisionTreeClassifier):
    '''A tree that takes 20 GB to be trained, from the moment on that it is told to.'''

    is_greedy = False

    def fit(self, X, y):
        if Greedy.is_greedy:
            np.ones(2_500_000_000)
        return super().fit(X, y)


rng = np.random.default_rng(0)
X = rng.normal(size=(400, 5))
y = (X[:, 0] + rng.normal(size=400) > 0).astype(int)
membership = rng.permutation(400) % 2
records = Records(X, y)


def tell(report, **more):
    document = {
        "notes": report.notes,
        "evidence": report.evidence,
        "attacks": list(report.scores),
        "checks": {name: [one.status, one.text] for name, one in report.checks.items()},
        "n_shadows": report.settings["n_shadows"],
        "left_out": report.reference["left_out"],
    }
    return document | more


"""


def run_limited(code):
    """What a program prints that may not hold more than it says."""
    done = subprocess.run(
        [sys.executable, "-c", _LIMITED + dedent(code)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of Linux")


@pytest.fixture(scope="module")
def found():
    """Three audits in one program: to start it takes longer than an audit.

    The tests that read it are slow; quick ones raise what a machine without memory raises.
    """
    return run_limited(
        """
        class Wide(ThresholdAttack):
            def _fit(self, records, membership):
                np.ones(2_500_000_000)

        members = records[membership == 1]
        tree = DecisionTreeClassifier(random_state=0).fit(members.X, members.y)
        greedy = Greedy(max_depth=2).fit(members.X, members.y)
        y = np.arange(960) % 240
        X = rng.normal(size=(960, 20)) + 2 * rng.normal(size=(240, 20))[y]
        inside = (np.arange(960) // 240) % 2 == 1
        model = LogisticRegression(max_iter=10).fit(X[inside], y[inside])
        limit(1_500_000_000)
        attacks = {"wide": Wide(), "LiRA": LiRA()}
        given = {"attacks": attacks, "shadows": 4, "file": False, "random_state": 0}
        wide = tell(audit(tree, records, membership, **given))
        Greedy.is_greedy = True
        no_pool = tell(audit(greedy, records, membership, file=False, random_state=0))
        refused = None
        try:
            AnalyticLiRA(model).fit(Records(X, y))
        except ValueError as error:
            refused = str(error)
        many = audit(model, Records(X, y), inside, shadows=4, file=False, random_state=0)
        many = tell(many, refused=refused)
        print(json.dumps({"wide": wide, "no pool": no_pool, "many classes": many}))
        """
    )


@linux
@pytest.mark.slow
def test_a_linear_model_of_many_classes_is_audited_without_what_is_too_large(found):
    found = found["many classes"]
    assert "706 MB for a matrix of 5,040 x 5,040 coefficients" in found["refused"]
    (note,) = [note for note in found["notes"] if note.startswith("AnalyticLiRA was left out")]
    assert "706 MB" in note or "longer than the training" in note
    assert {"LiRA", "RMIA", "threshold (loss)"} <= set(found["attacks"])


@linux
@pytest.mark.slow
def test_an_attack_that_does_not_fit_memory_is_left_out(found):
    found = found["wide"]
    (note,) = [note for note in found["notes"] if note.startswith("wide was left out")]
    assert note == "wide was left out: Memory did not suffice: 20.0 GB could not be had at once."
    assert found["attacks"] == ["LiRA"] and note in found["left_out"]


@linux
@pytest.mark.slow
def test_shadow_models_that_do_not_fit_memory_leave_the_other_attacks(found):
    found = found["no pool"]
    assert found["attacks"] == ["threshold (loss)"] and found["n_shadows"] == 0
    (note,) = [note for note in found["left_out"] if note.startswith("LiRA was left out")]
    assert "No shadow models could be trained: memory did not suffice: 20.0 GB" in note
    # Nothing was found, and nothing could have been: that is not the absence of leakage.
    assert found["checks"]["shadow models"][0] == "error"
    assert found["checks"]["drift"][0] == "error"
    assert found["evidence"] == "unknown"


def test_a_pool_whose_workers_end_is_replaced_by_fewer_models(safe, monkeypatch):
    fit, asked = ShadowPool.fit, []

    def fit_or_end(pool, *arguments, **settings):
        asked.append(pool.n_jobs)
        if pool.n_jobs == 2:
            raise TerminatedWorkerError("A worker process was unexpectedly terminated.")
        return fit(pool, *arguments, **settings)

    monkeypatch.setattr(ShadowPool, "fit", fit_or_end)
    with parallel_config("threading"):
        report = audit(safe, RECORDS, MEMBERS, n_jobs=2, attacks={"LiRA": LiRA()}, **SETTINGS)
    assert (asked[0], asked[-1]) == (2, 1)
    assert report.settings["n_shadows"] == 4 and "LiRA" in report.scores
    assert any(one.startswith("4 shadow models were trained, one after") for one in report.notes)


@linux
@pytest.mark.slow  # it starts eight processes; the one above raises what joblib then raises
def test_workers_that_are_killed_are_replaced_by_fewer_models():
    found = run_limited(
        """
        os.environ["PARENT"] = str(os.getpid())

        class Killed(DecisionTreeClassifier):
            def fit(self, X, y):
                if os.environ["PARENT"] != str(os.getpid()):
                    os.kill(os.getpid(), 9)
                return super().fit(X, y)

        model = Killed().fit(X[membership == 1], y[membership == 1])
        found = audit(model, records, membership, file=False, n_jobs=2, random_state=0)
        print(json.dumps(tell(found)))
        """
    )
    assert found["n_shadows"] == 4 and "LiRA" in found["attacks"]
    assert any(
        note.startswith("4 shadow models were trained, one after") for note in found["notes"]
    )


N = 800
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
RECORDS = Records(X, (X[:, 0] + 3 * RNG.normal(size=N) > 0).astype(int), half=np.arange(N) % 2)
MEMBERS = np.repeat(RNG.permutation(N // 2) < N // 4, 2)
SETTINGS = {"fprs": [0.1], "file": False, "random_state": 0}
LAX = replace(
    load_policy("research"),
    limits={"service": {"auc": 0.62}},
    required={"service": ("auc",)},
    structure={},
)


def fit(model):
    return model.fit(X[MEMBERS], RECORDS.y[MEMBERS])


def fail(*args, **kwargs):
    raise MemoryError("Unable to allocate 8.0 GiB for an array")


def recommend(model, **settings):
    report = audit(model, RECORDS, MEMBERS, **SETTINGS | settings)
    return recommend_release(report, model, RECORDS, policy=LAX).result


@pytest.fixture(scope="module")
def safe():
    return fit(LogisticRegression(C=1e-3))


@pytest.fixture(scope="module")
def leaky():
    return fit(DecisionTreeClassifier(random_state=0))


class Wide(ThresholdAttack):
    def _fit(self, records, membership):
        fail()


def test_an_attack_that_finds_no_memory_is_left_out(leaky):
    attacks = {"wide": Wide(), "loss": ThresholdAttack()}
    report = audit(leaky, RECORDS, MEMBERS, attacks=attacks, **SETTINGS)
    (note,) = [note for note in report.notes if note.startswith("wide was left out")]
    assert note == "wide was left out: Memory did not suffice: 8.6 GB could not be had at once."
    assert list(report.scores) == ["loss"] and note in report.reference["left_out"]


def test_a_pool_that_finds_no_memory_leaves_the_other_attacks(safe, monkeypatch):
    monkeypatch.setattr(ShadowPool, "fit", fail)
    attacks = {"loss": ThresholdAttack(), "LiRA": LiRA()}
    report = audit(safe, RECORDS, MEMBERS, attacks=attacks, **SETTINGS)
    assert list(report.scores) == ["loss"] and report.settings["n_shadows"] == 0
    (note,) = [one for one in report.reference["left_out"] if one.startswith("LiRA was left out")]
    assert "No shadow models could be trained: memory did not suffice: 8.6 GB" in note
    # Nothing was found, and nothing could have been: that is not the absence of leakage.
    assert report.checks["shadow models"].is_error and report.evidence == "unknown"


def test_what_was_left_out_is_never_a_reason_to_release(safe, leaky, monkeypatch):
    given = {"attacks": {"loss": ThresholdAttack(), "LiRA": LiRA()}, "shadows": 8}
    assert recommend(safe, **given) == "release"
    monkeypatch.setattr(_run, "make_pool", fail)
    assert recommend(safe, **given) == "cannot be said"
    assert recommend(leaky, **given) != "release"


WITH_MODELS = {"LiRA": LiRA(), "RMIA": RMIA()}
OF_PEOPLE = Records(RECORDS.X, RECORDS.y, group_by=np.arange(N) // 2)[: N // 2]
INSIDE = MEMBERS[: N // 2]


@pytest.fixture(scope="module")
def evidence_of_people(safe):
    return audit(safe, OF_PEOPLE, INSIDE, attacks=WITH_MODELS, shadows=4, **SETTINGS).evidence


@pytest.mark.parametrize(
    ("place", "name"),
    [
        (_run, "play_pool"),
        (_examine, "measure_people"),
        # What a check that fails leaves open is in test_checks.py.
        pytest.param(DriftCheck, "ask", marks=pytest.mark.slow),
    ],
)
def test_a_part_that_fails_keeps_its_question_open(
    safe, evidence_of_people, monkeypatch, place, name
):
    assert evidence_of_people == "none"
    monkeypatch.setattr(place, name, fail)
    report = audit(safe, OF_PEOPLE, INSIDE, attacks=WITH_MODELS, shadows=4, **SETTINGS)
    assert report.evidence == "unknown"
    texts = " ".join(one.text for one in report.checks.values() if one.is_error)
    assert "emory did not suffice: 8.6 GB could not be had at once" in texts
    check_document(as_audit_document(report))


def test_groups_that_cannot_be_compared_change_no_verdict(leaky, monkeypatch):
    monkeypatch.setattr(_examine, "compare_groups", fail)
    report = audit(
        leaky, RECORDS, MEMBERS, attacks={"LiRA": LiRA()}, shadows=4, group="half", **SETTINGS
    )
    assert report.evidence == "leak" and report.disparity["scopes"] == []


def test_a_pool_that_cannot_grow_keeps_its_models(leaky, monkeypatch):
    grow = GrowingPool.grow

    def grow_to_four(self, size):
        return grow(self, size) if size <= 4 else fail()

    monkeypatch.setattr(GrowingPool, "grow", grow_to_four)
    settings = {"attacks": {"LiRA": LiRA()}, **SETTINGS}
    report = audit(leaky, RECORDS, MEMBERS, time_budget=1e6, **settings)
    assert report.growth["reason"] == "memory" and report.settings["n_shadows"] == 4
    assert "memory did not suffice for them" in report.summary(verbose=True)
    check_document(as_audit_document(report))


def test_answers_that_do_not_fit_memory_are_one_sentence(leaky, monkeypatch):
    monkeypatch.setattr(Records, "with_outputs", fail)
    with pytest.raises(ValueError, match=r"could not answer for all 800 records: memory did not"):
        audit(leaky, RECORDS, MEMBERS, **SETTINGS)


def test_a_default_attack_has_to_be_worth_its_time():
    cost = Cost(1e6, 10.0)
    assert why_costly("A", cost, AuditBudget(500e6, 9.0)) is None
    assert "about 10 s, longer than" in why_costly("A", cost, AuditBudget(500e6, 7.0))
    assert "about 10 s, longer than" in why_costly("A", cost, AuditBudget(500e6, None))
    assert "2.0 GB" in why_costly("A", Cost(2e9), AuditBudget(500e6, 1e9))


def test_attacks_that_are_left_out_take_none_of_the_time_that_is_told(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 60))
    records = Records(X, (X[:, 0] + rng.normal(size=300) > 0).astype(int))
    inside = np.arange(300) % 2
    victim = LogisticRegression().fit(X[inside == 1], records.y[inside == 1])
    told = []
    monkeypatch.setattr(_pace, "are_stages_shown", lambda: True)
    monkeypatch.setattr(_pace, "expect_stages", told.append)
    monkeypatch.setattr(RecoveredModelAttack, "expect_cost", lambda self, X: Cost(seconds=1e9))
    report = audit(victim, records, inside, shadows=4, file=False, random_state=0)
    assert any("RecoveredModelAttack was left out" in note for note in report.notes)
    assert told
    for stages in told:
        assert "AnalyticLiRA" in stages[ALONE] and "RecoveredModelAttack" not in stages[ALONE]


class SlowAttack(BaseAttack):
    """Says that it takes an hour, and takes no time."""

    def __init__(self, victim=None):
        self.victim = victim

    def _needs(self):
        return Needs(frozenset({"proba"}))

    def expect_cost(self, X):
        return Cost(0.0, 3600.0)

    def _fit(self, records, membership):
        pass

    def _score_samples(self, records):
        return np.arange(len(records), dtype=float)

    def _natural_offset(self, records):
        return 0.0


def test_an_attack_that_is_asked_for_by_name_runs_however_long_it_takes(leaky):
    attacks = {"slow": SlowAttack(), "LiRA": LiRA()}
    report = audit(leaky, RECORDS, MEMBERS, shadows=4, attacks=attacks, **SETTINGS)
    assert "slow" in report.scores


def test_an_attack_that_cannot_tell_its_cost_is_not_left_out_for_it(safe, monkeypatch):
    monkeypatch.setattr(AnalyticLiRA, "expect_cost", fail)
    report = audit(safe, RECORDS, MEMBERS, shadows=4, **SETTINGS)
    assert "AnalyticLiRA" in report.scores


def test_max_bytes_is_what_file_and_attacks_without_shadow_models_may_hold():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 40))
    y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
    records, inside = Records(X, y), np.arange(300) % 2 == 1
    model = LogisticRegression().fit(X[inside], y[inside])
    settings = {"shadows": 4, "random_state": 0}
    report = audit(model, records, inside, **settings, max_bytes=20_000)
    (note,) = [note for note in report.notes if note.startswith("AnalyticLiRA was left out")]
    assert "are allowed" in note and "max_bytes" in note
    assert report.file.attack is None or report.file.attack.max_bytes == 20_000
    # What a user names is refused by the same limit.
    named = {"AnalyticLiRA": AnalyticLiRA(), "loss": ThresholdAttack()}
    settings |= {"attacks": named}
    report = audit(model, records, inside, **settings, max_bytes=1e9)
    assert "AnalyticLiRA" in report.scores and report.file.attack.max_bytes == 1e9
    settings |= {"file": False}
    report = audit(model, records, inside, **settings, max_bytes=20_000)
    assert any("AnalyticLiRA was not fitted" in note for note in report.notes)
    for wrong in (0, -1, "much", None):
        with pytest.raises((ValueError, TypeError), match="max_bytes must be"):
            audit(model, records, inside, max_bytes=wrong)


def test_a_large_table_may_be_read_where_max_bytes_allows_it():
    cost = Cost(3e9, 0.0, "a matrix")
    assert "max_bytes" in why_costly("AnalyticLiRA", cost, AuditBudget(5e8, None))
    assert why_costly("AnalyticLiRA", cost, AuditBudget(4e9, None)) is None


def test_an_attack_with_shadow_models_may_take_three_times_their_training_and_30_seconds():
    budget = AuditBudget(1e9, 10.0)
    assert why_long("stack", Cost(seconds=60.0, what="much"), budget) is None
    assert why_long("stack", Cost(seconds=1e9, what="much"), AuditBudget(1e9, None)) is None
    assert why_long("stack", Cost(seconds=61.0, what="5 records"), budget) == (
        "it would take about 61 s for 5 records, and 60 s are allowed, three times the training of "
        "all shadow models and 30 s; attacks={'stack': stack()} runs it"
    )


def test_what_a_check_costs_ends_where_it_draws_a_sample_itself():
    few, many = (
        expect_check(BaselineCheck(), TableSize(n, 10 * n, 80 * n)) for n in (20_000, 40_000)
    )
    assert few.seconds == pytest.approx(many.seconds) and few.n_bytes == pytest.approx(many.n_bytes)
    few, many = (expect_check(PermutationCheck(), TableSize(n)) for n in (200_000, 400_000))
    assert few.n_bytes == many.n_bytes and many.seconds > 1.9 * few.seconds


@pytest.fixture(scope="module")
def sampled():
    """An audit with its usual budget, and one whose parts may take next to no time."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5))
    y = (X[:, 0] + rng.normal(size=400) > 0).astype(int)
    inside = rng.permutation(400) % 2
    records, members = Records(X, y), inside == 1
    tree = DecisionTreeClassifier(random_state=0).fit(X[members], y[members])
    settings = {"shadows": 4, "file": False, "random_state": 0}
    usual = audit(tree, records, inside, **settings)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"_FEWEST_ASKED": 200, "_LOOPS": 0.0, "_SECONDS": 1e-3}.items():
            patch.setattr(_budget, name, value)
        return usual, audit(tree, records, inside, **settings)


@pytest.mark.parametrize("name", ["permuted membership", "duplicates"])
def test_a_check_above_its_budget_reads_a_sample_and_says_so(sampled, name):
    usual, found = (report.checks[name] for report in sampled)
    assert found.status == usual.status and "drawn at random" not in usual.text
    assert found.text.endswith("It read 200 of 400 records, drawn at random.")
    assert [report.evidence for report in sampled] == ["leak", "leak"]


def test_a_check_that_draws_its_own_sample_is_asked_of_all(sampled):
    usual, found = (report.checks["blind baseline"] for report in sampled)
    assert found.text == usual.text


def test_the_stack_above_its_budget_is_left_out_with_size_and_switch(sampled):
    usual, found = sampled
    assert "StackedAttack" in usual.scores and "StackedAttack" not in found.scores
    (note,) = [note for note in found.notes if note.startswith("StackedAttack was left out")]
    assert "similar records of 400 records of 5 columns" in note
    assert note.endswith("attacks={'StackedAttack': StackedAttack()} runs it.")
