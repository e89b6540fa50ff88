"""What students of public rows leave of the attacks on their teachers.

For each table, model and kind of labels, and for several seeds: candidates are drawn, teachers are
trained on random halves of them, and students on further rows with the labels of a teacher. Prints
accuracies of teachers and students on other rows, and the AUC of attacks on students, means over
seeds with their standard errors: the loss; NodeEquationsAttack on the file of the student, with the
true labels of candidates; LiRA, RMIA and CalibratedAttack, whose shadow models are teachers with
students; and the sum of RMIA and the equations, both scaled. The last column is LiRA on the teacher
as a service. All attackers know the public rows.

    python benchmarks/bench_students.py [--tables FOLDER] [--seeds 5] [--victims 4] [--models 48]
        [--only TABLE ...] [--labels hard soft]

FOLDER holds the tables that bench_released_file.py reads; without it, normal features are drawn.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from bench_released_file import FIRST_SEED, list_models, read_tables
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import roc_auc_score

from skmia import Records, ShadowPool
from skmia.attacks import RMIA, CalibratedAttack, LiRA, NodeEquationsAttack, ThresholdAttack
from skmia.defenses import StudentDefense

MODELS = "ExtraTrees", "RandomForest", "HistGB"
N_CANDIDATES, N_PUBLIC, N_TEST = 1000, 2000, 2000


def score(attack, candidates):
    """Scores of an attack on all candidates."""
    return attack.fit(candidates).score_samples(candidates)


def score_equations(attack, candidates):
    """Scores of the equations, or 0 where they are not read: soft labels, one class alone."""
    try:
        return score(attack, candidates)
    except ValueError:
        return np.zeros(len(candidates))


def attack_all(victim, pool, candidates):
    """Scores of attacks on one student, by name."""
    file = NodeEquationsAttack(victim.estimator_, random_state=0)
    found = {
        "loss": score(ThresholdAttack(victim), candidates),
        "equations": score_equations(file, candidates),
        "LiRA": score(LiRA(victim, pool), candidates),
        "RMIA": score(RMIA(victim, pool), candidates),
        "calibrated": score(CalibratedAttack(victim, pool, signal="confidence"), candidates),
    }
    both = sum(found[name] / max(found[name].std(), 1e-9) for name in ("RMIA", "equations"))
    return found | {"RMIA and equations": both}


def measure_seed(model, X, y, labels, seed, options):
    """Mean numbers of some students of one draw of candidates."""
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(y))[: N_CANDIDATES + N_PUBLIC + N_TEST]
    records = Records(X[rows], y[rows])
    candidates, public = records[:N_CANDIDATES], records.X[N_CANDIDATES:-N_TEST]
    test = records[-N_TEST:]
    defense = StudentDefense(clone(model), public, labels=labels)
    pool = ShadowPool(defense, options.models, random_state=seed).fit(candidates)
    teachers = ShadowPool(clone(model), options.models, random_state=seed).fit(candidates)
    found = []
    for _ in range(options.victims):
        member = rng.permutation(N_CANDIDATES) < N_CANDIDATES // 2
        members = candidates[member]
        teacher = clone(model).fit(members.X, members.y)
        victim = clone(defense).set_params(estimator=FrozenEstimator(teacher), student=clone(model))
        victim.fit(members.X, members.y)
        scores = attack_all(victim, pool, candidates)
        as_service = LiRA(teacher, teachers)
        scores["LiRA on the teacher"] = score(as_service, candidates)
        accuracies = {"teacher": teacher, "student": victim}
        found.append(
            {name: one.score(test.X, test.y) for name, one in accuracies.items()}
            | {name: roc_auc_score(member, one) for name, one in scores.items()}
        )
    return pd.DataFrame(found).mean()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--victims", type=int, default=4, help="students for each seed")
    parser.add_argument("--models", type=int, default=48, help="shadow models")
    parser.add_argument("--only", nargs="+", help="tables")
    parser.add_argument("--labels", nargs="+", choices=["hard", "soft"], default=["hard", "soft"])
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # of equations that contradict each other
    is_first = True
    for table, (X, y) in read_tables(options.tables).items():
        for name in MODELS if table in (options.only or [table]) else ():
            for labels in options.labels:
                seeds = range(FIRST_SEED, FIRST_SEED + options.seeds)
                model = list_models()[name]
                runs = [measure_seed(model, X, y, labels, seed, options) for seed in seeds]
                runs = pd.DataFrame(runs)
                if is_first:
                    titles = ["table", "model", "labels", *runs]
                    print(f"| {' | '.join(titles)} |\n{'|---' * len(titles)}|")
                    is_first = False
                errors = runs.std() / np.sqrt(len(runs))
                cells = [f"{runs[one].mean():.3f} ({errors[one]:.3f})" for one in runs]
                print(f"| {' | '.join([table, name, labels, *cells])} |", flush=True)


if __name__ == "__main__":
    main()
