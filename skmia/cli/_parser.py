"""The parsers of the commands: which options each has, and their help."""

import argparse
import os
import re
import shlex
from functools import cache
from pathlib import Path

from .._core import __version__
from .._core.decisions import EVIDENCE_FIELDS, REQUEST, ROLES
from .._core.guesses import ask_whether, find_meant
from .._core.optional import import_optional
from .._core.text import compose_accents
from ._options import (
    ESTIMATORS,
    FORMATS,
    CommandError,
    as_option_text,
    decimal_count,
    fraction,
    job_count,
    parse_limit,
    parse_pair,
    parse_reading,
    parse_request,
    parse_table_limit,
    parse_text,
    place,
    place_page,
    seconds,
    seed,
    shadow_count,
    size_in_bytes,
)

_DESCRIPTION = "Membership-inference attacks on machine-learning models."

_AUDIT = """\
Measure how much a model reveals about its training records.

Runs several membership-inference attacks on a model, using shadow models trained on halves of the
table. Prints, with confidence intervals, the AUC of each attack, its advantage (TPR - FPR) and its
true positive rate at low false positive rates.

Without --data, audits a random forest on scikit-learn's digits.
"""

_AUDIT_EXAMPLES = """\
examples:
  skmia audit --out report
  skmia audit model.skops train.csv held_out.csv
  skmia audit model.skops people.csv --members was_trained_on
  skmia audit --data adult.csv.gz --target income --group race --estimator random-forest
  skmia audit --data visits.parquet --target readmitted --group-by patient --drop visit_id
  skmia audit --data people.csv --target income --model model.skops --members was_trained_on
  skmia audit --train train.csv --held-out test.csv --target income --model model.skops
  skmia audit --data people.csv --target income --members was_trained_on --answers answers.csv
  skmia audit --data people.csv --target income --fail-above advantage=0.1 tpr@0.01=0.05
"""

_TABLE = """\
Measure how much a synthetic table reveals about the rows that its generator was trained on.

Attacks the training rows and rows of the same population that the generator has not seen
(--held-out), and prints how much more the attacks find of the training rows, with confidence
intervals: copies, distances, singling out, linkability and inference. Also prints how similar the
synthetic rows are to real rows. Without --held-out, leaks cannot be measured.
"""

_TABLE_EXAMPLES = """\
examples:
  skmia table synthetic.csv train.csv held_out.csv --out report
  skmia table synthetic.csv train.csv held_out.csv --drop id --target income
  skmia table synthetic.csv train.csv held_out.csv --person patient
  skmia table synthetic/ train/ held_out/ --keys patients=id visits=patient_id
  skmia table synthetic.csv train.csv held_out.csv --policy cautious
  skmia table synthetic.csv train.csv held_out.csv --fail-above rare_copies.low=0
"""

_INSPECT = """\
List what a model file holds of its training records, in seconds.

Prints whether training rows are stored, what each part of the model reveals, which attacks read it
and how to reduce what it reveals. With --verbose, also prints each stored array that comes from
training records. With --data, also searches the file for the rows and values of a table, and
estimates how well the nodes of a tree model identify which of these rows were used for training.
"""

_DECIDE = """\
Record the decision on a release in the audit that it is about.

Writes the decision, its reasons and the name into audit.json or table.json, and the decision sheet
again. Needs an audit with --policy.

examples:
  skmia decide out --decision refuse --by "A. Smith"
  skmia decide out --by "B. Jones" --role "second checker"
  skmia decide out --decision conditions --conditions "until May 2027, in the safe room" \\
      --because "..." --reason k="..." --by "A. Smith"
"""

_EVIDENCE = """\
Write a sheet of two pages for people who assess whether a model or a table is anonymous.

Each attack that Opinion 28/2024 of the European Data Protection Board names has a line: what ran,
whether it could have found a leak, the upper limits for all records and for the most exposed ones,
or why it was not tested. The sheet is evidence for an assessment, but it is not the assessment.

examples:
  skmia evidence out --out evidence.html
  skmia evidence model_audit table_audit --provenance purpose="triage of calls"
"""

