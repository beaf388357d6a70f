"""Programs over the library: the command line, and the files and pictures that it writes."""
