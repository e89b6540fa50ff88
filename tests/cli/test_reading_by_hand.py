"""How a text file holds a table, told from a few lines of it, with answers by hand."""

import gzip
import io
from typing import Any, NamedTuple
from unittest import mock

import pandas as pd
import pytest
from by_hand import expect_answers, tell_refusal
from numpy import array, nan

from skmia.cli import _dialect, _reading
from skmia.cli._columns import ColumnWords, settle_column
from skmia.cli._dialect import recognize_dialect
from skmia.cli._options import CommandError, parse_reading
from skmia.cli._reading import TableReading, read_table


class Known(NamedTuple):
    """What a model knows of a column, with the fields of ``KnownColumn``."""

    kind: str | None = None
    values: Any = None
    dtype: Any = None
    has_none: bool = False


class Written:
    """A file that holds a text, or bytes."""

    name = "t.csv"

    def __init__(self, content):
        self.content = content if isinstance(content, bytes) else content.encode()

    def open(self, mode):
        return io.BytesIO(self.content)


def refuse(call):
    """Return what a call returns, or the words in which it is refused, without the file."""
    try:
        return call()
    except CommandError as error:
        return str(error).removeprefix("--data: t.csv ")


# -- the dialect of a file

USUAL = {"encoding": "utf-8", "sep": ",", "quotechar": '"', "skipinitialspace": False}
USUAL |= {"n_skipped": 0, "n_fields": 2, "decimal": None, "told": {}}


def recognize(text, n_bytes=1 << 18, **given):
    """Return what is recognized besides what is usual, the header, and the other rows."""
    with mock.patch.object(_dialect, "_BYTES", n_bytes):
        found = refuse(lambda: recognize_dialect(Written(text), "--data", given))
    if isinstance(found, str):
        return found
    named = found._asdict()
    unusual = {name: named[name] for name in USUAL if named[name] != USUAL[name]}
    return unusual, found.header, found.rows


def told(header, rows, n_told=None, /, **unusual):
    """Return what is recognized if all that is unusual is also told."""
    names = ("encoding", "sep", "quotechar", "skipinitialspace", "decimal")
    said = {name: unusual[name] for name in names if name in unusual}
    said |= {} if n_told is None else {"skiprows": n_told, "n_skipped": n_told}
    n_skipped = {name: said.pop(name) for name in ("n_skipped",) if name in said}
    return unusual | n_skipped | ({"told": said} if said else {}), header, rows


