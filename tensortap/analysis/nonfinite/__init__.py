"""Where NaN and infinities originate at a step, why, how they propagate and what they reach.

`nonfinite_flow.py` judges every non-finite tensor of a graph, `step_flow.py` those of all calls of a step;
`upstream.py` finds the inputs of one, `reach.py` everything downstream. `patterns` explains an origin,
`expected.py` recognizes expected ones, `elements` follows single elements upstream. `nan_report.py` puts them
together and `report_text.py` words the report. A pattern is one function in `patterns` and one row of a table
there. Imports `model_graph` and `run_view`. Begin with `nan_report.py`.
"""
