"""ART's membership attacks on the problem in a folder; needs no skmia.

python run_art.py FOLDER
"""

import sys

import numpy as np
from art.attacks.inference.membership_inference import (
    MembershipInferenceBlackBox,
    MembershipInferenceBlackBoxRuleBased,
    ShadowModels,
)
from art.estimators.classification import SklearnClassifier
from problem import Results, read_problem


def ask(attack, X, Y):
    """Probability of membership."""
    return np.asarray(attack.infer(X, Y, probabilities=True))[:, -1]


def learn_from_shadows(classifier, X, Y, n_shadows):
    """The black-box attack on shadow models, as in ART's notebook."""
    shadows = ShadowModels(classifier, num_shadow_models=n_shadows, random_state=0)
    members, others = shadows.generate_shadow_dataset(X, Y, member_ratio=0.5)
    attack = MembershipInferenceBlackBox(classifier, attack_model_type="rf")
    attack.fit(*members[:2], *others[:2], members[2], others[2])
    return ask(attack, X, Y)


def learn_from_known(classifier, X, Y, membership):
    """The black-box attack on known members, cross-fitted in two folds."""
    folds, scores = np.random.default_rng(0).integers(2, size=len(X)), np.empty(len(X))
    for fold in range(2):
        known, own = folds != fold, folds == fold
        attack = MembershipInferenceBlackBox(classifier, attack_model_type="rf")
        inside, outside = known & membership, known & ~membership
        attack.fit(X[inside], Y[inside], X[outside], Y[outside])
        scores[own] = ask(attack, X[own], Y[own])
    return scores


def main(folder):
    X, y, membership, n_shadows, model = read_problem(folder)
    results = Results("adversarial-robustness-toolbox", model.predict_proba(X))
    classifier, Y = SklearnClassifier(model), np.eye(y.max() + 1)[y]
    rules = MembershipInferenceBlackBoxRuleBased(classifier)
    results.add("MembershipInferenceBlackBoxRuleBased", 0, lambda: rules.infer(X, Y))
    results.add(
        "MembershipInferenceBlackBox, known members",
        0,
        lambda: learn_from_known(classifier, X, Y, membership),
    )
    results.add(
        "MembershipInferenceBlackBox, ShadowModels",
        n_shadows,
        lambda: learn_from_shadows(classifier, X, Y, n_shadows),
    )
    results.write(folder)


if __name__ == "__main__":
    main(sys.argv[1])
