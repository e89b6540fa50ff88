"""Rows of a batch: one tensor, or tensors by name for modules with several inputs."""

from collections.abc import Mapping


def change(function, rows, *others):
    """Apply a function to a tensor, or to each tensor by name, and to the same part of others."""
    if isinstance(rows, Mapping):
        return {name: function(part, *(own[name] for own in others)) for name, part in rows.items()}
    return function(rows, *others)


def list_parts(rows):
    """Return the tensors of rows in a list."""
    return list(rows.values()) if isinstance(rows, Mapping) else [rows]


def take_model(rows, k):
    """Return the rows of one model from those of many."""
    return change(lambda part: part[k], rows)


def ask(module, rows):
    """Pass rows to a module, as skorch does."""
    return module(**rows) if isinstance(rows, Mapping) else module(rows)
