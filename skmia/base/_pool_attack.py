"""Base class of attacks that use a pool of shadow models."""

import copy
import warnings
from abc import abstractmethod
from collections.abc import Iterator
from numbers import Real

import numpy as np
from scipy import stats

from .._core.callers import level_of_user
from .._core.hashing import draw_by_content
from .._core.kinds import is_regressor
from .._core.moments import compute_sides, cut, take_moments
from .._core.needs import Needs
from .._core.numbers import show, to_array
from .._core.pseudo_victims import (
    FEWEST_MODELS,
    SCORES_FOR_MEDIAN,
    SCORES_FOR_RATE,
    choose_evenly,
    choose_others,
    count_pseudo_victims,
    mark_remaining,
    part_of,
    values_of,
)
from .._core.query import query, unwrap
from .._core.records import Records
from .._core.sklearn import Interval
from .._core.types import ArrayLike
from .._core.validation import check_outputs_source, check_records, order_features
from .._training.workers import get_workers
from ..signals import COMPARED, Signal, what_to_keep, what_to_read
from ..victims import CallableVictim
from ._attack import BaseAttack, best_threshold
from ._connect import get_pool

# Relative difference of one score that is computed in two ways.
_TIE = 1e-6

# Two-sided level of the test whether the victim is unlike the shadow models. It is so low that a
# victim that was trained like them hardly ever fails.
_LEVEL = 1e-3

# Number of records on which the victim is queried for this test.
_MOST_RECORDS = 2000


def rate_threshold(scores, rate, unit=1.0):
    """Return a threshold that at most a given share of the scores reach.

    It lies halfway between two scores. Scores that are equal up to rounding, of numbers of the size
    of the unit, lie on the same side of it, so that a tie cannot exceed the share.
    """
    scores = np.sort(scores)
    n_allowed = int(rate * len(scores) * (1 + 1e-12))
    highest = scores[len(scores) - 1 - n_allowed]
    next_one = np.searchsorted(scores, highest + _TIE * max(unit, abs(highest)), side="right")
    if next_one == len(scores):
        return highest + _TIE * max(unit, abs(highest))
    return (highest + scores[next_one]) / 2


def warn_unlike(pool, victim, records, rate):
    """Warn if the victim fits the records unlike any shadow model.

    The mean log-likelihood of the records under the victim is compared with the values under the
    shadow models. They differ if the victim was trained on more or fewer records.
    """
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
            stacklevel=level_of_user(),
        )


# Number of values of the pool that are read at once. Long rows are read faster, but rows that are
# memory-mapped or not in order are copied and take memory.
_BLOCK = 1 << 20

# Number of records that are scored at once from moments, so that these stay in the cache of a core.
_N_RECORDS = 1 << 13

# Number of records above which they are scored part by part, by the workers that joblib is
# configured to use, and about the number of records in a part.
_MOST_AT_ONCE, _N_IN_PART = 1 << 20, 1 << 17


class TooFewModelsError(ValueError):
    """The pool is too small for one of its models to be treated as the victim."""


def _score_apart(attack, part):
    """Score some records by an attack without its pool, and by the pool of these records."""
    rows, records, pool = part
    attack = copy.copy(attack)
    attack.pool_ = pool
    return rows, attack._score_part(records)


def treats_models_as_victims(attack):
    """Return whether the attack can be repeated with each of its shadow models as the victim."""
    return hasattr(attack, "score_left_out")


def check_repeatable(attack):
    """Refuse an attack that cannot be repeated with each of its shadow models as the victim."""
    if not treats_models_as_victims(attack):
        raise TypeError(
            "attack must be one that compares records with shadow models; got "
            f"{type(attack).__name__}."
        )


