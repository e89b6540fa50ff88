"""``skmia audit``."""

import re
import sys
import tempfile
import warnings
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from textwrap import fill
from typing import NamedTuple

import numpy as np
from sklearn.base import is_classifier
from sklearn.ensemble import RandomForestClassifier

from .. import audit
from .._core.asking import unwrap
from .._core.files import make_private_folder
from .._core.records import Records
from .._core.splits import compute_strata
from .._core.visible import visible
from .._training.job import Data, Job, keep_model
from .._training.plan import plan_training
from ..datasets import load_digits
from ..report.groups import list_subsets
from ..report.growth import AUTO
from ..report.save import save_report
from ..report.text import join_names
from ..report.victim import draw_members
from ._errors import CommandError, GateClosed
from ._gate import BROKEN, judge
from ._limits import Limit
from ._model import as_model_input, load_model, make_estimator, needs_numbered_labels
from ._table import as_features, check_column, infer_task, read_members, read_table, read_target

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

_MOST_NAMES = 8
_WIDTH = 100  # of a line in a terminal, as in the summary

_RESERVED_FIELDS = frozenset({"overall", "X", "y", "fields", "group_by", "outputs"})


class Problem(NamedTuple):
    """A fitted victim and the records to attack."""

    victim: object
    records: Records
    membership: np.ndarray
    groups: dict
    notes: list
    table: object = None


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
    is_toy = arguments.data is None
    fprs = arguments.fpr or (_DIGITS_FPRS if is_toy else _TABLE_FPRS)
    _check_limits(arguments.fail_above, fprs)
    caught = []
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_: caught.append(" ".join(str(message).split()))
        problem = _make_digits(arguments) if is_toy else _make_table(arguments)
        limits = _read_limits(arguments.fail_above, problem)
        result = audit(
            problem.victim,
            problem.records,
            problem.membership,
            shadows=_QUICK_SHADOWS if arguments.quick else arguments.shadows,
            time_budget=arguments.time_limit,
            group=list(problem.groups.values()) or None,
            controls=arguments.controls,
            fprs=fprs,
            file=not arguments.quick,
            batched=False if arguments.no_batching else "auto",
            checkpoint=arguments.checkpoint,
            n_jobs=arguments.jobs,
            random_state=arguments.seed,
            verbose=int(sys.stderr.isatty()),
        )
        notes = [*result.notes, *problem.notes, *dict.fromkeys(caught)]
        settings = result.settings | {"command": _as_settings(arguments)}
        result = replace(result, notes=notes, settings=settings)
        values = problem.table if arguments.show_values else None
    show(result.summary())
    lines, broken = ([], []) if arguments.out is None else _save(result, arguments.out, values)
    text = "\n".join(["", *lines]) if lines else ""
    code, reasons = judge(result, limits, arguments.release)
    if broken:
        code, reasons = code or BROKEN, reasons + broken
    if code:
        raise GateClosed("; ".join(reasons), text, code)
    return text


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
    if arguments.time_limit is not None and arguments.shadows != AUTO:
        raise CommandError("--time-limit limits the shadow models of --shadows auto")
    if arguments.data is None:
        names = ("target", "task", "drop", "group", "group_by", "members", "estimator", "model")
        names += ("show_values",)
        for name in names:
            if getattr(arguments, name):
                raise CommandError(f"--{name.replace('_', '-')} goes with --data")
        return
    if arguments.target is None:
        raise CommandError("--data needs --target, the column that the model predicts")
    if arguments.model is None:
        return
    for name in ("estimator", "task"):
        if getattr(arguments, name):
            raise CommandError(f"--{name} goes with a model that is trained here, not with --model")
    if arguments.members is None:
        raise CommandError("--model needs --members: which rows was the model trained on?")


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


def _make_digits(arguments):
    records = load_digits()
    membership = _draw_members(records, True, arguments.seed)
    members = records[membership]
    victim = RandomForestClassifier(random_state=arguments.seed).fit(members.X, members.y)
    notes = ["The data are the digits that come with scikit-learn, and a random half are members."]
    return Problem(victim, records, membership, {}, notes)


