"""One loop, its optimisers, checkpoints and run folders."""
