"""From a run to findings: the numbers, repetitions on shadow models, and the checks."""

from dataclasses import replace

import pandas as pd

from . import checks
from ._disparity import compare_groups
from ._findings import Findings
from .measure import COLUMNS, measure, widen


def examine(case, run, clock):
    """Measure what the attacks said, and whether the numbers can be trusted.

    Parameters
    ----------
    case : Case
    run : Run
        With its repetitions.
    clock : Clock

    Returns
    -------
    findings : Findings
    """
    findings = Findings(_measure_all(case, run), *_measure_repetitions(case, run, clock))
    for check in sort_by_reads(checks.CHECKS):
        with clock(check.part):
            answer = check.ask(case, run, findings)
        if answer is not None:
            findings = replace(findings, checks={**findings.checks, check.name: answer})
    names = [check.name for check in checks.CHECKS if check.name in findings.checks]
    return replace(findings, checks={name: findings.checks[name] for name in names})


def sort_by_reads(listed):
    """Checks after those that they read, and otherwise in their order.

    Raises
    ------
    ValueError
        If a check reads one that there is not, or that reads it in turn.
    """
    waiting, done = list(listed), []
    while waiting:
        ready = [one for one in waiting if set(one.reads) <= {other.name for other in done}]
        if not ready:
            names = ", ".join(one.name for one in waiting)
            raise ValueError(f"checks read others that are missing or read them in turn: {names}.")
        done.append(ready[0])
        waiting.remove(ready[0])
    return done


def _measure_all(case, run):
    rows = []
    for name, scores in run.scores.items():
        subsets = [(*names, mask & run.judged[name]) for *names, mask in case.subsets]
        numbers = measure(name, scores, run.guesses[name], replace(case, subsets=subsets))
        rows += numbers if name in run.fitted else map(widen, numbers)
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _measure_repetitions(case, run, clock):
    """Power and disparity, or None and None."""
    attack, rounds, numbers, obstacle = run.repetitions
    if obstacle is not None:
        return None, None
    with clock("repetitions"):
        scopes = compare_groups(
            rounds, case.records, case.subsets, case.level, case.seeds["checks"]
        )
    return {"attack": attack, "numbers": numbers}, {"attack": attack, "scopes": scopes}
