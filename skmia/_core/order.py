"""Check of whether given outputs are of the given kind, in the order of the given classes."""

import warnings

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.stats import binom

from .asking import unwrap

# Level of the test: low enough that a correct order hardly ever leads to a warning.
_LEVEL = 1e-4
# Rows of probabilities in half precision add to 1 up to this.
_ROUNDED = 0.01


def choose_order(outputs, y):
    """Find an order of the classes with which outputs fit the labels significantly better.

    The best order is found on half of the records. It is compared with the given order on the other
    half, by an exact test on the records that only one of the two orders predicts correctly.

    Parameters
    ----------
    outputs : Outputs
        Outputs for n records, with one column for each class.
    y : array-like of shape (n,)
        Task labels.

    Returns
    -------
    order : ndarray of shape (n_classes,) or None
        Class of each column; None if the given order fits as well, or a label is unknown.
    shares : tuple of float
        Shares of the records in the other half that are predicted correctly with this order and
        with the given one.
    """
    if outputs.kind not in ("proba", "logits", "decision") or len(outputs.classes) < 2:
        return None, ()
    try:
        label = outputs.label_index(y)
    except ValueError:  # unknown labels are reported by the code that reads them
        return None, ()
    guess = outputs.values.argmax(axis=1)
    # Ties are broken arbitrarily, and a constant prediction fits any order, so neither is evidence.
    told = (outputs.values == outputs.values.max(axis=1, keepdims=True)).sum(axis=1) == 1
    guess, label = guess[told], label[told]
    if len(np.unique(guess)) < 2:
        return None, ()
    half = np.random.default_rng(0).permutation(len(label)) % 2 == 0
    counts = np.zeros((len(outputs.classes),) * 2)
    np.add.at(counts, (guess[half], label[half]), 1)
    order = linear_sum_assignment(counts, maximize=True)[1]
    given, other = guess[~half] == label[~half], order[guess[~half]] == label[~half]
    n_better, n_worse = np.sum(other & ~given), np.sum(given & ~other)
    if binom.sf(n_better - 1, n_better + n_worse, 0.5) > _LEVEL:
        return None, ()
    return outputs.classes[order], (float(other.mean()), float(given.mean()))


def _add_to_one(values, kind):
    # One and the same answer to all records is no evidence.
    if kind != "logits" or values.shape[1] < 2 or (values == values[:1]).all():
        return False
    return bool(values.min() >= 0 and np.abs(values.sum(axis=1) - 1).max() < _ROUNDED)


def check_order(victim, outputs, y):
    """Warn if the classes given for a victim seem to be in another order than its columns."""
    # Only a CallableVictim is told its classes; a fitted model knows them.
    if y is not None and getattr(unwrap(victim), "classes_are_given", False):
        warn_of_given(outputs, y, stacklevel=4)


def warn_of_given(outputs, y, stacklevel=3):
    """Warn if logits are probabilities, or if the labels fit another order of columns better."""
    # A few rows are enough for almost all logits.
    if _add_to_one(outputs.values[:100], outputs.kind) and _add_to_one(outputs.values, "logits"):
        warnings.warn(
            "The logits of each record lie between 0 and 1 and add to 1, as probabilities do. If "
            'they are probabilities, say kind="proba"; their softmax is a wrong answer.',
            UserWarning,
            stacklevel=stacklevel,
        )
    order, shares = choose_order(outputs, y)
    if order is not None:
        warnings.warn(
            f"{100 * shares[0]:.0f}% of the labels are predicted if the columns of the answers "
            f"stand for the classes {order.tolist()}, and {100 * shares[1]:.0f}% if they stand for "
            f"{outputs.classes.tolist()} as given. Check the order of classes.",
            UserWarning,
            stacklevel=stacklevel,
        )