AB, ONE = ["a", "b"], [["1", "2"]]
NO_VALUE = "cannot be read: no line holds a value"
WAYS = "can be divided in several ways, into 2 or 2 columns: --read 'sep=,' or --read 'sep=;'"
BY_BLANKS = r"can be divided by blanks, --read 'sep=\s+', or hold a single column, --read 'sep=,'"
LINES = "has {} in front of its table of 2 columns; --read skiprows={} leaves out what is not the "
LINES += "header"
NINE = "1;2\n" * 9
DIALECTS = [
    (lambda: recognize("a,b\n1,2\n"), ({}, AB, ONE)),
    (lambda: recognize("a,b\n1,2"), ({}, AB, ONE)),
    (lambda: recognize(" \n\t"), "cannot be read: it is empty"),
    # Nothing is left of a file whose lines are skipped, or are comments or empty.
    (
        lambda: recognize("a,b\n1,2", skiprows="2"),
        "cannot be read: no line holds a value behind the first 2",
    ),
    *(
        (lambda text=text, given=given: recognize(text, **given), NO_VALUE)
        for text, given in {'""\n""': {}, "!a\n!b": {"comment": "!"}}.items()
    ),
    (lambda: recognize("#a\n#b"), f"{NO_VALUE} behind the first 2"),
    (lambda: recognize("a,b\n1,2", skiprows="1")[1:], (["1", "2"], [])),
    (lambda: recognize(b"PAR1"), "cannot be read as text: it is a Parquet file"),
    (lambda: recognize(b"a,b\n1,PAR1"), ({}, AB, [["1", "PAR1"]])),
    (lambda: recognize("a;b\n1;2\n"), told(AB, ONE, sep=";")),
    (lambda: recognize("a;b\n1;2\n", sep=";"), ({"sep": ";"}, AB, ONE)),
    (lambda: recognize("a,b\n1,2\n", sep=","), ({}, AB, ONE)),
    # A first line for Excel names what separates, and is none of the table.
    (
        lambda: recognize("sep=;\na;b\n1;2"),
        ({"sep": ";", "n_skipped": 1, "told": {"sep": ";"}}, AB, ONE),
    ),
    (
        lambda: recognize('"sep=|" \na|b\n1|2')[0],
        {"sep": "|", "n_skipped": 1, "told": {"sep": "|"}},
    ),
    (
        lambda: recognize("sep=;\na;b\n1;2", skiprows="1"),
        ({"sep": ";", "n_skipped": 1, "told": {"sep": ";"}}, AB, ONE),
    ),
    (lambda: recognize("sep=;\na,b\n1,2", sep=",")[1:], (AB, ONE)),
    (
        lambda: recognize("sep=;\n# by\na;b\n1;2")[0],
        {"sep": ";", "n_skipped": 2, "told": {"sep": ";", "skiprows": 2}},
    ),
    (lambda: recognize("x\na,b\n1,2", skiprows="1"), ({"n_skipped": 1}, AB, ONE)),
    (
        lambda: recognize("x\n# by\na,b\n1,2", skiprows="1"),
        ({"n_skipped": 2, "told": {"skiprows": 2}}, AB, ONE),
    ),
    (lambda: recognize("# by x, y, z\n\na,b\n1,2"), told(AB, ONE, 2)),
    (lambda: recognize("!by x, y, z\na,b\n!\n1,2", comment="!"), ({}, AB, ONE)),
    (lambda: recognize("a,b\n1,2\n", header="none"), ({}, None, [AB, *ONE])),
    (lambda: recognize("a,b\n1,2\n", header="0"), ({}, AB, ONE)),
    # The decimal sign that is given, that goes with a sign of thousands, or that is seen.
    (lambda: recognize("a;b\n1,5;2"), told(AB, [["1,5", "2"]], sep=";", decimal=",")),
    (lambda: recognize("a;b\n1.5;2", sep=";")[0], {"sep": ";", "decimal": "."}),
    (lambda: recognize("a;b\n1,5;2", sep=";", decimal=".")[0], {"sep": ";", "decimal": "."}),
    (lambda: recognize("a;b\n1;2", sep=";", thousands=".")[0], {"sep": ";", "decimal": ","}),
    (lambda: recognize("a;b\n1;2", sep=";", thousands=",")[0], {"sep": ";", "decimal": "."}),
    (lambda: recognize("a;b\n1,5;2", sep=";", thousands="'")[0]["decimal"], ","),
    (lambda: recognize("a;b\n1,5;2\n7.5", sep=";")[0]["decimal"], ","),
    (lambda: recognize("sep=;\nx\na,b\n1,2", skiprows="2")[0], {"n_skipped": 2}),
    (lambda: recognize("sep=:\na:b\n1:2")[1:], (AB, ONE)),
    # What divides the header and all rows alike; nothing does a single column.
    (lambda: recognize("a\n1\n2"), ({"n_fields": 1}, ["a"], [["1"], ["2"]])),
    (lambda: recognize("a;b,c\n1;2,3\n4;5,6"), WAYS),
    (lambda: recognize("a,b\n1;2,3;4\n5;6,7;8")[0], {}),
    (lambda: recognize("a;b,c\n" + "1;2,3\n" * 9 + "1,2")[0], {}),
    (lambda: recognize(f"a;b,c,d\n{NINE}1"), told(["a", "b,c,d"], [*ONE * 9, ["1"]], sep=";")),
    (lambda: recognize(f"a;b,c,d\n{NINE}1\n1")[1], ["a;b", "c", "d"]),
    (lambda: recognize("a,b\nx,2", sep=";"), ({"sep": ";", "n_fields": 1}, ["a,b"], [["x,2"]])),
    (lambda: recognize("a,b\n1\n1,2,3")[1], AB),
    (lambda: recognize("a;b;c\n1\n1;2\n1;2;3;4")[0]["sep"], ";"),
    # Blanks do, if nearly all that they divide are numbers.
    (lambda: recognize("a  b\n1 2\n 3  4"), told(AB, [*ONE, ["3", "4"]], sep=r"\s+")),
    (lambda: recognize("a b\n7 1 2")[0], {"sep": r"\s+", "n_fields": 3, "told": {"sep": r"\s+"}}),
    (lambda: recognize("a b\n7 7 1 2")[1], ["a b"]),
    (lambda: recognize("a b c\n1 2")[1], ["a b c"]),
    (lambda: recognize("a\n1 2")[1], ["a"]),
    (lambda: recognize("a b\n1 2\n3 4 5")[1], ["a b"]),
    (lambda: recognize("a b\n1 2\n" + "1 2\n" * 3 + "1 x")[0]["sep"], r"\s+"),
    (lambda: recognize("a b\n" + "1 2\n" * 3 + "1 x"), BY_BLANKS),
    (lambda: recognize("a b\nx 1"), BY_BLANKS),
    (lambda: recognize("a b\nx y"), ({"n_fields": 1}, ["a b"], [["x y"]])),
    (
        lambda: recognize("a;b\n1\n2"),
        ({"sep": ";", "n_fields": 1, "told": {"sep": ";"}}, AB, [["1"], ["2"]]),
    ),
    (lambda: recognize('"a;b"\nx\ny')[:31], "has a single column, '\"a;b\"'; n"),
    # Lines in front of the header: comments are left out, others only if it is asked for.
    (lambda: recognize("of x\nby y\na,b\n1,2\n3,4" + "\n1,2" * 18), LINES.format("2 lines", 2)),
    (lambda: recognize("of x\na,b" + "\n1,2" * 19), LINES.format("1 line", 1)),
    (lambda: recognize("of x\na,b" + "\n1,2" * 19, header="0")[1], ["of x"]),
    (lambda: recognize("x,y,z\na,b" + "\n1,2" * 19)[1], ["x", "y", "z"]),
    (lambda: recognize("x,y,z\nof x\na,b" + "\n1,2" * 19)[:11], "has 2 lines"),
    (lambda: recognize("a,b\nx\ny" + "\n1,2" * 19)[1], AB),
    (lambda: recognize("\n\n#a,b\n1,2\n"), told(["#a", "b"], ONE, 2)),
    (lambda: recognize("#of x\n#a,b\nx,1"), told(["#a", "b"], [["x", "1"]], 1)),
    (lambda: recognize("#of x\n#a,b\nx,y"), told(["x", "y"], [], 2)),
    (lambda: recognize("#of x\n#y,z\na,b\n1,2"), told(AB, ONE, 2)),
    (lambda: recognize("#of x\n#a,b"), told(["#a", "b"], [], 1)),
    (lambda: recognize("# of x\na b\n1 2", sep=r"\s+")[1:], (AB, ONE)),
    (lambda: recognize("#x\na,b" + "\n1,2" * 8 + "\n1")[1], AB),
    (lambda: recognize('of x\na, "b,c"' + "\n1, 2" * 19)[:10], "has 1 line"),
    (lambda: recognize("x\n" * 32 + "1,2\n" * 400)[1], ["x"]),
    (lambda: recognize("x,y\nz,w" + "\n1" * 19)[1], ["x", "y"]),
    (lambda: recognize('"a\nb",c' + "\n1,2" * 19)[1], ["a\nb", "c"]),
    (lambda: recognize("a,7\n1,2")[1], ["a", "7"]),
    (lambda: recognize("#x\na\n1")[1:], (["a"], [["1"]])),
    # Blanks behind separators, and quotation marks.
    (lambda: recognize("a, b\n1, 2"), told(AB, ONE, skipinitialspace=True)),
    (lambda: recognize("a, b\n1, 2", skipinitialspace="false"), ({}, ["a", " b"], [["1", " 2"]])),
    (
        lambda: recognize("a,b\n1, 2\n3,4", skipinitialspace="true")[1:],
        (AB, [["1", "2"], ["3", "4"]]),
    ),
    (
        lambda: recognize('a,b\n1,x\n1,x\n1, "x,y"'),
        told(AB, [["1", "x"], ["1", "x"], ["1", "x,y"]], skipinitialspace=True),
    ),
    (lambda: recognize("'a','b'\n1,'x,y'"), told(AB, [["1", "x,y"]], quotechar="'")),
    (lambda: recognize("'a','b'\n1,2", quotechar='"')[1], ["'a'", "'b'"]),
    (lambda: recognize("'a','b'\n1,2", quoting="3")[1], ["'a'", "'b'"]),
    (lambda: recognize("'a', 'b'\n'1', '2'"), told(AB, ONE, quotechar="'", skipinitialspace=True)),
    (lambda: recognize("'a',b\n1,2")[1], ["'a'", "b"]),
    (lambda: recognize("ab','b'\n1,2")[1], ["ab'", "'b'"]),
    (lambda: recognize("'ab,'b'\n1,2")[1], ["'ab", "'b'"]),
    (lambda: recognize("'','b'\n1,2")[1], ["''", "'b'"]),
    (
        lambda: recognize("# by\n'a','b'\n1,2"),
        ({"quotechar": "'", "n_skipped": 1, "told": {"quotechar": "'", "skiprows": 1}}, AB, ONE),
    ),
    (lambda: recognize('"a",b\n1,2', quoting="3"), ({"quotechar": None}, ['"a"', "b"], ONE)),
    (lambda: recognize('a, b\n1, "x,y"\n1, "z,y"')[0].get("n_fields"), None),
    (lambda: recognize("a,b\n,2")[2], [["", "2"]]),
    (lambda: _dialect._has_spaces([["a", " b"]] * 9 + [["a", "b"]], ",", '"'), True),
    (lambda: _dialect._has_spaces([["a", " None"], ["a", "b"]], ",", None), False),
    # Of the beginning of a file the last line may be cut off; a header never is.
    (lambda: recognize("a,b\n1,2\n3,4\n", n_bytes=10), ({}, AB, ONE)),
    (lambda: recognize("a,b\n1,2\n3,4\n", n_bytes=12)[2], [["1", "2"], ["3", "4"]]),
    (lambda: recognize("a,b\r1,2\r3,4\r", n_bytes=10)[2], ONE),
    # Of names beyond the first bytes, as many bytes of rows are read.
    (
        lambda: recognize("aaa;bbb\n1,5;2,5\n3,5;4,5\n", n_bytes=4),
        told(["aaa", "bbb"], [["1,5", "2,5"]], sep=";", decimal=","),
    ),
    (lambda: recognize("a,b\n1,2\n3,4\n", n_bytes=13)[2], [["1", "2"], ["3", "4"]]),
    (lambda: recognize("aaaa,bbbb\n1,2\n3,4", n_bytes=7), ({}, ["aaaa", "bbbb"], ONE)),
    (lambda: recognize("aaaa,bbbb", n_bytes=5), ({}, ["aaaa", "bbbb"], [])),
    (lambda: recognize("é,b\n1,2".encode("latin-1")), told(["é", "b"], ONE, encoding="cp1252")),
    (
        lambda: recognize("é,b\n1,2".encode("cp850"), encoding="cp850"),
        ({"encoding": "cp850"}, ["é", "b"], ONE),
    ),
    (
        lambda: recognize("é,b\n1,2".encode("latin-1"), encoding="utf-8"),
        "cannot be read: it is not text in utf-8 (--read encoding=latin-1 or another one)",
    ),
    (lambda: recognize("a\n\u20ac\n".encode(), n_bytes=4, encoding="utf-8")[1], ["a"]),
    (
        lambda: recognize("a,é".encode()[:3], encoding="utf-8")[:37],
        "cannot be read: it is not text in utf",
    ),
    # Marks of the order of bytes, or bytes of which every other one is 0; else single bytes.
    *(
        (lambda raw=raw: _dialect._recognize_encoding(raw), encoding)
        for raw, encoding in [
            ("a".encode("utf-16"), "utf-16"),
            (b"\xfe\xff\0a", "utf-16"),
            ("\u00e9".encode("utf-8-sig"), "utf-8-sig"),
            (b"a\0" * 4 + b"ab" * 6, "utf-8"),
            (b"a\0" * 5 + b"ab" * 5, "utf-16-le"),
            (b"\0a" * 5 + b"ab" * 5, "utf-16-be"),
            (b"a\0" * 5 + b"\0b" * 2 + b"ab" * 3, "utf-8"),
            (b"a\0" * 5 + b"\0b" + b"ab" * 4, "utf-16-le"),
            (b"\0a" * 5 + b"a\0" + b"ab" * 4, "utf-16-be"),
            (b"a\0" * 5 + b"abc", "utf-16-le"),
            (b"\xe9a", "cp1252"),
            (b"\x81", "latin-1"),
        ]
    ),
]


