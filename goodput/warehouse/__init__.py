"""From the lake to the models: plain numbered SQL, run by DuckDB."""
