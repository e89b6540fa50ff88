"""Write the two example pages of an audit, doc/_static/report_leaky.html and report_safe.html.

    python doc/make_reports.py

Both models read the same digits. The forest knows its training records by heart; naive Bayes keeps
nothing but means and variances.
"""

from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB

from skmia import Records
from skmia.datasets import load_digits
from skmia.report import audit

FOLDER = Path(__file__).parent / "_static"
MODELS = {
    "leaky": ("A forest on digits", RandomForestClassifier(random_state=0)),
    "safe": ("Naive Bayes on digits", GaussianNB(var_smoothing=0.01)),
}


def main():
    digits = load_digits()
    ink = np.where(digits.X.mean(axis=1) > np.median(digits.X.mean(axis=1)), "much", "little")
    records = Records(digits.X, digits.y, ink=ink)
    membership = np.random.default_rng(0).permutation(len(records)) % 2
    members = records[membership == 1]
    FOLDER.mkdir(exist_ok=True)
    for name, (title, model) in MODELS.items():
        result = audit(
            model.fit(members.X, members.y),
            records,
            membership,
            shadows=32,
            group="ink",
            fprs=(0.1, 0.02, 0.001),
            n_jobs=2,
            random_state=0,
        )
        path = FOLDER / f"report_{name}.html"
        result.to_html(path, title=title)
        print(f"{path}: {result.verdict}")


if __name__ == "__main__":
    main()
