"""Base class of attacks that use a pool of shadow models."""

import warnings
from abc import abstractmethod
from collections.abc import Iterator
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from .._core.asking import unwrap
from .._core.left_out import choose_others, part_of, values_of
from .._core.needs import Needs
from .._core.records import Records
from .._core.sklearn import Interval
from .._core.validation import check_outputs_source, check_records
from ..shadow import ShadowPool
from ..signals import COMPARED, Signal, what_to_keep, what_to_read
from ..victims import CallableVictim
from ._attack import BaseAttack, best_threshold

# Relative difference of one score that is computed in two ways.
_TIE = 1e-6

# Two-sided level of the test whether the victim is unlike the shadow models. It is so low that a
# victim that was trained like them hardly ever fails.
_LEVEL = 1e-3

# Number of records on which the victim is queried for this test.
_MOST_RECORDS = 2000


def rate_threshold(scores, rate):
    """Return a threshold that at most a given share of the scores reach."""
    # It lies halfway between two scores. Scores that are equal up to rounding lie on the same side
    # of it, so that a tie cannot exceed the share.
    scores = np.sort(scores)
    n_allowed = int(rate * len(scores) * (1 + 1e-12))
    highest = scores[len(scores) - 1 - n_allowed]
    next_one = np.searchsorted(scores, highest + _TIE * max(1, abs(highest)), side="right")
    if next_one == len(scores):
        return highest + _TIE * max(1, abs(highest))
    return (highest + scores[next_one]) / 2


