"""TensorFlow's files: TensorBoard's events, checkpoints, SavedModels, GraphDefs.

Messages are parsed by `protos.py` without TensorFlow, tables of checkpoints by `leveldb_table.py`; graphs
become the dump's by `graphdef.py`. Begin reading at `event_files.py`, `checkpoints.py` or `saved_model.py`.
"""
