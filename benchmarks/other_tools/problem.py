"""What the scripts of other tools share: the problem, and the file with their results."""

import json
from importlib.metadata import version
from pathlib import Path


def read_problem(folder):
    """Records, members first, the number of shadow models, and the forest, trained here again."""
    import numpy as np
    from sklearn.ensemble import RandomForestClassifier

    with np.load(Path(folder) / "problem.npz") as arrays:
        X, y, membership = arrays["X"], arrays["y"], arrays["membership"]
        n_shadows, settings = int(arrays["n_shadows"]), json.loads(str(arrays["settings"]))
    model = RandomForestClassifier(**settings).fit(X[membership], y[membership])
    return X, y, membership, n_shadows, model


class Results:
    """Scores of the attacks of a tool, and what else it says."""

    def __init__(self, package, answers=None):
        self.package, self.answers, self.rows, self.facts = package, answers, [], {}

    def add(self, attack, n_shadows, compute):
        """Run an attack; one that fails is named with its error."""
        try:
            scores, error = compute().astype(float).reshape(-1).tolist(), None
        except Exception as failure:  # of whatever kind: the others can run
            scores, error = None, f"{type(failure).__name__}: {failure}"
        self.rows.append(
            {
                "attack": attack,
                "n_shadows": n_shadows,
                "scores": scores,
                "error": error,
            }
        )

    def write(self, folder):
        found = {
            "package": self.package,
            "version": version(self.package),
            "answers": None if self.answers is None else self.answers.tolist(),
            "rows": self.rows,
            "facts": self.facts,
        }
        (Path(folder) / f"{self.package}.json").write_text(json.dumps(found))
