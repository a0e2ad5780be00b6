"""Tests of a model that replay makes."""
