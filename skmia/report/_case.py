"""What is audited and how: the first of the four values of an audit."""

from dataclasses import dataclass
from functools import cached_property, partial
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import ClassifierTags, RegressorTags

from .._core.budget import allow_bytes, describe_lack, is_of_memory
from .._core.containers import take_rows
from .._core.copies import is_fitted, list_parameters
from .._core.error_hints import with_advice
from .._core.kinds import is_classifier, is_regressor
from .._core.metric_inputs import check_confidence_level, check_fpr_resolution
from .._core.needs import ACCESS
from .._core.numbers import check_number, show
from .._core.outputs import PREDICTIONS
from .._core.progress import enter_stage
from .._core.query import open_steps, query, refuse_class, unwrap
from .._core.randomness import check_random_state, isolated_randomness
from .._core.records import Records, change_table, has_column
from .._core.sample_weights import fit_weighted, refuse_row_parameters, weights_for
from .._core.sklearn import (
    N_JOBS,
    HasMethods,
    StrOptions,
    validate_parameter_constraints,
    validate_params_of,
)
from .._core.splits import compute_strata, draw_halves, number_units
from .._core.targets import shape_targets
from .._core.tokens import TokenOutputs
from .._core.trained_modules import refuse_trained_module
from .._core.validation import check_membership, check_records
from .._training.frozen import thaw
from ..attacks import RMIA, AnalyticLiRA, LiRA, StackedAttack, ThresholdAttack
from ..attacks.recovered import JointAnswersAttack, RecoveredModelAttack
from ..base import is_open, list_keeps, needs_of, offer_of, parts_of, settings_of_pool, why_not
from ..inspection import ModelInspection, inspect_model
from ..shadow import ShadowPool
from ..signals import Correctness, auto_of, kinds_of
from ..victims import (
    count_coefficients_of_answers,
    count_density_coefficients,
    find_model,
    get_kind,
    is_linear_model,
    is_trainable,
    keep_known_columns,
    say_left_out,
    why_no_densities,
    why_not_recovered,
)
from ._left_out import find_left_out
from ._measure import list_subsets
from ._permutations import count_permutations
from ._pool_size import AUTO, SIZES
from ._rows_used import describe_dropped_rows
from ._shared_rows import refuse_shared_rows

_STORED = (
    "The predictions stored with the records (field 'outputs') were attacked. The estimator, which "
    "is not fitted, was only used to train shadow models."
)
_STORED_ALONE = "The predictions stored with the records (field 'outputs') were attacked."


class StoredAnswers(BaseEstimator):
    """What is known of a victim by its stored answers alone; nothing like it is trained."""

    is_trainable = False

    def __init__(self, kind="proba"):
        self.kind = kind

    def __sklearn_is_fitted__(self):
        return False

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        if self.kind in PREDICTIONS:
            tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
        else:
            tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        return tags

    def fit(self, X, y=None):
        raise TypeError("Stored answers cannot be trained; give the recipe of the model.")

    def predict(self, X):
        raise TypeError("Stored answers cannot answer for other records.")


def is_recipe(victim):
    """Whether a victim is an unfitted estimator, to be trained here or used for shadow models.

    A frozen model does not count: if it is not fitted, clone has reset it by mistake.
    """
    return not is_fitted(victim) and not isinstance(victim, FrozenEstimator)


def draw_members(records, strata, rng):
    """Draw a random half of the records in the same way as for shadow models."""
    units = number_units(records.fingerprint, records.fields.get("group_by"))
    if units.max() == 0:
        raise ValueError(
            "All records belong together (they are equal, or have one value of group_by), so none "
            "can be left out of training."
        )
    return draw_halves(units, strata, len(records), rng)[0]


def describe_draw(membership, records):
    """Say how many members were drawn: fewer or more than half if large units stay together."""
    n_members, n = int(np.sum(membership)), len(membership)
    if abs(2 * n_members - n) <= 1:
        return f"a random half of the {records}"
    return (
        f"{n_members:,} of {n:,} {records}, drawn at random: equal ones, and those of one person, "
        "stay together"
    )


