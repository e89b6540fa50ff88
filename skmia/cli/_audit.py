"""``skmia audit``."""

import argparse
import sys
import time
import warnings
from contextlib import ExitStack, suppress
from dataclasses import replace

import numpy as np

from .. import audit
from .._core.kinds import is_classifier
from .._core.progress import add_steps, enter_stage, expect_stages, show_stages
from .._core.query import query_victim, unwrap
from .._core.sandbox import ModelEndedError
from .._core.walls import tell_open_doors
from ..exceptions import TrainingError
from ..report import (
    AS_FILE,
    CHECKS,
    OPENING,
    SHADOWS,
    ModelPace,
    as_audit_document,
    check_document,
    expect_audit,
    join_names,
    list_shares,
    list_subsets,
    measure_pace,
    save_report,
    size_up,
)
from ..report.cost import estimate_cost
from ._gate import CODES, list_findings
from ._inputs import make_problem, read_command_tables
from ._model import OF_DAMAGE
from ._options import CommandError, is_of_strangers, list_rates, tell
from ._output import AuditOutcome, check_folder, collect_warnings, conclude_audit, finish
from ._parser import as_settings
from ._policy import CONDITIONS, POLICY, follow_policy, read_policy
from ._required_sandbox import check_sandbox, start_sandbox

# Number of shadow models of a quick audit.
_QUICK_SHADOWS = 8

_MOST_NAMES = 8


def run_audit(arguments, show):
    policy = read_policy(arguments.policy, arguments.release)
    if arguments.dry_run:
        return _estimate_cost(arguments)
    for name in ("out", "checkpoint"):
        check_folder(name, getattr(arguments, name))
    check_sandbox(arguments)
    steps = _AuditSteps(arguments, list_rates(arguments), policy)
    if arguments.model is None or not is_of_strangers(arguments.model):
        steps("open")
        outcome = steps("audit")
    else:
        outcome = _audit_apart(steps, arguments)

    def save(document, folder):
        values = read_command_tables(arguments)[0] if arguments.show_values else None
        return save_report(document, folder, values)

    return finish(outcome, save, arguments, show)


def _estimate_cost(arguments):
    """Return what the audit will cost, as a text.

    Models of strangers are asked in their own process.
    """
    check_sandbox(arguments)
    steps = _AuditSteps(arguments, list_rates(arguments), None)
    if arguments.model is None or not is_of_strangers(arguments.model):
        return steps("estimate")
    with start_sandbox(steps, arguments, (CommandError, TrainingError)) as process:
        text = process.ask("estimate", is_limited=False)
    if not isinstance(text, str):
        raise ModelEndedError("a reply that cannot be read")
    return text


def _audit_apart(steps, arguments):
    """Audit a model of strangers in a process of its own, and check what it replies."""
    folders = [] if arguments.checkpoint is None else [arguments.checkpoint]
    with start_sandbox(steps, arguments, (CommandError, TrainingError), folders) as process:
        told = tell_open_doors(process.open_doors)
        try:
            process.ask("open_first")
        except OF_DAMAGE as error:
            name, told = arguments.model.name, f"{type(error).__name__}: {tell(error)}"
            raise CommandError(f"--model: {name} cannot answer: {told}") from error
        reply = process.ask("audit", is_limited=False)
    try:
        outcome = AuditOutcome(*reply)
        if {str} != set(map(type, [outcome.text, *outcome.reasons])) or outcome.code not in CODES:
            raise TypeError("It is not an outcome.")
        document = _note_doors(check_document(outcome.document), told)
        return outcome._replace(document=document)
    except (TypeError, ValueError) as error:
        raise ModelEndedError("a reply that cannot be read") from error


def _note_doors(document, told):
    """Write down what was open to the process of the model, which does not say so itself."""
    if told:
        document["notes"].append(told)
        if document.get("recommendation") is not None:  # whose provenance is on the sheet
            document["recommendation"]["provenance"]["process of the model"] = told
    return document


class _AuditSteps:
    """The steps of an audit, which keep what they read and come in this order."""

    def __init__(self, arguments, fprs, policy):
        self._arguments, self._fprs, self._policy = arguments, fprs, policy
        self._caught, self._stages = {}, ExitStack()

    def __call__(self, step):
        try:
            return getattr(self, step)()
        except BaseException:
            self._stages.__exit__(*sys.exc_info())  # what is shown ends as after an error
            raise

    def open(self):
        # One bar goes on from here to the end of the audit.
        self._stages.enter_context(show_stages(_list_shares(self._arguments)))
        enter_stage(OPENING)
        self._read()
        _plan(self._problem, self._arguments)

    def _read(self):
        with collect_warnings(self._caught):
            self._problem = make_problem(self._arguments)
            self._limits = _read_limits(self._arguments.fail_above, self._problem)

    def estimate(self):
        """Tell what the audit will cost; nothing is attacked."""
        self._read()
        arguments, problem = self._arguments, self._problem
        with collect_warnings(self._caught):
            cost = estimate_cost(
                problem.victim,
                problem.records,
                problem.membership,
                shadows=_QUICK_SHADOWS if arguments.quick else arguments.shadows,
                time_budget=arguments.time_limit,
                max_bytes=arguments.memory_limit,
                estimator=problem.recipe,
                file=not arguments.quick,
                fit_params=problem.fit_params,
                n_jobs=arguments.jobs,
                random_state=arguments.seed,
            )
        return cost.summary()

    def open_first(self):
        """Open a model of strangers and query it once, for which the time is limited."""
        self.open()
        with warnings.catch_warnings(), suppress(ValueError, TypeError):
            warnings.simplefilter("ignore")
            query_victim(self._problem.victim, self._problem.records.X)

    def audit(self):
        arguments, problem, broken = self._arguments, self._problem, []
        with collect_warnings(self._caught):
            result = _attack(problem, self._fprs, arguments)
            if self._policy is not None:
                result, broken = follow_policy(result, self._policy, problem, arguments)
        self._stages.close()
        notes = [*result.notes, *problem.notes, *self._caught]
        command = as_settings(arguments) | _write_swapped(arguments, problem)
        settings = result.settings | {"command": command}
        result = replace(result, notes=notes, settings=settings)
        findings = list_findings(result, self._limits, arguments.release)
        # The model, or else the table, that the audit is about.
        named = (arguments.model, arguments.answers, arguments.data, arguments.train)
        source = next((path.name for path in named if path is not None), None)
        return conclude_audit(
            result, as_audit_document(result), findings, arguments, source, broken
        )


