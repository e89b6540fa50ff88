"""The options of the command line."""

import argparse
import os
import shlex
from pathlib import Path

from .._core import __version__
from .._core.optional import import_optional
from .._core.pages import REQUEST, ROLES
from ._errors import CommandError
from ._options import (
    ESTIMATORS,
    FORMATS,
    as_plain,
    decimal_count,
    fraction,
    job_count,
    limit,
    pair,
    place,
    request_pair,
    seconds,
    seed,
    shadow_count,
    table_limit,
    text_pair,
)

_TABLE = """\
Measure how much a synthetic table reveals about the rows that its generator was trained on.

Attacks the training rows and rows of the same population that the generator has not seen
(--holdout), and prints what is found of the former beyond the latter, with confidence intervals:
copies, distances, singling out, linkability and inference. The similarity of the synthetic rows to
real ones stands beside it. Without --holdout, nothing can be said about leaks.
"""

_EXAMPLES = """\
examples:
  skmia table synthetic.csv train.csv --holdout held_out.csv --out report
  skmia table synthetic.csv train.csv --holdout held_out.csv --drop id --target income
  skmia table synthetic.csv train.csv --holdout held_out.csv --policy cautious
  skmia table synthetic.csv train.csv --holdout held_out.csv --fail-above rare_copies.low=0
"""


# An option that takes several values, and may be given several times.
LIST = {"nargs": "+", "action": "extend", "default": []}
COLUMNS = LIST | {"metavar": "COL"}