def train_victim(estimator, records, membership, seed, fit_params=None):
    """Train a clone of an estimator on the members; global generators keep their state."""
    refuse_trained_module(estimator)
    rows = np.flatnonzero(membership)
    X = take_rows(records.X, rows)  # a copy that may be written to, unlike records.X
    model, _ = thaw(estimator)  # as for shadow models
    with isolated_randomness(np.random.SeedSequence(seed)), with_advice(model, X):
        weights = weights_for(model, records)
        weights = None if weights is None else weights[rows]
        y = shape_targets(model, X, records.y[rows], has_column(records))
        return fit_weighted(model, X, y, weights, fit_params)


def prepare_victim(victim, records, membership, seed, fit_params=None):
    """Return the fitted victim and its members."""
    if victim is None and "outputs" in records.fields:
        victim = StoredAnswers(query(None, records).kind)
    if not is_recipe(victim):
        if membership is None:
            raise ValueError(
                "membership is required if the victim is fitted: it says which records the victim "
                "was trained on. An unfitted estimator would be trained here, on a random half."
            )
        return victim, check_membership(membership, len(records)), []
    if "outputs" in records.fields:
        if membership is None:
            raise ValueError(
                "The records hold stored predictions (field 'outputs') and the victim is not "
                "fitted. Give the membership of the records in the training set of the model that "
                "made the predictions, or records without this field to train a victim here."
            )
        stored = _STORED_ALONE if isinstance(victim, StoredAnswers) else _STORED
        return victim, check_membership(membership, len(records)), [stored]
    if membership is None:
        strata = compute_strata(records.y, not is_regressor(victim))
        membership = draw_members(records, strata, np.random.default_rng(seed))
        drawn = describe_draw(membership, "records")
        notes = [f"The victim was trained for this audit, on {drawn}."]
    else:
        membership = check_membership(membership, len(records))
        notes = ["The victim was trained for this audit, on the members."]
    return train_victim(victim, records, membership, seed, fit_params), membership, notes


def query_prepared(victim, records):
    """Add the outputs of a victim to the records, with notes on outputs that were stored before."""
    is_stored = is_recipe(victim)
    queried = records if is_stored else _query_victim(victim, records)
    outputs, stored = query(None, queried), records.fields.get("outputs")
    if is_stored or stored is None or _are_equal(stored, outputs):
        return queried, []
    return queried, [
        "The victim was queried. Its predictions differ from those stored with the records (field "
        "'outputs'), which were not used."
    ]


def _query_victim(victim, records):
    try:
        return records.with_outputs(victim)
    except Exception as error:
        if not is_of_memory(error):
            raise
        raise ValueError(
            f"The model could not answer for all {len(records):,} records: {describe_lack(error)}. "
            "Audit a random sample of the records of both sides."
        ) from error


def _are_equal(stored, outputs):
    if getattr(stored, "kind", None) != outputs.kind or stored.shape != outputs.shape:
        return False
    if outputs.kind == "label":
        return np.array_equal(stored.values, outputs.values)
    return np.allclose(stored.values, outputs.values, rtol=1e-5, atol=1e-6)


_SIGNAL_OF = {"decision": "hinge", "label": "correctness"}

# A model in the victim's place leaves with its complement, so two models must remain.
_FEWEST_FOR_STACK = 4

# If the outputs of all shadow models take more bytes than this, they are not kept.
LARGEST_OUTPUTS = 1_000_000_000

# Kinds of answers from whose signal in a pool it does not follow which of them are correct.
_WITH_CORRECTNESS = ("proba", "logits", "decision")

_NAMES = {
    "scaled_logit": "class probabilities",
    "hinge": "decision values",
    "correctness": "labels",
}


