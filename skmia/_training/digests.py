"""Digests of parameters, functions, classes and other parts of a model."""

import builtins
import copyreg
import dis
import enum
import functools
import importlib
import sys
import sysconfig
import types
import weakref
from functools import cache
from hashlib import sha256
from importlib.metadata import distributions
from importlib.util import find_spec, resolve_name
from inspect import CO_NEWLOCALS, CO_OPTIMIZED
from pathlib import Path
from threading import Lock, RLock
from types import CodeType
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import BaseEstimator

from .._core import __version__
from .._core.containers import (
    describe_container,
    in_memory,
    is_foreign,
    is_frame,
    is_lazy,
    is_tensor,
    pack,
    take_rows,
)
from .._core.copies import CopiesParameters, RememberedFacts
from .._core.hashing import OBJECTS, CellTokens, as_column, number_bytes, take_objects

_READS = {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"}
_ATTRIBUTES = {"LOAD_ATTR", "LOAD_METHOD"}


def digest_text(*parts):
    """Return the digest of texts, short enough for people to read."""
    whole = sha256()
    for part in parts:
        whole.update(f"{len(part)}:{part}".encode("utf-8", "surrogatepass"))
    return f"#{whole.hexdigest()[:32]}"


def digest_code(code):
    """Return the digest of the instructions of a code object.

    File names, line numbers and docstrings are left out, because code that is moved or documented
    differently does the same.
    """
    constants = list(code.co_consts)
    if _has_docstring(code):
        constants[0] = None
    return digest_text(
        code.co_code.hex(),
        *(_describe_constant(constant) for constant in constants),
        repr((code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)),
        repr((code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)),
        code.co_exceptiontable.hex(),
    )


def _has_docstring(code):
    """Return whether the first constant is a string that no instruction of the function reads."""
    is_function = code.co_flags & CO_OPTIMIZED and code.co_flags & CO_NEWLOCALS
    if not is_function or not code.co_consts or not isinstance(code.co_consts[0], str):
        return False
    return all(
        instruction.opcode not in dis.hasconst or instruction.arg != 0
        for instruction in _instructions(code)
    )


def _describe_constant(value):
    if isinstance(value, CodeType):
        return f"code {digest_code(value)}"
    if isinstance(value, tuple):
        return f"tuple {[_describe_constant(item) for item in value]}"
    if isinstance(value, frozenset):
        return f"set {sorted(_describe_constant(item) for item in value)}"
    if isinstance(value, int):
        return f"{type(value).__name__} {int(value):x}"
    return f"{type(value).__name__} {value!r}"


def _instructions(code):
    return list(dis.get_instructions(code))


def nested_codes(code):
    """Yield a code object and all code objects that are defined in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from nested_codes(constant)


def iter_reads(code):
    """Yield the global names that code reads, each with the attributes that it reads from them."""
    for inner in nested_codes(code):
        instructions = _instructions(inner)
        for i, instruction in enumerate(instructions):
            if instruction.opname in _READS:
                yield instruction.argval, tuple(_chain(instructions[i + 1 :]))


def _chain(instructions):
    for instruction in instructions:
        if instruction.opname not in _ATTRIBUTES:
            return
        yield instruction.argval


def iter_imports(code):
    """Yield the modules that code imports when it runs."""
    for inner in nested_codes(code):
        instructions = _instructions(inner)
        for i, instruction in enumerate(instructions):
            if instruction.opname == "IMPORT_NAME":
                level = instructions[i - 2].argval
                wanted = []
                for later in instructions[i + 1 :]:
                    if later.opname == "IMPORT_FROM":
                        wanted.append(later.argval)
                    elif not later.opname.startswith("STORE"):
                        break
                yield instruction.argval, level if isinstance(level, int) else 0, tuple(wanted)


_OWN = __name__.partition(".")[0]
_SITES = {"site-packages", "dist-packages"}


class InstalledPackage(NamedTuple):
    """An installed package, or Python itself."""

    name: str
    version: str


PYTHON = InstalledPackage("python", "{}.{}".format(*sys.version_info))


@cache
def package_of(module):
    """Return the installed package that a module belongs to.

    Return package: None for the user's own code: scripts, notebooks, packages installed in editable
    mode.
    """
    root = module.partition(".")[0]
    if root == _OWN:
        return InstalledPackage(_OWN, _get_own_version())
    file = _get_file(module) or _get_file(root)
    if root in sys.stdlib_module_names and (file is None or _is_of_python(file)):
        return PYTHON
    for found in _find_distributions(root) if file is not None else ():
        folder = Path(found.locate_file("")).resolve()
        # The source folder of an editable install has other metadata, and its code can change.
        is_installed = found.read_text("METADATA") is not None or _SITES & set(folder.parts)
        if is_installed and folder in file.parents:
            return InstalledPackage(found.metadata["Name"], found.version)
    return None


@cache
def _get_own_version():
    """Return the version of this package, with a digest of its files if it is not installed."""
    folder = Path(sys.modules[_OWN].__file__).resolve().parent
    if _SITES & set(folder.parts):
        return __version__
    whole = sha256()
    for path in sorted(folder.rglob("*.py")):
        whole.update(path.read_bytes())
    return f"{__version__}+{whole.hexdigest()[:16]}"


@cache
def _find_distributions(root):
    """Return distributions with a module, by their lists of names or of files.

    As packages_distributions does, which parses the files of all distributions for a second.
    """
    files = tuple(f"\n{root}{end}" for end in ("/", ".py,", "."))
    found = []
    for one in distributions():
        names = (one.read_text("top_level.txt") or "").split()
        listed = "" if names else "\n" + (one.read_text("RECORD") or "")
        if root in names or any(start in listed for start in files):
            found.append(one)
    return found


def _get_file(module):
    known = sys.modules.get(module)
    file = getattr(known, "__file__", None)
    if file is None and known is None and "." not in module:
        try:
            spec = find_spec(module)
        except (ImportError, ValueError):
            spec = None
        file = spec.origin if spec is not None and spec.has_location else None
    return None if file is None else Path(file).resolve()


def _is_of_python(file):
    home = Path(sysconfig.get_path("stdlib")).resolve()
    return home in file.parents and not _SITES & set(file.parts)


_BLOCK_BYTES = 1 << 24
_LAZY_ROWS = 1 << 16  # that are read at once of a table that is not in memory


def digest_table(X):
    """Return the digest of an array, a DataFrame, a Series, a sparse matrix or a tensor.

    Unlike fingerprints of records, it depends on the container, the order of the rows and the names
    of the columns.
    """
    whole = sha256()
    for text, values in _list_table_parts(X):
        whole.update(f"{len(text)}:{text}".encode("utf-8", "surrogatepass"))
        if values is not None:
            _update(whole, values)
    return f"#{whole.hexdigest()}"


def digest_arrays(arrays):
    """Return the digest of named arrays, independent of their order."""
    named = sorted(arrays.items())
    return digest_text(*(f"{name} {digest_table(values)}" for name, values in named))


def _list_table_parts(X):
    """Yield descriptions of the parts of a table with their arrays."""
    if is_lazy(X) or is_foreign(X):
        yield f"rows of {describe_container(X)}", None
        for start in range(0, len(X), _LAZY_ROWS):
            rows = slice(start, start + _LAZY_ROWS)
            yield from _list_table_parts(in_memory(take_rows(X, rows)))
    elif is_frame(X):
        yield f"frame {X.shape} {[repr(name) for name in X.columns]}", None
        for j in range(X.shape[1]):
            yield from _list_column(X.iloc[:, j])
    elif isinstance(X, pd.Series):
        yield from _list_column(X)
    elif sparse.issparse(X):
        X = X if X.format in {"csr", "csc"} else X.tocsr()
        yield f"sparse {X.format} {X.shape}", None
        for values in (X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)):
            yield from _list_array(values)
    elif is_tensor(X):
        packed = pack(X)
        yield f"tensor {packed.dtype} {packed.shape}", packed.values
    else:
        yield from _list_array(np.asarray(X))


def _list_column(column):
    # Categories decide how a column is encoded, including those that do not occur.
    if isinstance(column.dtype, pd.CategoricalDtype):
        yield f"categories, ordered={column.cat.ordered}", None
        yield from _list_array(np.asarray(column.cat.categories, dtype=object))
        yield from _list_array(column.cat.codes.to_numpy())
        return
    cells = as_column(column)
    yield f"column {column.dtype}", None
    if cells.type == OBJECTS:
        yield from _list_array(take_objects(column, slice(None)))
    else:
        yield from _list_array(cells.values)
    if cells.missing is not None:
        yield from _list_array(cells.missing)


def _list_array(values):
    if values.dtype.kind in {"O", "T"}:
        cells = values.astype(object).reshape(-1, 1)
        kinds = " ".join(type(cell).__name__ for cell in cells[:, 0])
        yield f"objects {values.shape} {kinds}", CellTokens().encode(cells)
    elif values.dtype.kind in "fc" and values.real.dtype.itemsize > 8:
        # Numbers in extended precision contain padding bytes with arbitrary content.
        yield f"{values.dtype.str} {values.shape}", number_bytes(values.reshape(1, -1))
    else:
        yield f"{values.dtype.str} {values.shape}", values


def _update(whole, values):
    """Add the bytes of an array; in blocks of rows if it is not contiguous, to save memory."""
    if values.flags.c_contiguous or values.ndim == 0:
        whole.update(np.ascontiguousarray(values).reshape(-1).view(np.uint8))
        return
    step = max(1, _BLOCK_BYTES * len(values) // max(1, values.nbytes))
    for start in range(0, len(values), step):
        whole.update(np.ascontiguousarray(values[start : start + step]).reshape(-1).view(np.uint8))


_PLAIN = (bool, float, complex, str, bytes, range, type(None), type(...), type(NotImplemented))
_CACHED = type(functools.cache(len))
_LOCKS = (type(Lock()), type(RLock()))
_SLOTS = (
    types.ClassMethodDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
    types.MethodDescriptorType,
    types.MethodWrapperType,
    types.WrapperDescriptorType,
)
# Bit of type.__flags__ for a class that was created at run time, as by a class statement.
_MADE_AT_RUN_TIME = 1 << 9
# Values whose repr is shorter than this are noted as they are, so that messages can show them.
_SHORT = 60
# Members of a class that do not change what it does: bookkeeping of Python and abc, documentation.
_NO_CONTENT = {
    "__annotate__",
    "__annotate_func__",
    "__annotations__",
    "__annotations_cache__",
    "__dict__",
    "__doc__",
    "__firstlineno__",
    "__module__",
    "__orig_bases__",
    "__parameters__",
    "__qualname__",
    "__static_attributes__",
    "__weakref__",
    "_abc_impl",
}
# Variables of a module that only say where it was found and how it was loaded.
_OF_MODULES = {
    "__builtins__",
    "__doc__",
    "__file__",
    "__loader__",
    "__name__",
    "__package__",
    "__spec__",
}


class UnidentifiedError(TypeError):
    """Raised for a value whose content cannot be read, so that a change would go unnoticed."""


class DigestWalker:
    """Walks through all parts of a value and notes a digest of each part by name.

    Functions and classes of installed packages are identified by name, and their packages by
    version. All others are identified by their code and everything that the code reaches: defaults,
    variables of enclosing functions, globals, base classes, functions of other modules.
    """

    def __init__(self):
        # Digests of parts, which begin with "#", or short reprs, by name; versions of packages.
        self.parts, self.packages = {}, {}
        self._names = {}  # of functions and classes, by id
        self._digests = {}  # of other objects, by id and by whether fitted attributes counted
        self._fitted = False  # whether fitted attributes count
        self._open = []  # ids of the objects whose digest is being computed, to end cycles
        self._kept = []  # objects that must stay alive, because an id is reused after its object
        self._where = []

    def add(self, name, value):
        """Note the digest of a value as a part; functions and classes in it get their own parts."""
        while name in self.parts:
            name += "'"
        self.parts[name] = ""  # reserves a place before the parts that are found on the way
        self._where.append(name)
        shown = repr(value) if type(value) in {*_PLAIN, int} else ""
        self.parts[name] = shown if 0 < len(shown) < _SHORT else self.digest(value)
        self._where.pop()

    def digest(self, value):
        if type(value) in _PLAIN:
            return digest_text(type(value).__name__, repr(value))
        if type(value) is int:
            return digest_text("int", f"{value:x}")
        if id(value) in self._names:
            return digest_text("name", self._names[id(value)])
        if (id(value), self._fitted) in self._digests:
            return self._digests[id(value), self._fitted]
        if id(value) in self._open:
            return digest_text("again", str(len(self._open) - self._open.index(id(value))))
        self._kept.append(value)
        self._open.append(id(value))
        try:
            found = self._digest_object(value)
        finally:
            self._open.pop()
        self._digests[id(value), self._fitted] = found
        return found

    def _digest_object(self, value):
        for kinds, method in _METHODS:
            if isinstance(value, kinds):
                return method(self, value)
        if is_tensor(value) or isinstance(value, _tables()):
            return digest_text(type(value).__name__, digest_table(value))
        if hasattr(value, "get_params") and not self._fitted:
            return self._digest_estimator(value)
        return self._digest_reduced(value)

    def _many(self, kind, values):
        return digest_text(kind, *(self.digest(item) for item in values))

    def _digest_sequence(self, value):
        if type(value) not in {list, tuple}:
            return self._digest_reduced(value)
        return self._many(type(value).__name__, value)

    def _digest_set(self, value):
        if type(value) not in {set, frozenset}:
            return self._digest_reduced(value)
        return digest_text("set", *sorted(self.digest(item) for item in value))

    def _digest_dict(self, value):
        if type(value) not in {dict, types.MappingProxyType}:
            return self._digest_reduced(value)
        return self._many("dict", [entry for item in value.items() for entry in item])

    def _digest_estimator(self, value):
        if not _is_cloned_by_parameters(value):
            self._fitted = True
            found = self._digest_reduced(value)
            self._fitted = False
            return found
        parameters = value.get_params(deep=False)
        pairs = [entry for name in sorted(parameters) for entry in (name, parameters[name])]
        return self._many("estimator", [type(value), *pairs])

    def _digest_enum(self, value):
        return self._many("enum", [type(value), value.name])

    def _digest_numpy(self, value):
        if isinstance(value, np.dtype):
            return digest_text("dtype", repr(value.descr if value.names else value.str))
        return digest_text("number", value.dtype.str, value.tobytes().hex())

    def _digest_bound(self, value):
        name = getattr(value, "__name__", "")
        if isinstance(value.__self__, types.ModuleType) or value.__self__ is None:
            return self._digest_compiled(value)
        function = getattr(value, "__func__", name)
        return self._many("method", [function, value.__self__])

    def _digest_compiled(self, value):
        module = getattr(value, "__module__", None) or ""
        if package_of(module) is not None:
            return self._by_name(module, value.__qualname__)
        return self._search(value, "compiled code of no installed package")

    def _search(self, value, reason):
        """Identify a compiled object by its name in a loaded module of an installed package."""
        found = []
        for module in list(sys.modules.values()) if callable(value) else ():
            names = [name for name, held in _contents(module) if held is value]
            package = package_of(getattr(module, "__name__", "")) if names else None
            found += [] if package is None else [(package, name) for name in names]
        if not found:
            raise self._unidentified(value, reason)
        package, name = min(found)  # so that the result depends less on which modules are loaded
        self._note(package)
        return digest_text("by name", package.name, name)

    def _digest_cached(self, value):
        return self._many("cached", [value.__wrapped__, value.cache_parameters()])

    def _digest_reduced(self, value):
        """Return the digest of the state with which an object would be pickled."""
        if _is_found(value):
            return self._by_name(value.__module__, value.__qualname__)
        reduce = copyreg.dispatch_table.get(type(value))
        try:
            state = value.__reduce_ex__(4) if reduce is None else reduce(value)
        except Exception as error:  # the call runs code of the object's class
            return self._search(value, f"{type(error).__name__}: {error}")
        if isinstance(state, str):
            return self._by_name(getattr(value, "__module__", None) or "", state)
        parts = [type(value), *state[:3], *(list(part) for part in state[3:5] if part is not None)]
        return self._many("object", parts)

    def _by_name(self, module, name):
        self._note(package_of(module))
        return digest_text("by name", module, name)

    def _note(self, package):
        if package is not None:
            self.packages[package.name] = package.version

    def _unidentified(self, value, reason):
        where = self._where[-1] if self._where else "it"
        shown = getattr(value, "__qualname__", None) or f"a {type(value).__name__}"
        return UnidentifiedError(f"{where} holds {shown}, whose content cannot be told ({reason})")

    # Code

    def _name(self, value, name):
        name = name.rpartition("<locals>.")[2]
        taken = set(self._names.values())
        free = (name if k == 1 else f"{name} ({k})" for k in range(1, len(taken) + 2))
        self._names[id(value)] = name = next(
            candidate for candidate in free if candidate not in taken
        )
        return name

    def _digest_function(self, value):
        if _is_found(value):
            return self._by_name(value.__module__, value.__qualname__)
        # The name of the code, because functools.wraps gives a wrapper the name of its function.
        name = self._name(value, value.__code__.co_qualname)
        self.parts[f"the code of {name}"] = digest_code(value.__code__)
        if value.__defaults__ or value.__kwdefaults__:
            self.add(f"the defaults of {name}", (value.__defaults__, value.__kwdefaults__))
        for variable, cell in zip(value.__code__.co_freevars, value.__closure__ or (), strict=True):
            self.add(f"the variable {variable} that {name} reads", cell)
        if vars(value):
            self.add(f"the attributes of {name}", dict(vars(value)))
        if package_of(value.__globals__.get("__name__", "")) is None:
            self._follow(name, value)
        return digest_text("name", name)

    def _follow(self, name, function):
        """Note the globals and imported modules that a function reads."""
        globals_, seen = function.__globals__, set()
        for variable, attributes in iter_reads(function.__code__):
            if variable in _OF_MODULES:
                continue
            if variable in globals_ and (variable, attributes) not in seen:
                seen.add((variable, attributes))
                self._add_reached(name, variable, globals_[variable], attributes)
            elif variable not in globals_ and not hasattr(builtins, variable):
                self.parts[f"the missing name {variable} that {name} reads"] = ""
        for module, level, attributes in iter_imports(function.__code__):
            found = _import(module, level, globals_)
            for attribute in attributes or ("",):
                path = (attribute,) if attribute else ()
                self._add_reached(name, module.lstrip(".") or ".", found, path)

    def _add_reached(self, name, variable, value, attributes):
        path = [variable]
        for attribute in attributes:
            if not isinstance(value, types.ModuleType) or package_of(value.__name__) is not None:
                break
            value = getattr(value, attribute, None)
            path.append(attribute)
        self.add(f"the global {'.'.join(path)} that {name} reads", value)

    def _digest_module(self, value):
        if package_of(value.__name__) is not None:
            return self._by_name(value.__name__, "")
        try:
            with open(value.__file__, "rb") as file:
                return digest_text("module", file.read().hex())
        except (AttributeError, TypeError, OSError) as error:
            raise self._unidentified(value, f"{type(error).__name__}: {error}") from None

    def _digest_class(self, value):
        if _is_found(value) or not value.__flags__ & _MADE_AT_RUN_TIME:
            return self._digest_compiled(value)
        name = self._name(value, value.__qualname__)
        self.add(f"the bases of {name}", (type(value), *value.__bases__))
        members = {key: member for key, member in vars(value).items() if key not in _NO_CONTENT}
        functions = {key for key, member in members.items() if _functions_of(member)}
        self.add(
            f"the methods of {name}",
            {key: _functions_of(members[key]) for key in sorted(functions)},
        )
        for key in sorted(members.keys() - functions):
            self.add(f"the attribute {key} of {name}", members[key])
        return digest_text("name", name)

    def _digest_cell(self, value):
        try:
            return self.digest(value.cell_contents)
        except ValueError:
            return digest_text("empty cell")

    def _digest_code(self, value):
        return digest_code(value)

    def _digest_nothing(self, value):
        return digest_text(type(value).__name__, getattr(value, "__name__", ""))

    def _digest_reference(self, value):
        return self._many("reference", [value()])


def _contents(module):
    content = getattr(module, "__dict__", None)
    return list(content.items()) if isinstance(content, dict) else ()


def _tables():
    return np.ndarray, pd.DataFrame, pd.Series, sparse.sparray, sparse.spmatrix


def _functions_of(member):
    """Return functions of a member of a class; None if the member is not a method or property."""
    if isinstance(member, types.FunctionType):
        return [member]
    if isinstance(member, staticmethod | classmethod):
        return [type(member).__name__, member.__func__]
    if isinstance(member, property):
        return ["property", member.fget, member.fset, member.fdel]
    if isinstance(member, functools.cached_property):
        return ["cached property", member.func]
    return None


def _is_found(value):
    """Return whether a value can be imported by its own name from an installed package."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str) or package_of(module) is None:
        return False
    try:
        found = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError):
        return False
    return found is value


