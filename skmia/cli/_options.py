"""The options of the command line: their values, and which of them go together.

Nothing here imports a model or a table, so that help and refusals are quick.
"""

import argparse
import codecs
import itertools
import json
import math
import os
import re
import shlex
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from .._core.decisions import REQUEST
from .._core.foreign_words import describe_error
from .._core.guesses import ask_whether, find_meant, suggest_path
from .._core.levels import Level

FORMATS = ("text", "json", "markdown", "junit", "sarif")
ESTIMATORS = ("random-forest", "logistic", "gradient-boosting", "mlp")

PICKLES = (".pkl", ".pickle", ".joblib")
# Formats from which no models like it can be trained: of XGBoost, LightGBM and CatBoost, and ONNX.
BOOSTERS = (".cbm", ".json", ".txt", ".ubj")
ONNX = ".onnx"

AUTO = "auto"


def tell(error):
    """Return the message of another package as one line, without the words of its inside."""
    return describe_error(error)


class CommandError(Exception):
    """Invalid input; the message says what was got and what is needed."""


class GateClosed(Exception):
    """An audit that finished with a result that the exit code reports."""

    def __init__(self, message, text, code):
        super().__init__(message)
        self.text, self.code = text, code


class OptionError(ValueError, argparse.ArgumentTypeError):
    """A value that an option cannot have, in words that argparse shows."""


def parse_pair(text):
    """Read ``LABEL=CLASS``."""
    label, equals, name = text.rpartition("=")
    if not label or not equals or not name:
        raise OptionError(
            f"must be LABEL=CLASS, a label of the table and of the model; got {text!r}"
        )
    return label, name


def parse_text(text):
    """Read ``NAME=TEXT``."""
    name, _, value = text.partition("=")
    if not name or not value.strip():
        raise OptionError(f"must be NAME=TEXT; got {text!r}")
    return name, value.strip()


def parse_request(text):
    """Read ``NAME=TEXT`` of what a request for a release names."""
    name, value = parse_text(text)
    if name not in REQUEST:
        raise OptionError(f"must name one of {', '.join(map(repr, REQUEST))}; got {name!r}")
    return name, value


# Words of pandas.read_csv by which a table is read; the last two may name a column behind a dot.
READING = ("sep", "decimal", "thousands", "encoding", "quotechar", "skipinitialspace", "skiprows")
READING += (
    "quoting",
    "header",
    "index_col",
    "comment",
    "on_bad_lines",
    "keep_default_na",
    "na_values",
)
READING += ("dtype",)
_OF_COLUMNS = ("na_values", "dtype")
_ALLOWED = {"dtype": ("str", "float", "int", "category"), "on_bad_lines": ("error", "warn")}
_ALLOWED |= {"quoting": ("0", "3"), "header": ("0", "none"), "index_col": ("0", "false")}
_ALLOWED |= dict.fromkeys(("skipinitialspace", "keep_default_na"), ("true", "false"))
_ONE_CHARACTER = ("decimal", "thousands", "quotechar", "comment")
# Files that a command may name, one of which a word in front of a dot restricts an option to.
_OF_FILES = ("data", "train", "held_out", "answers", "validation", "synthetic", "real")
_OF_FILES += ("held-out", "heldout", "holdout")  # other spellings of one of them
_BEGIN = re.compile(
    rf"(?:^|,)(?=(?:(?:{'|'.join(_OF_FILES)})\.)?(?:(?:{'|'.join(READING)})=|"
    rf"(?:{'|'.join(_OF_COLUMNS)})\.[^=]+=))"
)
# A word behind a comma that is none of these; a mark of a missing value may hold an equals sign.
_UNKNOWN = re.compile(r",([a-z_]{3,}(?:\.[^=,]+)?)=")


class ReadingWords(NamedTuple):
    """What one value of ``--read`` says."""

    text: str  # as given by the user
    settings: tuple  # of (file or None, word, column or None, value)


def parse_reading(text):
    """Read ``WORD=VALUE,WORD=VALUE``, in which commas may be values as well."""
    places = [match.end() for match in _BEGIN.finditer(text)]
    if not places or places[0] != 0:
        _refuse_word(text.partition("=")[0], text)
    ends = [place - 1 for place in places[1:]] + [len(text)]
    parts = [text[start:end] for start, end in zip(places, ends, strict=True)]
    return ReadingWords(text, tuple(map(_parse_setting, parts)))