def list_models(models, n_models):
    """Return the numbers of models, which may also be given as a mask."""
    models = to_array(models, "models", "be numbers of models, or a mask")
    if models.dtype == bool and models.shape == (n_models,) and models.any():
        return np.flatnonzero(models)
    right = models.ndim == 1 and np.issubdtype(models.dtype, np.integer)
    if not right or len(models) == 0 or models.min() < 0 or models.max() >= n_models:
        raise ValueError(
            f"models must be numbers from 0 to {n_models - 1}, or a mask of {n_models} models with "
            f"one at least; got {show(models.tolist())}."
        )
    return models


def list_repeatable(attacks):
    """Return the attacks that are repeated on shadow models at the least cost."""
    able = {name: one for name, one in attacks.items() if treats_models_as_victims(one)}
    cheap = {name: one for name, one in able.items() if not one._learns_in_place}
    return cheap or able


def compare_with(attack, pool, records):
    """Return the comparison of an attack, fitted to a pool."""
    attack.shadows = pool
    attack._fit_shadows(records)
    return attack._comparison


def get_neutral(attack):
    """Return the score that is evidence neither for nor against membership; None if unknown.

    Differences from it add up over the records of a person.
    """
    return attack._comparison.neutral if isinstance(attack, PoolAttack) else None


