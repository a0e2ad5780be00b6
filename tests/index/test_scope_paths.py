"""Display paths: function bodies below their calling node, wrappers looked through, every path unique."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tensortap.index.graph.scope_paths import display_paths


def paths(nodes, functions):
    """nodes: {name: function}; functions: {name: (caller, role)}."""
    names, function_of = list(nodes), list(nodes.values())
    table = {name: {"caller": caller, "role": role} for name, (caller, role) in functions.items()}
    found = display_paths(names, function_of, table, {name: i for i, name in enumerate(names)})
    return dict(zip(names, found, strict=True))


def test_nodes_of_one_function_keep_their_names():
    assert paths({"a/b": "f", "a/c": "f"}, {"f": (None, "root")}) == {"a/b": "a/b", "a/c": "a/c"}
    assert paths({"a": ""}, {}) == {"a": "a"}


def test_bodies_lie_below_the_calling_node_with_their_role():
    nodes = {
        "x": "f",
        "y": "f",
        "while": "f",
        "while/add": "b",
        "while/less": "c",
        "inner": "b",
        "inner/z": "d",
    }
    functions = {
        "f": (None, "root"),
        "b": ("while", "body"),
        "c": ("while", "cond"),
        "d": ("inner", "call"),
    }
    assert paths(nodes, functions) == {
        "x": "x",
        "y": "y",
        "while": "while",
        "while/add": "while/body/add",
        "while/less": "while/cond/less",
        "inner": "while/body/inner",
        "inner/z": "while/body/inner/z",
    }


def test_scopes_shared_with_the_calling_node_are_not_repeated():
    nodes = {"x": "f", "y": "f", "z": "f", "tape/rnn/while/rnn/while_grad": "f"}
    body = {"tape/rnn/while/gradients/Add": "b", "tape/rnn/mul": "b", "tape/rnnx/mul": "b", "other": "b"}
    functions = {"f": (None, "root"), "b": ("tape/rnn/while/rnn/while_grad", "body")}
    found = paths(nodes | body, functions)
    drawn = [found[name].removeprefix("tape/rnn/while/rnn/while_grad/body/") for name in body]
    assert drawn == ["gradients/Add", "mul", "rnnx/mul", "other"]


def test_they_are_repeated_where_paths_would_be_equal():
    nodes = {"a": "f", "b": "f", "s/loop": "f", "s/loop/add": "b", "s/add": "b", "add": "b"}
    found = paths(nodes, {"f": (None, "root"), "b": ("s/loop", "body")})
    drawn = [found[name] for name in ("s/loop/add", "s/add", "add")]
    assert drawn == ["s/loop/body/add", "s/loop/body/s/add", "s/loop/body/add (2)"]


def test_branches_of_one_role_are_numbered():
    nodes = {"case": "f", "p": "f", "q": "f", "a": "b0", "b": "b1"}
    found = paths(nodes, {"f": (None, "root"), "b0": ("case", "branch"), "b1": ("case", "branch")})
    assert (found["a"], found["b"]) == ("case/branch/a", "case/branch_2/b")


def test_wrappers_are_looked_through():
    nodes = {
        "iterator": "outer",
        "Call": "outer",
        "Call_1": "step",
        "dense/Relu": "step",
        "m": "model",
        "n": "model",
    }
    functions = {"outer": (None, "root"), "step": ("Call", "call"), "model": ("Call_1", "call")}
    assert paths(nodes, functions) == {name: name for name in nodes}


def test_a_function_with_much_of_its_own_is_no_wrapper():
    nodes = {"a": "f", "b": "f", "c": "f", "Call": "f", "x": "g"}
    assert paths(nodes, {"f": (None, "root"), "g": ("Call", "call")})["x"] == "Call/x"


def test_a_loop_is_no_wrapper():
    nodes = {"while": "f", "x": "g", "y": "g", "z": "g"}
    assert paths(nodes, {"f": (None, "root"), "g": ("while", "body")})["x"] == "while/body/x"


def test_of_several_roots_none_is_a_wrapper():
    nodes = {"Call": "f", "other": "e", "x": "g", "y": "g", "z": "g"}
    assert paths(nodes, {"f": (None, "root"), "e": (None, "root"), "g": ("Call", "call")})["x"] == "Call/x"


NAME = st.sampled_from(["a", "b", "a/b", "a/body", "a/body/b", "while", "while/a", "a/a", "a (2)"])
FUNCTION = st.sampled_from(["f", "g", "h"])
ROLE = st.sampled_from(["call", "body", "cond"])


@given(
    st.dictionaries(NAME, FUNCTION, min_size=1),
    st.dictionaries(FUNCTION, st.tuples(st.none() | NAME, ROLE)),
)
def test_any_functions_give_unique_paths(nodes, functions):
    """Callers that do not exist and functions that call each other in a circle included."""
    found = paths(nodes, functions)
    assert len(set(found.values())) == len(nodes)
    assert all(label(path) == label(name) for name, path in found.items())


def label(path):
    """The last part of a path, without the number that makes it unique."""
    return path.rsplit("/", 1)[-1].split(" (")[0]


def test_handles_of_variables_lie_in_a_scope_of_their_own():
    names, function_of = ["x", "w", "call", "b/w"], ["f", "f", "f", "g"]
    functions = {"f": {"caller": None, "role": "root"}, "g": {"caller": "call", "role": "then"}}
    rows = {name: row for row, name in enumerate(names)}
    assert display_paths(names, function_of, functions, rows, {1, 3}) == [
        "x",
        "variables/w",
        "call",
        "call/then/variables/b/w",
    ]


def test_nodes_that_tensorflow_calls_unknown_get_the_name_that_is_known():
    names, function_of = ["unknown", "x", "call", "call/unknown", "call/unknown_0"], ["f", "f", "f", "g", "g"]
    functions = {"f": {"caller": None, "role": "root"}, "g": {"caller": "call", "role": "call"}}
    rows = {name: row for row, name in enumerate(names)}
    known = {0: "dense/kernel", 3: "dense/kernel", 4: "Const_1"}
    assert display_paths(names, function_of, functions, rows, {0, 3}, known) == [
        "variables/dense/kernel",
        "x",
        "call",
        "call/variables/dense/kernel",
        "call/Const_1",
    ]
    flat = ["f"] * len(names)
    assert display_paths(names, flat, {"f": functions["f"]}, rows, {0, 3}, known)[3] == (
        "variables/call/dense/kernel"
    ), "two nodes of one variable stay apart"
