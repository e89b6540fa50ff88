"""Checks of what the numbers of an attack mean, on an attack whose numbers are known."""

from types import SimpleNamespace as NS

import numpy as np
import pytest
from by_hand import expect_answers, tell_refusal
from defaults import compare_defaults_of
from numpy import array, inf, nan

from skmia import Outputs, Records
from skmia.testing._attack_checks import _declared, _helpers, _predictions

RECORDS = Records(np.arange(6.0).reshape(-1, 1), np.zeros(6))
# At the threshold 4, two of three members are told, and no other: the best that there is.
MEMBERSHIP, OFFSET = array([0, 1, 0, 0, 1, 1]), 4.0


def read(records):
    return records.X[:, 0]


def score_guesses(records, membership, sample_weight=None):
    guesses, inside = read(records) >= OFFSET, membership == 1
    weights = np.ones(len(records)) if sample_weight is None else sample_weight
    told = weights * guesses
    return told[inside].sum() / weights[inside].sum() - told[~inside].sum() / weights[~inside].sum()


def ask(name, **changed):
    """Return how a check refuses an attack of which some answers are changed; None if it passes."""
    usual = {
        "classes_": array([0, 1]),
        "offset_": OFFSET,
        "score_samples": read,
        "decision_function": lambda records: read(records) - OFFSET,
        "predict": lambda records: (read(records) >= OFFSET).astype(int),
        "score": score_guesses,
        "can_judge": lambda records: read(records) > 1,
        "predict_proba": lambda records: np.column_stack([5 - read(records), read(records)]) / 5,
    }
    attack = NS(**{key: value for key, value in (usual | changed).items() if value is not None})
    check = getattr(_predictions, f"check_attack_{name}")
    return tell_refusal(lambda: check(attack, RECORDS, MEMBERSHIP))


def of_proba(change):
    """Ask about probabilities of membership that are changed, which sum to one."""

    def predict_proba(records):
        member = change(read(records))
        return np.column_stack([1 - member, member])

    return ask("predict_proba", predict_proba=predict_proba)


def alone(place, change):
    """Give a record another number where it is asked for alone."""
    return lambda records: read(records) + change * (len(records) == 1) * (read(records) == place)


def refuse(error, word="red", sentence="It is red."):
    def call():
        if error is not None:
            raise error(sentence)

    return tell_refusal(lambda: _helpers.expect_refusal(call, ValueError, word, "X"))


def convert(values, kind, wanted):
    answers = Outputs(array(values), None if kind == "value" else ["a", "b"], kind)
    found = _declared._convert_answers(answers, wanted)
    return found and (found.kind, found.values)


