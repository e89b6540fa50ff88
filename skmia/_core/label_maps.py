"""Labels against the classes of a model: equal by value, or by a map that was tried."""

from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.stats import binom

from .text import fold_text

_BITS = {"true": 1.0, "false": 0.0}


def as_value(label):
    """Return what a label is worth, however it is written: a number, or text without spaces.

    Numbers of more digits than a float keeps are texts, so that each is another one.
    """
    if isinstance(label, bool | np.bool_):
        return float(label)
    text = str(label).strip()
    try:
        number = float(text)
    except ValueError:
        return _BITS.get(text.lower(), text)
    return number if abs(number) < 2**53 else text


# How labels are compared: by value, and if that is not enough, without case.
_WORTHS = as_value, lambda label: fold_text(str(as_value(label)))


def match_labels(labels, classes):
    """Return the class of each label by its value, or None unless each has one of its own.

    Texts that differ in their case alone are the same, if no other text is.
    """
    for worth in _WORTHS:
        known = _group_by_worth(classes, worth)
        found = [known.get(worth(label), []) for label in labels]
        if all(len(names) == 1 for names in found):
            pairs = {label: names[0] for label, names in zip(labels, found, strict=True)}
            if len({worth(label) for label in labels}) == len(labels):
                return pairs
    return None


def match_each_label(labels, classes):
    """Return the class that each label has by its value alone, for those that have one."""
    pairs = {}
    for worth in _WORTHS:
        known = _group_by_worth(classes, worth)
        for label in labels:
            names = known.get(worth(label), [])
            if label not in pairs and len(names) == 1:
                pairs[label] = names[0]
    return pairs


def _group_by_worth(classes, worth):
    known = {}
    for name in classes:
        known.setdefault(worth(name), []).append(name)
    return known


def sort_by_value(labels):
    """Sort labels as their kind is sorted: numbers as numbers, text as text."""
    values = [as_value(label) for label in labels]
    if all(isinstance(value, float) for value in values):
        return sorted(labels, key=as_value)
    return sorted(labels, key=str)


class TriedMap(NamedTuple):
    """A class for each label, and how often it is right on rows that did not choose it."""

    pairs: dict
    accuracy: float
    constant: float  # share of the most frequent label


# How unlikely the constant answer must be to be right as often, and by how much less it must be.
_LEVEL = 1e-4
_FAR = 0.1


def try_maps(labels, predicted, classes):
    """Try orders of the classes on the training rows; return the map that is right, or None.

    labels, predicted (n,): of the table, and of the model. The order that fits best is found on
    half of the rows and tried on the others, beside those in which labels are usually numbered.
    """
    names = list(dict.fromkeys(labels.tolist()))
    classes = list(classes)
    if len(names) != len(classes) or len(names) < 2:
        return None
    row, guess = _find_name_places(labels, names), _find_name_places(predicted, classes)
    row, guess = row[guess >= 0], guess[guess >= 0]
    half = np.random.default_rng(0).permutation(len(row)) % 2 == 0
    counts = np.zeros((len(names), len(classes)))
    np.add.at(counts, (row[half], guess[half]), 1)
    fitted = dict(zip(names, linear_sum_assignment(counts, maximize=True)[1].tolist(), strict=True))
    orders = [sort_by_value(names), sorted(names, key=str), names]
    maps = [{name: place for place, name in enumerate(order)} for order in orders] + [fitted]
    row, guess = row[~half], guess[~half]
    right = np.array([np.array([pairs[name] for name in names])[row] == guess for pairs in maps])
    # The first that is not clearly worse than the best: labels that are rare decide little.
    best = right.sum(axis=1).argmax()
    chosen = next(k for k in range(len(maps)) if not _is_above(right[best], right[k]))
    n_right, n = int(right[chosen].sum()), len(row)
    constant = float(np.bincount(row).max() / n) if n else 1.0
    is_far = n and n_right / n > constant + _FAR and binom.sf(n_right - 1, n, constant) < _LEVEL
    if not is_far:
        return None
    pairs = {name: classes[maps[chosen][name]] for name in sort_by_value(names)}
    return TriedMap(pairs, n_right / n, constant)


def _find_name_places(values, names):
    """Return the place of each value among names, -1 if it is none of them."""
    places = {name: place for place, name in enumerate(names)}
    return np.array([places.get(value, -1) for value in values.tolist()], dtype=np.intp)


def _is_above(right, other):
    """Return whether an order is right more often than another one by more than chance."""
    n_better, n_worse = int((right & ~other).sum()), int((other & ~right).sum())
    return bool(binom.sf(n_better - 1, n_better + n_worse, 0.5) < 0.05) if n_better else False
