"""Graphs as training makes them, of any size: transformer towers, gradients, and a flat optimizer scope."""

from __future__ import annotations

from collections.abc import Iterator

from tensortap.core.records import Graph, Node

_SHAPE = (8, 16, 32)
_BLOCKS_PER_STAGE = 4


class _Nodes:
    """Nodes in the order in which they are made, and the variables that they read."""

    def __init__(self) -> None:
        self.made: list[Node] = []
        self.variables: list[str] = []

    def add(self, name: str, op_type: str, *inputs: str) -> str:
        layer = name.rpartition("/")[0] if name.startswith("tower_") else ""
        shapes = {"output_dtypes": ("float32",), "output_shapes": (_SHAPE,)}
        self.made.append(Node(name, op_type, inputs, layer=layer, device="/CPU:0", **shapes))
        return f"{name}:0"

    def read(self, scope: str) -> str:
        variable = self.add(f"{scope}/resource", "VarHandleOp")
        self.variables.append(variable)
        return self.add(scope, "ReadVariableOp", variable)

    def dense(self, scope: str, x: str) -> str:
        product = self.add(f"{scope}/MatMul", "MatMul", x, self.read(f"{scope}/MatMul/ReadVariableOp"))
        return self.add(f"{scope}/BiasAdd", "BiasAdd", product, self.read(f"{scope}/BiasAdd/ReadVariableOp"))

    def norm(self, scope: str, x: str) -> str:
        axes = self.add(f"{scope}/moments/axes", "Const")
        mean = self.add(f"{scope}/moments/mean", "Mean", x, axes)
        stopped = self.add(f"{scope}/moments/StopGradient", "StopGradient", mean)
        squares = self.add(f"{scope}/moments/SquaredDifference", "SquaredDifference", x, stopped)
        variance = self.add(f"{scope}/moments/variance", "Mean", squares, axes)
        factor = self.add(f"{scope}/batchnorm/Rsqrt", "Rsqrt", variance)
        scaled = self.add(f"{scope}/batchnorm/mul", "Mul", factor, self.read(f"{scope}/batchnorm/mul/Read"))
        shifted = self.add(f"{scope}/batchnorm/mul_1", "Mul", x, scaled)
        return self.add(f"{scope}/batchnorm/add", "AddV2", shifted, mean)

    def block(self, scope: str, x: str) -> str:
        h = self.norm(f"{scope}/attention/LayerNorm", x)
        parts = [f"{scope}/attention/self/{part}" for part in ("query", "key", "value")]
        query, key, value = (self.dense(part, h) for part in parts)
        scores = self.add(f"{scope}/attention/self/scores/MatMul", "BatchMatMulV2", query, key)
        share = self.add(f"{scope}/attention/self/scores/Softmax", "Softmax", scores)
        context = self.add(f"{scope}/attention/self/context", "BatchMatMulV2", share, value)
        x = self.add(f"{scope}/attention/add", "AddV2", x, self.dense(f"{scope}/attention/output", context))
        h = self.norm(f"{scope}/ffn/LayerNorm", x)
        h = self.add(f"{scope}/ffn/Gelu", "Relu", self.dense(f"{scope}/ffn/intermediate", h))
        return self.add(f"{scope}/ffn/add", "AddV2", x, self.dense(f"{scope}/ffn/output", h))

    def gradients(self) -> list[str]:
        """Two nodes for each forward node that computes, fed by it and by the gradient made before."""
        upstream = self.add("gradients/Fill", "Fill")
        for node in reversed(list(self.made)):
            if node.op_type in ("Const", "VarHandleOp", "ReadVariableOp", "Fill"):
                continue
            scope = f"gradients/{node.name}_grad"
            product = self.add(f"{scope}/Mul", "Mul", upstream, f"{node.name}:0")
            upstream = self.add(f"{scope}/Reshape", "Reshape", product, self.add(f"{scope}/Shape", "Const"))
        return [upstream] * len(self.variables)

    def optimizer(self, gradients: list[str]) -> None:
        rate = self.add("adam/learning_rate", "Const")
        beta = self.add("adam/beta_1", "Const")
        for i, (variable, gradient) in enumerate(zip(self.variables, gradients, strict=True)):
            momentum = self.add(f"adam/Mul_{i}", "Mul", gradient, beta)
            squared = self.add(f"adam/Square_{i}", "Square", gradient)
            root = self.add(f"adam/Sqrt_{i}", "Sqrt", self.add(f"adam/AddV2_{i}", "AddV2", squared, beta))
            scaled = self.add(f"adam/mul_{i}", "Mul", momentum, rate)
            step = self.add(f"adam/truediv_{i}", "RealDiv", scaled, root)
            self.add(f"adam/AssignSubVariableOp_{i}", "AssignSubVariableOp", variable, step)


def _scopes(blocks: int) -> Iterator[str]:
    towers = 1 if blocks < 32 else 4
    for block in range(blocks):
        stage, rest = divmod(block // towers, _BLOCKS_PER_STAGE)
        yield f"tower_{block % towers}/encoder/stage_{stage}/block_{rest}"


def towers(nodes: int) -> Graph:
    """A graph of about `nodes` nodes; the same one for the same number."""
    made = _built(1)
    per_block = len(_built(2)) - len(made)
    blocks = max(1, round((nodes - len(made)) / per_block) + 1)
    return Graph(name=f"train_step_{nodes}", nodes=_built(blocks))


def _built(blocks: int) -> list[Node]:
    nodes = _Nodes()
    ends: dict[str, str] = {}
    for scope in _scopes(blocks):
        tower = scope.partition("/")[0]
        x = ends.get(tower) or nodes.add(f"{tower}/inputs/features", "Placeholder")
        ends[tower] = nodes.block(scope, x)
    losses = [nodes.add(f"{tower}/loss/Mean", "Mean", end) for tower, end in ends.items()]
    nodes.add("total_loss/AddN", "AddN", *losses)
    nodes.optimizer(nodes.gradients())
    return nodes.made
