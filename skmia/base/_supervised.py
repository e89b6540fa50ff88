"""Base class of attacks that learn from known members and non-members."""

import warnings
from abc import abstractmethod

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils import check_random_state

from .._core.copies import copy_unfitted
from .._core.groups import place_names, read_names
from .._core.randomness import seed_estimator
from .._core.sklearn import HasMethods, at_least
from .._core.splits import number_sides, number_units, spread_over_folds
from .._core.validation import check_outputs_source
from ._attack import BaseAttack, PosteriorMixin, best_threshold


def _take_collected(collected, rows):
    return [part[rows] for part in collected]


class SupervisedAttack(BaseAttack):
    """Base class of attacks that learn from records of known membership.

    The score of a record that the attack has learned from would be too optimistic. With
    ``cross_fit=True``, such a record is scored by a model that learned from the other folds; if
    False, it is refused. Equal records and records with the same value of group_by share a fold,
    and so does a new record with this value.

    A subclass implements ``_collect(records)``, a list of arrays with one row per record;
    ``_learn(collected, membership, seed)``, which returns a model; and
    ``_judge(model, collected)``, the scores.
    """

    _parameter_constraints = {
        **BaseAttack._parameter_constraints,
        "cross_fit": ["boolean"],
        "cv": [at_least(2)],
        "random_state": ["random_state"],
    }

    def _fit(self, records, membership):
        check_outputs_source(self.victim)
        # Records are sorted by content, so that the result does not depend on their order.
        order = np.argsort(records.fingerprint, kind="stable")
        records, membership = records[order], membership[order]
        self._known, first = np.unique(records.fingerprint, return_index=True)
        n_folds = self.cv if self.cross_fit else 0
        if n_folds:
            units = number_units(records.fingerprint, records.fields.get("group_by"))
            sides = number_sides(units, membership)
            self._check_folds(sides)
        rng = check_random_state(self.random_state)
        own, dealing, *seeds = rng.randint(np.iinfo(np.int32).max, size=2 + n_folds)
        collected = self._collect(records)
        self._model = self._learn(collected, membership, own)
        self._fold_models, self._people, self._fold_of_person = [], None, None
        if self.cross_fit:
            folds = self._assign_folds(sides, dealing)[units]
            self._known_scores = np.empty(len(records))
            for fold, seed in enumerate(seeds):
                held = folds == fold
                model = self._learn(_take_collected(collected, ~held), membership[~held], seed)
                self._known_scores[held] = self._judge(model, _take_collected(collected, held))
                self._fold_models.append(model)
            self._remember_people(records, folds)
        else:
            self._known_scores = self._judge(self._model, collected)
        self._known_scores = self._known_scores[first]

    def _check_folds(self, sides):
        """Refuse more folds than there are units of members or of non-members."""
        for side, kind in ((1, "members"), (0, "non-members")):
            count = np.isin(sides, (side, 2)).sum()
            if count < self.cv:
                raise ValueError(
                    f"Cross-fitting in cv={self.cv} folds needs at least as many {kind} that do "
                    f"not belong together; got {count}."
                )

    def _assign_folds(self, sides, seed):
        """Return the fold of each unit, stratified by its side."""
        rng = np.random.RandomState(seed)
        folds = spread_over_folds(np.array([1, 0, 2])[sides], self.cv, rng)  # members first
        # From the last fold on, so that one fold never holds all members or all non-members.
        return np.where(sides == 2, self.cv - 1 - folds, folds)

    def _locate_known(self, records):
        """Return the position of each record among the records of ``fit``, -1 for new records."""
        position = np.searchsorted(self._known, records.fingerprint)
        position = np.minimum(position, len(self._known) - 1)
        return np.where(self._known[position] == records.fingerprint, position, -1)

    def _score_samples(self, records):
        position = self._locate_known(records)
        known = position >= 0
        if known.any() and not self.cross_fit:
            raise ValueError(
                f"{known.sum()} of {len(records)} records are among those that the attack was "
                "fitted on. Score other records or set cross_fit=True."
            )
        scores = np.empty(len(records))
        scores[known] = self._known_scores[position[known]]
        if not known.all():
            scores[~known] = self._judge_new(records[~known])
        return scores

    def _remember_people(self, records, folds):
        """Keep the models of the folds where further records of a person can come."""
        if "group_by" in records.fields:
            self._people, first = np.unique(read_names(records, "group_by"), return_index=True)
            self._fold_of_person = folds[first]
        else:
            self._fold_models = []

    def _judge_new(self, records):
        """Score new records, those of known people by a model that has not learned the person."""
        collected, scores = self._collect(records), np.empty(len(records))
        folds = np.full(len(records), -1)
        if self._people is not None and "group_by" in records.fields:
            person = place_names(read_names(records, "group_by"), self._people)
            folds = np.where(person < 0, -1, self._fold_of_person[person])
        models = [*self._fold_models, self._model]  # -1 is the model of all
        for fold in np.unique(folds):
            rows = folds == fold
            scores[rows] = self._judge(models[fold], _take_collected(collected, rows))
        return scores

    def _learned_offset(self, records, membership):
        return best_threshold(membership, self._known_scores[self._locate_known(records)])

    def _natural_offset(self, records):
        raise NotImplementedError("fit needs membership")

    @abstractmethod
    def _collect(self, records):
        """Return what does not depend on membership, as arrays with one row per record."""

    @abstractmethod
    def _learn(self, collected, membership, seed):
        """Fit a model that separates members from non-members."""

    @abstractmethod
    def _judge(self, model, collected):
        """Return scores under a model."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


class LearnedAttack(PosteriorMixin, SupervisedAttack):
    """Base class of attacks that train a classifier on a matrix of signals.

    A subclass implements ``_collect(records)``, which returns a list with that matrix, and
    ``_make_classifier()``, which returns the classifier for ``attack_estimator=None``. Columns are
    scaled to [0, 1] for that classifier.
    """

    _parameter_constraints = {
        **SupervisedAttack._parameter_constraints,
        "attack_estimator": [HasMethods(["fit", "predict_proba"]), None],
    }

    def _learn(self, collected, membership, seed):
        if self.attack_estimator is None:
            estimator = make_pipeline(MinMaxScaler(), self._make_classifier())
        else:
            estimator = copy_unfitted(self.attack_estimator)
        seed_estimator(estimator, np.random.SeedSequence(int(seed)))
        with warnings.catch_warnings():
            if self.attack_estimator is None:  # the number of its epochs is part of the method
                warnings.simplefilter("ignore", ConvergenceWarning)
            return estimator.fit(*collected, membership.astype(int))

    def _judge(self, model, collected):
        return model.predict_proba(*collected)[:, 1]

    @abstractmethod
    def _make_classifier(self):
        """Return the classifier of the published attack."""

    def _to_probability(self, scores):
        return scores