class PoolReader:
    """What a comparison reads of the answers of a pool, on the records that it can judge."""

    def __init__(self, answers, comparison, name):
        self.answers, self._comparison, self._name = answers, comparison, name

    def blocks(self, records):
        """Yield rows, signal, training sets and numbers of IN models, block by block."""
        return self.answers.blocks(records, self.count_rows(), self._comparison.reads)

    def count_rows(self):
        """Return the number of records in a block."""
        _, n_queries, n_models, _ = self.answers.signals.shape
        return self._comparison.n_blocks * max(1, _BLOCK // (n_queries * n_models))

    def of_victim(self, victim, records):
        """Return what is read of the victim, as of the pool, of shape (n_queries, n)."""
        values = self.answers.victim_values(victim, records, self._comparison.reads)
        self.answers.warn_of_victim(values, records, self._comparison.reads)
        return values

    def are_enough(self, n_in, n_out):
        """Return where these numbers of IN and OUT models suffice, in their shape."""
        least_in, least_out = self._comparison.least
        return (n_in >= least_in) & (n_out >= least_out)

    def can_judge(self, records):
        """Return which records have the models that the comparison needs."""
        return self._have_enough(self.answers.count_inside(records))

    def _have_enough(self, n_in):
        n_models = len(self.answers.membership)
        return self.are_enough(n_in, n_models - n_in)

    def judged_blocks(self, records):
        """Yield the blocks of the records that can be judged; an error if there are none."""
        some = False
        for rows, shadows, inside, n_in in self.blocks(records):
            judged = self.are_enough(n_in, len(inside) - n_in)
            some |= judged.any()
            if judged.all():
                yield rows, shadows, inside
            elif judged.any():
                rows = np.arange(len(records))[rows][judged]
                yield rows, shadows[:, :, judged], inside[:, judged]
        self.refuse_unjudged(some, records)

    def sides(self, records, change=None):
        """Yield rows and moments of both sides of the records that can be judged.

        The pool keeps the moments, so that attacks with other settings, and on other victims, do
        not read it again.
        """
        columns = self.answers.locate_usable(records)
        known = (
            self.answers.moments(self._comparison.reads, change) if (columns >= 0).all() else None
        )
        if known is None:
            for rows, shadows, inside in self.judged_blocks(records):
                values = shadows if change is None else change(shadows)
                yield rows, compute_sides(values, inside, ~inside, self.answers.design.partners)
            return
        judged = self.are_enough(known.into.count[columns], known.out.count[columns])
        self.refuse_unjudged(judged, records)
        whole = np.array_equal(columns, np.arange(len(known.into.count))) and judged.all()
        for part in cut(len(columns), _N_RECORDS):
            rows = part if whole else part.start + np.flatnonzero(judged[part])
            yield rows, take_moments(known, rows if whole else columns[rows])

    def draw_columns(self, n_records):
        """Draw columns of records of the pool that can be judged."""
        return self.answers.draw_columns(n_records, self._have_enough(self.answers.n_inside))

    def read_columns(self, columns):
        """Return signal and training sets at columns of the pool."""
        return self.answers.values_at(columns, self._comparison.reads), self.answers.inside(columns)

    def say_too_few(self, n_records, place=""):
        """Say how many models the comparison needs, and how to get along with fewer."""
        names = zip(self._comparison.least, ("IN", "OUT"), strict=True)
        least = " and ".join(f"{count} {name}" for count, name in names if count)
        setting = self._comparison.alternative
        alternative = "" if setting is None else f" or set {setting}"
        return (
            f"{self._name} requires at least {least} shadow models per record{place}; none of the "
            f"{n_records} records has them. Fit the pool with more models{alternative}."
        )

    def refuse_unjudged(self, judged, records):
        """Say why no record has the models that the comparison needs, if none has."""
        if np.any(judged):
            return
        if not self._comparison.least[0] or (self.answers.locate(records) >= 0).any():
            raise ValueError(self.say_too_few(len(records)))
        raise ValueError(
            f"{self._name} needs IN shadow models, and {len(records)} of {len(records)} records "
            f"are not in the shadow pool; {self.answers.how_to_know(records)}"
        )


class Comparison:
    """How an attack scores records: a value that :class:`PoolAttack` hands what it reads.

    A subclass implements :meth:`score` for a block of records. ``reads`` is what it reads of pool
    and victim, in the terms of :class:`Needs`; ``least`` the minimum numbers of IN and of OUT
    models per record, and with fewer the score is just below ``neutral``, the score that is
    evidence for neither side; ``offset`` the threshold without labels and `target_fpr`, or None to
    set it from models treated as the victim.

    Examples
    --------
    >>> from skmia.base import Comparison
    >>> class ShareBelow(Comparison):
    ...     least, neutral = (0, 1), 0.5
    ...     def score(self, target, shadows, inside, outside):
    ...         below = ((shadows < target[:, None]) & outside).sum(axis=1)
    ...         return (below / outside.sum(axis=0)).mean(axis=0)
    """

    reads, least, neutral, offset = "auto", (0, 0), 0.0, None

    # A setting with which fewer models suffice, the size of blocks as a multiple, and who reads.
    alternative, n_blocks, reader = None, 1, PoolReader

    # The size of the numbers whose rounding is in the scores.
    unit = 1.0

    # Whether a record can be scored by a pool that holds the columns of that record alone.
    parts = False

    @property
    def _unjudged(self):
        """Score of a record that cannot be judged: just below the neutral score."""
        return np.nextafter(self.neutral, -np.inf)

    def score(
        self, target: np.ndarray, shadows: np.ndarray, inside: np.ndarray, outside: np.ndarray
    ) -> np.ndarray:
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

        Returns
        -------
        scores : ndarray of shape (n,)
            Higher means more likely a member.
        """
        raise NotImplementedError(f"{type(self).__name__} implements no score.")

    def _score_records(self, reader, records, target):
        """Score records block by block, given the signal of the victim."""
        scores = np.full(len(records), self._unjudged)
        for rows, shadows, inside in reader.judged_blocks(records):
            scores[rows] = self.score(target[:, rows], shadows, inside, ~inside)
        return scores

    def _finish(self, scores):
        """Return the final scores of any records, from what compares a record with the pool."""
        return scores

    def _aim_at(self, rate, n_models):
        """Return the rate of models treated as the victim that sets the threshold of a rate."""
        return rate

    def _rate_offset(self, reader, records, rate):
        """Return the threshold of a rate if the comparison knows it without such models."""
        return None

    def _leave_out(self, reader, models):
        """Return the comparison without what each of these models contributes when it leaves."""
        return self  # a single model contributes nothing noticeable

    def _score_left_out(self, shadows, inside, models, others):
        """Score a block with each chosen model treated as the victim, of shape (n_chosen, n)."""
        scores = []
        for k, other in zip(models, others, strict=True):
            rest = mark_remaining(inside, k, other)
            scores.append(self.score(shadows[:, k], shadows, inside & rest, ~inside & rest))
        return np.array(scores)


def find_judged(reader, inside, n_in, models, others):
    """Return where the remaining models suffice, of shape (n_chosen, n)."""
    n_out = len(inside) - n_in
    if reader.are_enough(n_in - 2, n_out - 2).all():  # no more than two leave
        return np.ones((len(models), len(n_in)), dtype=bool)
    has_other = others >= 0
    lost_in = inside[models].astype(int) + (values_of(inside[None], others)[0] & has_other)
    return reader.are_enough(n_in - lost_in, n_out - (1 + has_other - lost_in))


def score_in_place(comparison, shadows, inside, models, others, judged):
    """Score a block with models treated as the victim; unjudged where too few others remain.

    Take shadows of shape (n_queries, n_estimators, n), inside of shape (n_estimators, n), models of
    shape (n_chosen,), others, judged of shape (n_chosen, n); return scores of shape (n_chosen, n).
    """
    if judged.all():
        return comparison._score_left_out(shadows, inside, models, others)
    scores, whole = np.full(judged.shape, comparison._unjudged), judged.all(axis=0)
    # Most records can be judged with each of the models; they are scored together.
    parts = [(np.arange(len(models)), np.flatnonzero(whole))]
    parts += [([k], np.flatnonzero(judged[k] & ~whole)) for k in range(len(models))]
    for some, part in parts:
        if len(part):
            gone = part_of(others[some], part)
            scores[np.ix_(some, part)] = comparison._score_left_out(
                shadows[:, :, part], inside[:, part], models[some], gone
            )
    return scores


class PoolAttack(BaseAttack):
    """Base class of attacks that compare a signal of the victim with shadow models.

    A subclass implements ``_compare(records)``, which returns a :class:`Comparison` for the pool
    ``pool_``: a value that scores blocks of records.
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

    @abstractmethod
    def _compare(self, records):
        """Return the comparison, fitted to the shadow models ``pool_``."""

    def _fit(self, records, membership):
        check_outputs_source(self.victim)
        victim = unwrap(self.victim)
        is_asked = victim is not None and not isinstance(victim, CallableVictim)
        if is_asked and is_regressor(victim):
            query(self.victim, records[:1])  # whose number of targets is not known before
        self._fit_shadows(records)

    def _fit_shadows(self, records):
        """Fit what the shadow models determine, without a threshold."""
        self.pool_ = get_pool(self, records)
        self._comparison = self._compare(records)
        self.pool_.locate_signal(self._comparison.reads)

    @property
    def _reader(self):
        return self._comparison.reader(
            self.pool_.to_answers(), self._comparison, type(self).__name__
        )

    def _score_samples(self, records):
        # A victim with batches of its own is asked once.
        is_whole = getattr(unwrap(self.victim), "asks_in_batches", False)
        if is_whole or not self._comparison.parts or len(records) <= _MOST_AT_ONCE:
            return self._score_part(records)
        # Parts consist of whole blocks, so that the same numbers are added in the same order.
        size = self._reader.count_rows()
        size *= max(1, _N_IN_PART // size)
        light, scores = copy.copy(self), records._make_column()
        light.shadows = light.pool_ = None
        parts = (self._cut(records, part) for part in cut(len(records), size))
        for rows, found in get_workers().map(_score_apart, light, parts):
            scores[rows] = found
        return scores

    def _cut(self, records, rows):
        """Return some rows, their records, and the pool of these records."""
        part = records[rows]
        columns = self.pool_.locate_usable(part)
        pool = self.pool_.part(columns) if (columns >= 0).all() else self.pool_
        return rows, part, pool

    def _score_part(self, records):
        reader = self._reader
        target = reader.of_victim(self.victim, records)
        return self._comparison._finish(self._comparison._score_records(reader, records, target))

    def _can_judge(self, records):
        return self._reader.can_judge(records)

    def _natural_offset(self, records):
        comparison, rate = self._comparison, self.target_fpr
        if rate is None:
            offset = comparison.offset
            return self._choose_offset(records) if offset is None else offset
        offset = comparison._rate_offset(self._reader, records, rate)
        if offset is None:
            scores, inside = self._score_pseudo(records, SCORES_FOR_RATE)
            aim = comparison._aim_at(rate, len(self.pool_.membership_))
            offset = rate_threshold(scores[~inside], aim, comparison.unit)
        warn_unlike(self.pool_, self.victim, records, rate)
        return offset

    def _choose_offset(self, records):
        """Return the threshold of the highest balanced accuracy on shadow models, if any."""
        try:
            scores, inside = self._score_pseudo(records, SCORES_FOR_MEDIAN)
        except TooFewModelsError:
            return self._comparison.neutral
        if inside.all() or not inside.any():
            return self._comparison.neutral
        return best_threshold(inside, scores)

    def _score_pseudo(self, records, n_scores):
        """Score records with some shadow models treated as the victim; also return membership.

        Only records that can be judged are returned, model after model. Of many records, a sample
        is scored that depends on their content alone.
        """
        if len(records) > n_scores:
            records = records[np.sort(draw_by_content(records.fingerprint, n_scores))]
        n_models = len(self.pool_.membership_)
        models = choose_evenly(n_models, count_pseudo_victims(len(records), n_scores))
        rounds = [
            (scores[judged], inside[judged])
            for _, scores, inside, judged in self.score_left_out(records, models)
        ]
        scores, inside = (np.concatenate(part) for part in zip(*rounds, strict=True))
        return scores, inside

    def score_left_out(
        self, X: Records, models: ArrayLike
    ) -> Iterator[tuple[slice | np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
        """Score records with shadow models treated as the victim, block by block.

        Each chosen model is attacked with the remaining models of the pool. The model itself is
        left out and, because the number of IN models that remain must not reveal membership, the
        other model of its pair; if each record is in a fixed number of models, one model of the
        other side for each record; if training sets were drawn independently, none.

        Parameters
        ----------
        X : Records of n records
            Records of the pool.
        models : array-like of shape (n_chosen,)
            Indices of shadow models, or a mask of them.

        Yields
        ------
        rows : slice or ndarray of shape (n_rows,)
            Indices of the records.
        scores : ndarray of shape (n_chosen, n_rows)
            Scores under each model that is treated as the victim, on the scale of
            :meth:`score_samples`.
        inside : ndarray of shape (n_chosen, n_rows), dtype bool
            Training sets of these models.
        judged : ndarray of shape (n_chosen, n_rows), dtype bool
            Where the remaining models suffice; elsewhere the score has no meaning.

        Raises
        ------
        TooFewModelsError
            If no record can be judged with the remaining models.
        """
        records = order_features(self, check_records(X, targets=True))
        n_models = len(self.pool_.membership_)
        if n_models < FEWEST_MODELS:
            raise TooFewModelsError(
                "Shadow models can be treated as the victim in a pool of at least "
                f"{FEWEST_MODELS} models; this pool has {n_models}."
            )
        models = list_models(models, n_models)
        reader, some = self._reader, False
        columns, comparison = (
            self.pool_.locate(records),
            self._comparison._leave_out(reader, models),
        )
        for rows, shadows, inside, n_in in reader.blocks(records):
            others = choose_others(self.pool_.design_, inside, columns[rows], models)
            judged = find_judged(reader, inside, n_in, models, others)
            scores = score_in_place(comparison, shadows, inside, models, others, judged)
            some |= judged.any()
            yield rows, comparison._finish(scores), inside[models], judged
        if not some:
            place = " when another one is treated as the victim"
            raise TooFewModelsError(reader.say_too_few(len(records), place))
