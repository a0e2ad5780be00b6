"""The allowlist of ops in a recorded call: recordings are files, and running one must not access anything
else.

`ALLOWED_OPS`, by kind, are those that compute from their inputs, and do nothing else. All other ops are
refused, including ops of a later TensorFlow until they are checked. Not in the list is all that touches a
file (readers, checkpoints, vocabularies, `ImmutableConst`, `DecodeProtoV2`, whose attribute is a path), the
network or another device (sends, collectives, TPU, data services), Python, machine code (`XlaCustomCall`),
unchecked graphs (datasets: `DatasetFromGraph` runs one in a string), or state of the process
(queues, tables, barriers, variables by name). `tests/capture/test_op_allowlist.py` goes through
all ops of the installed TensorFlow: each is here, or of a kind that is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import tensorflow as tf

from tensortap.core.errors import InvalidValueError
from tensortap.tfproto.function_calls import callees

from . import internals

ALLOWED_OPS: Mapping[str, str] = {
    # Values, shapes, places of elements. The in-place ones write to the tensor that they are given.
    "arrays": """
        Any BatchMatrixBandPart BatchMatrixDiag BatchMatrixDiagPart BatchMatrixSetDiag BatchToSpace
        BatchToSpaceND Bitcast BitwiseAnd BitwiseOr BitwiseXor BroadcastArgs BroadcastGradientArgs
        BroadcastTo CompositeTensorVariantFromComponents CompositeTensorVariantToComponents Concat
        ConcatOffset ConcatV2 ConjugateTranspose Const DenseToDenseSetOperation
        DenseToSparseSetOperation DepthToSpace Diag DiagPart DynamicPartition DynamicStitch
        EditDistance Empty EnsureShape ExpandDims ExtractImagePatches ExtractVolumePatches Fill
        Fingerprint Gather GatherNd GatherV2 Identity IdentityN InplaceAdd InplaceSub InplaceUpdate
        Invert InvertPermutation LeftShift ListDiff LowerBound MatrixBandPart MatrixDiag
        MatrixDiagPart MatrixDiagPartV2 MatrixDiagPartV3 MatrixDiagV2 MatrixDiagV3 MatrixSetDiag
        MatrixSetDiagV2 MatrixSetDiagV3 MirrorPad MirrorPadGrad OneHot OnesLike Pack Pad PadV2
        ParallelConcat ParallelDynamicStitch Placeholder PlaceholderV2 PlaceholderWithDefault
        PopulationCount PreventGradient Rank Reshape Reverse ReverseSequence ReverseV2 RightShift Roll
        ScatterNd ScatterNdNonAliasingAdd SetSize Shape ShapeN Size Slice Snapshot SpaceToBatch
        SpaceToBatchND SpaceToDepth SparseToSparseSetOperation Split SplitV Squeeze StopGradient
        StridedSlice StridedSliceGrad TensorScatterAdd TensorScatterMax TensorScatterMin
        TensorScatterSub TensorScatterUpdate TensorStridedSliceUpdate Tile TileGrad Transpose Unique
        UniqueV2 UniqueWithCounts UniqueWithCountsV2 Unpack UnravelIndex UpperBound Where ZerosLike""",
    # Numbers.
    "math": """
        Abs AccumulateNV2 Acos Acosh Add AddN AddV2 All Angle ApproximateEqual ArgMax ArgMin Asin
        Asinh Atan Atan2 Atanh BatchMatMul BatchMatMulV2 BatchMatMulV3 BesselI0 BesselI0e BesselI1
        BesselI1e BesselJ0 BesselJ1 BesselK0 BesselK0e BesselK1 BesselK1e BesselY0 BesselY1 Betainc
        Bincount Bucketize Cast Ceil ClipByValue Complex ComplexAbs Conj Cos Cosh Cross Cumprod Cumsum
        CumulativeLogsumexp Dawsn DenseBincount Digamma Div DivNoNan Equal Erf Erfc Erfinv
        EuclideanNorm Exp Expint Expm1 Floor FloorDiv FloorMod FresnelCos FresnelSin Greater
        GreaterEqual HistogramFixedWidth Igamma IgammaGradA Igammac Imag Inv InvGrad IsFinite IsInf
        IsNan Less LessEqual Lgamma LinSpace Log Log1p LogicalAnd LogicalNot LogicalOr MatMul Max
        Maximum Mean Min Minimum Mod Mul MulNoNan Ndtri Neg NextAfter NotEqual Polygamma Pow Prod
        RaggedBincount Range Real RealDiv Reciprocal ReciprocalGrad Rint Round Rsqrt RsqrtGrad
        SegmentMax SegmentMaxV2 SegmentMean SegmentMin SegmentMinV2 SegmentProd SegmentProdV2
        SegmentSum SegmentSumV2 Select SelectV2 Sigmoid SigmoidGrad Sign Sin Sinh SobolSample
        SparseBincount SparseMatMul SparseSegmentMean SparseSegmentMeanGrad SparseSegmentMeanGradV2
        SparseSegmentMeanWithNumSegments SparseSegmentSqrtN SparseSegmentSqrtNGrad
        SparseSegmentSqrtNGradV2 SparseSegmentSqrtNWithNumSegments SparseSegmentSum
        SparseSegmentSumGrad SparseSegmentSumGradV2 SparseSegmentSumWithNumSegments Spence Sqrt
        SqrtGrad Square SquaredDifference Sub Sum Tan Tanh TanhGrad TruncateDiv TruncateMod
        UnsortedSegmentMax UnsortedSegmentMin UnsortedSegmentProd UnsortedSegmentSum Xdivy Xlog1py
        Xlogy Zeta""",
    # Matrices, and Fourier transforms.
    "linear algebra": """
        BandedTriangularSolve BatchCholesky BatchCholeskyGrad BatchFFT BatchFFT2D BatchFFT3D BatchIFFT
        BatchIFFT2D BatchIFFT3D BatchMatrixDeterminant BatchMatrixInverse BatchMatrixSolve
        BatchMatrixSolveLs BatchMatrixTriangularSolve BatchSelfAdjointEig BatchSelfAdjointEigV2
        BatchSvd Cholesky CholeskyGrad Eig Einsum FFT FFT2D FFT3D FFTND IFFT IFFT2D IFFT3D IFFTND
        IRFFT IRFFT2D IRFFT3D IRFFTND LogMatrixDeterminant Lu MatrixDeterminant MatrixExponential
        MatrixInverse MatrixLogarithm MatrixSolve MatrixSolveLs MatrixSquareRoot MatrixTriangularSolve
        Qr RFFT RFFT2D RFFT3D RFFTND SelfAdjointEig SelfAdjointEigV2 Svd TridiagonalMatMul
        TridiagonalSolve""",
    # Layers, losses, pooling, clusters; of cuDNN what only rearranges weights.
    "neural networks": """
        ApproxTopK AvgPool AvgPool3D AvgPool3DGrad AvgPoolGrad BatchNormWithGlobalNormalization
        BatchNormWithGlobalNormalizationGrad BiasAdd BiasAddGrad BiasAddV1 BlockLSTM BlockLSTMGrad
        BlockLSTMGradV2 BlockLSTMV2 CTCBeamSearchDecoder CTCGreedyDecoder CTCLoss CTCLossV2
        ComputeAccidentalHits Conv Conv2D Conv2DBackpropFilter Conv2DBackpropFilterV2
        Conv2DBackpropInput Conv2DBackpropInputV2 Conv3D Conv3DBackpropFilter Conv3DBackpropFilterV2
        Conv3DBackpropInput Conv3DBackpropInputV2 CudnnRNNCanonicalToParams
        CudnnRNNCanonicalToParamsV2 CudnnRNNParamsSize CudnnRNNParamsToCanonical
        CudnnRNNParamsToCanonicalV2 DataFormatDimMap DataFormatVecPermute DepthwiseConv2dNative
        DepthwiseConv2dNativeBackpropFilter DepthwiseConv2dNativeBackpropInput Dilation2D
        Dilation2DBackpropFilter Dilation2DBackpropInput Elu EluGrad FractionalAvgPool
        FractionalAvgPoolGrad FractionalMaxPool FractionalMaxPoolGrad FusedBatchNorm
        FusedBatchNormGrad FusedBatchNormGradV2 FusedBatchNormGradV3 FusedBatchNormV2 FusedBatchNormV3
        FusedPadConv2D FusedResizeAndPadConv2D GRUBlockCell GRUBlockCellGrad InTopK InTopKV2
        IsotonicRegression KMC2ChainInitialization KmeansPlusPlusInitialization L2Loss LRN LRNGrad
        LSTMBlockCell LSTMBlockCellGrad LeakyRelu LeakyReluGrad LogSoftmax MaxPool MaxPool3D
        MaxPool3DGrad MaxPool3DGradGrad MaxPoolGrad MaxPoolGradGrad MaxPoolGradGradV2
        MaxPoolGradGradWithArgmax MaxPoolGradV2 MaxPoolGradWithArgmax MaxPoolV2 MaxPoolWithArgmax
        NearestNeighbors NthElement Relu Relu6 Relu6Grad ReluGrad Selu SeluGrad Softmax
        SoftmaxCrossEntropyWithLogits Softplus SoftplusGrad Softsign SoftsignGrad
        SparseSoftmaxCrossEntropyWithLogits TopK TopKV2""",
    # Decoders read the bytes that they are given, never a path.
    "images and audio": """
        AdjustContrast AdjustContrastv2 AdjustHue AdjustSaturation AudioSpectrogram
        CombinedNonMaxSuppression CropAndResize CropAndResizeGradBoxes CropAndResizeGradImage
        DecodeAndCropJpeg DecodeBmp DecodeGif DecodeImage DecodeJpeg DecodeJxl DecodePng DecodeWav
        DecodeWebP DrawBoundingBoxes DrawBoundingBoxesV2 EncodeJpeg EncodeJpegVariableQuality
        EncodePng EncodeWav ExtractGlimpse ExtractGlimpseV2 ExtractJpegShape
        GenerateBoundingBoxProposals HSVToRGB ImageProjectiveTransformV2 ImageProjectiveTransformV3
        Mfcc NonMaxSuppression NonMaxSuppressionV2 NonMaxSuppressionV3 NonMaxSuppressionV4
        NonMaxSuppressionV5 NonMaxSuppressionWithOverlaps RGBToHSV ResizeArea ResizeBicubic
        ResizeBicubicGrad ResizeBilinear ResizeBilinearGrad ResizeNearestNeighbor
        ResizeNearestNeighborGrad ScaleAndTranslate ScaleAndTranslateGrad
        StatelessSampleDistortedBoundingBox""",
    # Without the fused kernels of quantized inference.
    "quantization": """
        Dequantize FakeQuantWithMinMaxArgs FakeQuantWithMinMaxArgsGradient FakeQuantWithMinMaxVars
        FakeQuantWithMinMaxVarsGradient FakeQuantWithMinMaxVarsPerChannel
        FakeQuantWithMinMaxVarsPerChannelGradient QuantizeAndDequantize QuantizeAndDequantizeV2
        QuantizeAndDequantizeV3 QuantizeAndDequantizeV4 QuantizeAndDequantizeV4Grad
        QuantizeDownAndShrinkRange QuantizeV2 QuantizedAdd QuantizedAvgPool
        QuantizedBatchNormWithGlobalNormalization QuantizedBiasAdd QuantizedConcat QuantizedConv2D
        QuantizedInstanceNorm QuantizedMatMul QuantizedMaxPool QuantizedMul QuantizedRelu
        QuantizedRelu6 QuantizedReluX QuantizedReshape QuantizedResizeBilinear RequantizationRange
        RequantizationRangePerChannel Requantize RequantizePerChannel UniformDequantize
        UniformQuantize UniformQuantizedAdd UniformQuantizedClipByValue UniformQuantizedConvolution
        UniformQuantizedConvolutionHybrid UniformQuantizedDot UniformQuantizedDotHybrid
        UniformRequantize""",
    # Without SparseTensorsMap, a state that lives in the process.
    "sparse and ragged": """
        CSRSparseMatrixComponents CSRSparseMatrixToDense CSRSparseMatrixToSparseTensor
        DenseCountSparseOutput DenseToCSRSparseMatrix DeserializeManySparse DeserializeSparse
        RaggedCountSparseOutput RaggedCross RaggedFillEmptyRows RaggedFillEmptyRowsGrad RaggedGather
        RaggedRange RaggedTensorFromVariant RaggedTensorToSparse RaggedTensorToTensor
        RaggedTensorToVariant RaggedTensorToVariantGradient SerializeManySparse SerializeSparse
        SparseAdd SparseAddGrad SparseConcat SparseCountSparseOutput SparseCross SparseCrossHashed
        SparseCrossV2 SparseDenseCwiseAdd SparseDenseCwiseDiv SparseDenseCwiseMul SparseFillEmptyRows
        SparseFillEmptyRowsGrad SparseMatrixAdd SparseMatrixMatMul SparseMatrixMul SparseMatrixNNZ
        SparseMatrixOrderingAMD SparseMatrixSoftmax SparseMatrixSoftmaxGrad SparseMatrixSparseCholesky
        SparseMatrixSparseMatMul SparseMatrixTranspose SparseMatrixZeros SparseReduceMax
        SparseReduceMaxSparse SparseReduceSum SparseReduceSumSparse SparseReorder SparseReshape
        SparseSlice SparseSliceGrad SparseSoftmax SparseSparseMaximum SparseSparseMinimum SparseSplit
        SparseTensorDenseAdd SparseTensorDenseMatMul SparseTensorToCSRSparseMatrix SparseToDense""",
    # Strings, and parsers of strings. Summaries are strings here: what writes them to a file is missing.
    "text": """
        AsString AudioSummary AudioSummaryV2 DecodeBase64 DecodeCSV DecodeCompressed DecodeJSONExample
        DecodePaddedRaw DecodeRaw EncodeBase64 HistogramSummary ImageSummary MergeSummary ParseExample
        ParseExampleV2 ParseSequenceExample ParseSequenceExampleV2 ParseSingleExample
        ParseSingleSequenceExample ParseTensor ReduceJoin RegexFullMatch RegexReplace ScalarSummary
        SerializeTensor StaticRegexFullMatch StaticRegexReplace StringFormat StringJoin StringLength
        StringLower StringNGrams StringSplit StringSplitV2 StringStrip StringToHashBucket
        StringToHashBucketFast StringToHashBucketStrong StringToNumber StringUpper Substr
        TensorSummary TensorSummaryV2 UnicodeDecode UnicodeDecodeWithOffsets UnicodeEncode
        UnicodeScript UnicodeTranscode UnsortedSegmentJoin""",
    # Draws from a seed that is an input, or from a generator, which is a variable. Draws of ops with
    # a separate stream are recorded instead.
    "random": """
        RandomGammaGrad RandomIndexShuffle RngReadAndSkip RngSkip StatefulRandomBinomial
        StatefulStandardNormal StatefulStandardNormalV2 StatefulTruncatedNormal StatefulUniform
        StatefulUniformFullInt StatefulUniformInt StatelessMultinomial
        StatelessParameterizedTruncatedNormal StatelessRandomBinomial StatelessRandomGammaV2
        StatelessRandomGammaV3 StatelessRandomGetKeyCounter StatelessRandomGetKeyCounterAlg
        StatelessRandomNormal StatelessRandomNormalV2 StatelessRandomPoisson StatelessRandomUniform
        StatelessRandomUniformFullInt StatelessRandomUniformFullIntV2 StatelessRandomUniformInt
        StatelessRandomUniformIntV2 StatelessRandomUniformV2 StatelessShuffle StatelessTruncatedNormal
        StatelessTruncatedNormalV2""",
    # Lists, maps, optionals, and arrays and stacks that live as long as the call does.
    "lists": """
        EmptyTensorList EmptyTensorMap OptionalFromValue OptionalGetValue OptionalHasValue
        OptionalNone StackCloseV2 StackPopV2 StackPushV2 StackV2 TensorArrayCloseV3
        TensorArrayConcatV3 TensorArrayGatherV3 TensorArrayGradV3 TensorArrayGradWithShape
        TensorArrayReadV3 TensorArrayScatterV3 TensorArraySizeV3 TensorArraySplitV3 TensorArrayV3
        TensorArrayWriteV3 TensorListConcat TensorListConcatLists TensorListConcatV2
        TensorListElementShape TensorListFromTensor TensorListGather TensorListGetItem
        TensorListLength TensorListPopBack TensorListPushBack TensorListPushBackBatch
        TensorListReserve TensorListResize TensorListScatter TensorListScatterIntoExistingList
        TensorListScatterV2 TensorListSetItem TensorListSplit TensorListStack TensorMapErase
        TensorMapHasKey TensorMapInsert TensorMapLookup TensorMapSize TensorMapStackKeys""",
    # And calls: their functions are in the recording, and checked as well.
    "control flow": """
        Assert Case CheckNumerics CheckNumericsV2 ControlTrigger Enter Exit FakeParam If LoopCond
        Merge NextIteration NoOp PartitionedCall StatefulPartitionedCall StatelessCase StatelessIf
        StatelessWhile Switch ToBool While""",
    # Reads and changes variables by a handle, which is an input of the call.
    "variables": """
        AssignAddVariableOp AssignSubVariableOp AssignVariableOp ReadVariableOp ResourceApplyAdaMax
        ResourceApplyAdadelta ResourceApplyAdagrad ResourceApplyAdagradDA ResourceApplyAdagradV2
        ResourceApplyAdam ResourceApplyAdamWithAmsgrad ResourceApplyAddSign
        ResourceApplyCenteredRMSProp ResourceApplyFtrl ResourceApplyFtrlV2
        ResourceApplyGradientDescent ResourceApplyKerasMomentum ResourceApplyMomentum
        ResourceApplyPowerSign ResourceApplyProximalAdagrad ResourceApplyProximalGradientDescent
        ResourceApplyRMSProp ResourceCountUpTo ResourceGather ResourceGatherNd ResourceScatterAdd
        ResourceScatterDiv ResourceScatterMax ResourceScatterMin ResourceScatterMul
        ResourceScatterNdAdd ResourceScatterNdMax ResourceScatterNdMin ResourceScatterNdSub
        ResourceScatterNdUpdate ResourceScatterSub ResourceScatterUpdate ResourceSparseApplyAdadelta
        ResourceSparseApplyAdagrad ResourceSparseApplyAdagradDA ResourceSparseApplyAdagradV2
        ResourceSparseApplyCenteredRMSProp ResourceSparseApplyFtrl ResourceSparseApplyFtrlV2
        ResourceSparseApplyKerasMomentum ResourceSparseApplyMomentum
        ResourceSparseApplyProximalAdagrad ResourceSparseApplyProximalGradientDescent
        ResourceSparseApplyRMSProp ResourceStridedSliceAssign VarIsInitializedOp VariableShape""",
    # Draws the next element of an iterator, which is an input of the call and yields the recorded elements.
    "input": """
        IteratorGetNext IteratorGetNextAsOptional IteratorGetNextSync""",
    # Single operations of XLA: no custom calls, modules or sends, nothing that calls or spreads over devices.
    "xla": """
        XlaBroadcastHelper XlaConv XlaConvV2 XlaDot XlaDotV2 XlaDynamicSlice XlaDynamicUpdateSlice
        XlaEinsum XlaGather XlaKeyValueSort XlaOptimizationBarrier XlaPad XlaReducePrecision
        XlaRngBitGenerator XlaSelfAdjointEig XlaSort XlaSvd""",
}
"""Kind -> names, parted by white space."""

_ALLOWED = frozenset(" ".join(ALLOWED_OPS.values()).split())
# Ops that make tensors of bytes that the recording holds, with the attribute that is the tensor's dtype. A
# handle made so could name what the call was not given; a variant is an object of any kind.
_FROM_BYTES = {
    "Const": "dtype",
    "DeserializeManySparse": "dtype",
    "DeserializeSparse": "dtype",
    "ParseTensor": "out_type",
}
_HANDLES = (tf.resource.as_datatype_enum, tf.variant.as_datatype_enum)
_HINT = "Only ops that compute, and variables of the recording, are replayed."


def check_allowed(definitions: Sequence[Any]) -> None:
    """Refuses functions with ops that reach files, the network, Python, or state outside the call.

    Args:
        definitions: the FunctionDefs of all that is called.

    Raises:
        InvalidValueError: names the first node that is refused.
    """
    why = refused(definitions)
    if why:
        raise InvalidValueError(f"The recording contains {why}, which is not allowed.", _HINT)


def refused(definitions: Sequence[Any]) -> str:
    """The first node that is not run again: `the op PyFunc (node 'call')`; empty if all are."""
    known = {str(definition.signature.name) for definition in definitions}
    for definition in definitions:
        for node in definition.node_def:
            what = _refused(node, known)
            if what:
                return f"{what} (node {node.name[:120]!r})"
    return ""


def is_allowed(op_type: str) -> bool:
    """Whether an op only computes, or only accesses the variables and iterators that it gets."""
    return op_type in _ALLOWED and internals.is_known(op_type)


def _refused(node: Any, known: set[str]) -> str:
    if not is_allowed(node.op):
        return f"the op {node.op[:120]}"
    if node.op in _FROM_BYTES and node.attr[_FROM_BYTES[node.op]].type in _HANDLES:
        return f"a handle made by the op {node.op}"
    called = {callee.function for callee in callees(node)}
    if not known.issuperset(called) or not called.issuperset(_functions(node.attr.values())):
        return f"a call of a missing function by the op {node.op}"
    return ""


def _functions(attributes: Iterable[Any]) -> Iterator[str]:
    for value in attributes:
        if value.HasField("func"):
            yield value.func.name
        yield from (function.name for function in value.list.func)
