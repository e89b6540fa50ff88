"""The options of the command line."""

import argparse
from pathlib import Path

from .. import __version__
from ._errors import CommandError
from ._limits import parse_limit
from ._model import ESTIMATORS

_DESCRIPTION = "Membership-inference attacks on machine-learning models."

_AUDIT = """\
Find out how well the training records of a model can be told from others.

Several attacks are run on one model (the victim) with shadow models trained on halves of the
table. Printed are, with confidence intervals, the AUC of each attack, the advantage of its guesses
(TPR - FPR) and its true positive rate at low false positive rates.

Without --data a random forest on the digits that come with scikit-learn is audited.
"""

_EXAMPLES = """\
examples:
  skmia audit --out report
  skmia audit --data adult.csv.gz --target income --group race --estimator random-forest
  skmia audit --data visits.parquet --target readmitted --group-by patient --drop visit_id
  skmia audit --data people.csv --target income --model model.skops --members was_trained_on
  skmia audit --data people.csv --target income --fail-above advantage=0.1 tpr@0.01=0.05
"""


class _Parser(argparse.ArgumentParser):
    def error(self, message):
        raise CommandError(message)


_MOST_JOBS = 10_000  # processes


def _as_integer(text):
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a whole number; got {text!r}") from None


def _shadow_count(text):
    number = _as_integer(text)
    if number < 4 or number % 2:
        raise argparse.ArgumentTypeError(f"must be even and at least 4; got {number}")
    return number


def _job_count(text):
    number = _as_integer(text)
    if not -1 <= number <= _MOST_JOBS or number == 0:
        allowed = f"must be at least 1 and at most {_MOST_JOBS}, or -1 for all cores"
        raise argparse.ArgumentTypeError(f"{allowed}; got {number}")
    return number


def _seed(text):
    number = _as_integer(text)
    if not 0 <= number < 2**32:
        raise argparse.ArgumentTypeError(f"must lie between 0 and 2**32 - 1; got {number}")
    return number


def _rate(text):
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 < number < 1:
        raise argparse.ArgumentTypeError(f"must be a fraction between 0 and 1; got {text!r}")
    return number


def _limit(text):
    try:
        return parse_limit(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def make_parser():
    """The parser of ``skmia``; it raises CommandError where argparse would end the process."""
    parser = _Parser(prog="skmia", description=_DESCRIPTION, allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"skmia {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    audit = commands.add_parser(
        "audit",
        help="attack a model and measure how well its training records are found",
        description=_AUDIT,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    _add_data(audit.add_argument_group("data"))
    _add_victim(audit.add_argument_group("victim"))
    _add_attack(audit.add_argument_group("attack"))
    _add_output(audit.add_argument_group("output"))
    _add_report(commands)
    _add_compare(commands)
    for command in commands.choices.values():
        command.add_argument("--debug", action="store_true", help=argparse.SUPPRESS)
    return parser


def _add_report(commands):
    report = commands.add_parser(
        "report",
        help="make the page of an audit again from its audit.json",
        description="Make the page of an audit again from its audit.json.",
        allow_abbrev=False,
    )
    report.add_argument("result", type=Path, metavar="FILE", help="audit.json of an audit")
    report.add_argument(
        "--out", type=Path, metavar="FILE", help="page to write (default: beside the result, .html)"
    )
    report.add_argument(
        "--title", default="Membership-inference audit", metavar="TEXT", help="of the page"
    )


def _add_compare(commands):
    compare = commands.add_parser(
        "compare",
        help="set two audits side by side",
        description="Set two audits side by side, and the differences of their numbers.",
        allow_abbrev=False,
    )
    compare.add_argument("first", type=Path, metavar="A", help="audit.json of an audit")
    compare.add_argument("second", type=Path, metavar="B", help="audit.json of another one")


def _add_data(group):
    group.add_argument(
        "--data", type=Path, metavar="FILE", help="table: .csv, .csv.gz or .parquet, with a header"
    )
    group.add_argument("--target", metavar="COL", help="column that the model predicts")
    group.add_argument(
        "--task",
        choices=["classification", "regression"],
        help="by default regression for a target of floats or of more than 20 distinct integers, "
        "otherwise classification",
    )
    group.add_argument(
        "--drop",
        nargs="+",
        action="extend",
        default=[],
        metavar="COL",
        help="columns that are no features",
    )
    group.add_argument(
        "--group",
        nargs="+",
        action="extend",
        default=[],
        metavar="COL",
        help="report each value of these columns as well; they stay features unless dropped",
    )
    group.add_argument(
        "--group-by",
        metavar="COL",
        help="rows with one value of this column (a person) are all members or all non-members; "
        "the column is no feature",
    )
    group.add_argument(
        "--members",
        metavar="COL|FILE",
        help="who was trained on: a column of 0/1 or true/false, which is no feature, or a file "
        "with one of them per row; by default a random half, stratified by class",
    )


def _add_victim(group):
    group.add_argument(
        "--estimator",
        choices=ESTIMATORS,
        help="train this model on the members and audit it (default: random-forest); mlp needs "
        'pip install "skmia[torch]" for a classification',
    )
    group.add_argument(
        "--model",
        type=Path,
        metavar="FILE",
        help="audit this fitted model, saved with skops (.skops); needs --members",
    )
    group.add_argument(
        "--trust-pickle",
        action="store_true",
        help="allow a pickle or joblib file as --model: loading it runs any code that is in it",
    )


def _add_attack(group):
    group.add_argument(
        "--shadows",
        type=_shadow_count,
        metavar="N",
        help="shadow models, an even number (default: 64; 32 without --data)",
    )
    group.add_argument(
        "--fpr",
        type=_rate,
        nargs="+",
        metavar="RATE",
        help="false positive rates at which the true positive rate is reported (default: 0.01 "
        "0.001; 0.1 0.02 without --data)",
    )
    group.add_argument(
        "--jobs",
        type=_job_count,
        default=2,
        metavar="N",
        help="models trained at once, -1 for one on each core (default: 2)",
    )
    group.add_argument(
        "--controls",
        action="store_true",
        help="attack a model that must be caught and one that must not be as well",
    )
    group.add_argument(
        "--no-batching",
        action="store_true",
        help="train the shadow models one by one, which takes longer and leads to the same "
        "conclusions",
    )
    group.add_argument(
        "--checkpoint",
        type=Path,
        metavar="DIR",
        help="folder that keeps every finished shadow model: the same command, run again, goes on "
        "from there",
    )
    group.add_argument(
        "--seed", type=_seed, default=0, metavar="N", help="of all that is random (default: 0)"
    )


def _add_output(group):
    group.add_argument(
        "--out", type=Path, metavar="DIR", help="folder for audit.json, roc.png and report.html"
    )
    group.add_argument(
        "--show-values",
        action="store_true",
        help="show what the table says of the most exposed records on the page; it may be personal",
    )
    group.add_argument(
        "--fail-above",
        type=_limit,
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME=LIMIT",
        help="end with code 1 if an attack exceeds a limit, and with code 4 if nothing can be "
        "said: auc=0.6, advantage=0.1 or, for one of the rates of --fpr, tpr@0.01=0.05; over all "
        "records and in every group in which leakage was found. auc.high=0.6 compares the upper "
        "end of the interval (.low the lower one), group:race=Black:auc=0.6 one group",
    )
