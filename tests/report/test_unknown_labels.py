"""Records of classes that the model does not know, in audits in Python."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from skmia import Outputs, Records, ShadowPool, audit
from skmia.attacks import LiRA, ThresholdAttack
from skmia.metrics import auc_interval
from skmia.report import as_audit_document, recommend_release
from skmia.report._unknown_labels import explain_refusal, find_unknown_labels

# No check of the table decides what is asked here.
pytestmark = pytest.mark.usefixtures("attacks_alone")

N_CLASSES, N_EACH = 60, 6
ATTACKS = {"loss": ThresholdAttack(), "LiRA": LiRA()}


def draw_rare_classes(seed, as_text=True):
    """Sixty classes of six records, a random half of which are members."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(N_CLASSES), N_EACH)
    X = rng.normal(size=(N_CLASSES, 8))[y] + rng.normal(size=(len(y), 8))
    inside = rng.permutation(len(y)) < len(y) // 2
    return X, np.array([f"c{label}" for label in y]) if as_text else y, inside


@pytest.fixture(scope="module")
def table():
    X, y, inside = draw_rare_classes(14)
    lost = sorted(set(y) - set(y[inside]))
    assert len(lost) == 1 and set(y) == set(y[~inside])  # as the tests below need it
    return X, y, inside, np.isin(y, lost)


@pytest.fixture(scope="module")
def report(table):
    X, y, inside, _ = table
    model = GaussianNB().fit(X[inside], y[inside])
    settings = {"attacks": ATTACKS, "shadows": 4, "random_state": 0, "file": False}
    return audit(model, Records(X, y), inside, **settings)


def test_records_of_unknown_classes_are_left_out_counted_and_said(table, report):
    _, y, inside, is_lost = table
    n = int(is_lost.sum())
    assert report.data["n_records"] == len(y) - n == len(report.membership)
    assert report.data["n_members"] == inside.sum()
    counts = {"unknown_members": 0, "unknown_nonmembers": n, "unmatched_members": 0}
    assert report.data["unknown_classes"] == counts
    place = int(is_lost.argmax())
    first = f"first {str(y[place])!r} at position {place}"
    note = (
        f"{n} of 180 non-members have a label that the model does not know ({first}) and were left "
        "out."
    )
    assert note in report.notes
    short = " ".join(report.summary().split())
    assert note in short
    assert f"{n} of 180 non-members have a label" in report.to_html()
    assert note in as_audit_document(report)["notes"]
    assert as_audit_document(report)["data"]["unknown_classes"] == counts


def test_positions_are_those_of_the_table(table, report):
    _, _, inside, is_lost = table
    np.testing.assert_array_equal(report.record_ids, np.flatnonzero(~is_lost))
    np.testing.assert_array_equal(report.membership, inside[report.record_ids])
    for row in as_audit_document(report)["exposed"]:
        assert inside[row["record"]] and not is_lost[row["record"]]
        assert row["position"] == row["record"]


def test_values_are_those_of_the_table_that_was_given(table, report):
    pytest.importorskip("jinja2")
    n = len(table[1])
    page = report.to_html(values=pd.DataFrame({"number": [f"number {k}" for k in range(n)]}))
    for row in as_audit_document(report)["exposed"]:
        assert f"number {row['record']}<" in page
    with pytest.raises(ValueError, match=f"a row for each of {n} records; got {n - 6}"):
        report.to_html(values=pd.DataFrame({"number": range(n - 6)}))


def test_names_of_records_are_kept(table):
    X, y, inside, is_lost = table
    names = np.array([f"person {k}" for k in range(len(y))])
    model = GaussianNB().fit(X[inside], y[inside])
    attacks = {"loss": ThresholdAttack()}
    settings = {"attacks": attacks, "random_state": 0, "file": False}
    found = audit(model, Records(X, y, record_id=names), inside, **settings)
    np.testing.assert_array_equal(found.record_ids, names[~is_lost])


def test_the_audit_is_that_of_the_records_that_are_kept(table, report):
    X, y, inside, is_lost = table
    model = GaussianNB().fit(X[inside], y[inside])
    kept = ~is_lost
    settings = {"attacks": ATTACKS, "shadows": 4, "random_state": 0, "file": False}
    same = audit(model, Records(X[kept], y[kept]), inside[kept], **settings)
    for name, scores in same.scores.items():
        np.testing.assert_array_equal(report.scores[name], scores)
    assert "unknown_classes" not in same.data


