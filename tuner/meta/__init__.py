"""Meta-learning over TVM's tasks: graphs of loop nests, the history, pre-training, evaluation."""
