"""`minibatch-gnn exercise`: exercises that check what a student wrote."""
