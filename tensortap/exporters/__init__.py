"""Runs, or some of their snapshots, as files of other formats, from CSV to TensorBoard's.

An exporter is a function of the type `base.Export` and one row of `registry.EXPORTERS`. Imports the index and
lower packages. Begin with `registry.exporter_for`.
"""
