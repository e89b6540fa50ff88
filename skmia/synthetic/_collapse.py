"""Test whether a generator has lost a rare class."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from .._core.groups import number_groups
from .._core.label_maps import match_each_label
from .._core.matrix import check_class_column
from .._core.numbers import show
from .._core.types import ArrayLike
from ..metrics import clopper_pearson


class RareClassRate(NamedTuple):
    """Shares of a rare class among real and among synthetic rows.

    Attributes
    ----------
    label : object
        Label of the rare class.
    real : float
        Its share of the real rows.
    synthetic : float
        Its share of the synthetic rows; far below the real share where the generator has
        collapsed to common classes.
    low, high : float
        Confidence limits of the synthetic share, for the generator rather than these rows.
    """

    label: object
    real: float
    synthetic: float
    low: float
    high: float


def rare_class_rate(
    y: ArrayLike, y_synthetic: ArrayLike, *, label: Any = None, confidence_level: float = 0.95
) -> RareClassRate:
    """Compare the share of a rare class among synthetic rows with its share among real rows.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Classes of real rows. Missing classes are refused.
    y_synthetic : array-like of shape (n_synthetic,)
        Classes of synthetic rows. A label of another type is the class with its value: "1" and
        1.0 are 1.
    label : object, default=None
        Label of the class. If None, the rarest class of `y`, the first in order among equals.
    confidence_level : float, default=0.95
        Confidence level of the interval (Clopper-Pearson), in (0, 1).

    Returns
    -------
    rate : RareClassRate

    Raises
    ------
    ValueError
        If rows are missing, no real row has the label, or no synthetic row has a class of `y`.

    See Also
    --------
    DPWassersteinGAN : Generator with differential privacy.

    Examples
    --------
    >>> from skmia.synthetic import rare_class_rate
    >>> rate = rare_class_rate([0, 0, 0, 1], [0] * 98 + [1] * 2)
    >>> int(rate.label), rate.real, rate.synthetic, round(rate.high, 3)
    (1, 0.25, 0.02, 0.07)
    """
    classes, rows = _read_classes(y, "y")
    if label is None:
        label = classes[np.bincount(rows).argmin()]
    elif not _is_single(label) or pd.isna(label) or not _equals(classes, label).any():
        raise ValueError(f"label must be a class of y; got {show(label)}.")
    found, made = _read_classes(y_synthetic, "y_synthetic")
    known = _find_classes(classes, found)
    if (known < 0).all():
        raise ValueError(
            f"y_synthetic must hold classes of y, such as {show(classes.tolist()[0])}; got "
            f"{show(found.tolist()[0])}."
        )
    place = int(_equals(classes, label).argmax())
    count, n = int((known[made] == place).sum()), len(made)
    low, high = clopper_pearson(count, n, confidence_level=confidence_level)
    share = float((rows == place).mean())
    return RareClassRate(label, share, count / n, float(low), float(high))


def _read_classes(values, name):
    """Return the classes, of one type, and the place of the one of each row."""
    values = check_class_column(values, name)
    if len(values) == 0:
        raise ValueError(f"{name} must hold at least 1 row; got 0.")
    # None is missing.
    return number_groups(values, len(values), name, "with one class for all of them")


def _find_classes(classes, labels):
    """Return the place of the class that each label is, or has the value of, or -1."""
    classes, labels = classes.tolist(), labels.tolist()
    places = {name: place for place, name in enumerate(classes)}
    pairs = match_each_label([label for label in labels if label not in places], classes)
    return np.array([places.get(pairs.get(label, label), -1) for label in labels])


def _is_single(label):
    return isinstance(label, str | bytes) or not np.iterable(label)


def _equals(values, label):
    # Comparing a tuple with a number of numpy would compare the parts.
    is_tuple = isinstance(label, tuple)
    # Numbers of numpy cannot be compared with decimals, Python's can.
    values, label = values.tolist(), label.item() if isinstance(label, np.generic) else label
    return np.array([isinstance(v, tuple) == is_tuple and bool(v == label) for v in values])
