"""Answers of a model that is not at hand: the columns of a file, read as one kind of outputs."""

import re
import shlex

import numpy as np
import pandas as pd

from .._core.escaping import join_names, visible
from .._core.label_maps import as_value, match_labels, try_maps
from .._core.outputs import Outputs
from .._core.text import fold_text, tell_percent
from ._labels import show_labels
from ._options import CommandError, tell
from ._reading import AS_FOUND, read_table

# Share by which the probabilities of a row may miss their sum however many decimals they have, as
# those of a net in half precision do.
_ROUNDED_SUM = 0.01
_PERCENT = 100.0

# Numbers with more decimals than this do not change a sum by their rounding.
_MOST_DECIMALS = 8

# What stands before or behind the name of a class in the name of a column. Words of the first kind
# say that the column holds its probabilities.
_BEFORE, _BEHIND = (
    "p|pr|prob|proba|probs|probability|score|scores",
    "p|prob|proba|probability|score",
)
_GAP = r"(?:[ _.:=-]+|(?=[(\[]))"
_AFFIX = re.compile(
    rf"^(?:{_BEFORE}|pred|prediction|class|label|y|output){_GAP}|[ _.:-]+(?:{_BEHIND})$",
    re.IGNORECASE,
)
_OF_PROBABILITIES = re.compile(rf"^(?:{_BEFORE}){_GAP}|[ _.:-]+(?:{_BEHIND})$", re.IGNORECASE)
_BRACKETS = re.compile(r"^[(\[{](.*)[)\]}]$")
_NUMBERED = re.compile(
    r"^(|unnamed: ?\d+|index|idx|row|row_?(id|number|index)|id|level_0|rownames)$"
)


def read_answers(arguments, y, labels, table, membership=None, reading=AS_FOUND):
    """Return the answers in a file as outputs, with notes on how they were read.

    labels: class of the model by the text of each label of the table, {} of a regression. Rows are
    matched by the columns that the file has in common with the table.
    """
    path, n_rows = arguments.answers, len(y)
    answers, notes = read_table(path, "--answers", reading)
    _check_length(path, answers, n_rows, membership)
    answers, told = _match_rows(path, answers, table, arguments.target if labels else None)
    notes = [*notes, *told]
    for option in ("positive", "classes"):
        if getattr(arguments, option) and not labels:
            raise CommandError(
                f"--{option} goes with the answers of a classifier; --task classification takes "
                "the target for classes"
            )
    try:
        if not labels:
            return _read_value_answers(path, answers, y), notes
        outputs, told = _as_outputs(arguments, answers, labels, _MemberLabels(y, membership))
        return outputs, [*notes, *told]
    except (TypeError, ValueError) as error:
        raise CommandError(f"--answers: {path.name} is refused: {tell(error)}") from error


def _check_length(path, answers, n_rows, membership):
    n_answers = len(answers)
    if n_answers == n_rows:
        return
    told = f"--answers: {path.name} has {n_answers} rows and the table {n_rows} rows"
    if n_answers == n_rows - 1 and all(isinstance(as_value(name), float) for name in answers):
        first = ", ".join(map(str, answers.columns[:3]))
        told += (
            f"; its first line ({first}) was taken for a header: put a line with the names of the "
            "columns above it"
        )
    elif n_answers == n_rows + 1:
        told += "; remove the line that is not the answer to a row, such as a second header"
    elif membership is not None and n_answers in (membership.sum(), (~membership).sum()):
        side = "members" if n_answers == membership.sum() else "non-members"
        told += f": answers to the {side} alone, and those to all rows are needed"
    raise CommandError(told)


