"""No sentence of a text, page, sheet or gate contradicts a number, in audits that are drawn."""

import re
from functools import cache

import pytest
from contradictions import list_contradictions, list_strange_numbers, tell
from random_audits import draw_report

from skmia.report import AuditReport, check_document

BLOCK = 3


@cache
def tell_drawn(seed):
    """What is told of an audit that is drawn, for the tests that share the first ones."""
    report = draw_report(seed)
    assert isinstance(report, AuditReport)
    return tell(report)


def check_block(first):
    for seed in range(first, first + BLOCK):
        assert not list_contradictions(tell_drawn(seed)), seed


@pytest.mark.parametrize("block", [0])
def test_nothing_that_is_told_contradicts_a_number(block):
    pytest.importorskip("jinja2")
    check_block(BLOCK * block)


def test_an_auc_near_zero_is_told_without_an_exponent():
    pytest.importorskip("jinja2")
    told = tell(draw_report(8564))
    assert "AUC 0.0000 by LossAttack" in told.page and not list_contradictions(told)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(1, 130))
def test_nothing_contradicts_a_number_in_some_hundred_audits(block):
    pytest.importorskip("jinja2")
    check_block(BLOCK * block)


@pytest.mark.parametrize(
    "seed",
    # In the one of 1563 the upper end of a rate is nearly 1.
    [
        *range(1000, 1003),
        1563,
        *(pytest.param(k, marks=pytest.mark.slow) for k in range(1003, 1030)),
    ],
)
def test_each_number_that_is_told_is_one_of_the_document(seed):
    pytest.importorskip("jinja2")
    told = tell(draw_report(seed))
    assert check_document(told.document) == told.document
    assert list_strange_numbers(told) == []


@pytest.mark.parametrize(
    "change",
    [
        lambda text: re.sub(r"(\d of 100)(?=\s)", r"\g<1>0", text, count=1),
        lambda text: text.replace("SLIGHT", "CLEAR").replace("slight", "clear"),
        lambda text: re.sub(r"(  service +all .*?\d\.\d{3} \[)0", r"\g<1>1", text),
    ],
)
def test_a_word_or_number_that_is_changed_is_found(change):
    pytest.importorskip("jinja2")
    for seed in range(40):
        told = tell_drawn(seed)
        changed = change(told.text)
        if changed != told.text:
            assert list_contradictions(told._replace(text=changed)), seed
            return
    raise AssertionError("no text was changed")