def test_the_dialect_of_a_file_by_hand():
    expect_answers(DIALECTS)


# -- the columns of one table or several


def settle(*columns, raw=None, known=None, wanted=None, points=True, **given):
    """Return the columns of tables, as they are settled together, and what is said of them."""
    n = len(columns)
    signs = {"decimals": [None] * n, "thousands": [None] * n, "missing": [()] * n} | given
    words = ColumnWords("a", wanted, has_points=points, known=known, **signs)
    columns = [
        pd.Series(one, dtype=object if any(isinstance(value, str) for value in one) else None)
        for one in columns
    ]
    read_raw = (raw or columns).__getitem__
    found = refuse(lambda: settle_column(columns, words, read_raw, ["--data", "--train"][:n]))
    if isinstance(found, str):
        return found
    told = [note.removeprefix("column 'a': ") for note in found.notes]
    missing = [one if one is None else dict(one) for one in found.missing]
    return [one.tolist() for one in found.columns], told, missing


def values(*columns, **given):
    """Return the values of columns of which nothing is said."""
    found = settle(*columns, **given)
    assert isinstance(found, str) or found[1:] == ([], [None] * len(columns)), found
    return found if isinstance(found, str) else found[0]


def stored(*values, dtype=None, kind="text", has_none=False):
    return Known(kind, array(values, dtype=object), dtype, has_none)


