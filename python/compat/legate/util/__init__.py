"""Legate's tools for programs: benchmarks, facts about the run, settings. Nothing is imported here."""