# What options have in common. One that takes several values may be given several times.
_LIST = {"nargs": "+", "action": "extend", "default": []}
_FLAG = {"action": "store_true"}
_COLUMN = {"metavar": "COL", "type": compose_accents}
_COLUMNS = _LIST | _COLUMN
_TEXT = {"metavar": "TEXT"}
_READ, _WRITTEN = {"type": Path, "metavar": "FILE"}, {"type": place, "metavar": "FILE"}
_FOLDER = {"type": place, "metavar": "DIR"}


def _page(name):
    return {"type": place_page(name), "metavar": "FILE"}


_SEED = {"--seed": ({"type": seed, "default": 0, "metavar": "N"}, "random seed (default: 0)")}
_PROVENANCE = {
    "--provenance": (
        _LIST | {"type": parse_request, "metavar": "NAME=TEXT"},
        f"lines of the decision sheet that are known: {', '.join(REQUEST)}",
    )
}
_READING = {
    "--read": (
        _LIST | {"type": parse_reading, "metavar": "WORD=VALUE"},
        "how text files are read, in words of pandas.read_csv: "
        "--read 'sep=;,decimal=,,encoding=latin-1' dtype.zip=str na_values=?; what is not given "
        "is recognized and reported. answers.sep=; is for the file of --answers alone",
    )
}
_POLICY = {
    "--policy": (
        {"metavar": "NAME|FILE"},
        "recommend a release or not by a policy: cautious, research, anonymity or a TOML file; "
        "exit with code 1 unless it is a release, and with code 4 if that cannot be said",
    ),
    **_PROVENANCE,
}


def _describe_format_option(document):
    return {
        "--format": (
            {"choices": FORMATS, "default": "text"},
            f"what to print: text, the JSON of {document}, Markdown, or for other programs a JUnit "
            "or SARIF file with a test or result for the verdict and for each limit (default: "
            "text)",
        )
    }


