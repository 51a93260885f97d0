"""The bodies of functions of a graph's library, as graphs that can be differentiated."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tensorfleet.core import attr_value, dtypes
from tensorfleet.core.dims import Dims
from tensorfleet.core.dtypes import DType
from tensorfleet.graph import handles
from tensorfleet.graph.func_graph import FuncGraph
from tensorfleet.graph.graph import Graph
from tensorfleet.graph.import_graph import import_graph_def
from tensorfleet.graph.tensor import Tensor
from tensorfleet.proto.function_pb2 import FunctionDef
from tensorfleet.proto.graph_pb2 import GraphDef

SHAPES = "_output_shapes"
"""The attribute of a call's node that has the static shapes of its results."""

Known = tuple[DType, Dims]
"""The dtype and the static shape of the variable that a handle stands for."""


class DefinitionGraph(FuncGraph):
    """The body of a function that is in a library.

    Attributes:
        results: the function's results, tensors of this graph.
    """

    def __init__(
        self,
        definition: FunctionDef,
        outer: Graph,
        dims: Sequence[Dims] = (),
        known: Sequence[Known | None] = (),
    ) -> None:
        """Builds the body.

        Args:
            definition: of a function without type attributes, which is in the library of `outer`.
            dims: the static shapes of the arguments, if they are known.
            known: for handles among the arguments, what is known of their variables.

        Raises:
            LookupError: the function takes types as attributes.
        """
        super().__init__(outer, True)
        self.functional_flow = True
        # One library, so that functions which the gradient needs come to where the call is.
        self._functions, self._defined = outer._functions, outer._defined
        self._function_gradients = outer._function_gradients
        self.label = definition.signature.name
        signature = definition.signature
        if len(signature.attr):
            raise LookupError(
                f"No gradient defined for the function {self.label}: it takes attributes, so that its body "
                "differs between calls."
            )
        texts: dict[str, Tensor] = {}
        with self.as_default():
            for i, arg in enumerate(signature.input_arg):
                shape = dims[i] if i < len(dims) else None
                tensor = self.add_argument(arg.name, dtypes.from_enum(arg.type), shape)
                if i < len(known) and (own := known[i]) is not None:
                    tensor.op.attrs[handles.DTYPE], tensor.op.attrs[handles.DIMS] = own
                texts[arg.name] = tensor
            plain = self._import(definition, texts)
        self.results: list[Tensor] = []
        for output in signature.output_arg:
            text = definition.ret[output.name]
            if text.partition(":")[0] in texts:
                self.results.append(texts[text.partition(":")[0]])
            else:
                name, _, index = plain(text).partition(":")
                self.results.append(self.get_operation_by_name(name).outputs[int(index or 0)])

    def _import(self, definition: FunctionDef, arguments: dict[str, Tensor]) -> Callable[[str], str]:
        """Adds the nodes; what makes "node:index" of "node:output:index"."""
        starts: dict[tuple[str, str], int] = {}
        for node in definition.node_def:
            opdef = self._op_definition(node.op)
            given = {attr.name: attr.default for attr in opdef.attrs.values() if attr.has_default}
            given.update((key, attr_value.from_proto(value)) for key, value in node.attr.items())
            for output, start, _ in opdef.output_slices(given):
                starts[node.name, output.name] = start

        def plain(text: str) -> str:
            parts = text.split(":")
            if text.startswith("^") or parts[0] in arguments:
                return parts[0]
            start = starts.get((parts[0], parts[1] if len(parts) > 1 else ""))
            if start is None:
                raise LookupError(f"{text} is no output of a node in the function {self.label}.")
            return f"{parts[0]}:{start + int(parts[2] if len(parts) > 2 else 0)}"

        graph_def = GraphDef()
        used = set()
        for node in definition.node_def:
            copied = graph_def.node.add()
            copied.CopyFrom(node)
            inputs = [plain(text) for text in node.input]
            used.update(inputs)
            del copied.input[:]
            copied.input.extend(inputs)
        given_inputs = {f"{name}:0": tensor for name, tensor in arguments.items() if name in used}
        import_graph_def(graph_def, given_inputs, name="")
        for node in definition.node_def:
            if SHAPES in node.attr:
                known = attr_value.from_proto(node.attr[SHAPES])
                for tensor, own in zip(self.get_operation_by_name(node.name).outputs, known, strict=False):
                    tensor.set_shape(own)
        return plain


def library_definition(graph: Graph, name: str) -> FunctionDef:
    """A function of a graph's library.

    Raises:
        LookupError: there is none of that name.
    """
    found = graph._functions.get(name)
    if found is None:
        raise LookupError(f"The function {name} is not in the graph's library.")
    return found
