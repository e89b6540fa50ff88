"""Digests of the compiled code of functions, and the names that the code reads."""

import dis
from hashlib import sha256
from inspect import CO_NEWLOCALS, CO_OPTIMIZED
from types import CodeType

_READS = {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"}
_ATTRIBUTES = {"LOAD_ATTR", "LOAD_METHOD"}


def digest_text(*parts):
    """Digest of texts, short enough for people to read."""
    whole = sha256()
    for part in parts:
        whole.update(f"{len(part)}:{part}".encode("utf-8", "surrogatepass"))
    return f"#{whole.hexdigest()[:32]}"


def digest_code(code):
    """Digest of the instructions of a code object.

    File names, line numbers and docstrings are left out, because code that is moved or documented
    differently does the same.

    Parameters
    ----------
    code : code object

    Returns
    -------
    digest : str
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
    """Whether the first constant is a string that no instruction of the function reads."""
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
    """Yield the global names that code reads, each with the attributes that it reads from them.

    Yields
    ------
    name, attributes : str, tuple of str
        ``("np", ("linalg", "norm"))`` for ``np.linalg.norm``.
    """
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
    """Yield the modules that code imports when it runs.

    Yields
    ------
    name, level, attributes : str, int, tuple of str
        Parts of ``from ..name import attributes``, where the level is the number of dots; without
        attributes for ``import name``.
    """
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
