"""How a text file holds a table: its encoding, separator, header and decimal sign."""

import codecs
import csv
import gzip
import io
import re
from collections import Counter
from typing import NamedTuple

from .._core.escaping import visible
from ._numbers import find_decimals, is_number_text
from ._options import CommandError

_BYTES = 1 << 18  # of the beginning of a file, by which it is recognized
_ROWS = 1000
_SEPARATORS = ",;\t|"
_BLANKS = r"\s+"
# Rows of one length among those of a table, and lines that may stand in front of its header.
_MOST_ROWS, _MOST_LINES = 0.9, 30
_BOMS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_FOREIGN = {b"PK\x03\x04": "a ZIP archive, as Excel writes", b"PAR1": "a Parquet file"}
_FOREIGN |= {b"\xd0\xcf\x11\xe0": "an old Excel file", b"ARROW1": "an Arrow file"}
_FOREIGN |= {b"\x1f\x8b": "a gzip file, which is called .csv.gz"}
_OTHER = {",": ".", ".": ","}  # decimal sign beside a sign of thousands
# Of single bytes; the second one reads any byte.
ENCODINGS = "cp1252", "latin-1"


class FileDialect(NamedTuple):
    """How a text file holds a table, with the rows by which it was recognized."""

    encoding: str
    sep: str
    quotechar: str | None  # None if none is
    skipinitialspace: bool
    n_skipped: int  # lines in front of the header
    header: list | None  # names as they stand; None if there are none
    n_fields: int  # of most rows
    rows: list  # of texts, the first ones of the file
    decimal: str | None  # None if nothing tells: "." is read, and a column may say otherwise
    told: dict  # what was recognized and differs from what is usual, in words of pandas


def open_bytes(path):
    """Open a file, or what a file of gzip holds."""
    return gzip.open(path) if path.name.endswith(".gz") else path.open("rb")


def _read_beginning(path):
    """Return the first bytes of a file, or of very many columns their names and some rows."""
    with open_bytes(path) as file:
        start = file.read(_BYTES)
        if b"\n" not in start and b"\r" not in start:
            start += file.readline()
            start += file.read(len(start))
    return start


def recognize_dialect(path, option, given):
    """Recognize how a text file holds a table, unless ``--read`` says it."""
    start = _read_beginning(path)
    if not start.strip():
        raise CommandError(f"{option}: {path.name} cannot be read: it is empty")
    for mark, kind in _FOREIGN.items():
        if start.startswith(mark):
            raise CommandError(f"{option}: {path.name} cannot be read as text: it is {kind}")
    told = {}
    encoding = _tell_recognized(
        told, "encoding", given, lambda: _recognize_encoding(start), "utf-8"
    )
    text = decode(start, encoding, path, option)
    if len(start) >= _BYTES:  # the last line may be cut off
        text = text[: max(text.rfind("\n"), text.rfind("\r")) + 1] or text
    lines = io.StringIO(text, newline="").readlines()
    n_skipped = int(given.get("skiprows", 0))
    if not n_skipped and re.fullmatch(r"\"?sep=.\"?\s*", lines[0]):  # for Excel
        told["sep"], n_skipped = lines[0].strip('" \r\n')[-1], 1
        given = {"sep": told["sep"]} | given
    lines = _leave_out_comments(lines[n_skipped:], given.get("comment")) or [""]
    shape = _recognize_shape(lines, given, path, option)
    if "sep" not in given and shape.sep != ",":
        told["sep"] = shape.sep
    quotechar = shape.quotechar
    if quotechar not in (_get_quotechar(given), None):
        told["quotechar"] = quotechar
    n_skipped += shape.n_lines
    if shape.n_lines:
        told["skiprows"] = n_skipped
    begin = lines[shape.n_lines :]
    rows = _split_lines(begin, shape.sep, quotechar, False)
    if not rows:
        where = f" behind the first {n_skipped:,}" if n_skipped else ""
        raise CommandError(f"{option}: {path.name} cannot be read: no line holds a value{where}")
    has_spaces = _tell_recognized(
        told, "skipinitialspace", given, lambda: _has_spaces(rows, shape.sep, quotechar), False
    )
    has_spaces = str(has_spaces).lower() == "true"
    if has_spaces:
        rows = _split_lines(begin, shape.sep, quotechar, True)
    header = None if given.get("header") == "none" else rows.pop(0)
    n_fields = shape.n_fields
    decimal = _OTHER.get(given.get("thousands"), given.get("decimal"))
    if decimal is None:
        decimal = find_decimals(zip(*(row for row in rows if len(row) == n_fields), strict=True))
        if decimal == ",":
            told["decimal"] = decimal
    return FileDialect(
        encoding, shape.sep, quotechar, has_spaces, n_skipped, header, n_fields, rows, decimal, told
    )


def _tell_recognized(told, word, given, recognize, usual):
    """Return what is given for a word, or else what is recognized, which is noted if unusual."""
    if word in given:
        return given[word]
    found = recognize()
    if found != usual:
        told[word] = found
    return found


