"""Labels of a table that a model writes in another way: matched by value, mapped, or refused.

Values match by ``match_labels`` of ``_core/label_maps.py``.
"""

import shlex

import numpy as np
import pandas as pd

from .._core.escaping import join_names, visible
from .._core.label_maps import as_value, match_labels, try_maps
from .._core.text import compose_accents, fold_text, tell_percent
from ._options import CommandError

_MOST_NAMED = 8


def list_texts(model):
    """Return the classes of a model that are texts, of which "NA" is no missing label."""
    return [name for name in getattr(model, "classes_", ()) if isinstance(name, str)]


def say_matched(column, pairs):
    """Say that labels were taken for classes that are written in another way, or say nothing."""
    changed = [
        f"{label!r} as {name!r}"
        for label, name in pairs.items()
        if compose_accents(str(label)) != compose_accents(str(name))
        or isinstance(label, str) != isinstance(name, str)
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
        f"give {write_map(tried.pairs)}, with which the model is right on "
        f"{_compare_with_constant(tried)}"
    )


def propose_classes(labels, predicted, classes):
    """Return the words that name the classes of columns in the order that is right, or that ask."""
    tried = try_maps(labels, predicted, classes)
    if tried is None:
        return "--classes LABEL ... names the label of each column of its answers, in their order"
    order = sorted(tried.pairs, key=lambda label: tried.pairs[label])
    return (
        f"give --classes {shlex.join(map(str, order))}, with which the model is right on "
        f"{_compare_with_constant(tried)}"
    )


def _compare_with_constant(tried):
    """Return on how many training rows the model is right, beside a constant prediction."""
    return (
        f"{tell_percent(tried.accuracy)} of the rows that it was trained on (the most frequent "
        f"class on {tell_percent(tried.constant)})"
    )


def show_labels(names, most=_MOST_NAMED):
    return join_names([f"'{visible(name)}'" for name in names], most)


def split_pairs(pairs, labels, names=None):
    """Return the name of each label; where several signs can be the one between them, as they are.

    As in '<=50K.=<=50K'.
    """
    found = {}
    for label, name in pairs.items():
        word = f"{label}={name}"
        ways = [(word[:k], word[k + 1 :]) for k, sign in enumerate(word) if sign == "="]
        ways = [way for way in ways if way[0] in labels and (names is None or way[1] in names)]
        label, name = ways[0] if len(ways) == 1 else (label, name)
        found[label] = name
    return found


def map_labels(column, pairs, classes):
    """Return the class of the model that each label of a table stands for."""
    if column.isna().any():
        raise CommandError(
            f"--target: column {column.name!r} has no value in {column.isna().sum()} of "
            f"{len(column)} rows"
        )
    texts, names = column.astype(str), {str(name): k for k, name in enumerate(classes)}
    pairs = split_pairs(pairs, {*texts}, names)
    unused = [label for label in pairs if not (texts == label).any()]
    if unused:
        raise CommandError(
            f"--label-map: column {column.name!r} has no label {unused[0]!r}; it has "
            f"{show_labels(sorted(texts.unique()))}"
        )
    positions = texts.map(lambda label: names.get(pairs.get(label, label)))
    unknown = positions.isna().to_numpy()
    if unknown.any():
        label = texts.iloc[unknown.argmax()]
        raise CommandError(
            f"--label-map: '{visible(pairs.get(label, label))}' is not a class of the model, which "
            f"has {show_labels(names)}"
        )
    return np.asarray(classes)[positions.to_numpy(dtype=int)]


def take_as_classes(column, y, classes):
    """Return the labels of a column as the classes that they are by value, with notes.

    None if some are none.
    """
    pairs = match_labels(np.unique(y).tolist(), classes.tolist())
    if pairs is None:
        return None
    if all(type(a) is type(b) and a == b for a, b in pairs.items()):
        return y, []
    return pd.Series(y).map(pairs).to_numpy().astype(classes.dtype), say_matched(column, pairs)


def check_known_labels(arguments, y, victim, ask, membership):
    """Return labels as the classes that they are by value; refuse others, with the map if known.

    A few labels that the model does not know stay as they are: the audit leaves them out.
    """
    classes = victim.classes_
    if isinstance(classes, list):  # of several outputs, which the audit refuses
        return y, []
    taken = take_as_classes(arguments.target, y, classes)
    if taken is not None:
        return taken
    labels = np.unique(y).tolist()
    few = _match_most(arguments, y, labels, classes, membership)
    if few is not None:
        return few
    unknown = [str(label) for label in labels if label not in set(classes.tolist())]
    known = f"its classes are {join_names(map(str, classes), _MOST_NAMED)}"
    cure, propose = "--label-map LABEL=CLASS names the class of a label", propose_map
    if getattr(victim, "classes_are_numbers", False):
        known, propose = "the file names no classes", propose_classes
        cure = "--classes LABEL ... names the label of each column of its answers"
    alike = _match_forms([label for label in labels if str(label) in unknown], classes.tolist())
    asked = ask() if alike is None else None
    if alike is not None and propose is propose_map:
        cure = f"give {write_map(alike)}"
    elif asked is not None:
        cure = propose(y[asked[0]], asked[1], classes)
    raise CommandError(
        f"--target: the model does not know {join_names(map(repr, unknown), _MOST_NAMED)}; "
        f"{known}. {cure[0].upper()}{cure[1:]}"
    )


def _match_forms(labels, classes):
    """Match labels with classes that differ from them by case and marks around them alone.

    As '>50K.' and '>50K'. None if one has no such class, or several.
    """
    forms = [_strip_label(name) for name in classes]
    pairs = {label: forms.count(_strip_label(label)) == 1 for label in labels}
    if not all(isinstance(label, str) for label in labels) or not all(pairs.values()):
        return None
    return {label: classes[forms.index(_strip_label(label))] for label in pairs}


def _strip_label(label):
    return fold_text(str(label).strip(" .,;:'\""))


def _match_most(arguments, y, labels, classes, membership):
    """Return labels as their classes where all but a few records have one.

    None if more have none.
    """
    if membership is None:
        return None
    found = {label: match_labels([label], classes.tolist()) for label in labels}
    pairs = {label: pair[label] for label, pair in found.items() if pair is not None}
    known = np.isin(np.arange(len(labels)), [k for k, one in enumerate(labels) if one in pairs])
    known = known[np.unique(y, return_inverse=True)[1]]
    is_clear = len(set(pairs.values())) == len(pairs)
    from ..report import explain_refusal  # an inspection does without the report of audits

    if not known.any() or not is_clear or explain_refusal(known, y, membership) is not None:
        return None
    if all(type(a) is type(b) and a == b for a, b in pairs.items()):
        return y, []
    others = {label for label in labels if label not in pairs}
    if classes.dtype.kind not in "OU":  # of numbers; no text is one
        others = {label: as_value(label) for label in others}
        if not all(isinstance(value, float) and value == int(value) for value in others.values()):
            return None
    else:
        others = {label: str(label) for label in others}
    taken = [pairs.get(label, others.get(label)) for label in y.tolist()]
    return np.array(taken).astype(classes.dtype), say_matched(arguments.target, pairs)
