"""Answers of a model in a file."""

import numpy as np

from .._core.outputs import Outputs
from .._core.visible import visible
from ..report._text import join_names
from ._errors import CommandError, tell
from ._table import read_table

_MOST_SHOWN = 8

# Probabilities of two decimals are as far from what they were, or less.
_ROUNDED = 0.005


def read_answers(path, n_rows, labels):
    """Read the answers of a model for the rows of a table.

    Parameters
    ----------
    path : Path
        Table with a header and one row for each row of the data, in their order: a column of
        probabilities for each class, named after it, or a single column of predicted labels or, for
        a regression, of predictions.
    n_rows : int
        Number of rows of the data.
    labels : dict of str to label
        Labels of the classes by their names; empty for a regression.

    Returns
    -------
    outputs : Outputs

    Raises
    ------
    CommandError
        If the file cannot be read or does not fit the table.
    """
    answers = read_table(path, "--answers")
    if len(answers) != n_rows:
        raise CommandError(
            f"--answers: {path.name} has {len(answers)} rows and the table {n_rows} rows"
        )
    missing = answers.isna().to_numpy().any(axis=1)
    if missing.any():
        raise CommandError(f"--answers: {path.name} lacks a value in row {missing.argmax() + 1}")
    try:
        return _as_outputs(path, answers, labels)
    except (TypeError, ValueError) as error:
        raise CommandError(f"--answers: {path.name} is refused: {tell(error)}") from error


def _as_outputs(path, answers, labels):
    if not labels:
        if answers.shape[1] != 1:
            raise CommandError(
                f"--answers: {path.name} has {answers.shape[1]} columns; a regression needs one"
            )
        return Outputs(answers.iloc[:, 0].to_numpy(dtype=float), kind="value")
    classes = np.array(list(labels.values()))
    if answers.shape[1] == 1:
        return Outputs(_as_labels(path, answers.iloc[:, 0], labels), classes, kind="label")
    if sorted(answers.columns) != sorted(labels):
        raise CommandError(
            f"--answers: the columns of {path.name} must be the classes {_show(labels)}, or one "
            f"column of labels; got {_show(answers.columns)}"
        )
    values = answers[list(labels)].to_numpy(dtype=float)
    off = np.abs(values.sum(axis=1) - 1) > _ROUNDED * len(labels)
    if off.any():
        row = off.argmax()
        raise CommandError(
            f"--answers: the probabilities in row {row + 1} of {path.name} add to "
            f"{values[row].sum():.3g}"
        )
    return Outputs(values, classes)


def _as_labels(path, column, labels):
    texts = column.astype(str)
    unknown = [text for text in texts.unique() if text not in labels]
    if unknown:
        raise CommandError(
            f"--answers: '{visible(unknown[0])}' in {path.name} is not a label of the table, which "
            f"has {_show(labels)}"
        )
    return np.array([labels[text] for text in texts])


def _show(names):
    return join_names([f"'{visible(name)}'" for name in names], _MOST_SHOWN)
