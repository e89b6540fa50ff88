"""A classifier that is trained on other rows, with the labels that a classifier gives them."""

from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._core.containers import as_rows, is_frame
from .._core.copies import copy_unfitted
from .._core.error_hints import with_advice
from .._core.query import draw_samples, predict_flat, unwrap
from .._core.randomness import check_random_state
from .._core.routing import route_params
from .._core.sklearn import HasMethods, StrOptions, at_least, refuse_frozen_models
from .._core.types import ArrayLike, Seed
from ._meta import (
    AnswersProba,
    check_takes_targets,
    fit_on_targets,
    inner_has,
    require_proba,
)


class TaughtClassifier(AnswersProba):
    """Base class of defenses whose released classifier saw other rows than the training rows.

    A subclass has the parameters ``public``, ``student`` and ``random_state``, and sets estimator_,
    the fitted student, and classes_.
    """

    _trains_on_other_rows = True  # what is released; rows of fit reach its teachers alone

    _parameter_constraints = {
        **AnswersProba._parameter_constraints,
        "public": ["array-like", HasMethods(["fit", "sample"])],
        "student": [HasMethods(["fit", "predict"]), None],
        "random_state": ["random_state"],
    }

    @property
    def _asked(self):
        unfitted = self.estimator if self.student is None else self.student
        return getattr(self, "estimator_", unfitted)

    def _get_public(self, X, n_samples, random_state):
        """Return the public rows, as given or drawn from a generator of the training rows."""
        if not hasattr(self.public, "fit"):
            return self.public
        generator = copy_unfitted(self.public)
        if "random_state" in generator.get_params():
            generator.set_params(random_state=random_state.randint(np.iinfo(np.int32).max))
        drawn = draw_samples(generator.fit(X), n_samples or len(as_rows(X)), random_state)
        is_plain = is_frame(X) and not is_frame(drawn)
        return pd.DataFrame(drawn, columns=X.columns) if is_plain else drawn

    @available_if(inner_has("decision_function"))
    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """Return the decision values of the student.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        values : ndarray of shape (n_samples,) or (n_samples, n_classes)

        Raises
        ------
        ValueError
            If the teacher gave a class to no row of the student.
        """
        check_is_fitted(self)
        if len(self.estimator_.classes_) < len(self.classes_):
            missing = np.setdiff1d(self.classes_, self.estimator_.classes_).tolist()
            raise ValueError(
                f"The teacher labeled no row of the student as {missing}, so there are no decision "
                "values for it. Use more rows, or predict_proba."
            )
        with self._asking(X):
            return self.estimator_.decision_function(X)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = False
        others = [one for one in (self.student, self.public) if hasattr(one, "fit")]
        for inputs in (get_tags(one).input_tags for one in others):
            tags.input_tags.sparse &= inputs.sparse
            tags.input_tags.allow_nan &= inputs.allow_nan
        return tags