# The options of each command by the heading of their group; each with its settings and its help.
_OPTIONS = {
    "audit": {
        "": {
            "files": (
                _READ | {"nargs": "*"},
                "a model and one table (--data), or a model and two: the rows that it was trained "
                "on and others (--train, --held-out)",
            ),
            "--config": (
                _READ,
                "TOML file with options by their names; those of the command line win, and of "
                "several files those of the later ones",
            ),
            "--save-config": (
                _WRITTEN,
                "write the options of this command to a file that --config reads",
            ),
        },
        "data": {
            "--data": (_READ, "table with a header: .csv, .tsv, .parquet (or a folder), .feather"),
            "--train": (
                _READ,
                "table of the rows that the model was trained on, in place of --data; needs "
                "--held-out",
            ),
            "--held-out": (_READ, "table of rows that the model has not seen"),
            **_READING,
            "--target": (
                _COLUMN,
                "column to predict (default with a model: the one column that holds its classes)",
            ),
            "--task": (
                {"choices": ["classification", "regression"]},
                "learning task (default: regression if the target holds floats or more than 20 "
                "distinct integers, else classification)",
            ),
            "--drop": (_COLUMNS, "columns to exclude from the features"),
            "--group": (
                _COLUMNS,
                "also report results for each value of these columns; they remain features unless "
                "dropped",
            ),
            "--group-by": (
                _COLUMN,
                "keep rows with the same value in this column (a person) together, as members or "
                "as non-members; the column is not a feature",
            ),
            "--members": (
                {"metavar": "COL|FILE"},
                "rows that the model was trained on: a column of 0/1 or true/false, which is not a "
                "feature, or a file with one value per row (default: a random half, stratified by "
                "class)",
            ),
            "--member-value": (
                {"metavar": "VALUE"},
                "value of the members, if --members holds two values other than 0/1 and true/false",
            ),
            "--weights": (
                _COLUMN,
                "sample weights with which models are trained; the column is not a feature",
            ),
            "--validation": (
                _READ,
                "table of the rows by which the booster of --model stopped early; every shadow "
                "model stops by them",
            ),
        },
        "victim": {
            "--estimator": (
                {"choices": ESTIMATORS},
                "model to train and audit (default: random-forest); mlp classifiers need "
                'pip install "skmia[torch]"',
            ),
            "--model": (
                _READ,
                "fitted model to audit, saved with skops (.skops); needs --members, or --train and "
                "--held-out. With an ONNX file or a file of a booster, --estimator names the kind "
                "of the shadow models",
            ),
            "--trust-pickle": (
                _FLAG,
                "allow --model to be a pickle or joblib file; loading one executes any code in it",
            ),
            "--require-sandbox": (
                _FLAG,
                "refuse to open the model where the system does not close files, programs and the "
                "network to the process that asks it",
            ),
            "--answers": (
                _READ,
                "answers of a model that is not at hand, one row per row of the table: a column of "
                "probabilities for each class, named after it, or one of labels or predictions; "
                "needs --members, or --train and --held-out. Shadow models are trained like "
                "--estimator or, without it, like the kind of model with the most similar answers",
            ),
            "--positive": (
                {"metavar": "LABEL"},
                "label whose probabilities --answers has, if it is one column of numbers between "
                "0 and 1",
            ),
            "--classes": (
                _LIST | {"metavar": "LABEL"},
                "labels of the columns of probabilities in their order, if neither the names of "
                "the columns of --answers nor the ONNX file of --model say them",
            ),
            "--label-map": (
                _LIST | {"type": parse_pair, "metavar": "LABEL=CLASS"},
                "name that the model has for a label of the table",
            ),
        },
        "attack": {
            "--shadows": (
                {"type": shadow_count, "default": "auto", "metavar": "auto|N"},
                "number of shadow models, even; auto trains 8 and doubles them, up to 64, while "
                "more of them are expected to change the result noticeably (default: auto)",
            ),
            "--quick": (_FLAG, "train 8 shadow models and do not attack the model as a file"),
            "--dry-run": (
                _FLAG,
                "print the time and memory that the audit will take, phase by phase, and what it "
                "will leave out, measured with one model like the victim; audit nothing and write "
                "nothing",
            ),
            "--time-limit": (
                {"type": seconds, "metavar": "SECONDS"},
                "train no further shadow models that would not be finished this long after the "
                "start of the audit; 4 are always trained",
            ),
            "--memory-limit": (
                {"type": size_in_bytes, "metavar": "SIZE", "default": "auto"},
                "memory that the attack on the file, and each attack without shadow models, may "
                "hold beside the table, such as 2GB (default: 500 MB, or ten times the table)",
            ),
            "--fpr": (
                _LIST | {"type": fraction, "metavar": "RATE"},
                "false positive rates at which to report the true positive rate (default: 0.01 "
                "0.001; 0.1 0.02 without --data)",
            ),
            "--jobs": (
                {"type": job_count, "default": 2, "metavar": "N"},
                "number of parallel jobs; -1 uses all cores (default: 2)",
            ),
            "--controls": (_FLAG, "also run the positive and the negative control"),
            "--no-batching": (_FLAG, "train shadow models one at a time (slower)"),
            "--checkpoint": (
                _FOLDER,
                "folder for finished shadow models; the same command, run again, resumes from it",
            ),
            **_SEED,
        },
        "output": {
            "--out": (
                _FOLDER,
                "folder for audit.json, roc.png and report.html; a name with .html is that of the "
                "page, and the others stand beside it",
            ),
            **_describe_format_option("audit.json"),
            "--verbose": (_FLAG, "also print all attacks, numbers, checks and notes"),
            "--show-values": (
                _FLAG,
                "include feature values of the most exposed records in the report; they may be "
                "personal data",
            ),
            "--release": (
                {"choices": ["service", "file"], "default": "service"},
                "how the model is released, for the exit code: as a service that answers queries, "
                "or as a file, for which the limits of --fail-above hold for the attack on the "
                "file as well (default: service)",
            ),
            **_POLICY,
            "--decimals": (
                {"type": decimal_count, "metavar": "N"},
                "number of decimals of the answers of a service, for --policy",
            ),
            "--recipe": (
                _TEXT,
                "state that --estimator is the recipe of the model of --answers, or of a --model "
                "that cannot be trained, and who answers for it; for --policy, and for the "
                "decision sheet",
            ),
            "--measure-conditions": (
                _FLAG,
                "if --policy says not to release, train the shadow models once more and measure "
                "the model with rounded answers, labels alone, a stripped file, or a service in "
                "place of the file; name those under which it may be released",
            ),
            "--fail-above": (
                _LIST | {"type": parse_limit, "metavar": "NAME=LIMIT"},
                "exit with code 1 if an attack exceeds a limit, and with code 4 if the audit is "
                "inconclusive: auc=0.6, advantage=0.1, level=slight or, for a rate of --fpr, "
                "tpr@0.01=0.05; over all records and in every group in which leakage was found. A "
                "level is above its limit if it is worse. auc.high=0.6 compares "
                "the upper end of the interval (.low the lower one), group:race=Black:auc=0.6 one "
                "group",
            ),
        },
    },
    "table": {
        "": {
            "synthetic": (
                _READ | {"metavar": "SYNTHETIC"},
                "synthetic table with a header: .csv, .tsv, .parquet (or a folder), .feather",
            ),
            "real": (_READ | {"metavar": "REAL"}, "table of the rows that the generator has seen"),
            "files": (
                _READ | {"nargs": "*", "metavar": "HELD_OUT"},
                "the table of --held-out, in place of the option",
            ),
            "--held-out": (
                _READ,
                "table of rows of the same population that the generator has not seen",
            ),
            **_READING,
            "--person": (
                _COLUMN,
                "column that names the person of each row, where persons have several; it is not "
                "compared",
            ),
            "--keys": (
                _LIST | {"metavar": "COL|TABLE=COL"},
                "column that names the person in each of several tables, or in all of them; "
                "SYNTHETIC, REAL and --held-out are then folders with a file for each table, and "
                "each person is compared with all rows",
            ),
            "--drop": (_COLUMNS, "columns to leave out of all tables"),
            "--keep": (
                _COLUMNS,
                "columns that are compared though they look like identifiers, which are left out",
            ),
            "--target": (
                _COLUMN,
                "column for which models of synthetic and of training rows are compared",
            ),
            "--secrets": (
                _COLUMNS,
                "columns that an attacker would infer (default: each column in turn)",
            ),
            "--dry-run": (
                _FLAG,
                "print the time and memory that the audit will take, phase by phase, computed from "
                "the sizes of the tables; audit nothing and write nothing",
            ),
            **_SEED,
            "--out": (
                _FOLDER,
                "folder for table.json and report.html; a name with .html is that of the page, and "
                "the numbers stand beside it",
            ),
            **_describe_format_option("table.json"),
            "--verbose": (_FLAG, "also print all numbers and checks"),
            **_POLICY,
            "--fail-above": (
                _LIST | {"type": parse_table_limit, "metavar": "NAME=LIMIT"},
                "exit with code 1 if a number exceeds a limit, and with code 4 if the audit is "
                "inconclusive: privacy_loss, membership, rare_copies, copies_but_one_cell, "
                "near_copies, copied_identifiers, singling_out, linkability or inference, or "
                "inference:COL for one column; linkability.high=0.09 compares the upper end of "
                "the interval (.low the lower one)",
            ),
        }
    },
    "inspect": {
        "": {
            "model": (
                _READ | {"metavar": "MODEL"},
                "fitted model, saved with skops (.skops), or a file of XGBoost (.json, .ubj), "
                "LightGBM (.txt) or CatBoost (.cbm, .json)",
            ),
            "files": (
                _READ | {"nargs": "*", "metavar": "DATA"},
                "the table of --data, in place of the option",
            ),
            "--data": (
                _READ,
                "table of candidate records to look for: .csv, .tsv, .parquet (or a folder), "
                ".feather",
            ),
            **_READING,
            "--target": (_COLUMN, "column that the model predicts"),
            "--drop": (_COLUMNS, "columns to exclude from the features"),
            "--trust-pickle": (
                _FLAG,
                "allow MODEL to be a pickle or joblib file; loading one executes any code in it",
            ),
            "--require-sandbox": (
                _FLAG,
                "refuse to open the model where the system does not close files, programs and the "
                "network to the process that asks it",
            ),
            "--verbose": (_FLAG, "also print all arrays and places"),
            "--json": (_FLAG, "print JSON instead of text"),
            "--out": (
                _page("inspect.html"),
                "also write an HTML page of what the file holds: a file, or a folder for "
                "inspect.html",
            ),
        }
    },
    "report": {
        "": {
            "result": (
                _READ | {"metavar": "OUT"},
                "folder of an audit, or its audit.json, table.json",
            ),
            "--out": (
                _page("report.html"),
                "page to write: a file, or a folder for report.html (default: beside the input)",
            ),
            "--title": (_TEXT, "title"),
        }
    },
    "compare": {
        "": {
            "first": (_READ | {"metavar": "A"}, "folder of an audit, or its audit.json"),
            "second": (_READ | {"metavar": "B"}, "the same of another one"),
            "--out": (
                _page("compare.html"),
                "also write a page with both, and with all groups: a file, or a folder for "
                "compare.html",
            ),
        }
    },
    "decide": {
        "": {
            "result": (
                _READ | {"metavar": "OUT"},
                "folder of an audit, or its audit.json, table.json",
            ),
            "--decision": (
                {"choices": ["release", "conditions", "refuse"]},
                "what is decided; a further person who signs the same decision leaves it out",
            ),
            "--conditions": (_TEXT, "conditions of the release"),
            "--because": (_TEXT, "why, if this differs from the recommendation"),
            "--reason": (
                _LIST | {"type": parse_text, "metavar": "CHECK=TEXT"},
                "why a flagged check is acceptable, such as k=..., for each that needs a reason",
            ),
            **_PROVENANCE,
            "--by": ({"required": True, "metavar": "NAME"}, "who decides"),
            "--role": (
                {"choices": list(ROLES), "default": "checker"},
                "in which role: the one who asks for the release, who read the audit, or who "
                "repeated the command (default: checker)",
            ),
            "--date": ({"metavar": "DATE"}, "day, as 2026-11-23 (default: today)"),
            "--replace": (
                _FLAG,
                "replace another decision, or a text that others have signed, and remove the names "
                "under it; or the signature of somebody else in this role",
            ),
        }
    },
    "evidence": {
        "": {
            "results": (
                {"type": Path, "nargs": "+", "metavar": "OUT"},
                "folders of audits, or their audit.json, table.json",
            ),
            "--out": (
                _page("evidence.html") | {"default": Path("evidence.html")},
                "page to write: a file, or a folder for evidence.html (default: evidence.html)",
            ),
            "--provenance": (
                _LIST | {"type": parse_text, "metavar": "NAME=TEXT"},
                f"lines of the sheet that are known: {', '.join(EVIDENCE_FIELDS)}; others, such as "
                "hashes, stand at its end",
            ),
        }
    },
    "policy": {
        "": {
            "action": ({"choices": ["show"]}, "what to do"),
            "policy": ({"metavar": "NAME|FILE"}, "cautious, research, anonymity or a TOML file"),
        }
    },
}
# What each command does, in a line and in a text, and examples.
_TEXTS = {
    "audit": ("run attacks on a model and report how much it leaks", _AUDIT, _AUDIT_EXAMPLES),
    "table": ("audit a synthetic table and report how much it leaks", _TABLE, _TABLE_EXAMPLES),
    "inspect": ("list what a model file holds of its training records", _INSPECT, None),
    "report": (
        "write the page of an audit again",
        "Write the page of an audit again, from its folder, audit.json or table.json.",
        None,
    ),
    "compare": (
        "compare two audits",
        "Print two audits and the differences of their results.",
        None,
    ),
    "decide": ("record the decision on a release", _DECIDE, None),
    "evidence": ("write a sheet for a data protection authority", _EVIDENCE, None),
    "policy": (
        "show a policy of release",
        "Show a policy of release, to read it or to copy it into a file of your own.",
        None,
    ),
}