def _recognize_encoding(start):
    for mark, encoding in _BOMS.items():
        if start.startswith(mark):
            return encoding
    zeros = start[1::2].count(0), start[::2].count(0)
    if max(zeros) > 0.4 * len(start[1::2]) and min(zeros) < 0.1 * len(start):
        return "utf-16-le" if zeros[0] > zeros[1] else "utf-16-be"
    return next(one for one in ("utf-8", *ENCODINGS) if _decodes(start, one))


def _decodes(start, encoding):
    try:
        codecs.getincrementaldecoder(encoding)().decode(start)
    except UnicodeDecodeError:
        return False
    return True


def decode(start, encoding, path, option):
    """Return the beginning of a file as text."""
    try:
        return codecs.getincrementaldecoder(encoding)().decode(start, len(start) < _BYTES)
    except UnicodeError:
        raise CommandError(
            f"{option}: {path.name} cannot be read: it is not text in {encoding} (--read "
            "encoding=latin-1 or another one)"
        ) from None


def _get_quotechar(given):
    return None if given.get("quoting") == "3" else given.get("quotechar", '"')


def _leave_out_comments(lines, sign):
    return lines if sign is None else [line for line in lines if not line.startswith(sign)]


class _FileShape(NamedTuple):
    """Rows as one separator divides them."""

    sep: str
    quotechar: str
    n_lines: int  # of comments in front of the header
    n_header: int  # fields of the header
    n_fields: int  # of most rows
    share: float  # of the rows that have as many


def _recognize_shape(lines, given, path, option):
    quotechar = _get_quotechar(given)
    separators = [given["sep"]] if "sep" in given else [*_SEPARATORS]
    shapes = [_measure_division(lines, sep, quotechar) for sep in separators]
    regular = [one for one in shapes if one.n_fields > 1 and one.share >= _MOST_ROWS]
    exact = [one for one in regular if one.n_header == one.n_fields and one.share == 1]
    if len(exact) > 1:
        ways = " or ".join(f"--read 'sep={one.sep}'" for one in exact)
        raise CommandError(
            f"{option}: {path.name} can be divided in several ways, into "
            f"{' or '.join(str(one.n_fields) for one in exact)} columns: {ways}"
        )
    if "sep" in given:
        shape = shapes[0]
    elif regular:
        shape = max(regular, key=lambda one: (one.n_header == one.n_fields, one.share))
    else:
        # Rows of all lengths, which are named when they are read, or a single column.
        shape = max(shapes, key=lambda one: one.n_header)
        shape = shape if shape.n_header > 1 else _divide_by_blanks(lines, shape, path, option)
    shape = _check_first_lines(lines, shape, path, option, given)
    if "quotechar" not in given and quotechar == '"':
        first = next(iter(_split_lines(lines[shape.n_lines :], shape.sep, '"', True)), [])
        if first and all(len(name) > 2 and name[0] == name[-1] == "'" for name in first):
            single = _measure_division(lines[shape.n_lines :], shape.sep, "'")
            return single._replace(quotechar="'", n_lines=shape.n_lines)
    return shape


def _split_lines(lines, sep, quotechar, skipinitialspace):
    """Return rows of fields; those without a character are left out, as when the file is read."""
    if sep == _BLANKS:
        lines, sep, skipinitialspace = [f"{' '.join(line.split())}\n" for line in lines], " ", True
    reader, rows = _iter_csv_rows(lines, sep, quotechar, skipinitialspace), []
    try:
        for row in reader:
            if len(row) > 1 or (row and row[0].strip()):
                rows.append(row)
            if len(rows) > _ROWS:
                break
    except csv.Error:  # a field without an end
        pass
    return rows


def _iter_csv_rows(lines, sep, quotechar, skipinitialspace):
    quoting = csv.QUOTE_NONE if quotechar is None else csv.QUOTE_MINIMAL
    return csv.reader(
        lines,
        delimiter=sep,
        quotechar=quotechar,
        quoting=quoting,
        skipinitialspace=skipinitialspace,
    )


def _measure_division(lines, sep, quotechar):
    if _divides_nothing(lines, sep, quotechar):
        return _FileShape(sep, quotechar, 0, 1, 1, 1.0)
    rows = _split_lines(lines, sep, quotechar, True)
    lengths = [len(row) for row in rows]
    counts = Counter(lengths[1:] or lengths)
    # A cut-off last row must not be the one that decides.
    n_fields = max(counts, key=lambda length: (counts[length], length), default=1)
    share = counts[n_fields] / max(sum(counts.values()), 1)
    return _FileShape(sep, quotechar, 0, lengths[0] if lengths else 1, n_fields, share)


def _divides_nothing(lines, sep, quotechar):
    """Return whether each row is a single field: no line holds a separator, and one is a value."""
    if sep == _BLANKS or any(sep in line for line in lines):
        return False
    is_short = sum(map(len, lines)) < csv.field_size_limit()  # a longer field is an error
    return is_short and any(line.strip() and (quotechar or "\n\n") not in line for line in lines)


