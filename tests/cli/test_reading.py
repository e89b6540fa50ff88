"""Tables are read as their files are written; what is recognized is said."""

import json
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from refusals import check_refusal, parametrize_refusals

from skmia.cli import main
from skmia.cli._features_and_target import read_halves
from skmia.cli._options import CommandError, OptionError, parse_reading
from skmia.cli._parser import make_parser
from skmia.cli._reading import TableReading, read_alike, read_table

N = 40


class Known(NamedTuple):
    """What a model knows of a column, with the fields of ``KnownColumn``."""

    kind: str | None = None
    values: Any = None
    dtype: Any = None
    part: str = ""
    has_none: bool = False


def make_text(header, row, end="\n", n=N):
    """Text of a table with one row for each of n numbers."""
    return end.join([*header.split("\n"), *(row(k) for k in range(n)), ""])


@pytest.fixture
def read(tmp_path):
    """Read a text with options, and return the frame and all notes as one text."""

    def read(text, *words, known=None, encoding="utf-8"):
        path = tmp_path / "t.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
        reading = TableReading(tuple(map(parse_reading, words)))
        frame, notes = read_table(path, "--data", reading, known)
        return frame, "\n".join(notes)

    return read


@pytest.mark.parametrize("suffix", ["tsv", "TSV", "tsv.gz", "CSV"])
def test_files_of_text_have_one_of_several_endings(tmp_path, suffix):
    path = tmp_path / f"t.{suffix}"
    NUMBERS.to_csv(path, index=False, sep="\t")
    frame, notes = read_table(path)
    pd.testing.assert_frame_equal(frame, NUMBERS)
    assert notes == [f"t.{suffix} was read with sep='\\t'; --read overrides."]


def half(k):
    """A number with a comma for its decimal sign."""
    return f"{k / 4}".replace(".", ",")


NUMBERS = pd.DataFrame({"a": range(N), "b": np.arange(N) / 4})


@pytest.mark.parametrize(
    "text, encoding, said",
    [
        (make_text("a,b", lambda k: f"{k},{k / 4}"), "utf-8", ""),
        (make_text("a,b", lambda k: f"{k},{k / 4}", "\r\n"), "utf-8", ""),
        (make_text("a,b", lambda k: f"{k},{k / 4}", "\r"), "utf-8", ""),
        (make_text("a,b", lambda k: f'"{k}","{k / 4}"'), "utf-8", ""),
        (make_text("'a','b'", lambda k: f"'{k}','{k / 4}'"), "utf-8", 'quotechar="\'"'),
        (make_text("a,b", lambda k: f"{k},{k / 4}"), "utf-8-sig", "encoding='utf-8-sig'"),
        (make_text("a,b", lambda k: f"{k},{k / 4}"), "utf-16", "encoding='utf-16'"),
        (make_text("a;b", lambda k: f"{k};{k / 4}"), "utf-8", "sep=';'; --read overrides"),
        (make_text("a;b", lambda k: f"{k};{half(k)}"), "utf-8", "sep=';', decimal=','"),
        (make_text("a\tb", lambda k: f"{k}\t{k / 4}"), "utf-8", r"sep='\t'"),
        (make_text("a|b", lambda k: f"{k}|{k / 4}"), "utf-8", "sep='|'"),
        (make_text("a  b", lambda k: f" {k}   {k / 4}"), "utf-8", r"sep='\\s+'"),
        (make_text("sep=;\na;b", lambda k: f"{k};{k / 4}"), "utf-8", "sep=';'"),
        (make_text("a, b", lambda k: f"{k}, {k / 4}"), "utf-8", "skipinitialspace=True"),
        (make_text(" a ,b", lambda k: f"{k},{k / 4}"), "utf-8", "blanks around the names"),
        (make_text("# of 2024\n# by x, y\na,b", lambda k: f"{k},{k / 4}"), "utf-8", "skiprows=2"),
        (make_text("a,b", lambda k: f"{k},{k / 4},"), "utf-8", "the empty field is left out"),
        (make_text("a,b", lambda k: f"{k},{k / 4}" + "," * (k % 2)), "utf-8", "the empty field"),
        (make_text("a,b,", lambda k: f"{k},{k / 4},"), "utf-8", "1 column without name and values"),
        (make_text(",a,b", lambda k: f"{k},{k},{k / 4}"), "utf-8", "counts the rows; it is left"),
        (make_text('"","a","b"', lambda k: f'"{k + 1}",{k},{k / 4}'), "utf-8", "counts the rows"),
        (make_text(",a,b", lambda k: f"{k * 7 % 41},{k},{k / 4}"), "utf-8", "counts the rows"),
        (make_text(",a,b", lambda k: f"{k % 20},{k},{k / 4}"), "utf-8", "counts the rows"),
        (make_text(",a,b", lambda k: f"n{k},{k},{k / 4}"), "utf-8", "another value in each row"),
        (
            make_text("a,b", lambda k: f"{k},{k},{k / 4}"),
            "utf-8",
            "holds the names of rows, is left",
        ),
    ],
)
def test_a_file_of_any_form_is_the_same_table(read, text, encoding, said):
    frame, notes = read(text, encoding=encoding)
    pd.testing.assert_frame_equal(frame, NUMBERS)
    assert said in notes and bool(said) == bool(notes)


