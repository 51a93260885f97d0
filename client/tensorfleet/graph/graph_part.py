"""GraphPart: operations on their way to a master."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tensorfleet.graph.operation import Operation
from tensorfleet.proto import function_pb2, graph_pb2, versions_pb2


class GraphPart:
    """What a session adds to its master's graph: operations, and all functions of their graph.

    A master of another process gets the message. One of the same process takes the operations for the
    messages that they would be: it reads their names, inputs and attributes, and keeps none of these objects.
    That saves writing, parsing and reading a NodeDef for each.
    """

    __slots__ = ("functions", "gradients", "operations", "versions")

    def __init__(
        self,
        operations: Sequence[Operation],
        functions: Sequence[function_pb2.FunctionDef],
        versions: versions_pb2.VersionDef,
        gradients: Mapping[str, str] | None = None,
    ) -> None:
        """`gradients` has the names of functions with the names of those that are their gradients."""
        self.operations = operations
        self.functions = functions
        self.gradients = dict(gradients or {})
        self.versions = versions

    def graph_def(self) -> graph_pb2.GraphDef:
        """The part as a message."""
        proto = graph_pb2.GraphDef(versions=self.versions)
        encoded: list[bytes] = []
        for op in self.operations:
            data = op.encoded()
            if data is not None:
                encoded.append(data)
                continue
            proto.MergeFromString(b"".join(encoded))
            encoded.clear()
            op.fill_node_def(proto.node.add())
        proto.MergeFromString(b"".join(encoded))
        if self.functions:
            self._fill(proto.library)
        return proto

    @property
    def library(self) -> function_pb2.FunctionDefLibrary:
        """The functions as a message."""
        library = function_pb2.FunctionDefLibrary()
        self._fill(library)
        return library

    def _fill(self, library: function_pb2.FunctionDefLibrary) -> None:
        library.function.extend(self.functions)
        for name, gradient in self.gradients.items():
            library.gradient.add(function_name=name, gradient_func=gradient)
