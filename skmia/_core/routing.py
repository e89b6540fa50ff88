"""Routing of metadata, such as sample weights, from a meta-estimator to its estimator."""

import sklearn
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from .sample_weights import WEIGHTS


def make_router(owner, estimator, methods=("fit",)):
    """Return a router that hands what each method is given to the same method of an estimator."""
    mapping = MethodMapping()
    for method in methods:
        mapping.add(caller=method, callee=method)
    return MetadataRouter(owner=owner).add(estimator=estimator, method_mapping=mapping)


def route_params(owner, method, params):
    """Return what the estimator inside of a meta-estimator gets of the parameters of a method.

    Without routing, everything: the estimator refuses what it does not take. The classes of
    partial_fit say nothing of single rows, and are passed on as scikit-learn does.
    """
    known = {name: params[name] for name in params if (method, name) == ("partial_fit", "classes")}
    routed = {name: params[name] for name in params if name not in known}
    if routed and sklearn.get_config()["enable_metadata_routing"]:
        routed = process_routing(owner, method, **routed)["estimator"][method]
    return {**known, **routed}


def route_weights(owner, sample_weight, params, method="fit"):
    """Return the sample weights that the estimator inside of a meta-estimator requests, or None."""
    if sample_weight is not None:
        params = {**params, WEIGHTS: sample_weight}
    routed = route_params(owner, method, params)
    foreign = routed.keys() - {WEIGHTS}
    if foreign:
        raise TypeError(
            f"{method} of {type(owner).__name__} takes {WEIGHTS} and no other parameter; got "
            f"{', '.join(sorted(foreign))}."
        )
    return routed.get(WEIGHTS)
