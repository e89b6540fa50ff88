"""Reports without an attack on a file show no row of a file, in whatever form."""

import json

import numpy as np
import pytest
from cells import slow_but
from sklearn.naive_bayes import GaussianNB

from skmia import Outputs, audit
from skmia.attacks import ThresholdAttack
from skmia.datasets import make_membership_problem
from skmia.memorization import (
    FunctionSequenceVictim,
    NGramModel,
    SequenceVictim,
    token_records,
)
from skmia.report import render_comparison
from skmia.report._screen import list_document_routes
from skmia.victims import CallableVictim

pytestmark = pytest.mark.usefixtures("attacks_alone")

RECORDS, MEMBERSHIP = make_membership_problem(200, random_state=0)
LOSS = {"loss": ThresholdAttack()}


def train(sequences, seed):
    return NGramModel(2, n_tokens=30).fit(sequences)


def make_text_audit(of):
    rng = np.random.default_rng(0)
    texts = [rng.integers(1, 30, rng.integers(8, 30)) for _ in range(200)]
    records = token_records(texts)
    own = records[MEMBERSHIP == 1].X
    victim = {
        "a model": SequenceVictim(train([row[row >= 0] for row in own], 0)),
        "a function": FunctionSequenceVictim(train).fit(own),
    }[of]
    return audit(victim, records, MEMBERSHIP, attacks=LOSS, random_state=0)


def make_table_audit(of):
    own = RECORDS[MEMBERSHIP == 1]
    model, settings, records = GaussianNB().fit(own.X, own.y), {}, RECORDS
    victim = model
    if of == "a service":
        victim = CallableVictim(model.predict_proba, model.classes_)
    elif of == "stored answers":
        proba = Outputs(model.predict_proba(RECORDS.X), model.classes_, "proba")
        records, victim = RECORDS.with_fields(outputs=proba), None
    else:
        settings = {"file": False}
    return audit(victim, records, MEMBERSHIP, attacks=LOSS, random_state=0, **settings)


@pytest.fixture(
    scope="module",
    params=slow_but(
        ["a model", "a function", "a service", "stored", "no file"],
        "a function",
        "stored",
        "no file",
    ),
)
def report(request):
    of = {"stored": "stored answers"}.get(request.param, request.param)
    return (make_text_audit if request.param in ("a model", "a function") else make_table_audit)(of)


def test_no_row_of_a_file_is_shown(report):
    assert report.file is None
    assert json.loads(report.to_json())["file"] is None
    text = report.summary()
    assert "as a file" not in text
    assert not any(line.split()[:1] == ["file"] for line in text.splitlines())
    assert "As a file" not in report.summary(verbose=True)
    page = report.to_html()
    assert "with the file" not in page.lower()
    assert "file 0." not in page
    document = json.loads(report.to_json())
    assert [route.way for route in list_document_routes(document)] == ["service"]
    both = render_comparison(document, document, ["before", "after"])
    assert "As a file" not in both and "with the file" not in both.lower()


def test_a_note_says_that_a_model_of_texts_has_no_attack_on_its_file():
    notes = make_text_audit("a model").notes
    assert any("stored numbers of the model were not attacked" in note for note in notes)
