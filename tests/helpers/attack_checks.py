"""The checks of attacks, as the public decorator hands them out."""

from skmia.attacks import ThresholdAttack
from skmia.testing import make_attack_problem, parametrize_with_attack_checks


def find_checks():
    """Each check by its name."""
    victim, _, records, membership = make_attack_problem()
    cases = parametrize_with_attack_checks([ThresholdAttack(victim)], records, membership).args[1]
    return {check.name: check for _, check in (case.values for case in cases)}