AMONG = "A record alone must have the {} that it has among others"
ROWS = [
    *(
        (lambda name=name: ask(name), None)
        for name in (
            "classes",
            "scores_are_finite",
            "can_judge",
            "decision_function",
            "predict",
            "score_is_advantage",
            "offset_is_best",
            "predict_proba",
            "permutation",
            "one_record",
            "subset",
        )
    ),
    (lambda: ask("classes", classes_=array([1, 0])), "classes_ must be [0, 1]; got [1 0]."),
    (
        lambda: ask("scores_are_finite", score_samples=lambda records: records.X),
        "score_samples must return 6 floats; got shape (6, 1).",
    ),
    (
        lambda: ask("scores_are_finite", score_samples=lambda records: read(records).astype(int)),
        "score_samples must return 6 floats; got shape (6,).",
    ),
    (
        lambda: ask(
            "scores_are_finite", score_samples=lambda records: array([nan, inf, *"1234"], float)
        ),
        "Scores must be finite; 2 of 6 are not.",
    ),
    (lambda: ask("scores_are_finite", offset_=inf), "offset_ must be a finite number; got inf."),
    (
        lambda: ask("scores_are_finite", offset_=array([1.0]))[:31],
        "offset_ must be a finite number",
    ),
    (lambda: ask("can_judge", can_judge=None), None),
    (
        lambda: ask("can_judge", can_judge=lambda records: read(records)[1:] > 1),
        "can_judge must return 6 booleans; got shape (5,) and dtype bool.",
    ),
    (
        lambda: ask("can_judge", can_judge=read),
        "can_judge must return 6 booleans; got shape (6,) and dtype float64.",
    ),
    (
        lambda: ask("can_judge", can_judge=lambda records: read(records) > len(records) / 2),
        "can_judge must not depend on the other records that are asked about.",
    ),
    (
        lambda: ask("decision_function", decision_function=read),
        "decision_function must be score_samples - offset_; 4 of 6 values differ, first at "
        "position 2: 2.0 instead of -2.0.",
    ),
    (
        lambda: ask("predict", predict=lambda records: (read(records) >= OFFSET)[1:])[:50],
        "predict must return one of [0 1] per record; got [",
    ),
    (
        lambda: ask("predict", predict=lambda records: 2 * (read(records) >= OFFSET) - 1)[:50],
        "predict must return one of [0 1] per record; got [",
    ),
    (
        lambda: ask("predict", predict=lambda records: 1 * (read(records) > OFFSET)),
        "predict must be 1 where score_samples >= offset_ and the attack can judge, else 0; it "
        "differs for 1 of 6 records.",
    ),
    (
        lambda: ask("predict", can_judge=lambda records: read(records) < OFFSET),
        "predict must be 1 where score_samples >= offset_ and the attack can judge, else 0; it "
        "differs for 2 of 6 records.",
    ),
    (
        lambda: ask("decision_function", can_judge=lambda records: read(records) < OFFSET),
        "decision_function must be below 0 for records that the attack cannot judge.",
    ),
    (
        lambda: ask("score_is_advantage", score=lambda *given, **more: score_guesses(*given))[:40],
        "score must be the membership advantage T",
    ),
    (
        lambda: ask("score_is_advantage", score=lambda X, y, **more: 0.5).partition(";")[0],
        "score must be the membership advantage TPR - FPR of predict",
    ),
    (
        lambda: ask("offset_is_best", score=lambda X, y: 0.5).partition(";")[0],
        "With membership, offset_ must be the threshold of the highest balanced accuracy",
    ),
    (lambda: ask("offset_is_best", score=lambda X, y: 0.7) is None, False),
    (lambda: ask("predict_proba", predict_proba=None), None),
    (
        lambda: ask("predict_proba", predict_proba=read),
        "predict_proba must have one column per class; got the shape (1,) instead of (2,).",
    ),
    (
        lambda: ask("predict_proba", predict_proba=lambda X: np.full((6, 2), 0.25))[:28],
        "Probabilities must sum to 1;",
    ),
    (lambda: of_proba(lambda x: x - 1), "Probabilities must not be negative."),
    (lambda: of_proba(lambda x: x * 0), None),
    (
        lambda: of_proba(lambda x: 0.5 - 0.01 * x),
        "The probability of membership must not fall where the score rises.",
    ),
    (lambda: of_proba(lambda x: 0.5 - 1e-8 * x), None),
    (
        lambda: ask("permutation", score_samples=lambda records: np.arange(float(len(records))))[
            :57
        ],
        "The scores of permuted records must be the permuted score",
    ),
    # Of at most five records.
    (
        lambda: ask("one_record", score_samples=alone(4, 1.0)).partition(";")[0],
        AMONG.format("score"),
    ),
    (lambda: ask("one_record", score_samples=alone(5, 1.0)), None),
    (
        lambda: ask("one_record", predict=lambda records: 1 * (alone(3, 1.0)(records) >= OFFSET)),
        f"{AMONG.format('guess')}; record 3 has another.",
    ),
    # At the threshold itself either guess is right.
    (
        lambda: ask("one_record", predict=lambda records: 1 * (alone(4, -1.0)(records) >= OFFSET)),
        None,
    ),
    (
        lambda: ask("subset", score_samples=lambda records: read(records) + (len(records) == 3))[
            :57
        ],
        "Some of the records must have the scores that they have a",
    ),
    # Answers as those of another kind, as far as they say enough.
    (lambda: convert([[0.25, 0.75]], "proba", "proba"), ("proba", [[0.25, 0.75]])),
    (lambda: convert([[0.25, 0.75]], "proba", "label"), ("label", ["b"])),
    (lambda: convert([[0.25, 0.75]], "proba", "decision"), ("decision", np.log([[0.25, 0.75]]))),
    (
        lambda: convert([[0.0, np.log(3)]], "logits", "decision"),
        ("decision", np.log([[0.25, 0.75]])),
    ),
    (lambda: convert([[3.0, 1.0]], "decision", "label"), ("label", ["a"])),
    (lambda: convert(["b"], "label", "decision"), None),
    (lambda: convert([0.5], "value", "label"), None),
    (lambda: convert([0.5], "value", "decision"), None),
    # What checks share.
    (lambda: refuse(ValueError, "X_public", "X_public is None."), None),
    (lambda: refuse(ValueError), None),
    (lambda: refuse(None), "X must raise ValueError; nothing was raised."),
    (lambda: refuse(TypeError), "X must raise ValueError; got TypeError: It is red."),
    (
        lambda: refuse(ValueError, "blue")[:58],
        "X must be refused with a sentence that mentions 'blue'; go",
    ),
    (lambda: refuse(ValueError, sentence="It is red")[:20], "X must be refused wi"),
    (lambda: refuse(ValueError, sentence="It is\nred.")[:20], "X must be refused wi"),
    (lambda: refuse(ValueError, sentence="Red.")[:20], "X must be refused wi"),
    (lambda: refuse(ValueError, sentence="It is RED."), None),
    (lambda: _helpers.choose_half(array([1, 0, 1, 0, 0, 1])), [1, 4, 0, 5]),
    (
        lambda: tell_refusal(lambda: _helpers.expect_close([1.0, 2.0, 5.0], [1.0, 2.1, 6.0], "A")),
        "A; 2 of 3 values differ, first at position 1: 2.0 instead of 2.1.",
    ),
    (lambda: _helpers.expect_close([1e3, 1e-7], [1e3 + 9e-3, 0.0], "A"), None),
    (lambda: _helpers.expect_close([1e3], [1e3 + 9e-2], "A", relative=1e-4), None),
]


def test_answers_by_hand():
    expect_answers(ROWS)


@pytest.mark.parametrize("needs, ways", [(True, 1), (False, 2)])
def test_an_attack_that_needs_no_membership_is_fitted_in_both_ways(needs, ways):
    tags = NS(target_tags=NS(required=needs))
    attack = NS(__sklearn_tags__=lambda: tags)
    assert _helpers.ways_to_fit(attack, MEMBERSHIP)[0] is MEMBERSHIP
    assert len(_helpers.ways_to_fit(attack, MEMBERSHIP)) == ways
    assert (_helpers.ways_to_fit(attack, MEMBERSHIP)[-1] is None) == (not needs)


def test_defaults_are_those_of_the_docstrings():
    from skmia import testing

    found, n_compared = compare_defaults_of(testing)
    assert not found
    assert n_compared >= 7