class VictimRequest(NamedTuple):
    """The victim, its outputs, and the parameters of the shadow models."""

    victim: object
    outputs: object
    estimator: object
    shadows: object
    batched: object
    n_jobs: object
    verbose: int
    shadow_seed: int
    attack_seed: int
    checkpoint: object = None
    fit_params: object = None
    stand_in: object = None  # what takes the place of an unknown recipe, if it was looked for

    @property
    def chooses_size(self):
        return isinstance(self.shadows, str) and self.shadows == AUTO

    @property
    def trains_pool(self):
        return self.chooses_size or isinstance(self.shadows, Integral)

    @property
    def size_of_pool(self):
        """Initial number of shadow models; 0 without a pool."""
        if self.chooses_size:
            return SIZES[1]
        if self.trains_pool:
            return self.shadows
        pool = unwrap(self.shadows)
        return len(getattr(pool, "membership_", ())) or getattr(pool, "n_estimators", 0)

    @property
    def has_own_recipe(self):
        """Whether the models of a pool are trained by another recipe than the victim's."""
        return self.estimator is not None or is_recipe(self.victim)

    @property
    def model(self):
        """The estimator that is cloned for each shadow model."""
        return unwrap(self.victim) if self.estimator is None else unwrap(self.estimator)


class AttackPlan(NamedTuple):
    """What is known about the attacks before the first of them runs."""

    attacks: dict  # those that can run
    keeps: frozenset  # what the common pool must keep; empty if no attack needs a pool
    notes: list  # a sentence on each attack that cannot run


def default_attacks(request):
    """Return one attack of each kind.

    On the loss alone, in closed form, and relative to shadow models; those that need no shadow
    models run first. ``add_recovered`` may add one that reads all answers together, ``make_plan``
    leaves out those that cannot run, and ``leave_out_costly`` those that are not worth their cost.
    The file of a model is attacked beside them, by ``_file_attack.py``.
    """
    signal = _SIGNAL_OF.get(request.outputs.kind, "loss")
    attacks = {f"threshold ({signal})": ThresholdAttack(signal=signal)}
    analytic = AnalyticLiRA(estimator=request.model if request.has_own_recipe else None)
    if is_linear_model(request.model) and why_not(analytic, _make_offer(request)) is None:
        attacks["AnalyticLiRA"] = analytic
    attacks["LiRA"] = LiRA()
    if request.outputs.kind == "label":
        return attacks  # the others compare probabilities
    attacks["RMIA"] = RMIA()
    if request.size_of_pool >= _FEWEST_FOR_STACK:
        attacks["StackedAttack"] = StackedAttack()
    return attacks


# Coefficients say little of the members if there are fewer per member.
_FEWEST_COEFFICIENTS = 0.2


def count_coefficients(request, records):
    """Return the number of coefficients for each answer, and of all, that follow from answers.

    0 if none.
    """
    model = request.model
    is_linear, has_sums = why_not_recovered(model) is None, why_no_densities(model) is None
    if not (is_linear or has_sums) or request.outputs.kind == "label":
        return 0, 0
    width = int(np.prod(getattr(records.X, "shape", ())[1:]))
    # A fitted model knows how many there are after the steps.
    n_features = getattr(find_model(model)[0], "n_features_in_", width)
    if has_sums:
        n_answers = count_density_coefficients(model, n_features)
    else:
        n_answers = count_coefficients_of_answers(model, n_features, 2)
    if n_answers >= len(records):
        return 0, 0
    classes = getattr(request.outputs, "classes", None)
    return n_answers, n_answers * (1 if classes is None else max(len(classes) - 1, 1))


def add_recovered(attacks, request, records, membership):
    """Add the attack on all answers together to the default ones, where it can say much."""
    has_sums = why_no_densities(request.model) is None
    attack = (JointAnswersAttack if has_sums else RecoveredModelAttack)(
        estimator=request.model if request.has_own_recipe else None,
        prior=float(np.clip(np.mean(membership), 0.01, 0.99)),
    )
    enough = _FEWEST_COEFFICIENTS * np.sum(membership)
    if count_coefficients(request, records)[1] < max(enough, 1):
        return attacks
    if why_not(attack, _make_offer(request)) is not None:
        return attacks
    return attacks | {type(attack).__name__: attack}


def choose_attacks(attacks, request):
    """Return the default attacks, or the given ones after checking them."""
    if isinstance(attacks, str) and attacks == "default":
        return default_attacks(request)
    if not hasattr(attacks, "items"):
        refuse_class(attacks, "attack")
        got = repr(attacks) if isinstance(attacks, str) else type(attacks).__name__
        raise TypeError(f'attacks must be "default" or map names to unfitted attacks; got {got}.')
    if not attacks:
        raise ValueError("attacks must name at least one attack; got none.")
    for name, attack in attacks.items():
        _check_attack(name, attack)
    return {str(name): clone(attack) for name, attack in attacks.items()}


