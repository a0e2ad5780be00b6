"""TensorFlow's protocol buffers and record files, read and written without TensorFlow.

`proto_classes.py` holds the message classes and parses bytes. `tensor_proto.py`
turns TensorProto into arrays, `attributes.py` attributes into text, `function_calls.py` says which node of a
GraphDef calls which function, `tfrecord.py` frames records. Functions take messages of any generated class
(TensorFlow's or TensorBoard's), or bytes. Imports core only. Begin with `proto_classes.py`.
"""
