"""The checks of attacks, as the public decorator hands them out."""

from skmia.attacks import ThresholdAttack
from skmia.testing import make_attack_problem, parametrize_with_attack_checks


def find_checks(records=None, membership=None):
    """Each check by its name, on given records or on those of the usual problem."""
    victim, _, *usual = make_attack_problem()
    given = usual if records is None else (records, membership)
    cases = parametrize_with_attack_checks([ThresholdAttack(victim)], *given).args[1]
    return {check.name: check for _, check in (case.values for case in cases)}