def _check_attack(name, attack):
    for part in parts_of(attack):
        if hasattr(part, "_parameter_constraints"):
            validate_params_of(part)
    if not is_classifier(attack) or needs_of(attack) is None:
        raise TypeError(
            "attacks must map names to unfitted attacks on membership: attacks of skmia.attacks, "
            "or classifiers that combine them or Signals; "
            f"got {type(attack).__name__} under the name {name!r}."
        )


def make_plan(attacks, request, records):
    """Find out before anything is trained which attacks can run, and what they need."""
    offer = _make_offer(request)
    reasons = {name: why_not(attack, offer) for name, attack in attacks.items()}
    possible = {name: attack for name, attack in attacks.items() if reasons[name] is None}
    notes = [f"{name} was left out: {why}." for name, why in reasons.items() if why is not None]
    if not possible:
        raise ValueError(f"No attack can run on this victim. {' '.join(notes)}")
    parts = [part for attack in possible.values() for part in parts_of(attack)]
    opened = (list_keeps(part, records) for part in parts if is_open(part, "shadows"))
    keeps = frozenset().union(*opened)
    if keeps:
        _check_pool(request, records)
        # The accuracy of models of another recipe is compared with the victim's.
        if request.trains_pool and request.has_own_recipe:
            keeps |= {Correctness()} if request.outputs.kind in _WITH_CORRECTNESS else set()
    return AttackPlan(possible, keeps, notes)


def replace_idle_attacks(attacks, case):
    """Return attacks of another case that can run on this one, and its own in place of others."""
    offer = _make_offer(case.request)
    able = {name: attack for name, attack in attacks.items() if why_not(attack, offer) is None}
    return able if len(able) == len(attacks) else case.attacks | able


def _make_offer(request):
    withheld, access = {}, {}
    if is_recipe(request.victim):
        held = {"tokens"} if isinstance(request.outputs, TokenOutputs) else set()
        withheld = dict.fromkeys(set(ACCESS) - held, "whose predictions alone are stored")
        access = {"access": frozenset(held)}
    why_none = _why_not_comparable(request)
    if why_none is not None:
        withheld["shadows"] = why_none
    if request.trains_pool:
        n_models = SIZES[-1] if request.chooses_size else request.shadows
        size = request.outputs.values.size * 4 * n_models
        if size > LARGEST_OUTPUTS:
            withheld["outputs"] = f"which would take {size / 1e9:.1f} GB for {n_models} models"
    return offer_of(
        request.victim,
        kind=request.outputs.kind,
        keeps=None if request.trains_pool else getattr(unwrap(request.shadows), "keeps", None),
        trainable=why_none is None,
        withheld=withheld,
        **access,
    )


def _why_not_comparable(request):
    """Return why no shadow models can be compared with the victim, or None."""
    kind, pool = request.outputs.kind, unwrap(request.shadows)
    signal = getattr(pool, "signal_", None)
    if request.trains_pool:
        if not is_trainable(request.model):
            return "which need the parameter estimator, because the victim cannot be trained"
        of_models = get_kind(request.model)
        if kind == "label" and of_models != "value":
            return None  # whatever else they return is reduced to labels
        signal = auto_of(of_models).name
    if signal is None or kind in kinds_of(signal):
        return None
    theirs = _NAMES.get(signal, "the predictions of a regressor")
    ours = _NAMES.get(auto_of(kind).name, "the predictions of a regressor")
    return f"which return {theirs}, and the victim returns {ours}"


def _check_pool(request, records):
    """Refuse an invalid number of shadow models, a value that is not a pool, and a foreign pool."""
    wanted = 'shadows must be "auto", an even number of models from 4 on, or a ShadowPool; got'
    pool = unwrap(request.shadows)
    if request.trains_pool:
        if not request.chooses_size and (pool < 4 or pool % 2):
            raise ValueError(f"{wanted} {pool}.")
    elif not isinstance(pool, ShadowPool):
        raise TypeError(f"{wanted} {request.shadows!r}.")
    elif hasattr(pool, "membership_"):
        pool.locate_usable(records)


