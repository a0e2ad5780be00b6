"""Single elements: which are not finite, and which elements of the inputs they come from.

`trace.py` walks upstream; `index_maps.py` says for each op which input elements an output element depends on,
`stored_elements.py` reads their stored values. A further op is one row of `index_maps.MAPS`.
"""