def _draw_members(records, is_classification, seed):
    try:
        strata = compute_strata(records.y, is_classification)
        return draw_members(records, strata, np.random.default_rng(seed))
    except ValueError as error:
        raise CommandError(str(error)) from error


def _make_table(arguments):
    frame = read_table(arguments.data)
    for option in ("target", "group_by"):
        name = getattr(arguments, option)
        if name is not None:
            check_column(frame, name, f"--{option.replace('_', '-')}")
    for option in ("drop", "group"):
        for name in getattr(arguments, option):
            check_column(frame, name, f"--{option}")
    if arguments.target in arguments.drop:
        raise CommandError(
            f"--drop: column {arguments.target!r} is the target and never a feature; name "
            "another column as --target, or leave it out of --drop"
        )
    fields, groups = _read_fields(frame, arguments)
    membership = None if arguments.members is None else read_members(frame, arguments.members)
    leaving = {arguments.target, arguments.members, arguments.group_by, *arguments.drop}
    features = [name for name in frame.columns if name not in leaving]
    make = _train_victim if arguments.model is None else _load_victim
    victim, records, membership, notes = make(arguments, frame, features, fields, membership)
    return Problem(victim, records, membership, groups, notes, frame)


def _read_fields(frame, arguments):
    """Fields of the records; of those to report by the name of each column as a field."""
    fields, groups = {}, {}
    if arguments.group_by is not None:
        column = frame[arguments.group_by]
        if column.isna().any():
            where = f"has no value in {column.isna().sum()} rows"
            raise CommandError(f"--group-by: column {arguments.group_by!r} {where}")
        fields["group_by"] = column.astype(str).to_numpy(dtype=object)
    for column in dict.fromkeys(arguments.group):
        if frame[column].isna().all():
            raise CommandError(f"--group: column {column!r} has no value in any row")
        name = re.sub(r"\W|^(?=\d)", "_", column)
        while name in _RESERVED_FIELDS or name in fields:
            name += "_"
        fields[name] = frame[column].to_numpy(dtype=object)
        groups[column] = name
    return fields, groups


def _train_victim(arguments, frame, features, fields, membership):
    task = arguments.task or infer_task(frame[arguments.target])
    y = read_target(frame, arguments.target, task)
    X = as_features(frame[features])
    name, classes = arguments.estimator or "random-forest", np.empty(0)
    if needs_numbered_labels(name, task):
        classes, y = np.unique(y, return_inverse=True)
    estimator = make_estimator(name, X, task, arguments.seed, n_classes=len(classes))
    records = Records(X, y, **fields)
    notes = [f"Task: {task} of {arguments.target!r} (--task overrides)."]
    if membership is None:
        membership = _draw_members(records, task == "classification", arguments.seed)
        notes.append("The members are a random half of the rows (--members names others).")
    if needs_numbered_labels(name, task):
        return _train_net(estimator, records, membership, arguments), records, membership, notes
    members = records[membership]
    return estimator.fit(members.X, members.y), records, membership, notes


def _train_net(estimator, records, membership, arguments):
    """A net, which has no random_state, trained as its shadow models are: batched, or not."""
    seeds = np.random.SeedSequence(arguments.seed).spawn(2)
    subsets, data = np.array([membership, membership]), Data([records.X], records.y)
    job = Job(estimator, data, subsets, seeds, keep_model, n_jobs=1)
    plan = plan_training(job, False if arguments.no_batching else "auto")  # tried on two models
    ((_, kept),) = plan.run(job._replace(subsets=subsets[:1], seeds=seeds[:1]))
    return kept.model


def _load_victim(arguments, frame, features, fields, membership):
    victim = load_model(arguments.model, trust_pickle=arguments.trust_pickle)
    task = "classification" if is_classifier(victim) else "regression"
    y = read_target(frame, arguments.target, task)
    X = as_model_input(victim, frame.drop(columns=arguments.target), features)
    return victim, Records(X, y, **fields), membership, []
