"""Write the example pages of audits in doc/_static: of two models, and of two synthetic tables.

    python doc/make_reports.py [models] [tables]

Both models read the same generated table. The forest memorizes its training records; the logistic
regression has eleven coefficients for 4,000 records, and a penalty that keeps them small.

Both generators learn from the same people. One fills up a small table of copies that it keeps; the
other draws new people from the distribution, as a perfect generator would.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from skmia import Records, audit
from skmia.synthetic import audit_table

FOLDER = Path(__file__).parent / "_static"
MODELS = {
    "leaky": ("A forest", RandomForestClassifier(50, random_state=0)),
    "safe": ("A logistic regression", LogisticRegression(C=0.001)),
}


def audit_models():
    X, y = make_classification(8000, 10, n_informative=5, flip_y=0.1, random_state=0)
    rng = np.random.default_rng(0)
    records = Records(X, y, region=rng.choice(["north", "south"], len(X), p=[0.8, 0.2]))
    membership = rng.permutation(np.arange(len(X)) % 2)
    members = records[membership == 1]
    for name, (title, model) in MODELS.items():
        result = audit(
            model.fit(members.X, members.y),
            records,
            membership,
            group="region",
            fprs=(0.1, 0.01),
            controls=True,
            n_jobs=2,
            random_state=0,
        )
        write(result, f"report_{name}.html", title)


def draw_people(rng, n):
    """People with an age, working hours, a region, an illness and an income."""
    age = rng.gamma(9, 5, n).round() + 18
    hours = np.where(rng.random(n) < 0.4, 40, rng.normal(36, 9, n).round().clip(5, 70))
    region = rng.choice(["north", "south", "east"], n, p=[0.5, 0.3, 0.2])
    ill = rng.random(n) < 0.05 + 0.004 * (age - 18)
    income = (np.exp(9.5 + 0.01 * age + 0.02 * hours - 0.3 * ill) * rng.gamma(9, 1 / 9, n)).round(
        -2
    )
    names = np.where(ill, "ill", "well")
    return pd.DataFrame(
        {"age": age, "hours": hours, "region": region, "health": names, "income": income}
    )


def audit_tables():
    rng = np.random.default_rng(0)
    real, holdout, fresh = (draw_people(rng, 2000) for _ in range(3))
    tables = {
        "safe": ("A table of new people", fresh),
        "leaky": ("A table with copies", pd.concat([real[:80], fresh[80:]], ignore_index=True)),
    }
    for name, (title, made) in tables.items():
        report = audit_table(real, made, holdout, target="health", random_state=0)
        write(report, f"table_{name}.html", title)


def write(result, name, title):
    path = FOLDER / name
    result.to_html(path, title=title)
    path.chmod(0o644)  # to be published, as reports of real data seldom are
    print(f"{path}: {result.verdict}")


def main():
    FOLDER.mkdir(exist_ok=True)
    wanted = sys.argv[1:] or ["models", "tables"]
    if "models" in wanted:
        audit_models()
    if "tables" in wanted:
        audit_tables()


if __name__ == "__main__":
    main()
