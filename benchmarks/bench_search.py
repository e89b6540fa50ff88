"""Time of a search over 100 attack settings on one pool, against the training of the pool.

python benchmarks/bench_search.py [--records 20000] [--models 64] [--jobs 2]
"""

import argparse
from time import perf_counter

from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV

from skmia import ShadowPool
from skmia.attacks import LiRA
from skmia.datasets import make_membership_problem

SETTINGS = {
    "variance": ["shrunk", "trend", "conjugate", "example", "pooled"],
    "online": [True, False],
    "prior": [0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5],
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=20_000)
    parser.add_argument("--models", type=int, default=64)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    records, membership = make_membership_problem(options.records, n_features=100, random_state=0)
    members = records[membership == 1]
    model = RandomForestClassifier(100, n_jobs=options.jobs).fit(members.X, members.y)
    start = perf_counter()
    pool = ShadowPool(model, options.models, n_jobs=options.jobs, random_state=0).fit(records)
    fit = perf_counter() - start
    queried = records.with_outputs(model)
    start = perf_counter()
    attack = LiRA(shadows=pool)
    search = GridSearchCV(attack, SETTINGS, cv=5, scoring="roc_auc").fit(queried, membership)
    seconds = perf_counter() - start
    n_settings = len(search.cv_results_["params"])
    print(f"{options.records} records, {options.models} forests: fitted in {fit:.1f} s")
    print(f"{n_settings} settings in 5 folds: {seconds:.1f} s, {seconds / fit:.1%} of the fit")
    print(f"best {search.best_params_}, AUC {search.best_score_:.3f}")


if __name__ == "__main__":
    main()
