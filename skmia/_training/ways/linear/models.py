"""Solved linear models as fitted estimators, and their outputs."""

import warnings
from copy import deepcopy
from functools import partial

import numpy as np
from scipy.special import expit
from sklearn.base import clone, is_regressor
from sklearn.utils.extmath import softmax

from ...._core.containers import take_rows
from ...._core.outputs import Outputs
from ...._core.randomness import seed_estimator
from ...job import Trained, keep
from .plan import affine_map, as_matrix, split_estimator

_BYTES_OF_ANSWERS = 2**23


class Workshop:
    """Turns solutions into the results that a pool keeps.

    Parameters
    ----------
    job : Job
        Job that the models belong to.
    plan : Plan
        Parts of the job that solvers read.
    """

    def __init__(self, job, plan):
        self._job, self._plan = job, plan
        self._classes = None if is_regressor(plan.model) else np.unique(plan.y)
        self._pattern, self.warnings = self._fit_pattern()
        self._dtype = split_estimator(self._pattern)[1].coef_.dtype
        self._queries = [as_matrix(X) for X in job.data.tables]

    def _fit_pattern(self):
        """Fit an estimator to a few records, as a pattern for the solved models.

        The pattern has all attributes of a fitted estimator in the installed version of
        scikit-learn, including the type of the coefficients, and gives the warnings about its
        parameters.
        """
        pattern = clone(self._job.estimator)
        model = split_estimator(pattern)[1]
        steps = model.get_params().get("max_iter")
        if steps is not None:
            model.set_params(max_iter=1)
        _, rows = np.unique(self._plan.y, return_index=True)
        rows = rows[:2] if self._classes is None else rows
        with self._job.randomness(0), warnings.catch_warnings(record=True) as got:
            warnings.simplefilter("always")
            pattern.fit(take_rows(self._job.data.tables[0], rows), self._plan.y[rows])
        if steps is not None:
            model.set_params(max_iter=steps)
        about_settings = (FutureWarning, DeprecationWarning)
        kept = [warning for warning in got if issubclass(warning.category, about_settings)]
        return pattern, [(warning.category, str(warning.message)) for warning in kept]

    def finish(self, models, rows, solution, seconds):
        """Yield the results of solved models.

        Parameters
        ----------
        models : ndarray of int
            Numbers of all models of the solution.
        rows : ndarray of int
            Places of the requested models among them.
        solution : Solution
            Solution for the models.
        seconds : float
            Training time per model.

        Yields
        ------
        k, kept : int, Kept
        """
        n_vectors, d = solution.coef.shape[1:]
        n_rows = sum(len(X) for X in self._queries)
        step = max(1, _BYTES_OF_ANSWERS // (8 * n_vectors * n_rows))
        for begin in range(0, len(rows), step):
            part = rows[begin : begin + step]
            coef = solution.coef[part].reshape(-1, d).astype(self._dtype)
            intercept = solution.intercept[part].ravel().astype(self._dtype)
            values = [X @ coef.T + intercept for X in self._queries]
            for j, row in enumerate(part):
                own = slice(j * n_vectors, (j + 1) * n_vectors)
                answers = [self._answer(matrix[:, own], solution.present[row]) for matrix in values]
                k, make = int(models[row]), partial(self._make_model, models[row], row, solution)
                said = self.warnings
                trained = Trained(self._job, k, make, seconds, caught=said, answers=answers)
                with self._job.randomness(k):
                    kept = keep(self._job, trained)
                yield k, kept

    def _answer(self, values, present):
        if self._classes is None:
            return Outputs(values, kind="value")
        if values.shape[1] == 1:
            proba = expit(values[:, 0])
            return Outputs(np.column_stack([1 - proba, proba]), self._classes, "proba")
        proba = softmax(values[:, present])
        return Outputs(proba, self._classes[present], "proba").aligned_to(self._classes)

    def _make_model(self, k, row, solution):
        estimator = deepcopy(self._pattern)
        seed_estimator(estimator, self._job.seeds[k])
        coef, intercept = solution.coef[row], solution.intercept[row]
        if self._plan.scaler is not None:
            scaler = self._plan.fit_scaler(k)
            shift, divisor = affine_map(scaler)
            coef, intercept = coef * divisor, intercept + coef @ shift
            _put_scaler(estimator, scaler)
        model = split_estimator(estimator)[1]
        if self._classes is None:
            coef, intercept = coef[0], intercept[0]
        elif len(coef) > 1:
            own = solution.present[row]
            coef, intercept, model.classes_ = coef[own], intercept[own], self._classes[own]
        model.coef_ = coef.astype(self._dtype)
        model.intercept_ = np.asarray(intercept, dtype=self._dtype)[()]
        if getattr(model, "n_iter_", None) is not None:
            model.n_iter_ = np.array([solution.n_iter[row]], dtype=np.int32)
        for name, value in solution.further[row].items():
            setattr(model, name, value)
        return estimator


def _put_scaler(estimator, scaler):
    kinds = [type(step) for _, step in estimator.steps]
    place = kinds.index(type(scaler))
    estimator.steps[place] = (estimator.steps[place][0], scaler)
