"""check_attack finds attacks that need more, or less, than they declare."""

from dataclasses import replace

import pytest
from attack_checks import find_checks
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skmia.attacks import LiRA, QuantileAttack, ShadowAttack, ThresholdAttack
from skmia.attacks.white_box import GradientAttack
from skmia.signals import Merlin
from skmia.testing import make_attack_problem

VICTIM, SHADOWS, RECORDS, MEMBERSHIP = make_attack_problem()
OTHERS = RECORDS[MEMBERSHIP == 0]
TREE = DecisionTreeClassifier(max_depth=2)


def lie(attack, **changes):
    """An attack of the same class that declares something else."""
    true = attack.needs()

    def _needs(self):
        return replace(true, **changes)

    return type("Liar", (type(attack),), {"_needs": _needs, "__init__": type(attack).__init__})(
        **attack.get_params(deep=False)
    )


LIRA = LiRA(VICTIM, SHADOWS)
SHOKRI = ShadowAttack(VICTIM, SHADOWS, attack_estimator=TREE)
MERLIN = ThresholdAttack(VICTIM, signal=Merlin(n_changes=3))
HITS = ThresholdAttack(VICTIM, signal="correctness")
QUANTILES = QuantileAttack(
    VICTIM, population=OTHERS, target_fpr=0.2, cv=3, estimator=DecisionTreeRegressor()
)
CALLED = frozenset({"queries"})
CHECKS = find_checks(RECORDS, MEMBERSHIP)


@pytest.mark.parametrize(
    "attack, check, message",
    [
        (lie(MERLIN, access=frozenset()), "access", "does not declare that it needs queries"),
        (lie(LIRA, access=CALLED), "access", "it needs queries, without it, must raise"),
        (
            lie(LIRA, access=frozenset({"layers"})),
            "access",
            "needs the inside of the victim, without",
        ),
        (lie(SHOKRI, keeps=frozenset()), "keeps", "does not declare.*'outputs' of the"),
        (lie(LIRA, keeps=frozenset({"auto", "models"})), "keeps", "'models' of the shadow models"),
        (lie(LIRA, keeps=frozenset({("auto", 2.0)})), "keeps", r"'auto', 2.0\) of the shadow mod"),
        (lie(HITS, reads=frozenset({"proba"})), "reads", "gets 'decision', without it, must raise"),
        (
            lie(ThresholdAttack(VICTIM, signal="loss"), reads=frozenset({"proba", "label"})),
            "reads",
            "more than answers of kind 'label'",
        ),
        (lie(QUANTILES), "lacks", "does not declare that it needs the parameter population"),
        (lie(LIRA, known="members and non-members"), "needs", "tags and known="),
        (lie(LIRA, reads=frozenset({"probabilities"})), "needs", "unknown words"),
        (lie(LIRA, keeps=frozenset({"everything"})), "needs", "keeps or uses of needs"),
    ],
)
def test_wrong_declarations_are_found(attack, check, message):
    with pytest.raises(AssertionError, match=message):
        CHECKS[f"check_attack_{check}"](attack)


def test_undeclared_look_into_the_victim_is_found():
    net = make_attack_problem(
        MLPClassifier((4,), solver="lbfgs", max_iter=2000, random_state=0), n_estimators=2
    )
    attack = GradientAttack(net.victim, attack_estimator=TREE, cv=2)
    check = find_checks(net.records, net.membership)["check_attack_access"]
    check(attack)
    with pytest.raises(AssertionError, match="does not declare that it needs"):
        check(lie(attack, access=CALLED - CALLED))


@pytest.mark.parametrize("attack", [LIRA, SHOKRI, MERLIN, HITS, QUANTILES])
@pytest.mark.parametrize("check", ["needs", "reads", "access", "keeps", "lacks"])
def test_true_declarations_pass(attack, check):
    CHECKS[f"check_attack_{check}"](attack)
