"""``skmia table``."""

from dataclasses import replace

import numpy as np

from .._core.escaping import visible
from .._core.guesses import suggest_path
from .._core.progress import show_stages
from ..report import recommend_release
from ..synthetic import (
    PERSONS,
    ROWS,
    as_table_document,
    audit_units_of_table,
    find_identifiers,
    join_tables_of_persons,
    save_table,
    show_table,
)
from ..synthetic.cost import estimate_table_cost
from ._features_and_target import check_option_column, check_values
from ._gate import GateFinding, compare_largest, judge_verdict, miss_number
from ._options import NUMBERS, TABLE, CommandError, tell
from ._other_files import TABLES, read_suffix
from ._output import check_folder, collect_warnings, conclude_audit, finish
from ._parser import as_settings
from ._policy import describe_command_origin, read_policy
from ._reading import make_reading, read_alike

_FILES = ("synthetic", "real", "held_out")
# Their names in messages.
_OPTIONS = {"synthetic": "SYNTHETIC", "real": "REAL", "held_out": "--held-out"}
# The parts of the audit with their shares of the time, on tables of 1,500 rows.
_SHARES = {"copies": 0.07, "privacy loss": 0.27, "membership": 0.16, "singling out": 0.11}
_SHARES |= {"singling out, one column": 0.02, "linkability": 0.05, "inference": 0.13}
_SHARES |= {"holdout": 0.03, "utility": 0.01}


def run_table(arguments, show):
    """Audit the synthetic table of the command line and write its files, as ``run_audit`` does."""
    policy = read_policy(arguments.policy, TABLE)
    if arguments.dry_run:
        return _estimate(arguments)
    check_folder("out", arguments.out)
    tables, notes = _read_tables(arguments)
    identifiers = _choose_table_identifiers(tables, arguments)
    inferred = arguments.secrets or tables["real"].columns.drop(
        [arguments.person, *identifiers], errors="ignore"
    )
    _check_inferred_limits(arguments.fail_above, inferred)
    caught = {}
    shares = _SHARES | {"models": 0.15 if arguments.target else 0.0}
    with collect_warnings(caught), show_stages(shares):
        report = audit_units_of_table(
            **tables,
            units=PERSONS if arguments.keys else ROWS,
            group_by=arguments.person,
            identifiers=identifiers if arguments.keep else "auto",
            target=arguments.target,
            secrets=arguments.secrets or None,
            random_state=arguments.seed,
        )
    settings = report.settings | {"command": as_settings(arguments)}
    report = replace(report, notes=[*report.notes, *notes, *caught], settings=settings)
    broken = []
    if policy is not None:
        report, broken = _follow_policy(report, policy, arguments)
    source, document = arguments.synthetic.name, as_table_document(report)
    findings = [judge_verdict(TABLE, show_table(document))]
    for limit in arguments.fail_above:
        findings.append(
            GateFinding(TABLE, visible(limit.text), *_compare_table_limit(report.results, limit))
        )
    outcome = conclude_audit(report, document, findings, arguments, source, broken)
    return finish(outcome, save_table, arguments, show)


def _estimate(arguments):
    """Return what the audit will cost, as a text."""
    tables = _read_tables(arguments)[0]
    left_out = [*_choose_table_identifiers(tables, arguments), *filter(None, [arguments.person])]
    kept = {name: one.drop(columns=left_out, errors="ignore") for name, one in tables.items()}
    return estimate_table_cost(**kept).summary()


def _read_tables(arguments):
    """Return the tables of the command line by their names, and notes on their files."""
    names = [name for name in _FILES if getattr(arguments, name) is not None]
    paths = {name: getattr(arguments, name) for name in names}
    if arguments.keys:
        tables, notes = _read_tables_of_persons(paths, arguments)
    else:
        options = {_OPTIONS[name]: path for name, path in paths.items()}
        for option, path in options.items():
            if path.is_dir() and any(path.glob("*.csv*")):
                raise CommandError(
                    f"{option}: {visible(path.name)} is a folder of tables: name the column of "
                    "persons in each by --keys"
                )
        frames, notes = read_alike(options, make_reading(arguments))
        tables = dict(zip(names, frames, strict=True))
    for name in arguments.drop:
        check_option_column(tables["real"], name, "--drop")
    tables = {
        name: frame.drop(columns=arguments.drop, errors="ignore") for name, frame in tables.items()
    }
    if not tables["real"].shape[1]:
        raise CommandError("--drop: no columns are left")
    for name, frame in tables.items():
        for column in frame.columns:
            check_values(frame, column, _OPTIONS[name])
    named = [("--target", arguments.target), *(("--secrets", name) for name in arguments.secrets)]
    named += [("--person", arguments.person), *(("--keep", name) for name in arguments.keep)]
    for option, name in named:
        if name is not None:
            check_option_column(tables["real"], name, option)
    return tables, notes


