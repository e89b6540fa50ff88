"""Structural checks of a fitted model."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.tree import DecisionTreeClassifier

from .._core.groups import number_groups
from .._core.metric_inputs import check_record_weights
from .._core.numbers import check_count
from .._core.optional import is_of_package
from .._core.query import query, unwrap
from .._core.records import Records
from .._core.skorch_nets import is_skorch
from .._core.text import count_nouns, inflect_word
from .._core.types import ArrayLike, PathLike
from .._core.validation import check_membership, check_records
from ..attacks import StoredValuesAttack
from ..inspection import inspect_model
from ..victims import (
    find_model,
    has_file,
    has_leaves,
    iter_leaves,
    read_state,
    read_training_weights,
)
from ._parameters import (
    ParameterCount,
    count_parameters,
    measure_effective_dof,
    refuse_unfitted,
)
from ._result import (
    SOURCES,
    StructuralCheck,
    StructuralReport,
    choose_thresholds,
    measure_from_confidence,
)
from ._rules import RuleBook, describe_flags, load_rules

# Digits that a float64 has at most.
_MOST_DECIMALS = 17


def check_decimals(decimals):
    """Refuse what is neither a number of decimals of answers nor None."""
    if decimals is not None:
        check_count(decimals, "decimals", 0, _MOST_DECIMALS)


def check_predictor(model):
    name = type(unwrap(model)).__name__
    if not hasattr(model, "predict"):
        raise TypeError(
            f"model must be a fitted classifier or regressor with a method predict; got {name}."
        )
    refuse_unfitted(unwrap(model))
    n_outputs = getattr(find_model(model)[0], "n_outputs_", 1)
    if not hasattr(unwrap(model), "coefs_") and n_outputs > 1:
        raise ValueError(
            f"model must have one output; this {name} has {n_outputs}. Check a model of each."
        )


# Kinds of outputs with a probability of the label, and all in which a share is at stake.
_PROBABILITIES = ("proba", "logits")


class ModelAnswers(NamedTuple):
    """Answers to some records."""

    columns: np.ndarray  # (n, n_columns): numbers that are released, as the model gives them
    confidence: np.ndarray  # (n,): higher if the answer fits the label better
    # (n,): one minus the probability of the label, or 1 for a wrong class; None for regressors.
    loss: np.ndarray | None
    labels: np.ndarray  # (n,): number of the class of each record; 0 for regressors
    n_classes: int  # number of classes; 0 for regressors
    has_probabilities: bool  # whether the columns are the probabilities of the classes
    signal: str  # what the confidence is
    precision: np.dtype  # of the columns, as they were given

    def take(self, rows):
        parts = (self.columns, self.confidence, self.loss, self.labels)
        taken = [None if part is None else part[rows] for part in parts]
        return ModelAnswers(*taken, *self[4:])


def round_answers(answers, decimals):
    """Return the columns of answers, rounded to the decimals that are released."""
    return answers.columns if decimals is None else np.round(answers.columns, decimals)


def summarize_answers(outputs, y):
    confidence, loss, signal = _score_model_answers(outputs, y)
    columns = _list_answer_columns(outputs)
    labels, n_classes = _number_labels(outputs, y)
    known = outputs.kind in _PROBABILITIES
    given = np.asarray(outputs.values).dtype
    precision = given if given.kind == "f" else columns.dtype
    return ModelAnswers(columns, confidence, loss, labels, n_classes, known, signal, precision)


def _list_answer_columns(outputs):
    if outputs.kind == "label":
        return pd.factorize(outputs.values)[0][:, None]
    values = np.exp(outputs.log_proba()) if outputs.kind == "logits" else outputs.values
    return np.reshape(np.asarray(values, dtype=np.float64), (len(outputs), -1))


def _score_model_answers(outputs, y):
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


class ModelCase(NamedTuple):
    """A model and the n records with which it is checked."""

    model: Any
    records: Records
    members: np.ndarray  # (n,): whether it is a training record that counts
    outsiders: np.ndarray  # (n,): whether it is a non-member
    all_people: np.ndarray | None  # (n,): person of each record; None if each record is one
    people: np.ndarray | None  # (n_records,): person of each member, from 0; None like all_people
    answers: ModelAnswers
    thresholds: dict  # by name
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
    def n_people(self):
        """Number of people among the members."""
        return self.n_records if self.people is None else int(self.people.max()) + 1

    def count_people(self, is_flagged):
        """Return the number of people with a member that is flagged, of shape (n_records,)."""
        if self.people is None:
            return int(is_flagged.sum())
        return len(pd.unique(self.people[is_flagged]))


def open_model_case(model, records, membership, decimals, thresholds, rules, sample_weight):
    """Check the parameters of :func:`structural_checks` and query the model."""
    records = check_records(records)
    thresholds = choose_thresholds(thresholds)
    book = rules if isinstance(rules, RuleBook) else load_rules(rules)
    check_decimals(decimals)
    n = len(records)
    is_member = np.ones(n, bool) if membership is None else check_membership(membership, n)
    if sample_weight is None:
        weights = read_training_weights(model, records)
    else:
        weights = check_record_weights(sample_weight, n)
    used = np.ones(n, bool) if weights is None else weights > 0
    if not (is_member & used).any():
        raise ValueError("sample_weight must be above 0 for some member; got 0 for all.")
    if model is not None:
        check_predictor(model)
    outputs = query(None if "outputs" in records.fields else model, records)
    people = records.fields.get("group_by")
    people = None if people is None else number_groups(people, n)[1]
    answers = summarize_answers(outputs, np.asarray(records.y))
    members = is_member & used
    # Numbered once for all checks: of very many records it takes seconds.
    theirs = None if people is None else np.unique(people[members], return_inverse=True)[1]
    rows = members, ~is_member, people, theirs
    return ModelCase(model, records, *rows, answers, thresholds, book)


@dataclass
class CheckFindings:
    """Checks, columns of the table of members, and notes, in the order in which they are found."""

    checks: list = field(default_factory=list)
    columns: dict = field(default_factory=dict)
    notes: list = field(default_factory=list)

    def add_groups(self, checks, sizes, ending):
        """Add checks of groups, and the counts of the group of each member."""
        self.checks.extend(checks)
        self.columns[f"k_{ending}"] = sizes.sizes
        self.columns[f"n_classes_{ending}"] = sizes.n_classes
        self.columns[f"smallest_cell_{ending}"] = sizes.smallest_cells


class GroupSizes(NamedTuple):
    """What is counted in the group of each record."""

    numbers: np.ndarray  # (n,): group of each record
    sizes: np.ndarray  # (n,): number of people in it
    n_classes: np.ndarray  # (n,): number of classes that occur in it
    # (n,): smallest number of people in it who share a class, of the classes that occur.
    smallest_cells: np.ndarray


def number_equal_records(columns, n_rows, *, to_the_end=False):
    """Number records by their values in some columns; equal ones have the same number."""
    numbers, n_groups = np.zeros(n_rows, dtype=np.int64), 1
    for column in columns:
        if n_groups == n_rows:
            if not to_the_end:
                break  # further columns cannot change that
            continue
        codes, values = pd.factorize(column, use_na_sentinel=False)
        numbers, found = pd.factorize(numbers * len(values) + codes)
        n_groups = len(found)
    return numbers


def count_groups(numbers, labels, people=None):
    """Count people and classes in the group of each record."""
    people = np.arange(len(numbers)) if people is None else people
    n_groups, n_labels = numbers.max() + 1, labels.max() + 1
    cells, places = np.unique(numbers * n_labels + labels, return_inverse=True)
    counts = _count_distinct(places, people, len(cells))
    smallest = np.full(n_groups, np.iinfo(np.int64).max)
    np.minimum.at(smallest, cells // n_labels, counts)
    sizes = _count_distinct(numbers, people, n_groups)
    n_classes = np.bincount(cells // n_labels, minlength=n_groups)
    return GroupSizes(numbers, *(part[numbers] for part in (sizes, n_classes, smallest)))


def count_leaves(places, people=None):
    """Count the people in the leaf of each record."""
    people = np.arange(len(places)) if people is None else people
    return _count_distinct(places, people, places.max() + 1)[places]


def _count_distinct(places, people, n_places):
    """Return the number of different people at each place."""
    n_people = people.max() + 1
    if n_people == len(people):
        return np.bincount(places, minlength=n_places)
    pairs = pd.unique(places.astype(np.int64) * n_people + people)
    return np.bincount(pairs // n_people, minlength=n_places)


# A probability nearer to 0 is 0 there.
_ZERO = 1e-8


def count_as_published(case, answers):
    """Count flagged members by shares of answers, which are not shares of people.

    Groups are leaves of a decision tree, and members with exactly the same answer otherwise. A
    class with a share of 0 is ruled out, and a small cell is a share of a group that makes fewer
    people than the threshold.
    """
    if not answers.has_probabilities:
        return {}
    columns = answers.columns.T
    if case.has_file and isinstance(find_model(case.model)[0], DecisionTreeClassifier):
        columns = [leaves.places for leaves in iter_leaves(case.model, case.training.X)]
    numbers = number_equal_records(columns, case.n_records)
    sizes = count_groups(numbers, answers.labels, case.people).sizes
    is_zero = answers.columns < _ZERO
    # Shares are rounded: 10 / 77 of 77 people are less than 10.
    least = case.thresholds["small_cells"].least * (1 - 1e-6)
    is_small = answers.columns * sizes[:, None] < least
    return {
        "class_disclosure": case.count_people(is_zero.any(axis=1)),
        "small_cells": case.count_people((is_small & ~is_zero).any(axis=1)),
    }


PASSED, FLAGGED, UNKNOWN, NONE = "passed", "flagged", "cannot be said", "not applicable"
_OF_GROUPS = "k", "class_disclosure", "small_cells"
_KINDS = {"service": "the same answer", "file": "the same leaves"}


def check_answer_groups(case, sizes, answers, release):
    """Check the groups of records with the same answer, or with the same leaves."""
    thresholds = case.thresholds
    n_groups, kind = int(sizes.numbers.max()) + 1, _KINDS[release]
    least, source = thresholds["k"]
    n_small, smallest = case.count_people(sizes.sizes < least), int(sizes.sizes.min())
    text = (
        f"{count_nouns(n_groups, 'group')} of members with {kind}; the smallest has {smallest:,}, "
        f"and {_count_who_are(n_small)} in one of fewer than {least:g}."
    )
    k = _make_structural_check("k", release, (smallest, least, n_small), text, source)
    if not answers.n_classes:
        return [k, *_list_undefined(release)]
    n_lacking = case.count_people(sizes.n_classes < answers.n_classes)
    text = (
        f"{_count_who_are(n_lacking)} in a group in which some class has no member, so that the "
        "group rules it out."
    )
    name = "class_disclosure"
    disclosure = _make_structural_check(
        name, release, (n_lacking, None, n_lacking), text, SOURCES[name]
    )
    least, source = thresholds["small_cells"]
    cells = sizes.smallest_cells
    n_cells, fewest = case.count_people(cells < least), int(cells.min())
    text = (
        f"{_count_who_are(n_cells)} in a group in which fewer than {least:g} share a class that "
        f"occurs; the fewest are {fewest:,}."
    )
    return [
        k,
        disclosure,
        _make_structural_check("small_cells", release, (fewest, least, n_cells), text, source),
    ]


def _count_who_are(n):
    """Return how many members are somewhere, up to that place."""
    return f"{count_nouns(n, 'member')} {inflect_word(n, 'is', 'are')}"


def _make_structural_check(name, release, found, text, source, status=None):
    """Return a check; without a status, it is flagged if it is about some members.

    found: value, threshold and number of flagged members.
    """
    status = status or (FLAGGED if found[2] else PASSED)
    return StructuralCheck(name, release, status, *found, text, source)


_NOTHING = (None, None, None)


def check_rounding(answers, released, decimals, has_file):
    """Check that the answers are rounded as stated."""
    status, source = PASSED, "the digits that are stated to be released"
    if decimals is None:
        status, text = NONE, "Answers are released with all digits."
    # Of lower precision, a rounded number is the nearest one that there is.
    elif np.array_equal(answers.columns, released.astype(answers.precision)):
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
    return _make_structural_check("rounded_answers", "service", _NOTHING, text, source, status)


def check_groups_of_rows(sizes, answers, name, thresholds):
    """Say why a model without leaves has no groups of its own in its file."""
    n_groups, smallest = int(sizes.numbers.max()) + 1, int(sizes.sizes.min())
    text = (
        f"{name} has no leaves that can be read, which would divide the members into groups. The "
        f"table has {count_nouns(n_groups, 'different row')}, which says nothing of the model."
    )
    sources = _list_file_sources(thresholds)
    k, *others = (
        _make_structural_check(one, "file", _NOTHING, text, sources[one], UNKNOWN)
        for one in _OF_GROUPS
    )
    if not answers.n_classes:
        others = _list_undefined("file")
    return [replace(k, value=smallest), *others]


def _list_file_sources(thresholds):
    """Return the sources of the checks that read a file, in their order."""
    sources = SOURCES | {name: threshold.source for name, threshold in thresholds.items()}
    return {name: sources[name] for name in (*_OF_GROUPS, "smallest_leaf", "keeps_rows")}


def _list_undefined(release):
    """Return the checks of classes, of a regressor."""
    text = "Regression has no classes that a group could rule out."
    return [
        _make_structural_check(name, release, _NOTHING, text, "no classes", NONE)
        for name in _OF_GROUPS[1:]
    ]


def check_leaves(case, leaves):
    """Check the smallest leaf."""
    name, (least, source) = case.name, case.thresholds["smallest_leaf"]
    if leaves is None:
        may_have = _may_have_leaves(case.model)
        status = UNKNOWN if may_have else NONE
        text = f"{name} {'may have leaves that cannot be read' if may_have else 'has no leaves'}."
        return _make_structural_check(
            "smallest_leaf", "file", (None, least, None), text, source, status
        )
    n_records, smallest = case.count_people(leaves < least), int(leaves.min())
    text = (
        f"{_count_who_are(n_records)} in a leaf of fewer than {least:g} training records; the "
        f"smallest has {smallest:,}."
    )
    return _make_structural_check(
        "smallest_leaf", "file", (smallest, least, n_records), text, source
    )


def check_freedom(count, n_members, effective, thresholds):
    """Check the residual degrees of freedom."""
    least, source = thresholds["residual_dof"]
    if count.n_parameters is None:
        text = f"Cannot be said: {count.formula}."
        return _make_structural_check(
            "residual_dof", "both", (None, least, None), text, source, UNKNOWN
        )
    left = n_members - count.n_parameters
    text = (
        f"{count_nouns(n_members, 'member')} minus {count_nouns(count.n_parameters, 'parameter')} "
        f"({count.formula}) leave {left:,} degree{inflect_word(left, '', 's')} of freedom; fewer "
        f"than {least:g} are flagged."
    )
    if count.largest_tree is not None:
        text += f" The largest single tree has {count_nouns(count.largest_tree, 'parameter')}."
    if effective is not None:
        text += f" The effective degrees of freedom are {effective:,.1f}."
    status = FLAGGED if left < least else PASSED
    return _make_structural_check("residual_dof", "both", (left, least, None), text, source, status)


def check_rules(book, flags):
    """Check the hyper-parameters; ``flags`` is None if no rule is about the model."""
    status, names, source = FLAGGED, ", ".join(rule.name for rule in flags or ()), book.source
    if flags is None:
        status, names = UNKNOWN, None
        text = (
            f"Cannot be said: the rules {book.name!r} are not about models of this kind, or the "
            "model does not store its settings."
        )
    elif not flags:
        status, text = PASSED, f"The settings are in none of the rules {book.name!r}."
    else:
        told = f"The settings are in the rules {book.name!r}: {names}."
        text = " ".join([told, *describe_flags(flags)])
        source = "; ".join(dict.fromkeys(rule.source for rule in flags))
    return _make_structural_check("rules", "both", (names, None, None), text, source, status)


def check_stored_rows(n_rows, n_found, unread):
    """Check whether the file stores training rows; ``unread`` are parts that could not be read."""
    source = SOURCES["keeps_rows"]
    if n_rows:
        were = inflect_word(n_found, "was", "were")
        who = (
            "" if n_found is None else f" {count_nouns(n_found, 'member')} {were} found among them."
        )
        status, text = FLAGGED, f"The file stores {count_nouns(n_rows, 'training row')}.{who}"
    elif unread:
        status, n_rows, n_found = UNKNOWN, None, None
        parts = count_nouns(len(unread), "part")
        text = f"{parts} of the file could not be read, such as {unread[0]}."
    else:
        status, n_found, text = PASSED, 0, "No training rows were found in the file."
    return _make_structural_check(
        "keeps_rows", "file", (n_rows, None, n_found), text, source, status
    )


def name_no_file(name, thresholds):
    """Return the checks of the file of a model that is not at hand."""
    text, sources = f"The file of {name} is not at hand.", _list_file_sources(thresholds).items()
    return [
        _make_structural_check(check, "file", _NOTHING, text, source, UNKNOWN)
        for check, source in sources
    ]


# Packages whose models keep rows under names that are known.
_KNOWN = {"catboost", "imblearn", "lightgbm", "sklearn", "skorch", "xgboost"}


def examine_model_file(case, answers, found):
    """Add the checks of groups, leaves and stored rows to the findings."""
    inspection = inspect_model(case.model)
    stated, given = inspection.n_rows, case.n_records
    if stated is not None and stated > given:
        unless = "unless rows were weighted or repeated, " if inspection.n_rows_may_repeat else ""
        found.notes.append(
            f"The file states at least {stated:,} training rows, and "
            f"{count_nouns(given, 'member')} {inflect_word(given, 'was', 'were')} given: {unless}"
            "groups that are counted from them are too small."
        )
    smallest = _examine_groups(case, answers, found)
    found.checks.append(check_leaves(case, smallest))
    n_rows, is_stored = _search_rows(case, inspection, found)
    if is_stored is not None:
        found.columns["is_stored"] = is_stored
    n_found = None if is_stored is None else case.count_people(is_stored)
    found.checks.append(check_stored_rows(n_rows, n_found, inspection.unread))


def _examine_groups(case, answers, found):
    """Add the checks of groups; return the smallest leaf of each member, or None."""
    if not has_leaves(case.model):
        hashes = Records(case.training.X, np.zeros(case.n_records)).digests
        numbers = number_equal_records(hashes, case.n_records)
        sizes = count_groups(numbers, answers.labels, case.people)
        checks = check_groups_of_rows(sizes, answers, case.name, case.thresholds)
        found.add_groups(checks, sizes, "structure")
        return None
    smallest = np.full(case.n_records, np.iinfo(np.int64).max)

    def watch():
        """Yield leaves of each tree; the smallest number of training records in them is noted."""
        for places, counts in iter_leaves(case.model, case.training.X):
            np.minimum(smallest, count_leaves(places, case.people), out=smallest)
            if counts is not None and counts[places].all():
                np.minimum(smallest, counts[places].astype(np.int64), out=smallest)
            yield places

    numbers = number_equal_records(watch(), case.n_records, to_the_end=True)
    sizes = count_groups(numbers, answers.labels, case.people)
    checks = check_answer_groups(case, sizes, answers, "file")
    found.add_groups(checks, sizes, "structure")
    found.columns["smallest_leaf"] = smallest
    return smallest


def _may_have_leaves(model):
    """Return whether there are trees inside of a model, or it is of a package that is not known."""
    known = is_of_package(find_model(model)[0], "sklearn") or is_skorch(find_model(model)[0])
    parts = (part.estimator for part in read_state(model).estimators)
    return not known or any(has_leaves(part) for part in parts)


def _search_rows(case, inspection, found):
    """Return the number of training rows that the file stores, and which members are among them.

    Estimators of packages that are not known may keep rows under any name, so all that they store
    is searched.
    """
    stored = inspection.stored
    named = stored[stored["kind"] == "rows"] if inspection.level == "rows" else stored[:0]
    homes = {type(part.estimator).__module__ for part in read_state(case.model).estimators}
    if named.empty and {home.partition(".")[0] for home in homes} <= _KNOWN:
        return 0, None
    sizes = [shape[0] for shape in named["shape"] if shape is not None]
    n_rows = max([*sizes, *named["n_arrays"]], default=0)
    try:
        attack = StoredValuesAttack(unwrap(case.model)).fit(case.training)
    except ValueError as error:  # such as sparse rows with too many columns
        found.notes.append(f"Members were not looked for among the stored arrays: {error}")
        return int(n_rows), None
    is_stored, hits = np.zeros(case.n_records, dtype=bool), attack.found_
    is_stored[hits.index[hits["whole_row"].astype(bool)]] = True
    return max(int(n_rows), int(is_stored.sum())), is_stored


def structural_checks(
    model: Any,
    records: Records,
    membership: ArrayLike | None = None,
    *,
    decimals: int | None = None,
    thresholds: Mapping[str, float] | None = None,
    rules: PathLike | RuleBook = "skmia",
    sample_weight: ArrayLike | None = None,
) -> StructuralReport:
    """Check groups, leaves, parameters and settings of a model before its release.

    Checks of statistical disclosure control, as research environments make them, for every kind of
    model. They count people: those with the same answer (for a service), those in the same leaves
    (for a file), and those of a class among them. They are rules of thumb about the structure of a
    model and not evidence that it leaks. The membership measurement is therefore shown with each
    check, and passing all checks does not show that a model can be released.

    Parameters
    ----------
    model : fitted estimator or None
        Classifier or regressor, Pipeline, search or service. None if only the answers are known,
        which the records then hold.
    records : Records of n records
        Training records, with labels, and non-members if `membership` says which they are. A field
        ``group_by`` names the person of each record; people are counted instead of records then.
        A field ``outputs`` holds the answers of the model, which is not queried then.
    membership : array-like of shape (n,), default=None
        1 for the training records, 0 for others. If None, all are training records, and
        membership is not measured.
    decimals : int, default=None
        Number of decimals of the answers that a service releases, from 0 to 17. If None, answers
        are compared as they are.
    thresholds : mapping of str to float, default=None
        Thresholds by the name of the check, instead of those in ``THRESHOLDS``: ``"k"`` (10),
        ``"small_cells"`` (10), ``"smallest_leaf"`` (5) and ``"residual_dof"`` (10).
    rules : str, path-like or RuleBook, default="skmia"
        Rules about hyper-parameters, see :func:`load_rules`.
    sample_weight : array-like of shape (n,), default=None
        Weights of the records in training. Members with a weight of 0 are left out. If None, a
        field ``sample_weight`` of the records is used, unless ``fit`` of the model takes no
        weights.

    Returns
    -------
    report : StructuralReport
        ``print(report)`` is a summary, ``report.to_frame()`` has one row for each check, and
        ``report.to_records()`` has one for each member.

    Raises
    ------
    TypeError, ValueError, NotFittedError
        If the model is not fitted or does not know the records, or a parameter is not allowed.

    See Also
    --------
    count_parameters : Number of parameters of a model.
    skmia.inspection.inspect_model : Lists what the file of a model stores.
    skmia.audit : Measures membership with strong attacks.

    Notes
    -----
    :ref:`The guide <structural_checks>` says what each check counts, and where it cannot be said.
    Members have the same answer if all released numbers are equal after rounding. The number of
    training records in a leaf is the one that the file states, or the number of members in it if
    that is smaller.

    References
    ----------
    Preen, R. J. and Smith, J. (2025). A hierarchical approach for assessing the vulnerability of
    tree-based classification models to membership inference attack. arXiv:2502.09396.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skmia import Records
    >>> from skmia.disclosure import structural_checks
    >>> records = Records([[0]] * 5 + [[1]] * 4 + [[2]] * 3, [0] * 8 + [1] * 4)
    >>> model = DecisionTreeClassifier(random_state=0).fit(records.X, records.y)
    >>> report = structural_checks(model, records)
    >>> report.to_frame()[["name", "release", "status", "value"]].head(3)
                   name  release   status value
    0                 k  service  flagged     3
    1  class_disclosure  service  flagged     8
    2       small_cells  service  flagged     1
    >>> report.get("residual_dof", "file").value
    5
    """
    case = open_model_case(model, records, membership, decimals, thresholds, rules, sample_weight)
    answers, found = case.answers.take(case.members), CheckFindings()
    released = round_answers(answers, decimals)
    sizes = count_groups(
        number_equal_records(released.T, case.n_records), answers.labels, case.people
    )
    found.add_groups(check_answer_groups(case, sizes, answers, "service"), sizes, "answers")
    found.checks.append(check_rounding(answers, released, decimals, case.has_file))
    count, effective = ParameterCount(None, "the model is not at hand"), None
    if case.has_file:
        examine_model_file(case, answers, found)
        count, effective = count_parameters(model), measure_effective_dof(model, case.training.X)
    else:
        found.checks.extend(name_no_file(case.name, case.thresholds))
    found.checks.append(check_freedom(count, case.n_people, effective, case.thresholds))
    found.checks.append(check_rules(case.book, case.book.list_flags(model, case.n_records)))
    measure, columns = _measure_from_answers(case, answers)
    return StructuralReport(
        model=case.name,
        n_members=case.n_people,
        checks=tuple(replace(check, auc=measure and measure.auc) for check in found.checks),
        membership=measure,
        records=pd.DataFrame(found.columns | columns, index=np.flatnonzero(case.members)),
        parameters=count,
        effective_dof=effective,
        n_certain=_count_certain(case, answers, decimals),
        published=count_as_published(case, answers),
        decimals=decimals,
        notes=tuple(found.notes),
    )


def _measure_from_answers(case, answers):
    columns = {"confidence": answers.confidence}
    if not case.outsiders.any():
        return None, columns
    chosen = case.members | case.outsiders
    people = None if case.all_people is None else case.all_people[chosen]
    measure, pvalues = measure_from_confidence(
        case.answers.take(chosen), case.members[chosen], people
    )
    return measure, columns | {"p_value": pvalues}


def _count_certain(case, answers, decimals):
    """Return members with a label whose probability is released as 1, after rounding."""
    if not answers.has_probabilities:
        return None
    sure = answers.confidence if decimals is None else np.round(answers.confidence, decimals)
    return case.count_people(sure >= 1)
