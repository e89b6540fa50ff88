"""The recommendation of a policy, with all that a second person needs to repeat it."""

from dataclasses import replace
from hashlib import file_digest

from .._core.escaping import join_names, visible
from .._core.progress import enter_stage
from .._core.query import unwrap
from .._core.text import inflect_word
from ..disclosure import load_policy
from ..report import RECIPE, is_recipe, measure_conditions, recommend_release
from ..victims import is_trainable
from ._gate import EXCEEDED, FILE, INCONCLUSIVE, GateFinding
from ._options import FILES, CommandError, tell
from ._parser import as_settings

_NONE_KNOWN = "No condition of a release could be measured on this model."
# Stages that follow those of an audit.
POLICY, CONDITIONS = "policy", "conditions"
_CODES = {"release": 0, "cannot be said": INCONCLUSIVE}


def read_policy(name, release):
    """Read a policy before the work begins; None if none is named."""
    if name is None:
        return None
    policy = _load_named_policy(name, "--policy")
    if release not in policy.limits:
        raise CommandError(f"--policy: {policy.name} has no limits for a {release} (see --release)")
    return policy


def run_policy(arguments, show):
    return _load_named_policy(arguments.policy, arguments.action).text.rstrip()


def _load_named_policy(name, option):
    try:
        return load_policy(name)
    except (ValueError, OSError) as error:
        raise CommandError(f"{option}: {tell(error)}") from error


def follow_policy(result, policy, problem, arguments):
    model = None if is_recipe(problem.victim) else problem.victim
    enter_stage(POLICY)
    settings = {name: getattr(arguments, name) for name in ("release", "decimals")}
    settings["policy"] = policy
    faults = []
    try:
        origin = describe_command_origin(arguments) | dict(arguments.provenance)
        if arguments.recipe is not None:
            origin[RECIPE] = arguments.recipe
        asked = {"provenance": origin, **settings}
        found = recommend_release(result, model, problem.records, **asked)
        if found.result == "do not release":
            conditions, notes, faults = _measure_conditions(
                result, model, problem, arguments, settings
            )
            result = replace(result, notes=[*result.notes, *notes])
            if conditions:
                asked["conditions"] = conditions
                found = recommend_release(result, model, problem.records, **asked)
    except Exception as error:
        name = visible(policy.name)
        return result, [f"the policy {name} could not be followed: {tell(error)}"]
    return replace(result, recommendation=found), faults


def _measure_conditions(result, model, problem, arguments, settings):
    """Return conditions with what was measured under each, notes, and faults."""
    recipe = problem.recipe
    if recipe is None and model is None:
        recipe = problem.victim
    if not arguments.measure_conditions:
        trained = model if recipe is None else recipe
        return [], [_tell_unmeasured(result, trained, settings["release"])], []
    enter_stage(CONDITIONS)
    try:
        found = measure_conditions(
            result,
            model,
            problem.records,
            estimator=recipe,
            fit_params=problem.fit_params,
            batched=False if arguments.no_batching else "auto",
            n_jobs=arguments.jobs,
            verbose=1,
            **settings,
        )
    except Exception as error:  # the audit and the recommendation without conditions stand
        return [], [], [f"conditions of a release could not be measured: {tell(error)}"]
    return found, [] if found else [_NONE_KNOWN], []


def _tell_unmeasured(result, trained, release):
    """Return a note on the conditions under which a model of this kind would be measured."""
    named = []
    if release == FILE:
        named = [*([] if result.file is None else ["a stripped file"]), "a service in its place"]
    # Answers are changed as those of shadow models are, of which regressors have no change.
    if (
        result.task == "classification"
        and result.settings["n_shadows"]
        and is_trainable(unwrap(trained))
    ):
        named += ["rounded answers", "labels alone"]
    if not named:
        return _NONE_KNOWN
    verb = inflect_word(len(named), "is", "are")
    return (
        f"No condition of a release was measured; with --measure-conditions, {join_names(named)} "
        f"{verb}."
    )


def as_finding(recommendation):
    found = recommendation.result
    code = _CODES.get(found, EXCEEDED)
    text = f"the policy {recommendation.policy.name} says: {found}" if code else ""
    name = f"policy {recommendation.policy.name}"
    return GateFinding(recommendation.release, name, code, text, is_policy=True)


def describe_command_origin(arguments, files=FILES):
    """The command without folders, which are private, and the hash of each file that it names."""
    origin = {"command": as_settings(arguments)["repeat"]}
    for name in files:
        path = getattr(arguments, name)
        if path is None:
            continue
        for one in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if one.is_file():
                with open(one, "rb") as file:
                    inside = one.relative_to(path.parent).as_posix()
                    origin[f"sha256 of {inside}"] = file_digest(file, "sha256").hexdigest()
    return origin
