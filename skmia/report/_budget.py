"""What the parts of an audit may hold and take, known before they begin."""

from typing import NamedTuple

from sklearn.base import clone

from .._core.budget import format_bytes
from ..base import connect, needs_of, parts_of

# An attack without shadow models may take as long as the training of all shadow models, and so many
# seconds more.
_FURTHER = 2.0


class AuditBudget(NamedTuple):
    """What a part of an audit may hold, and how long all shadow models take."""

    n_bytes: float
    loop: float | None  # seconds; None if no clone was timed


def make_budget(case):
    """Return the budget of an audit, by its table and by the fit and the answer of a clone."""
    pace, n_models = getattr(case.agreement, "pace", None), case.request.size_of_pool
    # Other work on the machine shall not decide what is left out.
    loop = None if pace is None else n_models * pace.loop_on(len(case.records)) / pace.load
    return AuditBudget(case.bytes_allowed, loop)


def expect_alone(attack, case):
    """Return what an attack without shadow models will hold and take.

    None if that is small or unknown.
    """
    if needs_of(attack).keeps or not any(hasattr(one, "expect_cost") for one in parts_of(attack)):
        return None
    connected = connect(clone(attack), case.request.victim, None, stored=True)
    try:
        costs = [
            one.expect_cost(case.records)
            for one in parts_of(connected)
            if hasattr(one, "expect_cost")
        ]
    except Exception:  # whatever it is, the attack itself will say so
        return None
    return max(costs, default=None)


def leave_out_costly(case, plan):
    """Return the plan without default attacks that hold or take more than they are worth, and why.

    Attacks that a user names run however long they take. What they would hold, they refuse.
    """
    if not case.are_default:
        return plan
    budget, attacks, notes = make_budget(case), dict(plan.attacks), list(plan.notes)
    for name, attack in plan.attacks.items():
        cost = expect_alone(attack, case)
        why = None if cost is None else why_costly(name, cost, budget)
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
    if cost.n_bytes > budget.n_bytes:
        return (
            f"it would hold {format_bytes(cost.n_bytes)} for {cost.what}, and "
            f"{format_bytes(budget.n_bytes)} are allowed; fewer columns or classes would do, or a "
            "larger max_bytes"
        )
    if cost.seconds <= _FURTHER + (budget.loop or 0.0):
        return None
    return (
        f"it would take about {cost.seconds:,.0f} s, longer than the training of all shadow "
        f"models; attacks={{{name!r}: {name}()}} runs it"
    )
