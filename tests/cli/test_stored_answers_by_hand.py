"""Answers in a file, as the outputs of a model for the rows of a table, with answers by hand."""

from pathlib import Path
from types import SimpleNamespace as NS
from unittest import mock

import numpy as np
import pandas as pd
from by_hand import expect_answers, tell_refusal
from numpy import array, nan

from skmia.cli import _answers
from skmia.cli._options import CommandError

PATH = Path("a.csv")


def refuse(call):
    """Return what a call returns, or the words in which it is refused."""
    try:
        return call()
    except CommandError as error:
        return str(error).removeprefix("--answers: ")


# -- rows of the file and of the table


def match(answers, target=None, **table):
    call = lambda: _answers._match_rows(PATH, pd.DataFrame(answers), pd.DataFrame(table), target)  # noqa: E731
    return refuse(call)


def order(*names):
    return [f"The rows of a.csv are in another order; they are matched by {' and '.join(names)}."]


OTHER = "column 'id' of a.csv holds '{}' in row {}, and the table '{}': the answers are in another "
OTHER += "order than the rows; give them in the order of the table"
P, ID = [0.1, 0.2, 0.3], [7, 8, 9]
MATCHES = [
    (lambda: match({"p": P}, id=ID), ({"p": P}, [])),
    (lambda: match({"id": ID, "p": P}, id=ID), ({"p": P}, [])),
    (lambda: match({"id": [9, 7, 8], "p": P}, id=ID), ({"p": [0.2, 0.3, 0.1]}, order("'id'"))),
    # A column of other values is none of the table, and identifiers alone are answers.
    (lambda: match({"id": [9, 7, 7], "p": P}, id=ID)[0], {"id": [9, 7, 7], "p": P}),
    (lambda: match({"id": [9, 7, 8]}, id=ID), ({"id": [9, 7, 8]}, [])),
    # Rows are known by all columns together, texts and missing values among them.
    (
        lambda: match(
            {"id": [7, 7, 8], "b": ["y", "x", nan], "p": P}, id=[8, 7, 7], b=[nan, "x", "y"]
        ),
        ({"p": [0.3, 0.2, 0.1]}, order("'id'", "'b'")),
    ),
    (lambda: match({"ID": [9, 7, 8], "p": P}, id=ID), ({"p": [0.2, 0.3, 0.1]}, order("'ID'"))),
    (lambda: match({"ID": ID, "p": P}, id=ID, Id=ID)[0], {"p": P}),
    (lambda: match({"A": P, "b": P}, a=ID), ({"A": P, "b": P}, [])),
    (
        lambda: match({"ID": [7, 8, 7], "p": P}, id=[7, 7, 8]),
        OTHER.format(8, 2, 7).replace("'id'", "'ID'"),
    ),
    (lambda: match({"id": ["8", "7", "9"], "p": P}, id=ID)[0], {"p": [0.2, 0.1, 0.3]}),
    (lambda: match({"id": [7, 8, 7], "p": P}, id=[7, 7, 8]), OTHER.format(8, 2, 7)),
    (
        lambda: match({"b": [1, 1, 1], "id": [8, 8, 7], "p": P}, id=[8, 7, 8], b=[1, 1, 1]),
        OTHER.format(8, 2, 7),
    ),
    # The labels of the table are none of its columns, unless others are there and all agree.
    (lambda: match({"y": [1, 0, 1], "p": P}, "y", y=[1, 0, 1]), ({"y": [1, 0, 1], "p": P}, [])),
    (lambda: match({"id": ID, "y": [1, 0, 1], "p": P}, "y", y=[1, 0, 1], id=ID), ({"p": P}, [])),
    (
        lambda: match({"id": ID, "y": [1, 1, 0], "p": P}, "y", y=[1, 0, 1], id=ID),
        ({"y": [1, 1, 0], "p": P}, []),
    ),
    (
        lambda: match({"id": [9, 8, 7], "y": [1, 0, 0], "p": P}, "y", y=[0, 0, 1], id=ID)[0],
        {"p": [0.3, 0.2, 0.1]},
    ),
    (lambda: match({"id": ID, "y": [1, 0, 1], "p": P}, y=[1, 0, 1], id=ID)[0], {"p": P}),
]

