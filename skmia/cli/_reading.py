"""Reading tables from files, with what is recognized said and what is uncertain refused."""

import csv
import difflib
import re
import shlex
import warnings
import zlib
from typing import NamedTuple

import numpy as np
import pandas as pd

from .._core.escaping import join_names, visible
from .._core.missing_marks import MISSING, is_mark
from .._core.text import compose_accents
from ._columns import ColumnWords, is_known_text, settle_column
from ._dialect import ENCODINGS, count_fields, count_separators, recognize_dialect
from ._numbers import NumberFormat, list_formats
from ._options import CommandError, check_file, tell
from ._other_files import TABLES, TEXTS, read_suffix

# Numbers are read to the last bit, as attacks on files compare them with those that a model stores.
_EXACT = {} if int(pd.__version__.split(".")[0]) > 2 else {"float_precision": "round_trip"}
_MOST_COLUMNS = 20_000  # each is transformed on its own, in time that grows faster than they do
_MOST_NAMES, _MOST_NOTES, _MOST_LISTED = 5, 12, 20
_MOST_STEPS = 0.9  # of a count of rows that are one
_ROW_NAMES, _BEYOND = "(names of rows)", "(beyond the header)"
_BOOLS = frozenset(["true", "false"])


class TableReading(NamedTuple):
    """How the tables of a command are to be read."""

    words: tuple = ()  # of ``--read``
    left_out: frozenset = frozenset()  # columns of ``--drop``, whose values do not matter
    named: frozenset = frozenset()  # columns that options name, which must stand there once
    labels: tuple = ()  # the target with the texts that are classes of a model, as a pair

    def of_file(self, option):
        """Return what is given for a file: of all columns, and of single ones by word and name."""
        file, given, of_columns = _name_file_option(option), {}, {"na_values": {}, "dtype": {}}
        for setting in (one for words in self.words for one in words.settings):
            name, word, column, value = setting
            if name not in (None, file):
                continue
            if word == "na_values":
                of_columns[word].setdefault(column, []).append(value)
            elif word == "dtype":
                of_columns[word][column] = value
            else:
                given[word] = value
        return given, of_columns


_NAMING = "target", "group_by", "members", "weights"  # options of a column
AS_FOUND = TableReading()


def make_reading(arguments, classes=()):
    """Return what a command says of how its tables are to be read.

    classes: of a model, of which a text such as "NA" is no missing value of the target.
    """
    named = {getattr(arguments, name, None) for name in _NAMING}
    labels = ((getattr(arguments, "target", None), frozenset(classes)),)
    return TableReading(tuple(arguments.read), frozenset(arguments.drop), frozenset(named), labels)


class ReadTable(NamedTuple):
    """A table, and sentences on what was recognized in its file or changed."""

    frame: pd.DataFrame  # with the names of its columns as text
    notes: list


def read_table(path, option="--data", reading=AS_FOUND, known=None):
    """Read a table from a file, with the names of its columns as text.

    known: what a model knows (KnownColumn) of each column by its name. The names of all features
    belong in it, those without knowledge too, since they are kept as they stand in the file.
    """
    (frame,), notes = read_alike({option: path}, reading, known)
    return ReadTable(frame, notes)


def _name_file_option(option):
    """Return the word of a file in ``--read``, by the option that gives it."""
    return option.strip("-").lower().replace("-", "_")


def read_alike(paths, reading=AS_FOUND, known=None):
    """Read tables of the same columns, by the option of each, and decide on columns of all."""
    known = {str(name): one for name, one in (known or {}).items()}
    files = [_read_table_file(path, option, reading, known) for option, path in paths.items()]
    notes = [note for file in files for note in file.notes]
    names = dict.fromkeys(name for file in files for name in file.frame.columns)
    _check_named(files, reading, names)
    told = []
    for name in names:
        there = [file for file in files if name in file.frame.columns]
        if name not in reading.left_out:
            told += _settle_in_all_tables(name, there, known.get(name))
    if len(told) > _MOST_NOTES:
        left = len(told) - _MOST_NOTES
        told = [*told[:_MOST_NOTES], f"The same holds for {left} other columns."]
    return [file.frame for file in files], [*notes, *told, *_describe_missing(files)]


