"""The answers that a service releases, and what they say about the label of a record."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import expit

# Kinds of outputs with a probability of the label, and all in which a share is at stake.
_PROBABILITIES = ("proba", "logits")


class Answers(NamedTuple):
    """Answers to some records.

    Attributes
    ----------
    columns : ndarray of shape (n, n_columns)
        Numbers that are released, as the model gives them.
    confidence : ndarray of shape (n,)
        Higher if the answer fits the label better.
    loss : ndarray of shape (n,) or None
        One minus the probability of the label, or 1 for a wrong class; None for regressors.
    labels : ndarray of shape (n,), dtype int
        Number of the class of each record; 0 for regressors.
    n_classes : int
        Number of classes; 0 for regressors.
    has_probabilities : bool
        Whether the columns are the probabilities of the classes.
    signal : str
        What the confidence is.
    """

    columns: np.ndarray
    confidence: np.ndarray
    loss: np.ndarray | None
    labels: np.ndarray
    n_classes: int
    has_probabilities: bool
    signal: str

    def take(self, rows):
        """Return the answers to some of the records."""
        parts = (self.columns, self.confidence, self.loss, self.labels)
        taken = [None if part is None else part[rows] for part in parts]
        return Answers(*taken, *self[4:])


def round_answers(answers, decimals):
    """Return the columns of answers, rounded to the decimals that are released."""
    return answers.columns if decimals is None else np.round(answers.columns, decimals)


def read_answers(outputs, y):
    """Return the answers in some outputs.

    Parameters
    ----------
    outputs : Outputs of n answers
    y : ndarray of shape (n,)
        Labels or targets.
    """
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