# -- columns of the file and classes of the model

YES_NO = {"no": 0, "yes": 1}
Y = array([0] * 90 + [1] * 90 + [2])


def read(answers, labels=YES_NO, *, classes=None, positive=None, y=Y, membership=None):
    """Return the kind, values and classes of answers, and what is said of them."""
    arguments = NS(answers=PATH, classes=classes, positive=positive, target="truth")
    members = _answers._MemberLabels(y, membership)
    call = lambda: _answers._as_outputs(arguments, pd.DataFrame(answers), labels, members)  # noqa: E731
    found = refuse(call)
    if isinstance(found, str):
        return found
    return found[0].kind, found[0].values, found[0].classes, found[1]


LEFT_OUT = "Columns of the answers that are not classes are left out: {}."
AS_NAMED = "Columns of the answers are read by their names: {}."
TWO = [[0.25, 0.75], [1.0, 0.0]]
THREE = {"no": 0, "yes": 1, "so": 2}
HALF = np.arange(181) % 2 == 1
NEED = "--classes: the {} columns of a.csv need one label each, of 'no' and 'yes'; got {}"
READ = [
    (lambda: read({"no": [0.25, 1], "yes": [0.75, 0]}), ("proba", TWO, [0, 1], [])),
    (lambda: read({"yes": [0.75, 0], "no": [0.25, 1]}), ("proba", TWO, [0, 1], [])),
    (
        lambda: read({"id": [1, 2], "p_no": [0.25, 1], "p_yes": [0.75, 0]})[3],
        [AS_NAMED.format("'p_no' as 'no' and 'p_yes' as 'yes'"), LEFT_OUT.format("'id'")],
    ),
    (
        lambda: read({"no": [0.25, nan], "yes": [0.75, 0]}),
        "a.csv lacks a value in row 2",
    ),
    (lambda: read({"no": [0.25, 1], "yes": [0.75, 0], "x": [nan, nan]})[1], TWO),
    (
        lambda: read({"no": [0.25, 1], "yes": [0.75, 0]}, classes=["no", "yes"]),
        "--classes: the columns of a.csv are named 'no' and 'yes'",
    ),
    # A class of a few records needs no column, of records that are members or not.
    (
        lambda: read({"yes": [0.75, 0], "no": [0.25, 1]}, THREE, membership=HALF)[:3],
        ("proba", TWO, [0, 1]),
    ),
    (lambda: read({"yes": [0.75, 0], "no": [0.25, 1]}, THREE)[:21], "the columns of a.csv "),
    (
        lambda: read({"no": [0.25, 1], "so": [0.75, 0]}, THREE, membership=HALF)[:21],
        "the columns of a.csv ",
    ),
    (lambda: read({"no": [0.25, 1]}, {"no": 0})[:23], "a.csv has one column of"),
    # One column, beside one that numbers the rows.
    (lambda: read({"id": [7, 9], "x": ["yes", "no"]})[:2], ("label", [1, 0])),
    (lambda: read({"id": [7, 9], "x": [0.75, 0]}, positive="yes")[1], TWO),
    # Columns without names of classes, in the order in which they are named.
    (lambda: read({"c": [0.75, 0], "d": [0.25, 1]}, classes=["yes", "no"])[1:], (TWO, [0, 1], [])),
    (lambda: read({"c": [0.25, 1], "d": [0.75, 0]}, classes=["no", "yes"])[1], TWO),
    (
        lambda: read({"c": [0.25, 1], "d": [0.75, 0]}, classes=["no", "maybe"]),
        NEED.format(2, "'no' and 'maybe'"),
    ),
    (lambda: read({"c": [0.25, 1], "d": [0.75, 0]}, classes=["no"]), NEED.format(2, "'no'")),
    (
        lambda: read({"c": [0.2, 1], "d": [0.7, 0], "e": [0.1, 0]}, classes=["no", "yes"]),
        NEED.format(3, "'no' and 'yes'"),
    ),
    (
        lambda: read({"c": [0.2, 1], "d": [0.7, 0], "e": [0.1, 0]}),
        "the columns of a.csv must be the classes 'no' and 'yes', or one column of labels; got "
        "'c', 'd' and 'e'",
    ),
    (
        lambda: read({"c": ["x", "y"], "d": [0.7, 0]}).rpartition("LABEL ... ")[2],
        "names the label of each column, in their order",
    ),
    (
        lambda: read({"truth": ["no", "yes"], "d": ["no", "no"]}).rpartition("'d'; ")[2],
        "leave out 'truth' if it holds the labels of the table",
    ),
    # The name of a column may say that it holds the probabilities of a class.
    *(
        (
            lambda name=name, numbers=numbers, text=text: _answers._tells_class(
                name, array(numbers), text
            ),
            wanted,
        )
        for name, numbers, text, wanted in [
            ("p_yes", [0, 1], "yes", True),
            ("yes prob ", [0.5], "yes", True),
            ("yes", [0, 1], "yes", False),
            ("class_yes", [0, 1], "yes", False),
            ("p_yes", [0, 1], None, False),
            ("p_yes", [0, 1.5], "yes", False),
            ("p_yes", [-0.5, 1], "yes", False),
            ("p_yes", [0, nan], "yes", False),
        ]
    ),
]