def make_pool(request, keeps):
    """Return the unfitted pool that is trained here; one that grows keeps its models."""
    return ShadowPool(
        request.model,
        n_estimators=SIZES[0] if request.chooses_size else request.shadows,
        **settings_of_pool(keeps),
        output_kind="label" if request.outputs.kind == "label" else "auto",
        batched=request.batched,
        n_jobs=request.n_jobs,
        random_state=request.shadow_seed,
        verbose=request.verbose,
        checkpoint=request.checkpoint,
        fit_params=request.fit_params,
        warm_start=request.chooses_size and request.checkpoint is None,
    )


def prepare_attack(attack, request):
    """Clone an attack, and give a seed to each part that has none."""
    attack, rng = clone(attack), np.random.RandomState(request.attack_seed)
    for name, value in sorted(list_parameters(attack).items(), key=lambda item: item[0]):
        if name.split("__")[-1] == "random_state" and value is None:
            attack.set_params(**{name: rng.randint(np.iinfo(np.int32).max)})
    return attack


def check_pool_settings(caller, **settings):
    """Check parameters that a function passes to a pool, before it trains anything else."""
    constraints = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "batched": ["boolean", StrOptions({"auto"})],
        "fit_params": [dict, callable, None],
        "n_jobs": N_JOBS,
        "verbose": ["verbose"],
        "controls": ["boolean"],
        "file": ["boolean"],
    }
    validate_parameter_constraints(constraints, settings, caller)
    refuse_row_parameters(settings.get("fit_params"))


def check_trainable(estimator):
    """Refuse an estimator that cannot be trained."""
    if not hasattr(estimator, "fit"):
        raise TypeError(
            f"estimator must have a fit method to be trained; got {type(estimator).__name__}."
        )


def describe_held_back(victim):
    """Say that a model holds back rows of its training set, and by which parameter."""
    name = _find_split(open_steps(victim)[1])
    if name is None:
        return []
    return [
        f"The model holds back a part of the rows given to fit, for validation ({name}). Members "
        "among them were not trained on, which makes the numbers lower."
    ]


def _find_split(model):
    split = getattr(model, "train_split", None)  # of a net of skorch
    # The helper predefined_split binds a validation set of other rows.
    if callable(split) and "valid_ds" not in getattr(split, "keywords", {}):
        return "train_split"
    if hasattr(model, "get_params") and model.get_params(deep=False).get("eval_fraction"):
        return "eval_fraction"  # of CatBoost
    if getattr(model, "validation_fraction", None) is None:
        return None
    if hasattr(model, "early_stopping"):
        # Histogram boosting decides by the number of rows.
        stops = getattr(model, "do_early_stopping_", model.early_stopping)
        return "early_stopping" if stops is True else None
    return None if getattr(model, "n_iter_no_change", None) is None else "n_iter_no_change"


# Smallest time budget in seconds; 0 is refused.
_LEAST = np.finfo(float).tiny


