"""Single elements: which are not finite, and which elements of the inputs they come from.

`trace.py` walks upstream; `index_maps.py` says for each op which input elements an output element is made
of, `stored_elements.py` reads them as far as values were stored. A further op is one row of
`index_maps.MAPS`.
"""
