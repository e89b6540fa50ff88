"""Threads that a model finds when it is fitted."""

from threadpoolctl import threadpool_info


def count_openmp_threads():
    """Return the number of threads that OpenMP would start here."""
    return max(one["num_threads"] for one in threadpool_info() if one["user_api"] == "openmp")


def spy_on(monkeypatch, module, name, methods=("fit",)):
    """Replace the class of a name in a module, and return the threads that its calls find."""
    counts, original = [], getattr(module, name)

    def spied(method):
        def call(self, *args, **kwargs):
            counts.append(count_openmp_threads())
            if hasattr(self, "max_leaf_nodes"):  # a hundred rounds of boosting find what three find
                self.max_iter = 3
            return getattr(original, method)(self, *args, **kwargs)

        return call

    made = {method: spied(method) for method in methods}
    # Parameters are read from the signature of __init__, which is inherited.
    monkeypatch.setattr(module, name, type(original.__name__, (original,), made))
    return counts
