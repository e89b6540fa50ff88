"""A leak that is larger than the difference between the sides is a leak, and a shift is none."""

import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from skmia import Records, audit
from skmia.attacks import LiRA, ThresholdAttack
from skmia.disclosure import load_policy
from skmia.report import _budget, recommend_release
from skmia.report._document import as_audit_document, check_document
from skmia.report._evidence import list_leaks

pytestmark = pytest.mark.usefixtures("sharp_baseline")
N = 400


def draw(seed, shift=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 5))
    X[:, 0] += shift
    return X, (X[:, 0] + 0.7 * X[:, 1] + rng.normal(size=N) > 0).astype(int)


TRAIN, OTHERS, HELD_OUT = draw(0), draw(1), draw(2, shift=0.5)
RECORDS, MEMBERSHIP = Records.from_sides(TRAIN, HELD_OUT)
FOREST = RandomForestClassifier(5, min_samples_leaf=2, random_state=0)


def run(model, file=False, attacks=None):
    attacks = attacks or {"loss": ThresholdAttack(), "LiRA": LiRA()}
    settings = {"shadows": 4, "fprs": [0.05, 0.01], "random_state": 0}
    return audit(model, RECORDS, MEMBERSHIP, attacks=attacks, file=file, **settings)


@pytest.fixture(scope="module")
def leaking(sharp_baseline):
    return run(FOREST.fit(*TRAIN), file=True)


def test_a_leak_beyond_a_small_shift_is_a_leak(leaking):
    assert leaking.checks["blind baseline"].is_warning
    for way, name in (
        (leaking.service, "beyond the shift"),
        (leaking.file, "beyond the shift, of the file"),
    ):
        excess = leaking.checks[name].finding
        assert 0 < excess.low < excess.estimate
        assert way.evidence == "leak"
        assert f"of 100 times, and at least {100 * excess.low:.1f}." in way.verdict
        # The level is the one of what training adds.
        assert way.level.numbers["auc"]["low"] == pytest.approx(min(0.5 + excess.low, 1))


def test_its_texts_say_both_numbers_and_its_document_is_read(leaking):
    told = " ".join(leaking.summary().split())
    assert "The model leaks beyond the difference between the sides." in told
    assert "If the model has not seen the member, it does so" in told
    document = json.loads(json.dumps(as_audit_document(leaking)))
    checked = check_document(document)
    assert checked["evidence"] == "leak" and checked["file"]["evidence"] == "leak"
    forged = [
        check | {"finding": None} if check["name"] == "beyond the shift" else check
        for check in document["checks"]
    ]
    with pytest.raises(ValueError, match="evidence"):
        check_document(document | {"checks": forged})


@pytest.mark.parametrize("release", ["service", "file"])
def test_a_policy_does_not_release_it(leaking, release):
    # With limits of the AUC alone, which is known: above the limit, and below one of everything.
    for limit, result in ((0.6, "do not release"), (1.0, "cannot be said")):
        bare = {"required": {}, "structure": {}, "requires_attacks": {release: ()}}
        policy = replace(load_policy("research"), limits={release: {"auc": limit}}, **bare)
        found = recommend_release(leaking, FOREST, RECORDS, policy=policy, release=release)
        assert found.result == result
    assert "differ without the model" in found.reasons[0]


# Trees, which learn their rows, and in slow tests a line, which does not.
MODELS = [FOREST, pytest.param(LogisticRegression(), marks=pytest.mark.slow)]


@pytest.mark.slow  # the attacks of the next test even find something
@pytest.mark.parametrize("model", [FOREST, LogisticRegression()])
def test_a_shift_without_training_on_the_members_is_no_leak(model):
    report = run(model.fit(*OTHERS))
    assert report.evidence == "shift"
    check = report.checks.get("beyond the shift")
    assert check is None or check.finding.low < 0


@pytest.mark.parametrize("model", MODELS)
def test_what_an_attack_finds_of_a_shift_is_no_leak(model):
    # Labels of the others are noisier, so the attacks tell the sides apart, though the model was
    # trained on neither.
    def draw_noisy(seed, scale):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(N, 5))
        margin = X @ [1.0, 0.7, -0.5, 0.0, 0.0] + scale * rng.normal(size=N)
        return X, (margin > 0).astype(int)

    sides = Records.from_sides(draw_noisy(0, 0.6), draw_noisy(2, 3.0))
    settings = {"shadows": 4, "fprs": [0.05], "random_state": 0, "file": False}
    attacks = {"loss": ThresholdAttack(), "LiRA": LiRA()}
    report = audit(clone(model).fit(*draw_noisy(1, 0.6)), *sides, attacks=attacks, **settings)
    assert list_leaks(report.grounds)["estimate"].max() > 0.6
    excess = report.checks["beyond the shift"].finding
    assert excess.low < 0 < excess.high and report.evidence == "shift"


def test_it_is_not_asked_where_the_sides_are_alike():
    sides = Records.from_sides(TRAIN, OTHERS)
    settings = {"attacks": {"LiRA": LiRA()}, "shadows": 4, "fprs": [0.05], "file": False}
    report = audit(FOREST.fit(*TRAIN), *sides, random_state=0, **settings)
    assert report.evidence == "leak" and "beyond the shift" not in report.checks


def test_what_would_take_too_long_is_not_measured_and_says_so(monkeypatch):
    monkeypatch.setattr(_budget, "_LOOPS", 0.0)
    monkeypatch.setattr(_budget, "_SECONDS", 1e-3)
    report = run(FOREST.fit(*TRAIN), file=True, attacks={"loss": ThresholdAttack()})
    for name in ("beyond the shift", "beyond the shift, of the file"):
        check = report.checks[name]
        assert check.status == "not run" and check.finding is None
        assert "takes about" in check.text and check.text.endswith("audit fewer records.")
    assert report.evidence == "shift"  # which may then be all that there is
