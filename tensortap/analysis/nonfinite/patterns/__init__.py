"""Known patterns that make values non-finite (log of 0, 0/0, overflow, …).

A pattern is a function of a node's operands and output in one of these modules, and a row with the op type
in the table at that module's end; `pattern_table.py` joins the tables.
"""