@dataclass(frozen=True, eq=False)
class Case:
    """A victim with its records, the attacks on it, and how their success is measured.

    Attributes
    ----------
    records : Records of n records
    queried : Records of n records
        The same records with the victim's outputs.
    membership : ndarray of shape (n,), dtype bool
    request : VictimRequest
        The victim, and the parameters of the shadow models.
    attacks : dict of str to attack
        Requested attacks, unfitted.
    level : float
        Confidence level.
    subsets : list of (scope, group, mask)
        Parts of the records that are measured separately.
    fprs : list of float
        False positive rates of the TPRs.
    seeds : dict of str to int
        One seed for each source of randomness.
    group : str, list of str or None
        Fields that the user named as groups.
    file : bool
        Whether the user asked for the file of the victim to be attacked.
    max_bytes : float or "auto"
        What an attack without shadow models, or on the file, may hold.
    time_budget : float or None
        Seconds after which no shadow models should be trained any more.
    controls : bool
        Whether the controls were requested.
    notes : list of str
        Sentences on what was done before the first attack.
    agreement : Agreement or None
        Whether the model knows the table, once that was asked.
    are_default : bool
        Whether the attacks are the default ones, which have to be worth their time.
    left_out : LeftOut or None
        Records of labels that the victim does not know and of weight 0, which the others do not
        hold any more.
    unmatched : Records or None
        Members with the victim's outputs that were left out, although it knows their labels.
    """

    records: Any
    queried: Any
    membership: np.ndarray
    request: VictimRequest
    attacks: dict
    level: float
    subsets: list = ()
    fprs: list = ()
    seeds: dict | None = None
    group: Any = None
    time_budget: float | None = None
    max_bytes: Any = AUTO
    controls: bool = False
    file: bool = True
    notes: list = ()
    agreement: Any = None
    are_default: bool = False
    left_out: Any = None
    unmatched: Any = None

    @property
    def victim(self) -> BaseEstimator:
        """The model itself, without a frozen wrapper."""
        return unwrap(self.request.victim)

    @cached_property
    def inspection(self) -> ModelInspection:
        """What the file of the victim says of its training rows."""
        return inspect_model(self.victim)

    @property
    def candidates(self) -> Records:
        """The queried records, and behind them members that are left out and were given to fit.

        A file holds traces of them, which are not put down to other records.
        """
        if self.unmatched is None:
            return self.queried
        return Records.concat([self.queried, self.unmatched])

    @property
    def n_listed(self) -> int:
        """Number of all members that the victim can have been trained on."""
        return int(self.membership.sum()) + (0 if self.unmatched is None else len(self.unmatched))

    @property
    def bytes_allowed(self) -> float:
        """Memory that an attack without shadow models may hold beside the table."""
        is_given = not isinstance(self.max_bytes, str)
        return float(self.max_bytes) if is_given else allow_bytes(self.records.X)

    @property
    def people(self) -> np.ndarray | None:
        """The person of each record, or None."""
        return self.records.fields.get("group_by")


SIDES = "audit(model, train=(X_train, y_train), held_out=(X_test, y_test))"
_FORMS = f"write {SIDES}, or audit(model, records, membership)"


def choose_records(records, membership, train, held_out):
    """Return records and membership, from whichever form of the data was given."""
    sides = {"train": train, "held_out": held_out}
    missing = [name for name, side in sides.items() if side is None]
    if len(missing) == 2:
        if records is None:
            raise TypeError(f"audit needs the data that is audited: {_FORMS}.")
        if not isinstance(records, Records):
            raise TypeError(
                f"records must be skmia.Records; got {type(records).__name__}. Write {SIDES}, or "
                "wrap features and task labels as Records(X, y)."
            )
        return records, membership
    if records is not None or membership is not None:
        raise TypeError(f"The data were given twice, as records and as sides: {_FORMS}.")
    if missing:
        raise TypeError(
            f"{missing[0]} is missing: the records that the model was "
            f"{'trained' if missing[0] == 'train' else 'not trained'} on; {_FORMS}."
        )
    return Records.from_sides(train, held_out)


def leave_out_columns(victim, records):
    """Return records with the columns alone that a fitted victim knows by name, and notes on it."""
    kept = change_table(records, partial(keep_known_columns, victim))
    return kept, say_left_out(records.X, kept.X)


# Stages of an audit, in their order.
OPENING, AS_FILE, ALONE = "model and answers", "model as a file", "attacks without shadow models"
SHADOWS, ATTACKS, CHECKS = "shadow models", "attacks", "checks"
# Shares of the time, before a fit and an answer were measured.
_SHARES = {OPENING: 0.05, AS_FILE: 0.2, ALONE: 0.05, SHADOWS: 0.4, ATTACKS: 0.1, CHECKS: 0.2}


def list_shares(file=True):
    """Return the stages of an audit with their shares of the time, while nothing else is known."""
    return {name: share for name, share in _SHARES.items() if file or name != AS_FILE}


