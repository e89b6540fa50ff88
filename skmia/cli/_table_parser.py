"""The options of ``skmia table``, and those that it shares with ``skmia audit``."""

import argparse
from pathlib import Path

from ._formats import FORMATS
from ._values import place, seed, table_limit

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
    table.add_argument(
        "synthetic",
        type=Path,
        metavar="SYNTHETIC",
        help="synthetic table with a header row: .csv, .csv.gz or .parquet",
    )
    table.add_argument(
        "real", type=Path, metavar="REAL", help="table of the rows that the generator has seen"
    )
    table.add_argument(
        "--holdout",
        type=Path,
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
    table.add_argument(
        "--out", type=place, metavar="DIR", help="directory for table.json and report.html"
    )
    add_format(table, "table.json")
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
