"""Checks of attacks, for authors of new attacks."""

from ._check_attack import (
    AttackProblem,
    check_attack,
    make_attack_problem,
    parametrize_with_attack_checks,
)

__all__ = [
    "AttackProblem",
    "check_attack",
    "make_attack_problem",
    "parametrize_with_attack_checks",
]