class _TableFile:
    """A file with what was read of it so far."""

    def __init__(self, path, option, given, of_columns):
        self.path, self.option, self.given, self.of_columns = path, option, given, of_columns
        self.frame, self.dialect, self.names, self.notes = None, None, None, []
        self.raw = set()  # columns that are texts as they stand in the file
        self.labels = {}  # texts that are classes, by the name of the target
        self.missing = {}  # words that were taken as missing, by the name of a text column

    def refuse(self, text):
        raise CommandError(f"{self.option}: {self.path.name} {text}")

    def note(self, text):
        self.notes.append(f"{self.path.name}: {text}")


def _read_table_file(path, option, reading, known):
    """Read a file of any kind into a frame whose columns are not yet settled."""
    check_file(path, option, or_folder=True)
    file = _TableFile(path, option, *reading.of_file(option))
    file.labels = dict(reading.labels)
    try:
        suffix = read_suffix(path)
        if path.is_dir() or suffix == ".parquet":
            file.frame = pd.read_parquet(path)
        elif suffix in (".arrow", ".feather"):
            file.frame = pd.read_feather(path)
        elif suffix in TEXTS:
            _read_text_file(file, reading, known)
        else:
            raise CommandError(
                f"{option}: {path.name} is neither {', '.join(TABLES)} nor a folder of parquet"
            )
    except ImportError:
        raise CommandError(
            f"{option}: reading {path.name} needs a package: pip install pyarrow"
        ) from None
    except UnicodeError as error:
        raise CommandError(
            f"{option}: {path.name} cannot be read: it is not text in {file.dialect.encoding}; "
            "--read encoding=latin-1 reads any bytes"
        ) from error
    except (ValueError, OSError, EOFError, zlib.error) as error:
        raise CommandError(f"{option}: {path.name} cannot be read: {tell(error)}") from error
    _check_file_width(file, file.frame.shape[1])
    names = [str(column) for column in file.frame.columns]
    file.frame.columns = [name if name in known else compose_accents(name) for name in names]
    if any(name.endswith("\0") for name in file.frame.columns):  # which arrays of text lose
        file.refuse("has a column whose name ends in a null character")
    if file.frame.empty:
        file.refuse("has no rows")
    file.frame = file.frame.reset_index(drop=True)
    return file


def _check_file_width(file, n_columns):
    if n_columns > _MOST_COLUMNS:
        file.refuse(
            f"has {n_columns:,} columns, and the command takes {_MOST_COLUMNS:,} at most; audit "
            "from Python"
        )


def _read_text_file(file, reading, known):
    """Read a text file into the frame of its columns."""
    dialect = file.dialect = recognize_dialect(file.path, file.option, file.given)
    _check_file_width(file, dialect.n_fields)
    file.names, leaving = _name_fields(file, reading.named, known)
    _check_has_header(file)
    kinds = _recognize_kinds(file, known)
    file.raw = {name for name, kind in kinds.items() if kind == "text"}
    file.frame = _parse_file(file, kinds)
    if file.dialect.told:
        told = ", ".join(f"{word}={value!r}" for word, value in file.dialect.told.items())
        file.notes.insert(0, f"{file.path.name} was read with {told}; --read overrides.")
    _check_lengths(file)
    if leaving:
        file.frame = file.frame.drop(columns=leaving)
    _tell_zeros(file, known)
    _leave_out_index(file, {*known, *reading.left_out, *reading.named})


def _name_fields(file, named, known):
    """Names of the fields of each row, and those that hold nothing or the names of the rows."""
    header, n_fields, rows = file.dialect.header, file.dialect.n_fields, file.dialect.rows
    if header is None:
        return [str(k) for k in range(n_fields)], []
    names, leaving = [*header], []
    longer = [row for row in rows if len(row) == len(names) + 1]
    if longer and all(row[-1] == "" for row in longer):
        file.note("rows that end in a separator beyond the header: the empty field is left out.")
    elif len(names) == n_fields - 1 and rows:
        asked = file.given.get("index_col")
        if asked == "0" or (asked is None and _are_numbers_of_rows([row[0] for row in rows])):
            leaving = [_ROW_NAMES]
            names = leaving + names
            file.note(
                "the header has a name less than rows have fields; the first field, which holds "
                "the names of rows, is left out (--read index_col=false leaves out the last one)."
            )
        elif asked is None:
            file.refuse(
                f"has {len(names)} names of columns and {n_fields} fields in each row; --read "
                "index_col=0 takes the first field as names of rows and leaves it out, --read "
                "index_col=false leaves out the last one"
            )
    elif len(names) == n_fields + 1 and names[-1] == "":
        names.pop()  # the header alone ends in a separator
    elif len(names) != n_fields and rows:
        if "\n" in rows[-1][-1]:
            _refuse_open_quote(file, len(rows))
        lines = file.dialect.n_skipped + 1
        file.refuse(
            f"has {len(names)} names of columns and {n_fields} fields in most rows; --read "
            f"skiprows={lines},header=none numbers the columns"
        )
    return _make_unique(file, names, named, known), leaving


