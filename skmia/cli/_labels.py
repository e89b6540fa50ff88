"""What the command says of labels that a model writes in another way, and the map it proposes."""

import shlex

import numpy as np

from .._core.escaping import join_names, visible
from .._core.label_maps import try_maps
from ._options import CommandError


def say_matched(column, pairs):
    """Say that labels were taken for classes that are written in another way, or say nothing."""
    changed = [
        f"{label!r} as {name!r}"
        for label, name in pairs.items()
        if str(label) != str(name) or isinstance(label, str) != isinstance(name, str)
    ]
    if not changed:
        return []
    return [f"Labels of {column!r} are read by their values: {join_names(changed, 5)}."]


def can_be_numbered(column, classes):
    """Return whether a column has as many labels as a model has classes, which are 0, 1, 2, ..."""
    labels = column.dropna().unique()
    return len(labels) == len(classes) and list(classes) == list(range(len(classes)))


def write_map(pairs):
    """Write the option that gives a map, as it is typed."""
    return (
        f"--label-map {' '.join(shlex.quote(f'{label}={name}') for label, name in pairs.items())}"
    )


def propose_map(labels, predicted, classes):
    """Return the words that name a map that is right on the training rows, or how one is given."""
    tried = try_maps(labels, predicted, classes)
    if tried is None:
        return (
            "--label-map LABEL=CLASS names the class of a label; in no order are they right on the "
            "training rows more often than the most frequent one"
        )
    return (
        f"give {write_map(tried.pairs)}, with which the model is right on {tried.accuracy:.0%} of "
        f"the rows that it was trained on (the most frequent class on {tried.constant:.0%})"
    )


def propose_classes(labels, predicted, classes):
    """Return the words that name the classes of columns in the order that is right, or that ask."""
    tried = try_maps(labels, predicted, classes)
    if tried is None:
        return "--classes LABEL ... names the label of each column of its answers, in their order"
    order = sorted(tried.pairs, key=lambda label: tried.pairs[label])
    return (
        f"give --classes {shlex.join(map(str, order))}, with which the model is right on "
        f"{tried.accuracy:.0%} of the rows that it was trained on (the most frequent class on "
        f"{tried.constant:.0%})"
    )


def show_labels(names, most=8):
    return join_names([f"'{visible(name)}'" for name in names], most)


def map_labels(column, pairs, classes):
    """Return the class of the model that each label of a table stands for."""
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
            f"{show_labels(sorted(texts.unique()))}"
        )
    names = {str(name): position for position, name in enumerate(classes)}
    positions = texts.map(lambda label: names.get(pairs.get(label, label)))
    unknown = positions.isna().to_numpy()
    if unknown.any():
        label = texts.iloc[unknown.argmax()]
        raise CommandError(
            f"--label-map: '{visible(pairs.get(label, label))}' is not a class of the model, which "
            f"has {show_labels(names)}"
        )
    return np.asarray(classes)[positions.to_numpy(dtype=int)]
