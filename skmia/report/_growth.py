"""A pool of shadow models that grows until further models would hardly change the audit."""

from time import perf_counter
from typing import NamedTuple

import numpy as np
from sklearn.frozen import FrozenEstimator

from .._training.checkpoint import FolderCheckpoint
from ..base import list_repeatable
from ..base._parts import is_open
from ..base._pool_attack import count_pseudo_victims
from ..base._power import measure_models
from ..exceptions import CheckpointError
from ..metrics._membership import check_resolution as is_resolved
from ._plan import make_pool, prepare
from .growth import ENOUGH, MOST, SIZES, TIME, UNMEASURED, is_enough

# Number of shadow models if no attack can be repeated on them.
_SIZE_UNMEASURED = 16

# Lower rates vary so much between models that the power at this one says as much about them.
_LOWEST_RATE = 0.01


class Figure(NamedTuple):
    """What the power of attacks is measured by: the AUC, or the TPR at a rate."""

    metric: str
    max_fpr: float | None

    @property
    def column(self):
        return 0 if self.metric == "auc" else 1


class GrowingPool:
    """A pool whose models are kept while it grows, and the seconds that they take.

    Parameters
    ----------
    pool : ShadowPool
        Unfitted pool with a checkpoint or ``warm_start=True``.
    records : Records of n records
    """

    def __init__(self, pool, records):
        self.pool, self._records, self.size = pool, records, 0
        self._folder = None if pool.checkpoint is None else FolderCheckpoint(pool.checkpoint)
        self._n_trained, self._seconds = 0, 0.0

    @property
    def seconds_per_model(self):
        """Mean over the models that were trained here; None if none was."""
        return self._seconds / self._n_trained if self._n_trained else None

    def grow(self, size):
        """Train the further models. If all are in the checkpoint, the pool may also shrink."""
        n_missing, start = self._count_missing(size), perf_counter()
        try:
            self._fit(size)
        except CheckpointError:
            if self._folder is not None or not self.size:
                raise
            # Models that cannot be identified cannot be kept, so all are trained again.
            self.pool.set_params(warm_start=False)
            n_missing = size
            self._fit(size)
        self.size = size
        if n_missing > 0:
            self._n_trained += n_missing
            self._seconds += perf_counter() - start

    def fits(self, size, seconds):
        """Whether the further models are expected to take at most so many seconds."""
        start = perf_counter()
        if self._n_trained == 0 and self._count_missing(size) > 0:
            # All models so far come from a checkpoint: the next ones show how long one takes.
            before = self.size
            some = range(before + 2, size + 1, 2)
            self.grow(next(k for k in some if self._count_missing(k) > 0))
            self.grow(before)
        n_missing = self._count_missing(size)
        left = seconds - (perf_counter() - start)
        return n_missing <= 0 or n_missing * self.seconds_per_model <= left

    def _count_missing(self, size):
        if self._folder is not None:
            return size - self._folder.count_kept(size)
        return size - (self.size if self.pool.warm_start else 0)

    def _fit(self, size):
        try:
            self.pool.set_params(n_estimators=size).fit(self._records)
        except KeyboardInterrupt as error:
            if self._folder is None:  # its note would say what is kept in memory until the end
                vars(error).pop("__notes__", None)
            raise


