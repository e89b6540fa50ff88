"""The needs of attacks and the offer of a case, in the same terms."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from .outputs import KINDS, KINDS_OF_ONE_LABEL

ANY = frozenset(KINDS_OF_ONE_LABEL)

KNOWN = NOBODY, NON_MEMBERS, BOTH = "nobody", "non-members", "members and non-members"

# Of a pool whose models are compared by their labels alone.
LABELS = "labels"

# A parameter that holds non-members, so an attacker who knows non-members can set it.
_POPULATION = "population"

_ANSWERS = {
    "proba": "class probabilities",
    "logits": "class probabilities",
    "decision": "decision values",
    "log_odds": "log odds of the label",
    "label": "predicted labels",
    "value": "the predictions of a regressor",
    "values": "the predictions of a regressor of several targets",
}
ACCESS = {
    "queries": "further queries",
    "gradients": "gradients",
    "layers": "outputs of its layers",
    "tokens": "the log-probabilities of single tokens",
    "samples": "samples",
    "file": "the file of the model",
    "nodes": "the nodes of trees",
    "thresholds": "the thresholds of trees",
    "optimum": "the optimum of a linear model or support vector machine",
    "sums": "sums over the training rows",
}


def _join_words(words, last):
    *first, final = dict.fromkeys(words)
    return f"{', '.join(first)} {last} {final}" if first else final


@dataclass(frozen=True)
class Needs:
    """Needs of an attack on membership, or of a signal.

    Attributes
    ----------
    reads : frozenset of str
        Kinds of :class:`~skmia.Outputs`; any one of them suffices; ``"value"`` is regression, and
        ``"values"`` regression of several targets.
    access : frozenset of str, default=frozenset()
        Access to the victim beyond stored outputs: ``"queries"`` for further records,
        ``"gradients"``, ``"layers"``, ``"tokens"`` (the log-probability of each token of a text),
        ``"samples"``, ``"file"`` (the fitted model itself), ``"nodes"`` and ``"thresholds"`` (of
        trees), ``"optimum"`` (of a linear model or support vector machine), ``"sums"`` (over the
        training rows, which naive Bayes and others store).
    keeps : frozenset, default=frozenset()
        What a pool must keep of each shadow model: ``"auto"`` (the log odds, margin or log
        residual), ``("auto", T)`` (the log odds at temperature T), a
        :class:`~skmia.signals.Signal`, ``"outputs"`` or ``"models"``. ``"gradients"`` stands beside
        ``"models"`` for models that :func:`skmia.victims.open_white_box` can read.
    known : {"nobody", "non-members", "members and non-members"}, default="nobody"
        Kind of records that ``fit`` learns from.
    lacks : tuple of str, default=()
        Parameters that are None and that only the caller can set, such as ``"population"``.
    uses : frozenset, default=frozenset()
        What is used of each shadow model if the pool keeps it, in the terms of ``keeps``. Without
        it the attack runs as well, so it is never a reason to refuse; a pool that is trained for
        the attack keeps it.

    See Also
    --------
    needs_of : Returns the needs of anything that combines attacks and signals.

    Examples
    --------
    >>> from skmia.attacks import RMIA
    >>> needs = RMIA(temperature=2.0).needs()
    >>> needs.keeps
    frozenset({('auto', 2.0)})
    >>> from skmia.base import Offer
    >>> needs.why_not(Offer("label"))
    'it reads class probabilities, decision values, the predictions of a regressor or ...'
    >>> sorted(RMIA().needs().keeps), sorted(RMIA().needs().uses)
    (['auto'], [('auto', 2.0)])
    """

    reads: frozenset[str]
    access: frozenset[str] = frozenset()
    keeps: frozenset = frozenset()
    known: str = NOBODY
    lacks: tuple[str, ...] = ()
    uses: frozenset = frozenset()

    def why_not(self, offer: "Offer") -> str | None:
        """Return the reason why an attack with these needs cannot run on an offer.

        Parameters
        ----------
        offer : Offer
            What is available.

        Returns
        -------
        reason : str or None
            Part of a sentence, or None if nothing is missing.
        """
        for why_no in (_why_no_answers, _why_no_access, _why_no_shadows, _why_no_members):
            reason = why_no(self, offer)
            if reason is not None:
                return reason
        return None

    def __and__(self, other):
        """Return the needs of two parts that run together."""
        return Needs(
            reads=self.reads & other.reads,
            access=self.access | other.access,
            keeps=self.keeps | other.keeps,
            known=max(self.known, other.known, key=KNOWN.index),
            lacks=tuple(dict.fromkeys(self.lacks + other.lacks)),
            uses=self.uses | other.uses,
        )


class Offer(NamedTuple):
    """What is available for an attack.

    Attributes
    ----------
    kind : str
        Kind of the victim's :class:`~skmia.Outputs`.
    access : frozenset of str
        Further access to the victim, in the terms of :class:`Needs`.
    keeps : frozenset or None
        What the pool of shadow models keeps; None if it is yet to be trained and can keep what is
        needed.
    known : {"nobody", "non-members", "members and non-members"}
        Kind of records whose membership is known.
    trainable : bool
        Whether there are shadow models, or they can be trained.
    withheld : mapping of str to str
        Reasons why something is not available, as parts of sentences, by its name or by
        ``"shadows"``.

    Examples
    --------
    >>> from skmia.attacks.white_box import GradientAttack
    >>> from skmia.base import Offer
    >>> offer = Offer("proba", access=frozenset({"queries"}), known="members and non-members")
    >>> GradientAttack().needs().why_not(offer)
    'it needs gradients of the victim, which it does not give'
    """

    kind: str
    access: frozenset[str] = frozenset()
    keeps: frozenset | None = None
    known: str = NOBODY
    trainable: bool = True
    withheld: Mapping[str, str] = MappingProxyType({})


def _why_no_answers(needs, offer):
    if offer.kind in needs.reads:
        return None
    if not needs.reads:
        return "no single kind of model suits all of its parts"
    return f"it reads {_say_what_is_read(needs)}, and the victim returns {_ANSWERS[offer.kind]}"


def _say_what_is_read(needs):
    # Log odds follow from probabilities; they stand for victims that cannot be asked.
    kinds = needs.reads - {"log_odds"} if "proba" in needs.reads else needs.reads
    return _join_words([_ANSWERS[kind] for kind in KINDS if kind in kinds], "or")


def _why_no_access(needs, offer):
    lacks = needs.access - offer.access
    # A word that is not known is not given either.
    missing = [word for word in ACCESS if word in lacks] + sorted(lacks - ACCESS.keys())
    if not missing:
        return None
    reason = next((offer.withheld[word] for word in missing if word in offer.withheld), None)
    wanted = _join_words([ACCESS.get(word, repr(word)) for word in missing], "and")
    return f"it needs {wanted} of the victim, {reason or 'which it does not give'}"


def _why_no_shadows(needs, offer):
    if not needs.keeps:
        return None
    if not offer.trainable:
        return f"it needs shadow models, {offer.withheld.get('shadows', 'and there are none')}"
    if offer.keeps is not None and LABELS in offer.keeps and "label" not in needs.reads:
        return f"it reads {_say_what_is_read(needs)}, and the shadow models return labels"
    for what in sorted(needs.keeps, key=str):
        # The models of a pool that is there may be of another kind than the victim.
        if what in offer.withheld and (what != "gradients" or offer.keeps is None):
            return f"it needs the {what} of the shadow models, {offer.withheld[what]}"
        if offer.keeps is not None and not _is_kept_signal(what, offer):
            if what == "gradients" and "models" in offer.keeps:
                return "it needs the gradients of the shadow models, which skmia cannot read"
            return _ask_for(LABELS if _is_auto(what) and offer.kind == "label" else what)
    return None


def _is_kept_signal(what, offer):
    if offer.kind == "label" and _is_auto(what):
        return LABELS in offer.keeps
    if offer.kind in ("proba", "logits") or not _is_auto(what):
        return what in offer.keeps
    # Only logits can be divided by a temperature; other kinds have one value for all temperatures.
    return any(map(_is_auto, offer.keeps))


def _is_auto(what):
    return isinstance(what, tuple) or what == "auto"


def _ask_for(what):
    if what == LABELS:
        return (
            "it compares the labels of the shadow models with those of the victim; fit the pool "
            'with output_kind="label"'
        )
    if isinstance(what, tuple):
        return (
            f"it needs the log odds of the shadow models at temperature {what[1]:g}; fit the pool "
            f"with temperatures=({what[1]:g},) or more"
        )
    if what == "gradients":
        what = "models"
    if what == "auto":
        return "it needs a signal of each shadow model, which the pool does not keep"
    if not isinstance(what, str):
        return (
            f"it needs the signal {what.name!r} of the shadow models; fit the pool with "
            f'signals=("auto", {what!r})'
        )
    return f'it needs the {what} of the shadow models; fit the pool with store="{what}"'


def _why_no_members(needs, offer):
    if KNOWN.index(needs.known) > KNOWN.index(offer.known):
        return f"it learns from known {needs.known}"
    # Known records can be used as the population.
    given = () if needs.known == NOBODY else (_POPULATION,)
    lacks = [name for name in needs.lacks if name not in given]
    return f"its parameter {_join_words(lacks, 'and')} must be given" if lacks else None