def _parse_setting(text):
    name, _, value = text.partition("=")
    first, dot, rest = name.partition(".")
    file = first if dot and first in _OF_FILES else None
    file = "held_out" if file in _OF_FILES[-3:] else file
    word, dot, column = (rest if file else name).partition(".")
    if word == "dtype" and dot:  # whose values have no equals sign, as names of columns may
        head, _, value = text.rpartition("=")
        column = head[head.index("dtype.") + len("dtype.") :]
    unknown = _UNKNOWN.search(value)
    if unknown:
        _refuse_word(unknown[1], text)
    return file, word, column or None, _check_option_word(word, value)


def _check_option_word(word, value):
    """Return the value of a word as it is meant, without the quotation marks of a shell."""
    if len(value) > 2 and value[0] == value[-1] and value[0] in "\"'":
        value = value[1:-1]
    value = value.replace(r"\t", "\t") if word == "sep" else value
    allowed = _ALLOWED.get(word)
    if allowed:
        value = value.lower()
        if value not in allowed:
            raise OptionError(f"{word} must be one of {', '.join(allowed)}; got {value!r}")
    if word in _ONE_CHARACTER and len(value) != 1:
        raise OptionError(f"{word} must be one character; got {value!r}")
    if word == "sep" and len(value) != 1 and value != r"\s+":
        raise OptionError(rf"sep must be one character, or \s+ for blanks; got {value!r}")
    if word == "skiprows" and not value.isdecimal():
        raise OptionError(f"skiprows must be a number of lines; got {value!r}")
    if word == "encoding":
        try:
            codecs.lookup(value)
        except LookupError:
            raise OptionError(
                f"encoding must be one that Python knows, as utf-8 or latin-1; got {value!r}"
            ) from None
    return value


def _refuse_word(word, text):
    close = find_meant(word.split(".")[0], READING)
    hint = ask_whether(close) if close else f"the words are {', '.join(READING)}"
    raise OptionError(
        f"must be WORD=VALUE with a word of pandas.read_csv, as 'sep=;'; got {text!r}; {hint}"
    )


_METRICS = ("auc", "advantage", "tpr")
_ENDS = ("low", "high")

FORM = (
    "must be NAME=LIMIT, with a NAME such as auc, advantage.high, tpr@0.01, level or "
    "group:race=A:auc"
)


class CommandLimit(NamedTuple):
    """Limit that must not be exceeded, as named on the command line."""

    text: str  # limit as given by the user
    scope: str | None  # A field and its value. If None, all records
    group: str | None
    metric: str  # "auc", "advantage", "tpr", "level"
    max_fpr: float | None  # rate of a TPR
    column: str  # "estimate", "low", "high"; estimate or end of its interval that is compared
    value: float | Level


# The name of a limit that is a word, and the words that it can be.
LEVEL, LEVELS = "level", ("none", "slight", "clear")


def parse_limit(text):
    """Read ``NAME=LIMIT``."""
    name, _, value = text.rpartition("=")
    scope = group = None
    if name.startswith("group:"):
        part, _, name = name.removeprefix("group:").rpartition(":")
        scope, equals, group = part.partition("=")
        if not scope or not equals:
            raise OptionError(f"{FORM}; got {text!r}")
    if name == LEVEL:
        if value not in LEVELS:
            known = ", ".join(LEVELS)
            raise OptionError(f"must have a level for a limit, one of {known}; got {text!r}")
        return CommandLimit(text, scope, group, LEVEL, None, "estimate", Level(value))
    name, column = split_end(name)
    metric, at, rate = name.partition("@")
    if metric not in _METRICS or (metric == "tpr") != bool(at):
        raise OptionError(f"{FORM}; got {text!r}")
    if at and not 0 < as_float(rate) < 1:
        raise OptionError(f"must name a rate between 0 and 1; got {text!r}")
    if not 0 <= as_float(value) <= 1:
        raise OptionError(f"must have a limit between 0 and 1; got {text!r}")
    max_fpr = float(rate) if at else None
    return CommandLimit(text, scope, group, metric, max_fpr, column, float(value))


def split_end(name):
    """Split a name into the number and ``"low"``, ``"high"`` or ``"estimate"``."""
    column = next((end for end in _ENDS if name.endswith(f".{end}")), "estimate")
    return name.removesuffix(f".{column}"), column


def as_float(text):
    """Return the number that a text holds, or NaN."""
    try:
        return float(text)
    except ValueError:
        return math.nan