def two_readings(numbers, name="class_0", text="0", texts=("0", "1")):
    taken = pd.Series(["1" if one == 1 else "0" for one in numbers])
    call = lambda: _answers._refuse_two_readings(PATH, name, array(numbers), taken, text, [*texts])  # noqa: E731
    return tell_refusal(call) is not None


def read_all(labels=YES_NO, error=None, **given):
    """Return what is read of a file whose answers are those of the first columns, and notes."""
    arguments = NS(answers=PATH, target="y", positive=None, classes=None)
    vars(arguments).update(given)
    table = pd.DataFrame({"y": ["no", "yes"], "id": [1, 2]})
    frame = pd.DataFrame({"id": [2, 1], "no": [1, 0.25], "yes": [0, 0.75]})
    if not labels:
        frame = frame[["id", "yes"]]
    parts = {"read_table": lambda path, option, reading: (frame, [f"read {option}"])}
    if error is not None:
        parts["_take_columns"] = mock.Mock(side_effect=error)
    with mock.patch.multiple(_answers, **parts):
        found = refuse(lambda: _answers.read_answers(arguments, array([0, 1]), labels, table))
    return found if isinstance(found, str) else (found[0].kind, found[0].values, found[1])


GOES = (
    "--{} goes with the answers of a classifier; --task classification takes the target for classes"
)
FILES = [
    (lambda: two_readings([0, 1]), True),
    (lambda: two_readings([0, 1], text="1"), False),
    (lambda: two_readings([0, 1], text=None), False),
    (lambda: two_readings([0, 1], name="0"), False),
    (lambda: two_readings([0, 1, 2]), False),
    (lambda: two_readings([0, 1], texts="012"), False),
    (lambda: read_all(), ("proba", TWO, ["read --answers", *order("'id'")])),
    (lambda: read_all({}), ("value", [0.75, 0.0], ["read --answers", *order("'id'")])),
    (lambda: read_all({}, positive="yes"), GOES.format("positive")),
    (lambda: read_all({}, classes=["yes"]), GOES.format("classes")),
    (lambda: read_all(error=ValueError("It is odd.")), "a.csv is refused: It is odd."),
    (lambda: read_all({}, TypeError("It is odd.")), "a.csv is refused: It is odd."),
]


def test_rows_of_answers_are_matched_by_hand():
    expect_answers(MATCHES)


def test_columns_of_answers_are_read_by_hand():
    expect_answers(READ)


def test_files_of_answers_are_read_by_hand():
    expect_answers(FILES)