def _match_rows(path, answers, table, target):
    """Return answers in the order of the rows of a table, without columns that are those of it.

    They are known by equal names and values, as an identifier is. Refuse rows in another order
    where these columns do not tell it.

    target: of labels, as which predictions may be called, and be as many of each.
    """
    named = {fold_text(name): name for name in table.columns if name not in answers}
    named |= {name: name for name in table.columns}
    both = {name: named.get(name, named.get(fold_text(name))) for name in answers}
    pairs = {
        name: _number_values(answers[name], table[own])
        for name, own in both.items()
        if own not in (None, target)
    }
    pairs = {name: pair for name, pair in pairs.items() if _have_same_values(*pair)}
    differ = {name: pair[0] != pair[1] for name, pair in pairs.items()}
    left, told = answers.drop(columns=list(pairs)), []
    if left.shape[1] and any(map(np.any, differ.values())):
        table = table.rename(columns={both[name]: name for name in pairs})
        left = left.iloc[_find_places(path, answers, table, pairs, differ)].reset_index(drop=True)
        names = join_names(map(repr, pairs), _MOST_KEYS)
        told = [f"The rows of {path.name} are in another order; they are matched by {names}."]
    if not pairs:
        return answers, []
    if target in left:  # which beside other columns of the table are its labels, if all agree
        first, second = _number_values(left[target], table[target])
        left = left.drop(columns=[target] * bool((first == second).all()))
    return (left, told) if left.shape[1] else (answers, [])


def _find_places(path, answers, table, pairs, differ):
    """Return the place of each row of a table among answers, by the columns that both have."""
    own, wanted = (pd.MultiIndex.from_arrays([pair[k] for pair in pairs.values()]) for k in (0, 1))
    places = own.get_indexer(wanted) if own.is_unique and wanted.is_unique else np.array([-1])
    if (places < 0).any():
        name = next(name for name, rows in differ.items() if rows.any())
        row = differ[name].argmax()
        raise CommandError(
            f"--answers: column {name!r} of {path.name} holds '{visible(answers[name].iloc[row])}' "
            f"in row {row + 1}, and the table '{visible(table[name].iloc[row])}': the answers are "
            "in another order than the rows; give them in the order of the table"
        )
    return places


_MOST_KEYS = 5  # columns that are named


def _number_values(*columns):
    """Return the values of two columns as numbers, which are the same for equal and for missing."""
    if not all(pd.api.types.is_numeric_dtype(column.dtype) for column in columns):
        columns = [column.astype(str).where(column.notna()) for column in columns]
    numbers = pd.factorize(pd.concat(columns))[0]
    return np.split(numbers, [len(columns[0])])


def _have_same_values(first, second):
    return bool((first == second).all() or (np.sort(first) == np.sort(second)).all())


class _MemberLabels:
    """Labels of the rows on which a model was trained, by which a proposal is tried."""

    def __init__(self, y, membership):
        self.rows = np.arange(len(y)) if membership is None else np.flatnonzero(membership)
        self.y = np.asarray(y)[self.rows]
        self._labels, self._membership = np.asarray(y), membership

    def lack_few(self, classes):
        """Whether the classes that others than these have are those of a few records alone."""
        if self._membership is None:
            return False
        known = np.isin(self._labels, classes)
        from ..report import explain_refusal

        return explain_refusal(known, self._labels, self._membership) is None


def _read_value_answers(path, answers, y):
    answers = _drop_numbers(answers, 1)
    if answers.shape[1] == 1:
        (column,) = _take_columns(path, answers, answers.columns)
        return Outputs(_read_finite_numbers(path, column), kind="value")
    told = f"--answers: {path.name} has {answers.shape[1]} columns, {show_labels(answers.columns)}"
    values = [f"{value:g}" for value in np.unique(y)[: answers.shape[1] + 1]]
    if len(_match_columns(answers.columns, values)) == len(values):
        raise CommandError(f"{told}, which are values of the target: give --task classification")
    raise CommandError(
        f"{told}, as of several quantiles or targets; a regression needs one: keep the column of "
        "the prediction, such as the median"
    )


def _take_columns(path, answers, names):
    """Return the columns that are read; in others, such as remarks, values may be missing."""
    columns = [answers[name] for name in names]
    missing = np.any([column.isna() for column in columns], axis=0)
    if missing.any():
        raise CommandError(f"--answers: {path.name} lacks a value in row {missing.argmax() + 1}")
    return columns


