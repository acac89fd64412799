"""What checks types at run time in the tests: beartype, to which an int is a float, as to mypy.

jaxtyping's hook wraps every function of attncost: it binds arguments, opens a scope for the letters
of shapes and checks twice, 11 µs for two arguments. Only annotations with shapes need it. All other
functions get the same check from beartype alone, in 0.8 µs.
"""

import inspect
from dataclasses import is_dataclass
from functools import partial
from typing import Any, get_args, get_type_hints

import jaxtyping
from beartype import BeartypeConf, beartype
from beartype import __file__ as beartype_file

checked = beartype(conf=BeartypeConf(is_pep484_tower=True, violation_type=jaxtyping.TypeCheckError))
with_shapes = jaxtyping.jaxtyped


def resolved(function):
    """Return its annotations; one in quotes that names what is not there yet is anything."""

    def found(annotation):
        def of(value: annotation): ...

        try:
            return get_type_hints(of, function.__globals__, include_extras=True)["value"]
        except NameError:
            return Any

    return {name: found(annotation) for name, annotation in function.__annotations__.items()}


def has_shape(annotation):
    """Say whether an annotation is of an array, or holds one."""
    if inspect.isclass(annotation) and issubclass(annotation, jaxtyping.AbstractArray):
        return True
    return any(has_shape(one) for one in get_args(annotation))


def typed(function=None, *, typechecker):
    """Check what a function takes and returns, with letters of shapes where it names any."""
    if function is None:
        return partial(typed, typechecker=typechecker)
    if inspect.isclass(function):
        if is_dataclass(function) and not hasattr(function.__init__, "__wrapped__"):
            function.__init__ = typed(function.__init__, typechecker=typechecker)
        return function
    annotations = resolved(function)
    if any(has_shape(annotation) for annotation in annotations.values()):
        return with_shapes(function, typechecker=typechecker)
    written, function.__annotations__ = function.__annotations__, annotations
    checking = typechecker(function)
    function.__annotations__ = checking.__annotations__ = written
    if checking is not function:  # as it is where nothing is said that could be checked
        # In a traceback its frame is a line of an installed library, as jaxtyping's is.
        checking.__code__ = checking.__code__.replace(co_filename=beartype_file)
    return checking


jaxtyping.jaxtyped = typed  # type: ignore[assignment]
