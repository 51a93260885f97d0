from tensorfleet.proto import cluster_pb2 as _cluster_pb2
from tensorfleet.proto import device_attributes_pb2 as _device_attributes_pb2
from tensorfleet.proto import tensor_shape_pb2 as _tensor_shape_pb2
from tensorfleet.proto import types_pb2 as _types_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GetEndpointRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Endpoint(_message.Message):
    __slots__ = ("task", "incarnation", "stream_address", "version", "connects")
    TASK_FIELD_NUMBER: _ClassVar[int]
    INCARNATION_FIELD_NUMBER: _ClassVar[int]
    STREAM_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    CONNECTS_FIELD_NUMBER: _ClassVar[int]
    task: str
    incarnation: int
    stream_address: _containers.RepeatedScalarFieldContainer[str]
    version: str
    connects: bool
    def __init__(self, task: _Optional[str] = ..., incarnation: _Optional[int] = ..., stream_address: _Optional[_Iterable[str]] = ..., version: _Optional[str] = ..., connects: bool = ...) -> None: ...

class StatusRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class SessionStatus(_message.Message):
    __slots__ = ("handle", "nodes", "steps", "age_secs", "callables")
    HANDLE_FIELD_NUMBER: _ClassVar[int]
    NODES_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    AGE_SECS_FIELD_NUMBER: _ClassVar[int]
    CALLABLES_FIELD_NUMBER: _ClassVar[int]
    handle: str
    nodes: int
    steps: int
    age_secs: float
    callables: int
    def __init__(self, handle: _Optional[str] = ..., nodes: _Optional[int] = ..., steps: _Optional[int] = ..., age_secs: _Optional[float] = ..., callables: _Optional[int] = ...) -> None: ...

class VariableStatus(_message.Message):
    __slots__ = ("name", "container", "dtype", "shape", "bytes", "initialized", "kind")
    NAME_FIELD_NUMBER: _ClassVar[int]
    CONTAINER_FIELD_NUMBER: _ClassVar[int]
    DTYPE_FIELD_NUMBER: _ClassVar[int]
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    INITIALIZED_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    name: str
    container: str
    dtype: _types_pb2.DataType
    shape: _tensor_shape_pb2.TensorShapeProto
    bytes: int
    initialized: bool
    kind: str
    def __init__(self, name: _Optional[str] = ..., container: _Optional[str] = ..., dtype: _Optional[_Union[_types_pb2.DataType, str]] = ..., shape: _Optional[_Union[_tensor_shape_pb2.TensorShapeProto, _Mapping]] = ..., bytes: _Optional[int] = ..., initialized: bool = ..., kind: _Optional[str] = ...) -> None: ...

class StatusReply(_message.Message):
    __slots__ = ("task", "incarnation", "version", "pid", "start_time_secs", "cluster", "device", "session", "variable", "resident_bytes", "steps_total", "kernels")
    TASK_FIELD_NUMBER: _ClassVar[int]
    INCARNATION_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    PID_FIELD_NUMBER: _ClassVar[int]
    START_TIME_SECS_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    DEVICE_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    VARIABLE_FIELD_NUMBER: _ClassVar[int]
    RESIDENT_BYTES_FIELD_NUMBER: _ClassVar[int]
    STEPS_TOTAL_FIELD_NUMBER: _ClassVar[int]
    KERNELS_FIELD_NUMBER: _ClassVar[int]
    task: str
    incarnation: int
    version: str
    pid: int
    start_time_secs: float
    cluster: _cluster_pb2.ClusterDef
    device: _containers.RepeatedCompositeFieldContainer[_device_attributes_pb2.DeviceAttributes]
    session: _containers.RepeatedCompositeFieldContainer[SessionStatus]
    variable: _containers.RepeatedCompositeFieldContainer[VariableStatus]
    resident_bytes: int
    steps_total: int
    kernels: str
    def __init__(self, task: _Optional[str] = ..., incarnation: _Optional[int] = ..., version: _Optional[str] = ..., pid: _Optional[int] = ..., start_time_secs: _Optional[float] = ..., cluster: _Optional[_Union[_cluster_pb2.ClusterDef, _Mapping]] = ..., device: _Optional[_Iterable[_Union[_device_attributes_pb2.DeviceAttributes, _Mapping]]] = ..., session: _Optional[_Iterable[_Union[SessionStatus, _Mapping]]] = ..., variable: _Optional[_Iterable[_Union[VariableStatus, _Mapping]]] = ..., resident_bytes: _Optional[int] = ..., steps_total: _Optional[int] = ..., kernels: _Optional[str] = ...) -> None: ...

class StepsRequest(_message.Message):
    __slots__ = ("step_id", "master")
    STEP_ID_FIELD_NUMBER: _ClassVar[int]
    MASTER_FIELD_NUMBER: _ClassVar[int]
    step_id: _containers.RepeatedScalarFieldContainer[int]
    master: bool
    def __init__(self, step_id: _Optional[_Iterable[int]] = ..., master: bool = ...) -> None: ...

class StepStatus(_message.Message):
    __slots__ = ("step_id", "session", "age_secs", "activity")
    STEP_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    AGE_SECS_FIELD_NUMBER: _ClassVar[int]
    ACTIVITY_FIELD_NUMBER: _ClassVar[int]
    step_id: int
    session: str
    age_secs: float
    activity: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, step_id: _Optional[int] = ..., session: _Optional[str] = ..., age_secs: _Optional[float] = ..., activity: _Optional[_Iterable[str]] = ...) -> None: ...

class StepsReply(_message.Message):
    __slots__ = ("task", "part", "step", "withheld")
    TASK_FIELD_NUMBER: _ClassVar[int]
    PART_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    WITHHELD_FIELD_NUMBER: _ClassVar[int]
    task: str
    part: _containers.RepeatedCompositeFieldContainer[StepStatus]
    step: _containers.RepeatedCompositeFieldContainer[StepStatus]
    withheld: bool
    def __init__(self, task: _Optional[str] = ..., part: _Optional[_Iterable[_Union[StepStatus, _Mapping]]] = ..., step: _Optional[_Iterable[_Union[StepStatus, _Mapping]]] = ..., withheld: bool = ...) -> None: ...

class StacksRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class StacksReply(_message.Message):
    __slots__ = ("task", "pid", "text")
    TASK_FIELD_NUMBER: _ClassVar[int]
    PID_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    task: str
    pid: int
    text: str
    def __init__(self, task: _Optional[str] = ..., pid: _Optional[int] = ..., text: _Optional[str] = ...) -> None: ...
