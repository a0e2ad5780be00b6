"""Files of named arrays: npy, npz, HDF5 and Keras, safetensors.

Each format yields `StoredArray`s, read one by one, so that a large file is never held whole. A new one is
a file here and a row of `ARRAY_FORMATS` in `array_folder.py`: it can then be imported alone and in folders.
HDF5 is read in a separate process (`hdf5_child.py`), because its library trusts files.
"""
