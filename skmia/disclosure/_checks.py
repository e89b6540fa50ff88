"""Each structural check, from numbers to a StructuralCheck."""

from dataclasses import replace

import numpy as np

from ._result import StructuralCheck
from ._thresholds import SOURCES

PASSED, FLAGGED, UNKNOWN, NONE = "passed", "flagged", "cannot be said", "not applicable"
_OF_GROUPS = "k", "class_disclosure", "small_cells"
_KINDS = {"service": "the same answer", "file": "the same leaves"}


def check_groups(sizes, answers, release, thresholds):
    """Check the groups of records with the same answer, or with the same leaves.

    Parameters
    ----------
    sizes : GroupSizes
    answers : Answers
    release : {"service", "file"}
    thresholds : dict of str to Threshold

    Returns
    -------
    checks : list of StructuralCheck
    """
    n_groups, kind = int(sizes.numbers.max()) + 1, _KINDS[release]
    least, source = thresholds["k"]
    small = sizes.sizes < least
    k = _make(
        ("k", release),
        (int(sizes.sizes.min()), least, int(small.sum())),
        f"{n_groups:,} groups of members with {kind}; the smallest has {sizes.sizes.min():,}, and "
        f"{small.sum():,} members are in one of fewer than {least:g}.",
        source,
    )
    if not answers.n_classes:
        return [k, *_list_undefined(release)]
    lacking = sizes.n_classes < answers.n_classes
    disclosure = _make(
        ("class_disclosure", release),
        (int(lacking.sum()), None, int(lacking.sum())),
        f"{lacking.sum():,} members are in a group in which some class has no member, so that the "
        "group rules it out.",
        SOURCES["class_disclosure"],
    )
    least, source = thresholds["small_cells"]
    cells = sizes.smallest_cells < least
    smallest = int(sizes.smallest_cells.min())
    rare = _make(
        ("small_cells", release),
        (smallest, least, int(cells.sum())),
        f"{cells.sum():,} members are in a group in which fewer than {least:g} share a class that "
        f"occurs; the fewest are {smallest:,}.",
        source,
    )
    return [k, disclosure, rare]


def _make(place, found, text, source):
    """A check that is flagged if it is about some members."""
    (name, release), (value, threshold, n_records) = place, found
    status = FLAGGED if n_records else PASSED
    return StructuralCheck(name, release, status, value, threshold, n_records, text, source)


def check_rounding(answers, released, decimals, has_file):
    """Check that the answers are rounded as stated."""
    status, source = PASSED, "the digits that are stated to be released"
    if decimals is None:
        status, text = NONE, "Answers are released with all digits."
    elif np.array_equal(answers.columns, released):
        text = f"All answers have at most {decimals} digits after the point."
    elif has_file:
        status = UNKNOWN
        text = (
            f"The model gives more than {decimals} digits after the point; whether the service "
            "rounds them was not seen. Check the service itself, or the model in a RoundingDefense."
        )
    else:
        status = FLAGGED
        text = f"The service gives more than {decimals} digits after the point."
    return StructuralCheck("rounded_answers", "service", status, None, None, None, text, source)


def check_groups_of_rows(sizes, answers, name, thresholds):
    """Say why a model without leaves has no groups of its own in its file.

    Parameters
    ----------
    sizes : GroupSizes
        Of groups of equal rows.
    answers : Answers
    name : str
        Name of the model.
    thresholds : dict of str to Threshold

    Returns
    -------
    checks : list of StructuralCheck
    """
    n_groups, smallest = int(sizes.numbers.max()) + 1, int(sizes.sizes.min())
    text = (
        f"{name} has no leaves that can be read, which would divide the members into groups. The "
        f"table has {n_groups:,} different rows, which says nothing of the model."
    )
    k, *others = (
        StructuralCheck(name, "file", UNKNOWN, None, None, None, text, source)
        for name, source in zip(_OF_GROUPS, _list_sources(thresholds), strict=True)
    )
    if not answers.n_classes:
        others = _list_undefined("file")
    return [replace(k, value=smallest), *others]


def _list_sources(thresholds):
    return [SOURCES.get(name) or thresholds[name].source for name in _OF_GROUPS]