def add_table(commands):
    """Add the command to the others."""
    table = commands.add_parser(
        "table",
        help="audit a synthetic table and report how much it leaks",
        description=_TABLE,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    _add_tables(table)
    _add_outcome(table)


def _add_tables(table):
    _add_file(
        table,
        "synthetic",
        metavar="SYNTHETIC",
        help="synthetic table with a header: .csv, .parquet (or a folder), .feather",
    )
    _add_file(table, "real", metavar="REAL", help="table of the rows that the generator has seen")
    _add_file(
        table,
        "--holdout",
        metavar="FILE",
        help="table of rows of the same population that the generator has not seen",
    )
    table.add_argument(
        "--drop",
        **COLUMNS,
        help="columns to leave out of all tables, such as an identifier",
    )
    table.add_argument(
        "--target",
        metavar="COL",
        help="column for which models of synthetic and of training rows are compared",
    )
    table.add_argument(
        "--secrets",
        **COLUMNS,
        help="columns that an attacker would infer (default: each column in turn)",
    )


def _add_outcome(table):
    table.add_argument("--seed", type=seed, default=0, metavar="N", help="random seed (default: 0)")
    _add_file(
        table, "--out", type=place, metavar="DIR", help="directory for table.json and report.html"
    )
    add_format(table, "table.json")
    table.add_argument("--verbose", action="store_true", help="also print all numbers and checks")
    add_policy(table)
    table.add_argument(
        "--fail-above",
        type=table_limit,
        **LIST,
        metavar="NAME=LIMIT",
        help="exit with code 1 if a number exceeds a limit, and with code 4 if the audit is "
        "inconclusive: privacy_loss, membership, rare_copies, near_copies, singling_out, "
        "linkability or inference, or inference:COL for one column; linkability.high=0.09 compares "
        "the upper end of the interval (.low the lower one)",
    )


def add_format(group, document):
    """Add the option of what is printed, which both commands have."""
    group.add_argument(
        "--format",
        choices=FORMATS,
        default="text",
        help=f"what to print: text, the JSON of {document}, Markdown, or for other programs a "
        "JUnit or SARIF file with a test or result for the verdict and for each limit (default: "
        "text)",
    )


def add_policy(group):
    """Add the option of a policy, which both commands have."""
    group.add_argument(
        "--policy",
        metavar="NAME|FILE",
        help="recommend a release or not by a policy: cautious, research or a TOML file; exit with "
        "code 1 unless it is a release, and with code 4 if nothing can be said",
    )
    add_provenance(group)


_DESCRIPTION = "Membership-inference attacks on machine-learning models."

_AUDIT = """\
Measure how much a model reveals about its training records.

Runs several membership-inference attacks on a model, using shadow models trained on halves of the
table. Prints, with confidence intervals, the AUC of each attack, its advantage (TPR - FPR) and its
true positive rate at low false positive rates.

Without --data, audits a random forest on scikit-learn's digits.
"""

_EXAMPLES_PARSER = """\
examples:
  skmia audit --out report
  skmia audit model.skops train.csv held_out.csv
  skmia audit model.skops people.csv --members was_trained_on
  skmia audit --data adult.csv.gz --target income --group race --estimator random-forest
  skmia audit --data visits.parquet --target readmitted --group-by patient --drop visit_id
  skmia audit --data people.csv --target income --model model.skops --members was_trained_on
  skmia audit --train train.csv --heldout test.csv --target income --model model.skops
  skmia audit --data people.csv --target income --members was_trained_on --answers answers.csv
  skmia audit --data people.csv --target income --fail-above advantage=0.1 tpr@0.01=0.05
"""

_INSPECT = """\
List what a model file holds of its training records, in seconds.

Prints whether training rows are stored, what each part of the model reveals, which attacks read it
and what would change it, and with --verbose each stored array that comes from training records.
With --data, also looks for the rows and values of a table in the file, and says how well the nodes
of a tree model would tell which of its rows were used for training.
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


class _Parser(argparse.ArgumentParser):
    def error(self, message):
        raise CommandError(message)


# How a script of shtab completes the name of a file in each shell.
_FILES = {"bash": "_shtab_compgen_files", "zsh": "_files", "tcsh": "f"}


def _add_file(group, name, type=Path, **settings):
    group.add_argument(name, type=type, **settings).complete = _FILES


class _Completion(argparse.Action):
    """Print a script of shtab, which completes commands, options and files."""

    def __call__(self, parser, namespace, values, option_string=None):
        shtab = import_optional("shtab", extra="completion")
        print(shtab.complete(parser, values))
        parser.exit()


def make_parser():
    """The parser of ``skmia``; it raises CommandError where argparse would end the process."""
    parser = _Parser(prog="skmia", description=_DESCRIPTION, allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"skmia {__version__}")
    parser.add_argument(
        "--print-completion",
        action=_Completion,
        default=argparse.SUPPRESS,
        choices=("bash", "zsh", "tcsh"),
        help="print what completes options in this shell",
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    audit = commands.add_parser(
        "audit",
        help="run attacks on a model and report how much it leaks",
        description=_AUDIT,
        epilog=_EXAMPLES_PARSER,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    _add_file(
        audit,
        "files",
        nargs="*",
        metavar="FILE",
        help="a model and one table (--data), or a model and two: the rows that it was trained on "
        "and others (--train, --heldout)",
    )
    _add_file(
        audit,
        "--config",
        metavar="FILE",
        help="TOML file with options by their names; those of the command line win",
    )
    _add_file(
        audit,
        "--save-config",
        type=place,
        metavar="FILE",
        help="write the options of this command to a file that --config reads",
    )
    data = audit.add_argument_group("data")
    _add_data(data)
    _add_members(data)
    _add_victim(audit.add_argument_group("victim"))
    attack = audit.add_argument_group("attack")
    _add_shadows(attack)
    _add_attack(attack)
    _add_output(audit.add_argument_group("output"))
    add_table(commands)
    _add_inspect(commands)
    _add_report(commands)
    _add_compare(commands)
    _add_decide(commands)
    _add_policy(commands)
    for command in commands.choices.values():
        command.add_argument("--debug", action="store_true", help=argparse.SUPPRESS)
    return parser


def _add_inspect(commands):
    inspect = commands.add_parser(
        "inspect",
        help="list what a model file holds of its training records",
        description=_INSPECT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    _add_file(
        inspect,
        "model",
        metavar="MODEL",
        help="fitted model, saved with skops (.skops), or a file of XGBoost (.json, .ubj), "
        "LightGBM (.txt) or CatBoost (.cbm, .json)",
    )
    _add_file(
        inspect,
        "--data",
        metavar="FILE",
        help="table of candidate records to look for: .csv, .parquet (or a folder), .feather",
    )
    inspect.add_argument("--target", metavar="COL", help="column that the model predicts")
    inspect.add_argument(
        "--drop",
        **COLUMNS,
        help="columns to exclude from the features",
    )
    inspect.add_argument(
        "--trust-pickle",
        action="store_true",
        help="allow MODEL to be a pickle or joblib file; loading one executes any code in it",
    )
    inspect.add_argument("--verbose", action="store_true", help="also print all arrays and places")
    inspect.add_argument("--json", action="store_true", help="print JSON instead of text")
    inspect.add_argument(
        "--out", type=Path, metavar="FILE", help="also write an HTML page of what the file holds"
    )


def _add_report(commands):
    report = commands.add_parser(
        "report",
        help="regenerate the HTML report from an audit.json or table.json",
        description="Regenerate the HTML report from an audit.json or table.json.",
        allow_abbrev=False,
    )
    _add_file(report, "result", metavar="FILE", help="audit.json or table.json to read")
    _add_file(
        report,
        "--out",
        type=place,
        metavar="FILE",
        help="output file (default: beside the input, .html)",
    )
    report.add_argument("--title", metavar="TEXT", help="title")


def _add_decide(commands):
    decide = commands.add_parser(
        "decide",
        help="record the decision on a release",
        description=_DECIDE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    decide.add_argument(
        "result", type=Path, metavar="OUT", help="folder of an audit, or its audit.json, table.json"
    )
    decide.add_argument(
        "--decision",
        choices=["release", "conditions", "refuse"],
        help="what is decided; a further person who signs the same decision leaves it out",
    )
    decide.add_argument("--conditions", metavar="TEXT", help="conditions of the release")
    decide.add_argument(
        "--because", metavar="TEXT", help="why, if this differs from the recommendation"
    )
    decide.add_argument(
        "--reason",
        type=text_pair,
        **LIST,
        metavar="CHECK=TEXT",
        help="why a flagged check is acceptable, such as k=..., for each that needs a reason",
    )
    add_provenance(decide)
    decide.add_argument("--by", required=True, metavar="NAME", help="who decides")
    decide.add_argument(
        "--role",
        choices=list(ROLES),
        default="checker",
        help="in which role: the one who asks for the release, who read the audit, or who repeated "
        "the command (default: checker)",
    )
    decide.add_argument("--date", metavar="DATE", help="day, as 2026-11-23 (default: today)")
    decide.add_argument(
        "--replace",
        action="store_true",
        help="replace another decision, and remove the names under it",
    )


def add_provenance(group):
    """Add the option of what a request for a release names."""
    group.add_argument(
        "--provenance",
        type=request_pair,
        **LIST,
        metavar="NAME=TEXT",
        help=f"lines of the decision sheet that are known: {', '.join(REQUEST)}",
    )


def _add_compare(commands):
    compare = commands.add_parser(
        "compare",
        help="compare two audits",
        description="Print two audits and the differences of their results.",
        allow_abbrev=False,
    )
    _add_file(compare, "first", metavar="A", help="audit.json of an audit")
    _add_file(compare, "second", metavar="B", help="audit.json of another one")
    _add_file(
        compare,
        "--out",
        type=place,
        metavar="FILE",
        help="also write a page with both, and with all groups",
    )


def _add_policy(commands):
    policy = commands.add_parser(
        "policy",
        help="show a policy of release",
        description="Show a policy of release, to read it or to copy it into a file of your own.",
        allow_abbrev=False,
    )
    policy.add_argument("action", choices=["show"], help="what to do")
    policy.add_argument("policy", metavar="NAME|FILE", help="cautious, research or a TOML file")


def _add_data(group):
    _add_file(
        group,
        "--data",
        metavar="FILE",
        help="table with a header: .csv, .parquet (or a folder), .feather",
    )
    _add_file(
        group,
        "--train",
        metavar="FILE",
        help="table of the rows that the model was trained on, in place of --data; needs --heldout",
    )
    _add_file(group, "--heldout", metavar="FILE", help="table of rows that the model has not seen")
    group.add_argument(
        "--target",
        metavar="COL",
        help="column to predict (default with a model: the one column that holds its classes)",
    )
    group.add_argument(
        "--task",
        choices=["classification", "regression"],
        help="learning task (default: regression if the target holds floats or more than 20 "
        "distinct integers, else classification)",
    )
    group.add_argument(
        "--drop",
        **COLUMNS,
        help="columns to exclude from the features",
    )
    group.add_argument(
        "--group",
        **COLUMNS,
        help="also report results for each value of these columns; they remain features unless "
        "dropped",
    )
    group.add_argument(
        "--group-by",
        metavar="COL",
        help="keep rows with the same value in this column (a person) together, as members or as "
        "non-members; the column is not a feature",
    )


def _add_members(group):
    group.add_argument(
        "--members",
        metavar="COL|FILE",
        help="rows that the model was trained on: a column of 0/1 or true/false, which is not a "
        "feature, or a file with one value per row (default: a random half, stratified by class)",
    )
    group.add_argument(
        "--member-value",
        metavar="VALUE",
        help="value of the members, if --members holds two values other than 0/1 and true/false",
    )


def _add_victim(group):
    group.add_argument(
        "--estimator",
        choices=ESTIMATORS,
        help="model to train and audit (default: random-forest); mlp classifiers need "
        'pip install "skmia[torch]"',
    )
    _add_file(
        group,
        "--model",
        metavar="FILE",
        help="fitted model to audit, saved with skops (.skops); requires --members. With an "
        "ONNX file or a file of a booster, --estimator names the kind of the shadow models",
    )
    group.add_argument(
        "--trust-pickle",
        action="store_true",
        help="allow --model to be a pickle or joblib file; loading one executes any code in it",
    )
    _add_file(
        group,
        "--answers",
        metavar="FILE",
        help="answers of a model that is not at hand, one row per row of the table: a column of "
        "probabilities for each class, named after it, or one of labels or predictions; requires "
        "--members. Shadow models are made like --estimator, or without it like the kind of model "
        "whose answers are nearest",
    )
    group.add_argument(
        "--label-map",
        type=pair,
        **LIST,
        metavar="LABEL=CLASS",
        help="name that the model has for a label of the table",
    )


def _add_shadows(group):
    group.add_argument(
        "--shadows",
        type=shadow_count,
        default="auto",
        metavar="auto|N",
        help="number of shadow models, even; auto trains 8 and doubles them, up to 64, while more "
        "of them are expected to change the result noticeably (default: auto)",
    )
    group.add_argument(
        "--quick",
        action="store_true",
        help="train 8 shadow models and do not attack the model as a file",
    )
    group.add_argument(
        "--time-limit",
        type=seconds,
        metavar="SECONDS",
        help="begin no shadow models that would be unfinished this long after the audit began; "
        "4 are trained in any case",
    )


def _add_attack(group):
    group.add_argument(
        "--fpr",
        type=fraction,
        nargs="+",
        metavar="RATE",
        help="false positive rates at which to report the true positive rate (default: 0.01 "
        "0.001; 0.1 0.02 without --data)",
    )
    group.add_argument(
        "--jobs",
        type=job_count,
        default=2,
        metavar="N",
        help="number of parallel jobs; -1 uses all cores (default: 2)",
    )
    group.add_argument(
        "--controls",
        action="store_true",
        help="also run the positive and the negative control",
    )
    group.add_argument(
        "--no-batching",
        action="store_true",
        help="train shadow models one at a time (slower)",
    )
    _add_file(
        group,
        "--checkpoint",
        type=place,
        metavar="DIR",
        help="folder for finished shadow models; the same command, run again, resumes from it",
    )
    group.add_argument("--seed", type=seed, default=0, metavar="N", help="random seed (default: 0)")


def _add_output(group):
    _add_file(
        group,
        "--out",
        type=place,
        metavar="DIR",
        help="directory for audit.json, roc.png and report.html",
    )
    add_format(group, "audit.json")
    group.add_argument(
        "--verbose", action="store_true", help="also print all attacks, numbers, checks and notes"
    )
    group.add_argument(
        "--show-values",
        action="store_true",
        help="include feature values of the most exposed records in the report; they may be "
        "personal data",
    )
    group.add_argument(
        "--release",
        choices=["service", "file"],
        default="service",
        help="how the model is released, for the exit code: as a service that answers queries, or "
        "as a file, for which the limits of --fail-above hold for the attack on the file as well "
        "(default: service)",
    )
    add_policy(group)
    group.add_argument(
        "--decimals",
        type=decimal_count,
        metavar="N",
        help="number of decimals of the answers of a service, for --policy",
    )
    group.add_argument(
        "--recipe",
        metavar="TEXT",
        help="state that --estimator is the recipe of the model of --answers, or of a --model that "
        "cannot be trained, and who answers for it; for --policy, and for the decision sheet",
    )
    group.add_argument(
        "--measure-conditions",
        action="store_true",
        help="if --policy says not to release, train the shadow models once more and measure the "
        "model with rounded answers, labels alone, a stripped file, or a service in place of the "
        "file; name those under which it may be released",
    )
    group.add_argument(
        "--fail-above",
        type=limit,
        **LIST,
        metavar="NAME=LIMIT",
        help="exit with code 1 if an attack exceeds a limit, and with code 4 if the audit is "
        "inconclusive: auc=0.6, advantage=0.1 or, for a rate of --fpr, tpr@0.01=0.05; over all "
        "records and in every group in which leakage was found. auc.high=0.6 compares the upper "
        "end of the interval (.low the lower one), group:race=Black:auc=0.6 one group",
    )


_PLACES = "synthetic", "real"  # files that are named by their order


def as_settings(arguments):
    """The options of a command as values of JSON, and the command that repeats it."""
    left_out = "command", "debug", "files", "config", "save_config"
    given = {
        name: _as_setting(value) for name, value in vars(arguments).items() if name not in left_out
    }
    return given | {"repeat": _write_command(arguments.command, given)}


def _as_setting(value):
    if isinstance(value, list):
        return [_as_setting(one) for one in value]
    # Folders are private, also those of --members and --policy, which may be files.
    is_file = isinstance(value, Path) or (isinstance(value, str) and os.path.isfile(value))
    return Path(value).name if is_file else as_plain(value)


def _write_command(program, given):
    """The command with the options that differ from the usual ones."""
    places = [given[name] for name in _PLACES if name in given]
    words = [program, *(f"./{name}" if name.startswith("-") else name for name in places)]
    usual = vars(make_parser().parse_args(words))
    for name, value in given.items():
        if name in _PLACES or value == _as_setting(usual[name]):
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
