"""Classes of packages that are not imported."""


def is_of_package(value, package):
    """Whether the class of an object, or one that it is derived from, is of a package."""
    start = f"{package}."
    return any(f"{kind.__module__}.".startswith(start) for kind in type(value).__mro__)