def _read_tables_of_persons(folders, arguments):
    """Return tables with a row for each person, of folders with a file for each table."""
    if arguments.person is not None:
        raise CommandError("--person goes without --keys, by which each row is a person")
    files = {name: _list_table_files(folder, _OPTIONS[name]) for name, folder in folders.items()}
    first = files["real"]
    for name, found in files.items():
        if set(found) != set(first):
            raise CommandError(
                f"{_OPTIONS[name]}: the folder has the tables {', '.join(found)}, and REAL has "
                f"{', '.join(first)}"
            )
    given, notes = {name: {} for name in folders}, []
    for table in first:
        options = {_OPTIONS[name]: found[table] for name, found in files.items()}
        frames, told = read_alike(options, make_reading(arguments))
        notes += [f"{table}: {note}" for note in told]
        for name, frame in zip(files, frames, strict=True):
            given[name][table] = frame
    try:
        joined = join_tables_of_persons(given, _read_keys(arguments.keys))
    except ValueError as error:
        raise CommandError(f"--keys: {tell(error).removeprefix('keys: ')}") from error
    return joined.tables, [*joined.notes, *notes]


def _list_table_files(folder, option):
    """Return the files of tables in a folder, by their names without the ending."""
    if not folder.is_dir():
        raise CommandError(
            f"{option}: with --keys a folder is needed, with one file for each table; got "
            f"{visible(str(folder))}{'' if folder.exists() else suggest_path(folder)}"
        )
    found = sorted(path for path in folder.iterdir() if read_suffix(path) in TABLES)
    if not found:
        raise CommandError(f"{option}: {visible(str(folder))} has no {', '.join(TABLES)}")
    return {path.name.partition(".")[0]: path for path in found}


def _read_keys(words):
    """Return one column for all tables, or columns by table."""
    pairs = [word.partition("=") for word in words]
    if len(pairs) == 1 and not pairs[0][1]:
        return words[0]
    for word, (table, _, column) in zip(words, pairs, strict=True):
        if not table or not column:
            raise CommandError(f"--keys: must be a column or TABLE=COLUMN; got {word!r}")
    return {table: column for table, _, column in pairs}


def _choose_table_identifiers(tables, arguments):
    """Return columns that look like identifiers, without those to be compared."""
    frames = {
        name: frame.drop(columns=arguments.person or [], errors="ignore")
        for name, frame in tables.items()
    }
    return [
        name
        for name in find_identifiers(frames)
        if name not in arguments.keep and all(name in frame for frame in frames.values())
    ]


def _follow_policy(report, policy, arguments):
    try:
        origin = describe_command_origin(arguments, _FILES) | dict(arguments.provenance)
        found = recommend_release(report, policy=policy, provenance=origin)
    except Exception as error:  # a fault here must not cost the audit
        name = visible(policy.name)
        return report, [f"the policy {name} could not be followed: {tell(error)}"]
    return replace(report, recommendation=found), []


def _check_inferred_limits(limits, secrets):
    """Refuse limits of columns that are not inferred."""
    for limit in limits:
        if limit.secret is not None and limit.secret not in secrets:
            raise CommandError(f"--fail-above: {limit.secret!r} is not inferred; see --secrets")


def _compare_table_limit(frame, limit):
    """Return whether a limit holds, and a sentence if it does not."""
    wanted = NUMBERS[limit.name]
    if limit.secret is not None:
        wanted = [f"inference of {limit.secret}"]
    elif not wanted:
        wanted = [name for name in frame.index if name.startswith(f"{limit.name} ")]
    rows = frame[frame.index.isin(wanted)]
    there = rows[np.isfinite(rows[limit.column].astype(float))]
    # A column that held-out rows reveal in any case has no number; the limit holds for the others.
    if there.empty:
        if limit.name == "copied_identifiers" and not frame.empty:
            return 0, ""  # it is a number only if some are copied
        return miss_number(f"{limit.name.replace('_', ' ')} could not be measured", limit)
    return compare_largest(there, limit, lambda worst: visible(worst.name))