def _divide_by_blanks(lines, shape, path, option):
    """Divide lines of numbers by blanks; a single column of texts may hold blanks as well."""
    divided = _measure_division(lines, _BLANKS, shape.quotechar)
    n_fields = divided.n_fields
    if divided.share == 1 and 1 < divided.n_header and n_fields - divided.n_header in (0, 1):
        rows = _split_lines(lines, _BLANKS, shape.quotechar, True)[1:]
        fields = [field for row in rows for field in row]
        n_numbers = sum(map(is_number_text, fields))
        if n_numbers >= _MOST_ROWS * len(fields):
            return divided
        if n_numbers:
            raise CommandError(
                f"{option}: {path.name} can be divided by blanks, --read 'sep={_BLANKS}', or hold "
                "a single column, --read 'sep=,'"
            )
    name = lines[0].strip()
    if any(sign in name for sign in ",;\t|"):
        raise CommandError(
            f"{option}: {path.name} has a single column, '{visible(name)}'; name what separates "
            "values with --read 'sep=;'"
        )
    return shape


def _check_first_lines(lines, shape, path, option, given):
    """Leave out comments in front of the header; refuse other lines with the option for them."""
    if shape.share < _MOST_ROWS:
        return shape
    n_fields = [
        len(next(iter(_split_lines([line], shape.sep, shape.quotechar, True)), []))
        for line in lines[:_MOST_LINES]
    ]
    n_comments = _count_comments(lines, n_fields, shape)
    if n_comments:
        found = _measure_division(lines[n_comments:], shape.sep, shape.quotechar)
        return found._replace(n_lines=n_comments)
    n_lines = next((k for k, n in enumerate(n_fields) if n == shape.n_fields), 0)
    # A header of another length than the rows is named later.
    if not n_lines or (n_lines == 1 and n_fields[0] > 1):
        return shape
    if "header" in given or shape.n_fields == 1 or shape.n_header == shape.n_fields:
        return shape
    raise CommandError(
        f"{option}: {path.name} has {n_lines} {'line' if n_lines == 1 else 'lines'} in front of "
        f"its table of {shape.n_fields} columns; --read skiprows={n_lines} leaves out what is not "
        "the header"
    )


def _count_comments(lines, n_fields, shape):
    """Count lines in front of the header that are empty or begin with a sharp."""
    n_lines = 0
    while n_lines < len(n_fields) and (lines[n_lines].startswith("#") or not n_fields[n_lines]):
        n_lines += 1
    last = n_lines - 1
    # The last one can be the header, if no line of names follows.
    if n_lines and n_fields[last] == shape.n_fields > 1:
        rows = _split_lines(lines[n_lines : n_lines + 1], shape.sep, shape.quotechar, True)
        if not rows or any(map(is_number_text, rows[0])):
            return last
    return n_lines


def _has_spaces(rows, sep, quotechar):
    """Return whether nearly all fields but the first of each row begin with a blank."""
    if sep in (_BLANKS, " ", "\t"):
        return False
    if not any("\n " in "\n".join(row) for row in rows):  # most often, no field does
        return False
    fields = [field for row in rows for field in row[1:] if field.strip()]
    begins = [field.startswith(" ") for field in fields]
    quoted = quotechar is not None and any(field.startswith(f" {quotechar}") for field in fields)
    return bool(fields) and (sum(begins) >= _MOST_ROWS * len(fields) or quoted)


def count_fields(path, dialect):
    """Return the lengths of the rows of a file, and by each length the first row that has it."""
    first, counts = {}, Counter()
    with open_bytes(path) as file:
        text = io.TextIOWrapper(file, dialect.encoding, errors="replace", newline="")
        for _ in range(dialect.n_skipped):
            text.readline()
        reader = _iter_csv_rows(text, dialect.sep, dialect.quotechar, dialect.skipinitialspace)
        n_rows = 0 if dialect.header is None else -1
        try:
            for row in reader:
                if len(row) < 2 and not (row and row[0].strip()):
                    continue
                n_rows += 1
                if n_rows > 0 or dialect.header is None:
                    first.setdefault(len(row), max(n_rows, 1))
                    counts[len(row)] += 1
        except csv.Error:
            pass
    return counts, first


_QUOTED = {sign: re.compile(sign + b"[^" + sign + b"]*" + sign) for sign in (b'"', b"'")}


def count_separators(path, dialect):
    """Count separators outside of quotation marks, below the header; None if that is not quick."""
    wide = dialect.encoding.lower().replace("_", "-").startswith(("utf-16", "utf-32"))
    if wide or dialect.sep == _BLANKS or not dialect.sep.isascii():
        return None
    sep, quote = dialect.sep.encode(), (dialect.quotechar or '"').encode()
    pattern, total, rest = _QUOTED.get(quote), 0, b""
    with open_bytes(path) as file:
        for _ in range(dialect.n_skipped):
            file.readline()
        while block := file.readlines(1 << 24):
            rest += b"".join(block)
            if dialect.quotechar and quote in rest:
                if pattern is None or rest.count(quote) % 2:  # a value goes on in the next block
                    continue
                rest = pattern.sub(b"", rest)
            total, rest = total + rest.count(sep), b""
    if rest:  # a quotation mark without its end
        return None
    return total - (0 if dialect.header is None else len(dialect.header) - 1)