def _read_finite_numbers(path, column):
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=float)
    bad = ~np.isfinite(numbers)
    if bad.any():
        row = bad.argmax()
        raise CommandError(
            f"--answers: column {column.name!r} of {path.name} must hold numbers; got "
            f"'{visible(column.iloc[row])}' in row {row + 1}"
        )
    return numbers


def _drop_numbers(answers, n_columns):
    """Leave out columns that number the rows, such as the index of a table that was saved."""
    kept = [name for name in answers.columns if not _numbers_rows(name, answers[name])]
    return answers[kept] if n_columns <= len(kept) < answers.shape[1] else answers


def _numbers_rows(name, column):
    if not pd.api.types.is_integer_dtype(column.dtype):
        return bool(_NUMBERED.match(name.strip().lower())) and column.is_unique
    is_named = bool(_NUMBERED.match(name.strip().lower())) and column.is_unique
    return is_named or (len(column) > 2 and bool((column.diff().iloc[1:] == 1).all()))


def _as_outputs(arguments, answers, labels, members):
    """Read columns of probabilities, a column of one class's, or a column of labels."""
    path, texts = arguments.answers, list(labels)
    named = _match_columns(answers.columns, texts)
    # The audit leaves out a few records of classes without a column.
    is_enough = len(named) > 1 and members.lack_few([labels[text] for text in named])
    if len(named) == len(texts) > 1 or is_enough:
        if arguments.classes:
            raise CommandError(
                f"--classes: the columns of {path.name} are named {show_labels(texts)}"
            )
        texts = [text for text in texts if text in named]
        columns = [named[text] for text in texts]
        notes = _say_columns(answers, columns, texts)
        labels = {text: labels[text] for text in texts}
        return _as_probabilities(path, _take_columns(path, answers, columns), labels, notes)
    answers = _drop_numbers(answers, 1)
    if answers.shape[1] == 1:
        (column,) = _take_columns(path, answers, answers.columns)
        return _read_single_column(arguments, column, labels, members)
    if arguments.classes:
        ordered = match_labels(arguments.classes, texts)
        if ordered is None or len(ordered) != len(texts) or answers.shape[1] != len(texts):
            raise CommandError(
                f"--classes: the {answers.shape[1]} columns of {path.name} need one label each, of "
                f"{show_labels(texts)}; got {show_labels(arguments.classes)}"
            )
        order = {text: place for place, text in enumerate(ordered.values())}
        columns = [answers.columns[order[text]] for text in texts]
        return _as_probabilities(path, _take_columns(path, answers, columns), labels, [])
    raise CommandError(
        f"--answers: the columns of {path.name} must be the classes {show_labels(texts)}, or one "
        f"column of labels; got {show_labels(answers.columns)}"
        f"{_propose_classes(answers, labels, members, arguments.target)}"
    )


def _match_columns(columns, texts):
    """Return the column of each label, named after it or with a word such as proba before it."""
    best = {}
    for strip in (str, _strip_affixes):
        found = {}
        for column in map(str, columns):
            pairs = match_labels([strip(column)], texts)
            if pairs is not None:
                found.setdefault(next(iter(pairs.values())), []).append(column)
        if len(found) > len(best) and all(len(names) == 1 for names in found.values()):
            best = {text: names[0] for text, names in found.items()}
    return best


def _strip_affixes(name):
    name = _AFFIX.sub("", str(name).strip()).strip()
    inner = _BRACKETS.match(name)
    return (inner[1] if inner else name).strip(" '\"")


def _say_columns(answers, columns, texts):
    notes = []
    if columns != texts:
        pairs = [f"{column!r} as {text!r}" for column, text in zip(columns, texts, strict=True)]
        notes.append(f"Columns of the answers are read by their names: {join_names(pairs, 5)}.")
    left = [name for name in answers.columns if name not in columns]
    if left:
        notes.append(
            f"Columns of the answers that are not classes are left out: {show_labels(left)}."
        )
    return notes


