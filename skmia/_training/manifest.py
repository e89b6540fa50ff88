"""The manifest of a pool or an audit: what its models depend on, and how two of them differ."""

import json
from hashlib import sha256
from typing import NamedTuple

from .._core import __version__
from .._core.copies import copy_unfitted
from .._core.escaping import visible
from .._core.hashing import describe_types
from .._core.sample_weights import WEIGHTS
from ..exceptions import CheckpointError
from .digests import UnidentifiedError, digest_table
from .identity import identify, identify_values


class OwnerNames(NamedTuple):
    """How messages name a pool or an audit, and its models."""

    name: str = "pool"
    models: str = "shadow models"
    unless: str = "checkpoint and warm_start"  # parameters without which nothing is kept


POOL = OwnerNames()

_FORMAT = 4
_WIDTH = 80  # of a value in a message

_LABELS = {
    "format": "the format of the checkpoint",
    "skmia": "the version of skmia",
    "entropy": "random_state",
    "group_by": "the field group_by",
    "sample_weight": "the field sample_weight",
    "signals": "the signals that are stored",
    "way": "the way in which models are trained",
    "augmented": "the records that augment makes, which must be the same in each call",
}
# Labels of nested entries, by the entry that holds them.
_INNER_LABELS = {
    "versions": "the version of {}",
    "parts": "{}",
    "sampling": "{}",
    "records": {
        "n": "the number of records",
        "types": "the types of the records",
        "features": "the features of the records, or their order",
        "labels": "the labels of the records, or their order",
    },
}
_CLASS = "the class of the estimator"
# The repr of an estimator is only for people to read, because it can hold memory addresses.
_FOR_PEOPLE = {"estimator"}


def describe_job(job, records, entropy, design, numbers):
    """Describe everything that the models of a job depend on.

    A pool may grow, and be trained by another number of jobs, so neither is in it. ``design`` says
    how training sets are drawn (of a pool ``describe_sampling`` in ``shadow/_job.py``), ``numbers``
    which way of training gives these numbers (``known`` of ``plan_training`` continues in it).
    ``entropy`` is the random_state as integers; where that is None, the one of the checkpoint is
    taken over (``draw_entropy`` in ``shadow/_job.py``). ``versions`` are those of Python, numpy,
    all packages that parts of the estimator come from, and what these build on.
    """
    try:
        identity = identify(job.estimator)
        known = {"versions": identity.versions, "parts": identity.parts}
        if job.data.fit_params is not None:
            known["parts"] |= identify_values({"fit_params": job.data.fit_params})
        kept = job.keep.describe()
    except UnidentifiedError as error:
        known, kept = {"unidentified": str(error)}, {}
    groups = records.fields.get("group_by")
    return {
        "format": _FORMAT,
        "skmia": __version__,
        "estimator": repr(copy_unfitted(job.estimator)),
        **known,
        "records": {
            "n": len(records),
            "types": describe_types(records.X, records.y),
            "features": digest_table(job.data.tables[0]),
            "labels": digest_table(records.y),
        },
        "augmented": [digest_table(X) for X in job.data.tables[1:]],
        "group_by": None if groups is None else digest_table(groups),
        **({} if job.data.weights is None else {WEIGHTS: digest_table(job.data.weights)}),
        "sampling": design,
        "entropy": [int(part) for part in entropy],
        **kept,
        "way": numbers,
    }


def digest_manifest(manifest):
    """Return digest of the entries that identify the owner; each file of a checkpoint holds it."""
    binding = {name: value for name, value in manifest.items() if name not in _FOR_PEOPLE}
    return sha256(json.dumps(binding, sort_keys=True).encode()).hexdigest()[:32]


def check_identified(manifest, owner=POOL):
    """Refuse to keep models of an estimator that could not be recognized later."""
    if "unidentified" in manifest:
        raise CheckpointError(
            f"{owner.models.capitalize()} of this estimator cannot be used again: "
            f"{manifest['unidentified']}, so that a change of it would go unnoticed. Fit without "
            f"{owner.unless}, or replace it by code in Python."
        )


def check_same_owner(known, manifest, where, owner=POOL):
    """Refuse to continue with the models of another pool or audit."""
    for name, there, here in _list_manifest_differences(known, manifest):
        label = _LABELS.get(name, name)
        if name in _INNER_LABELS and isinstance(there, dict) and isinstance(here, dict):
            labels = _INNER_LABELS[name]
            inner = next(key for key in [*here, *there] if here.get(key) != there.get(key))
            is_dict = isinstance(labels, dict)
            label = labels.get(inner, inner) if is_dict else labels.format(inner)
            there, here = there.get(inner, "nothing"), here.get(inner, "nothing")
        if label == _CLASS:
            there, here = known.get("estimator"), manifest.get("estimator")
        shown = (
            ""
            if _is_digest(there) or _is_digest(here)
            else f": {_shorten_entry(there)} there, {_shorten_entry(here)} here"
        )
        raise CheckpointError(
            f"{where} belongs to another {owner.name}, which differs in "
            f"{_shorten_entry(label)}{shown}. Give another folder, or what that {owner.name} was "
            "given."
        )


def _shorten_entry(value):
    """Show a value of a manifest, which may be damaged, on one line of bounded length."""
    text = visible(value)
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 3]}..."


def _list_manifest_differences(known, manifest):
    """Yield the entries that differ, a cause before its consequences."""
    versions = [source.get("versions", {}) for source in (known, manifest)]
    both = versions[0].keys() & versions[1].keys()
    if any(versions[0][name] != versions[1][name] for name in both):
        yield "versions", *({name: version[name] for name in sorted(both)} for version in versions)
    # A package in only one of the two belongs to a part that differs, so parts come first.
    names = [name for name in dict.fromkeys([*manifest, *known]) if name != "versions"]
    for name in (*names, "versions"):
        if name not in _FOR_PEOPLE and known.get(name) != manifest.get(name):
            yield name, known.get(name), manifest.get(name)


def _is_digest(value):
    if isinstance(value, list):
        return any(_is_digest(item) for item in value)
    return isinstance(value, str) and value.startswith("#")