NUMBER = Known("number")
TWO_WAYS = "--data: column 'a' holds '{}', which can be {} or {}; --read decimal={},thousands={} "
TWO_WAYS += "reads the former, --read decimal={} the latter"
PERCENT = "--data: column 'a' holds '1%' where numbers are meant, which can be parts of 1 or of "
PERCENT += "100; write numbers without the sign"
MANY = [*map(str, range(30))]
COLUMNS = [
    (lambda: values([1, 2]), [[1, 2]]),
    (lambda: values(["1", "2"]), [[1, 2]]),
    (lambda: values(["1", "2.5"]), [[1.0, 2.5]]),
    (lambda: values(["1", None, "NA"]), [[1.0, nan, nan]]),
    (lambda: values(["1", "zz"], missing=[{"zz"}]), [[1.0, nan]]),
    (lambda: values([True, False], ["x", "1"]), [[True, False], ["x", "1"]]),
    # Marks beside numbers, in one table or all; marks alone are values, unless a model knows.
    (
        lambda: settle(["1", "?", "?"]),
        ([[1.0, nan, nan]], ["1 of 3 values are numbers; not: '?' (2), taken as missing."], [None]),
    ),
    (
        lambda: settle([1, 2], ["3", "?", None]),
        (
            [[1, 2], [3.0, nan, nan]],
            ["3 of 4 values are numbers; not: '?' (1), taken as missing."],
            [None, None],
        ),
    ),
    (lambda: settle([1, 2, nan], ["?"])[1][0][:6], "2 of 3"),
    (lambda: values(["?", "-", "NA"]), [["?", "-", "NA"]]),
    *(
        (
            lambda points=points: settle(["?", "-", "?"], known=NUMBER, points=points),
            (
                [[nan] * 3],
                ["0 of 3 values are numbers; not: '?' (2) and '-' (1), taken as missing."],
                [None],
            ),
        )
        for points in (True, False)
    ),
    (lambda: values(["?", "-"], points=False), [["?", "-"]]),
    (lambda: settle([1, 2], ["?"], points=False)[0], [[1, 2], [nan]]),
    (lambda: values(["x", "?"], known=NUMBER), [["x", "?"]]),
    (
        lambda: settle(["x", "y"], wanted="float")[:52],
        "--data: column 'a' holds 'x' (1) and 'y' (1), and --",
    ),
    (lambda: values(["1", "NA", "zz"], missing=[{"zz"}], points=False), [[1.0, nan, nan]]),
    (lambda: values(["NA", None], known=NUMBER), [[nan, nan]]),
    # Half of the different values have to be numbers in some form for a second look.
    (
        lambda: settle(["1", "x"]),
        ([["1", "x"]], ["1 of 2 values are numbers; not: 'x' (1). It is read as text."], [None]),
    ),
    (lambda: values(["1", "x", "y"]), [["1", "x", "y"]]),
    (lambda: values(["1", "1", "x", "y"]), [["1", "1", "x", "y"]]),
    (
        lambda: settle(["1", "x", "y"], known=NUMBER)[:41],
        "--data: column 'a' holds 'x' (1) and 'y' ",
    ),
    (lambda: settle(["1", "x", "y"], wanted="float")[45:72], " and --read dtype asks for;"),
    (lambda: settle([*MANY, "x"])[:51], "--data: column 'a': 30 of 31 values are numbers; no"),
    (lambda: settle([1, *range(2, 31)], ["1", "x"])[:28], "--data: column 'a': 31 of 32"),
    (lambda: settle([*MANY, "x", "00"])[1][0][-19:], "It is read as text."),
    (lambda: settle([*MANY, "0.5", "x"])[:6], "--data"),
    (lambda: settle([*MANY[:20], "x"])[1][0][:8], "20 of 21"),
    (lambda: settle([*MANY[:20], "1.0", " 2 ", "x"])[1][0][:8], "22 of 23"),
    (lambda: settle([*MANY[:20], "20", "x"])[:20], "--data: column 'a': "),
    # One form reads most values, and another one may read them otherwise.
    (lambda: values(["1.5", "2"], points=False), [[1.5, 2.0]]),
    (
        lambda: settle(["1.5", "1,5"], points=False)[1],
        ["1 of 2 values are numbers; not: '1,5' (1). It is read as text."],
    ),
    (
        lambda: settle(["1.234", "2"], points=False),
        TWO_WAYS.format("1.234", "1234", "1.234", ",", ".", "."),
    ),
    (lambda: settle(["2", "1,234"]), TWO_WAYS.format("1,234", "1234", "1.234", ".", ",", ",")),
    (lambda: settle(["$1.234", "2"], points=False)[1], ["'$1.234' is read as 1.234."]),
    (lambda: settle(["1.234 CHF", "2"], points=False)[25:58], "'1.234 CHF', which can be 1234 or"),
    (lambda: values(["1.234", "2"]), [[1.234, 2.0]]),
    (lambda: settle(["1.234", "2"], points=False, decimals=[","])[0], [[1234, 2]]),
    (lambda: values(["1.234", "2"], points=False, decimals=["."]), [[1.234, 2.0]]),
    (lambda: settle(["1.234"], ["1.234"], points=False, decimals=[",", "."])[:6], "--data"),
    (lambda: values(["1.234"], [7], points=False, decimals=[".", ","]), [[1.234], [7]]),
    (
        lambda: settle(["1.234", "22.345"], points=False, thousands=["."]),
        ([[1234, 22345]], [], [None]),
    ),
    (
        lambda: settle(["1,234", "22,345", "1"], thousands=[","]),
        ([[1234, 22345, 1]], ["'22,345' is read as 22345."], [None]),
    ),
    (lambda: settle([1.5], ["1,000", "2"], thousands=[None, ","])[0], [[1.5], [1000, 2]]),
    (
        lambda: settle(["$1.5", "$1,5", "2.5"])[1],
        ["2 of 3 values are numbers; not: '$1,5' (1). It is read as text."],
    ),
    (lambda: settle(["1'000", "2"], thousands=["."])[1][0][:25], "1 of 2 values are numbers"),
    (lambda: values(["1.5"], ["2"], thousands=[",", "."]), [[1.5], [2]]),
    (lambda: settle(["1.234", "2", "3 CHF"])[0], [[1.234, 2.0, 3.0]]),
    (lambda: values(["1.234", "2"], thousands=["."]), [[1234, 2]]),
    (lambda: values(["1.234"], ["2"], thousands=[None, "."]), [[1234], [2]]),
    (
        lambda: settle(["22,345", "22,345", "1,234"], thousands=[","])[1],
        ["'22,345' is read as 22345."],
    ),
    (lambda: settle(["1'000", "2'000,5"])[1], ["'2'000,5' is read as 2000.5."]),
    (lambda: values(["1e3", "2"], points=False), [[1000.0, 2.0]]),
    (lambda: type(settle(["1e3"], points=False)[0][0][0]), float),
    (lambda: type(settle([str(2**53 - 1)], points=False)[0][0][0]), int),
    (lambda: type(settle([str(2**53)], points=False)[0][0][0]), float),
    (lambda: type(settle(["1", str(2**53)], points=False)[0][0][0]), float),
    (lambda: type(settle([str(-(2**53))], points=False)[0][0][0]), float),
    # Signs of money, and percent, which is parts of 100 where nothing else is.
    (lambda: settle(["1%", "12%"]), ([[1, 12]], ["'12%' is read as 12."], [None])),
    (lambda: settle(["1%", "2"]), f"{PERCENT}, or read texts with --read dtype.a=str"),
    (lambda: settle(["1%"], [2])[: len(PERCENT)], PERCENT),
    (lambda: settle(["1%"], known=NUMBER), PERCENT),
    (
        lambda: settle(["($1,000)", "$2", "?"])[:2],
        (
            [[-1000.0, 2.0, nan]],
            [
                "2 of 3 values are numbers; not: '?' (1), taken as missing.",
                "'($1,000)' is read as -1000.",
            ],
        ),
    ),
    (lambda: settle(["\u20ac1", "x", "y"])[1], []),
    # Texts stay as they are in the file, but for words of missing values.
    (lambda: values([1, 2], raw=[pd.Series(["01", "2"])], wanted="str"), [["01", "2"]]),
    (lambda: values([1, None], wanted="str"), [["1.0", nan]]),
    (lambda: values([1, 2], wanted="category"), [[1, 2]]),
    (
        lambda: settle(["x", "y"], ["NA", "x", "", "x"], missing=[{"NA"}, {"NA", ""}]),
        ([["x", "y"], [nan, "x", nan, "x"]], [], [None, {"NA": 1}]),
    ),
    (lambda: values(["x", "y"], known=Known()), [["x", "y"]]),
    (lambda: values(["1", "2"], wanted="int", known=stored("1", "2")), [[1, 2]]),
    # Values that a model stores: as they are, without blanks, or as the number or bool they mean.
    (
        lambda: settle(
            [" yes", "no", "maybe", "?", "", "NA", "?"],
            missing=[{"NA", ""}],
            known=stored("yes", "no"),
        ),
        (
            [["yes", "no", "maybe", nan, nan, nan, nan]],
            ["blanks around ' yes' (1) are left out, as the model knows these values without."],
            [{"?": 2, "NA": 1}],
        ),
    ),
    (
        lambda: settle(["x", "y", "y"], known=stored("x", dtype=pd.CategoricalDtype(["x"]))),
        (
            [["x", nan, nan]],
            ["the categories of the model lack 'y' (2), taken as missing."],
            [None],
        ),
    ),
    (
        lambda: settle(["x", "?", "NA"], missing=[{"NA"}], known=NUMBER._replace(kind="text")),
        ([["x", "?", nan]], [], [{"NA": 1}]),
    ),
    (lambda: values(["2.0", "1"], known=stored(1, 2)), [[2.0, 1.0]]),
    (lambda: type(values(["2.0", "1"], known=stored(1, 2))[0][0]), float),
    (lambda: type(values(["1", "2.5"], known=stored(1, 2.5))[0][0]), float),
    (lambda: values(["x"], known=stored("x", dtype=pd.CategoricalDtype(["x"]))), [["x"]]),
    (lambda: values([2.0, 1], known=stored("1", "1.0", "2")), [["2", "1"]]),
    (lambda: values(["TRUE", "False"], known=stored(False, True)), [[True, False]]),
    (lambda: values([True, False], known=stored(1, 0)), [[True, False]]),
    (lambda: values(["x", None], known=stored("x", has_none=True)), [["x", None]]),
]


