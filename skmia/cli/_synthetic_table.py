"""``skmia table``."""

from dataclasses import replace

from .._core.visible import visible
from ..report import recommend_release
from ..synthetic import as_document, audit_table, save_table
from ._errors import CommandError, tell
from ._output import as_settings, check_folder, collect_warnings, conclude, finish
from ._policy import describe_origin, read_policy
from ._table import check_column, check_values, read_table
from ._values import TABLE, check_table_limits, list_table_findings

_FILES = ("synthetic", "real", "holdout")


def run_table(arguments, show):
    """Audit the synthetic table of the command line and write its files, as ``run_audit`` does."""
    if arguments.target is not None and arguments.holdout is None:
        raise CommandError("--target needs --holdout, on which the models are measured")
    check_folder("out", arguments.out)
    policy = read_policy(arguments.policy, TABLE)
    tables = _read_tables(arguments)
    check_table_limits(arguments.fail_above, arguments.secrets or tables["real"].columns)
    caught = {}
    with collect_warnings(caught):
        report = audit_table(
            **tables,
            target=arguments.target,
            secrets=arguments.secrets or None,
            random_state=arguments.seed,
        )
    settings = report.settings | {"command": as_settings(arguments)}
    report = replace(report, notes=[*report.notes, *caught], settings=settings)
    broken = []
    if policy is not None:
        report, broken = _follow(report, policy, arguments)
    findings = list_table_findings(report, arguments.fail_above)
    source, document = arguments.synthetic.name, as_document(report)
    outcome = conclude(report, document, findings, arguments, source, broken)
    return finish(outcome, save_table, arguments, show)


def _read_tables(arguments):
    tables = {}
    for name in _FILES:
        path = getattr(arguments, name)
        if path is not None:
            option = f"--{name}" if name == "holdout" else name.upper()
            tables[name] = read_table(path, option)
    for name in arguments.drop:
        check_column(tables["real"], name, "--drop")
    tables = {
        name: frame.drop(columns=arguments.drop, errors="ignore") for name, frame in tables.items()
    }
    if not tables["real"].shape[1]:
        raise CommandError("--drop: no columns are left")
    for name, frame in tables.items():
        for column in frame.columns:
            check_values(frame, column, f"--{name}" if name == "holdout" else name.upper())
    named = [("--target", arguments.target), *(("--secrets", name) for name in arguments.secrets)]
    for option, name in named:
        if name is not None:
            check_column(tables["real"], name, option)
    return tables


def _follow(report, policy, arguments):
    try:
        origin = describe_origin(arguments, _FILES)
        found = recommend_release(report, policy=policy, provenance=origin)
    except Exception as error:  # a fault here must not cost the audit
        name = visible(policy.name)
        return report, [f"the policy {name} could not be followed: {tell(error)}"]
    return replace(report, recommendation=found), []
