"""What both packages need around the algorithms: checks of arguments, files, foreign objects."""