def _list_undefined(release):
    """Checks of classes, of a regressor."""
    text = "Regression has no classes that a group could rule out."
    return [
        StructuralCheck(name, release, NONE, None, None, None, text, "no classes")
        for name in _OF_GROUPS[1:]
    ]


def check_leaves(leaves, name, may_have, thresholds):
    """Check the smallest leaf.

    Parameters
    ----------
    leaves : ndarray of shape (n,), dtype int, or None
        Smallest number of training records in a leaf of each member.
    name : str
        Name of the model.
    may_have : bool
        Whether a model whose leaves cannot be read may have some.
    thresholds : dict of str to Threshold

    Returns
    -------
    check : StructuralCheck
    """
    least, source = thresholds["smallest_leaf"]
    if leaves is None:
        status = UNKNOWN if may_have else NONE
        text = f"{name} {'may have leaves that cannot be read' if may_have else 'has no leaves'}."
        return StructuralCheck("smallest_leaf", "file", status, None, least, None, text, source)
    n_records, smallest = int((leaves < least).sum()), int(leaves.min())
    text = (
        f"{n_records:,} members are in a leaf of fewer than {least:g} training records; the "
        f"smallest has {smallest:,}."
    )
    return _make(("smallest_leaf", "file"), (smallest, least, n_records), text, source)


def check_freedom(count, n_members, effective, thresholds):
    """Check the residual degrees of freedom."""
    least, source = thresholds["residual_dof"]
    if count.n_parameters is None:
        return StructuralCheck(
            "residual_dof",
            "both",
            UNKNOWN,
            None,
            least,
            None,
            f"Cannot be said: {count.formula}.",
            source,
        )
    left = n_members - count.n_parameters
    text = (
        f"{n_members:,} members minus {count.n_parameters:,} parameters ({count.formula}) leave "
        f"{left:,} degrees of freedom; fewer than {least:g} are flagged."
    )
    if count.largest_tree is not None:
        text += f" The largest single tree has {count.largest_tree:,} parameters."
    if effective is not None:
        text += f" The effective degrees of freedom are {effective:,.1f}."
    status = FLAGGED if left < least else PASSED
    return StructuralCheck("residual_dof", "both", status, left, least, None, text, source)


def check_rules(book, flags):
    """Check the hyper-parameters; ``flags`` is None if no rule is about the model."""
    if flags is None:
        text = (
            f"Cannot be said: the rules {book.name!r} are not about models of this kind, or the "
            "model does not store its settings."
        )
        return StructuralCheck("rules", "both", UNKNOWN, None, None, None, text, book.source)
    if not flags:
        text = f"The settings are in none of the rules {book.name!r}."
        return StructuralCheck("rules", "both", PASSED, "", None, None, text, book.source)
    names = ", ".join(rule.name for rule in flags)
    sources = "; ".join(dict.fromkeys(rule.source for rule in flags))
    text = f"The settings are in the rules {book.name!r}: {names}."
    return StructuralCheck("rules", "both", FLAGGED, names, None, None, text, sources)


def check_rows(n_rows, n_found, unread):
    """Check whether the file stores training rows; ``unread`` are parts that could not be read."""
    source = SOURCES["keeps_rows"]
    if n_rows:
        found = "" if n_found is None else f" {n_found:,} members were found among them."
        status, text = FLAGGED, f"The file stores {n_rows:,} training rows.{found}"
    elif unread:
        status, n_rows, n_found = UNKNOWN, None, None
        text = f"{len(unread):,} parts of the file could not be read, such as {unread[0]}."
    else:
        status, n_found, text = PASSED, 0, "No training rows were found in the file."
    return StructuralCheck("keeps_rows", "file", status, n_rows, None, n_found, text, source)


def name_no_file(name, thresholds):
    """Checks of the file of a model that is not at hand."""
    text = f"The file of {name} is not at hand."
    sources = {**SOURCES, **{key: threshold.source for key, threshold in thresholds.items()}}
    names = (*_OF_GROUPS, "smallest_leaf", "keeps_rows")
    return [
        StructuralCheck(check, "file", UNKNOWN, None, None, None, text, sources[check])
        for check in names
    ]