class StudentDefense(TaughtClassifier):
    """Classifier that is trained on public rows, labeled by a classifier of the training rows.

    A teacher is fitted on the training rows and predicts labels of public or synthetic rows. A
    student is fitted on these rows and labels, and the teacher is discarded. The state of the
    student describes the public rows and depends on the training rows only through the labels,
    which still leak, see Notes. The defense protects both the file and the predictions of a
    service.

    Parameters
    ----------
    estimator : classifier
        Teacher: unfitted, or a fitted one in a :class:`~sklearn.frozen.FrozenEstimator`.
    public : array-like of shape (n_public, n_features) or generator
        Rows for the student. The student reveals them as any model reveals its training rows, so
        they must not be private. Or a generator with ``fit(X)`` and ``sample(n_samples)``, which is
        cloned and fitted on the training rows in each fit. The generator has to protect the
        training rows itself, as :class:`~skmia.synthetic.DPWassersteinGAN` does.
    student : classifier, default=None
        Student, unfitted. If None, a clone of ``estimator``, of a fitted one without what it has
        learned.
    labels : {"hard", "soft"}, default="hard"
        Whether the student learns the predicted labels of the teacher or its probabilities, which
        reveal more about the training rows. For ``"soft"``, the ``fit`` of the student has to take
        ``sample_weight``, or it is a skorch net with ``criterion=CrossEntropyLoss``.
    n_samples : int, default=None
        Number of rows to draw from a generator. If None, the number of training rows.
    random_state : int, RandomState instance or None, default=None
        Controls the generator, if it has such a parameter, and its rows.

    Attributes
    ----------
    estimator_ : classifier
        The fitted student. This is what to release.
    classes_ : ndarray of shape (n_classes,)
        Labels of the teacher.
    n_features_in_ : int
        Number of features of the student.

    See Also
    --------
    SELENADefense : Trains on the training rows, with labels from models that did not see them.
    ReleasedFileDefense : Removes the state that predictions do not use.

    Notes
    -----
    The adaptive attack trains shadow models with the defense: pass it to a
    :class:`~skmia.ShadowPool` and use :class:`~skmia.attacks.RMIA`; a threshold on the loss finds
    little. Hard labels leak less than soft ones. With hard labels, a class that the teacher hardly
    ever predicts is lost, and probabilities are less accurate.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.ensemble import ExtraTreesClassifier
    >>> from skmia.defenses import StudentDefense
    >>> X, y = load_digits(return_X_y=True)
    >>> public, test = X[600:1200], slice(1200, None)
    >>> teacher = ExtraTreesClassifier(50, random_state=0)
    >>> defended = StudentDefense(teacher, public).fit(X[:600], y[:600])
    >>> teacher = teacher.fit(X[:600], y[:600])
    >>> [round(model.score(X[test], y[test]), 1) for model in (teacher, defended)]
    [0.9, 0.9]
    >>> bool((defended.predict(public) == teacher.predict(public)).all())
    True
    """

    _parameter_constraints = {
        **TaughtClassifier._parameter_constraints,
        "labels": [StrOptions({"hard", "soft"})],
        "n_samples": [at_least(1), None],
    }

    def __init__(
        self,
        estimator: BaseEstimator,
        public: ArrayLike | BaseEstimator,
        *,
        student: BaseEstimator | None = None,
        labels: Literal["hard", "soft"] = "hard",
        n_samples: int | None = None,
        random_state: Seed = None,
    ) -> None:
        self.estimator = estimator
        self.public = public
        self.student = student
        self.labels = labels
        self.n_samples = n_samples
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, **fit_params: Any) -> Self:
        """Fit the teacher, and the student on its labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features of the training rows.
        y : array-like of shape (n_samples,)
            Labels.
        **fit_params : dict
            Passed to the ``fit`` of the teacher; with metadata routing enabled, if it requests
            them.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        student = self._make_student()
        if self.labels == "soft":
            self._check_soft(student)
        routed = route_params(self, "fit", fit_params)
        with with_advice(self.estimator, X):
            teacher = copy_unfitted(self.estimator).fit(X, y, **routed)
        random_state = check_random_state(self.random_state)
        public = self._get_public(X, self.n_samples, random_state)
        with with_advice(teacher, public):
            labels = predict_flat(teacher, public)
        try:
            self._teach(student, teacher, public, labels)
        except ValueError as error:
            given = np.unique(labels).tolist()
            if len(given) > 1:
                raise
            raise ValueError(
                f"The teacher predicts {given[0]!r} for all rows of the student, which could not "
                "be fitted on them. Use other rows, or check y and sample_weight."
            ) from error
        self.estimator_, self.classes_ = student, teacher.classes_
        return self

    def _make_student(self):
        # A copy of what is frozen is the teacher itself, with all that it holds of its rows.
        student = copy_unfitted(unwrap(self.estimator) if self.student is None else self.student)
        refuse_frozen_models(student, "The student of StudentDefense")
        return student

    def _teach(self, student, teacher, public, labels):
        if self.labels == "soft":
            proba = np.asarray(teacher.predict_proba(public), dtype=np.float64)
            fit_on_targets(student, public, labels, proba, teacher.classes_)
        else:
            with with_advice(student, public):
                student.fit(public, labels)

    def _check_soft(self, student):
        check_takes_targets(student, 'StudentDefense(labels="soft")')
        require_proba(self.estimator, 'labels="soft"', "teacher")