def _are_numbers_of_rows(texts):
    """Return whether texts are whole numbers, each another one."""
    digits = all(text.isdecimal() for text in texts)
    return digits and len(set(map(int, texts))) == len(texts)


def _make_unique(file, names, named, known):
    """Strip names, and number those that are empty or stand there twice, as pandas does.

    Accents are composed, as they are typed, unless the model knows the name as it is.
    """
    names = [name if name in known else compose_accents(name) for name in names]
    stripped = [name if name in known else name.strip() for name in names]
    changed = [name for name, other in zip(names, stripped, strict=True) if name != other]
    if changed and len(set(stripped)) == len(stripped):
        shown = join_names([repr(visible(name)) for name in changed if name.strip()], _MOST_NAMES)
        if shown:
            file.note(f"blanks around the names of columns are left out: {shown}.")
        names = stripped
    elif changed:
        file.note(f"columns whose names differ by blanks alone: {visible(changed[0])!r}.")
    found, twice = [], []
    for place, name in enumerate(names):
        unique = name = name if name.strip() else f"Unnamed: {place}"
        count = 0
        while unique in found or (count and unique in names):
            count += 1
            unique = f"{name}.{count}"
        if count:
            if name in named:
                skipped = file.dialect.n_skipped + 1
                file.refuse(
                    f"has two columns {visible(name)!r}; give one another name, or number all "
                    f"columns with --read skiprows={skipped},header=none"
                )
            twice.append(f"{visible(name)!r} becomes {visible(unique)!r}")
        found.append(unique)
    if twice:
        file.note(f"columns of the same name: the second {join_names(twice, _MOST_NAMES)}.")
    return found


def _columns_of(file):
    """Return the texts of each column in the first rows."""
    rows = [row for row in file.dialect.rows if len(row) == file.dialect.n_fields]
    return dict(zip(file.names, zip(*rows, strict=True))) if rows else {}


def _check_has_header(file):
    """Refuse a first line of values in place of names."""
    header = file.dialect.header
    if header is None or "header" in file.given or not file.dialect.rows:
        return
    if file.option == "--answers":  # whose columns have the names of classes, such as 0 and 1
        return
    columns = list(_columns_of(file).values())
    numeric = [all(list_formats(text) for text in column if text) for column in columns]
    if not any(numeric) or len(header) != len(columns):
        return
    triples = list(zip(header, columns, numeric, strict=True))
    if not all(list_formats(name) if of_numbers else True for name, _, of_numbers in triples):
        return
    texts = [(name, column) for name, column, of_numbers in triples if not of_numbers]
    if texts and not any(name in column for name, column in texts):
        return
    numbers = [name for name, _, of_numbers in triples if of_numbers]
    increasing = all(name.strip().isdecimal() for name in numbers) and (
        len(numbers) > 1 and [*map(int, numbers)] == sorted({*map(int, numbers)})
    )
    if not texts and increasing:  # years, or places of pixels
        return
    shown = ", ".join(f"'{visible(name)}'" for name in header[:3])
    file.refuse(
        f"has no names of columns, its first line is a row of values: {shown}; --read header=none "
        "numbers the columns ('0', '1', ...)"
    )