# What argparse says of a value that is none of the choices.
_CHOICE = re.compile(r"invalid choice: '(.*)' \(choose from (.*)\)$")


class _CommandParser(argparse.ArgumentParser):
    def error(self, message):
        choice = _CHOICE.search(message)
        if choice:
            choices = [name.strip(" '") for name in choice[2].split(",")]
            meant = find_meant(choice[1], choices, synonyms=False)
            message += f"; {ask_whether(meant)}" if meant else ""
        raise CommandError(message)


# What the help calls files and folders.
_PATHS = ("FILE", "DIR", "COL|FILE", "NAME|FILE", "MODEL", "SYNTHETIC", "REAL", "OUT", "A", "B")

# How a script of shtab completes the name of a file in each shell.
_FILES = {"bash": "_shtab_compgen_files", "zsh": "_files", "tcsh": "f"}


class _CompletionAction(argparse.Action):
    """Print a script of shtab, which completes commands, options and files."""

    def __call__(self, parser, namespace, values, option_string=None):
        shtab = import_optional("shtab", extra="completion")
        print(shtab.complete(parser, values))
        parser.exit()


def list_options(command):
    """Return the options of a command."""
    named = [name for group in _OPTIONS[command].values() for name in group]
    return [*(name for name in named if name.startswith("-")), "--help", "-h", "--debug"]