def test_columns_are_settled_by_hand():
    expect_answers(COLUMNS)


# -- the table in a file


@pytest.fixture
def read(tmp_path):
    """Read a text, and return the columns and notes, or the words of a refusal."""

    def read(text, *words, option="--data", known=None, named=(), left_out=()):
        path = tmp_path / "t.csv"
        path.write_text(text)
        given = tuple(map(parse_reading, words)), frozenset(left_out), frozenset(named)
        call = lambda: read_table(path, option, TableReading(*given), known)  # noqa: E731
        found = refuse(call)
        if isinstance(found, str):
            return found
        said = [note.removeprefix("t.csv: ") for note in found.notes]
        return found.frame.to_dict("list"), said

    return read


LEFT = "the header has a name less than rows have fields; the first field, which holds the names "
LEFT += "of rows, is left out (--read index_col=false leaves out the last one)."
ASK_INDEX = "has 2 names of columns and 3 fields in each row; --read index_col=0 takes the first "
ASK_INDEX += (
    "field as names of rows and leaves it out, --read index_col=false leaves out the last one"
)
NUMBERED = (
    "has 2 names of columns and 4 fields in most rows; --read skiprows={},header=none numbers "
)
NUMBERED += "the columns"
NO_NAMES = "has no names of columns, its first line is a row of values: {}; --read header=none "
NO_NAMES += "numbers the columns ('0', '1', ...)"
WARN = "--read on_bad_lines=warn leaves out longer rows and fills up shorter ones"
LONG = "a value that holds ',' has to stand in quotation marks"
CUT = "the row may be cut off"
ENDS = "rows that end in a separator beyond the header: the empty field is left out."


