"""Both ends of the range of every numeric parameter: what is inside is taken, what is beyond not.

The ranges stand here once more, so that a constraint that is changed by mistake disagrees with
something. A docstring that states a range, or options, has to state these.
"""

import inspect
import math
import re
from unittest.mock import Mock, patch

import numpy as np
from public import PUBLIC
from sklearn.base import BaseEstimator

from skmia._core.sklearn import (
    Interval,
    InvalidParameterError,
    Options,
    validate_arguments,
)
from skmia.memorization import CanaryFormat

# Estimators, and ready ways of forgetting, which validate without a fit.
ESTIMATORS = {
    thing.__name__: thing
    for thing in PUBLIC.values()
    if hasattr(thing, "_parameter_constraints") and not inspect.isabstract(thing)
}
# Functions that check their arguments in the same way, before anything else.
FUNCTIONS = {
    function.__name__: function
    for function in map(inspect.unwrap, filter(inspect.isfunction, PUBLIC.values()))
    if "validate_arguments" in function.__code__.co_names
}
TAKERS = ESTIMATORS | FUNCTIONS
MOST = 2**31 - 1  # what every integer of numpy can hold

# Names of parameters by their range. Where classes differ, the name has its class.
RANGES = {
    "0..15": "ReleasedFileDefense.decimals",
    f"0..{MOST}": """canary max_neighbors max_rejections n_given n_permutations output retries
        secrets RoundingDefense.decimals average_datum_game.reference_size
        per_datum_game.reference_size NegativeWeights.n_epochs Relabeling.n_epochs""",
    "0..": "noise_seed",
    f"1..{MOST}": """batch_size k max_changes max_failures max_iter max_queries max_samples
        min_changes n_attacks n_canaries n_columns n_copies n_critic n_draws n_epochs n_iterations
        n_jobs n_latent n_left_out n_neighbors n_partners n_references n_repeats n_samples
        n_shards n_steps
        n_answers n_candidates n_tokens n_wrong order reference_size test_size train_size
        DisparityTest.n_permutations max_nodes n_features n_sequences average_datum_game.n_rounds
        leave_two_unlabeled.n_rounds membership_game.n_rounds per_datum_game.n_rounds
        retraining_oracle.n_rounds""",
    "1..1000000": "n_changes",
    f"2..{MOST}": """batched cv n_rounds n_teachers n_simulations Exposure.n_samples
        GeneratorAttack.n_samples MeanGLiRAttack.n_samples SoftLabelDefense.n_left_out
        SoftRegressionDefense.n_left_out make_membership_problem.n_samples n_classes n_targets
        unlearning_game.n_estimators""",
    "2..100000": "n_estimators",
    f"3..{MOST}": "QuantileAttack.cv",
    f"4..{MOST}": "n_trials",
    f"10..{MOST}": "max_rows",
    f"-{MOST}..-1": "n_jobs",
    "(0, 1)": """confidence confidence_level criterion forget level member_fraction n_canaries prior
        reference_size
        target_delta target_fpr test_size train_size validation_fraction GaussianMechanism.delta
        NonSphericalGaussianMechanism.delta RankingTest.alpha""",
    "[0, 1)": "delta min_confidence outsiders",
    "(0, 1]": "sampling_ratio share PATEDefense.threshold",
    "[0, 1]": """a memorization negative_slope noise LabelSmoothingDefense.smoothing
        MahalanobisLeakage.level MorganAttack.target_fpr""",
    "(1, 1000000]": "mean_trials",
    "(-1, 100]": "eta",
    "(0, 0.5]": "max_samples",
    "[0.5, 1)": "baseline",
    "[0, 2]": "radius",
    "(0, inf)": """bandwidth bandwidth_factor epsilon learning_rate max_bytes max_calls_per_second
        max_seconds max_spectral_norm max_weight noise_std proxy_variance scale sensitivity
        step_size target_epsilon temperature DPWassersteinGAN.max_grad_norm RenyiAttack.alpha""",
    "(0, inf]": "max_grad_norm",
    "[0, inf)": """claimed_epsilon mean_train_loss noise_multiplier noise_scale resolution
        smoothing tolerance widths Exposure.level DPWassersteinGAN.penalty WeightNoise.scale""",
    "[0, inf]": "alpha penalty",
    "[1, inf)": "gamma",
    "(-inf, inf)": "lower upper LeaveOneOutLeakage.level",
}
_STARRED = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
# What validation needs to get as far as the parameters that are asked about.
NEEDED = {
    "Exposure": {"candidates": [[0]], "log_perplexity": Mock()},
    "ShadowPool": {"estimator": Mock()},
    "PrivateSearchCV": {"param_distributions": {}},
    "shortest_path_extraction": {"secrets": Mock(spec=CanaryFormat)},
}


def find_ranges(taker, parameter):
    """Ranges of a parameter, by the name with its class or function where there is one."""
    for name in (f"{taker}.{parameter}", parameter):
        if found := [one for one, names in RANGES.items() if name in names.split()]:
            return found
    return []