def _recognize_kinds(file, known):
    """Whether each column holds numbers or texts in the first rows, or by what is known of it."""
    kinds, samples = {}, _columns_of(file)
    form = file.dialect.decimal or "."
    for name in file.names:
        wanted = _get_column_word(file, "dtype", name)
        what = known.get(name)
        if wanted in ("str", "category") or (wanted is None and is_known_text(what)):
            kinds[name] = "text"
            continue
        missing, texts = _list_missing_words(file, name), {*samples.get(name, ())}
        values = {text for text in texts if not (text in missing or is_mark(text))}
        is_plain = all(
            any(one.decimal == form and not one.thousands for one in list_formats(text))
            or text.strip().lower() in _BOOLS
            for text in values
        )
        # Marks alone may be values.
        kinds[name] = "number" if is_plain and (values or not texts - {""}) else "text"
    return kinds


def _get_column_word(file, word, name):
    of = file.of_columns[word]
    return of.get(name, of.get(None))


def _get_wanted_type(name, files):
    """Return the type that ``--read`` gives a column: in one table is in all."""
    given = {_get_column_word(file, "dtype", name): None for file in files}
    wanted = [kind for kind in given if kind is not None]
    if len(wanted) > 1:
        raise CommandError(
            f"--read dtype: column {name!r} is {wanted[0]} in one table and {wanted[1]} in "
            "another; it has one type in all of them"
        )
    return wanted[0] if wanted else None


def _list_missing_words(file, name):
    """Return words that are taken as missing in a column of texts.

    Other files than text files have missing values of their own.
    """
    is_kept = file.given.get("keep_default_na") == "false" or file.dialect is None
    words = [] if is_kept else MISSING - file.labels.get(name, set())
    given = file.of_columns["na_values"]
    return {*words, *given.get(None, ()), *given.get(name, ())}


def _parse_file(file, kinds, only=None):
    """Read the columns of the file, or some: texts as they stand, and numbers as numbers."""
    dialect, given = file.dialect, file.given
    missing = ({} if only else {_BEYOND: [""]}) | {
        name: [] if kinds[name] == "text" else [*MISSING, *_list_missing_words(file, name)]
        for name in file.names
    }
    options = {
        "sep": dialect.sep,
        "quotechar": dialect.quotechar or '"',
        "quoting": csv.QUOTE_MINIMAL if dialect.quotechar else csv.QUOTE_NONE,
        "skipinitialspace": dialect.skipinitialspace,
        "decimal": dialect.decimal or ".",
        "comment": given.get("comment"),
        "skiprows": dialect.n_skipped + (dialect.header is not None),
        # Past the header, so that names may be more than fields of the first row.
        "header": None,
        "names": file.names if only else [*file.names, _BEYOND],
        "index_col": False,
        "usecols": only,
        "keep_default_na": False,
        "na_values": missing,
        "dtype": {name: str for name, kind in kinds.items() if kind == "text"},
        "on_bad_lines": "skip" if given.get("on_bad_lines") == "warn" else "error",
        "low_memory": False,
        **_EXACT,
    }
    try:
        with warnings.catch_warnings():
            # Values beyond all names, unless those of some columns are read once more.
            action = "error" if only is None else "ignore"
            warnings.simplefilter(action, pd.errors.ParserWarning)
            return pd.read_csv(file.path, encoding=dialect.encoding, **options)
    except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
        _refuse_lengths(file, error)
    except UnicodeDecodeError:
        if "encoding" in given or dialect.encoding not in ("utf-8", *ENCODINGS):
            raise
        later = ("utf-8", *ENCODINGS).index(dialect.encoding) + 1
        file.dialect = dialect._replace(encoding=("utf-8", *ENCODINGS)[later])
        file.dialect.told["encoding"] = file.dialect.encoding
        return _parse_file(file, kinds, only)


def _refuse_open_quote(file, row):
    file.refuse(
        f"cannot be read: a quotation mark in row {row} has no second one (--read quoting=3 reads "
        "quotation marks as any other character)"
    )


def _refuse_lengths(file, error=None):
    """Name the first row that has other fields than the header."""
    counts, first = count_fields(file.path, file.dialect)
    n_usual = len(file.names)
    odd = {length: row for length, row in first.items() if length != n_usual}
    opened = re.search(r"EOF inside string starting at row (\d+)", str(error))
    if not opened and not odd:
        file.refuse("cannot be read: its lines cannot be divided into columns")
    if opened:
        _refuse_open_quote(file, opened[1])
    length = min(odd, key=odd.get)
    n_odd = sum(counts[one] for one in odd)
    rows = "no other row is" if n_odd == 1 else f"{n_odd:,} rows are"
    reason = "the row may be cut off"
    if length > n_usual and file.dialect.sep in "\t ":
        reason = r"--read 'sep=\s+' takes several blanks or tabs for one"
    elif length > n_usual:
        reason = f"a value that holds {file.dialect.sep!r} has to stand in quotation marks"
    file.refuse(
        f"has {length} {'field' if length == 1 else 'fields'} in row {odd[length]:,} and "
        f"{n_usual} names of columns ({rows} of another length); {reason}; --read "
        "on_bad_lines=warn leaves out longer rows and fills up shorter ones"
    )