def _is_cloned_by_parameters(value):
    own = getattr(type(value), "__sklearn_clone__", None)
    return own in (None, BaseEstimator.__sklearn_clone__, CopiesParameters.__sklearn_clone__)


def _import(module, level, globals_):
    try:
        if level:
            module = resolve_name("." * level + module, globals_.get("__package__") or "")
        return importlib.import_module(module)
    except ImportError:
        return None


_METHODS = (
    (types.FunctionType, DigestWalker._digest_function),
    (type, DigestWalker._digest_class),
    (types.ModuleType, DigestWalker._digest_module),
    ((types.MethodType, types.BuiltinMethodType), DigestWalker._digest_bound),
    (_CACHED, DigestWalker._digest_cached),
    (types.CellType, DigestWalker._digest_cell),
    (types.CodeType, DigestWalker._digest_code),
    (enum.Enum, DigestWalker._digest_enum),
    (np.ufunc, DigestWalker._digest_compiled),
    ((np.dtype, np.generic), DigestWalker._digest_numpy),
    ((list, tuple), DigestWalker._digest_sequence),
    (RememberedFacts, DigestWalker._digest_nothing),
    ((dict, types.MappingProxyType), DigestWalker._digest_dict),
    ((set, frozenset), DigestWalker._digest_set),
    (weakref.ref, DigestWalker._digest_reference),
    ((*_LOCKS, *_SLOTS), DigestWalker._digest_nothing),
)