def iter_boundaries(text):
    """Numbers at the ends of a range and next to them, and whether they are inside."""
    if ".." in text:
        low, high = text.split("..")
        yield from ((int(low), True), (int(low) - 1, False))
        yield from ((int(high), True), (int(high) + 1, False)) if high else ((10**40, True),)
        return
    for end, bracket, outwards in zip(text[1:-1].split(", "), text[:: len(text) - 1], (-1, 1)):
        end, is_closed = float(end), bracket in "[]"
        yield end, is_closed
        if math.isfinite(end) or not is_closed:
            towards = outwards if is_closed else -outwards
            yield float(np.nextafter(end, math.inf * towards)), not is_closed
    yield math.nan, False


def find_required(function):
    """Names of the arguments without a default, but for ``*args`` and ``**kwargs``."""
    taken = inspect.signature(function).parameters.values()
    return [one.name for one in taken if one.default is one.empty and one.kind not in _STARRED]


class Taken(Exception):
    """A function has checked its arguments, and would begin with its work."""


def call(name, given):
    """Let an estimator, or a way of forgetting, or a function check what it is given."""
    if name in FUNCTIONS:
        with patch.dict(FUNCTIONS[name].__globals__, validate_arguments=validate_and_end):
            return FUNCTIONS[name](**given)
    made = ESTIMATORS[name](**given)
    if not isinstance(made, BaseEstimator):
        return made.validate()
    return made.fit(*(None for _ in find_required(made.fit)))


def validate_and_end(*given):
    validate_arguments(*given)
    raise Taken


def is_refused(name, parameter, value):
    """Whether it is said, before anyone looks at data, that a parameter cannot have a value."""
    given = {one: Mock() for one in find_required(TAKERS[name])}
    try:
        call(name, given | NEEDED.get(name, {}) | {parameter: value})
    except Exception as error:  # of some kind, as there are no data
        is_meant = str(error).startswith(f"The {parameter!r} parameter of {name} must")
        return isinstance(error, InvalidParameterError) and is_meant
    return False


def get_constraints(name):
    """Constraints of a class, or of the module of a function."""
    if name in ESTIMATORS:
        return ESTIMATORS[name]._parameter_constraints
    code, found = FUNCTIONS[name].__code__, FUNCTIONS[name].__globals__
    return next(found[one] for one in code.co_names if one.endswith("CONSTRAINTS"))


def iter_constraints(name, kind):
    """Parameters of an estimator or function, and those of their constraints of a kind."""
    for parameter, allowed in get_constraints(name).items():
        found = [one for one in allowed if allowed != "no_validation" and isinstance(one, kind)]
        if found:
            yield parameter, found


def describe(name):
    """Type and text of each parameter in the docstring, on one line each."""
    parts = re.split(r"^(\w+)\n-{3,}$", inspect.getdoc(TAKERS[name]), flags=re.MULTILINE)
    body = dict(zip(parts[1::2], parts[2::2], strict=True)).get("Parameters", "")
    parts = re.split(r"^(\w[\w, ]*) : ", body, flags=re.MULTILINE)
    for names, text in zip(parts[1::2], parts[2::2], strict=True):
        yield from ((parameter, " ".join(text.split())) for parameter in names.split(", "))


def test_numbers_are_taken_up_to_both_ends_of_their_range():
    for name in TAKERS:
        for parameter, _ in iter_constraints(name, Interval):
            ranges = find_ranges(name, parameter)
            assert ranges, f"{parameter} of {name} is in no range above"
            boundaries = [pair for one in ranges for pair in iter_boundaries(one)]
            inside = {(type(value), value) for value, is_inside in boundaries if is_inside}
            for value, _ in boundaries:
                wanted = (type(value), value) not in inside
                assert is_refused(name, parameter, value) == wanted, (name, parameter, value)


def test_docstrings_state_these_ranges():
    for name in TAKERS:
        for parameter, text in describe(name):
            for stated in re.findall(r"\bin ([\[(]-?[\d.]+, [\d.]+[\])])", text):
                assert [stated] == find_ranges(name, parameter), (name, parameter)


def test_options_in_docstrings_are_taken_and_no_others():
    for name in TAKERS:
        documented = dict(describe(name))
        for parameter, allowed in iter_constraints(name, Options):
            options = {option for one in allowed for option in one.options}
            head, _, _ = documented[parameter].partition("default=")
            listed = set(re.findall(r'"([\w-]+)"', head))
            assert listed == options or not listed or ("..." in head and listed < options), (
                name,
                parameter,
            )
            assert not any(is_refused(name, parameter, option) for option in options), name
            is_closed = str not in get_constraints(name)[parameter]
            assert is_refused(name, parameter, "no such option") == is_closed, name


def test_what_is_of_no_kind_is_refused():
    for name in TAKERS:
        for parameter, _ in iter_constraints(name, object):
            assert is_refused(name, parameter, type("Foreign", (), {})()), name


def test_ranges_are_those_of_parameters_that_exist():
    names = {
        one
        for name in TAKERS
        for parameter, _ in iter_constraints(name, Interval)
        for one in (parameter, f"{name}.{parameter}")
    }
    assert not set(" ".join(RANGES.values()).split()) - names