def _tell_zeros(file, known):
    """Say which numbers begin with zeros, as codes do, where no model knows the column."""
    names = [
        name
        for name, texts in _columns_of(file).items()
        if name in file.frame.columns
        and name not in file.raw
        and getattr(known.get(name), "kind", None) is None
        and any(text[:1] == "0" and len(text) > 1 and text.isdecimal() for text in texts)
    ]
    for name in names[:_MOST_NAMES]:
        file.note(
            f"column {name!r} holds numbers that begin with a zero; --read "
            f"{shlex.quote(f'dtype.{name}=str')} reads them as text."
        )


def _check_lengths(file):
    """Refuse rows with too few fields, whose last value is missing; say how many if it is asked."""
    dialect, frame, n_fields = file.dialect, file.frame, len(file.names)
    beyond = frame.pop(_BEYOND).notna()
    if file.given.get("on_bad_lines") == "warn":
        counts, _ = count_fields(file.path, dialect)
        file.frame = frame[~beyond]
        n_long = counts.total() - len(file.frame)
        n_short = sum(number for length, number in counts.items() if length < n_fields)
        if n_long or n_short:
            file.note(
                f"rows left out because of too many fields: {n_long:,}; rows filled up with "
                f"missing values: {n_short:,} (on_bad_lines)."
            )
        return
    if beyond.any() and file.given.get("index_col") != "false":
        _refuse_lengths(file)
    last = frame.iloc[:, -1]
    if n_fields == 1 or dialect.sep == r"\s+" or not _lacks_a_value(last):
        return
    lengths = {len(row) for row in dialect.rows}
    usual = lengths.pop() if len(lengths) == 1 else 0
    if usual < n_fields or count_separators(file.path, dialect) != len(frame) * (usual - 1):
        counts, _ = count_fields(file.path, dialect)
        if min(counts) < n_fields:
            _refuse_lengths(file)


def _lacks_a_value(column):
    """Return whether a value is missing, or is a text without a character."""
    return column.isna().any() or (column.dtype.kind not in "biuf" and column.isin([""]).any())


def _leave_out_index(file, kept):
    """Leave out columns without a name that hold names of rows, as to_csv writes, or nothing."""
    name = file.frame.columns[0]
    asked = file.given.get("index_col")
    if re.fullmatch(r"Unnamed: 0(\.\d+)*", name) and name not in kept and asked != "false":
        what = _describe_index(file.frame[name])
        if asked is None and (what is None or file.frame.shape[1] == 1):
            file.refuse(
                "has no name for its first column, whose values repeat, as "
                f"'{visible(file.frame[name].iloc[0])}'; --read index_col=0 leaves it out, --read "
                f"index_col=false keeps it as {name!r}"
            )
        file.note(
            f"the first column has no name and {what or 'is asked to be left out'}; it is left out "
            "(--read index_col=false keeps it)."
        )
        file.frame = file.frame.drop(columns=name)
    empty = [
        name
        for name in file.frame.columns
        if re.fullmatch(r"Unnamed: \d+", name) and name not in kept
        if (file.frame[name].isna() | file.frame[name].isin([""])).all()
    ]
    if empty:
        n = len(empty)
        file.note(f"{n} {'column' if n == 1 else 'columns'} without name and values left out.")
        file.frame = file.frame.drop(columns=empty)


def _describe_index(values):
    """Return what makes values names of rows; None if nothing does."""
    if values.isna().any() or values.dtype.kind in "fb":
        return None
    if values.dtype.kind in "iu" and len(values) > 1:
        # As of several tables, one below the other.
        counts = float((np.diff(values.to_numpy()) == 1).mean()) >= _MOST_STEPS
        return "counts the rows" if counts or values.is_unique else None
    return "holds another value in each row" if values.is_unique else None