TABLE = "table"
NUMBERS = {
    "privacy_loss": ("privacy loss",),
    "rare_copies": ("rare copies",),
    "copies_but_one_cell": ("copies but one cell",),
    "copied_identifiers": ("copied identifiers",),
    "near_copies": ("near copies",),
    "singling_out": ("singling out", "singling out, one column", "singling out, rare texts"),
    "linkability": ("linkability",),
    "inference": (),
    "membership": (),
}
_FORM = "must be NAME=LIMIT, with a NAME such as linkability, privacy_loss.high or inference:income"


class TableLimit(NamedTuple):
    """Limit that must not be exceeded."""

    text: str  # limit as given by the user
    name: str  # name of the number
    secret: str | None  # column that is inferred; None for all of them
    column: str  # "estimate", "low", "high"; estimate or end of its interval that is compared
    value: float


def parse_table_limit(text):
    """Read ``NAME=LIMIT``."""
    name, _, value = text.rpartition("=")
    name, column = split_end(name)
    name, colon, secret = name.partition(":")
    if name not in NUMBERS or (colon and (name != "inference" or not secret)):
        known = ", ".join(NUMBERS)
        raise OptionError(f"{_FORM}, of {known}; got {text!r}")
    if not -1 <= as_float(value) <= 1:
        raise OptionError(f"must have a limit between -1 and 1; got {text!r}")
    return TableLimit(text, name, secret or None, column, as_float(value))


_MOST_JOBS = 10_000  # processes
_MOST_DECIMALS = 17


def place(text):
    """Return the path of a folder or file that is written."""
    if not text.strip():
        raise OptionError(f"must be a path; got {text!r}")
    return Path(text)


def place_page(name):
    """Return a function that reads the path of a page, or of a folder for a page of this name."""

    def read(text):
        path = place(text)
        if path.is_dir() or text.endswith(("/", os.sep)):
            return path / name
        return path if path.suffix else path.with_suffix(".html")  # by which browsers show it

    return read


def _read_whole(wanted, is_allowed):
    """Return a function that reads a whole number and refuses those that are not allowed."""

    def read(text, kind="a whole number"):
        try:
            number = int(text)
        except ValueError:
            raise OptionError(f"must be {kind}; got {text!r}") from None
        if not is_allowed(number):
            raise OptionError(f"must {wanted}; got {number}")
        return number

    return read


decimal_count = _read_whole(
    f"lie between 0 and {_MOST_DECIMALS}", lambda number: 0 <= number <= _MOST_DECIMALS
)
seed = _read_whole("lie between 0 and 2**32 - 1", lambda number: 0 <= number < 2**32)
job_count = _read_whole(
    f"be at least 1 and at most {_MOST_JOBS}, or -1 for all cores",
    lambda number: number == -1 or 1 <= number <= _MOST_JOBS,
)
_even_count = _read_whole("be even and at least 4", lambda n: n >= 4 and n % 2 == 0)


def shadow_count(text):
    """Return auto, or an even number of shadow models."""
    return text if text == AUTO else _even_count(text, "auto or a whole number")


def fraction(text):
    if not 0 < as_float(text) < 1:
        raise OptionError(f"must be a fraction between 0 and 1; got {text!r}")
    return float(text)


def seconds(text):
    if not 0 < as_float(text) < math.inf:
        raise OptionError(f"must be a positive number of seconds; got {text!r}")
    return float(text)


_SIZE = re.compile(r"\s*([\d.]+(?:e\+?\d+)?)\s*(k|m|g|t)?b?\s*", re.IGNORECASE)
_UNITS = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}


def size_in_bytes(text):
    """Return auto, or a number of bytes."""
    if text == AUTO:
        return text
    found = _SIZE.fullmatch(text)
    try:
        n_bytes = float(found[1]) * _UNITS[(found[2] or "").lower()] if found else 0.0
    except ValueError:
        n_bytes = 0.0
    if not 1 <= n_bytes < math.inf:
        raise OptionError(f"must be auto or a size such as 500MB or 2GB; got {text!r}")
    return n_bytes


def check_file(path, option, *, or_folder=False):
    """Refuse the name of what is not a file, or not a folder of them where that is a table."""
    if path.is_dir() and not or_folder:
        raise CommandError(f"{option}: {path} is a folder, and a file is needed")
    if not (path.is_file() or path.is_dir()):
        raise CommandError(f"{option}: file not found: {path}{suggest_path(path)}")


