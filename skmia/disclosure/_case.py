"""What is checked: a model with its answers to members and non-members."""

from typing import Any, NamedTuple

import numpy as np

from .._core.asking import unwrap
from .._core.checks import check_finite_vector
from .._core.groups import number_groups
from .._core.validation import check_membership, check_records, query
from ..victims.inputs import find_model
from ..victims.offers import has_file
from ._answers import read_answers
from ._rules import RuleBook, load_rules
from ._thresholds import choose_thresholds
from .given import check_decimals, check_model


class Case(NamedTuple):
    """A model and the records with which it is checked.

    Attributes
    ----------
    model : estimator
    records : Records of n records
    members, outsiders : ndarray of shape (n,), dtype bool
        Training records that count, and non-members.
    all_people : ndarray of shape (n,), dtype int, or None
        Person of each record; None if each record is one.
    answers : Answers to n records
    thresholds : dict of str to Threshold
    book : RuleBook
    """

    model: Any
    records: Any
    members: np.ndarray
    outsiders: np.ndarray
    all_people: np.ndarray | None
    answers: Any
    thresholds: dict
    book: RuleBook

    @property
    def name(self):
        """Name of the class of the model behind searches and steps."""
        if self.model is None:
            return "stored answers"
        found = find_model(self.model)[0]
        return type(unwrap(self.model) if found is None else found).__name__

    @property
    def has_file(self):
        """Whether the file of the model is at hand."""
        return self.model is not None and has_file(self.model)

    @property
    def training(self):
        """Records of the members."""
        return self.records if self.members.all() else self.records[self.members]

    @property
    def n_records(self):
        """Number of members."""
        return int(self.members.sum())

    @property
    def people(self):
        """Person of each member, from 0, or None."""
        if self.all_people is None:
            return None
        return np.unique(self.all_people[self.members], return_inverse=True)[1]

    @property
    def n_people(self):
        """Number of people among the members."""
        return self.n_records if self.all_people is None else int(self.people.max()) + 1


def open_case(model, records, membership, decimals, thresholds, rules, sample_weight):
    """Check the parameters of :func:`structural_checks` and query the model.

    Returns
    -------
    case : Case
    """
    records = check_records(records)
    thresholds = choose_thresholds(thresholds)
    book = rules if isinstance(rules, RuleBook) else load_rules(rules)
    check_decimals(decimals)
    n = len(records)
    is_member = np.ones(n, bool) if membership is None else check_membership(membership, n)
    used = _check_weights(sample_weight, n)
    if not (is_member & used).any():
        raise ValueError("sample_weight must be above 0 for some member; got 0 for all.")
    if model is not None:
        check_model(model)
    outputs = query(None if "outputs" in records.fields else model, records)
    people = records.fields.get("group_by")
    people = None if people is None else number_groups(people, n)[1]
    answers = read_answers(outputs, np.asarray(records.y))
    members = is_member & used
    return Case(model, records, members, ~is_member, people, answers, thresholds, book)


def _check_weights(sample_weight, n_records):
    if sample_weight is None:
        return np.ones(n_records, dtype=bool)
    weights = check_finite_vector(sample_weight, "sample_weight")
    if len(weights) != n_records or (weights < 0).any():
        raise ValueError(
            f"sample_weight must hold one number of 0 or more for each of {n_records} records; got "
            f"shape {weights.shape} and a smallest value of {weights.min(initial=np.inf):g}."
        )
    return weights > 0