def warn_unlike(pool, victim, records, rate):
    """Warn if the victim fits the records unlike any shadow model."""
    # The mean log-likelihood of the records under the victim is compared with the values under the
    # shadow models. They differ if the victim was trained on more or fewer records.
    stored = victim is None or isinstance(unwrap(victim), CallableVictim)
    if stored and "outputs" not in records.fields:
        return
    some = records[:: -(-len(records) // _MOST_RECORDS)]
    signal = pool.stored_[0]
    rows = [pool.victim_values(None if stored else victim, some, signal)[0]]
    rows += list(pool.values(some, signal)[0])
    name, fits = "mean log-likelihood", np.asarray
    if pool.output_kind_ == "label":
        name = "share of correct labels"
    else:
        fits = pool.get_law(signal).log_likelihood
    own, *usual = (fits(row.astype(np.float64)).mean() for row in rows)
    center, spread = np.mean(usual), np.std(usual, ddof=1)
    widest = stats.t.isf(_LEVEL / 2, len(usual) - 1) * np.sqrt(1 + 1 / len(usual))
    if abs(own - center) > max(widest * spread, _TIE):
        warnings.warn(
            f"target_fpr={rate:g} may be missed: the victim fits these records unlike the shadow "
            f"models ({name} {own:.3g}; shadow models {center:.3g}, standard "
            f"deviation {spread:.2g}). The rate holds for a victim that was trained like them and "
            "on as many records, which max_samples of the pool sets.",
            UserWarning,
            stacklevel=5,
        )


# Number of values of the pool that are read at once. Long rows are read faster, but rows that are
# memory-mapped or not in order are copied and take memory.
_BLOCK = 1 << 20

# Minimum and maximum number of shadow models that are treated as the victim, and the number of
# scores above which fewer models are used. A low rate takes many scores, the median few.
_N_PSEUDO_VICTIMS = 4, 16
_N_SCORES_FOR_RATE = 4_000_000
_N_SCORES = 200_000

# Minimum size of a pool in which a model can be treated as the victim.
_FEWEST_MODELS = 4


class TooFewModelsError(ValueError):
    """The pool is too small for one of its models to be treated as the victim."""


def get_pool(shadows, records):
    """Return the fitted pool of the parameter ``shadows``; fit it on the records if unfitted."""
    pool = unwrap(shadows)
    if not isinstance(pool, ShadowPool):
        raise TypeError(
            "shadows must be a ShadowPool, either unfitted or fitted and frozen; got "
            f"{type(pool).__name__}."
        )
    try:
        check_is_fitted(pool)
    except NotFittedError:
        pool = clone(pool).fit(records)
    return pool


def treats_models_as_victims(attack):
    """Whether the attack can be repeated with each of its shadow models as the victim."""
    return hasattr(attack, "score_left_out")


def count_pseudo_victims(n_records, n_scores=_N_SCORES_FOR_RATE):
    """Return the number of shadow models that are treated as the victim."""
    return int(np.clip(n_scores // max(n_records, 1), *_N_PSEUDO_VICTIMS))


def list_repeatable(attacks):
    """Return the attacks that are repeated on shadow models at the least cost."""
    able = {name: one for name, one in attacks.items() if treats_models_as_victims(one)}
    cheap = {name: one for name, one in able.items() if not one._learns_in_place}
    return cheap or able


def get_neutral(attack):
    """Return the score that is evidence neither for nor against membership; None if unknown."""
    # Differences from it add up over the records of a person.
    return attack._neutral if isinstance(attack, PoolAttack) else None


class PoolAttack(BaseAttack):
    """Base class of attacks that compare a signal of the victim with shadow models.

    A subclass implements ``_score(target, shadows, inside, outside)`` for a block of records.
    """

    _parameter_constraints = {
        **BaseAttack._parameter_constraints,
        "shadows": "no_validation",
        "target_fpr": [Interval(Real, 0, 1, closed="neither"), None],
    }

    # What is read from the pool, unless the attack makes it a parameter.
    signal = "auto"
    temperature = 1.0

    # Kinds of outputs of the models that it can compare.
    _compares = COMPARED

    # Whether classifiers learn from shadow models treated as the victim.
    _learns_in_place = False

    # Score that is evidence neither for nor against membership.
    _neutral = 0.0

    def _reads(self):
        """Return what is read from the pool, in the terms of :class:`Needs.keeps`."""
        return what_to_read(self.signal, self.temperature)

    def _needs(self):
        what, reads, access = self._reads(), self._compares, set()
        if isinstance(what, Signal):
            reads, access = self._compares.intersection(what.reads), set(what.access)
        # The pool augments the records, and the victim is queried for the augmented copies.
        if getattr(unwrap(self.shadows), "augment", None) is not None:
            access.add("queries")
        return Needs(reads, access=frozenset(access), keeps=frozenset({what_to_keep(what)}))

    def _fit(self, records, membership):
        check_outputs_source(self.victim)
        self._fit_shadows(records)

    def _fit_shadows(self, records):
        """Fit what the shadow models determine, without a threshold."""
        self.pool_ = get_pool(self.shadows, records)
        self._choose_settings(records)
        self.pool_.locate_signal(self._reads())
        self._fit_pool(records)

    def _choose_settings(self, records):
        """Choose the settings that the parameters leave to the pool."""

    def _fit_pool(self, records):
        """Estimate from the shadow models what all records share."""

    @abstractmethod
    def _score(self, target, shadows, inside, outside):
        """Score a block of records.

        Parameters
        ----------
        target : ndarray of shape (n_queries, n)
            Signal of the model under attack.
        shadows : ndarray of shape (n_queries, n_estimators, n)
            Signal of the shadow models.
        inside, outside : ndarray of shape (n_estimators, n), dtype bool
            Shadow models that were, and that were not, trained on each record. A model in neither
            of them is ignored.
        """

    def _blocks(self, records):
        """Yield the pool's signal and training sets on the records, block by block."""
        return self.pool_.blocks(records, self._block_size(), self._reads())

    def _block_size(self):
        """Return the number of records whose signals are read at once."""
        _, n_queries, n_models, _ = self.pool_.signals_.shape
        return max(1, _BLOCK // (n_queries * n_models))

    def _judged_blocks(self, records):
        """Yield the blocks of records that have the shadow models that the attack needs.

        Raises
        ------
        ValueError
            If no record has them.
        """
        some = False
        for rows, shadows, inside, n_in in self._blocks(records):
            judged = self._are_enough(n_in, len(inside) - n_in)
            some |= judged.any()
            if judged.all():
                yield rows, shadows, inside, n_in
            elif judged.any():
                rows = np.arange(len(records))[rows][judged]
                yield rows, shadows[:, :, judged], inside[:, judged], n_in[judged]
        if not some:
            raise ValueError(self._say_none_judged(records))

    def _score_samples(self, records):
        target = self._victim_values(records)
        scores = np.full(len(records), self._neutral_score())
        for rows, shadows, inside, _ in self._judged_blocks(records):
            scores[rows] = self._score(target[:, rows], shadows, inside, ~inside)
        return scores

    def _victim_values(self, records):
        """Return what is read from the victim, as from the pool."""
        return self.pool_.victim_values(self.victim, records, self._reads())

    def _can_judge(self, records):
        n_in = self.pool_.count_inside(records)
        return self._are_enough(n_in, len(self.pool_.membership_) - n_in)

    def _count_needed(self):
        """Return the minimum numbers of IN and of OUT models per record."""
        return 0, 0

    def _are_enough(self, n_in, n_out):
        """Return where these numbers of IN and OUT models suffice, in their shape."""
        least_in, least_out = self._count_needed()
        return (n_in >= least_in) & (n_out >= least_out)

    def _say_too_few(self, n_records, place=""):
        names = zip(self._count_needed(), ("IN", "OUT"), strict=True)
        least = " and ".join(f"{count} {name}" for count, name in names if count)
        setting = self._suggest_alternative()
        alternative = "" if setting is None else f" or set {setting}"
        return (
            f"{type(self).__name__} requires at least {least} shadow models per record{place}; "
            f"none of the {n_records} records has them. Fit the pool with more models{alternative}."
        )

    def _say_none_judged(self, records):
        """Say why no record has the models that the attack needs."""
        least_in, _ = self._count_needed()
        if not least_in or (self.pool_.locate(records) >= 0).any():
            return self._say_too_few(len(records))
        setting = self._suggest_alternative()
        alternative = "" if setting is None else f" Or set {setting}."
        return (
            f"{type(self).__name__} needs IN shadow models, and {len(records)} of {len(records)} "
            f"records are not in the shadow pool; {self.pool_.how_to_know(records)}{alternative}"
        )

    def _suggest_alternative(self):
        """Return a setting with which fewer models suffice, or None."""
        return "online=False" if getattr(self, "online", False) else None

    def _neutral_score(self):
        """Return the score of a record that cannot be judged: just below the neutral score."""
        return np.nextafter(self._neutral, -np.inf)

    def _natural_offset(self, records):
        if self.target_fpr is not None:
            scores, inside = self._score_pseudo(records, _N_SCORES_FOR_RATE)
            warn_unlike(self.pool_, self.victim, records, self.target_fpr)
            return rate_threshold(scores[~inside], self._aim_at())
        offset = self._default_offset()
        return self._choose_offset(records) if offset is None else offset

    def _aim_at(self):
        """Return the rate of the shadow models, treated as the victim, that sets the threshold."""
        return self.target_fpr

    def _choose_offset(self, records):
        """Return the threshold of the highest balanced accuracy on shadow models, if any."""
        try:
            scores, inside = self._score_pseudo(records, _N_SCORES)
        except TooFewModelsError:
            return self._neutral
        if inside.all() or not inside.any():
            return self._neutral
        return best_threshold(inside, scores)

    def _default_offset(self):
        """Return the threshold without labels and target FPR, or None to set it from the pool."""
        return None

    def _score_pseudo(self, records, n_scores):
        """Score records with some shadow models treated as the victim; also return membership.

        Only records that can be judged are returned, model after model. Of many records, a sample
        is scored that depends on their content alone.
        """
        if len(records) > n_scores:
            records = records[np.sort(np.argsort(records.fingerprint, kind="stable")[:n_scores])]
        n_models = len(self.pool_.membership_)
        n_wanted = count_pseudo_victims(len(records), n_scores)
        models = np.unique(np.linspace(0, n_models - 1, min(n_models, n_wanted)).astype(int))
        rounds = [
            (scores[judged], inside[judged])
            for _, scores, inside, judged in self.score_left_out(records, models)
        ]
        return [np.concatenate(part) for part in zip(*rounds, strict=True)]

    def score_left_out(
        self, X: Records, models: ArrayLike
    ) -> Iterator[tuple[slice | np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
        """Score records with shadow models treated as the victim, block by block.

        Each chosen model is attacked with the remaining models of the pool: the model itself and
        the one that was drawn in a pair with it are left out.

        Parameters
        ----------
        X : Records of n records
            Records of the pool.
        models : array-like of shape (n_chosen,)
            Indices of shadow models.

        Yields
        ------
        rows : slice or ndarray of shape (n_rows,)
            Indices of the records.
        scores : ndarray of shape (n_chosen, n_rows)
            Scores under each model that is treated as the victim.
        inside : ndarray of shape (n_chosen, n_rows), dtype bool
            Training sets of these models.
        judged : ndarray of shape (n_chosen, n_rows), dtype bool
            Where the remaining models suffice; elsewhere the score has no meaning.

        Raises
        ------
        TooFewModelsError
            If no record can be judged with the remaining models.
        """
        check_is_fitted(self)
        records, models = check_records(X), np.asarray(models, dtype=int)
        n_models = len(self.pool_.membership_)
        if n_models < _FEWEST_MODELS:
            raise TooFewModelsError(
                "Shadow models can be treated as the victim in a pool of at least "
                f"{_FEWEST_MODELS} models; this pool has {n_models}."
            )
        columns, some, attack = self.pool_.locate(records), False, self._leave_out(models)
        for rows, shadows, inside, n_in in self._blocks(records):
            others = choose_others(self.pool_.design_, inside, columns[rows], models)
            judged = self._are_judged(inside, n_in, models, others)
            scores = attack._score_judged(shadows, inside, models, others, judged)
            some |= judged.any()
            yield rows, scores, inside[models], judged
        if not some:
            place = " when another one is treated as the victim"
            raise TooFewModelsError(self._say_too_few(len(records), place))

    def _leave_out(self, models):
        """Return this attack, fitted without what these models contribute when they are left out.

        The base class fits nothing to which a single model contributes noticeably.
        """
        return self

    def _are_judged(self, inside, n_in, models, others):
        """Return where the remaining models suffice, of shape (n_chosen, n)."""
        n_out = len(inside) - n_in
        if self._are_enough(n_in - 2, n_out - 2).all():  # no more than two leave
            return np.ones((len(models), len(n_in)), dtype=bool)
        has_other = others >= 0
        lost_in = inside[models].astype(int) + (values_of(inside[None], others)[0] & has_other)
        return self._are_enough(n_in - lost_in, n_out - (1 + has_other - lost_in))

    def _score_judged(self, shadows, inside, models, others, judged):
        """Score with models treated as the victim; neutral where too few other models remain."""
        if judged.all():
            return self._score_left_out(shadows, inside, models, others)
        scores = np.full(judged.shape, self._neutral_score())

        def score(some, part, how):
            if not len(part):
                return
            gone = part_of(others[some], part)
            scores[np.ix_(some, part)] = how(
                self, shadows[:, :, part], inside[:, part], models[some], gone
            )

        # Most records can be judged with each of the models; they are scored together.
        whole = judged.all(axis=0)
        score(np.arange(len(models)), np.flatnonzero(whole), type(self)._score_left_out)
        for k in range(len(models)):
            part = np.flatnonzero(judged[k] & ~whole)
            score(np.array([k]), part, type(self)._score_left_out)
        return scores

    def _score_left_out(self, shadows, inside, models, others):
        """Score a block with each chosen model treated as the victim, of shape (n_chosen, n)."""
        scores = []
        for k, other in zip(models, others, strict=True):
            rest = np.ones(inside.shape, dtype=bool)
            rest[k] = False
            gone = np.broadcast_to(other, inside.shape[1])
            rest[gone[gone >= 0], np.flatnonzero(gone >= 0)] = False
            scores.append(self._score(shadows[:, k], shadows, inside & rest, ~inside & rest))
        return np.array(scores)