def _check_kind(path, option, command):
    """Refuse files and folders of other kinds, with what they are."""
    from ._other_files import refuse_other_model, refuse_other_table

    if option in ("MODEL", "--model"):
        refuse_other_model(path, option, reads_onnx=command == "audit")
    else:
        refuse_other_table(path, option)


def is_of_strangers(path):
    """Return whether only a process of its own opens a file.

    A pickle runs code of its sender anyway.
    """
    return path.suffix not in PICKLES


def lacks_a_recipe(path):
    """Return whether no model like the one in a file can be trained from the file."""
    return path.suffix in (*BOOSTERS, ONNX)


def is_toy(arguments):
    """Return whether no table is named."""
    return arguments.data is None and arguments.train is None


_TABLE_FPRS = [0.01, 0.001]

# With 900 non-members, a rate of 0.001 cannot be resolved.
_DIGITS_FPRS = [0.1, 0.02]

# Options that contradict --quick unless they have their usual value.
_NOT_QUICK = [
    ("shadows", "", AUTO),
    ("time_limit", "", None),
    ("controls", "", False),
    ("release", " file", "service"),
]

# Options that the audit without a table does not use.
_WITH_A_TABLE = ("target", "task", "drop", "group", "group_by", "members", "member_value")
_WITH_A_TABLE += ("estimator", "model", "answers", "label_map", "show_values", "weights")
_WITH_A_TABLE += ("validation", "read", "positive", "classes")

# Files of an audit, each by the name of its option.
FILES = ("data", "train", "held_out", "model", "answers", "validation")


def list_rates(arguments):
    return arguments.fpr or (_DIGITS_FPRS if is_toy(arguments) else _TABLE_FPRS)


def check(arguments):
    """Refuse what can be refused before a model or a table is opened, and place the files."""
    command = arguments.command
    if hasattr(arguments, "files"):
        place_files(arguments)
    read = {option: getattr(arguments, name) for name, option in _READ.get(command, {}).items()}
    read = {option: path for option, path in read.items() if path is not None}
    for option, path in read.items():
        if path.exists():
            _check_kind(path, option, command)
    _check_given_once(read)
    conflict = next(_list_conflicts(arguments), None)
    if conflict is not None:
        raise CommandError(conflict)
    for option, path in read.items():
        check_file(path, option, or_folder=option not in ("MODEL", "--model"))


def _check_given_once(read):
    """Refuse one file in two roles, before it is read."""
    for (option, path), (other, again) in itertools.combinations(read.items(), 2):
        with suppress(OSError):  # of one that is not there
            if path.samefile(again):
                raise CommandError(f"{option} and {other} are the same file, {path.name}")


# Files that a command reads, by the name of each in messages.
_READ = {
    "audit": {name: f"--{name.replace('_', '-')}" for name in FILES},
    "inspect": {"model": "MODEL", "data": "--data"},
    "table": {"synthetic": "SYNTHETIC", "real": "REAL", "held_out": "--held-out"},
}


def place_files(arguments):
    """Take files that are named without an option: a model, and one table or two."""
    if arguments.command != "audit":
        _place_table(arguments)
        return
    from ._other_files import is_known_table, names_model, refuse_other_model

    tables = list(arguments.files)
    first = tables[0] if tables else None
    # Of three files the first can only be the model, whatever its name says.
    is_first = first is not None and (
        names_model(first) or (len(tables) == 3 and not is_known_table(first))
    )
    names = ["model"] if is_first else []
    n_tables = len(tables) - len(names)
    names += ["data"] if n_tables == 1 else ["train", "held_out"] if n_tables else []
    behind = [] if is_first else [path for path in tables if names_model(path)]
    for path in behind[:1]:
        refuse_other_model(path, "--model")
    if n_tables > 2 or behind:
        raise CommandError(_describe_order(tables, behind))
    for name, path in zip(names, tables, strict=True):
        _place_file(arguments, name, path)
    arguments.files = []


# The option that the one further file of a command is given by, and all of its files.
_LAST = {
    "table": ("held_out", "a synthetic table, the training rows, and held-out rows"),
    "inspect": ("data", "a model and one table of candidates"),
}