def takes_several(command, option):
    """Return whether an option of a command takes several values."""
    return any(group.get(option, ({},))[0].get("nargs") for group in _OPTIONS[command].values())


def list_places(command):
    """Return what a command takes by its place, with the word of the help for each."""
    named = [item for group in _OPTIONS[command].values() for item in group.items()]
    return {
        name: settings.get("metavar", name.upper())
        for name, (settings, _) in named
        if not name.startswith("-")
    }


@cache
def make_parser():
    """Return parser of ``skmia``; it raises CommandError where argparse would end the process."""
    parser = _CommandParser(prog="skmia", description=_DESCRIPTION, allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"skmia {__version__}")
    parser.add_argument(
        "--print-completion",
        action=_CompletionAction,
        default=argparse.SUPPRESS,
        choices=("bash", "zsh", "tcsh"),
        help="print what completes options in this shell",
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, (line, description, epilog) in _TEXTS.items():
        command = commands.add_parser(
            name,
            help=line,
            description=description,
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        for heading, options in _OPTIONS[name].items():
            group = command.add_argument_group(heading) if heading else command
            for option, (settings, text) in options.items():
                action = group.add_argument(option, help=text, **settings)
                if settings.get("metavar") in _PATHS or option == "files":
                    action.complete = _FILES
        command.add_argument("--debug", action="store_true", help=argparse.SUPPRESS)
    return parser


def as_settings(arguments):
    """Return the options of a command as values of JSON, and the command that repeats it."""
    left_out = "command", "debug", "files", "config", "save_config", "dry_run"
    given = {
        name: _as_setting(value) for name, value in vars(arguments).items() if name not in left_out
    }
    return given | {"repeat": _write_differing_options(arguments.command, given)}


def _as_setting(value):
    if isinstance(value, list):
        return [_as_setting(one) for one in value]
    # Folders are private, also those of --members and --policy, which may be files.
    is_file = isinstance(value, Path) or (isinstance(value, str) and os.path.isfile(value))
    return Path(value).name if is_file else as_option_text(value)


def _write_differing_options(program, given):
    """Return the command with the options that differ from the usual ones."""
    by_order = "synthetic", "real"
    places = [given[name] for name in by_order if name in given]
    words = [program, *(f"./{name}" if name.startswith("-") else name for name in places)]
    usual = vars(make_parser().parse_args(words))
    for name, value in given.items():
        if name in by_order or value == _as_setting(usual[name]):
            continue
        option = f"--{name.replace('_', '-')}"
        values = value if isinstance(value, list) else [] if value is True else [value]
        values = list(map(str, values))
        # Behind a space, a value with a hyphen would be another option.
        if any(text.startswith("-") for text in values):
            words += [f"{option}={text}" for text in values]
        else:
            words += [option, *values]
    return shlex.join(["skmia", *words])
