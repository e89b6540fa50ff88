"""What the parts of an audit may hold and take, known before they begin."""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone

from .._core.budget import Cost, count_table_bytes, format_apart, format_duration, why_over
from ..base import connect, needs_of, parts_of

# An attack without shadow models may take as long as the training of all shadow models, and so many
# seconds more.
_FURTHER = 2.0
# Any other part may take so many times as long as that training, and so many seconds more.
_LOOPS, _SECONDS = 3.0, 30.0
# A check is asked of at least so many records, which take it a second at most.
_FEWEST_ASKED = 20_000


class AuditBudget(NamedTuple):
    """What a part of an audit may hold, and how long all shadow models take."""

    n_bytes: float
    loop: float | None  # seconds; None if no clone was timed

    @property
    def seconds(self):
        """How long a part may take."""
        return np.inf if self.loop is None else _LOOPS * self.loop + _SECONDS

    @property
    def max_seconds(self):
        """The same as a parameter, None without a limit."""
        return None if self.loop is None else self.seconds


def make_budget(case, pace=None):
    """Return the budget of an audit, by its table and by the fit and the answer of a clone."""
    pace = getattr(case.agreement, "pace", None) if pace is None else pace
    n_models = case.request.size_of_pool
    # Other work on the machine shall not decide what is left out.
    loop = None if pace is None else n_models * pace.loop_on(len(case.records)) / pace.load
    return AuditBudget(case.bytes_allowed, loop)


def expect_attack(attack, case):
    """Return what an attack will hold and take, beside the shadow models that it compares with.

    None if that is small or unknown.
    """
    if not any(hasattr(one, "expect_cost") for one in parts_of(attack)):
        return None
    connected = clone(attack)
    if not needs_of(attack).keeps:
        connected = connect(connected, case.request.victim, None, stored=True)
    try:
        costs = [
            one.expect_cost(case.records)
            for one in parts_of(connected)
            if hasattr(one, "expect_cost")
        ]
    except Exception:  # whatever it is, the attack itself will say so
        return None
    return max(costs, default=None)


def expect_alone(attacks, case):
    """Return the costs of the attacks that need no shadow models, by name, where they are known."""
    alone = {name: one for name, one in attacks.items() if not needs_of(one).keeps}
    costs = {name: expect_attack(one, case) for name, one in alone.items()}
    return {name: cost for name, cost in costs.items() if cost is not None}


def leave_out_costly(case, plan, pace=None):
    """Return the plan without default attacks that hold or take more than they are worth, and why.

    Attacks that a user names run however long they take. What they would hold, they refuse.
    """
    if not case.are_default:
        return plan
    budget, attacks, notes = make_budget(case, pace), dict(plan.attacks), list(plan.notes)
    for name, attack in plan.attacks.items():
        cost = expect_attack(attack, case)
        judge = why_long if needs_of(attack).keeps else why_costly
        why = None if cost is None else judge(name, cost, budget)
        if why is not None:
            del attacks[name]
            notes.append(f"{name} was left out: {why}.")
    return plan._replace(attacks=attacks, notes=notes)


def with_memory(attack, case):
    """Return the attack on a victim with the memory that the case allows its parts.

    What a user has set for an attack stays.
    """
    for one in parts_of(attack):
        if "max_bytes" in (settings := one.get_params(deep=False)):
            if isinstance(settings["max_bytes"], str):
                one.set_params(max_bytes=case.max_bytes)
    return attack


def why_costly(name, cost, budget):
    """Return why an attack without shadow models is not worth its cost, or None."""
    if (why := why_over(cost, budget.n_bytes)) is not None:
        return f"{why}; fewer columns or classes would do, or a larger max_bytes"
    if cost.seconds <= _FURTHER + (budget.loop or 0.0):
        return None
    return (
        f"it would take about {cost.seconds:,.0f} s, longer than the training of all shadow "
        f"models; attacks={{{name!r}: {name}()}} runs it"
    )


def why_long(name, cost, budget):
    """Return why an attack with shadow models would take too long beside them, or None."""
    if cost.seconds <= budget.seconds:
        return None
    taken, allowed = format_apart(format_duration, cost.seconds, budget.seconds)
    return (
        f"it would take about {taken} for {cost.what}, and {allowed} "
        f"are allowed, three times the training of all shadow models and {_SECONDS:.0f} s; "
        f"attacks={{{name!r}: {name}()}} runs it"
    )


class TableSize(NamedTuple):
    """Size of a table: its rows, the numbers that it holds, and their bytes."""

    n_records: int
    n_cells: int = 0  # those that are not 0 if it is sparse
    n_bytes: int = 0
    is_sparse: bool = False


def measure_table_size(records):
    """Return the size of the table of some records."""
    X, is_sparse = records.X, sparse.issparse(records.X)
    n_cells = int(X.nnz) if is_sparse else int(np.prod(np.shape(X), dtype=np.int64))
    return TableSize(len(records), n_cells, count_table_bytes(X), is_sparse)


def expect_check(check, table):
    """Return what a check will hold and take that is asked of all records of a table."""
    n_records = table.n_records
    n_read, n_held = (
        n_records if most is None else min(n_records, most)
        for most in (check.most_read, check.most_held)
    )
    share = n_held / max(n_records, 1)
    held = 8.0 * check.record_numbers * n_held + check.copies_table * share * table.n_bytes
    is_stored = table.is_sparse and check.stored_seconds is not None
    of_cell = check.stored_seconds if is_stored else check.cell_seconds
    each = (check.record_seconds or 0.0) + of_cell * table.n_cells / max(n_records, 1)
    return Cost(held, check.least_seconds + each * n_read)


def count_asked_records(check, case):
    """Return the number of records with which a check holds and takes no more than it may.

    A check that takes no sample is asked of all: it draws one itself, or costs next to nothing.
    """
    n = len(case.records)
    if not check.takes_sample or n <= _FEWEST_ASKED:
        return n
    budget = make_budget(case)
    cost = expect_check(check, measure_table_size(case.records))
    share = min(1.0, budget.n_bytes / cost.n_bytes, budget.seconds / cost.seconds)
    n_counted = n if check.most_held is None else min(n, check.most_held)
    return n if share == 1 else max(_FEWEST_ASKED, int(share * n_counted))