def grow_pool(case, plan, clock):
    """Train shadow models until further ones would hardly change what the audit finds.

    After each doubling, the attacks are repeated on the pool's own models, whose training sets are
    known. The victim, its outputs and its membership play no part, so that the numbers of the
    audit need no correction for the choice.

    Parameters
    ----------
    case : Case
    plan : Plan
    clock : Clock

    Returns
    -------
    pool : ShadowPool
        Fitted pool.
    growth : dict
        What the report says about it, see :class:`AuditReport`.
    """
    growing = GrowingPool(make_pool(case.request, plan.keeps), case.records)
    meter = _PowerMeter(case, plan)
    growing.grow(SIZES[1] if case.time_budget is None else SIZES[0])
    powers, reason = {}, None
    while reason is None:
        for size in SIZES[: SIZES.index(growing.size) + 1]:
            if size not in powers:
                powers[size] = meter.measure(growing.pool.first(size))
        steps = _list_steps(powers, meter.choose_figure(powers))
        reason = _why_stop(steps, growing.size)
        if reason is None and case.time_budget is not None:
            left = case.time_budget - clock.elapsed()
            reason = None if growing.fits(2 * growing.size, left) else TIME
        if reason is None:
            growing.grow(2 * growing.size)
    # Results of single models, which are kept for growing, take as much memory as the pool.
    return growing.pool.first(growing.size), {
        "n_shadows": growing.size,
        "reason": reason,
        **meter.choose_figure(powers)._asdict(),
        "steps": steps,
        "seconds_per_model": growing.seconds_per_model,
        "time_budget": case.time_budget,
    }


class _PowerMeter:
    """The power of the attacks of an audit on the models of its pool."""

    def __init__(self, case, plan):
        self._request = case.request
        attacks = list_repeatable(plan.attacks)
        self._attacks = {name: one for name, one in attacks.items() if is_open(one, "shadows")}
        records = case.records
        # What the victim answered is of no use here, and no attack can read it by accident.
        self._records = records._without("outputs") if "outputs" in records.fields else records
        n_nonmembers = len(records) // 2
        usual = [rate for rate in case.fprs if rate >= _LOWEST_RATE] or [_LOWEST_RATE]
        resolved = [rate for rate in usual if is_resolved(n_nonmembers, rate, "ignore")]
        self._rate = min(resolved, default=None)

    def choose_figure(self, powers):
        """The TPR at the lowest rate that was asked for, unless it cannot be measured or is 0."""
        found = [values[:, 1].any() for power in powers.values() for values in power.values()]
        return Figure("tpr", self._rate) if self._rate and any(found) else Figure("auc", None)

    def measure(self, pool):
        """Measure AUC and TPR, of shape (n_models, 2), of each attack that can be repeated."""
        n_wanted = count_pseudo_victims(len(self._records))
        # The first models are also those of a larger pool. Both models of a pair are among them.
        models = np.arange(min(n_wanted // 2 * 2, len(pool.membership_)))
        found = {
            name: self._measure(attack, pool, models) for name, attack in self._attacks.items()
        }
        return {name: values for name, values in found.items() if values is not None}

    def _measure(self, attack, pool, models):
        attack = prepare(attack, self._request)
        attack.set_params(victim=None, shadows=FrozenEstimator(pool))
        try:
            found = measure_models(attack, self._records, models, self._rate or _LOWEST_RATE)
        except ValueError:  # a pool may have too few models in, or out, for some records
            return None
        return None if np.isnan(found).any() else found


def _list_steps(powers, figure):
    """What each number of models brought to the strongest attack, where it was measured."""
    steps, before = [], None
    for size, power in powers.items():
        if not power:
            continue
        values = {name: found[:, figure.column] for name, found in power.items()}
        strongest = max(values, key=lambda name: values[name].mean())
        here = values[strongest]
        steps.append(
            {
                "n_shadows": size,
                "attack": strongest,
                "power": float(here.mean()),
                "sd": float(here.std(ddof=1)),
                "n_models": len(here),
                **_compare(here, before),
            }
        )
        before = here
    return steps


def _why_stop(steps, size):
    """Why no further models are needed, or None."""
    if size >= SIZES[-1]:
        return MOST
    if not steps or steps[-1]["n_shadows"] < size:
        return UNMEASURED if size >= _SIZE_UNMEASURED else None
    return ENOUGH if is_enough(steps) else None


def _compare(here, before):
    """Mean growth over the models that were attacked before, and its standard error."""
    if before is None:
        return {"gain": None, "gain_standard_error": None}
    n_common = min(len(here), len(before))
    gains = (here[:n_common] - before[:n_common]).reshape(-1, 2).mean(axis=1)  # by pair
    error = gains.std(ddof=1) / np.sqrt(len(gains))
    return {"gain": float(gains.mean()), "gain_standard_error": float(error)}
