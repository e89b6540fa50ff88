"""Checks of attacks, for authors of new attacks."""

from .._core import name_by_room
from ._check_attack import AttackProblem as AttackProblem
from ._check_attack import check_attack, make_attack_problem, parametrize_with_attack_checks

__all__ = ["check_attack", "make_attack_problem", "parametrize_with_attack_checks"]

name_by_room(__name__)
