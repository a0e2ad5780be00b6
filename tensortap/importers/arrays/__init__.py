"""Files of arrays: npy, npz, HDF5, safetensors."""