@pytest.mark.parametrize(
    "written, said",
    [
        (lambda k: f"{k * 1000 + 0.5:,}", "'10,000.5' is read as 10000.5"),
        (lambda k: f"{k * 1000 + 0.5:,}".replace(",", "'"), "'10'000.5' is read as 10000.5"),
        (lambda k: f"${k * 1000 + 0.5:,}", "'$10,000.5' is read as 10000.5"),
        (lambda k: f"{k * 1000 + 0.5:,} USD", "is read as 10000.5"),
    ],
)
def test_thousands_and_money(read, written, said):
    frame, notes = read(make_text("a,b", lambda k: f'{k},"{written(k)}"'))
    assert (frame["b"] == np.arange(N) * 1000 + 0.5).all() and said in notes


def test_dollars_have_commas_for_thousands(read):
    frame, notes = read(make_text("a,b", lambda k: f'{k},"${k * 1000:,}"'))
    assert frame["b"].tolist() == [k * 1000 for k in range(N)]
    assert "'$10,000' is read as 10000" in notes


def test_percent(read):
    frame, notes = read(make_text("a,b", lambda k: f"{k},{k}%"))
    assert frame["b"].tolist() == list(range(N)) and "'10%' is read as 10" in notes
    with pytest.raises(CommandError, match="parts of 1 or of 100"):
        read(make_text("a,b", lambda k: f"{k},{k}%"), known={"b": Known("number")})
    with pytest.raises(CommandError, match=r"parts of 1 or of 100.*--read dtype\.b=str"):
        read(make_text("a,b", lambda k: f"{k},{k}{'%' * (k % 2)}"))


def test_a_bank_export(read):
    """Semicolons, decimal commas, points for thousands, dates, Latin-1."""
    text = make_text(
        "Datum;Betrag;Währung;Verwendungszweck",
        lambda k: f'{k % 28 + 1:02d}.01.2024;-{k + 1}.234,{k:02d};€;"Miete; März"',
    )
    frame, notes = read(text, encoding="cp1252")
    assert list(frame) == ["Datum", "Betrag", "Währung", "Verwendungszweck"]
    assert np.allclose(frame["Betrag"], [-((k + 1) * 1000 + 234 + k / 100) for k in range(N)])
    assert (frame["Währung"] == "€").all() and (frame["Datum"][0] == "01.01.2024")
    assert (frame["Verwendungszweck"] == "Miete; März").all()
    assert "encoding='cp1252', sep=';', decimal=','" in notes


def test_a_foreign_letter_far_down_in_a_file(read):
    text = "a,b\n" + "".join(f"{k},{'x' * 40}\n" for k in range(9000)) + "1,süß\n"
    frame, notes = read(text, encoding="latin-1")
    assert frame["b"].iloc[-1] == "süß" and "encoding='cp1252'" in notes


@pytest.mark.parametrize(
    "text, options",
    [
        (
            make_text("a;b", lambda k: f"{k};{k + 1}.{100 + k}"),
            {"decimal=,,thousands=.": 1100, "decimal=.": 1.1},
        ),
        (
            make_text("a,b", lambda k: f'{k},"{k + 1},{100 + k}"'),
            {"decimal=.,thousands=,": 1100, "decimal=,": 1.1},
        ),
    ],
)
def test_a_number_that_can_be_two_is_refused_with_both_options(read, text, options):
    with pytest.raises(CommandError, match="which can be") as refused:
        read(text)
    for option, first in options.items():
        assert f"--read {option} reads" in str(refused.value) or option in str(refused.value)
        assert read(text, option)[0]["b"][0] == first


