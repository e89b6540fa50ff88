"""How a victim and a pool reach the parts of an attack, and what an attack needs of them.

:func:`connect` sets both in the parts that have none, and ``give_population`` the non-members that
a part lacks; unfitted pools among the parameters of an attack, or of its parts, are found here.
``needs_of`` and ``offer_of`` say what is needed and what there is, and ``why_not`` compares them.
"""

from dataclasses import replace
from functools import reduce
from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.utils import get_tags

from .._core.copies import is_estimator
from .._core.kinds import is_classifier, is_regressor
from .._core.needs import BOTH, NOBODY, Needs, Offer
from .._core.numbers import show
from .._core.query import AlignedModel, refuse_class, unwrap
from .._core.records import Records, get_origin
from .._core.types import Frozen
from ..shadow import ShadowPool, fit_once
from ..signals import Signal
from ..victims import get_access, get_kind, is_trainable


def _list_children(value):
    """Yield the estimators in the parameters of an estimator, and in lists of them."""
    if isinstance(value, list | tuple):
        for child in value:
            yield from _list_children(child)
    elif is_estimator(value):
        yield value


def _children_of(estimator):
    if not hasattr(estimator, "get_params"):
        return []
    return list(_list_children(list(estimator.get_params(deep=False).values())))


def parts_of(estimator):
    """Return the attacks and transformers of signals that an estimator combines, at any depth."""
    refuse_class(estimator, "attack")
    # Frozen estimators are left out because they are not fitted again.
    if isinstance(estimator, FrozenEstimator):
        return []
    if hasattr(estimator, "needs"):
        return [estimator]
    return [part for child in _children_of(estimator) for part in parts_of(child)]


def needs_of(estimator: BaseEstimator) -> Needs | None:
    """Return the needs of an attack, or of an estimator that combines attacks and signals.

    The parts of a Pipeline, a union, a stack or a search run together: a kind of output must suit
    all of them, and whatever one of them needs is needed. A step that learns from y and a search
    need known members and non-members.

    Parameters
    ----------
    estimator : estimator
        An attack, a transformer of signals, or a composition of them.

    Returns
    -------
    needs : Needs or None
        None if the estimator has no such part, so that it is not a membership attack.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from skmia.base import needs_of
    >>> from skmia.signals import Signals
    >>> needs = needs_of(make_pipeline(Signals(signals=["loss"]), LogisticRegression()))
    >>> sorted(needs.reads), needs.known
    (['log_odds', 'logits', 'proba', 'value', 'values'], 'members and non-members')
    >>> needs_of(LogisticRegression()) is None
    True
    """
    refuse_class(estimator, "attack")
    if isinstance(estimator, FrozenEstimator):
        needs = needs_of(estimator.estimator)
        return None if needs is None else replace(needs, known=NOBODY, lacks=())
    if hasattr(estimator, "needs"):
        return estimator.needs()
    children = _children_of(estimator)
    parts = [needs for needs in map(needs_of, children) if needs is not None]
    if not parts:
        return None
    needs = reduce(Needs.__and__, parts)
    return replace(needs, known=BOTH) if _learns(estimator, children) else needs


def _learns(estimator, children):
    """Return whether something other than its attacks learns from membership."""
    if not isinstance(estimator, Pipeline | FeatureUnion):
        return True  # searches select by it; stacking and calibration fit a classifier to it
    others = [child for child in children if needs_of(child) is None]
    return any(
        is_classifier(child) or is_regressor(child) or get_tags(child).target_tags.required
        for child in others
        if not isinstance(child, FrozenEstimator)
    )


def offer_of(model, **more):
    """Return what a model offers to an attack by its owner, who knows the members."""
    access, withheld = get_access(model)
    more["withheld"] = {**withheld, **more.get("withheld", {})}
    return Offer(**{"kind": get_kind(model), "access": access, "known": BOTH, **more})


def settings_of_pool(keeps):
    """Return the settings of a :class:`~skmia.ShadowPool` that keeps what is needed."""
    temperatures = {what[1] for what in keeps if isinstance(what, tuple)}
    signals = sorted((what for what in keeps if isinstance(what, Signal)), key=repr)
    store = next((name for name in ("models", "outputs") if name in keeps), "signals")
    return {
        "signals": ("auto", *signals),
        "temperatures": tuple(sorted({1.0} | temperatures)),
        "store": store,
    }


def why_not(estimator, offer):
    """Return why an attack, or a composition of attacks and signals, cannot run, or None.

    A part that has its own victim or shadow models does not need the offered ones.
    """
    for part in parts_of(estimator):
        reason = part.needs().why_not(_with_own(part, offer))
        if reason is not None:
            return reason
    return None


def _with_own(part, offer):
    """Return the offer to a part, extended by its own parameters."""
    own = part.get_params(deep=False)
    if own.get("victim") is not None:
        given = offer_of(own["victim"])
        withheld = {**offer.withheld, **given.withheld}
        offer = offer._replace(kind=given.kind, access=given.access, withheld=withheld)
    if own.get("shadows") is not None:
        offer = offer._replace(keeps=getattr(unwrap(own["shadows"]), "keeps", None), trainable=True)
    return offer