def _place_table(arguments):
    """Take the one table that a command takes behind what it needs."""
    from ._other_files import is_known_table, names_model

    name, form = _LAST[arguments.command]
    model, paths = getattr(arguments, "model", None), arguments.files
    if len(paths) > 1:
        more = "; skmia audit compares training rows with others" if name == "data" else ""
        raise CommandError(f"files are {form}; got {len(paths) - 1} more{more}")
    if model is not None and is_known_table(model) and any(map(names_model, paths)):
        raise CommandError(f"{form[0].upper()}{form[1:]}: {shlex.join(map(str, [*paths, model]))}")
    for path in paths:
        _place_file(arguments, name, path)
    arguments.files = []


def _place_file(arguments, name, path):
    if getattr(arguments, name) is not None:
        raise CommandError(f"--{name.replace('_', '-')}: given twice, as {path.name} as well")
    setattr(arguments, name, path)


def _describe_order(paths, models):
    """Say which files go together, with their order where the only model does not come first."""
    names = [path.name for path in paths]
    form = (
        "files are a model and one table, or a model and two: the rows that it was trained on, "
        f"and others; got {' '.join(names)}"
    )
    if len(models) != 1 or len(paths) > 3:
        return form
    ordered = [models[0], *(path for path in paths if path != models[0])]
    return f"{form}. The model comes first: {shlex.join(map(str, ordered))}"


def _list_conflicts(given):
    """Yield what is wrong with the options: those that are ignored, or lack another one."""
    if given.command == "audit":
        yield from _list_audit_conflicts(given)
        yield from _list_toy_conflicts(given) if is_toy(given) else _list_model_conflicts(given)
        yield from _list_lacking_rates(given.fail_above, list_rates(given))
    elif given.command == "inspect" and given.data is None:
        for option in _list_set(given, "target", "drop", "read"):
            yield f"{option} goes with --data"
    elif given.command == "table":
        if given.target is not None and given.held_out is None:
            yield "--target needs --held-out, on which the models are measured"
        yield from _list_uses_of_policy(given, "provenance")
    yield from _list_absent_files(given)


def _list_absent_files(given):
    """Yield the words of ``--read`` that are of a file that is not given."""
    settings = [one for words in getattr(given, "read", ()) for one in words.settings]
    for name in dict.fromkeys(file for file, *_ in settings):
        if name is not None and getattr(given, name, None) is None:
            there = [one for one in _OF_FILES if getattr(given, one, None) is not None]
            yield f"--read: no file is given as {name}; the files are {', '.join(there)}"


def _list_set(given, *names):
    """Yield those of some options that are given, as they are written."""
    for name in names:
        value = getattr(given, name)
        if value is not None and value is not False and value != []:
            yield f"--{name.replace('_', '-')}"


def _list_uses_of_policy(given, *names):
    if given.policy is None:
        yield from (f"{option} goes with --policy" for option in _list_set(given, *names))


def _list_audit_conflicts(given):
    """Yield the conflicts of options that any audit has."""
    for name, value, usual in _NOT_QUICK:
        if given.quick and getattr(given, name) != usual:
            yield f"--quick goes without --{name.replace('_', '-')}{value}"
    yield from _list_uses_of_policy(given, "decimals", "measure_conditions", "provenance")
    model = given.answers or given.model
    if given.recipe is not None and None in (given.policy, given.estimator, model):
        yield "--recipe goes with --policy, --estimator, and --answers or --model"
    if given.time_limit is not None and given.shadows != AUTO:
        yield "--time-limit limits the shadow models of --shadows auto"
    if (given.train is None) != (given.held_out is None):
        yield "--train and --held-out go together: the members, and other rows"
    if given.train is not None:
        for option in _list_set(given, "data", "members"):
            yield f"{option} goes without --train and --held-out"
    if given.member_value is not None and given.members is None:
        yield "--member-value goes with --members"


def _list_toy_conflicts(given):
    for option in _list_set(given, *_WITH_A_TABLE):
        yield f"{option} goes with --data or a table"


