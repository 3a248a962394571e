"""Profiles made without a run, for the tests of the viewer and for its benchmark."""
