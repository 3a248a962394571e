"""Legate's names over Numloom. Nothing is imported here: the command reads its flags before Numloom is."""
