"""The papers' figures and tables, measured again: `minibatch-gnn figure`."""
