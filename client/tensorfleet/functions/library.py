"""The functions of a graph's library, as objects that add them to other graphs."""

from __future__ import annotations

from tensorfleet.core import dtypes
from tensorfleet.functions.defun import DefinedFunction
from tensorfleet.proto.function_pb2 import FunctionDef, FunctionDefLibrary


def from_library(lib: FunctionDefLibrary) -> list[DefinedFunction]:
    """The functions of a library, each with its gradient (`function.from_library`).

    Raises:
        ValueError: a gradient names a function that is not there, or functions are each other's gradients.
    """
    definitions = {definition.signature.name: definition for definition in lib.function}
    gradients = {}
    for item in lib.gradient:
        for name in (item.function_name, item.gradient_func):
            if name not in definitions:
                raise ValueError(f"FunctionDefLibrary missing '{name}' FunctionDef\n{lib}")
        gradients[item.function_name] = item.gradient_func
    made: dict[str, DefinedFunction] = {}
    for name in definitions:
        chain = [name]
        while chain[-1] in gradients and chain[-1] not in made:
            chain.append(gradients[chain[-1]])
            if len(chain) > len(definitions):
                raise ValueError(f"FunctionDefLibrary contains cyclic gradient functions!\n{lib}")
        for each in reversed(chain):
            if each not in made:
                gradient = made.get(gradients.get(each, ""))
                made[each] = _from_definition(definitions[each], gradient)
    return list(made.values())


def _from_definition(definition: FunctionDef, grad_func: DefinedFunction | None = None) -> DefinedFunction:
    signature = definition.signature
    found = DefinedFunction(
        None,
        [arg.name for arg in signature.input_arg],
        [dtypes.from_enum(arg.type) for arg in signature.input_arg],
        signature.name,
        grad_func,
        out_names=[arg.name for arg in signature.output_arg],
    )
    found._definition = FunctionDef()
    found._definition.CopyFrom(definition)
    return found