def _as_probabilities(path, columns, labels, notes):
    values = np.column_stack([_read_finite_numbers(path, column) for column in columns])
    classes = np.array(list(labels.values()))
    outside = (values < -_ROUNDED_SUM).any(axis=1)
    outside |= (values > _PERCENT * (1 + _ROUNDED_SUM)).any(axis=1)
    # In this order: of very many classes, rows that add to 1 could be whole percent, with the rest
    # rounded to 0, and no row of percent could be rounded probabilities.
    off = _miss_sum(values, 1.0)
    is_percent = off.any() and not outside.any() and not np.isin(values, (0, 1)).all()
    if is_percent and not _miss_sum(values, _PERCENT).any():
        notes = [*notes, "The answers are in percent, and were divided by 100."]
        return Outputs(values / _PERCENT, classes), notes
    if outside.any() or (off & (values > 1 + _ROUNDED_SUM).any(axis=1)).any():
        row = (outside | off).argmax()
        raise CommandError(
            f"--answers: row {row + 1} of {path.name} holds "
            f"{', '.join(f'{value:.3g}' for value in values[row])}, which are not probabilities; "
            "of logits, write their softmax, exp(x) / sum(exp(x)) in each row"
        )
    if off.any():
        row = off.argmax()
        raise CommandError(
            f"--answers: the probabilities in row {row + 1} of {path.name} add to "
            f"{values[row].sum():.3g}"
        )
    return Outputs(values, classes), notes


def _miss_sum(values, total):
    """Return the rows (n, n_classes) that cannot be shares of a total, rounded to their decimals.

    A rounded number is off by half a unit of its last decimal or less, and a 0 can only have been
    larger. Shares of 1 that are whole numbers are not rounded: several of them, or none, are those
    of a model with several labels.
    """
    step = _find_step(values)
    step = step if step < total else 0.0
    gap, slack = values.sum(axis=1) - total, _ROUNDED_SUM * total + 1e-9
    over = gap - np.maximum(slack, step / 2 * np.count_nonzero(values, axis=1) + 1e-9)
    under = -gap - max(slack, step / 2 * values.shape[1] + 1e-9)
    return (over > 0) | (under > 0)


def _find_step(values):
    """Return the unit of the last decimal of numbers that are rounded to a few; 0 if none is."""
    for decimals in range(_MOST_DECIMALS + 1):
        # The first rows decide most often.
        parts = values[:99], values
        if all(np.allclose(some, np.round(some, decimals), rtol=0, atol=1e-10) for some in parts):
            return 10.0**-decimals
    return 0.0


def _read_single_column(arguments, column, labels, members):
    """Read one column: labels, or the probability of one of two classes."""
    path, texts = arguments.answers, list(labels)
    if arguments.classes:
        raise CommandError(
            f"--classes: {path.name} has one column; --positive names the class whose probability "
            "it is"
        )
    found, named = column.unique(), next(iter(_match_columns([column.name], texts)), None)
    pairs = match_labels(found, texts)
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=float)
    if (
        pairs is not None
        and arguments.positive is None
        and not _tells_class(column.name, numbers, named)
    ):
        taken = column.map(pairs)
        _refuse_two_readings(path, column.name, numbers, taken, named, texts)
        values = np.array(taken.map(labels).tolist())
        return Outputs(values, np.array(list(labels.values())), kind="label"), []
    if not np.isfinite(numbers).all():
        if arguments.positive is not None:
            _read_finite_numbers(path, column)
        unknown = next(label for label in found if match_labels([label], texts) is None)
        raise CommandError(
            f"--answers: '{visible(unknown)}' in {path.name} is not a label of the table, which "
            f"has {show_labels(texts)}"
        )
    # "0" is also what pandas writes above a column without a name.
    is_named = len(texts) == 2 and str(column.name).strip() != "0"
    positive = arguments.positive or (named if is_named else None)
    return _as_scores(path, numbers, positive, labels, members)


