"""Every op of the installed TensorFlow is one that a recorded call may hold, or of a kind that is refused."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from tensorflow.core.framework.op_def_pb2 import OpList
from tensorflow.python.client import pywrap_tf_session

from tensortap.capture.errors import TapWarning
from tensortap.capture.tap import Tap
from tensortap.capture.watching.step_schedule import every
from tensortap.capture.watching.watch import Watch
from tensortap.core.errors import InvalidValueError
from tensortap.dump.recording.recording import array_hash
from tensortap.dump.recording.recording_files import find_recordings, read_recording
from tensortap.replay.execution.loaded_call import LoadedCall
from tensortap.tf.op_allowlist import ALLOWED_OPS, check_allowed, is_allowed

# What an op reaches -> patterns of the names of such ops.
REFUSED = {
    "files": r"""
        .*(Reader|File|Save|Restore|Checkpoint|RecordInput|Vocab|LoadAndRemap).* ImmutableConst
        Sharded.* (De|En)codeProto.* DumpTensor .*Summary(Db)?Writer.* Write.*Summary ImportEvent
        PrintV?2? Skipgram NegTrain FixedUnigram.* CalibrationStatisticsSaver CustomAggregator""",
    "debuggers, which write to files and addresses": r"""
        Debug.* Copy CopyHost""",
    "graphs and functions that were not checked": r"""
        .*Dataset.* OptionsDataset GetOptions WindowOp MapDefun ComputeBatchSize CheckPinned
        GetElementAtIndex For SymbolicGradient MlirPassthroughOp Batch(Function)? Unbatch(Grad)?
        XlaCallModule XlaLaunch.*
        Xla(If|While|Reduce|ReduceWindow|Scatter|SelectAndScatter|Variadic.*)
        .*(MemoryCache|StatsAggregator|ThreadPool|IterationCounter).* (Unc|C)ompressElement
        .*Iterator(?!GetNext(AsOptional|Sync)?$).*""",
    "machine code": r"""
        XlaCustomCall.*""",
    "Python": r"""
        (Eager)?PyFunc(Stateless)?""",
    "other machines and devices": r"""
        .*(TPU|Tpu|Infeed|Outfeed|Dedup|SparseCore|Minibatch|CooTensor|Prelinearize).*
        Xla(Sparse|Send|Recv|HostCompute|AllReduce|ReduceScatter|ReplicaId|Sharding|Spmd|ConcatND|SplitND).*
        XlaClusterOutput .*XlaSplitND .*XlaConcatND Collective.* Nccl.* Rpc.* DeleteRpc.*
        DTensor.* Relayout.* CopyToMesh.* Send Recv RemoteCall WorkerHeartbeat CrossReplicaSum
        AllToAll HostConst Device(Index|PlacementOp) SyncDevice GlobalIterId UpdateTaskId.*""",
    "state of the process": r"""
        .*(HashTable|LookupTable|InitializeTable|Queue|Accumulator|Mutex|SeedGenerator).*
        .*(SparseToTensorsMap|SparseFromTensorsMap|SessionHandle|SessionTensor).*
        Barrier.* (OrderedMap|Map)?(Uns|S)tage.* (Ordered)?Map(Clear|Peek|Size|IncompleteSize) VarHandleOp
        Variable(V2)? TemporaryVariable DestroyResourceOp DisableCopyOnRead MakeWeakResourceHandle
        IsResourceHandleRefCounting BoostedTrees.* IsBoostedTrees.* StubResourceHandleOp Abort
        Sleep.* Timestamp GetDeadline IsTensorFloat32Enabled GuaranteeConst DeepCopy Stack
        TensorArray(V2)? GraphDefVersion""",
    "a stream of its own": r"""
        Random(Crop|Gamma|Poisson|Shuffle|StandardNormal|Uniform|UniformInt)(V2)? Multinomial
        (Parameterized)?TruncatedNormal SampleDistorted.* .*CandidateSampler NonDeterministicInts
        CudnnRNN(Backprop)?(V\d)?""",
    "nothing, but is no part of a program": r"""
        _.* Risc.* Sdca.* AudioMicrofrontend KthOrderStatistic MakeUnique TopK(With)?Unique
        StochasticCastToInt StatelessRandomGetAlg XlaDequantize
        Xla(SetBound|.*DynamicDimensionSize) StridedSliceAssign TensorArray.*V2
        TensorArray(Close|Concat|Gather|Grad|Pack|Read|Scatter|Size|Split|Unpack|Write)
        Quantized(Conv2D|MatMul)(And|With|Per).* QuantizedDepthwise.* QuantizedConcatV2""",
    "nothing, but is an op of TensorFlow's own tests": r"""
        A B Attr.* Binary Unary Namespace>.* ComplexStruct MixedStruct SimpleStruct Simple
        (FiveFloat|Int|Int64|Float|List)(In|Out)puts? (Int|Float)(In|Out)put(Int|Float|String)(In|Out)put
        ConstructionFails CopyOp DefaultAttrs DtypeWithDefaultOp Fact Foo\d Func(List)?Attr
        IntAttr InPolymorphicTwice KernelLabel(Required)? N(In|Int|Polymorphic).* None Old
        OpWith.* Out(T|Type).* Polymorphic.* RequiresOlder.* Reserved.*
        Resource(Create|Initialized|Using)Op Restrict StringListAttr Test.* Two.* TypeList.*""",
}

NEVER = Watch(steps=[10**6])
REACHING_OUT = """
    DatasetFromGraph ImmutableConst CacheDataset SnapshotDatasetV2 InitializeTableFromTextFile
    XlaCustomCallV2 TPUPartitionedCall GenerateVocabRemapping ReaderReadV2 DecodeProtoV2 ReadFile PyFunc
    RestoreV2 MatchingFiles RemoteCall _Send DebugIdentityV3 WriteFile QueueDequeue Abort
    SymbolicGradient NoSuchOp"""


def all_ops() -> Iterable[Any]:
    found = OpList()
    found.ParseFromString(pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList()))
    return found.op


def refers(op: Any) -> bool:
    """Whether an op acts on memory that others hold, as variables of TensorFlow 1."""
    return any(argument.is_ref for argument in (*op.input_arg, *op.output_arg))


def is_of(kind: str, op: Any) -> bool:
    return any(re.fullmatch(pattern, op.name) for pattern in REFUSED[kind].split())


def kinds_of(op: Any) -> list[str]:
    kinds = [kind for kind in REFUSED if is_of(kind, op)]
    return [*kinds, *(["memory that others hold"] if refers(op) else [])]


def test_every_op_is_allowed_or_of_a_kind_that_is_refused() -> None:
    ops = list(all_ops())
    unknown = [op.name for op in ops if not is_allowed(op.name) and not kinds_of(op)]
    assert not unknown, f"look at them: do they only compute? Then name them in allowed_ops.py: {unknown}"
    dangerous = {op.name: kinds_of(op) for op in ops if is_allowed(op.name) and kinds_of(op)}
    assert not dangerous, dangerous
    names = " ".join(ALLOWED_OPS.values()).split()
    assert len(names) == len(set(names))
    assert set(names) <= {op.name for op in ops}, "no such op"
    assert len(ops) > 1500 and len(names) > 750


def test_each_pattern_is_needed() -> None:
    ops = list(all_ops())
    for patterns in REFUSED.values():
        for pattern in patterns.split():
            assert any(re.fullmatch(pattern, op.name) for op in ops), pattern


@pytest.mark.parametrize(
    "op_type",
    REACHING_OUT.split(),
)
def test_ops_that_reach_out_are_refused(op_type: str) -> None:
    with pytest.raises(InvalidValueError, match=f"the op {op_type} "):
        check_allowed([definition(op_type)])


def test_handles_and_calls_that_the_recording_does_not_have_are_refused() -> None:
    handle = definition("Const")
    handle.node_def[0].attr["dtype"].type = tf.resource.as_datatype_enum
    with pytest.raises(InvalidValueError, match="a handle made by the op Const"):
        check_allowed([handle])
    caller = definition("PartitionedCall")
    caller.node_def[0].attr["f"].func.name = "other"
    with pytest.raises(InvalidValueError, match="a missing function"):
        check_allowed([caller])
    check_allowed([caller, definition("NoOp", "other")])
    hidden = definition("Identity")
    hidden.node_def[0].attr["f"].list.func.add(name="f")
    with pytest.raises(InvalidValueError, match="a missing function"):
        check_allowed([hidden])


def test_what_a_step_prints_is_skipped_of_its_recording(tmp_path: Path) -> None:
    """What waits for it still waits for what it waited for."""
    weights = tf.Variable([1.0, 2.0])
    printed = f"file://{tmp_path}/printed.txt"
    with Tap(tmp_path / "run", NEVER, record=every(1)) as tap:

        @tap.function
        def step(x: tf.Tensor) -> tf.Tensor:
            before = weights.read_value()
            weights.assign_add(x)
            for _ in tf.range(2):
                tf.print("weights", weights, output_stream=printed)
                weights.assign(weights * 2.0)
            return before + tf.raw_ops.Empty(shape=[2], dtype=tf.float32, init=True)

        step(tf.constant([3.0, 4.0]))
    (place,) = find_recordings(tmp_path / "run")
    recording = read_recording(place.path)
    said = (tmp_path / "printed.txt").read_bytes()
    with LoadedCall(recording) as call:
        again = call.run()
        ops = [node.op for each in call.recorded.functions.values() for node in each.definition.node_def]
    assert tuple(map(array_hash, again.outputs)) == recording.output_hashes
    assert {number: array_hash(value) for number, value in again.variables.items()} == dict(
        recording.variable_hashes
    )
    assert weights.numpy().tolist() == [16.0, 24.0] and said.count(b"weights") == 2
    assert (tmp_path / "printed.txt").read_bytes() == said
    assert "PrintV2" not in ops


def test_what_cannot_run_again_is_said_when_it_would_be_recorded(tmp_path: Path) -> None:
    with (
        Tap(tmp_path / "run", NEVER, record=every(1)) as tap,
        pytest.warns(
            TapWarning, match=r"stamped cannot be recorded: it contains the op Timestamp \(node"
        ) as reported,
    ):

        @tap.function
        def stamped(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            return x * 2.0, tf.timestamp()

        for number in range(2):
            stamped(tf.constant(float(number)))
    assert len([each for each in reported if each.category is TapWarning]) == 1
    assert find_recordings(tmp_path / "run") == []


def definition(op_type: str, name: str = "f") -> Any:
    from tensorflow.core.framework.function_pb2 import FunctionDef

    made = FunctionDef()
    made.signature.name = name
    made.node_def.add(name="node", op=op_type)
    return made