def test_stored_answers_lack_a_class(table):
    X, y, inside, is_lost = table
    model = GaussianNB().fit(X[inside], y[inside])
    outputs = Outputs(model.predict_proba(X), classes=model.classes_)
    settings = {"attacks": {"loss": ThresholdAttack()}, "random_state": 0}
    found = audit(None, Records(X, y, outputs=outputs), inside, **settings)
    assert found.data["unknown_classes"]["unknown_nonmembers"] == is_lost.sum()
    both = {"train": Records(X[inside], y[inside], outputs=outputs[inside])}
    both["held_out"] = Records(X[~inside], y[~inside], outputs=outputs[~inside])
    sides = audit(None, **both, **settings)
    assert sides.data == found.data
    places = np.concatenate([np.flatnonzero(inside), np.flatnonzero(~inside)])
    np.testing.assert_array_equal(np.sort(places[sides.record_ids]), found.record_ids)


def test_a_policy_takes_all_records(table, report):
    X, y, inside, _ = table
    model = GaussianNB().fit(X[inside], y[inside])
    for fields in ({}, {"record_id": np.arange(len(y)) // 2}):  # names that records share
        found = recommend_release(report, model, Records(X, y, **fields), policy="research")
        assert found.policy.name == "research"
    with pytest.raises(ValueError, match="records must be the"):
        recommend_release(report, model, Records(X[:99], y[:99]), policy="research")


def test_a_pool_of_all_records_is_taken(table):
    X, y, inside, _ = table
    model = GaussianNB().fit(X[inside], y[inside])
    records = Records(X, y)
    pool = ShadowPool(GaussianNB(), n_estimators=4, random_state=0).fit(records)
    settings = {"attacks": {"LiRA": LiRA()}, "random_state": 0, "file": False}
    found = audit(model, records, inside, shadows=pool, **settings)
    assert np.isfinite(found.scores["LiRA"]).all() and len(found.scores["LiRA"]) == 354


def test_members_with_unknown_labels_are_left_out_and_doubted(table):
    X, y, inside, _ = table
    y = y.astype(object)
    first = np.flatnonzero(inside)[3]
    model = GaussianNB().fit(X[inside], y[inside])
    y[first] = "typo"
    settings = {"attacks": {"loss": ThresholdAttack()}, "random_state": 0, "file": False}
    found = audit(model, Records(X, y), inside, **settings)
    assert found.data["unknown_classes"]["unknown_members"] == 1
    note = "1 of 180 members has a label that the model does not know (first 'typo' at position "
    (told,) = [one for one in found.notes if "180 members" in one]
    assert told.startswith(f"{note}{first}) and was left out.")
    assert "knows the labels of its training records" in told


@pytest.mark.slow  # how labels are compared does not depend on the attacks, and is tested below
def test_labels_are_numbers():
    X, y, inside = draw_rare_classes(14, as_text=False)
    model = GaussianNB().fit(X[inside], y[inside])
    settings = {"attacks": {"LiRA": LiRA()}, "shadows": 4, "random_state": 0, "file": False}
    sides = {"train": (X[inside], y[inside]), "held_out": (X[~inside], y[~inside])}
    found = audit(model, **sides, **settings)
    assert found.data["unknown_classes"]["unknown_nonmembers"] == 6
    assert list(found.scores) == ["LiRA"]


def refuse(y, inside, match):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(len(y), 3))
    known = np.isin(y, [0, 1])
    model = DecisionTreeClassifier().fit(X[known & inside], y[known & inside])
    with pytest.raises(ValueError, match=match):
        audit(model, Records(X, y), inside, random_state=0)


def test_more_than_a_tenth_of_a_side_is_refused_with_the_cure():
    inside = np.arange(400) % 2 == 0
    y = np.arange(400) // 2 % 2
    others = y.copy()
    others[np.flatnonzero(~inside)[:30]] = 7
    match = "30 of 400 records have a label .* 30 of 200 non-members, .* chance .* Give the labels"
    refuse(others, inside, match)
    members = y.copy()
    members[np.flatnonzero(inside)[:21]] = 7
    refuse(members, inside, "They are 21 of 200 members, and no more than a tenth of a side is")
    every = y.copy()
    every[~inside] += 5
    refuse(every, inside, "All non-members have such a label")


def test_what_chance_explains_is_left_out_however_many_it_is():
    # Of classes of two records a quarter has no member, which is half of the records of such a
    # class that are not members.
    rng = np.random.default_rng(0)
    y, inside = np.repeat(np.arange(500), 2), rng.permutation(1000) < 500
    known = np.isin(y, y[inside])
    assert 0.4 < (~known & ~inside).sum() / 500 < 0.6
    assert explain_refusal(known, y, inside) is None
    # Two classes of which one has no member are no chance.
    y, inside = np.repeat([0, 1], [800, 200]), np.arange(1000) < 500
    assert "chance" in explain_refusal(y == 0, y, inside)


def test_members_of_classes_that_only_they_have_leave_as_well():
    y = np.array([0, 0, 0, 0, 1, 1, 2, 2] * 20 + [3, 3, 4, 4])
    inside = np.arange(len(y)) % 2 == 0
    inside[-4:] = [True, True, False, False]  # 3 is of members alone, and 4 of the others
    outputs = Outputs(np.full((len(y), 4), 0.25), classes=[0, 1, 2, 3])
    found = find_unknown_labels(outputs, y, inside)
    np.testing.assert_array_equal(found.fitted, [160, 161])
    np.testing.assert_array_equal(found.kept, np.arange(160))
    assert found.count() == {
        "unknown_members": 0,
        "unknown_nonmembers": 2,
        "unmatched_members": 2,
    }
    assert found.describe()[-1].endswith(
        "and so were 2 members of classes that no non-member has: the label alone would tell the "
        "sides apart."
    )
    # Classes of members alone stay if nothing is lost on the other side.
    assert find_unknown_labels(outputs[:-2], y[:-2], inside[:-2]) is None


def test_a_file_is_attacked_with_all_rows_that_it_was_trained_on():
    X, y, inside = draw_rare_classes(5)  # two classes have members alone
    model = GaussianNB().fit(X[inside], y[inside])
    settings = {"attacks": {"loss": ThresholdAttack()}, "random_state": 0}
    found = audit(model, Records(X, y), inside, **settings)
    assert found.data["unknown_classes"]["unmatched_members"] == 12
    assert found.file.facts["n_rows"] == 180 and found.file.facts["outsiders"] == 0
    assert found.checks["training rows"].status == "passed"
    assert len(found.file.scores) == found.data["n_records"]


def test_leaving_out_gives_no_leak_by_the_label():
    # A label that is rare is hard for each model, and nothing else tells anything. Half of the
    # records are of classes of two.
    beyond = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        y = np.concatenate([np.repeat(np.arange(100), 2), np.full(200, 100)])
        inside = rng.permutation(400) < 200
        outputs = Outputs(np.ones((400, 101)) / 101, classes=np.arange(101))
        classes = np.unique(y[inside])
        outputs = Outputs(np.ones((400, len(classes))) / len(classes), classes=classes)
        found = find_unknown_labels(outputs, y, inside)
        is_rare = (y[found.kept] < 100).astype(float)
        interval = auc_interval(inside[found.kept], is_rare + 1e-9 * rng.random(len(is_rare)))
        beyond += not interval.low <= 0.5 <= interval.high
    assert binomtest(beyond, 200, 0.05, alternative="greater").pvalue > 0.001


def test_a_model_that_was_trained_elsewhere_does_not_leak():
    # It lacks classes, which are left out on both sides.
    beyond = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X, y, inside = draw_rare_classes(seed)
        elsewhere = rng.permutation(len(y))[:230]
        model = clone(GaussianNB()).fit(X[elsewhere] + rng.normal(size=(230, 8)), y[elsewhere])
        outputs = Outputs(model.predict_proba(X), classes=model.classes_)
        found = find_unknown_labels(outputs, y, inside)
        if found is None:
            continue
        kept = Records(X, y)[found.kept].detached()
        attack = LiRA(model, shadows=ShadowPool(GaussianNB(), n_estimators=4, random_state=seed))
        scores = attack.fit(kept).score_samples(kept)
        interval = auc_interval(inside[found.kept], scores)
        beyond += not interval.low <= 0.5 <= interval.high
    assert binomtest(beyond, 8, 0.05, alternative="greater").pvalue > 0.001


def test_classes_of_one_record_break_nothing():
    # A model without the record does not know its class.
    rng = np.random.default_rng(0)
    y = np.concatenate([np.repeat(np.arange(3), 40), np.arange(3, 13)])
    X = rng.normal(size=(13, 4))[y] + rng.normal(size=(len(y), 4))
    inside = np.concatenate([np.arange(120) % 2 == 0, np.ones(10, dtype=bool)])
    model = GaussianNB().fit(X[inside], y[inside])
    settings = {"attacks": ATTACKS, "shadows": 4, "random_state": 0, "file": False}
    found = audit(model, Records(X, y), inside, **settings)
    assert "unknown_classes" not in found.data
    assert all(np.isfinite(scores).all() for scores in found.scores.values())
    # Nobody is shown as found who is not: the classes are in the file, and so are their records.
    single = np.flatnonzero(y >= 3)
    assert (found.scores["LiRA"][single] > np.median(found.scores["LiRA"])).all()


def test_an_attack_alone_refuses_unknown_labels(table):
    X, y, inside, _ = table
    model = GaussianNB().fit(X[inside], y[inside])
    with pytest.raises(ValueError, match="6 of 360 records have a label that the model does not"):
        LiRA(model, shadows=4).fit(Records(X, y)).score_samples(Records(X, y))


def test_labels_are_known_by_value():
    outputs = Outputs([[0.5, 0.5]] * 3, classes=[1, 2])
    np.testing.assert_array_equal(outputs.knows_labels([1, 3, 2]), [True, False, True])
    np.testing.assert_array_equal(outputs.knows_labels(["a", "b", "c"]), [False] * 3)