def _tells_class(name, numbers, text):
    """Whether a column is named as the probabilities of a class, and can be these."""
    is_named = text is not None and _OF_PROBABILITIES.search(name.strip())
    return bool(is_named) and ((numbers >= 0) & (numbers <= 1)).all()


def _refuse_two_readings(path, name, numbers, taken, text, texts):
    """Refuse labels in a column whose name, such as class_0, says that 1 stands for label 0."""
    # The name alone is also that of a column without a name, the first of a table.
    if text is None or len(texts) != 2 or match_labels([name], texts) is not None:
        return
    if np.isin(numbers, (0, 1)).all() and ((numbers == 1) != (taken == text)).any():
        raise CommandError(
            f"--answers: column {visible(repr(name))} of {path.name} may hold labels, or 1 where "
            f"the model predicts {visible(repr(text))}: rename it for labels, or give --positive "
            f"{shlex.quote(text)}"
        )


def _as_scores(path, numbers, positive, labels, members):
    """Read numbers of one class as its probabilities."""
    texts = list(labels)
    low, high = numbers.min(), numbers.max()
    if len(texts) != 2:
        raise CommandError(
            f"--answers: {path.name} has one column of numbers, and the target {len(texts)} "
            f"classes; give a column of probabilities for each class, {show_labels(texts)}, or one "
            "of labels"
        )
    if low < 0 or high > 1:
        cure = "of decision values or log odds, write 1 / (1 + exp(-x))"
        if low >= 0 and high <= _PERCENT:
            cure = f"of percent, divide by 100; {cure}"
        raise CommandError(
            f"--answers: {path.name} holds numbers from {low:.3g} to {high:.3g}; accepted are "
            f"labels, or probabilities between 0 and 1 with --positive LABEL: {cure}"
        )
    if positive is None:
        raise CommandError(
            f"--answers: {path.name} has one column of numbers between 0 and 1; if they are the "
            f"probabilities of one class, name it: {_propose_positive(numbers, labels, members)}"
        )
    known = match_labels([positive], texts)
    if known is None:
        raise CommandError(
            f"--positive: the target has no label {positive!r}; it has {show_labels(texts)}"
        )
    text = next(iter(known.values()))
    values = np.column_stack([1 - numbers, numbers])
    values = values if text == texts[1] else values[:, ::-1]
    notes = [f"The answers are read as the probabilities of {text!r}."]
    return Outputs(values, np.array(list(labels.values()))), notes


def _propose_positive(numbers, labels, members):
    """Name the class whose probabilities the numbers are on the training rows, or both."""
    classes = list(labels.values())
    guess = np.array(classes)[(numbers[members.rows] > 0.5).astype(int)]
    tried = try_maps(members.y, guess, classes)
    options = [f"--positive {shlex.quote(text)}" for text in labels]
    if tried is None:
        return " or ".join(options)
    # The class that stands for the larger numbers.
    option = options[int(tried.pairs[classes[1]] == classes[1])]
    return (
        f"{option}, with which they are right on {tell_percent(tried.accuracy)} of the rows that "
        "the model was trained on"
    )


def _propose_classes(answers, labels, members, target=None):
    """Name the order of the columns that is right on the training rows, or how it is given."""
    texts, classes = list(labels), list(labels.values())
    if target in answers:
        return f"; leave out {target!r} if it holds the labels of the table"
    if answers.shape[1] != len(texts):
        return ""
    numbers = answers.apply(pd.to_numeric, errors="coerce").to_numpy(dtype=float)
    tried = None
    if np.isfinite(numbers).all():
        guess = numbers[members.rows].argmax(axis=1)
        tried = try_maps(members.y, guess, list(range(len(texts))))
    if tried is None:
        return "; --classes LABEL ... names the label of each column, in their order"
    order = sorted(texts, key=lambda text: tried.pairs[classes[texts.index(text)]])
    return (
        f"; --classes {' '.join(map(shlex.quote, order))} names them in an order that is right on "
        f"{tell_percent(tried.accuracy)} of the rows that the model was trained on"
    )