def _write_swapped(arguments, problem):
    """Return the command with the two sides swapped, if the user named them."""
    if arguments.train is not None:
        sides = {"train": arguments.held_out, "held_out": arguments.train}
    elif problem.other_value is not None:
        sides = {"member_value": problem.other_value}
    else:
        return {}
    swapped = argparse.Namespace(**vars(arguments) | sides)
    return {"swapped": as_settings(swapped)["repeat"]}


def _list_shares(arguments):
    """Return stages of the command with their shares of the time, while nothing else is known."""
    shares = list_shares(not arguments.quick)
    if arguments.policy is not None:
        shares[POLICY] = 0.03
    if arguments.measure_conditions:
        shares[CONDITIONS] = _OF_CONDITIONS * shares[SHADOWS]
    return shares


# What leaves a stage out, or makes it shorter.
_SHORTER = {
    AS_FILE: "the attack on the file; --quick leaves it out",
    SHADOWS: "the shadow models; --time-limit ends them",
    CONDITIONS: "the conditions; without --measure-conditions there are none",
    CHECKS: "the checks",
}
# Conditions of a release are measured with further shadow models, and take so many times as long.
_OF_CONDITIONS = 1.5


def _plan(problem, arguments):
    """Say what is audited and about how long it takes."""
    pace = _find_pace(problem)
    if pace is None:
        return
    size = size_up(
        problem.victim if problem.recipe is None else problem.recipe,
        problem.records,
        n_classes=_count_classes(problem),
        shadows=_choose_shadows(arguments),
        n_jobs=arguments.jobs,
        file=not arguments.quick,
        time_budget=arguments.time_limit,
    )
    expected = expect_audit(size, pace)
    seconds = {name: add_steps(steps) for name, steps in expected.items()}
    if arguments.measure_conditions:
        seconds[CONDITIONS] = expected[CONDITIONS] = _OF_CONDITIONS * seconds[SHADOWS]
    whole = sum(seconds.values())
    if whole < 60:
        return expect_stages(expected)
    longest = max(seconds, key=seconds.get)
    tail = _SHORTER.get(longest)
    tail = "" if tail is None else f", of which {_round_minutes(seconds[longest])} are {tail}"
    about = "At least" if size.may_grow else "About"
    return expect_stages(expected, f"{about} {_round_minutes(whole)} minutes{tail}.")


def _round_minutes(seconds):
    """Return minutes as far as an estimate knows them."""
    minutes = seconds / 60
    return f"{minutes:.0f}" if minutes < 10 else f"{5 * round(minutes / 5):,}"


def _count_classes(problem):
    is_value = not is_classifier(unwrap(problem.victim))
    return 1 if is_value else len(np.unique(problem.records.y))


def _find_pace(problem):
    """Return what a fit and an answer take.

    As those of the victim took, or told from small fits.
    """
    recipe = problem.victim if problem.recipe is None else problem.recipe
    if problem.seconds is None:
        return measure_pace(recipe, problem.records, problem.fit_params)
    n, start = len(problem.records), time.perf_counter()
    n_asked = min(n, _MOST_ASKED)
    with warnings.catch_warnings(), suppress(ValueError, TypeError):
        warnings.simplefilter("ignore")
        query_victim(problem.victim, problem.records[np.arange(n_asked)].X)
    answer = time.perf_counter() - start
    return ModelPace(problem.seconds, answer, int(np.sum(problem.membership)), n_asked)


_MOST_ASKED = 2_000  # records


def _choose_shadows(arguments):
    return _QUICK_SHADOWS if arguments.quick else arguments.shadows


def _attack(problem, fprs, arguments):
    return audit(
        problem.victim,
        problem.records,
        problem.membership,
        shadows=_choose_shadows(arguments),
        time_budget=arguments.time_limit,
        max_bytes=arguments.memory_limit,
        estimator=problem.recipe,
        group=list(problem.groups.values()) or None,
        controls=arguments.controls,
        fprs=fprs,
        file=not arguments.quick,
        fit_params=problem.fit_params,
        batched=False if arguments.no_batching else "auto",
        checkpoint=arguments.checkpoint,
        n_jobs=arguments.jobs,
        random_state=arguments.seed,
        verbose=1,
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
