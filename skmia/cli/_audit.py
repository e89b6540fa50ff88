"""``skmia audit``."""

import tempfile
import warnings
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from textwrap import fill

from sklearn.base import is_classifier

from .. import audit
from .._core.asking import unwrap
from .._core.files import make_private_folder
from .._core.visible import visible
from ..report.groups import list_subsets
from ..report.growth import AUTO
from ..report.save import save_report
from ..report.text import join_names
from ._errors import CommandError, GateClosed
from ._formats import format_result
from ._gate import BROKEN, judge, list_findings
from ._limits import Limit
from ._model import lacks_a_recipe
from ._policy import as_finding, follow_policy, read_policy
from ._problem import is_toy, make_problem

_TABLE_FPRS = [0.01, 0.001]

# With 900 non-members, a rate of 0.001 cannot be resolved.
_DIGITS_FPRS = [0.1, 0.02]

# Number of shadow models of a quick audit.
_QUICK_SHADOWS = 8

# Options that contradict --quick unless they have their usual value.
_NOT_QUICK = [
    ("shadows", "", AUTO),
    ("time_limit", "", None),
    ("controls", "", False),
    ("release", " file", "service"),
]

# Options that the audit without a table does not use.
_WITH_A_TABLE = ("target", "task", "drop", "group", "group_by", "members", "member_value")
_WITH_A_TABLE += ("estimator", "model", "answers", "label_map", "show_values")

_MOST_NAMES = 8
_WIDTH = 100  # of a line in a terminal, as in the summary


def run_audit(arguments, show):
    """Run the audit of the command line and write its files.

    Parameters
    ----------
    arguments : argparse.Namespace
    show : callable
        Function that prints the result, before any file is written.

    Returns
    -------
    text : str
        Text to print afterwards.

    Raises
    ------
    CommandError
        If the input is invalid.
    GateClosed
        If a limit of ``--fail-above`` is exceeded, nothing can be said, or the page or the picture
        could not be made.
    """
    _check_combination(arguments)
    _check_folders(arguments)
    fprs = arguments.fpr or (_DIGITS_FPRS if is_toy(arguments) else _TABLE_FPRS)
    _check_limits(arguments.fail_above, fprs)
    policy = read_policy(arguments.policy, arguments.release)
    caught, broken = [], []
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_: caught.append(" ".join(str(message).split()))
        problem = make_problem(arguments)
        limits = _read_limits(arguments.fail_above, problem)
        result = _attack(problem, fprs, arguments)
        if policy is not None:
            result, broken = follow_policy(result, policy, problem, arguments)
    notes = [*result.notes, *problem.notes, *dict.fromkeys(caught)]
    settings = result.settings | {"command": _as_settings(arguments)}
    result = replace(result, notes=notes, settings=settings)
    findings = list_findings(result, limits, arguments.release)
    if result.recommendation is not None:
        findings.append(as_finding(result.recommendation))
    show(format_result(arguments.format, result, findings, _name_source(arguments)))
    values = problem.table if arguments.show_values else None
    lines, unwritten = ([], []) if arguments.out is None else _save(result, arguments.out, values)
    text = "\n".join(["", *lines]) if lines and arguments.format == "text" else ""
    code, reasons = judge(findings)
    if broken or unwritten:
        code, reasons = code or BROKEN, [*reasons, *broken, *unwritten]
    if code:
        raise GateClosed("; ".join(reasons), text, code)
    return text


def _attack(problem, fprs, arguments):
    return audit(
        problem.victim,
        problem.records,
        problem.membership,
        shadows=_QUICK_SHADOWS if arguments.quick else arguments.shadows,
        time_budget=arguments.time_limit,
        estimator=problem.recipe,
        group=list(problem.groups.values()) or None,
        controls=arguments.controls,
        fprs=fprs,
        file=not arguments.quick,
        batched=False if arguments.no_batching else "auto",
        checkpoint=arguments.checkpoint,
        n_jobs=arguments.jobs,
        random_state=arguments.seed,
        verbose=1,
    )


def _name_source(arguments):
    """The model, or else the table, that the audit is about."""
    named = (arguments.model, arguments.answers, arguments.data, arguments.train)
    return next((path.name for path in named if path is not None), None)