def _check_named(files, reading, names):
    """Refuse columns of ``--read`` that no table has."""
    if any(file.option in ("--answers", "--validation") for file in files):
        return
    settings = [one for words in reading.words for one in words.settings]
    options = [_name_file_option(file.option) for file in files]
    for of, word, column, _ in settings:
        if column is not None and of in (None, *options) and column not in names:
            hint = suggest_columns(column, list(names))
            raise CommandError(f"--read {word}: column {column!r} not found; {hint}")


def _read_raw(file, name):
    """Read a column once more, as the texts that stand in the file."""
    kinds = dict.fromkeys(file.names, "number") | {name: "text"}
    if file.given.get("on_bad_lines") != "warn":
        return _parse_file(file, kinds, [name])[name]
    frame = _parse_file(file, kinds)  # with what tells which rows are left out
    return frame.loc[frame[_BEYOND].isna(), name].reset_index(drop=True)


def suggest_columns(name, names):
    """Return the columns that a name may stand for, or all of them, as the end of a sentence."""
    close = difflib.get_close_matches(name, names, cutoff=0.6)
    if close:
        return f"did you mean {' or '.join(map(repr, close))}?"
    more = ", ..." if len(names) > _MOST_LISTED else ""
    return f"the columns are {', '.join(map(repr, names[:_MOST_LISTED]))}{more}"


def _check_points(file, name, column):
    """Refuse numbers as 1.234 where nothing tells whether a point is the decimal sign."""
    dialect = file.dialect
    if dialect is None or dialect.sep == "," or dialect.decimal or column.dtype.kind != "f":
        return
    if not _can_be_thousands(_columns_of(file).get(name, ())):
        return
    texts = _read_raw(file, name).dropna().unique()
    if _can_be_thousands(texts):
        text = next(text for text in texts if "." in text)
        file.refuse(
            f"has '{visible(text)}' in column {name!r}, which can be {text.replace('.', '')} or "
            f"{text}: --read decimal=,,thousands=. reads the former, --read decimal=. the latter"
        )


def _can_be_thousands(texts):
    texts = [text for text in texts if not is_mark(text)]
    thousands = [NumberFormat(",", ".") in list_formats(text) for text in texts]
    return any("." in text for text in texts) and all(thousands)


def _settle_in_all_tables(name, files, known):
    """Decide what a column is in all tables, and return sentences on it.

    What a point is, ``_check_points`` asks of each file alone, before ``settle_column`` sees all.
    """
    words = ColumnWords(
        name,
        _get_wanted_type(name, files),
        [file.dialect.decimal if file.dialect else None for file in files],
        [file.given.get("thousands") for file in files],
        all(
            file.dialect is None
            or file.dialect.decimal == "."
            or (file.dialect.sep == "," and file.dialect.decimal is None)
            for file in files
        ),
        [_list_missing_words(file, name) for file in files],
        known,
    )
    columns = [file.frame[name] for file in files]
    for file, column in zip(files, columns, strict=True):
        _check_points(file, name, column)

    def read_raw(place):
        file = files[place]
        return (
            file.frame[name] if file.dialect is None or name in file.raw else _read_raw(file, name)
        )

    settled = settle_column(columns, words, read_raw, [file.option for file in files])
    is_open = known is not None and known.dtype is not None and known.dtype.categories is None
    if is_open or words.wanted == "category":  # the same in all tables
        dtype = pd.concat(settled.columns).astype("category").dtype
        settled = settled._replace(columns=[one.astype(dtype) for one in settled.columns])
    for file, column, missing in zip(files, settled.columns, settled.missing, strict=True):
        if column is not file.frame[name]:
            file.frame[name] = column
        if missing:
            file.missing[name] = missing
    return settled.notes


def _describe_missing(files):
    """Return sentences on words that were taken as missing in columns of texts."""
    notes = []
    for file in files:
        shown = [
            f"{', '.join(f'{visible(word)!r} ({n:,})' for word, n in words.items())} in {name!r}"
            for name, words in file.missing.items()
        ]
        if shown:
            notes.append(
                f"{file.path.name}: taken as missing: {join_names(shown, _MOST_NAMES)}; --read "
                "keep_default_na=false reads such words as values."
            )
    return notes