def list_names(read):
    """Names of columns, and lines of values in their place."""
    return [
        (lambda: read("a,b\n1,2"), ({"a": [1], "b": [2]}, [])),
        (lambda: read("7,b\n1,2", "header=none")[0], {"0": [7, 1], "1": ["b", "2"]}),
        (lambda: read("a,b\n1,2,\n3,4"), ({"a": [1, 3], "b": [2, 4]}, [ENDS])),
        (lambda: read("a,b\n1,2,\n3,4,5"), ({"a": [2, 4], "b": [nan, 5.0]}, [LEFT])),
        (lambda: read("a,b\n8,1,2\n7,3,4"), ({"a": [1, 3], "b": [2, 4]}, [LEFT])),
        (lambda: read("a,b\n7,1,2\n7,3,4"), ASK_INDEX),
        (lambda: read("a,b\nx,1,2\ny,3,4", "index_col=0"), ({"a": [1, 3], "b": [2, 4]}, [LEFT])),
        (lambda: read("a,b\n8,1,2\n7,3,4", "index_col=false"), ({"a": [8, 7], "b": [1, 3]}, [])),
        (lambda: read("a,b,\n1,2\n3,4"), ({"a": [1, 3], "b": [2, 4]}, [])),
        (lambda: read("a,b,c\n1,2\n3,4")[:34], "has 3 names of columns and 2 field"),
        (lambda: read("a,b\n1,2,3,4"), NUMBERED.format(1)),
        (lambda: read("# x\na,b" + "\n1,2,3,4" * 9), NUMBERED.format(2)),
        (
            lambda: read('a,b,c\n1,"2\n3,4')[:49],
            "cannot be read: a quotation mark in row 1 has no ",
        ),
        (lambda: read("a,b"), "has no rows"),
        # Blanks around names, and names that stand there twice or not at all.
        (
            lambda: read("a , b,c\n1,2,3"),
            (
                {"a": [1], "b": [2], "c": [3]},
                ["blanks around the names of columns are left out: 'a ' and ' b'."],
            ),
        ),
        (lambda: read("a ,b\n1,2", known={"a ": Known()}), ({"a ": [1], "b": [2]}, [])),
        (
            lambda: read("a,a \n1,2"),
            ({"a": [1], "a ": [2]}, ["columns whose names differ by blanks alone: 'a '."]),
        ),
        (lambda: read("a, \n1,2"), ({"a": [1], "Unnamed: 1": [2]}, [])),
        (
            lambda: read("a,a,a.1,b,a\n1,2,3,4,5"),
            (
                {"a": [1], "a.2": [2], "a.1": [3], "b": [4], "a.3": [5]},
                ["columns of the same name: the second 'a' becomes 'a.2' and 'a' becomes 'a.3'."],
            ),
        ),
        (lambda: read("a,a\n1,2", named=["b"])[0], {"a": [1], "a.1": [2]}),
        (
            lambda: read("# x\na,a\n1,2", named=["a"]),
            "has two columns 'a'; give one another name, or number all columns with --read "
            "skiprows=2,header=none",
        ),
        # A first line of values, of which years and places of pixels are none.
        (lambda: read("0.5,x\n1,x\n2,y"), NO_NAMES.format("'0.5', 'x'")),
        (lambda: read("0.5,x,y,z\n1,x,y,z"), NO_NAMES.format("'0.5', 'x', 'y'")),
        (lambda: read("0.5,x\n1,x\n2,y", "header=0")[0], {"0.5": [1, 2], "x": ["x", "y"]}),
        (lambda: read("0.5,x\n1,x\n2,y", option="--answers")[0], {"0.5": [1, 2], "x": ["x", "y"]}),
        (lambda: read("0.5,z\n1,x\n2,y")[0], {"0.5": [1, 2], "z": ["x", "y"]}),
        (lambda: read("0.5,z,x\n1,x,x"), NO_NAMES.format("'0.5', 'z', 'x'")),
        (lambda: read("x,y\nx,y")[0], {"x": ["x"], "y": ["y"]}),
        (lambda: read("a,2\n1,2")[0], {"a": [1], "2": [2]}),
        (lambda: read("2019,2020\n5,6")[0], {"2019": [5], "2020": [6]}),
        (lambda: read("2020,2019\n5,6"), NO_NAMES.format("'2020', '2019'")),
        (lambda: read("2,2\n5,6"), NO_NAMES.format("'2', '2'")),
        (lambda: read("1.5,2.5\n5,6"), NO_NAMES.format("'1.5', '2.5'")),
        (lambda: read("1,2,x\n5,6,x"), NO_NAMES.format("'1', '2', 'x'")),
        (lambda: read("5\n6"), NO_NAMES.format("'5'")),
        (lambda: read("1,b\n5,\n6,")[0], {"1": [5, 6], "b": [nan, nan]}),
        (lambda: read("1,2\n5,6,7\n8,9,9")[0], {"1": [6, 9], "2": [7, 9]}),
    ]


