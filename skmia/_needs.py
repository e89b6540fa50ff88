"""What attacks need and what a case offers, in the same words."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from types import MappingProxyType
from typing import NamedTuple

from sklearn.base import is_classifier, is_regressor
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.utils import get_tags

from ._outputs import KINDS
from ._records import Records
from .victims._offers import find_access, find_kind
from .victims._query import unwrap

ANY = frozenset(KINDS)

KNOWN = NOBODY, NON_MEMBERS, BOTH = "nobody", "non-members", "members and non-members"

# What a population holds, so that whoever knows non-members can give it.
_POPULATION = "population"

_ANSWERS = {
    "proba": "class probabilities",
    "logits": "class probabilities",
    "decision": "decision values",
    "label": "predicted labels",
    "value": "the predictions of a regressor",
}
ACCESS = {
    "queries": "further queries",
    "gradients": "gradients",
    "layers": "outputs of its layers",
    "samples": "samples",
    "file": "the file of the model",
}


def _join(words, last):
    *first, final = dict.fromkeys(words)
    return f"{', '.join(first)} {last} {final}" if first else final


@dataclass(frozen=True)
class Needs:
    """What an attack on membership, or a signal, needs in order to run.

    Attributes
    ----------
    reads : frozenset of str
        Kinds of :class:`~skmia.Outputs`, each of which suffices; ``"value"`` is regression.
    access : frozenset of str, default=frozenset()
        What the attack needs of the victim beyond stored outputs: ``"queries"`` about further
        records, ``"gradients"``, ``"layers"``, ``"samples"``, ``"file"``.
    keeps : frozenset, default=frozenset()
        What a pool must keep of each shadow model: ``"auto"``, the log odds, margin or log
        residual; ``("auto", T)``, the log odds at temperature T; ``"outputs"``; ``"models"``.
    known : {"nobody", "non-members", "members and non-members"}, default="nobody"
        Records of which kind ``fit`` learns from.
    lacks : tuple of str, default=()
        Parameters that are None and that only the caller can give, such as ``"population"``.

    See Also
    --------
    needs_of : Needs of anything that is made of attacks and signals.

    Examples
    --------
    >>> from skmia.attacks import RMIA
    >>> needs = RMIA(temperature=2.0).needs()
    >>> needs.keeps
    frozenset({('auto', 2.0)})
    >>> from skmia.base import Offer
    >>> needs.why_not(Offer("label"))
    'it reads class probabilities, decision values or the predictions of a regressor, ...'
    """

    reads: frozenset
    access: frozenset = frozenset()
    keeps: frozenset = frozenset()
    known: str = NOBODY
    lacks: tuple = ()

    def why_not(self, offer):
        """Why something with these needs cannot run on what is offered.

        Parameters
        ----------
        offer : Offer
            What there is.

        Returns
        -------
        reason : str or None
            Part of a sentence, or None if nothing is missing.
        """
        for find in (_find_answers, _find_access, _find_shadows, _find_known):
            reason = find(self, offer)
            if reason is not None:
                return reason
        return None

    def __and__(self, other):
        """Needs of two parts that run together."""
        return Needs(
            reads=self.reads & other.reads,
            access=self.access | other.access,
            keeps=self.keeps | other.keeps,
            known=max(self.known, other.known, key=KNOWN.index),
            lacks=tuple(dict.fromkeys(self.lacks + other.lacks)),
        )


class Offer(NamedTuple):
    """What there is for an attack to run on.

    Attributes
    ----------
    kind : str
        Kind of the victim's :class:`~skmia.Outputs`.
    access : frozenset of str
        What else the victim gives, in the words of :class:`Needs`.
    keeps : frozenset or None
        What the pool of shadow models keeps; None if it is trained to keep what is needed.
    known : {"nobody", "non-members", "members and non-members"}
        Whose membership is known.
    trainable : bool
        Whether there are, or can be, shadow models.
    withheld : mapping of str to str
        Reasons why single things are not offered: the name of what is missing, or
        ``"shadows"``, to a part of a sentence.

    Examples
    --------
    >>> from skmia.attacks import GradientAttack
    >>> from skmia.base import Offer
    >>> offer = Offer("proba", access=frozenset({"queries"}), known="members and non-members")
    >>> GradientAttack().needs().why_not(offer)
    'it needs gradients of the victim, which it does not give'
    """

    kind: str
    access: frozenset = frozenset()
    keeps: frozenset | None = None
    known: str = NOBODY
    trainable: bool = True
    withheld: Mapping = MappingProxyType({})


def _find_answers(needs, offer):
    if offer.kind in needs.reads:
        return None
    if not needs.reads:
        return "no single kind of model suits all of its parts"
    read = _join([_ANSWERS[kind] for kind in KINDS if kind in needs.reads], "or")
    return f"it reads {read}, and the victim returns {_ANSWERS[offer.kind]}"


def _find_access(needs, offer):
    missing = [word for word in ACCESS if word in needs.access - offer.access]
    if not missing:
        return None
    reason = next((offer.withheld[word] for word in missing if word in offer.withheld), None)
    wanted = _join([ACCESS[word] for word in missing], "and")
    return f"it needs {wanted} of the victim, {reason or 'which it does not give'}"


def _find_shadows(needs, offer):
    if not needs.keeps:
        return None
    if not offer.trainable:
        return f"it needs shadow models, {offer.withheld.get('shadows', 'of which there are none')}"
    for what in sorted(needs.keeps, key=str):
        if what in offer.withheld:
            return f"it needs the {what} of the shadow models, {offer.withheld[what]}"
        if offer.keeps is not None and not _is_kept(what, offer):
            return _ask_for(what)
    return None


def _is_kept(what, offer):
    if offer.kind in ("proba", "logits") or not _is_signal(what):
        return what in offer.keeps
    # Only logits can be divided by a temperature: other kinds have one number for all of them.
    return any(map(_is_signal, offer.keeps))


def _is_signal(what):
    return what == "auto" or isinstance(what, tuple)


def _ask_for(what):
    if isinstance(what, tuple):
        return (
            f"it needs the log odds of the shadow models at temperature {what[1]:g}; fit the pool "
            f"with temperatures=({what[1]:g},) or more"
        )
    if what == "auto":
        return "it needs a signal of each shadow model, which the pool does not keep"
    return f'it needs the {what} of the shadow models; fit the pool with store="{what}"'


def _find_known(needs, offer):
    if KNOWN.index(needs.known) > KNOWN.index(offer.known):
        return f"it learns from known {needs.known}"
    lacks = [name for name in needs.lacks if not _is_given(name, needs)]
    return f"its parameter {_join(lacks, 'and')} must be given" if lacks else None


def _is_given(name, needs):
    """Whether known records can be put into a parameter, which makes it no longer lacking."""
    return name == _POPULATION and needs.known != NOBODY


def _is_estimator(value):
    return hasattr(value, "get_params") and hasattr(value, "fit") and not isinstance(value, type)


def _find_children(value):
    """Estimators in the parameters of an estimator, and in lists of them."""
    if isinstance(value, list | tuple):
        for one in value:
            yield from _find_children(one)
    elif _is_estimator(value):
        yield value


def _children_of(estimator):
    if not hasattr(estimator, "get_params"):
        return []
    return list(_find_children(list(estimator.get_params(deep=False).values())))


def parts_of(estimator):
    """Attacks and transformers of signals that something is made of, at any depth.

    What is frozen is left out: it is no longer fitted.

    Parameters
    ----------
    estimator : estimator

    Returns
    -------
    parts : list of estimators
        The estimator alone if it is an attack itself.
    """
    if isinstance(estimator, FrozenEstimator):
        return []
    if hasattr(estimator, "needs"):
        return [estimator]
    return [part for child in _children_of(estimator) for part in parts_of(child)]


def needs_of(estimator):
    """Needs of an attack, or of an estimator that is made of attacks and signals.

    The parts of a Pipeline, a union, a stack or a search run together: an answer must suit all of
    them, and all that one of them needs is needed. A step that learns from y, and a search, need
    known members and non-members.

    Parameters
    ----------
    estimator : estimator
        An attack, a transformer of signals, or a composition of them.

    Returns
    -------
    needs : Needs or None
        None for an estimator without such a part, which is not an attack on membership.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from skmia.base import needs_of
    >>> from skmia.signals import Signals
    >>> needs = needs_of(make_pipeline(Signals(signals=["loss"]), LogisticRegression()))
    >>> sorted(needs.reads), needs.known
    (['logits', 'proba', 'value'], 'members and non-members')
    >>> needs_of(LogisticRegression()) is None
    True
    """
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
    """Whether something besides its attacks learns from membership."""
    if not isinstance(estimator, Pipeline | FeatureUnion):
        return True  # a search chooses by it, a stack and a calibration fit a classifier
    others = [child for child in children if needs_of(child) is None]
    return any(
        is_classifier(child) or is_regressor(child) or get_tags(child).target_tags.required
        for child in others
        if not isinstance(child, FrozenEstimator)
    )


def find_obstacle(estimator, offer):
    """Why an attack, or a composition of attacks and signals, cannot run, or None.

    A part that has a victim or shadow models of its own does not need those that are offered.
    """
    for part in parts_of(estimator):
        reason = part.needs().why_not(_with_own(part, offer))
        if reason is not None:
            return reason
    return None


def _with_own(part, offer):
    """What is offered to a part, with what it brings."""
    own = part.get_params(deep=False)
    if own.get("victim") is not None:
        access, reasons = find_access(own["victim"])
        withheld = {**offer.withheld, **reasons}
        offer = offer._replace(kind=find_kind(own["victim"]), access=access, withheld=withheld)
    if own.get("shadows") is not None:
        offer = offer._replace(keeps=getattr(unwrap(own["shadows"]), "keeps", None), trainable=True)
    return offer


def _freeze(model):
    return model if isinstance(model, FrozenEstimator) else FrozenEstimator(model)


def connect(estimator, victim, pool=None, *, stored=False):
    """Set every open parameter ``victim`` and ``shadows`` of an attack, at any depth.

    A parameter is open if it is None. What an attack or a composition brings of its own stays.

    Parameters
    ----------
    estimator : estimator
        An attack or a composition of attacks and signals; its parameters are set in place.
    victim : fitted estimator
        Model under attack.
    pool : ShadowPool, default=None
        Fitted shadow models. If None, ``shadows`` stays open.
    stored : bool, default=False
        Whether the records carry the victim's outputs. Parts to which these suffice then keep
        ``victim=None``, so that the victim is not queried again.

    Returns
    -------
    estimator : estimator
        The same.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skmia.attacks import ThresholdAttack
    >>> from skmia.base import connect
    >>> tree = DecisionTreeClassifier().fit([[0], [1]], [0, 1])
    >>> connect(ThresholdAttack(), tree).victim
    FrozenEstimator(estimator=DecisionTreeClassifier())
    """
    for part in parts_of(estimator):
        if pool is not None and is_open(part, "shadows"):
            part.set_params(shadows=_freeze(pool))
        if is_open(part, "victim") and not (stored and _reads_stored(part)):
            part.set_params(victim=_freeze(victim))
    return estimator


def _reads_stored(part):
    """Whether stored outputs suffice for a part, with the records among its parameters."""
    given = [one for one in part.get_params(deep=False).values() if isinstance(one, Records)]
    return not part.needs().access and all("outputs" in one.fields for one in given)


def has_own_victim(estimator):
    """Whether a part of an attack attacks a victim that came with it."""
    return any(
        part.get_params(deep=False).get("victim") is not None for part in parts_of(estimator)
    )


def is_open(part, name):
    """Whether a part has a parameter of that name, and it is None."""
    return part.get_params(deep=False).get(name, part) is None
