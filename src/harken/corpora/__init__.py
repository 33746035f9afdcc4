"""Raw files to Dialogue records: one reader per corpus, one table of them all, one store."""