def _save(result, directory, values):
    """A line for each file that was written or not, and sentences on those that are a fault.

    A file that is missing because its package is not installed is not a fault.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with _named("out", directory):
            saved = save_report(result, directory, values)
    lines = [f"written: {visible(path)}" for path in saved.paths]
    lines += [
        fill(note, _WIDTH, subsequent_indent="  ", break_long_words=False) for note in saved.notes
    ]
    errors = zip(saved.notes, saved.failures.values())
    return lines, [note.rstrip(".") for note, error in errors if not isinstance(error, ImportError)]


def _check_combination(arguments):
    """Refuse options that would be ignored, or that require another one."""
    if arguments.quick:
        for name, value, usual in _NOT_QUICK:
            if getattr(arguments, name) != usual:
                raise CommandError(f"--quick goes without --{name.replace('_', '-')}{value}")
    if arguments.decimals is not None and arguments.policy is None:
        raise CommandError("--decimals goes with --policy")
    if arguments.measure_conditions and arguments.policy is None:
        raise CommandError("--measure-conditions goes with --policy")
    if arguments.time_limit is not None and arguments.shadows != AUTO:
        raise CommandError("--time-limit limits the shadow models of --shadows auto")
    _check_tables(arguments)
    if is_toy(arguments):
        for name in _WITH_A_TABLE:
            if getattr(arguments, name):
                raise CommandError(f"--{name.replace('_', '-')} goes with --data")
        return
    if arguments.target is None:
        raise CommandError("--data needs --target, the column that the model predicts")
    _check_model(arguments)


def _check_tables(arguments):
    """Refuse tables that contradict each other."""
    if (arguments.train is None) != (arguments.heldout is None):
        raise CommandError("--train and --heldout go together: the members, and other rows")
    if arguments.train is not None:
        for name in ("data", "members"):
            if getattr(arguments, name) is not None:
                raise CommandError(f"--{name} goes without --train and --heldout")
    if arguments.member_value is not None and arguments.members is None:
        raise CommandError("--member-value goes with --members")


def _check_model(arguments):
    """Refuse options that a model that is given, or its answers, would ignore."""
    if arguments.model is not None:
        foreign = lacks_a_recipe(arguments.model)
        for name in ("task",) if foreign else ("estimator", "task"):
            if getattr(arguments, name):
                raise CommandError(
                    f"--{name} goes with a model that is trained here, not with --model"
                )
        if foreign and arguments.estimator is None:
            raise CommandError(
                f"--model: no models like {arguments.model.name} can be trained from the file; "
                "name the kind of the shadow models with --estimator"
            )
        if arguments.answers is not None:
            raise CommandError("--answers goes without --model, which gives its answers itself")
    known = arguments.members is not None or arguments.train is not None
    for name in ("model", "answers"):
        if getattr(arguments, name) is not None and not known:
            raise CommandError(
                f"--{name} needs --members (or --train and --heldout): which rows was the model "
                "trained on?"
            )
    if arguments.label_map and arguments.model is None and arguments.answers is None:
        raise CommandError("--label-map goes with --model or --answers")


def _check_limits(limits, fprs):
    for limit in limits:
        if limit.metric == "tpr" and limit.max_fpr not in fprs:
            have = ", ".join(f"{rate:g}" for rate in fprs)
            raise CommandError(
                f"--fail-above: tpr@{limit.max_fpr:g} is not reported; available rates: {have} "
                "(see --fpr)"
            )


def _read_limits(limits, problem):
    """The limits by the names of the fields, whose groups are looked for before the work begins."""
    victim = unwrap(problem.victim)
    subsets = list_subsets(
        problem.records, list(problem.groups.values()) or None, classes=is_classifier(victim)
    )
    found = []
    for limit in limits:
        scope = problem.groups.get(limit.scope, limit.scope)
        groups = [group for name, group, _ in subsets if name == scope]
        if scope is not None and not groups:
            raise CommandError(f"--fail-above: {limit.scope!r} is not reported; see --group")
        if scope is not None and limit.group not in groups:
            raise CommandError(
                f"--fail-above: {limit.scope!r} has no group {limit.group!r}; it has "
                f"{join_names(map(repr, groups), _MOST_NAMES)}"
            )
        found.append(limit._replace(scope=scope))
    return found


def _check_folders(arguments):
    """Make the folders and a file in each now rather than fail after the work is done."""
    for name in ("out", "checkpoint"):
        folder = getattr(arguments, name)
        if folder is None:
            continue
        with _named(name, folder):
            if name == "checkpoint":
                make_private_folder(folder)
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=folder):
                pass


@contextmanager
def _named(name, folder):
    """Name the option and its folder where the operating system refuses something."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise CommandError(f"--{name}: cannot write into {folder}: {reason}") from error


def _as_settings(arguments):
    return {
        name: _as_setting(value)
        for name, value in vars(arguments).items()
        if name not in ("command", "debug")
    } | {"members": _without_folder(arguments.members)}


def _as_setting(value):
    if isinstance(value, list):
        return [item.text if isinstance(item, Limit) else item for item in value]
    if isinstance(value, Path):
        return value.name  # folders are private
    return value if isinstance(value, int | float | None) else str(value)


def _without_folder(members):
    """Return the name of a column, or of a file without its folder."""
    return Path(members).name if members is not None and Path(members).is_file() else members
