"""Readers: bytes of live sources and of dumped files become typed raw rows."""
