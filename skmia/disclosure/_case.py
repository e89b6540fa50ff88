"""What is checked: a model with its answers to members and non-members."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from .._core.asking import unwrap
from .._core.checks import check_finite_vector
from .._core.groups import number_groups
from .._core.numbers import check_count, show
from .._core.validation import check_membership, check_records, query
from ..victims import find_model, has_file
from ._result import choose_thresholds
from ._rules import RuleBook, load_rules

# Digits that a float64 has at most.
_MOST_DECIMALS = 17


def check_decimals(decimals):
    """Refuse what is neither a number of decimals of answers nor None."""
    if decimals is not None:
        check_count(decimals, "decimals", 0, _MOST_DECIMALS)


def check_model(model):
    """Refuse what cannot be checked."""
    name = type(unwrap(model)).__name__
    if not hasattr(model, "predict"):
        raise TypeError(
            f"model must be a fitted classifier or regressor with a method predict; got {name}."
        )
    try:
        check_is_fitted(unwrap(model))
    except NotFittedError:
        raise NotFittedError(f"model must be fitted; this {name} is not.") from None
    n_outputs = getattr(find_model(model)[0], "n_outputs_", 1)
    if not hasattr(unwrap(model), "coefs_") and n_outputs > 1:
        raise ValueError(
            f"model must have one output; this {name} has {n_outputs}. Check a model of each."
        )


def check_provenance(provenance):
    """Return what a second person needs as a dictionary."""
    if provenance is not None and not isinstance(provenance, Mapping):
        raise TypeError(f"provenance must be a mapping of texts; got {show(provenance)}.")
    provenance = dict(provenance or {})
    for name, value in provenance.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise TypeError(
                f"provenance must be a mapping of texts; got {show(value)} for {show(name)}."
            )
    return provenance


# Kinds of outputs with a probability of the label, and all in which a share is at stake.
_PROBABILITIES = ("proba", "logits")


class Answers(NamedTuple):
    """Answers to some records."""

    columns: np.ndarray  # (n, n_columns): numbers that are released, as the model gives them
    confidence: np.ndarray  # (n,): higher if the answer fits the label better
    # (n,): one minus the probability of the label, or 1 for a wrong class; None for regressors.
    loss: np.ndarray | None
    labels: np.ndarray  # (n,): number of the class of each record; 0 for regressors
    n_classes: int  # number of classes; 0 for regressors
    has_probabilities: bool  # whether the columns are the probabilities of the classes
    signal: str  # what the confidence is

    def take(self, rows):
        """Return the answers to some of the records."""
        parts = (self.columns, self.confidence, self.loss, self.labels)
        taken = [None if part is None else part[rows] for part in parts]
        return Answers(*taken, *self[4:])


def round_answers(answers, decimals):
    """Return the columns of answers, rounded to the decimals that are released."""
    return answers.columns if decimals is None else np.round(answers.columns, decimals)


def read_answers(outputs, y):
    """Return the answers in some outputs."""
    confidence, loss, signal = _measure(outputs, y)
    columns = _list_columns(outputs)
    labels, n_classes = _number_labels(outputs, y)
    known = outputs.kind in _PROBABILITIES
    return Answers(columns, confidence, loss, labels, n_classes, known, signal)


def _list_columns(outputs):
    if outputs.kind == "label":
        return pd.factorize(outputs.values)[0][:, None]
    values = np.exp(outputs.log_proba()) if outputs.kind == "logits" else outputs.values
    return np.reshape(np.asarray(values, dtype=np.float64), (len(outputs), -1))


def _measure(outputs, y):
    if outputs.kind in _PROBABILITIES:
        own = outputs.label_index(y)[:, None]
        values = np.exp(outputs.log_proba()) if outputs.kind == "logits" else outputs.values
        sure = np.take_along_axis(values, own, axis=1)[:, 0].astype(np.float64)
        return sure, 1 - sure, "probability of the label"
    if outputs.kind == "log_odds":
        return outputs.values.astype(np.float64), 1 - expit(outputs.values), "log odds of the label"
    if outputs.kind == "value":
        return -np.abs(outputs.values - y.astype(np.float64)), None, "minus the absolute error"
    wrong = 1.0 - outputs.is_correct(y)
    if outputs.kind == "label":
        return 1 - wrong, wrong, "whether the class is right"
    return outputs.margin(y), wrong, "margin of the label"


def _number_labels(outputs, y):
    if outputs.kind == "value":
        return np.zeros(len(y), dtype=np.int64), 0
    if outputs.classes is None:
        classes, labels = np.unique(y, return_inverse=True)
        return labels, len(classes)
    return outputs.label_index(y), len(outputs.classes)


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
    """Check the parameters of :func:`structural_checks` and query the model."""
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
