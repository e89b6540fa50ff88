"""From a run to its findings: the numbers, repetitions on shadow models, and the checks."""

from dataclasses import replace

import pandas as pd

from . import checks
from ._disparity import compare_groups
from ._findings import Findings
from ._people import measure_people
from .checks.base import ERROR
from .measure import COLUMNS, measure, widen
from .sample import take_records
from .text import describe_error


def examine(case, run, clock):
    """Measure how well the attacks did, and check whether the numbers can be trusted.

    Parameters
    ----------
    case : Case
    run : Run
        The run with its repetitions.
    clock : Clock

    Returns
    -------
    findings : Findings
    """
    numbers = _measure_all(case, run), *_measure_repetitions(case, run, clock)
    with clock("people"):
        findings = Findings(*numbers, measure_people(case, run))
    for check in sort_by_reads(checks.CHECKS):
        with clock(check.part):
            answer = _ask(check, case, run, findings)
        if answer is not None:
            findings = replace(findings, checks={**findings.checks, check.name: answer})
    names = [check.name for check in checks.CHECKS if check.name in findings.checks]
    return replace(findings, checks={name: findings.checks[name] for name in names})


def sort_by_reads(listed):
    """Put each check after those that it reads; keep the order otherwise.

    Raises
    ------
    ValueError
        If a check reads one that does not exist or that reads it in turn.
    """
    waiting, done = list(listed), []
    while waiting:
        known = {check.name for check in done}
        ready = [check for check in waiting if set(check.reads) <= known]
        if not ready:
            names = ", ".join(check.name for check in waiting)
            raise ValueError(f"checks read others that are missing or read them in turn: {names}.")
        done.append(ready[0])
        waiting.remove(ready[0])
    return done


def _ask(check, case, run, findings):
    """The outcome of a check, which is an error if the check raises.

    The numbers are measured by then, so they are reported; a verdict that needs the check stays
    open (:func:`choose_evidence`).
    """
    for name in check.reads:
        if name in findings.checks and findings.checks[name].is_error:
            return check.answer(ERROR, f"The check failed because it needs {name}, which failed.")
    try:
        return check.ask(case, run, findings)
    except Exception as error:  # whatever it is, the other checks can still answer
        return check.answer(ERROR, f"The check failed: {describe_error(error)}")


def _measure_all(case, run):
    rows = []
    for name, scores in run.scores.items():
        subsets = ((*names, mask & run.judged[name]) for *names, mask in case.subsets)
        numbers = measure(name, scores, run.guesses[name], replace(case, subsets=subsets))
        rows += numbers if name in run.fitted else map(widen, numbers)
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _measure_repetitions(case, run, clock):
    """Power and disparity; None and None if no attack could be repeated."""
    attack, rounds, numbers, obstacle = run.repetitions
    if obstacle is not None:
        return None, None
    with clock("repetitions"):
        records = take_records(case.records, rounds.rows)
        subsets = [(*names, mask[rounds.rows]) for *names, mask in case.subsets]
        scopes = compare_groups(rounds, records, subsets, case.level, case.seeds["checks"])
    return {"attack": attack, "numbers": numbers}, {"attack": attack, "scopes": scopes}