def list_rows(read):
    """Rows of other lengths than the header, and values that are missing at the end of a row."""
    return [
        (
            lambda: read("a,b\n1,2\n3,4,5\n6,7"),
            "has 3 fields in row 2 and 2 names of columns (no other row is of another length); "
            f"{LONG}; {WARN}",
        ),
        (
            lambda: read("a,b\n1,2\n3\n3,4,5\n6,7\n6,7"),
            "has 1 field in row 2 and 2 names of columns (2 rows are of another length); "
            f"{CUT}; {WARN}",
        ),
        (
            lambda: read("a;b\n1;2\n3;4;5\n6;7").partition("); ")[2],
            f"{LONG.replace(',', ';')}; {WARN}",
        ),
        (
            lambda: read("a\tb\n1\t2\n3\t\t5\n6\t7").partition("); ")[2],
            rf"--read 'sep=\s+' takes several blanks or tabs for one; {WARN}",
        ),
        (lambda: read("a\tb\tc\n1\t2\t3\n3\t4\n6\t7\t8").partition("); ")[2], f"{CUT}; {WARN}"),
        (lambda: read("a,b\n1,\n3,"), ({"a": [1, 3], "b": [nan, nan]}, [])),
        (lambda: read('a,b\nx,"y,z"\nx,')[0], {"a": ["x", "x"], "b": ["y,z", nan]}),
        (lambda: read("a,b\n1,x\n3\n5,x")[:22], "has 1 field in row 2 a"),
        (lambda: read("a,b\n1,7\n3\n5,8")[:22], "has 1 field in row 2 a"),
        (lambda: read("a\n1\n\n3"), ({"a": [1, 3]}, [])),
        (lambda: read("a b\n1 2\n3  4", r"sep=\s+"), ({"a": [1, 3], "b": [2, 4]}, [])),
        (
            lambda: read('a,b\n1,x\n2,"y\n'),
            "cannot be read: a quotation mark in row 2 has no second one (--read quoting=3 reads "
            "quotation marks as any other character)",
        ),
        (
            lambda: read(
                "a,b,c\n1,2,3\n4,5\n6,7,8,9\n1,2,3\n6,7,8,9\n1,2,3\n1", "on_bad_lines=warn"
            ),
            (
                {"a": [1, 4, 1, 1, 1], "b": [2, 5, 2, 2, nan], "c": [3, nan, 3, 3, nan]},
                [
                    "rows left out because of too many fields: 2; rows filled up with missing "
                    "values: 2 (on_bad_lines)."
                ],
            ),
        ),
        (lambda: read("a,b\n1,2", "on_bad_lines=warn"), ({"a": [1], "b": [2]}, [])),
        (
            lambda: read("a,b\n1,2,3\n4,5\n6,7\n6,7", "on_bad_lines=warn")[1],
            [
                "rows left out because of too many fields: 1; rows filled up with missing values: 0"
                " (on_bad_lines)."
            ],
        ),
        # Texts are as they stand in the file, also where rows are left out.
        (
            lambda: read("a,b\n1,01\n3,x\n4,5,6\n7,1e2", "on_bad_lines=warn,dtype.b=str")[0],
            {"a": [1, 3, 7], "b": ["01", "x", "1e2"]},
        ),
    ]


AS_VALUES = "--read keep_default_na=false reads such words as values."
ZEROS = (
    "column {0!r} holds numbers that begin with a zero; --read dtype.{0}=str reads them as text."
)