def test_columns_with_one_form_of_numbers_in_a_file_decide_for_the_others(read):
    frame, _ = read(make_text("a;b;c", lambda k: f"{k + 1}.{100 + k};{half(k)};{k}"))
    assert frame["a"].tolist() == [(k + 1) * 1000 + 100 + k for k in range(N)]


@pytest.mark.parametrize("mark", ["?", "-", " ", ".", "*", "n/a", "#DIV/0!", "unknown"])
@pytest.mark.parametrize("every", [20, 3])
def test_marks_among_numbers_are_missing_and_said(read, mark, every):
    frame, notes = read(make_text("a,b", lambda k: f"{k},{mark if k % every == 0 else k / 4}"))
    expected = np.where(np.arange(N) % every, np.arange(N) / 4, np.nan)
    np.testing.assert_array_equal(frame["b"], expected)
    if mark != "n/a":  # which any reader takes as missing
        n = -(-N // every)
        told = f"column 'b': {N - n} of {N} values are numbers; not: '{mark}' ({n}), taken"
        assert told in notes


def test_numbers_are_read_to_the_last_bit(read):
    numbers = np.random.default_rng(0).normal(size=N).tolist()
    frame, _ = read(make_text("a,b", lambda k: f"{numbers[k]!r},{numbers[k]!r}"))
    marked, _ = read(make_text("a,b", lambda k: f"{numbers[k]!r},{numbers[k] if k else '?'}"))
    assert (frame["b"] == numbers).all() and (marked["b"][1:] == numbers[1:]).all()
    comma, _ = read(make_text("a;b", lambda k: f"{k};{numbers[k]!r}".replace(".", ",")))
    assert (comma["b"] == numbers).all()


def test_other_values_among_numbers_are_refused_with_options_that_read_them(read):
    text = make_text("a,b", lambda k: f"{k},{k if k % 20 else '<5'}")
    with pytest.raises(CommandError) as refused:
        read(text)
    assert "38 of 40 values are numbers; not: '<5' (2)" in str(refused.value)
    assert "--read 'na_values.b=<5' takes" in str(refused.value)
    assert read(text, "na_values.b=<5")[0]["b"].isna().sum() == 2
    assert read(text, "dtype.b=str")[0]["b"][:2].tolist() == ["<5", "1"]


def test_a_few_numbers_beside_a_text_are_a_category(read):
    frame, notes = read(make_text("a,b", lambda k: f"{k},{'3+' if k % 20 == 0 else k % 3}"))
    assert frame["b"][0] == "3+" and "38 of 40 values are numbers; not: '3+' (2). It is" in notes


@pytest.mark.parametrize("words", [["real"], ["held_out"], ["real", "held_out"]], ids=str)
def test_a_type_that_is_given_for_one_table_is_that_of_all(tmp_path, words):
    paths = {name: tmp_path / f"{name}.csv" for name in ("REAL", "--held-out", "SYNTHETIC")}
    for path in paths.values():
        path.write_text(make_text("zip,b", lambda k: f"{k:05d},{k}"))
    given = tuple(parse_reading(f"{word}.dtype.zip=str") for word in words)
    frames, _ = read_alike(paths, TableReading(given))
    assert [frame["zip"][1] for frame in frames] == ["00001"] * 3
    given += (parse_reading("synthetic.dtype.zip=float"),)
    with pytest.raises(CommandError, match="column 'zip' is str in one table and float in another"):
        read_alike(paths, TableReading(given))


def test_the_same_few_numbers_in_several_tables_are_few(tmp_path):
    texts = [
        *[make_text("a,b", lambda k: f"{k},{k % 12 if k else '12+'}")] * 2,
        make_text("a,b", lambda k: f"{k},{k % 12}"),
    ]
    paths = {name: tmp_path / f"{name}.csv" for name in ("REAL", "--held-out", "SYNTHETIC")}
    for path, text in zip(paths.values(), texts, strict=True):
        path.write_text(text)
    frames, notes = read_alike(paths)
    assert [frame["b"][1] for frame in frames] == ["1"] * 3
    assert "118 of 120 values are numbers; not: '12+' (2). It is read as text." in notes[-1]


@pytest.mark.parametrize(
    "column, kind",
    [
        (lambda k: f"2024-01-{k % 28 + 1:02d}", "text"),
        (lambda k: f"{k % 28 + 1}.01.2024", "text"),
        (lambda k: f"{k}e3", "f"),
        (lambda k: "", "f"),
        (lambda k: ("True", "False")[k % 2], "b"),
        (lambda k: f'"x, y\n{k}"', "text"),
        (lambda k: f"Name {k}", "text"),
        (lambda k: f"{k}", "i"),
    ],
)
def test_kinds_of_columns(read, column, kind):
    for header in ("a [m],Weight (kg; at entry)", "b"):
        cells = (lambda k: f"{k},{column(k)}") if "," in header else column
        if kind == "f" and not column(1) and header == "b":
            continue  # lines without a character
        frame, notes = read(make_text(header, cells))
        last = frame.iloc[:, -1]
        assert len(frame) == N and frame.columns[-1] == header.split(",")[-1] and not notes
        assert pd.api.types.is_string_dtype(last) if kind == "text" else last.dtype.kind == kind


def test_names_that_stand_there_twice(read):
    text = make_text("a,a, a", lambda k: f"{k},1,2")
    frame, notes = read(text)
    assert list(frame) == ["a", "a.1", " a"]
    assert "'a' becomes 'a.1'" in notes and "differ by blanks alone: ' a'" in notes


def test_accents_are_parts_of_their_letters_unless_a_model_knows_them_apart(read, tmp_path):
    apart, joined = "re\u0301gion", "r\xe9gion"
    towns = ["Jae\u0301n", "Ja\xe9n", "Le"]
    text = make_text(f"{apart},b", lambda k: f"{towns[k % 3]},{k}")
    frame, notes = read(text)
    assert list(frame) == [joined, "b"] and not notes
    assert frame[joined][:3].tolist() == ["Ja\xe9n", "Ja\xe9n", "Le"]
    known = {apart: Known("text", np.array(["Jae\u0301n", "Le"])), "b": None}
    frame, notes = read(text, known=known)
    assert list(frame) == [apart, "b"] and not notes
    assert frame[apart][:3].tolist() == ["Jae\u0301n", "Jae\u0301n", "Le"]
    frame, _ = read(text, known={joined: None, "b": None})
    assert list(frame) == [joined, "b"]
    pd.DataFrame({apart: [1, 2]}).to_parquet(tmp_path / "t.parquet")
    assert list(read_table(tmp_path / "t.parquet").frame) == [joined]


def test_a_column_is_named_as_its_file_has_it_or_as_it_is_typed(tmp_path):
    paths = [tmp_path / name for name in ("train.csv", "held_out.csv")]
    for path, yes, name in zip(paths, ("s\xed", "si\u0301"), ("\xf3b", "o\u0301b"), strict=True):
        pd.DataFrame({"a": range(60), name: [yes, "no"] * 30}).to_csv(path, index=False)
    frame, inside, notes = read_halves(*paths)
    assert list(frame) == ["a", "\xf3b"] and not notes and inside.sum() == 60
    assert frame["\xf3b"].value_counts().to_dict() == {"s\xed": 60, "no": 60}
    parse = make_parser().parse_args
    assert parse(["audit", "--target", "o\u0301b", "--drop", "a"]).target == "\xf3b"


def test_words_for_missing_values_among_texts(read):
    text = make_text("a,b", lambda k: f"{k},{('None', 'NA', 'Shed', '')[k % 4]}")
    frame, notes = read(text)
    assert frame["b"].isna().sum() == 30
    assert "taken as missing: 'None' (10), 'NA' (10) in 'b'; --read keep_default_na=fal" in notes
    frame, notes = read(text, "keep_default_na=false")
    assert frame["b"][:4].tolist() == ["None", "NA", "Shed", ""] and not notes
    frame, _ = read(text, "keep_default_na=false,na_values=NA,na_values.b=Shed")
    assert frame["b"].isna().tolist()[:4] == [False, True, True, False]


def test_numbers_that_begin_with_zeros(read):
    text = make_text("zip,b", lambda k: f"{k:05d},{k}")
    frame, notes = read(text)
    assert frame["zip"][1] == 1 and "--read dtype.zip=str reads them as text" in notes
    frame, notes = read(text, "dtype.zip=str")
    assert frame["zip"][1] == "00001" and not notes


@pytest.mark.parametrize(
    "text, message, option",
    [
        (
            make_text("a,b", lambda k: f"{k},1" + ",x" * (k == 9)),
            "3 fields in row 10 .* a value that holds ',' has to stand in quotation marks",
            "on_bad_lines=warn",
        ),
        (
            make_text("a,b,c", lambda k: f"{k},1" + ",2" * (k != 9)),
            "2 fields in row 10 .* the row may be cut off",
            "on_bad_lines=warn",
        ),
        (
            make_text("a,b,c", lambda k: f'"{k}",1' + ',""' * (k != 9)),
            "2 fields in row 10",
            "on_bad_lines=warn",
        ),
        (
            make_text("a,b", lambda k: f"n{k},{k},1"),
            "2 names of columns and 3 fields",
            "index_col=0",
        ),
        (
            make_text("a,b", lambda k: f"n{k},{k},1"),
            "2 names of columns and 3 fields",
            "index_col=false",
        ),
        (
            make_text("a,b", lambda k: f"n{k},{k},1,2"),
            "2 names of columns and 4",
            "skiprows=1,header=none",
        ),
        (
            make_text(",a", lambda k: f"{k * k % 7},{k}"),
            "no name for its first column",
            "index_col=0",
        ),
        (make_text("0.5,x1", lambda k: f"{k / 4},x{k % 3}"), "no names of columns", "header=none"),
        (make_text("2001,1.5", lambda k: f"{k},{k / 4}"), "no names of columns", "header=none"),
        (
            make_text("Account;5\nOf;x\n\na;b;c", lambda k: f"{k};{k};x"),
            "3 lines in front",
            "skiprows=3",
        ),
        (make_text("a;b,c", lambda k: f"{k};{k},{k}"), "divided in several ways", "sep=;"),
        (make_text("a b", lambda k: f"x {k}"), "can be divided by blanks", r"sep=\s+"),
        (
            make_text("a\tb", lambda k: f"{k}\t" + "\t" * (k == 9) + "1"),
            "3 fields in row 10",
            r"sep=\s+",
        ),
        (
            make_text("a,b", lambda k: f"{k}," + '"' * (k == 9) + "y"),
            "has no second one",
            "quoting=3",
        ),
    ],
)
def test_a_file_that_is_refused_is_read_with_the_option_that_it_names(read, text, message, option):
    with pytest.raises(CommandError, match=message) as refused:
        read(text)
    assert option in str(refused.value)
    frame, _ = read(text, option)
    assert len(frame) >= N - 1


def test_rows_of_other_lengths_are_counted(read):
    text = make_text("a,b,c", lambda k: f"{k},?,x" + ",y" * (k == 3) if k != 5 else "5,1")
    frame, notes = read(text, "on_bad_lines=warn")
    assert len(frame) == N - 1 and 3 not in frame["a"].to_numpy()
    assert "too many fields: 1; rows filled up with missing values: 1" in notes
    assert frame["c"].isna().sum() == 1 and frame["b"].notna().sum() == 1


@parametrize_refusals(
    (lambda read: read(b"PK\x03\x04"), "it is a ZIP archive, as Excel writes", CommandError),
    (lambda read: read(b"PAR1"), "it is a Parquet file", CommandError),
    (lambda read: read(b"\n\n"), "it is empty", CommandError),
    (lambda read: read(b"\xff\xfea"), "it is not text in utf-16", CommandError),
    (
        lambda read: read(
            make_text("a,b", lambda k: f"{k},{k if k % 2 else 'red'}"), known={"b": Known("number")}
        ),
        r"column 'b' holds 'red' \(20\), and the model has num",
        CommandError,
    ),
)
def test_wrong_calls_with_read_are_refused(call, words, error, read):
    check_refusal(call, words, error, read)


@pytest.mark.parametrize(
    "text, settings",
    [
        ("sep=;,decimal=,,thousands=.", [("sep", ";"), ("decimal", ","), ("thousands", ".")]),
        ('sep=";",decimal=","', [("sep", ";"), ("decimal", ",")]),
        ("decimal=,", [("decimal", ",")]),
        ("sep=,,header=None", [("sep", ","), ("header", "none")]),
        (r"sep=\t,skipinitialspace=True", [("sep", "\t"), ("skipinitialspace", "true")]),
        ("na_values=,na_values=-", [("na_values", ""), ("na_values", "-")]),
    ],
)
def test_words(text, settings):
    assert [(word, value) for _, word, _, value in parse_reading(text).settings] == settings


def test_words_of_columns_and_files():
    (setting,) = parse_reading("answers.dtype.Age (y), x=y=str").settings
    assert setting == ("answers", "dtype", "Age (y), x=y", "str")
    assert TableReading((parse_reading("answers.sep=;,decimal=,"),)).of_file("--data")[0] == {
        "decimal": ","
    }


@pytest.mark.parametrize(
    "text, message",
    [
        ("separator=;", "did you mean 'sep'?"),
        ("sep=;,decmal=,", "did you mean 'decimal'?"),
        ("foo", "the words are sep, decimal"),
        ("sep=;;", "sep must be one character"),
        ("encoding=latin-99", "encoding must be one that Python knows"),
        ("dtype.x=text", "dtype must be one of str, float, int, category"),
        ("skiprows=x", "skiprows must be a number of lines"),
    ],
)
def test_wrong_words(text, message):
    with pytest.raises(OptionError) as refused:
        parse_reading(text)
    assert message in str(refused.value)


def test_what_a_model_knows(read):
    text = make_text(
        "zip,garage,smoker,code,flag,age, Age,free",
        lambda k: (
            f"{k:05d},{('None', 'NA', 'Shed')[k % 3]},{(' yes', 'no')[k % 2]},{k % 3},"
            f"{('TRUE', 'FALSE')[k % 2]},{k if k % 9 else '?'},1,007"
        ),
    )
    known = {
        "zip": Known("text", np.array([f"{k:05d}" for k in range(N)], dtype=object)),
        "garage": Known("text", np.array(["None", "Shed"], dtype=object)),
        "smoker": Known("text", np.array(["no", "yes"], dtype=object)),
        "code": Known("text", np.array(["0.0", "1.0", "2.0"], dtype=object)),
        "flag": Known("text", np.array([False, True])),
        "age": Known("number"),
        " Age": Known(),
        "free": Known("text"),
    }
    frame, notes = read(text, known=known)
    assert list(frame) == list(known)
    assert frame["zip"][7] == "00007" and (frame["free"] == "007").all()
    assert frame["garage"][0] == "None" and frame["garage"].isna().sum() == 13
    assert set(frame["smoker"]) == {"yes", "no"} and "blanks around ' yes' (20) are left" in notes
    assert frame["code"].tolist()[:3] == ["0.0", "1.0", "2.0"]
    assert frame["flag"].tolist()[:2] == [True, False]
    assert frame["age"].isna().sum() == 5 and frame["age"][1] == 1


def test_categories_that_a_model_stores(read):
    dtype = pd.CategoricalDtype(["R2", "R1"])
    text = make_text("a,b,c", lambda k: f"{k},{('R1', 'R2', '', 'R9')[k % 4]},{k % 3}")
    known = {"b": Known("text", np.array(["R2", "R1"], dtype=object), dtype)}
    known["c"] = Known(dtype=pd.CategoricalDtype())
    frame, notes = read(text, known=known)
    assert frame["b"].dtype == dtype and frame["b"].isna().sum() == 20
    assert "the categories of the model lack 'R9' (10), taken as missing" in notes
    assert frame["c"].cat.categories.tolist() == [0, 1, 2]


def test_missing_values_that_an_encoder_knows_as_none(read):
    known = {"b": Known("text", np.array(["x", "y"], dtype=object), has_none=True)}
    frame, _ = read(make_text("a,b", lambda k: f"{k},{('x', 'y', '')[k % 3]}"), known=known)
    assert frame["b"][2] is None


def test_tables_of_one_command_agree_on_a_column(tmp_path):
    contents = {"one": ("?", "?"), "two": ("1", "2.5"), "three": ("4", "-")}
    for name, values in contents.items():
        (tmp_path / f"{name}.csv").write_text("a,b\n" + "".join(f"x,{v}\n" for v in values))
    paths = {f"--{name}": tmp_path / f"{name}.csv" for name in contents}
    frames, notes = read_alike(paths)
    assert [frame["b"].dtype.kind for frame in frames] == ["f"] * 3
    assert "3 of 6 values are numbers; not: '?' (2) and '-' (1)" in notes[0]


def test_frames_of_parquet_are_treated_alike(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "t.parquet"
    frame = pd.DataFrame({"a": ["1.5", "?", "2"] * 9, "zip": ["00501", "00502", "1"] * 9})
    frame.to_parquet(path)
    found, notes = read_table(path)
    assert found["a"].isna().sum() == 9 and "18 of 27 values are numbers" in notes[0]
    known = {"zip": Known("text"), "a": Known("number")}
    assert read_table(path, known=known).frame["zip"].tolist() == frame["zip"].tolist()


def write_people(path, seed, write):
    rng = np.random.default_rng(seed)
    rows = zip(rng.integers(18, 90, 120), rng.normal(75, 12, 120).round(1), rng.normal(size=120))
    path.write_text(write(rows))


WRITE = {
    "trailing commas": lambda rows: (
        "age,weight,x\n" + "".join(f"{a},{b},{c}," + "\n" for a, b, c in rows)
    ),
    "bank": lambda rows: (
        "age;weight;x\n" + "".join(f"{a};{b};{c}\n".replace(".", ",") for a, b, c in rows)
    ),
    "index": lambda rows: (
        ", age,weight,x\n" + "".join(f"{k},{a},{b},{c}\n" for k, (a, b, c) in enumerate(rows))
    ),
    "asterisks": lambda rows: (
        "age,weight,x\n"
        + "".join(f"{a},{'*' if k % 30 == 0 else b},{c}\n" for k, (a, b, c) in enumerate(rows))
    ),
}


# How each is read, tests above show; in one audit a column is left out as well.
@pytest.mark.usefixtures("quick_tables")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name != "index")) for name in WRITE]
)
def test_a_table_that_is_its_own_training_data_is_a_leak_in_any_file(tmp_path, capsys, name):
    names = {"made.csv": 0, "real.csv": 0, "held.csv": 1}
    for file, seed in names.items():
        write_people(tmp_path / file, seed, WRITE[name])
    paths = [str(tmp_path / file) for file in names]
    main(["table", *paths, "--format", "json"])
    document = json.loads(capsys.readouterr().out)
    assert document["evidence"] == "leak"
    assert any("real.csv" in note or "column 'weight'" in note for note in document["notes"])


