"""Speed and memory, measured: `make bench` runs every module here that has `run()` and writes benchmarks/results/NAME.md.

`run()` yields (what, value, unit) rows. The other modules are tools: `reproduce` trains the runs of docs/results.md,
`results_page` writes it, `widened_vectors` makes word vectors for it, `conversations` records the built-in listener,
`meed2_tables` writes the tables of docs/meed2.md.
"""