def list_values(read):
    """Values as numbers or texts, the words for missing ones, and numbers that can be two."""
    return [
        (
            lambda: read("a,b,c,d\n1,x,true,NA\n2.5,,False,", "na_values=x"),
            (
                {"a": [1.0, 2.5], "b": [nan, nan], "c": [True, False], "d": [nan, nan]},
                [f"taken as missing: 'x' (1) in 'b' and 'NA' (1) in 'd'; {AS_VALUES}"],
            ),
        ),
        (
            lambda: read("a,b\n1,x\n2,NA\n3,None\n4,NA"),
            (
                {"a": [1, 2, 3, 4], "b": ["x", nan, nan, nan]},
                [f"taken as missing: 'NA' (2), 'None' (1) in 'b'; {AS_VALUES}"],
            ),
        ),
        (lambda: read("a,b\n1,x\n2,NA", "keep_default_na=false")[0]["b"], ["x", "NA"]),
        (lambda: read("a,b\n1,?\n2,?")[0]["b"], ["?", "?"]),
        (lambda: read("a;b\n1,5;x\n2;y")[0], {"a": [1.5, 2.0], "b": ["x", "y"]}),
        (lambda: read('a,b\n"1,000",x\n"2,500.5",y')[0]["a"], [1000.0, 2500.5]),
        (lambda: read("a,zip\n1,01\n2,2"), ({"a": [1, 2], "zip": [1, 2]}, [ZEROS.format("zip")])),
        (lambda: read("a,zip\n1,0\n2,10")[1], []),
        (lambda: read("a,zip\n1,01\n2,2", known={"zip": Known("number")})[1], []),
        (lambda: read("a,zip\n1,01\n2,2", known={"zip": Known()})[1], [ZEROS.format("zip")]),
        (
            lambda: read("a,zip\n1,01\n2,2", "dtype.zip=str"),
            ({"a": [1, 2], "zip": ["01", "2"]}, []),
        ),
        (lambda: len(read(f"{'a,' * 6}b\n{'01,' * 6}x")[1]), 1 + _reading._MOST_NAMES),
        (
            lambda: read("a,b\n1,2", "dtype.aa=str"),
            "--read dtype: column 'aa' not found; did you mean 'a'?",
        ),
        (lambda: read("a,b\n1,2", "train.dtype.aa=str")[0], {"a": [1], "b": [2]}),
        (
            lambda: read("a,b\n1,2", "data.na_values.aa=x")[:42],
            "--read na_values: column 'aa' not found; d",
        ),
        (lambda: read("a,b\n1,2", "dtype.aa=str", option="--answers")[0], {"a": [1], "b": [2]}),
        # A point in a file that commas do not divide is the sign of one of the two.
        (
            lambda: read("a;b\n1.234;x\n22.345;y"),
            "has '1.234' in column 'a', which can be 1234 or 1.234: --read decimal=,,thousands=. "
            "reads the former, --read decimal=. the latter",
        ),
        (lambda: read("a;b\n1.234;x\n22.345;y", "decimal=.")[0]["a"], [1.234, 22.345]),
        (lambda: read("a;b\n1.234;x\n2.5;y")[0]["a"], [1.234, 2.5]),
        (lambda: read("a,b\n1.234,x\n22.345,y")[0]["a"], [1.234, 22.345]),
        (lambda: read("a;b\n1.234;x\n22.345;y", left_out=["a"])[0]["a"], [1.234, 22.345]),
        (lambda: read("a,b\n1,x\n2,y", "dtype.b=category")[0]["b"], ["x", "y"]),
    ]


@pytest.mark.parametrize("list_cases", [list_names, list_rows, list_values])
def test_tables_are_read_by_hand(read, list_cases):
    expect_answers(list_cases(read))


def test_notes_on_many_columns_are_cut(tmp_path):
    path = tmp_path / "t.csv"
    for n_columns, last in ((12, "column 'c11'"), (13, "The same holds for 1 other columns.")):
        names = ",".join(f"c{k}" for k in range(n_columns))
        path.write_text(f"{names}\n{'1,' * (n_columns - 1)}1\n{'?,' * (n_columns - 1)}?\n")
        notes = read_table(path).notes
        assert len(notes) == n_columns and notes[-1].startswith(last)


def test_a_row_that_is_cut_off_far_down_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(_dialect, "_ROWS", 2)
    path = tmp_path / "t.csv"
    for cut, row in (("3", 4), ('"x,y"', 4), ("", None)):
        path.write_text(f"a,b\n1,x\n1,x\n1,x\n{cut}\n5,\n")
        told = tell_refusal(lambda: read_table(path))
        assert (told is None) == (row is None)
        assert row is None or "has 1 field in row 4 and 2 names" in told


def test_files_that_cannot_be_read_are_refused_with_the_way_out(tmp_path, monkeypatch):
    def read(name, content, *words):
        (tmp_path / name).write_bytes(content)
        reading = TableReading(tuple(map(parse_reading, words)))
        told = tell_refusal(lambda: read_table(tmp_path / name, "--data", reading))
        return told and told.removeprefix(f"--data: {name} ")

    assert read("t.txt", b"a").startswith("is neither ")
    assert read("t.csv", b"a\0,b\n1,2") == "has a column whose name ends in a null character"
    monkeypatch.setattr(_reading, "_MOST_COLUMNS", 2)
    told = "has 3 columns, and the command takes 2 at most; audit from Python"
    assert read("t.csv", b"a,b\n1,2") is None and read("t.csv", b"a,b,c\n1,2,3") == told
    whole = gzip.compress(b"a,b\n1,2\n" * 99, mtime=0)
    for damaged in (whole[:-12], b"a,b\n1,2", whole[:20] + b"xx" + whole[22:]):
        assert read("t.csv.gz", damaged).startswith("cannot be read: ")
    # A letter behind the beginning by which a file is recognized.
    monkeypatch.setattr(_dialect, "_BYTES", 8)
    text = "a,b\n1,2\n3,\u00e9\n".encode("latin-1")
    assert read("t.csv", text) is None
    assert read("t.csv", text, "encoding=utf-8") == (
        "cannot be read: it is not text in utf-8; --read encoding=latin-1 reads any bytes"
    )
    assert read("t.csv", text, "encoding=latin-1") is None
    table = read_table(tmp_path / "t.csv")
    assert table.frame["b"].tolist() == ["2", "\u00e9"]
    assert table.notes[0] == "t.csv was read with encoding='cp1252'; --read overrides."
