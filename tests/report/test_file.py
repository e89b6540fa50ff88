"""What an audit says of the model as a file, beside what it says of its answers."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from skmia import Records, audit
from skmia.attacks import AnalyticLiRA, MomentsAttack, NodeEquationsAttack, ThresholdAttack
from skmia.cli._gate import judge, list_findings
from skmia.cli._options import parse_limit
from skmia.datasets import make_membership_problem
from skmia.defenses import strip_state
from skmia.metrics import auc_interval
from skmia.report import AuditReport, _file
from skmia.report._budget import AuditBudget
from skmia.report._document import check_document
from skmia.report._text import describe_reading, describe_sources
from skmia.victims import CallableVictim

pytestmark = pytest.mark.usefixtures("attacks_alone")

RECORDS, MEMBERSHIP = make_membership_problem(400, random_state=0)
MEMBERS = RECORDS[MEMBERSHIP == 1]
LOSS = {"threshold": ThresholdAttack()}
BOOSTED = HistGradientBoostingClassifier(max_iter=8, max_leaf_nodes=4, random_state=0)


def attack(model, records=RECORDS, membership=MEMBERSHIP, **settings):
    members = records[membership == 1]
    victim = model.fit(members.X, members.y)
    return audit(victim, records, membership, attacks=LOSS, random_state=0, **settings)


@pytest.fixture(scope="module")
def boosted():
    return attack(BOOSTED, fprs=[0.1])


def test_a_file_of_many_nodes_is_not_to_be_released(boosted):
    assert boosted.file.evidence == "leak"
    assert boosted.file.verdict.startswith("Do not release this file.")
    assert "Of 400 candidates, 200 were members" in boosted.file.verdict
    assert "trained on 200 rows, all of which are among them" in boosted.file.verdict
    auc = boosted.file.results.query("metric == 'auc' and scope == 'overall'")
    assert auc["estimate"].item() > boosted.results.query("metric == 'auc'")["estimate"].max()
    assert "As a service: " in boosted.summary(verbose=True)
    assert "As a file: Do not release this file." in boosted.summary(verbose=True)


def test_a_file_that_tells_nothing_gets_a_mild_verdict():
    report = attack(LogisticRegression(), *draw_two_classes(2000, 2), fprs=[0.1])
    assert report.file.evidence == "none"
    assert report.file.verdict.startswith("No leakage detected in the file.")


def test_a_weak_leak_is_called_weak():
    records, membership = make_membership_problem(2000, random_state=1)
    report = attack(
        DecisionTreeClassifier(min_samples_leaf=40, random_state=0), records, membership, fprs=[0.1]
    )
    assert report.file.evidence == "leak"
    assert report.file.verdict.startswith("The file leaks weakly.")


def test_rows_in_the_file_are_found_where_answers_leak_less():
    report = attack(KNeighborsClassifier(50), fprs=[0.1])
    assert report.file.evidence == "leak"
    assert [source["name"] for source in report.file.facts["sources"]] == ["stored values"]
    assert report.file.facts["changes"]


@pytest.mark.parametrize("n_rounds", [3, pytest.param(100, marks=pytest.mark.slow)])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_nothing_is_claimed_of_numbers_that_no_attack_reads(n_rounds):
    """A net may have learned nothing, or all: what its weights say of rows is not known."""
    report = attack(MLPClassifier((4,), max_iter=n_rounds, random_state=0), fprs=[0.1])
    facts = report.file.facts
    assert report.file.evidence == "unknown"
    assert "coefs_ of MLPClassifier (84 numbers)" in report.file.verdict
    assert facts["obstacle"].startswith("Not read: ") and facts["expected_auc"] is None
    assert report.file.verdict.endswith("Nothing was found in the rest of the file.")
    entry = {"place": "coefs_ of MLPClassifier", "size": 84, "part": None}
    assert entry in facts["ledger"]
    assert "Not read: " in report.summary(verbose=True) and "Not read: " in report.to_markdown()


def test_a_model_of_stochastic_gradients_never_ends_in_none():
    report = attack(SGDClassifier(loss="log_loss", random_state=0), fprs=[0.1])
    assert report.file.evidence == "unknown"
    assert "coef_ of SGDClassifier (20 numbers)" in report.file.facts["obstacle"]


def draw_two_classes(n, n_columns, seed=0):
    rng = np.random.default_rng([n, seed])
    y = rng.integers(2, size=n)
    X = rng.normal(size=(n, n_columns)) * (1 + 0.5 * y[:, None]) + 0.5 * y[:, None]
    return Records(X, y), (rng.permutation(n) < n // 2).astype(int)


@pytest.mark.parametrize(
    "model, n_sums, n",
    [
        pytest.param(GaussianNB(), 42, 3000, marks=pytest.mark.slow),
        (QuadraticDiscriminantAnalysis(), 132, 200),
        pytest.param(GaussianNB(), 42, 200, marks=pytest.mark.slow),
        pytest.param(QuadraticDiscriminantAnalysis(), 132, 3000, marks=pytest.mark.slow),
    ],
)
def test_a_file_of_sums_says_how_much_it_reveals(model, n_sums, n):
    report = attack(model, *draw_two_classes(n, 10), fprs=[0.1])
    file = report.file
    assert file.facts["obstacle"] in (None, _file.NO_CONTROL) and file.evidence == "leak"
    row = file.results.query("metric == 'auc' and scope == 'overall'").iloc[0]
    assert row["low"] <= file.facts["expected_auc"] <= row["high"]
    headline = "Do not release this file" if n == 200 else "The file leaks weakly"
    assert file.verdict.startswith(headline)
    assert f"Everything in the file that depends on the data was read: {n_sums} sums;" in (
        file.verdict
    )
    assert {one["part"] for one in file.facts["ledger"]} == {"moments"}


def test_a_file_ends_in_none_if_everything_in_it_was_read():
    report = attack(GaussianNB(), *draw_two_classes(1500, 1), fprs=[0.1])
    assert report.file.evidence == "none" and report.file.facts["obstacle"] is None
    assert report.file.verdict.startswith(
        "No leakage detected in the file. Everything in the file that depends on the data was "
        "read: 6 sums over 1,500 candidates. They rank a random member above a random non-member "
        "with probability 0.5"
    )
    assert f"(expected {report.file.facts['expected_auc']:.3f}; chance" in report.file.verdict
    document = json.loads(report.to_json())
    assert check_document(document) == document
    part = document["file"]["ledger"][0] | {"part": None}
    with pytest.raises(ValueError, match="numbers that no part reads"):
        check_document(document | {"file": document["file"] | {"ledger": [part]}})
    with pytest.raises(ValueError, match="file.expected_auc or file.ledger is missing"):
        check_document(document | {"file": document["file"] | {"expected_auc": None}})
    with pytest.raises(ValueError, match="'none', but its numbers say 'unknown'"):
        check_document(document | {"file": document["file"] | {"obstacle": "Not read: all."}})


def test_an_attack_that_is_weaker_than_it_states_is_an_obstacle(monkeypatch):
    """The positive control: a model of the same recipe, whose members are known."""
    score = MomentsAttack._score_samples

    def forget(self, records):
        return np.random.default_rng(0).permutation(score(self, records))

    monkeypatch.setattr(MomentsAttack, "_score_samples", forget)
    report = attack(GaussianNB(), *draw_two_classes(600, 10), fprs=[0.1])
    assert report.file.evidence == "unknown"
    assert report.file.facts["obstacle"].startswith("The attack is not as strong as it should be")


CASE = SimpleNamespace(
    records=RECORDS,
    queried=RECORDS,
    victim=GaussianNB(),
    seeds={"checks": 3, "attacks": 0},
    max_bytes="auto",
)


@pytest.mark.parametrize("end", ["low", "high"])
def test_the_control_is_as_strong_as_expected(end, monkeypatch):
    """Its members are a random half of the records, and its level is 99%."""
    inside = np.random.default_rng(3).permutation(400) < 200
    scores = inside + np.random.default_rng(0).normal(size=400)
    limit = getattr(auc_interval(inside.astype(int), scores, confidence_level=0.99), end)
    for inner, is_met in ((1e-6, True), (-1e-6, False)):
        expected = limit + (inner if end == "low" else -inner)
        fake = SimpleNamespace(score_samples=lambda records: scores, expected_auc_=expected)
        fake.fit = lambda records, fake=fake: fake
        monkeypatch.setattr(_file, "ReleasedModelAttack", lambda *given, fake=fake, **more: fake)
        monkeypatch.setattr(_file, "make_budget", lambda case: AuditBudget(1e9, None))
        assert (_file._control(CASE) is None) == is_met
    fake.expected_auc_ = None
    assert _file._control(CASE).endswith("expected is unknown.")


@pytest.mark.parametrize(
    ("part", "expected_auc", "control", "obstacle"),
    [
        ("moments", 0.6, None, None),
        ("moments", 0.6, "not needed", _file.NO_CONTROL),
        (None, 0.6, "not needed", "Not read: theta_ (2 numbers)."),
        (None, 0.6, None, "Not read: theta_ (2 numbers)."),
        ("moments", None, None, "It is not known how much moments should reveal."),
        ("moments", 0.6, "Too weak.", "Too weak."),
        (
            "moments",
            0.6,
            MemoryError("no room"),
            "A model of the same recipe could not be attacked: Memory did not suffice.",
        ),
    ],
)
def test_what_is_an_obstacle_to_no_finding(part, expected_auc, control, obstacle, monkeypatch):
    def answer(case):
        assert control != "not needed"
        if isinstance(control, Exception):
            raise control
        return control

    monkeypatch.setattr(_file, "_control", answer)
    ledger = pd.DataFrame([{"place": "theta_", "size": 2, "part": part}]).astype(object)
    parts = {"moments": SimpleNamespace(expected_auc_=expected_auc)}
    attack = SimpleNamespace(ledger_=ledger, expected_auc_=expected_auc, parts_=parts)
    monkeypatch.setattr(_file, "make_budget", lambda case: AuditBudget(1e9, 2.0))  # 36 seconds
    assert _file.find_obstacle(CASE, attack, control == "not needed", 18.0) == obstacle
    if obstacle in (None, "Too weak."):
        told = _file.find_obstacle(CASE, attack, False, 18.1)
        assert told.endswith("as long again as the attack on the file, 18 s.")


def test_what_was_not_read_has_a_line_of_its_own():
    ledger = [
        {"place": "theta_", "size": 4, "part": "moments"},
        {"place": "var_", "size": 3, "part": "moments"},
        {"place": "cache_", "size": 1, "part": None},
    ]
    unread, weak = "Not read: cache_ (1 number).", "The attack is not as strong as it should be."
    lines = ["Read by moments: 7 numbers.", unread]
    assert describe_reading({"ledger": ledger, "obstacle": unread}) == lines
    assert describe_reading({"ledger": ledger, "obstacle": weak}) == [*lines, weak]
    whole = describe_reading({"ledger": ledger[:2], "obstacle": None})
    assert len(whole) == 2 and whole[1].startswith("Everything that depends on the data was read")


def test_the_eight_strongest_of_many_parts_are_described():
    names = ("n_equations", "expected_auc", "n_exposed", "exposed_auc")
    sources = [
        {"name": "moments", "path": f"folds_[{k}]", "auc": auc, **dict.fromkeys(names)}
        for k, auc in enumerate([0.6, 0.51, *np.linspace(0.7, 0.9, 7), 0.52])
    ]
    lines = describe_sources({"sources": sources, "n_records": 400})
    assert [line.split("]")[0][-1] for line in lines[:8]] == ["0", *"2345678"]
    assert lines[8:] == ["2 more parts found less."]


def test_the_optimum_of_a_linear_model_is_read():
    report = attack(LogisticRegression(tol=1e-8, max_iter=1000), fprs=[0.1])
    assert report.file.evidence in ("leak", "none")  # 21 equations of 400 bits say little
    names = [source["name"] for source in report.file.facts["sources"]]
    assert names == ["conditions at the optimum", "stored values"]


def test_training_rows_that_are_not_audited_are_counted():
    some = np.flatnonzero(MEMBERSHIP)[50:]
    kept = np.sort(np.concatenate([some, np.flatnonzero(MEMBERSHIP == 0)]))
    victim = BOOSTED.fit(MEMBERS.X, MEMBERS.y)
    report = audit(victim, RECORDS[kept], MEMBERSHIP[kept], attacks=LOSS, random_state=0)
    assert report.file.facts["n_rows"] == 200
    assert report.file.facts["outsiders"] == pytest.approx(0.25)
    assert report.file.attack.outsiders == pytest.approx(0.25)
    assert "25% of which are not among them" in report.file.verdict


@pytest.mark.slow  # test_files_not_attacked.py reads what is told of such audits
def test_what_has_no_file_is_said_nothing_of():
    model = LogisticRegression().fit(MEMBERS.X, MEMBERS.y)
    service = CallableVictim(model.predict_proba, classes=[0, 1]).fit(MEMBERS.X, MEMBERS.y)
    assert audit(service, RECORDS, MEMBERSHIP, attacks=LOSS, random_state=0).file is None
    assert attack(LogisticRegression(), file=False).file is None


def test_an_attack_that_fails_leaves_the_audit_standing(monkeypatch):
    def fail(self, records, membership):
        raise MemoryError("no room")

    monkeypatch.setattr("skmia.attacks.ReleasedModelAttack._fit", fail)
    report = attack(BOOSTED, fprs=[0.1])
    assert report.evidence == "leak"
    assert report.file.evidence == "unknown"
    assert report.file.verdict.endswith("Memory did not suffice.")
    document = check_document(json.loads(report.to_json()))
    assert document["file"]["reason"] == "Memory did not suffice."


def test_a_swapped_coding_is_noticed_in_the_file():
    victim = BOOSTED.fit(MEMBERS.X, MEMBERS.y)
    report = audit(victim, RECORDS, 1 - MEMBERSHIP, attacks=LOSS, random_state=0)
    assert report.file.evidence == "reversed"


@pytest.mark.slow  # rows of groups of a file are read in test_every_number.py
def test_classes_and_groups_are_measured_too():
    grouped = Records(RECORDS.X, RECORDS.y, half=np.arange(400) % 2)
    report = attack(BOOSTED, grouped, group="half", fprs=[0.1])
    scopes = report.file.results.groupby("scope")["group"].nunique()
    assert scopes["half"] == 2 and scopes["overall"] == 1


def test_the_document_and_its_page_tell_of_the_file(boosted):
    document = json.loads(boosted.to_json())
    assert document == check_document(document)
    assert document["file"]["evidence"] == "leak"
    assert len(document["file"]["exposed"]) == 20
    pytest.importorskip("jinja2")
    page = boosted.to_html()
    assert "Do not release the file." in page
    assert "What the file stores <span>" in page


@pytest.mark.parametrize(
    "change, message",
    [
        ({"evidence": "none"}, "file.evidence is 'none', but its numbers say 'leak'"),
        ({"results": []}, "file must have results, or a reason"),
        ({"n_records": 399}, "file.n_records is not data.n_records"),
        ({"outsiders": 2}, "outsiders must be a number from 0 to 1"),
    ],
)
def test_forged_parts_on_the_file_are_refused(boosted, change, message):
    document = json.loads(boosted.to_json())
    with pytest.raises(ValueError, match=message):
        check_document(document | {"file": document["file"] | change})


def test_forged_words_are_replaced(boosted):
    document = json.loads(boosted.to_json())
    forged = document | {"file": document["file"] | {"verdict": "Safe to release."}}
    assert check_document(forged) == document


@pytest.mark.parametrize(
    "limit, service, file", [("auc=0.95", 0, 1), ("auc=1.0", 0, 0), ("auc=0.1", 1, 1)]
)
def test_the_gate_asks_for_the_way_of_release(boosted, limit, service, file):
    limits = [parse_limit(limit)]
    assert (
        judge(list_findings(boosted, limits))[0]
        == judge(list_findings(boosted, limits, "service"))[0]
        == service
    )
    assert judge(list_findings(boosted, limits, "file"))[0] == file


def test_the_gate_does_not_open_on_a_file_that_was_not_read():
    report = attack(GaussianNB(), file=False, fprs=[0.1])
    assert judge(list_findings(report, [], "file")) == (
        4,
        [
            "the model has no file at hand, or its file was not attacked; give the file of the "
            "model, or ask for --release service"
        ],
    )


def test_numbers_of_the_answers_do_not_depend_on_the_file(boosted):
    without = attack(BOOSTED, file=False, fprs=[0.1])
    assert isinstance(without, AuditReport)
    pd.testing.assert_frame_equal(without.results, boosted.results)
    assert without.verdict == boosted.verdict
    assert "As a" not in without.summary(verbose=True)


def test_rows_that_a_stripped_file_does_not_count_are_not_invented():
    with pytest.warns(UserWarning, match="leaf values"):
        victim = strip_state(BOOSTED.fit(MEMBERS.X, MEMBERS.y))
    report = audit(victim, RECORDS, MEMBERSHIP, attacks=LOSS, random_state=0)
    assert report.file.evidence == "leak"
    assert report.file.facts["n_rows"] is None
    assert "200 were members." in report.file.verdict


def test_attacks_in_closed_form_are_those_on_a_service():
    members = RECORDS[MEMBERSHIP == 1]
    victim = LogisticRegression().fit(members.X, members.y)
    attacks = {"AnalyticLiRA": AnalyticLiRA()}
    report = audit(victim, RECORDS, MEMBERSHIP, attacks=attacks, random_state=0)
    assert "\nAs a service: " in report.summary(verbose=True)


def test_attacks_that_read_more_than_answers_are_not_those_on_a_service():
    members = RECORDS[MEMBERSHIP == 1]
    attacks = {"nodes": NodeEquationsAttack()}
    victim = BOOSTED.fit(members.X, members.y)
    report = audit(victim, RECORDS, MEMBERSHIP, attacks=attacks, random_state=0)
    assert "As a service" not in report.summary(verbose=True)
    assert "By the attacks that were asked for: Leakage found." in report.summary(verbose=True)


def test_a_vocabulary_is_a_leak_of_the_file():
    rng = np.random.default_rng(0)
    chances = 1 / np.arange(1, 1001)
    words = rng.choice(1000, size=(120, 20), p=chances / chances.sum())
    texts = np.array([" ".join(f"w{word}" for word in row) for row in words], dtype=object)
    labels, membership = words[:, 0] % 2, (np.arange(120) < 60).astype(int)
    model = make_pipeline(CountVectorizer(), MultinomialNB()).fit(texts[:60], labels[:60])
    report = audit(model, Records(texts, labels), membership, attacks=LOSS, random_state=0)
    assert report.file.evidence == "leak"
    sources = {source["name"]: source for source in report.file.facts["sources"]}
    assert sources["stored values"]["auc"] > 0.95 and sources["moments"]["auc"] > 0.95
    source = sources["stored values"]
    assert source["hits"]["members"] > source["hits"]["nonmembers"]


def test_the_model_inside_that_tells_most_is_named():
    calibrated = CalibratedClassifierCV(DecisionTreeClassifier(random_state=0), cv=2)
    report = attack(calibrated, fprs=[0.1])
    assert report.file.evidence == "leak"
    assert report.file.facts["n_rows"] == MEMBERSHIP.sum()
    assert "Most is found in calibrated_classifiers_[" in report.file.verdict
    summary = " ".join(report.summary(verbose=True).split())
    assert "Node equations in calibrated_classifiers_[1].estimator (" in summary
