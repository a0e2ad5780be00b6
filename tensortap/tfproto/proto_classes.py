"""TensorFlow's protocol buffer messages as a table: their classes need no TensorFlow.

Unused fields are not declared; the parser skips them. Enums are numbers here.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, TypeAlias

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

Message: TypeAlias = Any

# name, then `field=number:type`, `*` repeated, `{}` a map from text, `|` a member of the oneof `value`.
# From tensorflow/core/{framework,util,protobuf}/*.proto.
_TABLE = """
GraphDef node=1:NodeDef* library=2:FunctionDefLibrary
FunctionDefLibrary function=1:FunctionDef*
FunctionDef signature=1:OpDef node_def=3:NodeDef* ret=4:string{} attr=5:AttrValue{}
OpDef name=1:string input_arg=2:ArgDef* output_arg=3:ArgDef*
ArgDef name=1:string type=3:int32 type_attr=4:string number_attr=5:string type_list_attr=6:string
NodeDef name=1:string op=2:string input=3:string* device=4:string attr=5:AttrValue{}
AttrValue list=1:ListValue| s=2:bytes| i=3:int64| f=4:float| b=5:bool| type=6:int32| \
shape=7:TensorShapeProto| tensor=8:TensorProto| placeholder=9:string| func=10:NameAttrList|
ListValue s=2:bytes* i=3:int64* f=4:float* b=5:bool* type=6:int32* shape=7:TensorShapeProto* \
tensor=8:TensorProto* func=9:NameAttrList*
NameAttrList name=1:string
TensorShapeProto dim=2:Dim* unknown_rank=3:bool
Dim size=1:int64
TensorProto dtype=1:int32 tensor_shape=2:TensorShapeProto tensor_content=4:bytes float_val=5:float* \
double_val=6:double* int_val=7:int32* string_val=8:bytes* scomplex_val=9:float* int64_val=10:int64* \
bool_val=11:bool* dcomplex_val=12:double* half_val=13:int32* uint32_val=16:uint32* uint64_val=17:uint64* \
float8_val=18:bytes
Event wall_time=1:double step=2:int64 file_version=3:string| graph_def=4:bytes| summary=5:Summary| \
log_message=6:LogMessage| meta_graph_def=9:bytes| source_metadata=10:SourceMetadata
SourceMetadata writer=1:string
LogMessage message=2:string
Summary value=1:Value*
Value tag=1:string simple_value=2:float| image=4:Skipped| histo=5:HistogramProto| audio=6:Skipped| \
node_name=7:string tensor=8:TensorProto| metadata=9:SummaryMetadata
Skipped
HistogramProto min=1:double max=2:double num=3:double sum=4:double sum_squares=5:double \
bucket_limit=6:double* bucket=7:double*
SummaryMetadata plugin_data=1:PluginData
PluginData plugin_name=1:string content=2:bytes
DebugEvent wall_time=1:double debug_metadata=3:DebugMetadata| source_file=4:SourceFile| \
stack_frame_with_id=6:StackFrameWithId| graph_op_creation=7:GraphOpCreation| debugged_graph=8:DebuggedGraph| \
execution=9:Execution| graph_execution_trace=10:GraphExecutionTrace| debugged_device=12:DebuggedDevice|
DebugMetadata tensorflow_version=1:string file_version=2:string tfdbg_run_id=3:string
SourceFile file_path=1:string host_name=2:string lines=3:string*
StackFrameWithId id=1:string file_line_col=2:FileLineCol
FileLineCol file_index=1:int32 line=2:int32 func=4:string
GraphOpCreation op_type=1:string op_name=2:string graph_id=4:string device_name=5:string \
input_names=6:string* num_outputs=7:int32 code_location=8:CodeLocation
CodeLocation stack_frame_ids=2:string*
DebuggedGraph graph_id=1:string graph_name=2:string outer_context_id=6:string
DebuggedDevice device_name=1:string device_id=2:int32
Execution op_type=1:string num_outputs=2:int32 graph_id=3:string tensor_debug_mode=6:int32 \
tensor_protos=7:TensorProto* code_location=8:CodeLocation output_tensor_device_ids=9:int32*
GraphExecutionTrace tfdbg_context_id=1:string op_name=2:string output_slot=3:int32 tensor_debug_mode=4:int32 \
tensor_proto=5:TensorProto device_name=6:string
RunMetadata function_graphs=4:FunctionGraphs*
FunctionGraphs partition_graphs=1:bytes* pre_optimization_graph=2:bytes
BundleHeaderProto num_shards=1:int32 endianness=2:int32
BundleEntryProto dtype=1:int32 shape=2:TensorShapeProto shard_id=3:int32 offset=4:int64 size=5:int64 \
crc32c=6:fixed32 slices=7:TensorSliceProto*
TensorSliceProto extent=1:Extent*
Extent start=1:int64 length=2:int64
SavedModel meta_graphs=2:MetaGraphDef*
MetaGraphDef meta_info_def=1:MetaInfoDef graph_def=2:GraphDef
MetaInfoDef tags=4:string* tensorflow_version=5:string
"""
_FIELD = re.compile(r"(\w+)=(\d+):(\w+)([*|]|\{\})?")
_SCALARS = ("double", "float", "int64", "uint64", "int32", "fixed32", "bool", "string", "bytes", "uint32")
_PACKAGE = "tensortap"

MAX_MESSAGE = 1 << 30  # bytes of one message; protobuf itself ends at 2 GiB


def new_message(kind: str, **fields: Any) -> Message:
    """A message of that kind."""
    return _kinds()[kind](**fields)


@cache
def _kinds() -> dict[str, Message]:
    file = descriptor_pb2.FileDescriptorProto(name=f"{_PACKAGE}.proto", package=_PACKAGE, syntax="proto3")
    for line in _TABLE.strip().splitlines():
        name, *fields = line.split()
        _describe(file.message_type.add(name=name), fields)
    pool = descriptor_pool.DescriptorPool()  # a separate pool: TensorFlow's messages have the same names
    pool.AddSerializedFile(file.SerializeToString())
    found = {}
    for message in file.message_type:
        descriptor = pool.FindMessageTypeByName(f"{_PACKAGE}.{message.name}")
        found[message.name] = message_factory.GetMessageClass(descriptor)
    return found


def _describe(message: Message, fields: list[str]) -> None:
    for text in fields:
        match = _FIELD.fullmatch(text)
        assert match is not None, text
        name, number, kind, mark = match.groups()
        field = message.field.add(name=name, number=int(number), label=3 if mark in ("*", "{}") else 1)
        if mark == "{}":
            entry = message.nested_type.add(name=_entry_name(name))
            entry.options.map_entry = True
            _set_type(entry.field.add(name="key", number=1, label=1), "string")
            _set_type(entry.field.add(name="value", number=2, label=1), kind)
            field.type = 11
            field.type_name = f".{_PACKAGE}.{message.name}.{entry.name}"
        else:
            _set_type(field, kind)
        if mark == "|":
            if not message.oneof_decl:
                message.oneof_decl.add(name="value")
            field.oneof_index = 0


def _entry_name(field: str) -> str:
    """The name that protobuf demands of a map's entries: `node_def` -> `NodeDefEntry`."""
    return "".join(part.capitalize() for part in field.split("_")) + "Entry"


def _set_type(field: Message, kind: str) -> None:
    if kind in _SCALARS:
        field.type = getattr(descriptor_pb2.FieldDescriptorProto, f"TYPE_{kind.upper()}")
    else:
        field.type = 11
        field.type_name = f".{_PACKAGE}.{kind}"


def read_varint(data: bytes, at: int, end: int | None = None) -> tuple[int, int]:
    """(the number at `at`, where the next byte is).

    Args:
        end: where the data ends, if not at its own end.

    Raises:
        ValueError: it is truncated, or longer than 64 bits.
    """
    value = 0
    last = len(data) if end is None else end
    for shift in range(0, 70, 7):
        if at >= last:
            break
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise ValueError(f"a number is truncated or too long at byte {at}")
