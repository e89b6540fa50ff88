"""SACRO-ML's attacks on the problem in a folder; needs no skmia.

python run_sacroml.py FOLDER
"""

import sys
from tempfile import mkdtemp

import numpy as np
from problem import Results, read_problem
from sacroml.attacks.likelihood_attack import LIRAAttack
from sacroml.attacks.structural_attack import StructuralAttack
from sacroml.attacks.target import Target

RISKS = "unnecessary_risk", "dof_risk", "k_anonymity_risk", "class_disclosure_risk"
RISKS += "smallgroup_risk", "gen_error_risk"


def run_lira(target, n_shadows, mode):
    attack = LIRAAttack(
        output_dir=mkdtemp(),
        write_report=False,
        n_shadow_models=n_shadows,
        mode=mode,
        report_individual=True,
    )
    attack.attack(target)
    return np.asarray(attack.result["out_prob"])  # the column by which records are ranked


def check_structure(target):
    attack = StructuralAttack(output_dir=mkdtemp(), write_report=False)
    attack.attack(target)
    return {name: bool(getattr(attack.results, name)) for name in RISKS}


def main(folder):
    X, y, membership, n_shadows, model = read_problem(folder)
    results = Results("sacroml", model.predict_proba(X))
    target = Target(
        model=model,
        dataset_name="digits",
        X_train=X[membership],
        y_train=y[membership],
        X_test=X[~membership],
        y_test=y[~membership],
    )
    for mode in ("offline", "online-carlini"):
        results.add(
            f"LIRAAttack({mode!r})", n_shadows, lambda mode=mode: run_lira(target, n_shadows, mode)
        )
    results.facts["StructuralAttack"] = check_structure(target)
    results.write(folder)


if __name__ == "__main__":
    main(sys.argv[1])
