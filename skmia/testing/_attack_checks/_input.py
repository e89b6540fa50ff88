"""Bad input is refused with a sentence; good input may come in several forms."""

from functools import partial

import numpy as np
import pandas as pd

from ..._core.records import Records
from ._helpers import (
    asks_fitted,
    choose_half,
    expect_close,
    expect_refusal,
    fitted,
    fresh,
    needs_membership,
)


def _expect_records_refused(attack, given, membership, error, word, what):
    """Refused by fit of a fresh copy and by scoring of a fitted attack."""
    bits = membership[: len(given)]
    expect_refusal(partial(fresh(attack).fit, given, bits), error, word, f"fit on {what}")
    for name in ("score_samples", "decision_function", "predict"):
        expect_refusal(partial(getattr(attack, name), given), error, word, f"{name} of {what}")


@asks_fitted
def check_attack_refuses_a_matrix(attack, records, membership):
    """A bare matrix is not a set of records."""
    bare = np.zeros((len(records), 2))
    what = "a matrix instead of Records"
    _expect_records_refused(attack, bare, membership, TypeError, "records", what)


@asks_fitted
def check_attack_refuses_no_labels(attack, records, membership):
    """Records without task labels are refused."""
    fields = {name: values for name, values in records.fields.items() if name != "outputs"}
    bare = Records(records.X, None, **fields)
    what = "records without task labels"
    _expect_records_refused(attack, bare, membership, ValueError, "label", what)


@asks_fitted
def check_attack_refuses_no_records(attack, records, membership):
    """An empty set of records is refused."""
    what = "no records"
    _expect_records_refused(attack, records[:0], membership, ValueError, "record", what)


def check_attack_refuses_bad_membership(attack, records, membership):
    """Membership of the wrong length, with other values than 0 and 1, or of one class."""
    n_records = len(records)
    bad = {
        "Membership that is one value short": membership[:-1],
        "Membership with two columns": np.column_stack([membership, membership]),
        "Membership of 1 and 2": membership + 1,
        "Membership of -1 and 1": 2 * membership - 1,
        "Membership with NaN": np.where(np.arange(n_records) == 0, np.nan, membership),
        "Membership of strings": np.where(membership == 1, "in", "out"),
        "Membership of members only": np.ones(n_records, dtype=int),
        "Membership of non-members only": np.zeros(n_records, dtype=int),
    }
    for what, bits in bad.items():
        expect_refusal(partial(fresh(attack).fit, records, bits), ValueError, "membership", what)


def check_attack_refuses_no_membership(attack, records, membership):
    """An attack that learns from known members and non-members says so where there are none."""
    if needs_membership(attack):
        fit = partial(fresh(attack).fit, records)
        expect_refusal(fit, ValueError, "membership", "fit without membership")


def check_attack_refuses_an_unknown_label(attack, records, membership):
    """A label that the victim does not know is refused, unless the attack reads no labels."""
    known = np.unique(records.y)
    if known.dtype.kind == "f":
        return  # every real number may be the label of a regressor
    unknown = "no such label" if known.dtype.kind in "OU" else known[-1] + 1
    half = np.isin(np.arange(len(records)), choose_half(membership))
    attack, rest = fitted(attack, records[half], membership[half]), records[~half]
    changed = Records(rest.X, [unknown] * len(rest), **rest.fields)
    try:
        scores = attack.score_samples(changed)
    except ValueError:
        scoring = partial(attack.score_samples, changed)
        expect_refusal(scoring, ValueError, "record", "An unknown task label")
        return
    claim = "An unknown task label must be refused, or labels must not matter at all"
    expect_close(scores, attack.score_samples(rest), claim)


@asks_fitted
def check_attack_membership_forms(attack, records, membership):
    """Bits may be integers, booleans, floats, a list or a Series."""
    expected, few = attack, records[:5]  # the advantage reads the others
    scores, advantage = expected.score_samples(few), expected.score(records, membership)
    members = membership == 1
    forms = [members, members.astype(float), membership.astype(np.uint8), membership.tolist()]
    index = [f"bit {k}" for k in range(len(members))]  # as of no table
    for bits in [*forms, members.tolist(), pd.Series(members, index=index)]:
        own = fitted(attack, records, bits)
        claim = f"Membership as {type(bits).__name__} must give the same {{}}"
        expect_close(own.offset_, expected.offset_, claim.format("offset_"))
        expect_close(own.score_samples(few), scores, claim.format("scores"))
        expect_close(own.score(records, bits), advantage, claim.format("advantage"))
