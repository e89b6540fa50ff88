"""Labels of a table by the names that a model has for its classes."""

import numpy as np

from .._core.visible import visible
from ..report._text import join_names
from ._errors import CommandError

_MOST_SHOWN = 8


def parse_pair(text):
    """Read ``LABEL=CLASS``.

    Raises
    ------
    ValueError
        If the text does not have this form.
    """
    label, equals, name = text.rpartition("=")
    if not label or not equals or not name:
        raise ValueError(
            f"must be LABEL=CLASS, a label of the table and of the model; got {text!r}"
        )
    return label, name


def map_labels(column, pairs, classes):
    """Return the class of the model that each label of a table stands for.

    Parameters
    ----------
    column : Series of shape (n,)
        Labels of the table. Labels without a pair keep their name.
    pairs : dict of str to str
        Name of the class by the label.
    classes : ndarray of shape (n_classes,)
        Classes of the model.

    Returns
    -------
    y : ndarray of shape (n,)
        Labels, with values and dtype of the classes.

    Raises
    ------
    CommandError
        If a label is missing, a pair names no label of the table, or a label is no class.
    """
    if column.isna().any():
        raise CommandError(
            f"--target: column {column.name!r} has no value in {column.isna().sum()} of "
            f"{len(column)} rows"
        )
    texts = column.astype(str)
    unused = [label for label in pairs if not (texts == label).any()]
    if unused:
        raise CommandError(
            f"--label-map: column {column.name!r} has no label {unused[0]!r}; it has "
            f"{_show(sorted(texts.unique()))}"
        )
    names = {str(name): position for position, name in enumerate(classes)}
    positions = texts.map(lambda label: names.get(pairs.get(label, label)))
    unknown = positions.isna().to_numpy()
    if unknown.any():
        label = texts.iloc[unknown.argmax()]
        raise CommandError(
            f"--label-map: '{visible(pairs.get(label, label))}' is not a class of the model, which "
            f"has {_show(names)}"
        )
    return np.asarray(classes)[positions.to_numpy(dtype=int)]


def _show(names):
    return join_names([f"'{visible(name)}'" for name in names], _MOST_SHOWN)