def open_case(
    victim,
    records,
    membership,
    clock,
    *,
    attacks,
    group,
    fprs,
    confidence_level,
    time_budget,
    controls,
    file,
    random_state,
    max_bytes=AUTO,
    **pooling,
):
    """Check the user's parameters, prepare the victim and query it."""
    records, left = leave_out_columns(victim, check_records(records, targets=True).detached())
    _check_pooling(time_budget=time_budget, **pooling)
    if not (isinstance(max_bytes, str) and max_bytes == AUTO):
        check_number(max_bytes, "max_bytes", '"auto" or a positive number of bytes', _LEAST)
    check_pool_settings("audit", controls=controls, file=file)
    fprs, level = check_fpr_resolution(fprs, "fprs"), check_confidence_level(confidence_level)
    count_permutations(level)  # refused before anything is trained
    seeds = _draw_seeds(random_state)
    records._warn_of_rows({"membership": membership})
    enter_stage(OPENING)
    with clock("victim"):
        given = seeds["victim"], pooling.get("fit_params")
        victim, membership, notes = prepare_victim(victim, records, membership, *given)
        refuse_shared_rows(records, membership)
        queried, remarks = query_prepared(victim, records)
        dropped = describe_dropped_rows(victim, int(np.sum(membership)))
        left_out, fitted = find_left_out(victim, queried, membership), None
        if left_out is not None:
            if len(left_out.fitted):
                fitted = queried[left_out.fitted].detached()
            records, queried = (one[left_out.kept].detached() for one in (records, queried))
            membership, remarks = membership[left_out.kept], [*remarks, *left_out.notes]
    subsets = list_subsets(records, group, classes=not is_regressor(unwrap(victim)))
    pooling |= {"shadow_seed": seeds["shadows"], "attack_seed": seeds["attacks"]}
    request = VictimRequest(victim, queried["outputs"], **pooling)
    chosen = choose_attacks(attacks, request)
    if isinstance(attacks, str):
        chosen = add_recovered(chosen, request, queried, membership)
    return Case(
        *(records, queried, membership, request, chosen, level),
        subsets=subsets,
        fprs=fprs,
        seeds=seeds,
        group=group,
        time_budget=time_budget,
        max_bytes=max_bytes,
        controls=controls,
        file=file,
        left_out=left_out,
        unmatched=fitted,
        notes=[*left, *notes, *remarks, *describe_held_back(victim), *dropped],
        are_default=isinstance(attacks, str),
    )


def _check_pooling(*, shadows, checkpoint, time_budget, **settings):
    check_pool_settings("audit", **settings)
    if time_budget is not None:
        check_number(time_budget, "time_budget", "None or a positive number of seconds", _LEAST)
        if not isinstance(shadows, str):
            raise ValueError(
                'time_budget limits the number of shadow models that shadows="auto" trains; got '
                f"shadows={show(shadows)}."
            )
    if checkpoint is not None and not isinstance(shadows, Integral | str):
        raise ValueError(
            "checkpoint is the folder of shadow models that are trained here, but shadows is a "
            "pool, which has its own checkpoint."
        )


def _draw_seeds(random_state):
    """Return one integer for each source of randomness, reported with the result.

    A new source comes last, so that the seeds of the others stay what they are.
    """
    names = ("shadows", "attacks", "baseline", "victim", "checks", "agreement")
    drawn = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=len(names))
    given = int(random_state) if isinstance(random_state, Integral) else None
    return {"random_state": given, **dict(zip(names, drawn.tolist()))}


# Cells of a table, and packages of models, with which threads hardly make anything faster.
_MOST_LIGHT = 1 << 18
_LIGHT = {"sklearn", "xgboost", "lightgbm", "catboost"}


def is_light(case):
    """Return whether an audit of a small table trains no nets and no models of unknown kinds."""
    if np.prod(np.shape(case.records.X), dtype=np.float64) > _MOST_LIGHT:
        return False
    models = {id(one): one for one in (case.victim, case.request.model)}
    return all(map(_is_light_model, models.values()))


def _is_light_model(model):
    if isinstance(model, StoredAnswers):
        return True
    if not hasattr(model, "get_params") or isinstance(model, type):
        return False
    parts = [model, *(one for one in list_parameters(model).values() if hasattr(one, "get_params"))]
    return all(type(one).__module__.partition(".")[0] in _LIGHT for one in parts)