def test_an_audit_keeps_how_its_tables_were_read(run, tmp_path, handed_over):
    rng = np.random.default_rng(0)
    x = rng.normal(size=240).round(3)
    label = np.where(x > 0, "churn", "stay")
    lines = [
        f"{('?' if k % 50 == 0 else a)};{k % 70};{b}" for k, (a, b) in enumerate(zip(x, label))
    ]
    text = "\n".join(["charges;age;label", *lines]).replace(".", ",")
    (tmp_path / "t.csv").write_text(text)
    options = ["--data", tmp_path / "t.csv", "--target", "label", "--estimator", "logistic"]
    options += ["--quick", "--jobs", "1", "--format", "json"]
    code, out, _ = run(*options, "--read", "thousands=.", "dtype.age=int")
    document = json.loads(out)
    X, is_read = handed_over[0].records.X, np.arange(240) % 50 != 0
    assert code in (0, 4)
    np.testing.assert_array_equal(X["charges"].to_numpy(float)[is_read], x[is_read])
    np.testing.assert_array_equal(X["age"], np.arange(240) % 70)
    notes = "\n".join(document["notes"])
    assert "t.csv was read with sep=';'" in notes and "column 'charges': 235 of 240 val" in notes
    command = document["settings"]["command"]
    assert command["read"] == ["thousands=.", "dtype.age=int"]
    assert "--read thousands=. dtype.age=int" in command["repeat"]


def test_options_of_reading_in_a_file(run, tmp_path):
    (tmp_path / "t.csv").write_text(make_text("a;b", lambda k: f"{k};{k + 1}.{100 + k}"))
    config = tmp_path / "saved.toml"
    options = ["--data", tmp_path / "t.csv", "--target", "zzz"]
    code, _, _ = run(*options, "--read", "decimal=,,thousands=.", "--save-config", config)
    assert code == 2 and 'read = ["decimal=,,thousands=."]' in config.read_text()
    for text in (config.read_text(), '[read]\ndecimal = ","\nthousands = "."\n'):
        config.write_text(text)
        code, _, err = run("--config", config, *options)
        assert code == 2 and "column 'zzz' not found" in err


def test_answers_are_read_in_the_same_way(refuse, data, tmp_path):
    (tmp_path / "answers.csv").write_text("<=50K;>50K\n0,5;0,5\n")
    options = ["--data", data, "--target", "income", "--members", "trained"]
    message = refuse(*options, "--answers", tmp_path / "answers.csv")
    assert message == "--answers: answers.csv has 1 rows and the table 240 rows"
