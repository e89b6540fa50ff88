"""Write the two example pages of an audit, doc/_static/report_leaky.html and report_safe.html.

    python doc/make_reports.py

Both models read the same synthetic table. The forest memorizes its training records; the logistic
regression has eleven coefficients for 4,000 records, and a penalty that keeps them small.
"""

from pathlib import Path

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from skmia import Records, audit

FOLDER = Path(__file__).parent / "_static"
MODELS = {
    "leaky": ("A forest", RandomForestClassifier(50, random_state=0)),
    "safe": ("A logistic regression", LogisticRegression(C=0.001)),
}


def main():
    X, y = make_classification(8000, 10, n_informative=5, flip_y=0.1, random_state=0)
    rng = np.random.default_rng(0)
    records = Records(X, y, region=rng.choice(["north", "south"], len(X), p=[0.8, 0.2]))
    membership = rng.permutation(np.arange(len(X)) % 2)
    members = records[membership == 1]
    FOLDER.mkdir(exist_ok=True)
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
        path = FOLDER / f"report_{name}.html"
        result.to_html(path, title=title)
        path.chmod(0o644)  # to be published, as reports of real models seldom are
        print(f"{path}: {result.verdict}")


if __name__ == "__main__":
    main()