def _list_model_conflicts(given):
    """Yield options that a model that is given, or its answers, would ignore."""
    model, answers = given.model, given.answers
    is_foreign = model is not None and lacks_a_recipe(model)
    if given.target is None and model is None:
        yield "a table needs --target, the column that the model predicts"
    if model is not None:
        for option in _list_set(given, *(["task"] if is_foreign else ["estimator", "task"])):
            yield f"{option} goes with a model that is trained here, not with --model"
        if is_foreign and given.estimator is None:
            yield (
                f"--model: no models like {model.name} can be trained from the file; name the "
                "kind of the shadow models with --estimator"
            )
        if answers is not None:
            yield "--answers goes without --model, which gives its answers itself"
    if given.members is None and given.train is None:
        for option in _list_set(given, "model", "answers"):
            yield (
                f"{option} needs --members, or a second table of rows that the model has not seen "
                "(--train and --held-out): which rows was the model trained on?"
            )
    if given.validation is not None and (model is None or is_foreign):
        yield "--validation goes with a --model that is trained again, as .skops"
    if given.weights is not None and answers is not None and given.estimator is None:
        yield "--weights goes with --estimator where only --answers are known"
    if given.label_map and model is None and answers is None:
        yield "--label-map goes with --model or --answers"
    if given.positive is not None and answers is None:
        yield "--positive goes with --answers"
    if given.classes and answers is None and (model is None or model.suffix != ONNX):
        yield "--classes goes with --answers, or with a --model in an ONNX file"


def _list_lacking_rates(limits, fprs):
    """Yield the limits of a TPR at a rate that the audit does not report."""
    have = ", ".join(f"{rate:g}" for rate in fprs)
    for limit in limits:
        if limit.metric == "tpr" and limit.max_fpr not in fprs:
            yield (
                f"--fail-above: tpr@{limit.max_fpr:g} is not reported; available rates: {have} "
                "(see --fpr)"
            )


def read_config(words, spell=list, settled=()):
    """Put the options of ``--config FILE`` into a command; those of the command itself win.

    Of several files, the later ones win, also by false or an empty list: these options are
    ``settled`` for the earlier ones. Words of ``--read`` win one by one, because those of the
    file come first, and words of ``na_values`` add up (``TableReading.of_file`` in
    ``_reading.py``). The parser refuses a name that is no option as if it had been typed.
    """
    from ._parser import takes_several

    given = [word.partition("=")[0] for word in words]
    if "--config" not in given or words[:1] != ["audit"]:
        return words
    place = len(given) - 1 - given[::-1].index("--config")
    inline = words[place].partition("=")[2]
    end = place + (1 if inline else 2)
    path = inline or "".join(words[place + 1 : end])
    check_file(Path(path), "--config")
    try:
        found = tomllib.loads(Path(path).read_text("utf-8"))
    except ValueError as error:
        raise CommandError(f"--config: {path} cannot be read: {tell(error)}") from error
    options, settled = [], {*settled}
    for name, value in found.items():
        option = spell([words[0], f"--{name.replace('_', '-')}"])[1]
        if name == "read" and isinstance(value, dict):
            value = list(_list_words(value))
        if isinstance(value, dict):
            raise CommandError(f"--config: {name} must be the value of an option; got a table")
        if option == "--config":
            raise CommandError("--config: a file names no other one; give --config for each")
        if option != "--read" and (option in given or option in settled):
            continue
        settled.add(option)
        if value is False:
            continue
        values = value if isinstance(value, list) else [value]
        if len(values) > 1 and not takes_several(words[0], option):
            raise CommandError(f"--config: {name} must be one value; got {len(values)}")
        options += [option] if value is True else [f"{option}={one}" for one in values]
    return read_config([words[0], *options, *words[1:place], *words[end:]], spell, settled)


def _list_words(table):
    """Yield words of a table of TOML, in which those of a file or of columns are tables again."""
    for name, value in table.items():
        if isinstance(value, dict):
            yield from (f"{name}.{word}" for word in _list_words(value))
        else:
            values = value if isinstance(value, list) else [value]
            yield from (f"{name}={one}" for one in values)


def save_config(arguments, usual):
    """Write the options of an audit that differ from the usual ones, as ``--config`` reads them."""
    lines = []
    for name, value in vars(arguments).items():
        # Whoever tries an audit before it is run saves the options of the run.
        is_of_call = name in ("command", "debug", "config", "save_config", "dry_run")
        if is_of_call or value == getattr(usual, name):
            continue
        values = (
            [as_option_text(one) for one in value]
            if isinstance(value, list)
            else as_option_text(value)
        )
        # JSON's texts, numbers and bools are those of TOML.
        lines.append(f"{name.replace('_', '-')} = {json.dumps(values, ensure_ascii=False)}\n")
    arguments.save_config.write_text("".join(lines), "utf-8")


def as_option_text(value):
    """Return the value of an option as it is typed, or as JSON takes it."""
    if isinstance(value, tuple):  # a limit, or a label and its class
        return getattr(value, "text", None) or "=".join(value)
    return str(value) if isinstance(value, Path) else value