def connect(
    estimator: BaseEstimator,
    victim: BaseEstimator,
    pool: ShadowPool | Frozen | None = None,
    *,
    stored: bool = False,
) -> BaseEstimator:
    """Set every open parameter ``victim`` and ``shadows`` of an attack, at any depth.

    A parameter is open if it is None. Victims and pools that are already set stay.

    Parameters
    ----------
    estimator : estimator
        An attack or a composition of attacks and signals; its parameters are set in place.
    victim : fitted estimator
        Model under attack.
    pool : ShadowPool, default=None
        Fitted shadow models. If None, ``shadows`` stays open.
    stored : bool, default=False
        Whether the records hold the victim's outputs. Parts for which these suffice keep
        ``victim=None``, so that the victim is not queried again.

    Returns
    -------
    estimator : estimator
        The estimator that was passed.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skmia.attacks import ThresholdAttack
    >>> from skmia.base import connect
    >>> tree = DecisionTreeClassifier().fit([[0], [1]], [0, 1])
    >>> connect(ThresholdAttack(), tree).victim
    DecisionTreeClassifier()
    """
    for part in parts_of(estimator):
        if pool is not None and is_open(part, "shadows"):
            part.set_params(shadows=pool)
        if is_open(part, "victim") and not (stored and _reads_stored(part)):
            part.set_params(victim=victim)
    return estimator


def _reads_stored(part):
    """Whether stored outputs suffice for a part, including the records among its parameters."""
    given = [value for value in part.get_params(deep=False).values() if isinstance(value, Records)]
    # A sequence model's stored outputs hold one output for each token.
    return not part.needs().access - {"tokens"} and all("outputs" in held.fields for held in given)


def set_victim(estimator, victim):
    """Set every parameter ``victim`` of an attack, at any depth, whatever its value."""
    for part in parts_of(estimator) or [estimator]:
        if "victim" in part.get_params(deep=False):
            part.set_params(victim=victim)
    return estimator


def give_population(attack, population):
    """Give non-members to each part of an attack that declares, in ``needs()``, that it lacks them.

    ``connect`` does not: only a caller who knows non-members of the victim has them.
    """
    for part in parts_of(attack):
        if "population" in part.needs().lacks:
            part.set_params(population=population)


def align_victim(victim, attack, y):
    """Return a victim that was trained here, with probability 0 for labels that it does not know.

    Training records may lack a rare class. Attacks refuse labels that a given model does not know,
    because they may be coded differently; an attack that looks into the victim does so here too.
    """
    classes = getattr(victim, "classes_", None)
    if is_regressor(unwrap(victim)) or np.ndim(y) > 1 or np.ndim(classes) != 1:
        return victim
    needs = needs_of(attack)
    if (needs is not None and needs.access - {"queries"}) or np.isin(y, classes).all():
        return victim
    return AlignedModel(victim, np.union1d(classes, y), get_kind(victim))


def takes_victim(estimator):
    """Return whether an attack has a parameter ``victim`` at some depth."""
    return any(
        "victim" in part.get_params(deep=False) for part in parts_of(estimator) or [estimator]
    )


def has_own_victim(estimator):
    """Return whether a part of an attack has its own victim."""
    return any(
        part.get_params(deep=False).get("victim") is not None for part in parts_of(estimator)
    )


def is_open(part, name):
    """Return whether a part has a parameter of that name that is None."""
    return part.get_params(deep=False).get(name, part) is None


def list_keeps(part, records):
    """Return what a pool that is trained for an attack on these records must keep."""
    needs = part.needs()
    tables = [value for value in part.get_params(deep=False).values() if isinstance(value, Records)]
    # Further records, such as a population, can only be scored by the models themselves.
    if all(np.isin(table.fingerprint, records.fingerprint).all() for table in tables):
        return needs.keeps | needs.uses
    return needs.keeps | needs.uses | {"models"}


def open_pool(attack, records):
    """Return the pool of an attack; a number becomes an unfitted one of clones of the victim."""
    refuse_class(attack, "attack")
    shadows = attack.shadows
    refuse_class(shadows, "pool")
    if isinstance(unwrap(shadows), ShadowPool):
        return shadows
    is_number = isinstance(shadows, Integral) and not isinstance(shadows, bool)
    if not is_number or shadows < 2 or shadows % 2:
        raise (ValueError if is_number else TypeError)(
            "shadows must be a ShadowPool, either unfitted or fitted, or an even number of models "
            f"from 2 on; got {shadows if is_number else type(shadows).__name__}."
        )
    victim = unwrap(attack.victim)
    if isinstance(victim, AlignedModel):
        victim = unwrap(victim.model)
    if victim is None or not is_trainable(victim):
        raise ValueError(
            f"shadows={shadows} trains clones of the victim, and {show(victim)} cannot be trained; "
            "pass shadows=ShadowPool(estimator), with an estimator like the victim."
        )
    keeps = list_keeps(attack, records) if hasattr(attack, "needs") else frozenset({"models"})
    seed = getattr(attack, "random_state", None)
    return ShadowPool(victim, int(shadows), **settings_of_pool(keeps), random_state=seed)


def _is_fitted(pool):
    """Return whether a pool is used as it is, and not trained on the records of an attack."""
    return hasattr(pool, "membership_")


def get_pool(attack, records):
    """Return the fitted pool of ``shadows``; an unfitted one is fitted on the table of records."""
    pool = unwrap(open_pool(attack, get_origin(records)))
    return pool if _is_fitted(pool) else fit_once(pool, records)


def get_own_pools(attack, records):
    """Return the unfitted pools of an attack, each after its part and the name of the parameter."""
    pools = []
    for part in parts_of(attack) or [attack]:
        for name, value in part.get_params(deep=False).items():
            if name == "shadows" and isinstance(value, Integral):
                value = open_pool(part, records)
            if isinstance(value, ShadowPool) and not _is_fitted(value):
                pools.append((part, name, value))
    return pools


def fit_own_pools(attack, records):
    """Fit the pools of an attack on records, before the attack is fitted on others.

    Others can only be scored by the models themselves, which a pool of a number keeps.
    """
    for part, name, pool in get_own_pools(attack, records):
        if pool is not part.get_params(deep=False)[name]:
            pool.set_params(store="models")
        part.set_params(**{name: fit_once(pool, records)})
